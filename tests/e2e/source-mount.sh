#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount of sessions, or a directory in one, is refused as the source, however it is given, and the message names the mount's
# source. So it is as the target of a copy. That does not ask the mount: it can be stuck, or dead.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src/my sessions"
src="$T/src/my sessions"
mkdir -p "$T/mnt" "$T/two" "$T/agent" "$T/bind"
"$SESSIONFS" -f "$src" "$T/mnt" &
pid=$!
clean_first() { kill -KILL "$pid" 2>/dev/null; }
await "the mount" mountpoint -q "$T/mnt"
ln -s "$T/mnt" "$T/link"
ln -s link/projects "$T/deep"
sources=(mnt mnt/ ./mnt "$T/mnt" mnt/projects link link/projects deep "deep/${WEATHER##*/}")
sources+=("mnt/$WEATHER")
if [ "$(id -u)" -eq 0 ] && mount --bind "$T/mnt/projects" "$T/bind" 2>/dev/null; then sources+=(bind); fi
cd "$T"

refused() { # COMMAND...
	fails 1 "^sessionfs: [^:]*: in a mount of sessions; to use its source: $src\$" "$@"
}
all_refused() {
	for source in "${sources[@]}"; do
		refused "$SESSIONFS" "$source" "$T/two"
		refused "$SESSIONFS" "$source" "$T/none"
		refused "$SESSIONFS" -S "$source" --ls /
		fails 1 "^sessionfs: $source: is in a mount of sessions; choose a directory elsewhere$" "$SESSIONFS" -S "$src" --copy README.md "$source"
	done
	for command in "--check" "--search x" "--copy / $T/to" "--secrets" "--events" "--tree /" "--cat README.md" "--pick"; do
		# shellcheck disable=SC2086
		refused "$SESSIONFS" -S mnt $command
	done
	refused "$SESSIONFS" --check mnt
	refused env PI_CODING_AGENT_SESSION_DIR="$T/mnt" "$SESSIONFS" --ls /
	refused env PI_CODING_AGENT_SESSION_DIR="$T/deep" "$SESSIONFS" "$T/two"
	for file in .pi/settings.json agent/settings.json; do
		mkdir -p "${file%/*}"
		echo "{\"sessionDir\":\"$T/mnt/projects\"}" >"$file"
		refused env PI_CODING_AGENT_DIR="$T/agent" "$SESSIONFS" --check
		rm "$file"
	done
	ln -s "$T/mnt/projects" agent/sessions
	refused env PI_CODING_AGENT_DIR="$T/agent" "$SESSIONFS" "$T/two"
	rm agent/sessions
	# Another source is accepted, wherever pi's own is.
	PI_CODING_AGENT_SESSION_DIR=$T/mnt "$SESSIONFS" "$src" "$T/two" || die "another source is refused"
	umount_fs "$T/two"
}
all_refused
# A mount that another one covers, as one that was unmounted meanwhile: its path is not in it.
if [ "$(id -u)" -eq 0 ] && mount --bind "$T/agent" "$T/mnt" 2>/dev/null; then
	"$SESSIONFS" -S "$src" --ls / >"$T/out" || die "a source on the disk of the path of a covered mount is refused"
	umount "$T/mnt"
fi
# Without statx(2), a mount that is stuck or dead cannot be told without asking it.
! is_portable || exit 0
kill -STOP "$pid"
all_refused
kill -KILL "$pid"
wait "$pid" 2>/dev/null || :
all_refused
[ ! -e "$T/to" ] || die "a refused copy has made its target"
