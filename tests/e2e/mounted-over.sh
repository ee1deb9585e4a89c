#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount that ends leaves other mounts at its place alone.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
samples "$T/src"
mkdir "$T/mnt" "$T/elsewhere"

is_there() { grep -qx "$T/mnt" < <(mounts_below); }
begin() { # Mounts in the foreground; its pid is in the variable pid.
	"$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
	pid=$!
	await "the mount" ours_is_there
	[ -e "$T/mnt/README.md" ] || die "no README.md" # the kernel lists a mount before it answers
}
ours_is_there() { [ "$(findmnt -rno FSTYPE "$T/mnt" | tail -n 1)" = fuse.sessionfs ]; }
end() { # WHAT
	kill -s TERM $pid
	wait $pid || die "$1 ended with $? ($(cat "$T/log"))"
}

# A mount below it,
mount -t tmpfs below "$T/mnt"
begin
end "the mount above another one"
is below "$(findmnt -rno SOURCE "$T/mnt")" "the mount below"
umount "$T/mnt"

# over it,
begin
mount -t tmpfs over "$T/mnt"
end "the covered mount"
is over "$(findmnt -rno SOURCE "$T/mnt" | tail -n 1)" "the mount over it"
umount "$T/mnt"
umount "$T/mnt"

# and after it, when it remains elsewhere.
begin
mount --bind "$T/mnt" "$T/elsewhere"
umount "$T/mnt"
! is_there || die "still mounted in the first place"
is "Forecast command" "$(cat "$T/elsewhere/$FORECAST/title")" "title in the other place"
mount -t tmpfs after "$T/mnt"
end "the bound mount"
is after "$(findmnt -rno SOURCE "$T/mnt")" "the mount made after it"
