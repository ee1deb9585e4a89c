#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A source that another program serves, as sshfs does: the first request waits for the server. Once the server is
# silent, each request ends with an error after a second, and all works when it answers again.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need bindfs python3
clean_first() { kill -CONT "${server:-}" 2>/dev/null; }
# The leak check of a sanitizer waits for stuck threads.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

mkdir -p "$T/far" "$T/src" "$T/mnt"
# Sessions with one id: each gets its name after a lookup of who has it.
python3 - "$T/far" <<'END'
import json, os, sys
for i in range(40):
    os.makedirs(f"{sys.argv[1]}/--p{i % 4}--", exist_ok=True)
    with open(f"{sys.argv[1]}/--p{i % 4}--/s{i}.jsonl", "w") as f:
        f.write(json.dumps({"type": "session", "version": 3, "id": "one", "timestamp": "2026-04-01T12:00:00.000Z", "cwd": "/x"}) + "\n")
        f.write(json.dumps({"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": f"word {i}"}}) + "\n")
END
bindfs --no-allow-other -f "$T/far" "$T/src" &
server=$!
await "bindfs" mountpoint -q "$T/src"

for name in search/word/hits.txt sessions.tsv usage.tsv usage.svg html/index.html by-date latest/title sessions; do
	for option in "" -o,ro -s; do
		# shellcheck disable=SC2086
		mount_fs "$T/src" "$T/mnt" ${option//,/ }
		ls "$T/mnt/$name" >"$T/out" || die "the first request, $name, fails"
		[ -d "$T/mnt/$name" ] || cat "$T/mnt/$name" >"$T/out" || die "the first reading of $name fails"
		case $name in search/* | sessions) is 40 "$(wc -l <"$T/out")" "lines of $name" ;; esac
		umount_fs "$T/mnt"
	done
done

"$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
pid=$!
await "the mount" mountpoint -q "$T/mnt"
is 41 "$(wc -l <"$T/mnt/sessions.tsv")" "lines of sessions.tsv"
is 40 "$(wc -l <"$T/mnt/search/word/hits.txt")" "lines of hits.txt"
lasts=$(scan_lasts "$T/src")
kill -STOP "$server"
sleep "$lasts"
for name in latest/title sessions.tsv search/word/hits.txt search/other/hits.txt by-date/2026-04-01; do
	# Sooner than the ten seconds that a server gets which answers other requests.
	sleep 9 &
	ls "$T/mnt/$name" >"$T/out" 2>"$T/err" || :
	kill $! 2>/dev/null || die "$name: no answer while the server is silent"
	matches 'timed out' "$(cat "$T/err")" "$name while the server is silent ($(cat "$T/out"))"
done
is 1 "$(wc -l <"$T/log")" "lines in the log: $(cat "$T/log")"
matches "^sessionfs: $T/src: Connection timed out" "$(cat "$T/log")" "the log"
kill -CONT "$server"
is_back() { [ "$(cat "$T"/mnt/{sessions.tsv,search/word/hits.txt} 2>/dev/null | wc -l)" -eq 81 ]; }
await "all is shown again" is_back
umount_fs "$T/mnt"
wait "$pid" || die "it ended with $?"
umount_fs "$T/src"
wait "$server" || :
