#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fio: random reads and writes of scratch files, verified; and a file with checksums that fio wrote, as a picture in a
# session, read and verified through the mount. Each with several engines and block sizes, with and without O_DIRECT.
. "$(dirname "$0")/common.sh"
need fio jq python3
cd "$T"

runs=0
run() { # TEST OPTION...: errno of a refusal
	local test=$1 rc=0 errno
	shift
	fio --name=foreign --output-format=json --output="$T/json" --thread=0 --fallocate=none --randseed="${SEED:-1}" \
		--allow_file_create=1 --verify_fatal=1 "$@" >"$T/out" 2>&1 || rc=$?
	[ $rc -lt 124 ] || die "$test: fio $* ended with $rc: $(cat "$T/out")"
	runs=$((runs + 1))
	[ $rc -ne 0 ] || return 0
	errno=$(sed -n '/^{/,/^}/p' "$T/json" | jq '.jobs[0].error') || die "$test: fio $*: $(cat "$T/out" "$T/json")"
	[ "${errno:-0}" -gt 0 ] || die "$test: fio $*: $(cat "$T/out" "$T/json")"
	errno=$(foreign_errno "$errno")
	# EILSEQ is a block that is not as it was written.
	[ "$errno" != EILSEQ ] || die "$test: fio $* found other bytes: $(cat "$T/out")"
	foreign_refused "$test" "$errno"
}

fio --name=image --filename="$T/image" --rw=write --size=4M --bs=64k --verify=crc32c --verify_interval=512 \
	--do_verify=0 --randseed=1 >/dev/null
foreign_begin "$T/image"

image=$L/entries/00000000/images/1.bin
cmp "$T/image" "$image" || die "the picture has other bytes"
for engine in psync vsync pvsync2 libaio posixaio io_uring mmap splice; do
	for direct in 0 1; do
		case $engine$direct in mmap1 | splice1) continue ;; esac
		for size in 512 4k 1M; do
			run "read $engine" --readonly --filename="$image" --rw=randread --size=4M --bs=$size --ioengine=$engine --direct=$direct \
				--verify=crc32c --verify_interval=512
		done
		run "read $engine" --readonly --filename="$image" --rw=read --size=4M --bs=64k --ioengine=$engine --direct=$direct \
			--verify=crc32c --verify_interval=512
		for size in 4k-4k 512-128k; do
			[ $engine != mmap ] || size=4k-128k # fio maps whole pages
			run "write $engine" --filename="$S/foreign.tmp" --rw=randrw --size=8M --bsrange="$size" --ioengine=$engine --direct=$direct \
				--verify=crc32c --do_verify=1 --fsync=64
			rm -f "$S/foreign.tmp"
		done
	done
done
# Four writers, each with a file, and one that both truncates and writes.
run "write four" --directory="$S" --numjobs=4 --rw=randrw --size=4M --bs=4k --ioengine=psync --verify=xxhash --do_verify=1
run "write fallocate" --filename="$S/foreign.tmp" --rw=write --size=4M --bs=4k --ioengine=psync --fallocate=posix --verify=md5 --do_verify=1
foreign_clean
foreign_end $runs "runs of fio"
