#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A project is a link to another mount, whose server dies: the project stays where it was known, requests below it fail with the
# error, and the other projects are as before. It is gone once nothing is there.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need bindfs python3
clean_first() { kill -KILL "${server:-}" 2>/dev/null; }

mkdir -p "$T/src/--one--" "$T/src/--two--" "$T/far" "$T/net" "$T/mnt"
python3 - "$T" <<'END'
import json, os, sys
def session(name, parent=None):
    path = f"{sys.argv[1]}/{name}.jsonl"
    with open(path, "w") as f:
        f.write(json.dumps({"type": "session", "version": 3, "id": path[-7:-6], "timestamp": "2026-04-01T12:00:00.000Z", "cwd": "/x"}
                           | ({"parentSession": parent} if parent else {})) + "\n")
        f.write(json.dumps({"type": "message", "id": "e", "parentId": None, "message": {"role": "user", "content": f"word {path[-7:-6]}"}}) + "\n")
    os.utime(path, (1772400000, 1772400000 - (name == "far/c")))
session("src/--one--/a")
session("src/--two--/b", "/x/c.jsonl")
session("far/c", "/x/a.jsonl")
END
ln -s "$T/net" "$T/src/--other--"
serve() {
	bindfs --no-allow-other -f "$T/far" "$T/net" &
	server=$!
	await "bindfs" mountpoint -q "$T/net"
}
leave() { fusermount3 -uz "$T/net" 2>/dev/null || umount -l "$T/net"; } # even if the program has files open
M=$T/mnt
error='Transport endpoint is not connected'
lists() { # STATUS NAMES DIRECTORY
	local rc=0
	ls "$M/$3" >"$T/out" 2>"$T/err" || rc=$?
	is "$2" "$(tr '\n' ' ' <"$T/out" | sed 's/ $//')" "the names in $3"
	is "$1" "$rc" "the status of ls $3 ($(cat "$T/err"))"
}
# Waits until the program has noticed: what it found before is valid for a moment.
is_dead() { ! ls "$M/projects/other" >"$T/out" 2>&1; }

for options in "" -o,ro; do
	serve
	# shellcheck disable=SC2086
	"$SESSIONFS" -f ${options//,/ } "$T/src" "$M" 2>"$T/log" &
	pid=$!
	await "the mount" mountpoint -q "$M"
	lists 0 "one other two" projects
	is "projects/other/c" "$(cat "$M/projects/one/a/forks")" "forks"
	is "projects/other/c" "$(cat "$M/projects/two/b/parent")" "parent"
	names=$(ls "$M/projects/one/a")
	latest=$(readlink "$M/latest") # not on the server
	kill -KILL "$server"
	wait "$server" 2>/dev/null || :
	await "the error" is_dead
	lists 0 "one other two" projects
	lists 0 "index.html one other two" html
	[ -d "$M/projects/other" ] || die "the project is gone"
	for name in projects/other projects/other/c/title projects/other/new projects/new sessions/new; do
		fails 2 "$error" ls "$M/$name"
	done
	# Others are not affected. The kernel can have what depends on all sessions from before.
	lists 0 "${names//$'\n'/ }" projects/one/a
	is "word a" "$(cat "$M/projects/one/a/title")" "a title"
	[ "$(cat "$M/html/one/a.html" | wc -l)" -gt 100 ] || die "a page"
	fails 1 "No such file" cat "$M/projects/one/new"
	[ -e "$M/projects/two/b/session.jsonl" ] || die "another session is gone"
	for name in one/a/forks two/b/parent; do
		matches "(^|
)${name##*/}(\$|
)" "$(ls "$M/projects/${name%/*}")" "a name that leads there"
		out=$(cat "$M/projects/$name" 2>&1) || out=${out##*: }
		matches "^($error|projects/other/c)\$" "$out" "$name"
	done
	is 2 "$(wc -l <"$M/search/word/hits.txt")" "hits.txt"
	is "$latest" "$(readlink "$M/latest")" "latest"
	is_lacking() { is "a b id" "$(cut -f1 "$M/sessions.tsv" | sort | xargs)" "sessions.tsv"; }
	await "sessions.tsv without it" is_lacking
	is "sessionfs: --other--: $error" "$(grep -v /c.jsonl "$T/log")" "the log"
	if [ -z "$options" ]; then
		echo new >"$M/projects/one/a/name" || die "a write to another session"
		rm "$M/projects/one/a/name"
	fi

	leave
	serve
	is_back() { [ "$(cat "$M/projects/other/c/title" 2>/dev/null)" = "word c" ]; }
	await "it is back" is_back
	lists 0 "one other two" projects
	is 3 "$(wc -l <"$M/search/word/hits.txt")" "hits.txt when it is back"
	leave
	is_gone() { [ "$(ls "$M/projects")" = $'one\ntwo' ]; }
	await "it is gone" is_gone
	lists 2 "" projects/other
	matches "No such file" "$(cat "$T/err")" "what is gone"
	umount_fs "$M"
	wait "$pid" || die "it ended with $?"
done

# The server is dead from the beginning: what it has is not known, so listings end with the error.
serve
kill -KILL "$server"
wait "$server" 2>/dev/null || :
mount_fs "$T/src" "$M"
lists 2 "one two" projects
fails 2 "$error" ls "$M/projects/other"
names=${names/forks$'\n'/}
lists 0 "${names//$'\n'/ }" projects/one/a
is "$latest" "$(readlink "$M/latest")" "latest of the readable sessions"
is "a b id" "$(cut -f1 "$M/sessions.tsv" | sort | xargs)" "sessions.tsv without the parent of a session"
[ "$(wc -l <"$M/html/two/b.html")" -gt 100 ] || die "a page without its parent"
