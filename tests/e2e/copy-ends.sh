#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A copy that is killed at any call, interrupted, or that finds the disk full leaves whole files and nothing else. The
# next copy resumes it: the result equals a fresh copy. Two copies into one directory at a time are refused.
. "$(dirname "$0")/../lib/lib.sh"
need strace
samples "$T/src"
rm -r "$T/src/--home-ada-weather--" # enough is left
copy=("$SESSIONFS" -S "$T/src" --copy /)
"${copy[@]}" "$T/fresh" >/dev/null
strace -o "$T/trace" true 2>/dev/null || skip "cannot trace programs here"

# Files that exist have the bytes of the fresh copy, except one unfinished file.
is_whole() { # WHAT
	local unfinished
	unfinished=$(cd "$T/to" && find . -name '.sessionfs~')
	[ "$(echo "$unfinished" | wc -l)" -eq 1 ] || die "$1: more than one unfinished file: $unfinished"
	{ diff -r --no-dereference "$T/fresh" "$T/to" || :; } | grep -vE "^Only in ($T/fresh.*|$T/to.*: \.sessionfs~)$" >"$T/differs" || :
	is "" "$(cat "$T/differs")" "$1: differences"
}
goes_on() { # WHAT
	"${copy[@]}" "$T/to" >/dev/null || die "$1: the next copy ended with $?"
	nothing "$1: the next copy" diff -r --no-dereference "$T/fresh" "$T/to"
	is "$(cd "$T/fresh" && find . -mindepth 1 -printf '%p %m %T@\n' | sort)" \
		"$(cd "$T/to" && find . -mindepth 1 -printf '%p %m %T@\n' | sort)" "$1: modes and times"
}
ended() { # STATUS CALL NUMBER [FAULT]: a copy that ends with STATUS at the NUMBERth call of CALL
	local rc=0
	rm -rf "$T/to"
	strace -f -qq -o "$T/trace" -e trace="$2" -e inject="$2:$4:when=$3" "${copy[@]}" "$T/to" >"$T/out" 2>"$T/err" || rc=$?
	is "$1" "$rc" "status after $4 at $2 number $3: $(cat "$T/err")"
	is_whole "$4 at $2 number $3"
}
is_sanitized || {
	for at in mkdirat:2 renameat:1 renameat:133 write:120 fchmod:77 symlinkat:5; do
		ended 137 "${at%:*}" "${at#*:}" signal=KILL
		goes_on "killed at $at"
	done
	for at in renameat:100 mkdirat:30; do
		ended 130 "${at%:*}" "${at#*:}" signal=INT
		is "" "$(find "$T/to" -name '.sessionfs~')" "unfinished after an interrupt"
		ended 143 "${at%:*}" "${at#*:}" signal=TERM
		is "" "$(find "$T/to" -name '.sessionfs~')" "unfinished after SIGTERM"
		goes_on "interrupted at $at"
	done
	# In the middle of a file: its beginning does not get its name.
	mkdir -p "$T/long" "$T/one"
	{
		echo '{"type":"session","version":3,"id":"long"}'
		for i in {1..30}; do
			printf '{"type":"custom","id":"%s","parentId":null,"data":"%s"}\n' "$i" "$(head -c 1000000 /dev/zero | tr '\0' x)"
		done
	} >"$T/long/long.jsonl"
	one=("$SESSIONFS" -S "$T/long" --copy sessions/long/session.jsonl "$T/one")
	rc=0
	strace -f -qq -o "$T/trace" -e trace=write -e inject=write:signal=INT:when=2 "${one[@]}" >"$T/out" 2>&1 || rc=$?
	is 130 "$rc" "the status of an interrupted copy of one file"
	# On a busy machine the signal can arrive after the last write.
	if [ -e "$T/one/session.jsonl" ]; then same "$T/long/long.jsonl" "$T/one/session.jsonl" "a late interrupt"; fi
	is "" "$(ls -A "$T/one" | grep -vx session.jsonl)" "what an interrupted copy of one file leaves"
	"${one[@]}" >"$T/out" || die "the copy of one file ended with $?"
	same "$T/long/long.jsonl" "$T/one/session.jsonl" "the copy of one file"
	# If SIGINT is ignored, as in the background of a shell without job control, it stays ignored.
	(trap '' INT && ended 0 renameat 100 signal=INT)
	# On a full disk: one message, and nothing unfinished. An error of one file does not affect the others.
	for at in write:100 openat:200 mkdirat:20; do
		n=${at#*:}
		# The copy opens the source, too, more often on a busy machine; a later call is of a new file.
		until (ended 1 "${at%:*}" "$n" error=ENOSPC) 2>"$T/why"; do
			[ "${at%:*}" = openat ] || die "$(cat "$T/why")"
			n=$((n + 1))
		done
		is 1 "$(grep -c '^sessionfs: .*: No space left on device$' "$T/err")" "messages of a full disk: $(cat "$T/err")"
		is "" "$(find "$T/to" -name '.sessionfs~')" "unfinished on a full disk"
		goes_on "a full disk at $at"
	done
	# A file that cannot be synced has no name. (tests/power finds a sync that is missing.)
	ended 1 fsync 50 error=EIO
	matches "^sessionfs: [^:]+: Input/output error$" "$(cat "$T/err")" "the message of what cannot be synced"
	goes_on "a file that cannot be synced"
	ended 1 renameat 50 error=EACCES
	matches "^sessionfs: [^:]+: Permission denied$" "$(cat "$T/err")" "the message of what failed"
	is 1 "$(cd "$T/fresh" && find . ! -type d | while IFS= read -r f; do [ -e "$T/to/$f" ] || [ -h "$T/to/$f" ] || echo "$f"; done | wc -l)" "files that lack"
	goes_on "a file that failed"
}

need flock
mkdir -p "$T/to" # with a sanitizer nothing has made it
(exec 9<"$T/to" && flock 9 && exec tail -f --pid=$$ /dev/null) &
await "the lock" bash -c '! flock -n "$1" true' - "$T/to"
fails 1 "^sessionfs: $T/to: another copy to this directory is running" "${copy[@]}" "$T/to"
kill $!
