#!/usr/bin/env bash
# mount(8) and a line in fstab mount it.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
[ -x /sbin/mount.fuse ] || [ -x /sbin/mount.fuse3 ] || skip "there is no mount.fuse here"
samples "$T/src"
mkdir "$T/mnt"
# mount.fuse looks for the program only where the shell's default PATH leads.
place=/usr/local/bin/sessionfs
[ ! -e $place ] || skip "$place is installed already"
trap 'rm -f $place; cleanup' EXIT
ln -s "$SESSIONFS" $place

mount -t fuse.sessionfs "$T/src" "$T/mnt" -o ro,relatime,nofail,x-test=1 || die "mount -t fuse.sessionfs ended with $?"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title"
is "fuse.sessionfs" "$(findmnt -no FSTYPE "$T/mnt")" "type"
for o in ro nosuid nodev; do matches "(^|,)$o(,|$)" "$(findmnt -no OPTIONS "$T/mnt")" "mount options"; done
umount_fs "$T/mnt"

printf '%s %s fuse.sessionfs ro,allow_other,nofail,_netdev,x-systemd.automount 0 0\n' "$T/src" "$T/mnt" >"$T/fstab"
mount -T "$T/fstab" "$T/mnt" || die "mounting by fstab ended with $?"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title, by fstab"
umount_fs "$T/mnt"
fails "1|2|32" "No such file" mount -t fuse.sessionfs "$T/nowhere" "$T/mnt" 2>/dev/null || :
