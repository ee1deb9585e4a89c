#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The conditions of DIAGNOSTICS in sessionfs(1): what a user sees of each, and what the log says. places.sh has the last one.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need bindfs
samples "$T/src"
mkdir "$T/mnt" "$T/far"
manual=$(man -P cat -l "$ROOT/man/sessionfs.1" 2>/dev/null || mandoc -T ascii "$ROOT/man/sessionfs.1") && manual=$(col -bx <<<"$manual" | tr -s ' \n-' ' ')
logged() { # WORDS N: the log has them in N lines, and the manual has them
	is "$2" "$(grep -cF "$1" "$T/log")" "lines with '$1' of the log: $(cat "$T/log")"
	[[ $manual == *"$(tr -s ' -' ' ' <<<"$1")"* ]] || die "DIAGNOSTICS lacks: $1"
}
foreground() { # SOURCE [OPTION...]: mounted, with its messages in a file
	"$SESSIONFS" -f "${@:2}" "$1" "$T/mnt" 2>"$T/log" &
	await "the mount" mountpoint -q "$T/mnt"
}
S=$T/mnt/$FORECAST

# --- a server that does not answer ---
clean_first() { kill -KILL "${far:-}" 2>/dev/null || :; }
bindfs --no-allow-other -f "$T/src" "$T/far" &
far=$!
await "bindfs" mountpoint -q "$T/far"
foreground "$T/far"
ls "$T"/mnt/projects/* >/dev/null
is "Forecast command" "$(cat "$S/title")" "the title"
await "the first scan" grep -q '"scanning":false' "$T/mnt/.status"
kill -STOP $far
is "Forecast command" "$(cat "$S/title")" "the title, without the server"
# What was looked at in the last five seconds still counts.
times_out() { ! "$@" >/dev/null 2>"$T/err" && grep -q "Connection timed out" "$T/err"; }
asks() { times_out cat "$T/mnt/search/forecast -$RANDOM/hits.txt"; } # another query each time
await "a search without the server" asks
for name in "$S/chat.md" "$S/session.jsonl" "$T/mnt/sessions.tsv" "$T/mnt/search/forecast/hits.txt"; do
	times_out cat "$name" || die "a read of $name without the server: $(cat "$T/err")"
done
times_out bash -c "echo x >'$S/name'" || die "a write without the server: $(cat "$T/err")"
is "Forecast command" "$(cat "$S/title")" "the title, long without the server"
logged "Connection timed out: the server of the source does not answer" 1
# A command waits, and can be ended.
rc=0
timeout 1 "$SESSIONFS" -S "$T/far" --ls / >"$T/out" 2>&1 || rc=$? # not a limit
is 124 $rc "a command while the server does not answer"
kill -CONT $far
await "the tables, with the server" grep -qs Forecast "$T/mnt/sessions.tsv"
await "a view, with the server" grep -qs '^## ' "$S/chat.md"
umount_fs "$T/mnt"
umount_fs "$T/far"
wait

# --- no room for long texts ---
if command -v cc >/dev/null && ! is_sanitized; then
	printf '#include <errno.h>\nint posix_fallocate(int fd, long at, long n) { return ENOSPC; }\nint posix_fallocate64(int fd, long at, long n) { return ENOSPC; }\n' >"$T/full.c"
	cc -shared -fPIC -o "$T/full.so" "$T/full.c"
	mkdir -p "$T/long/--p--"
	awk 'BEGIN { print "{\"type\":\"session\",\"version\":3,\"id\":\"long\",\"timestamp\":\"2026-04-01T12:00:00.000Z\",\"cwd\":\"/p\"}"
		for (text = "word "; length(text) < 100000;) text = text text
		for (n = 0; n < 100; n++) printf "{\"type\":\"message\",\"id\":\"e%d\",\"parentId\":%s,\"message\":{\"role\":\"user\",\"content\":\"%s\"}}\n", n, n ? "\"e" n - 1 "\"" : "null", text }' >"$T/long/--p--/long.jsonl"
	LD_PRELOAD=$T/full.so foreground "$T/long"
	for name in all.txt chat.md transcript.md; do fails 1 "No space left on device" cat "$T/mnt/projects/p/long/$name"; done
	matches "^word word" "$(cat "$T/mnt/projects/p/long/title")" "the title, without room"
	matches "words*:|word" "$(head -c 200 "$T/mnt/search/word/hits.txt")" "a search, without room"
	echo "A long one" >"$T/mnt/projects/p/long/name"
	is "A long one" "$(cat "$T/mnt/projects/p/long/title")" "a name that is written, without room"
	logged "no space for a long text; free some, or set TMPDIR to another disk" 1
	umount_fs "$T/mnt"
	wait
fi

# --- no log ---
# In the background messages go to /dev/log: here a file, or nothing.
cat >"$T/silent.sh" <<END
set -e
[ ! -e /dev/log ] || mount --bind "$T/nothing" /dev/log
"$SESSIONFS" "$T/src" "$T/mnt"
! bash -c "echo x >'$S/title'" 2>/dev/null
cat "$S/errors"
fusermount3 -u "$T/mnt"
END
: >"$T/nothing"
silent=(bash "$T/silent.sh")
[ "$(id -u)" -ne 0 ] || silent=(unshare -m "${silent[@]}")
if [ ! -e /dev/log ] || unshare -m true 2>/dev/null; then
	matches "title: this name cannot be written; write name" "$("${silent[@]}")" "errors without a log"
fi

# --- no watches ---
limits=(unshare -Ur bash -c 'echo "$1" >"/proc/sys/user/$0" && shift && exec "$@"')
if ! is_portable && "${limits[@]}" max_inotify_watches 2 true 2>/dev/null; then
	while read -r limit n words; do
		: >"$T/out"
		"${limits[@]}" "$limit" "$n" "$SESSIONFS" -S "$T/src" --events >"$T/out" 2>"$T/log" &
		await "a warning" grep -q polling "$T/log"
		grows() { # The first lines precede the first scan.
			echo '{"type":"custom","id":"x"}' >>"$T/src/--p--/probe.jsonl"
			grep -q probe "$T/out"
		}
		mkdir -p "$T/src/--p--"
		echo '{"type":"session","version":3,"id":"probe"}' >"$T/src/--p--/probe.jsonl"
		await "an event, polled" grows
		kill $!
		wait $! 2>/dev/null || :
		rm -r "$T/src/--p--"
		logged "$words" 1
		grep -q "sysctl fs.inotify.max_user_" "$T/log" || die "no limit to raise: $(cat "$T/log")"
	done <<-END
		max_inotify_watches 2 no inotify watches left
		max_inotify_instances 0 inotify: Too many open files
	END
fi
