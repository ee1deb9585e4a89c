#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The memory of the process stays private, and scratch files never get a bit that gives rights to those who run them.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
need unshare setpriv prlimit
samples "$T/src"
mkdir "$T/mnt"

core_limit() { prlimit --pid "$1" --core --output=SOFT,HARD --noheadings | tr -s ' ' | sed 's/^ //; s/ $//'; }
field() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }

# The parent allows core files.
(ulimit -c unlimited 2>/dev/null || : && exec "$SESSIONFS" -f "$T/src" "$T/mnt") &
pid=$!
await "mounted" mountpoint -q "$T/mnt"
is "0 0" "$(core_limit $pid)" "core files"
is 1 "$(field $pid NoNewPrivs)" "no new rights, as root"

session=$T/mnt/$CACHE
: >"$session/side"
for mode in 4755 2755 1755 7777 u+s,g+s,+t; do
	chmod $mode "$session/side" || die "chmod $mode ended with $?"
	matches '^[0-7]{1,3}$' "$(stat -c %a "$session/side")" "mode after chmod $mode"
done
python3 - "$session/other" <<'PY'
import os, sys
os.umask(0)
os.close(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o7755))
PY
is 755 "$(stat -c %a "$session/other")" "mode of a side file that was made with all bits"
is "" "$(find "$T/mnt" -perm /7000)" "files with such a bit"
kill -TERM $pid
wait $pid || die "ended with $?"
is "" "$(mounts_below)" "mounts left after that"

# The user's own processes cannot read its memory either, and it can unmount, for which fusermount3 must get its rights.
chown 65534:65534 "$T/mnt"
cp "$SESSIONFS" "$T/program"
is_sanitized && skip "the rest: a sanitizer looks into the process itself"
mknod -m 666 "$T/fuse" c 10 229 2>/dev/null || skip "the rest: cannot make a device here"
cat >"$T/in-namespace" <<'SH'
set -eu
mount --bind fuse /dev/fuse
(: <>/dev/fuse) || exit 77
exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
	./program -f src mnt &
	pid=$!
	until mountpoint -q mnt; do kill -0 $pid && sleep 0.05; done
	! cat /proc/$pid/maps >/dev/null 2>&1 || { echo "its memory can be read"; exit 1; }
	! ls /proc/$pid/fd/ >/dev/null 2>&1 || { echo "its files can be opened"; exit 1; }
	kill -TERM $pid
	wait $pid || { echo "exit status $?"; exit 1; }
	! mountpoint -q mnt || { echo "still mounted"; exit 1; }'
SH
rc=0
(cd "$T" && unshare -m bash in-namespace >"$T/log" 2>&1) || rc=$?
[ $rc -ne 77 ] || skip "the rest: cannot open a device that was made here"
is 0 $rc "as a user: $(cat "$T/log")"
