#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Slow work ends once no caller needs it, and delays no other caller. The long session takes hours to read
# (tests/lib/slow.c): a test whose caller waited for that would not end.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need bindfs cc flock python3
is_sanitized && skip "a sanitizer wants to be loaded first"

cc -shared -fPIC -O1 -o "$T/slow.so" "$ROOT/tests/lib/slow.c" -ldl
mkdir -p "$T/src/--p--"
python3 - "$T/src/--p--" <<'END'
import json, sys
head = json.dumps({"type": "session", "version": 3, "id": "x"}) + "\n"
def entry(i):
    return json.dumps({"type": "message", "id": "e%d" % i, "parentId": "e%d" % (i - 1) if i else None,
                       "message": {"role": "user", "content": "x" * 1000}}) + "\n"
with open(sys.argv[1] + "/long.jsonl", "w") as f:
    f.write(head + "".join(entry(i) for i in range(32000)))
with open(sys.argv[1] + "/short.jsonl", "w") as f:
    f.write(head + entry(0))
END
mkdir "$T/src/--q--"
cp "$T/src/--p--/long.jsonl" "$T/src/--q--"
truncate -s 1T "$T/src/--p--/nothing.jsonl"
cp "$T/src/--p--/short.jsonl" "$T/src/--p--/sparse.jsonl"
truncate -s 1T "$T/src/--p--/sparse.jsonl"
export SLOW_FILE=/long.jsonl SLOW_US=400000 SLOW_BYTES=256 GATE=$T/gate
M=$T/mnt/projects/p

start() {
	LD_PRELOAD=$T/slow.so mount_fs "$T/src" "$T/mnt" "$@"
	pid=$(mount_pid "$T/mnt")
}
# However the test ends, no process is left in a mount.
clean_first() {
	local n
	while read -r n; do
		echo 1 2>/dev/null >"/sys/fs/fuse/connections/$n/abort" || :
	done < <(awk -v t="$T/" 'index($5, t) == 1 { split($3, d, ":"); print d[2] }' /proc/self/mountinfo)
	kill -KILL "${far:-}" 2>/dev/null || :
}
gone() { ! kill -0 "$1" 2>/dev/null; }
# A thread that is not stopped yet can take a request, which then cannot be killed.
is_stopped() { ! awk '/^State:/ && $2 != "T" { running = 1 } END { exit !running }' "/proc/$1/task"/*/status; }
is_held_up() { # PID: it is a cat, and it waits
	grep -q '(cat) [SD] ' "/proc/$1/stat"
}
readers() { # N FILE: that many readers are waiting
	local i p
	pids=()
	for ((i = 0; i < $1; i++)); do
		cat "$2" >/dev/null 2>&1 &
		pids+=($!)
	done
	for p in "${pids[@]}"; do await "the reader $p to wait for $2" is_held_up "$p"; done
}
kill_readers() {
	local p
	disown "${pids[@]}" # keeps bash from reporting each
	kill -KILL "${pids[@]}"
	for p in "${pids[@]}"; do await "the killed reader $p" gone "$p"; done
	wait 2>/dev/null || :
}
quick() { # WHAT COMMAND...
	local what=$1
	shift
	"$@" >"$T/out" 2>&1 || die "$what: $* ended with $?: $(cat "$T/out")"
}

for options in "" -s; do
	start ${options:+"$options"}
	for n in 1 20; do
		readers "$n" "$M/long/title"
		[ "$options" = -s ] || quick "beside $n readers" cat "$M/short/title"
		kill_readers
		quick "after $n readers" cat "$M/short/title"
	done
	# Several threads read the sessions.
	readers 1 "$T/mnt/sessions.tsv"
	kill_readers
	# A hole of a terabyte costs no work.
	quick "a sparse session" cat "$M/sparse/title" "$M/sparse/problems.txt"
	fails 1 . cat "$M/nothing/title"
	readers 3 "$M/long/tree.txt"
	kill -TERM "$pid"
	await "SIGTERM while ${#pids[@]} read, ${options:-by default}" gone "$pid"
	wait 2>/dev/null || :
done

# While a slow read runs, the file grows; other readers see that at once.
SLOW_US=3000
unset SLOW_BYTES
start
cat "$M/long/title" >/dev/null
cat "$M/long/transcript.md" >/dev/null 2>&1 &
reader=$!
await "the reader to wait" is_held_up $reader
echo '{"type":"session_info","id":"n1","parentId":"e31999","name":"grown"}' >>"$T/src/--p--/long.jsonl"
quick "the name of a session that is read" cat "$M/long/name"
is grown "$(cat "$T/out")" "its name"
wait "$reader" || die "the reader of transcript.md failed"
umount_fs "$T/mnt"

# Another program holds the lock of the file: an interrupt or a kill ends a write that waits for it.
SLOW_US=0
start
exec 7<"$T/src/--p--/short.jsonl"
flock 7
for signal in INT KILL; do
	env --default-signal=INT cat >"$M/short/entries/e0/label" <<<"$signal" 7<&- &
	writer=$!
	await "the writer to wait for the lock" is_held_up $writer
	quick "beside a writer that waits for a lock" cat "$M/short/title"
	disown $writer # keeps bash from reporting it
	kill -$signal $writer
	await "the writer that waits for a lock, after SIG$signal" gone $writer
done
exec 7<&-
wait 2>/dev/null || :
umount_fs "$T/mnt"

# A read of our own disk that never returns delays the unmount by some seconds at most.
SLOW_US=0
: >"$GATE"
start
readers 1 "$M/long/title"
kill -TERM "$pid"
await "SIGTERM while a read does not come back" gone "$pid"
rm "$GATE"
! mountpoint -q "$T/mnt" || die "it is mounted still"
wait 2>/dev/null || :

# No request waits for a message: standard error is a pipe that is full.
SLOW_US=0
mkdir "$T/later"
echo '{"kind":"header","version":4}' >"$T/later/1.jsonl"
for ((i = 2; i <= 600; i++)); do ln "$T/later/1.jsonl" "$T/later/$i.jsonl"; done # a message each
mkfifo "$T/log"
exec 9<>"$T/log"
exec 8<"$T/log"
dd if=/dev/zero bs=4096 count=14 status=none >&9 # of 64 KiB
"$SESSIONFS" -f "$T/later" "$T/mnt" 2>&9 &
await "a mount that logs to a full pipe" mountpoint -q "$T/mnt"
cat "$T/mnt/sessions.tsv" >"$T/out" &
await "a table, while messages cannot be written" gone $!
umount_fs "$T/mnt"
exec 9<&-
grep -aq 'sessionfs: .*jsonl: ' <&8 || die "no message before the pipe was full"
exec 8<&-

# SIGTERM ends the mount while readers arrive: requests come before, during and after the end.
for n in {0..7}; do
	start
	python3 - "$M/long/title" "$pid" "$n" <<'END'
import os, signal, sys, time
path, pid, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
start = time.monotonic() + 0.3
for k in range(12):
    if os.fork() == 0:
        time.sleep(max(0, start + k * 0.0005 - time.monotonic()))
        try:
            open(path, "rb").read()
        finally:
            os._exit(0)
time.sleep(max(0, start + (n - 2) * 0.0005 - time.monotonic()))
os.kill(pid, signal.SIGTERM)
END
	await "SIGTERM while readers come" gone "$pid"
	wait 2>/dev/null || :
done

# The source is on a server that stops: statfs gets an answer, and the mount ends.
SLOW_US=0
mkdir "$T/far"
for options in "" -s; do
	bindfs --no-allow-other -f "$T/src" "$T/far" &
	far=$!
	await "bindfs" mountpoint -q "$T/far"
	mount_fs "$T/far" "$T/mnt" ${options:+"$options"}
	pid=$(mount_pid "$T/mnt")
	[ "$(stat -f -c %b "$T/mnt")" -gt 0 ] || die "the room of the source's disk"
	ls "$T"/mnt/projects/* >"$T/out"
	# The first scan is over: a request that the server has read and never answers cannot be killed.
	await "the first scan" grep -q '"scanning":false' "$T/mnt/.status"
	kill -STOP "$far"
	await "the server to stop" is_stopped "$far"
	for n in 1 2 3; do
		stat -f "$T/mnt" >"$T/out" &
		await "the room where a server stopped, ${options:-by default}" gone $!
	done
	kill -TERM "$pid"
	await "SIGTERM while the server of the source stands, ${options:-by default}" gone "$pid"
	kill -KILL "$far"
	await "the server" gone "$far"
	wait 2>/dev/null || :
	umount_fs "$T/far"
done
