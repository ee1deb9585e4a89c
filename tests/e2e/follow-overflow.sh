#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With more changes than inotify's queue holds while the program is stopped, all are noticed, and --events prints an
# event for each session concerned.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need jq
samples "$T/src"
queue=$(cat /proc/sys/fs/inotify/max_queued_events)
[ "$queue" -le 20000 ] || skip "inotify's queue holds $queue events"
dir=$T/src/--home-ada-weather--
a=$dir/${FORECAST##*/}.jsonl b=$dir/${ICONS##*/}.jsonl
clean_first() { kill -KILL "${events_pids[@]}" 2>/dev/null || :; }

for options in "" "-o ro"; do
	# shellcheck disable=SC2086 # words
	mount_watched "$T/src" "$T/mnt" $options
	daemon=$(mount_pid "$T/mnt")
	events_pids=()
	follow_events "$T/events" "$T/src"
	find "$T/mnt" -ls >/dev/null 2>&1
	ls "$T/mnt/$WEATHER/new" 2>/dev/null && die "a session before its time"
	kill -STOP "$daemon" "${events_pids[0]}"
	# Two files in turn: equal consecutive events count once.
	python3 - "$a" "$b" "$queue" <<-'PY'
		import os, sys
		files = [os.open(name, os.O_WRONLY | os.O_APPEND) for name in sys.argv[1:3]]
		for i in range(int(sys.argv[3]) // 2 + 10):
		    for fd in files:
		        os.write(fd, b"\n")
	PY
	printf '%s\n' '{"type":"session_info","id":"99990001","parentId":null,"name":"overflown"}' >>"$a"
	cp "$b" "$dir/new.jsonl"
	mv "$T/src/scratch.jsonl" "$T/scratch.jsonl"
	kill -CONT "$daemon" "${events_pids[0]}"
	await "the name" eval "[ \"\$(cat '$T/mnt/$FORECAST/name')\" = overflown ]"
	await "the new session" test -f "$T/mnt/$WEATHER/new/title"
	await "the new session in the listing" eval "grep -qx new < <(ls '$T/mnt/$WEATHER')"
	await "the end of the old one" eval "! ls -d $T/mnt/projects/*/scratch 2>/dev/null"
	await "the event of the name" grep -q '"name":"overflown"' "$T/events"
	await "the event of the new session" eval "grep -q '/new\"' < <(grep '\"created\"' '$T/events')"
	await "the event of the deleted session" eval "grep -q '/scratch\"' < <(grep '\"deleted\"' '$T/events')"
	kill "${events_pids[0]}"
	umount_fs "$T/mnt"
	rm "$dir/new.jsonl"
	mv "$T/scratch.jsonl" "$T/src/scratch.jsonl"
done
