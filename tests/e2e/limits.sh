#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program with tiny caches and short times shows the same as one whose limits no test reaches.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
SMALL=${SESSIONFS%/*}/small/sessionfs
[ -x "$SMALL" ] || SMALL=$SESSIONFS # it is that one
samples "$T/all"
mkdir "$T/src"
cp -rp "$T/all/--home-ada-weather--" "$T/src"

mount_fs "$T/src" "$T/much" -o ro
cp -r "$T/much/." "$T/right" || die "cp -r of the mount ended with $?"
umount_fs "$T/much"
SESSIONFS=$SMALL
for options in ro rw; do
	mount_fs "$T/src" "$T/little" -o "$options"
	# More names than notes: again after the notes have expired, and while they hold.
	for round in 1 2; do
		rm -rf "$T/copy"
		cp -r "$T/little/." "$T/copy" || die "$options: cp -r number $round ended with $?"
		diff -r --no-dereference "$T/right" "$T/copy" >"$T/differ" 2>&1 || die "$options: copy $round: $(head -n 20 "$T/differ")"
		[ "$round" = 2 ] || sleep 1.2
	done
	umount_fs "$T/little"
done
