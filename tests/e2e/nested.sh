#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sessions in deeper directories: which are found, their names, and which started which; also while they appear and
# disappear.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq
need_mount
nested() { python3 "$ROOT/tests/lib/nested.py" "$@"; }
agree() { # SOURCE MOUNT WHAT
	nested list "$1" >"$T/want" && nested shown "$2" >"$T/got" && same "$T/want" "$T/got" "$3"
	nested latest "$1" >"$T/want" && nested shown-latest "$2" >"$T/got" && same "$T/want" "$T/got" "latest, $3"
}
agrees_now() { # in time
	nested list "$T/src" >"$T/want" && nested shown "$T/mnt" >"$T/got" 2>/dev/null && cmp -s "$T/want" "$T/got"
}

conversations() { # SOURCE: the sessions that no other one started
	nested list "$1" | awk -F'\t' '{ n = split($5, of, ","); for (i = 1; i <= n; i++) started[of[i]]; path[NR] = "projects/" $2 "/" $3 }
		END { for (i in path) if (!(path[i] in started)) print path[i] }' | LC_ALL=C sort
}
linked() { find "$1" -type l -printf '%l\n' | sed 's|^\.\./\.\./||' | LC_ALL=C sort; } # DIRECTORY
listed_now() { # in time
	conversations "$T/src" >"$T/want"
	linked "$T/mnt/by-date" >"$T/got" && cmp -s "$T/want" "$T/got" && linked "$T/mnt/by-project" >"$T/got" && cmp -s "$T/want" "$T/got"
}

# --- names ------------------------------------------------------------------------------
mkdir "$T/src"
nested make "$T/src"
mount_watched "$T/src" "$T/mnt"
agree "$T/src" "$T/mnt" "everything"
is "$(nested list "$T/src" | wc -l)" "$(tail -n +2 "$T/mnt/sessions.tsv" | wc -l)" "rows of sessions.tsv"
is "$(nested list "$T/src" | cut -f2,3,4 | LC_ALL=C sort)" "$(tail -n +2 "$T/mnt/sessions.tsv" | cut -f2,3,12 | LC_ALL=C sort)" "parents in sessions.tsv"
for by in by-date by-project; do
	conversations "$T/src" >"$T/want" && linked "$T/mnt/$by" >"$T/got" && same "$T/want" "$T/got" "$by"
done
[ "$(wc -l <"$T/want")" -gt 5 ] && [ "$(wc -l <"$T/want")" -lt "$(nested list "$T/src" | wc -l)" ] || die "all or none in $by"
is "$(nested list "$T/src" | wc -l)" "$(find "$T/mnt/html" -name '*.html' ! -name index.html | wc -l)" "pages"
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
for seed in {1..12}; do
	rm -rf "$T/random"
	mkdir "$T/random"
	nested random "$T/random" "$seed"
	mount_fs "$T/random" "$T/mnt"
	agree "$T/random" "$T/mnt" "random source $seed"
	umount_fs "$T/mnt"
done

# --- a page names a hundred subagents, and links to the list of all -------------------------
say "$T/hundred/--p--/one.jsonl" one
for n in {1..102}; do say "$T/hundred/--p--/one/run-$n/session.jsonl" "run-$n"; done
"$SESSIONFS" -S "$T/hundred" --cat html/p/one.html | grep -o '<dt>Subagents</dt>.*' >"$T/fact"
is 100 "$(grep -o '<a href="\.\./p/one' "$T/fact" | wc -l)" "subagents in a page"
grep -q '/one/subagents">' "$T/fact" || die "no link to all subagents"

# --- more directories than watches ---------------------------------------------------------
SMALL=${SESSIONFS%/*}/small/sessionfs
[ -x "$SMALL" ] || exit 0
for n in {1..20}; do say "$T/src/--many--/one/run-$n/session.jsonl" "run-$n"; done
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
