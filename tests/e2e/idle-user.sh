#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A user who is not root unmounts an idle mount by fusermount3.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root # tests/e2e/idle.sh is this test for all others
need unshare setpriv
samples "$T/src"
mkdir "$T/mnt"
chown 65534:65534 "$T/mnt"
cp "$SESSIONFS" "$T/program" # where everybody can get to it

# A device for everybody, in a namespace of our own.
mknod -m 666 "$T/fuse" c 10 229 2>/dev/null || skip "cannot make a device here"
cat >"$T/in-namespace" <<'END'
set -eu
mount --bind fuse /dev/fuse
(: <>/dev/fuse) || exit 77
exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
	./program -f -o idle=2 src mnt &
	until mountpoint -q mnt; do kill -0 $! && sleep 0.1; done
	exec 4<mnt/README.md
	sleep 6 # nothing happens, though an idle mount would have ended
	mountpoint -q mnt || { echo "unmounted with an open file"; exit 1; }
	exec 4<&-
	wait $! || { echo "exit status $?"; exit 1; }
	! mountpoint -q mnt || { echo "still mounted"; exit 1; }'
END
rc=0
(cd "$T" && timeout 120 unshare -m bash in-namespace >"$T/log" 2>&1) || rc=$?
[ $rc -ne 77 ] || skip "cannot open a device that was made here"
is 0 $rc "in the namespace: $(cat "$T/log")"
is "" "$(cat "$T/log")" "what was said"
