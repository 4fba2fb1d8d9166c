#!/bin/sh
# rank_dies.sh COMMAND...: a rank of sync_batch_norm_mpi dies between forward and backward. mpiexec ends, not with 0, within
# 30 seconds, and no rank has printed a result.
set -eu
status=0
output=$(timeout 30 "$@" --dies 2>&1) || status=$?
printf '%s\n' "$output"
echo "mpiexec ended with $status"
[ "$status" != 0 ] && [ "$status" != 124 ] || exit 1
if printf '%s\n' "$output" | grep -q '^rank '; then exit 1; fi
