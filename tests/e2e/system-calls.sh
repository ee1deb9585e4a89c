#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The system calls of a walk: reading a request, asking inotify, writing the answer, and sometimes reading a line. Calls
# that depend on time are not counted: idle polls of the reader, and waits.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need strace python3
is_sanitized && skip "a sanitizer makes calls of its own"
strace -o "$T/trace" true 2>/dev/null || skip "strace is not allowed here"

samples "$T/src"
mkdir "$T/src/--long--" "$T/mnt"
python3 - "$T/src/--long--" <<'END'
import json, sys
for n in range(4):
    with open("%s/%d.jsonl" % (sys.argv[1], n), "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": "long%d" % n, "cwd": "/long"}), file=f)
        for i in range(400):
            content = [{"type": "text", "text": "word " * 30}]
            if i % 2:
                content.append({"type": "toolCall", "id": "c%d" % i, "name": "bash", "arguments": {"command": "ls"}})
            print(json.dumps({"type": "message", "id": "e%d" % i, "parentId": "e%d" % (i - 1) if i else None,
                              "message": {"role": "assistant" if i % 2 else "user", "content": content}}), file=f)
END
find "$T/src" -exec touch -d 2026-04-02T00:00:00Z {} +

strace -f -y -qq -e 'trace=!ppoll,poll,futex,sched_yield' -e signal=none -o "$T/trace" "$SESSIONFS" -f "$T/src" "$T/mnt" &
within 20 "the mount" mountpoint -q "$T/mnt"
# The program has started completely.
ls "$T/mnt/sessions" >"$T/names"
begun=$(wc -l <"$T/trace")
find "$T/mnt" -size +1M >"$T/names"
umount_fs "$T/mnt"
wait
tail -n "+$((begun + 1))" "$T/trace" >"$T/walk"
mount_fs "$T/src" "$T/mnt"
names=$(find "$T/mnt" | wc -l)

count() { grep -acE "$1" "$T/walk" || :; }
# A call interrupted by another thread has two lines.
all=$(grep -ac '^[0-9]* *[a-z0-9_]*(' "$T/walk")
requests=$(count 'writev\([0-9]+</dev/fuse>')
asked=$(count 'read\([0-9]+</dev/fuse>')
inotify=$(count 'read\([0-9]+<anon_inode:inotify>')
preads=$(count 'pread64\(')
callers=$(count 'tgkill\(')
cores=$(count '/sys/devices/system/cpu')
calls=$((all - asked + requests))
cat <<END
$names names, $requests requests, $calls calls: $((calls * 100 / requests)) hundredths a request
$preads pread, $inotify asked inotify, $callers asked who calls
END
[ "$requests" -ge 1000 ] || die "only $requests requests were noted"
[ $((calls * 10)) -le $((requests * 33)) ] || die "$calls calls for $requests requests: $(sed 's/^[0-9]* *//; s/(.*//' "$T/walk" | sort | uniq -c | sort -rn | sed -n 1,10p)"
[ $((preads * 100)) -le $((names * 15)) ] || die "$preads pread for $names names"
[ $((inotify * 10)) -le $((requests * 11)) ] || die "inotify was asked $inotify times for $requests requests"
[ $((callers * 10)) -le "$requests" ] || die "the caller was looked up $callers times"
is 0 "$cores" "looks at a file for the number of cores"

# --- many directories: each is read once, with the watch that it has from then on --------------------
rm -rf "$T/src"
for n in $(seq 50); do
	mkdir -p "$T/src/--p$n--"
	echo '{"type":"session","version":3,"id":"s'"$n"'","cwd":"/x"}' >"$T/src/--p$n--/s.jsonl"
done
umount_fs "$T/mnt"
strace -f -qq -e trace=getdents64,openat2 -e signal=none -o "$T/trace" "$SESSIONFS" -f "$T/src" "$T/mnt" &
within 20 "the mount" mountpoint -q "$T/mnt"
is 50 "$(ls "$T/mnt/projects" | wc -l)" "projects"
is 50 "$(ls "$T/mnt/sessions" | wc -l)" "sessions"
umount_fs "$T/mnt"
wait
# Each reading has a second call, which finds the end.
reads=$(($(grep -c 'getdents64(' "$T/trace") / 2))
echo "$reads readings of 51 directories"
[ "$reads" -le 60 ] || die "51 directories were read $reads times"
# The first listing needs attributes, the second one headers: one opening each. (Older kernels lack openat2.)
opens=$(grep -c 'openat2(.*s\.jsonl"' "$T/trace" || :)
echo "$opens openings of 50 sessions"
[ "$opens" -le 110 ] || die "50 sessions were opened $opens times"
