#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Indexes and rendered bytes stay within the cache option, whatever is read and however often. Evicted data comes back
# the same: with the same inode numbers, also for files that stayed open.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
sessions=150 entries=12 option=4
sanitized=
if is_sanitized; then sanitized=1 sessions=20; fi # sanitizers are slow, and keep freed memory

python3 - "$T/src" $sessions $entries <<'PY'
import json, os, sys
root, sessions, entries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for s in range(sessions):
    d = f"{root}/--project-{s % 3}--"
    os.makedirs(d, exist_ok=True)
    with open(f"{d}/s{s:03}.jsonl", "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": f"s{s:03}", "timestamp": "2026-04-01T12:00:00.000Z", "cwd": f"/project/{s % 3}"}), file=f)
        for e in range(entries):
            text = f"{s} {e} " + f"some words in line {e}\n" * (s * 7 + e * 11 & 1023)
            print(json.dumps({"type": "message", "id": f"e{e:03}", "parentId": f"e{e - 1:03}" if e else None, "timestamp": "2026-04-01T12:00:00.000Z",
                              "message": {"role": "user", "content": text}}), file=f)
PY
find "$T/src" -name '*.jsonl' -exec touch -d 2026-04-01T12:00:00Z {} +
mount_fs "$T/src" "$T/mnt" -o cache=${option}M
pid=$(mount_pid "$T/mnt")
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"; }
numbers() { (cd "$T/mnt" && find . -printf '%i %p\n' | sort); }

first=$(echo "$T"/mnt/projects/*/s000)
"$SESSIONFS" -S "$T/src" --cat "${first#"$T/mnt/"}/transcript.md" >"$T/transcript"
exec 7<"$first/transcript.md" 8<"$first/entries/e011/text.md" 9<"$first"
head -c 100 <&7 >"$T/read"

bytes=$(cat "$T"/mnt/projects/*/*/transcript.md | wc -c)
[ -n "$sanitized" ] || [ "$bytes" -gt $((option * 4 << 20)) ] || die "only $bytes bytes of transcripts"

numbers >"$T/numbers"
for round in 1 2 3 4 5; do
	! grep -r zqxjkvwzqxjkv "$T/mnt" || die "found a word that is not there"
	(($(python3 "$ROOT/tests/lib/reread.py" "$T/mnt" $round 500 || echo 0) > 0)) || die "nothing was read"
	numbers >"$T/numbers.now"
	same "$T/numbers" "$T/numbers.now" "inode numbers, round $round"
	resident=$(resident)
	echo "round $round: $resident kB"
	[ $round -ne 2 ] || settled=$resident
	[ -z "$sanitized" ] || continue
	[ "$resident" -lt $(((option + 32) * 1024)) ] || die "$resident kB with a cache of $option MiB"
	[ $round -le 2 ] || [ "$resident" -lt $((settled + 10 * 1024)) ] || die "grew from $settled kB to $resident kB"
done

# Files that stayed open: the rest of the text, and the same file through another path.
cat <&7 >>"$T/read"
same "$T/transcript" "$T/read" "a transcript that was open"
is "$(stat -c %i "$first/entries/e011/text.md")" "$(stat -L -c %i /dev/fd/8)" "inode number of an open file"
same "$first/entries/e011/text.md" /dev/fd/8 "an entry's text that was open"
is "$(stat -c %i "$first")" "$(stat -L -c %i /dev/fd/9)" "inode number of an open directory"
exec 7<&- 8<&- 9<&-

# Many readers at once, of more than fits the cache.
for seed in 11 12 13 14; do python3 "$ROOT/tests/lib/reread.py" "$T/mnt" $seed 300 >"$T/reader.$seed" & done
numbers >"$T/numbers.now"
for job in $(jobs -p); do wait "$job" || die "a reader failed"; done
same "$T/numbers" "$T/numbers.now" "inode numbers while others read"
resident=$(resident)
echo "with four readers: $resident kB"
[ -n "$sanitized" ] || [ "$resident" -lt $(((option + 32) * 1024)) ] || die "$resident kB with a cache of $option MiB"
umount_fs "$T/mnt"

# Nothing is kept of a rewritten session, however long its labels were.
[ -z "$sanitized" ] || exit 0
mkdir "$T/labels"
mount_watched "$T/labels" "$T/mnt" -o cache=4M
python3 - "$T/labels/s.jsonl" "$T/mnt/labels" "$(mount_pid "$T/mnt")" <<'PY' || die "labels that are gone are kept"
import json, os, sys, time
path, labels, pid = sys.argv[1:]
def held():
    with open(f"/proc/{pid}/status") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("RssAnon", "RssShmem"))) >> 10
for i in range(40):
    text = f"{i} " + "x" * (1 << 20)
    with open(path, "w") as f:
        for line in ({"type": "session", "version": 3, "id": "s"}, {"type": "message", "id": "m", "parentId": None, "message": {"role": "user", "content": "x"}},
                     {"type": "label", "id": "l", "parentId": "m", "targetId": "m", "label": text}):
            print(json.dumps(line), file=f)
    while [name.split(" ")[0] for name in os.listdir(labels)] != [str(i)]:
        time.sleep(0.05)
print("labels that are gone:", held(), "MiB")
assert held() < 32, held()
PY
umount_fs "$T/mnt"

# Indexes count, too.
mkdir "$T/indexes"
python3 - "$T/indexes" <<'PY'
import sys
for s in range(100):
    with open(f"{sys.argv[1]}/{s}.jsonl", "w") as f:
        f.write('{"type":"session","version":3,"id":"%d"}\n' % s + "".join('{"type":"custom","id":"%d"}\n' % i for i in range(8000)))
PY
mount_fs "$T/indexes" "$T/mnt" -o cache=4M
pid=$(mount_pid "$T/mnt")
is 100 "$(cat "$T"/mnt/sessions/*/leaf/entry.json | wc -l)" "the last entries"
resident=$(resident)
echo "with 100 indexes: $resident kB"
[ "$resident" -lt $((36 * 1024)) ] || die "$resident kB with a cache of 4 MiB"
umount_fs "$T/mnt"

is_measured && exit 0
# Answers to queries, of which the kernel has all names, count with what they take.
mkdir "$T/one"
printf '%s\n' '{"type":"session","version":3,"id":"s"}' '{"type":"message","id":"m","parentId":null,"message":{"role":"user","content":"x"}}' >"$T/one/s.jsonl"
mount_fs "$T/one" "$T/mnt" -o cache=16M
python3 - "$T/mnt/search" "$(mount_pid "$T/mnt")" <<'PY' || die "answers take more than the cache"
import os, sys
search, pid = sys.argv[1:]
for i in range(16000):
    assert os.stat(f"{search}/x -w{i}/hits.txt").st_size > 0
with open(f"/proc/{pid}/status") as f:
    held = sum(int(line.split()[1]) for line in f if line.startswith(("RssAnon", "RssShmem"))) >> 10
print("answers:", held, "MiB")
assert held < 26, held
PY
