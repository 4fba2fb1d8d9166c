#!/bin/sh
# abi.sh check|renew WORK: compares the libraries' binary interfaces with tests/hygiene/abi, or writes these files anew.
# Needs abidw and abidiff (Debian: abigail-tools) and builds in WORK: types are known from debug information alone, which
# the installed libraries do not have. Without optimization, which is no part of an interface.
set -eu
[ $# = 2 ] || { echo "usage: $0 check|renew WORK" >&2; exit 2; }
step=$1 work=$2
here=$(cd -- "$(dirname -- "$0")" && pwd)
root=$here/../..
libraries="normgrad infinirt infiniop ascendcl nnopbase opapi_nn"

[ "$(uname -m)" = x86_64 ] || { echo "skipped: the files are those of x86_64"; exit 77; }
command -v abidw >/dev/null || { echo "abidw is missing: apt-get install abigail-tools" >&2; exit 1; }

build() {
  "${CMAKE:-cmake}" -S "$root" -B "$work" -DCMAKE_BUILD_TYPE=Debug \
    -DNORMGRAD_TESTS=OFF -DNORMGRAD_BENCHMARKS=OFF -DNORMGRAD_EXAMPLES=OFF >/dev/null
  "${CMAKE:-cmake}" --build "$work" --parallel "$(nproc)"
}

# Nothing that changes while the interface does not: paths, lines, names of parameters, libraries needed.
describe() {  # <library> <file>
  abidw --suppressions "$here/abi/internal.ini" --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
    --no-show-locs --no-parameter-names --no-elf-needed --type-id-style hash --out-file "$2" "$work/lib/lib$1.so"
}

renew() {
  for library in $libraries; do describe "$library" "$here/abi/lib$library.abi"; done
  "$here/exports.sh" "$work/lib/libnormgrad.so" >"$here/abi/libnormgrad.exports"
  wc -c "$here"/abi/*
}

# Additions are compatible. abidiff answers 4 for any other change, 8 with it for one that surely breaks programs.
check() {
  changed=0
  for library in $libraries; do
    echo "lib$library.so"
    describe "$library" "$work/lib$library.abi"
    abidiff --no-added-syms "$here/abi/lib$library.abi" "$work/lib$library.abi" || changed=1
  done
  [ "$changed" = 0 ] || {
    echo "The binary interface changed. If that is wanted: $0 renew WORK, and a line in CHANGELOG.md" >&2
    exit 1
  }
}

build
"$step"
