#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every refusal that a program gets has its reason in `errors` and in the log, with the refused name; so has text
# written to a scratch file.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
# A minute is short in the build for tests, if there is one.
small=${SESSIONFS%/*}/small/sessionfs
[ ! -x "$small" ] || SESSIONFS=$small
samples "$T/src"
mkdir "$T/mnt" "$T/out"
options=()
# With allow_other the kernel sends requests of root whatever the mode.
[ "$(id -u)" -ne 0 ] || options=(-o allow_other)
"$SESSIONFS" -f "${options[@]}" "$T/src" "$T/mnt" 2>"$T/log" &
await "the mount" mountpoint -q "$T/mnt"
cd "$T/mnt/$FORECAST"
file=$(sed "s|^$T/src/||" path)

begun=$SECONDS
echo "to keep" >notes.md
echo x >entries/4726bdf3/todo
: >gone.md
rm gone.md

# Scratch files are named once their minute is over, at any time after.
reasons() { grep -v "only in memory" "$1"; }
says() { # NAME REASON COMMAND...: is refused, with this reason
	local name=$1 reason=$2 rc=0
	shift 2
	"$@" >/dev/null 2>"$T/said" || rc=$?
	[ $rc -ne 0 ] || die "not refused: $*"
	matches "Z $name: .*$reason.*\(E[A-Z]+\)\$" "$(reasons errors | sed -n 1p)" "the newest of errors after $*"
	matches "sessionfs: $file: $name: .*$reason" "$(reasons "$T/log" | tail -n 1)" "the log after $*"
}
into() { says "$2" "$1" bash -c "echo x >'$2'"; }
for name in labels/x entries/x entries/4726bdf3/x x branches/x; do says "$name" "created or moved" mkdir "$name"; done
for name in chat.md title entries/4726bdf3/text.md branches/c8aa6125/chat.md session.jsonl; do
	into "cannot be written" "$name"
	says "$name" "cannot be changed" touch "$name"
	says "$name" "cannot be changed" chmod 600 "$name"
done
# They say what to write instead.
into "cannot be written; write name," title
into "cannot be written; .*entries/ID/label" state
for name in chat.md context.json entries/4726bdf3/text.md; do into "cannot be written; .* write entries/ID/context.json" "$name"; done
into "cannot be written; to change a session, write name, .*label, branch or context.json of an entry" info.json
says title "renamed; write name" mv title aside
says title "by a rename; write name" sed -i s/a/b/ title
says leaf "link to entries/ID" ln -sfn nothing leaf
into "cannot be written" "$(find entries -name arguments.json | sort | sed -n 1p)"
into "created or moved" branches/c8aa6125/new
says branches/new "created or moved" ln -s ../entries/4726bdf3 branches/new
says entries/4726bdf3/link "ln -n" ln -s ../f31d0e43 entries/4726bdf3/link
says entries/new "created or moved" ln title entries/new
says entries/new "created or moved" mkfifo entries/new
# Names that the tree has in other places, or not for this entry: no program must take a scratch file for one of them.
for name in entries/4726bdf3/context.md label README.md; do into "reserved for the tree.*use another" "$name"; done
for name in labels/title labels/.x; do into "make a link, or write entries/ID/label" "$name"; done
says labels/x "make a link" mv notes.md labels/x
says branch "reserved for the tree" mv notes.md branch
says label "reserved for the tree" ln -s entries/4726bdf3 label
says chat.md "renamed" mv chat.md aside
says title "replaced by a rename" python3 -c 'import os; os.rename("name", "title")'
says branches/x "created or moved" mv notes.md branches/x
# A refused removal blocks a process for ten seconds: each of these is another process.
for name in session.jsonl chat.md entries/4726bdf3/text.md branches/c8aa6125/chat.md; do says "$name" "cannot be removed" rm -f "$name"; done
for name in labels entries/4726bdf3; do says "$name" "cannot be removed" rmdir "$name"; done

[ ! -e "$T/mnt/$ICONS/errors" ] || die "errors of another session: $(cat "$T/mnt/$ICONS/errors")"

# A removal of everything: the first reason, and that the rest follows from it.
lines=$(reasons errors | wc -l)
! rm -rf entries/4726bdf3 2>/dev/null || die "an entry was removed"
is 2 $(($(reasons errors | wc -l) - lines)) "reasons of rm -rf"
matches "^[^ ]*Z entries/4726bdf3/[^ ]*: not removed: another removal" "$(reasons errors | sed -n 1p)" "the second reason of rm -rf"
matches "^[^ ]*Z entries/4726bdf3/[^ ]*: this name cannot be removed" "$(reasons errors | sed -n 2p)" "the first reason of rm -rf"

# Above the sessions there is only the log.
! bash -c "echo x >'$T/mnt/sessions.tsv'" 2>/dev/null || die "a table was written"
matches "sessionfs: sessions.tsv: this name cannot be written; to change a session, write in projects/PROJECT/STEM" \
	"$(reasons "$T/log" | tail -n 1)" "the log after a write to a table"
! mkdir "$T/mnt/projects/x" 2>/dev/null || die "a project was made"
matches "sessionfs: projects/x: .*created or moved" "$(reasons "$T/log" | tail -n 1)" "the log after mkdir in projects"
! mkdir "$T/mnt/${FORECAST%/*}/x" 2>/dev/null || die "a session was made"
matches "sessionfs: ${FORECAST%/*}/x: .*created or moved" "$(reasons "$T/log" | tail -n 1)" "the log after mkdir in a project"

# A minute after they were closed.
await "what is kept in memory, in the log" grep -q "sessionfs: $file: notes.md: only in memory" "$T/log"
await "in errors" grep -q "Z notes.md: only in memory; lost at the unmount\$" errors
await "of an entry, too" grep -q ": entries/4726bdf3/todo: only in memory" "$T/log"
[ -x "$small" ] || [ $((SECONDS - begun)) -ge 60 ] || die "after $((SECONDS - begun)) s"
is 2 "$(grep -c "only in memory" "$T/log")" "files that are kept in memory"
! grep -q gone.md "$T/log" || die "a file that is gone was named"

# In a replaced file, the entry of an open label still has its name, and the session its `errors`.
label=entries/4726bdf3/label
exec 3>"$label"
grep -v 4726bdf3 "$T/src/$file" >"$T/out/new"
mv "$T/out/new" "$T/src/$file"
echo late >&3 2>/dev/null || :
exec 3>&-
await "a reason in the log" grep -q "sessionfs: $file: $label: " "$T/log"
await "a reason in errors" grep -q "Z $label: " "$T/mnt/$FORECAST/errors"
