#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Long work shows progress on a terminal, with counts and the time left, and erases the line before it prints; in a
# pipe it shows none.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
slowfs=$(dirname "$SESSIONFS")/slowfs
[ -x "$slowfs" ] || die "there is no $slowfs: make $slowfs"
clean_first() { kill -KILL "${server:-}" 2>/dev/null; }

mkdir -p "$T/near/--w--" "$T/far"
for i in {1..50}; do
	printf '%s\n' '{"type":"session","version":3,"id":"'"$i"'","timestamp":"2026-03-01T00:00:00Z","cwd":"/"}' \
		'{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"wombat '"$i"'"}}' >"$T/near/--w--/$i.jsonl"
done
printf '\n' >"$T/near/--w--/empty.jsonl"
"$slowfs" 10 "$T/gate" "$T/near" "$T/far" -f &
server=$!
await "slowfs" mountpoint -q "$T/far"

# Runs it with a terminal as standard error. $T/drawn has all that was drawn there, $T/out the output.
drawn() { # SOURCE ARGUMENT...
	python3 - "$T/drawn" "$T/out" "$SESSIONFS" -S "$@" <<'END'
import os, pty, subprocess, sys

drawn, out, *command = sys.argv[1:]
master, slave = pty.openpty()
with open(out, "wb") as f:
    child = subprocess.Popen(command, stdout=f, stderr=slave)
os.close(slave)
with open(drawn, "wb") as f:
    try:
        while part := os.read(master, 4096):
            f.write(part)
    except OSError:
        pass
sys.exit(child.wait())
END
}
# The screen after what was drawn: a terminal of one line, where \r returns to its start.
left() { python3 -c 'import sys
line = ""
for part in open(sys.argv[1], newline="").read().split("\r"):
    line = part + line[len(part):]
print(line.strip())' "$T/drawn"; }

shows() { # PATTERN ARGUMENT...
	local rc=0
	drawn "$T/far" "${@:2}" || rc=$?
	[ "$rc" -le 1 ] || die "$2 ended with $rc"
	grep -qE "$1" "$T/drawn" || die "$2 draws: $(tr '\r' '\n' <"$T/drawn" | tail -n 3)"
	grep -qE "$1, [0-9]+ s left" "$T/drawn" || die "$2 draws no time: $(tr '\r' '\n' <"$T/drawn" | tail -n 3)"
	is "" "$(left)" "what $2 leaves on the terminal"
	[ "$2" != --copy ] || return 0 # the longest of them
	"$SESSIONFS" -S "$T/far" "${@:2}" >"$T/piped" 2>"$T/err" || :
	[ ! -s "$T/err" ] || die "$2 in a pipe: $(cat "$T/err")"
	same "$T/out" "$T/piped" "the output of $2"
}
shows 'searched [0-9]+ of 50 sessions' --search wombat
is 50 "$(wc -l <"$T/out")" "lines found"
shows '(searched|read) [0-9]+ of 50 sessions' --secrets
shows 'read [0-9]+ of 50 sessions' --cat sessions.tsv
shows 'checked [0-9]+ of 51 files, [01] problems' --check
shows '[0-9]+ written, 0 unchanged' --copy projects "$T/copy"
is 50 "$(find "$T/copy/w" -maxdepth 1 -mindepth 1 -type d | wc -l)" "sessions copied"
umount_fs "$T/far"
wait "$server" || :
