#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With many sessions, each is read once: further requests about all of them read no file, and after a change of one
# session only that one is read.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_proc
need python3
sessions=2000
if is_sanitized; then sessions=200; fi
python3 - "$T/src" $sessions <<'PY'
import json, os, sys
root, sessions = sys.argv[1], int(sys.argv[2])
for s in range(sessions):
    d = f"{root}/--project-{s % 7}--"
    os.makedirs(d, exist_ok=True)
    at = f"2026-{s % 12 + 1:02}-{s % 28 + 1:02}T12:{s % 60:02}:00.000Z"
    with open(f"{d}/s{s:05}.jsonl", "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": f"s{s:05}", "timestamp": at}), file=f)
        for e in range(4):
            print(json.dumps({"type": "message", "id": f"e{e}", "parentId": f"e{e - 1}" if e else None, "timestamp": at,
                              "message": {"role": "assistant" if e % 2 else "user", "content": [{"type": "text", "text": f"{s} words " * 50}],
                                          "provider": "p", "model": f"m{s % 3}", "usage": {"input": s, "cost": {"total": s / 1000}} if e % 2 else None}}), file=f)
PY
find "$T/src" -name '*.jsonl' -exec touch -d 2026-04-01T12:00:00Z {} +
bytes=$(cat "$T"/src/*/*.jsonl | wc -c)
for options in "" "-oro"; do
	mount_watched "$T/src" "$T/mnt" ${options:+"$options"}
	pid=$(mount_pid "$T/mnt")
	# Includes requests of about a hundred bytes each.
	read_bytes() { awk '/^rchar/ { print $2 }' "/proc/$pid/io"; }
	ask() {
		ls "$T/mnt/by-date" && ls "$T/mnt/by-date/2026-03-03" && head -n 5 "$T/mnt/sessions.tsv" && tail -n 5 "$T/mnt/usage.tsv"
	}
	before=$(read_bytes)
	ask >"$T/first"
	first=$(($(read_bytes) - before))
	[ $first -ge $((bytes)) ] || die "only $first of $bytes bytes were read at first"
	before=$(read_bytes)
	ask >"$T/again"
	again=$(($(read_bytes) - before))
	same "$T/first" "$T/again" "what is said again"
	[ $again -le 40000 ] || die "$again bytes were read again"

	before=$(read_bytes)
	one=$T/src/--project-0--/s00000.jsonl
	echo '{"type":"session_info","id":"n","parentId":"e3","name":"Renamed now"}' >>"$one"
	await "a new name" eval 'grep -q "Renamed now" "$T/mnt/sessions.tsv" && grep -q "Renamed now" < <(ls "$T/mnt/by-date/2026-01-01")'
	after=$(($(read_bytes) - before))
	[ $after -le $((400000 + 4 * $(stat -c %s "$one"))) ] || die "$after bytes were read after one session has changed"
	sed -i '$d' "$one"
	umount_fs "$T/mnt"
done
is $((sessions + 1)) "$("$SESSIONFS" -S "$T/src" --cat sessions.tsv | wc -l)" "rows"

# A first listing of the root, with all sizes, reads each session once: long lines, and calls with files between long
# results.
python3 - "$T/long" <<'PY'
import json, os, sys
os.makedirs(sys.argv[1] + "/--p--")
for s in range(8):
    large = s == 0
    with open(f"{sys.argv[1]}/--p--/s{s}.jsonl", "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": f"s{s}", "timestamp": "2026-04-01T12:00:00.000Z", "cwd": "/w"}), file=f)
        print(json.dumps({"type": "message", "id": "u", "parentId": None, "message": {"role": "user", "content": "title " * (40000 if s % 2 else 1)}}), file=f)
        for e in range(400 if large else 40):
            call = {"type": "toolCall", "id": f"c{e}", "name": "write", "arguments": {"content": "x" * 2000, "path": f"f{e}"}}
            print(json.dumps({"type": "message", "id": f"a{s}-{e}", "parentId": "u", "message": {"role": "assistant", "content": [call], "provider": "p", "model": "m",
                                                                                             "usage": {"input": 1}}}), file=f)
            print(json.dumps({"type": "message", "id": f"r{e}", "parentId": f"a{s}-{e}", "message": {"role": "toolResult", "toolCallId": f"c{e}",
                                                                                                  "content": [{"type": "text", "text": "y" * 20000}]}}), file=f)
PY
bytes=$(cat "$T"/long/*/*.jsonl | wc -c)
for options in "" "-oro"; do
	mount_watched "$T/long" "$T/mnt" ${options:+"$options"}
	pid=$(mount_pid "$T/mnt")
	before=$(read_bytes)
	ls -l --color=always "$T/mnt" >"$T/first"
	first=$(($(read_bytes) - before))
	echo "the first ls -l read $first bytes of $bytes"
	[ $((first * 10)) -le $((bytes * 12)) ] || die "the first ls -l read $first bytes of $bytes"
	umount_fs "$T/mnt"
done
