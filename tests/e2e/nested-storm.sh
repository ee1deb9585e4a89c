#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Directories appear, disappear, move and become links while everything is listed and copied: no wrong error occurs, and
# in the end the mount shows what a new one shows. With inotify, with few watches, and without.
. "$(dirname "$0")/../lib/lib.sh"
need python3 rsync
need_mount
SECONDS_EACH=${STORM_SECONDS:-4}
SMALL=${SESSIONFS%/*}/small/sessionfs
[ -x "$SMALL" ] || SMALL=$SESSIONFS

# Errors allowed for a name that has just disappeared, and for rsync of a file replaced while it was read.
gone='No such file or directory|Stale file handle|vanished|Not a directory|IO error encountered -- skipping|failed verification|No data available'
list_all() {
	while [ ! -e "$T/over" ]; do
		ls -lR "$T/mnt/projects" "$T/mnt/by-project" 2>&1 >/dev/null | grep -vE "$gone" >>"$T/wrong" || :
		cat "$T/mnt/sessions.tsv" "$T/mnt/problems.tsv" >/dev/null 2>>"$T/wrong" || :
	done
}
copy_all() {
	while [ ! -e "$T/over" ]; do
		rsync -a --delete "$T/mnt/projects/" "$T/copy/" 2>&1 | grep -vE "$gone|^rsync error: " >>"$T/wrong" || :
	done
}
shown() { # MOUNT: prints everything that does not depend on the mount
	python3 "$ROOT/tests/lib/nested.py" shown "$1" && python3 "$ROOT/tests/lib/nested.py" shown-latest "$1" && cat "$1/sessions.tsv" "$1/problems.tsv"
}
is_as_new() { shown "$T/mnt" >"$T/got" 2>/dev/null && cmp -s "$T/want" "$T/got"; }

storm() { # SEED WHAT PROGRAM OPTION...
	local seed=$1 what=$2 program=$3 listing copying
	shift 3
	rm -rf "$T/src" "$T/outside" "$T/copy" "$T/over"
	mkdir -p "$T/src" "$T/outside" "$T/copy"
	: >"$T/wrong"
	SESSIONFS=$program mount_fs "$T/src" "$T/mnt" "$@"
	list_all &
	listing=$!
	copy_all &
	copying=$!
	python3 "$ROOT/tests/lib/nested_storm.py" "$T/src" "$T/outside" "$SECONDS_EACH" "$seed" >/dev/null
	touch "$T/over"
	wait "$listing" "$copying" || :
	[ ! -s "$T/wrong" ] || die "$what: $(sort "$T/wrong" | uniq -c | sed -n 1,5p)"
	mount_fs "$T/src" "$T/new"
	shown "$T/new" >"$T/want"
	umount_fs "$T/new"
	await "$what: as a new mount" is_as_new
	python3 "$ROOT/tests/lib/nested.py" list "$T/src" | cut -f1-3 >"$T/files"
	grep -c . "$T/files" >/dev/null || die "nothing was left"
	# Contents with two names (a link on the first level) are not compared here.
	rsync -a --delete "$T/mnt/projects/" "$T/copy/" || die "$what: rsync in the end"
	is "" "$(rsync -ain --delete "$T/mnt/projects/" "$T/copy/")" "$what: a second rsync"
	umount_fs "$T/mnt"
}
storm 1 watched "$SESSIONFS"
storm 2 "few watches" "$SMALL"
storm 3 polled "$SESSIONFS" -o poll
