#!/bin/sh
# exports.sh LIBRARY [LIST]: prints what LIBRARY exports, in words; with LIST fails unless that is what LIST says.
set -eu
exports=$("${NM:-nm}" -D -C --defined-only "$1" | sed -n 's/^[0-9a-f]* [^A] //p' | LC_ALL=C sort)
if [ $# = 1 ]; then
  printf '%s\n' "$exports"
else
  printf '%s\n' "$exports" | diff -u "$2" -
fi
