# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# data.sh: the sessions that several figures use, each made once in a run. Sourced by tests/bench/run.
: "${here:?}" "${work:?}" "${small:?}" "${large:?}" "${tree_sessions:?}" "${many_sessions:?}" "${find_sessions:?}" "${find_mb:?}" "${slice_sessions:?}" "${slice_mb:?}"

mapfile -t samples < <(find "${BENCH_SAMPLES:-tests/data/sessions}" -name '*.jsonl' -type f | sort)
gen() { "$work/gen" "$@" "${samples[@]}"; }

megabytes() { du -sm --apparent-size "$1" | cut -f 1; }

# tree.d, a plain copy of the mount, and a squashfs of that. The cost of making them is recorded.
make_tree() {
	[[ ! -d $work/tree.d ]] || return 0
	gen -n "$tree_sessions" -r -b 3 -p 8 "$work/tree.d"
	mount_as ro "$work/mnt/source" "$work/tree.d"
	timed make.plain 0 cp -a "$work/mnt/source" "$work/mnt/plain"
	unmount "$work/mnt/source"
	if have squashfuse_ll && have mksquashfs; then
		timed make.squash 0 mksquashfs "$work/mnt/plain" "$work/tree.squashfs" -comp lz4 -noappend -no-progress -quiet
	fi
	note "tree: $tree_sessions sessions of the sizes of real ones, $(megabytes "$work/tree.d") MB; plain copy $(megabytes "$work/mnt/plain") MB on $(findmnt -n -o FSTYPE -T "$work"); squashfs with lz4"
}

# Sessions of `small` and of `large` entries, with short texts.
make_long() {
	[[ ! -d $work/large.d ]] || return 0
	gen -m "$small" -b 2 -z 0.1 "$work/small.d"
	gen -m "$large" -b 2 -z 0.1 "$work/large.d"
	note "long sessions: $small and $large entries, $(megabytes "$work/large.d") MB"
}

# Many sessions of 100 entries in one project.
make_many() {
	[[ ! -d $work/many.d ]] || return 0
	gen -n "$many_sessions" -m 100 -z 0.1 "$work/many.d"
	note "many sessions: $many_sessions of 100 entries, $(megabytes "$work/many.d") MB"
}

# --- sessions to search: as long as real ones, or with BENCH_DATA copies of real ones ---

rare=zqxfkvw                 # added to a few sessions
common=${BENCH_WORD:-gazebo} # BENCH_WORD: one that is common in BENCH_DATA
planted=5

make_sessions() { # DIRECTORY SESSIONS MEGABYTES: at least that many of both
	local what='made from the samples'
	if [[ ${BENCH_DATA:-} ]]; then
		python3 "$here/multiply.py" "$BENCH_DATA" "$1" "$2" "$3"
		what="copies of those in $BENCH_DATA"
	else
		gen -n "$2" -r -x 3 -b 3 -p 8 -w "$common" "$1"
	fi
	note "${1##*/}: $(find "$1" -name '*.jsonl' | wc -l) sessions, $(megabytes "$1") MB, $what"
}

# Appends a message of the user to a session, as pi does.
say() { # FILE TEXT
	printf '{"type":"message","id":"%04x%04x","parentId":%s,"timestamp":"%s","message":{"role":"user","content":[{"type":"text","text":"%s"}]}}\n' \
		$RANDOM $RANDOM "$(tail -n 1 "$1" | jq .id)" "$(date -u +%FT%T.000Z)" "$2" >>"$1"
}

# Appends the rare word to sessions between the first and the last that are not among the smallest.
plant() { # DIRECTORY
	local i files
	mapfile -t files < <(find "$1" -name '*.jsonl' -size +20k | sort)
	for ((i = 0; i < planted; i++)); do
		say "${files[i * ${#files[@]} / planted]}" "Only here: the $rare."
	done
}

make_find() {
	[[ ! -d $work/find.d ]] || return 0
	make_sessions "$work/find.d" "$find_sessions" "$find_mb"
	plant "$work/find.d"
	note "find.d: the rare word is in $planted lines, the common word in $(rg -iF "$common" --count-matches --no-filename "$work/find.d" | awk '{ n += $1 } END { print n + 0 }') places"
}

# A few of them, for programs that read every name.
make_slice() { [[ -d $work/slice.d ]] || make_sessions "$work/slice.d" "$slice_sessions" "$slice_mb"; }
