#!/bin/sh
# same_bits.sh COMMAND...: sync_batch_norm_mpi on 4 ranks, in rank order, gives every rank the same bits, whichever process
# has it and however MPI adds (Open MPI's algorithms 1, 3 and 4: linear, recursive doubling, ring; without --rank-order each of
# them gives f32 sums other bits).
set -eu
export OMPI_MCA_coll_tuned_use_dynamic_rules=1
hashes() {  # <places> <algorithm> COMMAND...
  places=$1
  export OMPI_MCA_coll_tuned_allreduce_algorithm="$2"
  shift 2
  "$@" --rows 3,1,2,4 --rank-order --rotate "$places" | sed -n 's/^rank \([0-9]*\) .*hash \([0-9a-f]*\)$/\1 \2/p' | sort
}

for sums in "" --f32-sums; do
  expected=$(hashes 0 1 "$@" $sums)
  [ "$(printf '%s\n' "$expected" | wc -l)" = 4 ] || { echo "not 4 ranks: $expected" >&2; exit 1; }
  for arrangement in "1 3" "2 4" "3 1"; do
    # shellcheck disable=SC2086  # two words
    got=$(hashes $arrangement "$@" $sums)
    [ "$got" = "$expected" ] || { printf 'arrangement %s:\n%s\nbut at first:\n%s\n' "$arrangement" "$got" "$expected" >&2; exit 1; }
  done
  printf 'the same four hashes in four arrangements:\n%s\n' "$expected"
done
