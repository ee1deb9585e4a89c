#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sessions in deeper directories: which are found, their names, and which started which; also while they appear and
# disappear.
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq
need_mount
needs_watches
nested() { python3 "$ROOT/tests/lib/nested.py" "$@"; }
agree() { nested agree "$1" "$2" || die "$3"; } # SOURCE MOUNT WHAT
agrees_now() { nested now "$T/src" "$T/mnt" 2>/dev/null; }
listed_now() { nested listed "$T/src" "$T/mnt" >/dev/null 2>&1; }

# --- names ------------------------------------------------------------------------------
mkdir "$T/src"
nested make "$T/src"
mount_watched "$T/src" "$T/mnt"
agree "$T/src" "$T/mnt" "everything"
nested list "$T/src" >"$T/list"
is "$(wc -l <"$T/list")" "$(tail -n +2 "$T/mnt/sessions.tsv" | wc -l)" "rows of sessions.tsv"
is "$(cut -f2,3,4 "$T/list" | LC_ALL=C sort)" "$(tail -n +2 "$T/mnt/sessions.tsv" | cut -f2,3,12 | LC_ALL=C sort)" "parents in sessions.tsv"
nested listed "$T/src" "$T/mnt" >"$T/want" || die "by-date or by-project"
[ "$(wc -l <"$T/want")" -gt 5 ] && [ "$(wc -l <"$T/want")" -lt "$(wc -l <"$T/list")" ] || die "all or none in by-date"
is "$(wc -l <"$T/list")" "$(find "$T/mnt/html" -name '*.html' ! -name index.html | wc -l)" "pages"
nested pages "$T/mnt"
is "projects/w/one+8c1f+run-0+deeper" "$(grep -lr 'said in --w--/one/8c1f/run-0/deeper' "$T/mnt/projects/" --include=all.txt | sed "s|^$T/mnt/||; s|/all.txt||")" "grep"
grep -q '^projects/w/one+run-0/' "$T/mnt/search/--w--/one/run-0/hits.txt" 2>/dev/null || grep -q 'one+run-0/' "$T/mnt/search/run-0/hits.txt" || die "search"
[ "$T/src/--w--/one/run-0/session.jsonl" -ef "$(cat "$T/mnt/projects/w/one+run-0/path")" ] || die "path"

# --check and problems.tsv name files that are not shown.
{ "$SESSIONFS" --check "$T/src" || :; } >"$T/check"
for file in logs/a/events.jsonl:4 logs/a/number.jsonl:4 logs/a/null-id.jsonl:4 logs/dir.jsonl:1 other.jsonl:1 only/1/2/3/4/5/6/7:1; do
	grep -q "^$file: " "$T/check" || die "--check does not report $file"
done
is "$(grep -c '^[^:]*jsonl:.*\(no session\|not a session\|is a directory\)' "$T/check")" "$(awk -F'\t' 'NR > 1 && $2 == ""' "$T/mnt/problems.tsv" | wc -l)" "problems.tsv"

# --- changes -----------------------------------------------------------------------------
say() { python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import nested; nested.write(*sys.argv[2:])' "$ROOT/tests/lib" "$@"; }
cd "$T/src"
say ./--w--/one/new/run-0/session.jsonl new
await "a session in new directories" agrees_now
grep -q one+new+run-0 "$T/mnt/projects/w/one/subagents" || die "subagents"
await "pages of a new subagent" nested pages "$T/mnt"
mv ./--w--/one/new ./--w--/two/moved
await "a moved directory" agrees_now
await "pages of what has moved" nested pages "$T/mnt"
mkdir ./--w--/two/fresh && mv ./--w--/two/moved/run-0 ./--w--/two/fresh/run-0
say ./--w--/two/fresh/run-0/session.jsonl newer
await "written to where it went" agrees_now
is newer "$(jq -r .id "$T/mnt/projects/w/two+fresh+run-0/info.json" 2>/dev/null || sed -n 's/.*"id": *"\(newer\)".*/\1/p' "$T/mnt/projects/w/two+fresh+run-0/header.json" | sed -n 1p)" "its id"
mv ./--w--/two/fresh "$T/away" && ln -s "$T/away" ./--w--/two/fresh
await "a link in its place" agrees_now
rm ./--w--/two/fresh && mkdir -p ./--w--/two/fresh/run-0 && say ./--w--/two/fresh/run-0/session.jsonl newest
await "another of that name" agrees_now
rm -r ./--w--/one ./--w--/two
await "removed" agrees_now
await "pages of what is left" nested pages "$T/mnt"
mv only only2 && mv agents only && mv only2 agents
await "changed places" agrees_now
chmod 700 only
is 700 "$(stat -c %a "$T/mnt/projects/only/main+sessions+s1" | sed s/5/7/)" "closed by a directory above"
chmod 755 only
cd "$T"

# A name that was shown does not change. by-date/ and by-project/ have a session until the one that started it appears.
say "$T/src/started/run-0/session.jsonl" early
await "before the one that started it" test -d "$T/mnt/projects/started/run-0"
await "a session that none started" listed_now
early="$T/mnt/by-project/started/2026-01-01 $(date -d 2026-01-01T00:00:00Z +%H.%M) said in early"
is early "$(jq -r .id "$early/info.json")" "the session by its title"
say "$T/src/started.jsonl" late /home/me/x
await "the one that started it" test -d "$T/mnt/projects/home-me-x/started"
await "it is not listed" listed_now
await "nor its name" eval '[ ! -e "$early" ]'
mv "$T/src/started.jsonl" "$T/parent"
await "it is listed again" listed_now
await "by its name" test -e "$early"
mv "$T/parent" "$T/src/started.jsonl"
await "the one that started it, again" eval 'listed_now && [ ! -e "$early" ]'
[ -d "$T/mnt/projects/started/run-0" ] || die "the name changed"
is projects/started/run-0 "$(cat "$T/mnt/projects/home-me-x/started/subagents")" "subagents of the same"
say "$T/src/started/run-1/session.jsonl" later
await "one that came later" test -d "$T/mnt/projects/home-me-x/started+run-1"
umount_fs "$T/mnt"

# --- many layouts -----------------------------------------------------------------------
nested random "$T/random" 12
for seed in {1..12}; do
	mount_fs "$T/random/$seed" "$T/mnt"
	agree "$T/random/$seed" "$T/mnt" "random source $seed"
	umount_fs "$T/mnt"
done

# --- a page names a hundred subagents, and links to the list of all -------------------------
all=(one "$T/hundred/--p--/one.jsonl")
for n in {1..102}; do all+=("run-$n" "$T/hundred/--p--/one/run-$n/session.jsonl"); done
nested write "${all[@]}"
"$SESSIONFS" -S "$T/hundred" --cat html/p/one.html | grep -o '<dt>Subagents</dt>.*' >"$T/fact"
is 100 "$(grep -o '<a href="\.\./p/one' "$T/fact" | wc -l)" "subagents in a page"
grep -q '/one/subagents">' "$T/fact" || die "no link to all subagents"

# --- more directories than watches ---------------------------------------------------------
SMALL=${SESSIONFS%/*}/small/sessionfs
[ -x "$SMALL" ] || exit 0
all=()
for n in {1..20}; do all+=("run-$n" "$T/src/--many--/one/run-$n/session.jsonl"); done
nested write "${all[@]}"
mkdir -p "$T/mnt"
"$SMALL" -f "$T/src" "$T/mnt" 2>"$T/log" &
await "the mount" mountpoint -q "$T/mnt"
agree "$T/src" "$T/mnt" "few watches"
is 16 "$(sed 's/.*"watches":\([0-9]*\).*/\1/' "$T/mnt/.status")" "watches"
say "$T/src/--many--/one/run-20/deeper/session.jsonl" deeper
mv "$T/src/--many--/one/run-19" "$T/src/--many--/moved"
await "a change without a watch" agrees_now
umount_fs "$T/mnt"
wait
is 1 "$(grep -c 'no inotify watches left.*sysctl fs.inotify.max_user_watches=' "$T/log")" "warnings"
