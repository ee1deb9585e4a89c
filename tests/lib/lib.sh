# SPDX-License-Identifier: MIT
# Sourced by the tests in tests/e2e and by tests/golden. A test is a file that checks one thing: it ends with 0, with 77
# and a reason if it cannot run here (78 if a program is missing that scripts/setup installs), or at the first failure.
# All its files are in $T and are removed at the end.
#
# SESSIONFS is the program under test, an absolute path; scripts/check sets it.
# shellcheck shell=bash
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SESSIONFS=${SESSIONFS:-$ROOT/build/sessionfs}
export LC_ALL=C.UTF-8 TZ=UTC
# A shim of pyenv starts twenty programs before Python.
case $(type -P python3) in */shims/python3) PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH ;; esac
unset PI_CODING_AGENT_DIR PI_CODING_AGENT_SESSION_DIR
unset MAKEFLAGS MFLAGS # a make in a test does not share the jobs of the make that runs the test

T=$(mktemp -d "${TMPDIR:-/tmp}/sessionfs-test.XXXXXX")
chmod 755 "$T"
T=$(cd "$T" && pwd -P)
# Reports of sanitizers go to a file, since a mount has no terminal. cleanup reads it.
export ASAN_OPTIONS=exitcode=99:log_path=$T/sanitizer UBSAN_OPTIONS=print_stacktrace=1:log_path=$T/sanitizer
export TSAN_OPTIONS=exitcode=99:log_path=$T/sanitizer
# Reports of the lock checker go there too; it ends the program.
export SESSIONFS_LOCK_CHECK=$T/sanitizer.locks

mounts_below() { awk -v t="$T/" 'index($5 "/", t) == 1 { print $5 }' /proc/self/mountinfo | sort -r; }

# Further cleanup of a test: redefine this. (A trap of its own would lose the result.)
clean_first() { :; }
cleanup() {
	local rc=$? m
	trap - EXIT
	set +e
	clean_first
	cd /
	for m in $(mounts_below); do
		umount "$m" 2>/dev/null || fusermount3 -u "$m" 2>/dev/null || fusermount3 -uz "$m" 2>/dev/null || umount -l "$m" || :
	done
	if cat "$T"/sanitizer.* >&2 2>/dev/null; then rc=1; fi
	if [ -n "$(mounts_below)" ]; then
		echo "still mounted: $(mounts_below)" >&2 # and not removed: that would go through the mount
	else
		chmod -R u+rwX "$T" 2>/dev/null || :
		rm -rf "$T"
	fi
	exit "$rc"
}
trap cleanup EXIT
# Names a command that ends the test without a message.
trap 'echo "line $LINENO ended with $?: $BASH_COMMAND" >&2' ERR
awaited=
end_by_signal() {
	echo "FAILED: ended by a signal${awaited:+ while it waits for $awaited}" >&2
	exit "$1"
}
trap 'end_by_signal 130' INT
trap 'end_by_signal 143' TERM

skip() {
	echo "skipped: $*"
	exit 77
}
die() {
	echo "FAILED: $*" >&2
	exit 1
}

# Skips a test that lacks a program which scripts/setup installs; `make check` counts that as a failure.
lacks() {
	echo "skipped: there is no $* here"
	exit 78
}
need() {
	local c
	for c; do
		command -v "$c" >/dev/null 2>&1 || lacks "$c"
	done
}

# Returns whether this user can mount, found without the program under test.
can_mount() {
	command -v fusermount3 >/dev/null 2>&1 || return 1
	(exec 9<>/dev/fuse) 2>/dev/null || return 1
	[ "$(id -u)" -ne 0 ] || (($((0x$(awk '/^CapEff/ { print $2 }' /proc/self/status))) >> 21 & 1))
}
need_mount() {
	can_mount || skip "cannot mount here (/dev/fuse or the right to mount is missing)"
}
need_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
}
# Returns whether /proc shows this user the files and counters of our programs: they cannot be debugged (PR_SET_DUMPABLE).
proc_is_open() {
	[ "$(id -u)" -eq 0 ] || is_sanitized
}
need_proc() {
	proc_is_open || skip "needs root, whom /proc shows the program's files and counters"
}
# strace takes its rights from fusermount3, without which a user cannot mount.
need_mount_traced() {
	need_mount
	[ "$(id -u)" -eq 0 ] || skip "needs root, who mounts without fusermount3"
}
# Runs a command as a user who is not root and owns nothing.
as_nobody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# --- mounts --------------------------------------------------------------------

# Copies session files to a directory; each gets the time of its last message, which a checkout does not keep.
samples() { # DIRECTORY [FROM]
	local f t
	mkdir -p "$1"
	cp -r "${2:-$ROOT/tests/data/sessions}/." "$1/"
	chmod -R u+rwX,go+rX,go-w "$1"
	while IFS= read -r -d '' f; do
		chmod 644 "$f"
		t=$(LC_ALL=C grep -ao '"timestamp":"[0-9T:.-]*Z"' "$f" | cut -d'"' -f4 | sort | tail -n 1 || :)
		touch -d "${t:-2026-04-01T12:00:00Z}" "$f"
	done < <(find "$1" -name '*.jsonl' -type f -print0)
	find "$1" -type d -exec touch -d 2026-04-02T00:00:00Z {} +
}

# Paths in the samples.
# shellcheck disable=SC2034
{
	WEATHER=projects/home-ada-weather
	FORECAST=$WEATHER/2026-03-02T09-15-03-460Z_019cadd4-5ce2-7528-9185-2d54157d736a
	ICONS=$WEATHER/2026-03-03T14-02-13-960Z_019cb401-a386-7528-9185-2d5693b37e81
	CACHE=$WEATHER/2026-03-05T08-30-03-460Z_019cbd1e-3e02-7528-9185-2d58fd95ca5f
	ROOTS=$WEATHER/2026-03-06T17-45-03-460Z_019cc440-b822-7528-9185-2d5a5d59d993
	FORK=$WEATHER/2026-03-07T10-00-03-460Z_019cc7bd-5bc2-7528-9185-2d5cd11b7815
	NOTES=projects/home-ada-notes
	V1=$NOTES/2025-11-20T18-00-00-000Z_7d0f2a54-3f0e-4c5b-9a52-0c1d6f1be8aa
	V2=$NOTES/2025-12-14T12-30-00-000Z_b3a6e0c2-77d1-4f57-8a0b-52f1c9f3d7e1
	V4=projects/srv-site-v2/2026-03-10T06-00-00-000Z_site-1
	FLAT=$WEATHER/5b8c1f0e-2f6d-4d3c-8f51-d0a7b6c5e4f3
}

# Sanitizers must be loaded before preloaded libraries, and are slow.
is_portable() { grep -q portable_openat "$SESSIONFS"; } # polls
needs_watches() { ! is_portable || skip "a portable build polls: a change shows a second later"; }
is_sanitized() { grep -qE '__(asan|tsan)_init' "$SESSIONFS"; }
is_measured() { grep -q __gcov_init "$SESSIONFS"; } # COVERAGE=1: allocates, and writes files when it ends
sanitizer_library() { ldd "$SESSIONFS" | awk '/lib[at]san/ { print $3 }'; }

mount_fs() { # SOURCE DIRECTORY [OPTION...]
	local source=$1 dir=$2
	shift 2
	mkdir -p "$dir"
	# ASan skips the leak check for processes that end before their parent.
	"$SESSIONFS" "$@" "$source" "$dir" || die "sessionfs $* $source $dir ended with $?"
	mountpoint -q "$dir" || die "sessionfs said it mounted $dir, but it is no mount point"
}
# The same, for tests of notifications: neither the program nor the kernel looks again because of the time, so that a
# change is seen only if inotify reports it and the kernel is notified, however slow the machine is.
mount_watched() { # SOURCE DIRECTORY [OPTION...]
	local -x LD_PRELOAD
	LD_PRELOAD=$(still)
	mount_fs "$@"
}
# Prints the library that this preloads, or nothing if it cannot.
still() {
	if command -v cc >/dev/null && ! is_sanitized && ! is_portable; then
		# shellcheck disable=SC2046 # words
		[ -e "$T/still.so" ] || cc -shared -fPIC -O1 $(pkg-config --cflags fuse3) -o "$T/still.so" "$ROOT/tests/lib/still.c" || die "still.c"
		echo "$T/still.so"
	fi
}
umount_fs() {
	local how="fusermount3 -q -u"
	[ "$(id -u)" -ne 0 ] || how=umount
	# shellcheck disable=SC2086 # words
	await "the end of $1" $how "$1" 2>/dev/null
}

# Runs a command that looks at all mounts: for root, without the mounts of other tests, which can be silent.
without_others() {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || {
		"$@"
		return
	}
	unshare -m bash -c 't=$1 && shift && umount -l $(awk -v t="$t/" '"'"'$3 ~ /^fuse/ && index($2, t) != 1 { print $2 }'"'"' /proc/self/mounts) 2>/dev/null
		exec "$@"' - "$T" "$@"
}

# Starts `sessionfs --events`, which appends to FILE, and waits until it follows. Changes of a session of its own show
# that; FILE is empty afterwards.
events_pids=()
follow_events() { # FILE SOURCE [OPTION...]
	local file=$1 dir=$2/--follow-events--
	: >"$file"
	"$SESSIONFS" -S "$2" "${@:3}" --events >>"$file" &
	events_pids+=($!)
	mkdir "$dir"
	echo '{"type":"session","version":3,"id":"follow-events"}' >"$dir/probe.jsonl"
	await "an event" eval "echo '{\"type\":\"custom\",\"id\":\"x\"}' >>'$dir/probe.jsonl'; [ -s '$file' ]"
	rm -r "$dir"
	await "the end of events" grep -q '"deleted"' "$file"
	: >"$file"
}

# Prints for how many seconds a mount can answer from a scan without a watch: 0.2, or eight times as long as the scan takes,
# which is measured here. The end of that time cannot be seen from outside.
scan_lasts() { # SOURCE
	local took=${EPOCHREALTIME//[!0-9]/}
	"$SESSIONFS" -S "$1" --ls sessions >"$T/scanned" || :
	awk -v took=$((${EPOCHREALTIME//[!0-9]/} - took)) 'BEGIN { print 0.3 + took * 10 / 1000000 }'
}

# Prints the process that serves DIRECTORY, the newest: its starter can take a moment to end, and a server whose mount is
# in another mount namespace, too, outlives the unmount.
mount_pid() { # DIRECTORY
	await "the process that serves $1" eval 'pgrep -n -f -- "$SESSIONFS .*'"$1"'\$" >"$T/served"'
	cat "$T/served"
}

# --- assertions ----------------------------------------------------------------

is() { # EXPECTED ACTUAL WHAT
	[ "$1" = "$2" ] || die "$3: expected $(printf %q "$1"), got $(printf %q "$2")"
}
matches() { # REGEX ACTUAL WHAT
	[[ $2 =~ $1 ]] || die "$3: expected something like $(printf %q "$1"), got $(printf %q "$2")"
}
same() { # FILE FILE WHAT
	cmp "$1" "$2" >&2 || die "$3: $1 and $2 differ"
}
nothing() { # WHAT COMMAND...: it succeeds and prints nothing
	local what=$1 out
	shift
	out=$("$@" 2>&1) || die "$what: $* ended with $?: $out"
	[ -z "$out" ] || die "$what: $* printed: $out"
}
fails() { # STATUS REGEX COMMAND...: it ends with this status and its output matches
	local status=$1 regex=$2 out rc=0
	shift 2
	out=$("$@" 2>&1) || rc=$?
	is "$status" "$rc" "exit status of $* ($out)"
	matches "$regex" "$out" "message of $*"
}
# Waits until a command succeeds, without a limit: lib/limited ends a test that hangs, which then says what it waits for.
await() { # WHAT COMMAND...
	awaited="$1: ${*:2}"
	until "${@:2}"; do sleep 0.05; done
	awaited=
}
