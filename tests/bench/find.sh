# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# find.sh: a word found in all sessions, through the mount and in the session files. Sourced by tests/bench/run.
: "${work:?}" "${reps:?}" "${slow_reps:?}" "${walk_deadline:?}" "${rare:?}" "${common:?}" "${planted:?}"

word=$rare # the word to find

need() { # NAME...: fails if one is missing, since nothing can be measured then
	local name
	for name; do
		[[ -e $name ]] || { echo "bench: $name is not there" >&2 && return 1; }
	done
}

# Prints the sessions whose lines the last command printed, by the names of their files.
found() {
	cut -d : -f 1 "$work/out" | sed -E 's|^.*projects/[^/]+/([^/]+)/.*$|\1|; s|^.*/([^/]+)\.jsonl$|\1|' | sort -u
}

# Each program finds the rare word in the same sessions, and once in each.
check_rare() {
	[[ $(wc -l <"$work/out") -eq $planted ]] || { echo "bench: $(wc -l <"$work/out") hits, not $planted" >&2 && return 1; }
	[[ -e $work/found.rare ]] || found >"$work/found.rare"
	diff "$work/found.rare" <(found) >&2
}

# The common word is found only in sessions that contain it.
check_common() {
	[[ -s $work/out ]]
	[[ -e $work/found.common ]] || rg -ilF "$common" "$work/find.d" | sed -E 's|^.*/||; s|\.jsonl$||' | sort >"$work/found.common"
	[[ -z $(comm -23 <(found) "$work/found.common") ]]
}

# --- all.txt ---

rg_tree() { (cd "$1" && rg -F "$word" .); } # .ignore leaves one file of each session
rg_raw() { rg -F "$word" "$1"; }
grep_words_tree() { (cd "$1" && grep -rF "$word" projects/*/*/all.txt); }
grep_words_raw() { grep -rF "$word" "$1"; }

text_once() { # NAME TREE|RAW DIRECTORY: cold, then warm
	make_cold "$1_$2"
	timed "text.$1.cold.$side" 0 "$1_$2" "$3"
	check_rare
	timed "text.$1.warm.$side" 0 "$1_$2" "$3"
	timed "text.$1.warm.$side" 0 "$1_$2" "$3"
}

figure_text() {
	local i side how at=$work/mnt/find
	make_find
	for ((i = 0; i < reps; i++)); do
		for how in rg grep_words; do
			for side in rw ro; do
				mount_as "$side" "$at" "$work/find.d"
				need "$at/.ignore"
				text_once "$how" tree "$at"
				unmount "$at"
			done
			side=raw text_once "$how" raw "$work/find.d"
		done
	done
	for side in rw ro; do
		for how in rg grep_words; do
			text_row "${how/grep_words/grep -r} -F in all.txt, $side" "text.$how" "$side"
		done
	done
}

text_row() { # FIGURE NAME SIDE
	compare "$1, cold, against the raw files" "$2.cold.$3" "$2.cold.raw" "<= 3"
	compare "$1, warm, against the raw files" "$2.warm.$3" "$2.warm.raw" "<= 1.5"
}

# --- search ---

hits() { cat "$1/search/$word/hits.txt"; }
count_out() { wc -l <"$work/out"; }

# The longest session, which grows in these figures.
longest() { find "$1" -name '*.jsonl' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-; }

search_once() { # NAME: the word, cold, warm, and after a line with it was appended
	local lines
	make_cold hits
	timed "search.$1.cold" 0 hits "$at"
	lines=$(count_out)
	"check_$1"
	timed "search.$1.warm" 0 hits "$at"
	timed "search.$1.warm" 0 hits "$at"
	say "$file" "About the $word, the last time."
	timed "search.$1.after" 0 hits "$at"
	[[ $(count_out) -gt $lines || $lines -ge 10000 ]]
	sample "search.$1.lines" "$lines"
}

figure_search() {
	local i name at=$work/mnt/find dir=$work/grown.d file
	make_find
	cp -al "$work/find.d" "$dir"
	file=$(longest "$dir")
	for ((i = 0; i < reps; i++)); do
		for name in rare common; do
			word=${!name}
			cp --remove-destination -p "${file/grown.d/find.d}" "$file" # the data of other figures stays unchanged
			mount_as rw "$at" "$dir"
			search_once "$name"
			unmount "$at"
			make_cold rg_raw
			timed "search.$name.raw" 0 rg_raw "$work/find.d"
		done
	done
	for name in rare common; do
		word=${!name}
		search_rows "search/WORD/hits.txt, $name word ($(median "search.$name.lines" | cut -d . -f 1) hits)" "search.$name"
	done
	rm -rf "$dir"
}

search_rows() { # FIGURE NAME
	local warm after more
	warm=$(median "$2.warm")
	after=$(median "$2.after")
	more=$(calc "($after - $warm) * 1000")
	compare "$1, cold, against rg -F in the raw files" "$2.cold" "$2.raw" "<= 1.2"
	row "$1, warm, ms" "$(seconds "$warm")" - "$(calc "$warm * 1000")" "<= 20"
	row "$1, after an append, ms more" "$(seconds "$after")" "$(seconds "$warm")" "$more" "<= 5"
}

# --- searches typed at the root ---

walk() { find "$1" -printf '\n'; }
walk_links() { timeout "$walk_deadline" find -L "$1" -printf '\n'; }
rg_plainly() { (cd "$1" && timeout "$walk_deadline" rg "$word"); }

figure_walk() {
	local i names all at=$work/mnt/walk
	make_find
	make_slice
	word=$rare
	for ((i = 0; i < slow_reps; i++)); do
		mount_as rw "$at" "$work/find.d"
		need "$at/.ignore"
		make_cold rg_plainly
		timed walk.rg 0 rg_plainly "$at"
		check_rare
		unmount "$at"
	done
	mount_as rw "$at" "$work/slice.d"
	timed walk.find 0 walk "$at"
	names=$(count_out)
	timed walk.links 0 walk_links "$at"
	all=$(count_out)
	unmount "$at"
	row "rg WORD at the root, ended" "$(seconds "$(median walk.rg)")" - - -
	row "find -L at the root, ended" "$(seconds "$(median walk.links)")" "find $(seconds "$(median walk.find)")" \
		"$(calc "$(median walk.links) / $(median walk.find)")" -
	row "find -L at the root, names" "$all" "$names" "$(calc "$all / $names")" -
}
