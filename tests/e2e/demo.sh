#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The demo runs to its end, mounted or not, as root and as another user, and leaves no files.
. "$(dirname "$0")/../lib/lib.sh"
need rsync file
mkdir "$T/tmp"
tour() { # HOW COMMAND...: the demo in full
	local how=$1
	shift
	TMPDIR=$T/tmp "$@" >"$T/out" 2>&1 || die "the demo ($how) ended with $?: $(tail -n 20 "$T/out")"
	grep -q "Forecast command" "$T/out" || die "no title in the demo ($how)"
	for best in "entries/.*[Uu]nittest" "^## user" "2026-03-02 09.15 Forecast command" "html"; do
		grep -q "$best" "$T/out" || die "no $best in the demo ($how)"
	done
	grep -q "PNG image data" "$T/out" || die "no picture in the demo ($how)"
	is "" "$(ls -A "$T/tmp")" "files left by the demo ($how)"
	is "" "$(mounts_below)" "mounts left by the demo ($how)"
}
for how in mount no-mount; do
	[ $how = no-mount ] || can_mount || continue
	tour $how "$ROOT/scripts/demo" "$SESSIONFS" --$how
done

# As another user, who can or cannot open what is in place of /dev/fuse.
[ "$(id -u)" -eq 0 ] && need setpriv unshare && unshare -m true 2>/dev/null || exit 0
mkdir -p "$T/tree/scripts" "$T/tree/tests/data"
cp "$ROOT/scripts/demo" "$T/tree/scripts/"
cp -r "$ROOT/tests/data/sessions" "$T/tree/tests/data/"
cp "$SESSIONFS" "$T/tree/sessionfs"
chmod -R go+rX "$T/tree"
chmod 1777 "$T/tmp"
: >"$T/closed"
chmod 0 "$T/closed"
mkdir "$T/ada lovelace"
chown 65534:65534 "$T/ada lovelace"
# shellcheck disable=SC2016
with() { # DEVICE: sets the command
	command=(env TMPDIR="$T/tmp" HOME="$T/ada lovelace" unshare -m bash -c 'mount --bind "$1" /dev/fuse && shift && exec "$@"' - "$1"
		setpriv --reuid=65534 --regid=65534 --clear-groups "$T/tree/scripts/demo" "$T/tree/sessionfs")
}
mknod -m 666 "$T/open" c 10 229 2>/dev/null || :
for device in "$T/open" /dev/fuse; do
	# shellcheck disable=SC2016
	can_mount && as_nobody bash -c ': <>"$1"' - "$device" 2>/dev/null || continue
	with "$device"
	tour "mount by another user" "${command[@]}" --mount
	break
done
with "$T/closed"
closed=("${command[@]}")
if [ -e /dev/fuse ]; then
	out=$("${closed[@]}" 2>&1) || die "the demo without a right to /dev/fuse ended with $?: $out"
	matches "Nothing can be mounted here \(/dev/fuse: Permission denied; as root: chmod 666 /dev/fuse\): the same tree" "$out" "what the demo says"
	matches "That was the tour" "$out" "the end of the demo"
	fails 1 "^/dev/fuse: Permission denied; as root: chmod 666 /dev/fuse$" "${closed[@]}" --mount
fi
mkdir "$T/few"
for c in bash realpath dirname mktemp cp find grep cut sort tail touch mkdir ln id rm sed head cat wc file basename; do ln -s "$(command -v $c)" "$T/few/$c"; done
out=$(TMPDIR=$T/tmp PATH=$T/few "$ROOT/scripts/demo" "$SESSIONFS" 2>&1) || die "the demo without fusermount3 ended with $?: $out"
matches "Nothing can be mounted here \(there is no fusermount3; as root: apt-get install fuse3\)" "$out" "what the demo says without fusermount3"
# Nor are rsync and file required.
rm "$T/few/file"
for c in fusermount3 umount ls; do ln -s "$(command -v $c || echo /nowhere)" "$T/few/$c"; done
out=$(TMPDIR=$T/tmp PATH=$T/few "$ROOT/scripts/demo" "$SESSIONFS" 2>&1) || die "the demo without rsync and file ended with $?: $out"
! can_mount || matches "0 written, [1-9][0-9]* unchanged" "$out" "the second copy without rsync"
matches "That was the tour" "$out" "the end of the demo without rsync and file"
is "" "$(ls -A "$T/tmp")" "files left by these"
