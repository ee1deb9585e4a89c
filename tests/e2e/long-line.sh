#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A line of 200 MB is read like any other, in little memory.
. "$(dirname "$0")/../lib/lib.sh"
need python3
[ "$(df --output=avail -k "$T" | tail -n 1)" -gt 600000 ] || skip "there is too little room in $T"
mkdir "$T/src"
pieces=195
! is_sanitized || pieces=10 # sanitizers are slow, and keep freed memory
python3 - "$T/src/long.jsonl" $pieces <<'PY'
import sys
with open(sys.argv[1], "w") as f:
    f.write('{"type":"session","version":3,"id":"long","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/long"}\n')
    f.write('{"type":"message","id":"a1","parentId":null,"timestamp":"2026-04-01T12:00:01.000Z","message":{"role":"user","content":"')
    piece = ("0123456789abcdef" * 64 + "\\n") * 1000
    for _ in range(int(sys.argv[2])):
        f.write(piece)
    f.write('"}}\n')
    f.write('{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-04-01T12:00:02.000Z","message":{"role":"user","content":"after it"}}\n')
PY
text_size=$((pieces * 1000 * 1025))
S=projects/long/long
is "after it" "$("$SESSIONFS" -S "$T/src" --cat $S/entries/a2/text.md)" "the entry after the long line"
is "$text_size" "$("$SESSIONFS" -S "$T/src" --cat $S/entries/a1/text.md | wc -c)" "the long text"
fails 0 "^$" "$SESSIONFS" --check "$T/src"

can_mount || exit 0
mount_fs "$T/src" "$T/mnt"
pid=$(mount_pid "$T/mnt")
while awk '/^Rss(Anon|Shmem)/ { n += $2 } END { print n }' "/proc/$pid/status" 2>/dev/null; do sleep 0.02; done >"$T/memory" &
watch=$!
clean_first() { kill "$watch" 2>/dev/null || :; }
is "after it" "$(cat "$T/mnt/$S/entries/a2/text.md")" "the entry after the long line, mounted"
is "$text_size" "$(stat -c %s "$T/mnt/$S/entries/a1/text.md")" "size of the long text"
is "$text_size" "$(cat "$T/mnt/$S/entries/a1/text.md" | wc -c)" "the long text, mounted"
is "0123456789abcdef" "$(tail -c 17 "$T/mnt/$S/entries/a1/text.md")" "its end"
all_size=$((text_size + pieces * 1000 * 9 + 18)) # `a1 user: ` before each line, and the last line
is "$all_size" "$(stat -c %s "$T/mnt/$S/all.txt")" "size of all.txt"
is "$all_size" "$(cat "$T/mnt/$S/all.txt" | wc -c)" "all.txt"
is "a2 user: after it" "$(tail -n 1 "$T/mnt/$S/all.txt")" "its end"
cmp "$T/src/long.jsonl" "$T/mnt/$S/session.jsonl" || die "session.jsonl differs"
ls -lR "$T/mnt" >/dev/null || die "ls -lR"
# No more than for short lines: the cache, and 32 MiB. Files that the kernel writes back do not count.
if [ $pieces -gt 10 ]; then
	kill "$watch"
	peak=$(sort -n "$T/memory" | tail -n 1)
	[ "$peak" -lt $(((96 + 32) * 1024)) ] || die "it used $peak kB for a line of 200 MB"
fi
