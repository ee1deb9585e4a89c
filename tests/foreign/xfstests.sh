#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xfstests: fsx on scratch files (random reads, writes, truncations and mapped reads, each compared with a copy in
# memory); t_dir_offset2, which seeks to each offset that getdents(2) returned, in directories of up to 4000 names and
# with several sizes of buffers; t_dir_type; looptest. SEED and OPERATIONS set the seed and length of a run of fsx.
. "$(dirname "$0")/common.sh"
need git cc python3
"$HERE/fetch" "$ROOT/build/foreign" 2>"$T/why" || skip "$(cat "$T/why")"
bin=$ROOT/build/foreign/xfstests
foreign_begin # without a picture
runs=0

fsx() { # TEST OPTION...
	local test=$1 rc=0
	shift
	"$bin/fsx" -q -P "$T" -N "${OPERATIONS:-10000}" -l 2000000 -S "$seed" "$@" "$S/foreign.tmp" >"$T/out" 2>&1 || rc=$?
	runs=$((runs + 1))
	if grep -q 'mmap: No such device' "$T/out"; then
		foreign_refused "$test" ENODEV
	else
		[ $rc = 0 ] && grep -q 'operations completed A-OK' "$T/out" ||
			die "fsx $* -S $seed ended with $rc (repeat with SEED=$seed): $(head -n 40 "$T/out")"
	fi
	rm -f "$S/foreign.tmp"
}
for seed in "${SEED:-1}" $((${SEED:-1} + 1)) $((${SEED:-1} + 2)); do
	fsx "fsx" -W -R
	fsx "fsx small truncations" -W -R -s 1
	fsx "fsx pages" -W -R -r 4096 -w 4096 -t 4096
	fsx "fsx reopened" -W -R -c 20
	fsx "fsx synced" -W -R -y
	fsx "fsx O_DIRECT" -W -R -Z -r 512 -w 512
	fsx "fsx mapped reads" -W
	fsx "fsx mapped writes" -R
done

for dir in "$T/mnt" "$T/mnt/projects" "$S" "$S/entries" "$S/labels" "$S/branches" "$L" "$L/entries" "$L/labels" "$L/branches" \
	"$L/branches/00000f9f" "$T/mnt/labels" "$T/mnt/sessions" "$T/mnt/by-date"; do
	[ -d "$dir" ] || die "there is no $dir"
	for size in 300 1024 4096 65536; do
		"$bin/t_dir_offset2" "$dir" $size >"$T/out" 2>&1 || die "t_dir_offset2 $dir $size: $(tail -n 5 "$T/out")"
		runs=$((runs + 1))
	done
	"$bin/t_dir_type" "$dir" u >"$T/out" 2>&1 || :
	! grep . "$T/out" || die "t_dir_type: names of unknown type in $dir"
done
# Names that are created and removed while the directory is read.
for change in +foreign.tmp -foreign.tmp; do
	for size in 300 4096; do
		[ $change = +foreign.tmp ] || : >"$S/foreign.tmp"
		"$bin/t_dir_offset2" "$S" $size $change >"$T/out" 2>&1 || die "t_dir_offset2 $S $size $change: $(tail -n 5 "$T/out")"
		runs=$((runs + 1))
		rm -f "$S/foreign.tmp"
	done
done
"$bin/looptest" -i 500 -o -r -w -v -b 100000 "$S/foreign.tmp" >"$T/out" 2>&1 || die "looptest: $(tail -n 5 "$T/out")"
"$bin/t_truncate_cmtime" "$S/foreign.tmp" >"$T/out" 2>&1 || die "t_truncate_cmtime: $(tail -n 5 "$T/out")"
rm -f "$S/foreign.tmp"
foreign_clean
foreign_end $((runs + 2)) "runs of fsx, t_dir_offset2, looptest and t_truncate_cmtime"
