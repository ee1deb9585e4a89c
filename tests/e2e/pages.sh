#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# html/PROJECT/STEM.html: names and owner of the pages, and the time zone, state and title that they show.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
# --- names ---------------------------------------------------------------------------
project=$T/src/--index.html--
long=$(printf '%0.s%%' {1..90})
mkdir -p "$project"
session() { printf '{"type":"session","version":3,"id":"%s","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/x"}\n' "$1"; }
entry() { printf '{"type":"message","id":"%s","parentId":null,"timestamp":"2026-05-01T10:00:00.000Z","message":{"role":"user","content":"%s"}}\n' "$1" "$2"; }
{ session odd && entry a1 "Begin"; } >"$project/$long.jsonl"
mount_watched "$T/src" "$T/mnt"
is "home-ada-notes home-ada-weather index.html~2 srv-site-v2 unknown" "$(ls "$T/mnt/html" | grep -vx index.html | xargs)" "projects"
is "$(ls "$T/mnt/$WEATHER" | sed 's/$/.html/')" "$(ls "$T/mnt/html/home-ada-weather")" "names"
is "255 1" "$(ls "$T/mnt/html/index.html~2" | tr -d '\n' | wc -c) $(ls "$T/mnt/html/index.html~2" | wc -l)" "a long name"
grep -q '<title>Begin</title>' "$T/mnt/html/index.html~2/"* || die "a page with a long name"
is "$(id -u)" "$(stat -c %u "$T/mnt/html/home-ada-weather/${FORECAST##*/}.html")" "owner"
! touch "$T/mnt/html/x" 2>/dev/null || die "a new name in html"
umount_fs "$T/mnt"

# --- one time zone, which is named; unfinished sessions ---------------------------------
old=$T/left/--home-ada-left--
mkdir -p "$old"
asked() { # ID ROLE DAY
	printf '{"type":"session","version":3,"id":"%s","timestamp":"%sT22:30:00.000Z","cwd":"/x"}\n' "$1" "$3"
	printf '{"type":"message","id":"a1","parentId":null,"timestamp":"%sT22:30:01.000Z","message":{"role":"%s","content":"hi"}}\n' "$3" "$2"
}
asked left user 2026-07-05 >"$old/left.jsonl"
asked ended assistant 2026-01-05 >"$old/ended.jsonl"
touch -d '2 hours ago' "$old"/*
asked busy user 2026-07-06 >"$old/busy.jsonl"
show() { TZ=$1 "$SESSIONFS" -S "$T/left" --cat "html/$2"; }
for zone in "UTC UTC 2026-07-05_22:30 2026-01-05_22:30" "Europe/Oslo CET/CEST 2026-07-06_00:30 2026-01-05_23:30" \
	"Australia/Sydney AEST/AEDT 2026-07-06_08:30 2026-01-06_09:30" "America/Sao_Paulo UTC-03 2026-07-05_19:30 2026-01-05_19:30" \
	"WAY5:30 WAY 2026-07-05_17:00 2026-01-05_17:00"; do
	read -r tz name summer winter <<<"$zone"
	for page in index.html home-ada-left/left.html; do
		show "$tz" $page >"$T/page"
		grep -q "zone\">$name</span>" "$T/page" || die "$page does not name $name: $(grep -o 'zone">[^<]*' "$T/page")"
		grep -q "<time datetime=\"2026-07-05T22:30:0[01].000Z\">${summer/_/ }</time>" "$T/page" || die "$page has another clock than $tz"
	done
	show "$tz" index.html >"$T/page"
	grep -q ">${winter/_/ }</time>" "$T/page" || die "another clock in winter: $tz"
done
state_of() { sed -n "s,.*<\(span class=[^>]*\|td\|dd\)>\(working *\|abandoned\|done\)</.*,\2,p" "$T/page" | xargs; }
for s in busy ended left; do
	show UTC home-ada-left/$s.html >"$T/page"
	want=${s/busy/working} want=${want/ended/done}
	is "${want/left/abandoned}" "$(state_of)" "the state of $s in its page"
	show UTC index.html | grep "home-ada-left/$s.html" >"$T/page"
	is "${want/left/abandoned}" "$(state_of)" "the state of $s in the index"
done
# A title has no mark of a Markdown heading.
{ session plan && entry a1 "# A plan" && entry a2 "two"; } >"$old/plan.jsonl"
show UTC home-ada-left/plan.html >"$T/page"
for text in '<title>A plan</title>' '<h1 title="A plan">A plan</h1>'; do grep -q "$text" "$T/page" || die "no $text: $(grep -o '<h1.*' "$T/page")"; done
show UTC index.html | grep 'plan.html">A plan</a>' >/dev/null || die "the title in the index"
is "# A plan" "$("$SESSIONFS" -S "$T/left" --cat projects/home-ada-left/plan/title)" "the title of the session"
rm "$old/plan.jsonl"
# A page is read in pieces, so its text for the time has a fixed length.
size=$(show UTC home-ada-left/busy.html | wc -c)
touch -d '2 hours ago' "$old/busy.jsonl"
is "$size" "$(show UTC home-ada-left/busy.html | wc -c)" "bytes of a page, an hour later"
