#!/bin/sh
# environment_test.sh trusted|untrusted PROGRAM: runs PROGRAM, for an untrusted caller as one that gains a group.
# Skips (77) where no other group can be had: a user with a single group, a file system or container without set-group-id.
set -eu
caller=$1 program=$2
[ "$caller" = untrusted ] || exec "$program" "$caller"

other_group() {
  for group in $(id -G) $(getent group nogroup | cut -d: -f3); do
    [ "$group" = "$(id -g)" ] || { echo "$group"; return; }
  done
}
group=$(other_group)
[ -n "$group" ] || { echo "skipped: no other group"; exit 77; }
copy=$program.set_group_id
trap 'rm -f "$copy"' EXIT
cp "$program" "$copy"
chgrp "$group" "$copy" || { echo "skipped: cannot give it to group $group"; exit 77; }
chmod g+s,o+rx "$copy"
"$copy" "$caller"
