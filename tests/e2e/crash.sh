#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A crash in any thread writes a backtrace where messages go, and ends the program with the same signal as usual.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3 addr2line unshare
is_sanitized && skip "a sanitizer has its own report"
grep -q 'libc\.so\.6' < <(ldd "$SESSIONFS") || skip "only the GNU C library has backtraces"
samples "$T/src"
mkdir "$T/mnt"

# Prints our functions that the backtrace in a file names.
functions() {
	sed -nE "s|^.*[: ]$SESSIONFS\(\+(0x[0-9a-f]+)\).*|\1|p" "$1" | xargs -r addr2line -fi -e "$SESSIONFS"
}

python=$(command -v python3)
# Sends a signal to the thread of that number; the first is 0.
kill_thread() { # PID SIGNAL NUMBER
	local tids
	mapfile -t tids < <(cd "/proc/$1/task" && printf '%s\n' * | sort -n)
	"$python" -c 'import ctypes, sys; sys.exit(-ctypes.CDLL(None).syscall(*map(int, sys.argv[1:])))' \
		"$(python3 -c 'import os; print({"x86_64": 234, "aarch64": 131}[os.uname().machine])')" "$1" "${tids[$3]}" "$2"
}

for case in "SEGV 0 main" "ABRT 1 loop_thread_main" "BUS 3 follow_thread_main" "FPE 0 main" "ILL 2 loop_thread_main"; do
	read -r signal thread function <<<"$case"
	"$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
	pid=$!
	await "mounted" mountpoint -q "$T/mnt"
	await "its threads" eval "[ \$(ls /proc/$pid/task | wc -l) -gt 3 ]"
	kill_thread $pid "$(kill -l "$signal")" "$thread" || die "SIG$signal was not sent to thread $thread"
	rc=0
	wait $pid 2>/dev/null || rc=$?
	is $((128 + $(kill -l "$signal"))) $rc "status after SIG$signal"
	matches "^sessionfs: ended by SIG$signal; addr2line " "$(head -n 1 "$T/log")" "what it says first"
	is "" "$(grep -v '^sessionfs: ' "$T/log" || :)" "lines without a beginning"
	functions "$T/log" | grep -x "$function" >/dev/null || die "no $function in thread $thread: $(cat "$T/log"; functions "$T/log")"
	fusermount3 -u "$T/mnt" 2>/dev/null || umount "$T/mnt"
done

# In the background it goes to syslog: here, to a listener in its place. While this one is stopped, messages are lost:
# no request waits for it.
need_root
mkdir "$T/later"
echo '{"kind":"header","version":4}' >"$T/later/1.jsonl"
for ((i = 2; i <= 1500; i++)); do ln "$T/later/1.jsonl" "$T/later/$i.jsonl"; done # a message each
cat >"$T/listen.py" <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
open(sys.argv[2], "w").close()
with open(sys.argv[1], "wb", buffering=0) as out:
    while True:
        out.write(s.recv(65536) + b"\n")
END
cat >"$T/apart.sh" <<END
set -e
mkdir "$T/dev"
mount --rbind /dev "$T/dev"
mount -t tmpfs none /dev
for f in fuse null; do touch /dev/\$f; mount --bind "$T/dev/\$f" /dev/\$f; done
python3 "$T/listen.py" "$T/syslog" "$T/listens" &
trap 'kill -KILL %1' EXIT
until [ -e "$T/listens" ]; do sleep 0.05; done
"$SESSIONFS" "$T/src" "$T/mnt"
pid=\$(pgrep -f "$SESSIONFS $T/src $T/mnt\$")
kill -SEGV \$pid
until grep -q main "$T/syslog" || ! kill -0 \$pid 2>/dev/null; do sleep 0.05; done
kill -STOP %1
fusermount3 -u "$T/mnt"
"$SESSIONFS" "$T/later" "$T/mnt"
cat "$T/mnt/sessions.tsv" "$T/mnt/.status" >"$T/table"
fusermount3 -u "$T/mnt"
echo \$pid >"$T/pid"
END
unshare -m bash "$T/apart.sh" || die "apart: $?"
matches "^<27>sessionfs\[$(cat "$T/pid")\]: ended by SIGSEGV; " "$(head -n 1 "$T/syslog")" "what syslog gets"
functions "$T/syslog" | grep -x main >/dev/null || die "no main in $(cat "$T/syslog")"
