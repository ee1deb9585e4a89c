#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# files.tsv, and `file` and `change.diff` of each call, agree with the session files, in a mount and in a copy, also
# while a session grows; patch(1) applies the diffs; and file: finds the calls.
. "$(dirname "$0")/../lib/lib.sh"
need python3 patch
need_mount
check() { python3 "$ROOT/tests/lib/files.py" check "$1" || die "files of $2"; }

samples "$T/src"
samples "$T/broken" "$ROOT/tests/data/broken"
python3 "$ROOT/tests/lib/files.py" make "$T/made"
for s in src broken made; do
	"$SESSIONFS" -S "$T/$s" --copy / "$T/copy-$s" >"$T/out"
	check "$T/copy-$s" "$s, copied"
	mount_fs "$T/$s" "$T/mnt" -oro
	check "$T/mnt" "$s"
	umount_fs "$T/mnt"
done

# --- as a session grows ------------------------------------------------------------------
mkdir -p "$T/one/p" "$T/files"
f=$T/one/p/s.jsonl
say() { # ID PARENT-AS-JSON MESSAGE
	printf '{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-01T00:00:00.000Z","message":{%s}}\n' "$@" >>"$f"
}
call() { say "$1" "$2" "\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"$1\",\"name\":\"$3\",\"arguments\":$4}]"; }
answer() { say "$1" "\"$2\"" "\"role\":\"toolResult\",\"toolCallId\":\"$2\",\"content\":[]${3:+,$3}"; }
outcomes() { # first the session's, then all of them
	[ "$(tail -n +2 "$T/mnt/projects/p/s/files.tsv" | cut -f5 | xargs)" = "$1" ] &&
		[ "$(tail -n +2 "$T/mnt/files.tsv" | cut -f7 | xargs)" = "$1" ]
}
printf '{"type":"session","version":3,"id":"s","cwd":"%s"}\n' "$T/files" >"$f"
mount_watched "$T/one" "$T/mnt"
is "project	stem	time	entry	call	action	outcome	path" "$(cat "$T/mnt/files.tsv")" "files.tsv without a row"
S=$T/mnt/projects/p/s
[ ! -e "$S/files.tsv" ] || die "files.tsv of a session that did nothing to files"
call c1 null write '{"path":"a.txt","content":"one\ntwo\nthree\n"}'
await "an open call" outcomes open
[ ! -e "$S/entries/c1/tool-calls/1-write/change.diff" ] || die "a change that no record says was made"
is "$T/files/a.txt" "$(cat "$S/entries/c1/tool-calls/1-write/file")" "file"
answer r1 c1
await "a call that is done" outcomes "done"
await "a change" test -e "$S/entries/c1/tool-calls/1-write/change.diff"
call c2 '"r1"' edit '{"path":"./x/../a.txt","edits":[{"oldText":"one\n","newText":"1\n"},{"oldText":"two\nthree\n","newText":"2\n"}]}'
answer r2 c2
call c3 '"r2"' Edit_File '{"file_path":"a.txt","old_string":"2","new_string":"3"}'
answer r3 c3 '"details":{"diff":"  1 1\n- 2 2\n+ 2 3"}'
call c4 '"r3"' read '{"path":"b.txt"}'
answer r4 c4 '"isError":true'
await "four calls" outcomes "done done done failed"
check "$T/mnt" "a session that grew"

# The diffs contain the changes that were made.
for c in c1/tool-calls/1-write c2/tool-calls/1-edit c3/tool-calls/1-Edit_File; do
	patch -s -d / -p0 <"$S/entries/$c/change.diff" || die "patch of $c"
done
is "1
3" "$(cat "$T/files/a.txt")" "what was changed"

# --- in searches ---------------------------------------------------------------------------
found() { tail -n +2 "$T/mnt/search/$1/entries.tsv" 2>"$T/err" | cut -f4 | xargs; }
is "c3 c2 c1" "$(found 'file:a.TXT' | xargs -n 1 | sort -r | xargs)" "file:"
is "c4" "$(found "file:$(basename "$T")%2Ffiles%2Fb")" "a part that the directory has"
is "c2" "$(found 'file:a.txt tool:edit')" "file: and tool:"
is "c1" "$(found 'file:a.txt three -tool:edit')" "file: and a word"
is "r1 r2 r3 r4" "$(found '-file:a role:toolResult')" "-file:"
fails 1 "files:a: not a filter.*did you mean file:" "$SESSIONFS" -S "$T/src" --search files:a
is "projects/p/s/entries/c4/tool-calls/1-read/arguments.txt:1:path: b.txt" "$("$SESSIONFS" -S "$T/one" --search file:b.txt)" "--search"
