#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The listing of a directory, lookups of its names, and reads agree everywhere.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
samples "$T/src"
samples "$T/src/--broken--" "$ROOT/tests/data/broken"
for options in "" "-oro"; do
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	python3 "$ROOT/tests/lib/tree.py" agree "$T/mnt" || die "they do not ($options)"
	umount_fs "$T/mnt"
done

# Small buffers: the listing continues where it stopped.
mount_watched "$T/src" "$T/mnt"
many=$T/src/many.jsonl
python3 - "$many" <<'PY'
import json, sys
with open(sys.argv[1], "w") as f:
    f.write('{"type":"session","version":3,"id":"many","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/many"}\n')
    for i in range(5000):
        f.write(json.dumps({"type": "message", "id": f"{i:08x}", "parentId": None, "timestamp": "2026-04-01T12:00:01.000Z", "message": {"role": "user", "content": "x"}}) + "\n")
PY
await "the new session" test -d "$T/mnt/projects/many/many"
is "$(seq 0 4999 | xargs printf '%08x\n')" "$(ls "$T/mnt/projects/many/many/entries")" "5000 entries"
is 5000 "$(ls -lU "$T/mnt/projects/many/many/entries" | grep -c '^d')" "5000 entries with their attributes"
is 5001 "$(ls -U "$T/mnt/projects/many/many/branches" | wc -l)" "5000 branches and the current one"
