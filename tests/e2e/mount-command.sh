#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mount(8) and a line in fstab mount sessions.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
[ -x /sbin/mount.fuse ] || [ -x /sbin/mount.fuse3 ] || lacks mount.fuse3
samples "$T/src"
mkdir "$T/mnt"
# mount.fuse looks for the program only in the shell's default PATH.
place=/usr/local/bin/sessionfs
[ ! -e $place ] || skip "$place is installed already"
clean_first() { rm -f "$place"; }
install -m 755 "$SESSIONFS" $place

mount -t fuse.sessionfs "$T/src" "$T/mnt" -o ro,relatime,nofail,x-test=1 || die "mount -t fuse.sessionfs ended with $?"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title"
is "fuse.sessionfs" "$(findmnt -no FSTYPE "$T/mnt")" "type"
for o in ro nosuid nodev; do matches "(^|,)$o(,|$)" "$(findmnt -no OPTIONS "$T/mnt")" "mount options"; done
umount_fs "$T/mnt"

# The lines of the manual and of the examples, with other paths and for another user, and one more.
lines=0 owned=0
while read -r options rest; do
	options=${options/setuid=ada/setuid=nobody}
	printf '%s %s fuse.sessionfs %s %s\n' "$T/src" "$T/mnt" "$options" "$rest" >"$T/fstab"
	mount -T "$T/fstab" "$T/mnt" || die "mounting by fstab with $options ended with $?"
	is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title, by fstab with $options"
	if [[ $options == *setuid=* ]]; then # all is open to that user, and the sessions are to the others
		as_nobody sh -c 'cat "$1"/sessions.tsv "$1"/html/index.html "$1"/search/rain/hits.txt && ls "$1"/by-date/2026-03-02' sh "$T/mnt" >"$T/read" &&
			grep -q "09.15 Forecast" "$T/read" || die "the user of setuid= with $options"
		is "Forecast command" "$(setpriv --reuid=1 --regid=1 --clear-groups cat "$T/mnt/$FORECAST/title")" "title, by another user"
		fails 1 "Permission denied" setpriv --reuid=1 --regid=1 --clear-groups cat "$T/mnt/sessions.tsv"
		matches ",nosuid,nodev," "$(findmnt -no OPTIONS "$T/mnt")" "what a program of that user cannot do"
		owned=$((owned + 1))
	fi
	umount_fs "$T/mnt"
	lines=$((lines + 1))
done < <(
	sed -n 's/^[^ ]* [^ ]* fuse\.sessionfs //p' "$ROOT/man/sessionfs.1" "$ROOT/scripts/systemd/fstab"
	echo "rw,_netdev,poll=100,x-systemd.automount 0 0"
)
is "5 4" "$lines $owned" "lines for fstab, and those of them with a user"

# mount writes rw before redact.
mount -t fuse.sessionfs "$T/src" "$T/mnt" -o redact || die "mount -o redact ended with $?"
matches "(^|,)ro(,|$)" "$(findmnt -no OPTIONS "$T/mnt")" "the options of mount -o redact"
umount_fs "$T/mnt"

# mount mounts it itself and hands over the descriptor.
said=$(mount -t fuse.sessionfs "$T/src" "$T/mnt" -o drop_privileges 2>&1) || die "drop_privileges: $said"
is "" "$said" "the messages with drop_privileges"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title, with drop_privileges"
umount_fs "$T/mnt"
said=$(mount -t fuse.sessionfs "$T/src" "$T/mnt" -o drop_privileges,allow_other 2>&1) || :
matches "requires default_permissions" "$said" "what it says where the modes would not count"
umount -l "$T/mnt"
mount -t fuse.sessionfs "$T/src" "$T/mnt" -o drop_privileges,allow_other,default_permissions ||
	die "drop_privileges with default_permissions ended with $?"
umount_fs "$T/mnt"
fails 1 "No such file" mount -t fuse.sessionfs "$T/nowhere" "$T/mnt"
