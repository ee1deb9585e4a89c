#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Data longer than 8 MiB passes every system call: labels set by a table, the names of a directory on another disk, and a
# found line.
. "$(dirname "$0")/../lib/lib.sh"
need python3
[ "$(df --output=avail -k "$T" | tail -n 1)" -gt 400000 ] || skip "there is too little room in $T"

# A session with 2,300 entries, and one with a line of 9 MB.
mkdir -p "$T/src/--p--"
python3 - "$T/src/--p--" <<'PY'
import json, sys
header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-04-01T12:00:00.000Z", "cwd": "/p"}
def message(i, parent, text):
    return {"type": "message", "id": i, "parentId": parent, "timestamp": "2026-04-01T12:00:00.000Z", "message": {"role": "user", "content": text}}
with open(sys.argv[1] + "/many.jsonl", "w") as f:
    print(json.dumps(header), file=f)
    for n in range(2300):
        print(json.dumps(message(f"e{n:04}", f"e{n - 1:04}" if n else None, f"entry {n}")), file=f)
long = "findme " + "0123456789abcdef" * 600000
with open(sys.argv[1] + "/long.jsonl", "w") as f:
    print(json.dumps(header | {"id": "long"}), file=f)
    print(json.dumps(message("a", None, long)), file=f)
PY

# A found line, to a file and to a pipe.
found=$("$SESSIONFS" -S "$T/src" --search 'findme session:long' | sed 's/^[^:]*:1://')
is 300 "$(python3 -c 'import sys; print(len(sys.argv[1]))' "$found")" "characters of the line that was found"
matches findme "$found" "the line that was found"

# A text can be longer than a file is allowed to be. It is of one moment, also if its reader is slow. Without a watch, a scan is current for 200 ms.
chat=("$SESSIONFS" -S "$T/src" --cat projects/p/long/chat.md)
"${chat[@]}" >"$T/before"
(ulimit -S -f 100 && "${chat[@]}") | same - "$T/before" "a text beyond the limit of file sizes"
"${chat[@]}" | {
	dd bs=1 count=1 status=none
	echo '{"type":"session_info","id":"n","parentId":"a","name":"another"}' >>"$T/src/--p--/long.jsonl"
	sleep 0.3
	cat
} | same - "$T/before" "a text that changed while it was printed"

can_mount || exit 0
mount_fs "$T/src" "$T/mnt"
S=$T/mnt/projects/p

# A table whose records take 9 MB. Meanwhile nothing is torn: each line parses, and each label exists.
python3 - "$S/many" <<'PY'
import sys
with open(sys.argv[1] + "/labels.tsv") as f:
    rows = [line.rstrip("\n").split("\t") for line in f]
for row in rows:
    if not row[0].startswith("#"):
        row[1] = f"{row[0]} " + "x" * 4000
with open(sys.argv[1] + "/labels.tsv", "w") as f:
    f.write("".join("\t".join(row) + "\n" for row in rows))
PY
python3 - "$T/src/--p--/many.jsonl" <<'PY' || die "the labels in the file"
import json, sys
with open(sys.argv[1]) as f:
    lines = [json.loads(line) for line in f]
labels = {line["targetId"]: line["label"] for line in lines if line["type"] == "label"}
assert len(lines) == 1 + 2 * 2300, len(lines)
assert labels == {f"e{n:04}": f"e{n:04} " + "x" * 4000 for n in range(2300)}
PY
is "e2299 xxx" "$(head -c 9 "$S/many/entries/e2299/label")" "the last label"
umount_fs "$T/mnt"

# 33,000 names of 255 bytes on another disk: separate threads look up its files.
[ -w /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d "$T")" ] || skip "no second disk here, for its names"
other=$(mktemp -d /dev/shm/sessionfs-test.XXXXXX)
clean_first() { rm -rf "$other"; }
python3 - "$other" <<'PY'
import sys
for n in range(33000):
    open(f"{sys.argv[1]}/{n:0249}.jsonl", "w").close()
PY
cp "$T/src/--p--/long.jsonl" "$other/"
ln -s "$other" "$T/src/--other--"
mount_fs "$T/src" "$T/mnt"
await "the session among them" test -e "$T/mnt/projects/other/long/title"
is long "$(ls "$T/mnt/projects/other")" "sessions among many names"
