#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The system calls of a walk, all of them: reading a request, asking inotify, writing the answer, and sometimes reading a
# line. The number of some depends on time: the reader polls and sleeps, and the main thread checks it each millisecond.
# These have limits of their own, which hold at any speed. perf counts in the kernel; strace, where perf is not allowed,
# slows the program.
. "$(dirname "$0")/../lib/lib.sh"
need_mount_traced
need strace python3
needs_watches
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

# --- a walk ------------------------------------------------------------------------------------------
events=(-e raw_syscalls:sys_enter)
for name in read writev pread64 poll ppoll futex sched_yield tgkill openat; do events+=(-e "syscalls:sys_enter_$name"); done
has_perf() {
	command -v perf >/dev/null && perf stat -x, -o "$T/perf" "${events[@]}" true 2>/dev/null && ! grep -q '<not' "$T/perf"
}
if has_perf; then
	how=perf
	mount_fs "$T/src" "$T/mnt"
	pid=$(mount_pid "$T/mnt")
else
	how=strace
	strace -f -qq -e signal=none -o "$T/trace" "$SESSIONFS" -f "$T/src" "$T/mnt" &
	await "the mount" mountpoint -q "$T/mnt"
fi
# The program has started completely.
ls "$T/mnt/sessions" >"$T/names"

# Each line of FILE has the name of a call and how often it was made while the command ran; the first is their sum, "all".
calls_of() { # FILE COMMAND...
	local file=$1 begun
	shift
	if [ $how = perf ]; then
		perf stat -x, -o "$T/perf" "${events[@]}" -p "$pid" -- "$@" >"$T/names"
		sed -n 's/^\([0-9]*\),,raw_syscalls:.*/all \1/p; s/^\([0-9]*\),,syscalls:sys_enter_\([a-z0-9_]*\),.*/\2 \1/p' "$T/perf" >"$file"
		return
	fi
	begun=$(wc -l <"$T/trace")
	"$@" >"$T/names"
	# A call interrupted by another thread has two lines.
	tail -n "+$((begun + 1))" "$T/trace" | sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' >"$T/walk"
	{
		echo "all $(wc -l <"$T/walk")"
		sort "$T/walk" | uniq -c | awk '{ print $2, $1 }'
	} >"$file"
}
calls_of "$T/calls" find "$T/mnt" -size +1M
calls_of "$T/idle" sleep 2
names=$(find "$T/mnt" | wc -l)
umount_fs "$T/mnt"
wait

count() { awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "${2:-$T/calls}"; }
all=$(count all) requests=$(count writev) preads=$(count pread64) callers=$(count tgkill) opens=$(count openat)
polls=$(count poll) ticks=$(count ppoll) futexes=$(count futex)
# The reader yields the CPU after each read that finds no request.
vain=$(count sched_yield)
inotify=$(($(count read) - requests - vain))
calls=$((all - 2 * vain - polls - ticks - futexes))
cat <<END
$how: $names names, $requests requests, $all calls; without those that depend on time $calls: $((calls * 100 / requests)) hundredths a request
$preads pread, $inotify reads of inotify, $callers lookups of a caller; $vain reads without a request, $polls poll, $ticks ppoll, $futexes futex
END
most="$(sort -k 2nr "$T/calls" | sed -n 1,10p)"
[ "$requests" -ge 1000 ] || die "only $requests requests were noted"
# A reader that sleeps has read without a request before, once more than it yielded: on a busy machine it sleeps often.
[ $(((calls - polls) * 100)) -le $((requests * 315)) ] || die "$calls calls for $requests requests: $most"
[ $((preads * 100)) -le $((names * 2)) ] || die "$preads pread for $names names"
[ $(((inotify - polls) * 100)) -le $((requests * 105)) ] || die "inotify was asked $inotify times for $requests requests"
[ $((callers * 10)) -le "$requests" ] || die "the caller was looked up $callers times"
# A caller that was looked up has its state read.
[ "$opens" -le $((10 + 2 * callers)) ] || die "$opens files were opened by their path, such as the number of cores"
# The reader polls for 50 us before it sleeps, and reads every 2.2 us meanwhile. It sleeps once before a request.
[ "$vain" -le $(((requests + polls) * 24)) ] || die "$vain reads without a request for $requests requests"
[ $((polls * 10)) -le $((requests * 11)) ] || die "the reader slept $polls times before $requests requests"
[ "$(count all "$T/idle")" -le 50 ] || die "calls of an unused mount: $(cat "$T/idle")"
# Another thread becomes the reader at most once in a check.
[ "$futexes" -le $((ticks * 10 + 100)) ] || die "$futexes futex for $ticks checks of the reader"

# --- walks of a mount that was walked before: the kernel answers most from its caches ----------------
samples "$T/few"
find "$T/few" -exec touch -d 2026-04-02T00:00:00Z {} +
names=$("$SESSIONFS" -S "$T/few" --tree / | wc -l)
answers() { awk '/^syscw/ { print $2 }' "/proc/$pid/io"; }
asks() { # PERCENT COMMAND...: sends at most PERCENT requests for a hundred names
	local before n
	before=$(answers)
	"${@:2}" >"$T/names" || :
	n=$(($(answers) - before))
	echo "$n requests of ${*:2} with -o $option"
	[ $((n * 100)) -le $((names * $1)) ] || die "$n requests for $names names: ${*:2}, with -o $option"
}
for limits in "rw 100 55 260 260" "ro 100 25 110 30"; do
	read -r option listed again read reread <<<"$limits"
	mount_watched "$T/few" "$T/mnt" -o "$option"
	pid=$(mount_pid "$T/mnt")
	asks "$listed" find "$T/mnt" -size +1M
	asks "$again" find "$T/mnt" -size +1M
	asks "$read" grep -r zqxjkvwzqxjkv "$T/mnt"
	asks "$reread" grep -r zqxjkvwzqxjkv "$T/mnt"
	umount_fs "$T/mnt"
done

# --- many directories: each is read once, with the watch that it has from then on --------------------
rm -rf "$T/src"
for n in $(seq 50); do
	mkdir -p "$T/src/--p$n--"
	echo '{"type":"session","version":3,"id":"s'"$n"'","cwd":"/x"}' >"$T/src/--p$n--/s.jsonl"
done
strace -f -qq -e trace=getdents64,openat2 -e signal=none -o "$T/trace" "$SESSIONFS" -f "$T/src" "$T/mnt" &
await "the mount" mountpoint -q "$T/mnt"
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
