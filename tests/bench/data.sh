# shellcheck shell=bash
# data.sh: the sessions that several figures use, each made once in a run. Sourced by tests/bench/run.
: "${work:?}" "${small:?}" "${large:?}" "${tree_sessions:?}" "${many_sessions:?}"

mapfile -t samples < <(find "${BENCH_SAMPLES:-tests/data/sessions}" -name '*.jsonl' -type f | sort)
gen() { "$work/gen" "$@" "${samples[@]}"; }

megabytes() { du -sm --apparent-size "$1" | cut -f 1; }

# tree.d, a plain copy of what the mount makes of it, and a squashfs of that. What it took to make them is kept.
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
