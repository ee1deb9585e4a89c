#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Other users get exactly the access through the mount that owners, modes, groups and ACLs of the file and of the
# directories above it grant: a table of cases, mounted by root and by one of the users. Access revoked later ends soon,
# even with cached attributes.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
need python3 unshare setpriv
table() { python3 "$ROOT/tests/lib/permissions.py" "$@" >"$T/out" 2>&1 || die "$*: $(cat "$T/out")"; }

table make "$T/src"
mount_watched "$T/src" "$T/mnt" -o allow_other
table compare "$T/src" "$T/mnt" 0 3
table later "$T/src" "$T/mnt"
umount_fs "$T/mnt"
mount_watched "$T/src" "$T/mnt" -o allow_other,ro
table compare "$T/src" "$T/mnt" 0 19
table later "$T/src" "$T/mnt"
umount_fs "$T/mnt"

# The source can be listed by some users only.
for mode in 711 700 750; do
	chmod $mode "$T/src"
	mount_fs "$T/src" "$T/mnt" -o allow_other
	table compare "$T/src" "$T/mnt" 0 19
	umount_fs "$T/mnt"
done
chmod 755 "$T/src"

# Only root, and still not the others: the kernel answers from its cache without a request.
samples "$T/samples"
for options in rw ro; do
	mount_fs "$T/samples" "$T/mnt" -o "allow_root,$options"
	find "$T/mnt" -type f -exec cat {} + >/dev/null # from now on the kernel has it cached
	fails 2 "Permission denied" setpriv --reuid=12345 --regid=12345 --clear-groups ls "$T/mnt/projects"
	fails 1 "Permission denied" setpriv --reuid=12345 --regid=12345 --clear-groups cat "$T/mnt/$CACHE/title"
	umount_fs "$T/mnt"
done

# By a user, in a namespace where users can do that.
cp "$SESSIONFS" "$T/program"
mkdir -p "$T/mnt"
chown 12001 "$T/mnt"
mknod -m 666 "$T/fuse" c 10 229 2>/dev/null || skip "the rest: cannot make a device here"
echo user_allow_other >"$T/fuse.conf"
{ cat /etc/passwd && echo ada:x:12001:12001::/:/bin/sh; } >"$T/passwd"
cat >"$T/in-namespace" <<'END'
set -eu
mount --bind fuse /dev/fuse
mount --bind fuse.conf /etc/fuse.conf
mount --bind passwd /etc/passwd
(: <>/dev/fuse) || exit 77
setpriv --reuid=12001 --regid=12001 --clear-groups ./program -o allow_other src mnt
python3 "$1/tests/lib/permissions.py" compare "$PWD/src" "$PWD/mnt" 12001 5
setpriv --reuid=12001 --regid=12001 --clear-groups fusermount3 -u mnt
END
rc=0
(cd "$T" && unshare -m bash in-namespace "$ROOT" >"$T/log" 2>&1) || rc=$?
[ $rc -ne 77 ] || skip "the rest: cannot open a device that was made here"
is 0 $rc "mounted by a user: $(cat "$T/log")"
