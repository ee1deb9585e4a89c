#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A session file is rewritten in place while the kernel has cached its directory: a listing or read right after that
# gets the new contents, and no ESTALE.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
needs_watches

for options in rw ro; do
	rm -rf "$T/src"
	mkdir -p "$T/src/--p--"
	cp "$ROOT/tests/data/sessions/--home-ada-weather--/"2026-03-02*.jsonl "$T/src/--p--/s.jsonl"
	touch -d '3 hours ago' "$T/src/--p--/s.jsonl"
	mount_fs "$T/src" "$T/mnt" -o "$options"
	python3 - "$T/src/--p--/s.jsonl" "$T/mnt/projects/p/s" "$options" >"$T/out" <<'END'
import os, sys
source, mount, options = sys.argv[1:]
lines = open(source, "rb").read().splitlines(True)
os.listdir(mount)
wrong = []
for i in range(100):
    # Everything but the header changes, ids included.
    text = lines[0] + b"".join(b'{"type":"message","id":"r%de%d","parentId":%s,"message":{"role":"user","content":"round %d"}}\n'
                               % (i, k, b'"r%de%d"' % (i, k - 1) if k else b"null", i) for k in range(1 + i % 5))
    with open(source, "r+b") as f:
        f.truncate(0)
        f.write(text)
    try:
        names = os.listdir(mount)
        listed = sorted(e.name for e in os.scandir(mount + "/entries"))
        for e in os.scandir(mount):
            try:
                e.stat(follow_symlinks=False)
            except FileNotFoundError:  # listed from the kernel's cache, and gone
                assert options == "ro"
        seen = open(mount + "/context.md").read() + open(mount + "/title").read()
        # Read-only, the kernel can answer from its cache for half a second.
        if options == "rw" and ("tree.txt" not in names or listed != ["r%de%d" % (i, k) for k in range(1 + i % 5)] or "round %d\n" % i not in seen):
            wrong.append((i, listed, seen))
    except OSError as e:
        wrong.append((i, str(e)))
print(len(wrong), wrong[:3])
END
	is "0 []" "$(cat "$T/out")" "the result with -o $options"
	umount_fs "$T/mnt"
done
