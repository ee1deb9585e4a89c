#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An unreadable session is missing in files made from all sessions, and hides no other one. Its own directory returns
# the error, a listing ends with it, and the log names the file once. A command prints what there is, names the file,
# and ends with 2.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need cc jq python3
is_sanitized && skip "a sanitizer wants to be loaded first"

cc -shared -fPIC -O1 -o "$T/unreadable.so" "$ROOT/tests/lib/unreadable.c" || die "unreadable.c"
mkdir -p "$T/src/--p--" "$T/src/--q--" "$T/mnt"
python3 - "$T/src" <<'END'
import json, os, sys
def entry(i, message):
    return json.dumps({"type": "message", "id": i, "parentId": None, "timestamp": "2026-04-01T12:00:00.000Z", "message": message}) + "\n"
def session(name, entries):
    path = f"{sys.argv[1]}/{name}.jsonl"
    with open(path, "w") as f:
        f.write(json.dumps({"type": "session", "version": 3, "id": name[-3:], "timestamp": "2026-04-01T12:00:00.000Z", "cwd": "/x"}) + "\n")
        for i in range(entries):
            f.write(entry(f"e{i}", {"role": "user", "content": f"word {name[-3:]}"}))
        f.write(entry(f"used-{name[-3:]}", {"role": "assistant", "model": "m", "content": [], "usage": {"totalTokens": 1, "cost": {"total": 1}}}))
    os.utime(path, (1772400000, 1772400000))
session("--p--/bad", 3000) # enough entries for a large index
session("--p--/one", 1)
session("--q--/two", 1)
END
shim=$T/unreadable.so
export BAD_FILE=/bad.jsonl BAD=$T/what
lists() { # STATUS NAMES DIRECTORY: the status and names of ls
	local rc=0
	ls "$3" >"$T/out" 2>"$T/err" || rc=$?
	is "$2" "$(tr '\n' ' ' <"$T/out" | sed 's/ $//')" "the names in $3"
	is "$1" "$rc" "the status of ls $3 ($(cat "$T/err"))"
}
finds() { # STATUS LINES OPTION...: the status and output of --search
	local status=$1 n=$2 rc=0
	shift 2
	LD_PRELOAD=$shim "$SESSIONFS" -S "$T/src" "$@" >"$T/out" 2>"$T/err" || rc=$?
	is "$n" "$(wc -l <"$T/out")" "lines of $*"
	is "$status" "$rc" "the status of $* ($(cat "$T/err"))"
}
lacks() { # LINES OPTION...: the same, for a command that names the file
	finds 2 "$@"
	matches "^sessionfs: --p--/bad.jsonl: $error" "$(cat "$T/err")" "what ${*:2} names"
}
said() { # N: how often the log names the file
	is "$1" "$(grep -c 'bad.jsonl: ' "$T/log" || :)" "how often the log names the file: $(cat "$T/log")"
}
is_whole() { [ "$(wc -l <"$T/mnt/sessions.tsv")" -eq 4 ]; }
is_lacking() { [ "$(cut -f1 "$T/mnt/sessions.tsv" | tail -n +2 | sort | tr '\n' ' ')" = "one two " ]; }
# Its index is dropped once the file is replaced.
replace() { cp -p "$T/src/--p--/bad.jsonl" "$T/new" && mv "$T/new" "$T/src/--p--/bad.jsonl"; }

for what in bytes header memory; do
	error='Input/output error'
	[ "$what" != memory ] || error='Cannot allocate memory'
	for before in "" known; do
		rm -f "$BAD"
		[ -n "$before" ] || echo "$what" >"$BAD"
		LD_PRELOAD=$shim "$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
		pid=$!
		await "the mount" mountpoint -q "$T/mnt"
		if [ -n "$before" ]; then
			is 3002 "$(wc -l <"$T/mnt/search/word/hits.txt")" "lines while all can be read"
			is_whole || die "a session is missing while all can be read"
			said 0
			echo "$what" >"$BAD"
			replace
		fi
		where="$what ${before:-from the beginning}"
		await "the table without it ($where)" is_lacking
		is "2" "$(awk -F'\t' 'NR > 1 { n += $4 } END { print n }' "$T/mnt/usage.tsv")" "usage.tsv ($where)"
		matches '</svg>' "$(cat "$T/mnt/usage.svg")" "usage.svg ($where)"
		is "2" "$(grep -c 'href="[pq]/' "$T/mnt/html/index.html")" "rows of html/index.html ($where)"
		is "projects/p/one/entries/e0/text.md:1:word one
projects/q/two/entries/e0/text.md:1:word two" "$(cat "$T/mnt/search/word/hits.txt")" "hits.txt ($where)"
		lists 2 "0001 user word one 0002 user word two entries.tsv hits.html hits.txt" "$T/mnt/search/word"
		lists 2 "2026-04-01" "$T/mnt/by-date"
		lists 2 "12.00 word one 12.00 word two" "$T/mnt/by-date/2026-04-01"
		lists 0 "p q" "$T/mnt/projects"
		[ "$what" != header ] || lists 2 "one" "$T/mnt/projects/p"
		[ "$what" != header ] || lists 2 "one two" "$T/mnt/sessions"
		fails 1 "$error" cat "$T/mnt/projects/p/bad/all.txt"
		is "word one" "$(cat "$T/mnt/projects/p/one/title")" "a title ($where)"
		# Names that it could contain are not reported missing.
		fails 1 "$error" cat "$T/mnt/search/bad/hits.txt"
		fails 1 "No such file" cat "$T/mnt/search/nowhere/.gitignore"
		said 1
		matches "^sessionfs: --p--/bad.jsonl: $error\$" "$(cat "$T/log")" "the log ($where)"
		finds 2 2 --search word
		matches "^sessionfs: --p--/bad.jsonl: $error" "$(cat "$T/err")" "--search ($where)"
		finds 2 2 --search --json word
		matches "^sessionfs: --p--/bad.jsonl: $error" "$(cat "$T/err")" "--search --json ($where)"
		lacks 3 --cat sessions.tsv
		lacks 2 --cat search/word/hits.txt
		lacks 1 --ls --names by-date
		lacks 2 --ls by-date/2026-04-01
		lacks 1 --ls --json by-date
		jq -e length "$T/out" >/dev/null || die "--ls --json prints no JSON ($where)"
		finds 0 1 --cat projects/p/one/title
		finds 0 2 --ls --names projects
		[ "$what" != header ] || lacks 2 --ls --names projects/p
		[ "$what" != header ] || lacks 2 --ls --names sessions
		rc=0
		LD_PRELOAD=$shim "$SESSIONFS" -S "$T/src" --tree / >"$T/out" 2>"$T/err" || rc=$?
		is 2 "$rc" "the status of --tree ($where; $(cat "$T/err"))"
		matches "usage.tsv\$" "$(cat "$T/out")" "the end of --tree ($where)"
		matches "sessionfs: (--p--/bad.jsonl|/projects/p/bad): $error" "$(cat "$T/err")" "what --tree names ($where)"
		rc=0
		LD_PRELOAD=$shim "$SESSIONFS" -S "$T/src" --secrets >"$T/out" 2>"$T/err" || rc=$?
		is 1 "$rc" "the status of --secrets ($where)"
		is "project stem entry" "$(cut -f1-3 "$T/out" | tr '\t' ' ')" "--secrets ($where)"
		rm "$BAD"
		await "it is read again ($where)" is_whole
		is 3002 "$(wc -l <"$T/mnt/search/word/hits.txt")" "lines when it can be read again ($where)"
		is 3000 "$(wc -l <"$T/mnt/search/bad/hits.txt")" "lines of its own ($where)"
		lists 0 "bad one" "$T/mnt/projects/p"
		finds 0 3002 --search word
		said 1
		echo "$what" >"$BAD"
		replace
		await "the table without it, once more ($where)" is_lacking
		said 2
		umount_fs "$T/mnt"
		wait "$pid" || die "it ended with $?"
	done
done

# A directory of three that fails: the others are listed.
BAD_FILE=--q--
for number in 5 107 13 116; do
	# 116 is ESTALE of a server: the directory can still be there.
	error=$(python3 -c "import os; print(os.strerror($number if $number != 116 else 121))")
	echo "$number" >"$BAD"
	for command in "--ls --names projects" "--ls projects" "--tree projects/"; do
		rc=0
		# shellcheck disable=SC2086
		LD_PRELOAD=$shim "$SESSIONFS" -S "$T/src" $command >"$T/out" 2>"$T/err" || rc=$?
		is 2 "$rc" "the status of $command where --q-- fails ($error)"
		matches '(^|[[:space:]])p/?($|[[:space:]])' "$(cat "$T/out")" "$command where --q-- fails ($error)"
		is "sessionfs: --q--: $error
sessionfs: ${command##* }: $error" "$(cat "$T/err")" "what $command names ($error)"
	done
	[ $number = 13 ] || finds 2 17 --ls --names /
	[ $number = 13 ] || matches "sessionfs: /latest: $error" "$(cat "$T/err")" "a link that cannot be read ($error)"
	{ LD_PRELOAD=$shim "$SESSIONFS" -S "$T/src" --cat problems.tsv 2>"$T/err" || :; } >"$T/out"
	is "file project stem line offset reason" "$(tr '\t' ' ' <"$T/out")" "problems.tsv has files only ($error)"
	fails 1 "^sessionfs: --q--: $error
--q--:1: $error" env LD_PRELOAD="$shim" "$SESSIONFS" -S "$T/src" --check
done
# Its sessions can be the newest: a listing does not omit a name without an error.
echo 5 >"$BAD"
LD_PRELOAD=$shim mount_fs "$T/src" "$T/mnt"
fails 1 "Input/output error" readlink -v "$T/mnt/latest"
lists 2 "AGENTS.md README.md by-date by-project files.tsv html labels labels.tsv latest problems.tsv projects search sessions sessions.tsv usage.svg usage.tsv" "$T/mnt"
lists 2 "p" "$T/mnt/projects"
umount_fs "$T/mnt"
rm "$BAD"

# Without support for ACLs, the owner has the rights of the mode, and others none. That is logged once.
BAD_FILE=.jsonl
chmod 644 "$T"/src/*/*.jsonl
echo acl >"$BAD"
LD_PRELOAD=$shim "$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
pid=$!
await "the mount" mountpoint -q "$T/mnt"
is_whole || die "a session is missing where ACLs cannot be read"
is "word one" "$(cat "$T/mnt/projects/p/one/title")" "a title where ACLs cannot be read"
is 400 "$(stat -c %a "$T/mnt/projects/p/one/title")" "its mode"
is 1 "$(wc -l <"$T/log")" "lines in the log: $(cat "$T/log")"
matches 'ACL: Input/output error' "$(cat "$T/log")" "the log where ACLs cannot be read"
umount_fs "$T/mnt"
wait "$pid" || die "it ended with $?"
