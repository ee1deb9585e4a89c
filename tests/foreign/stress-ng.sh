#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stress-ng: each stressor of its file classes works for some seconds on scratch files in the directory of a session,
# two instances at once, and verifies what it can. SECONDS_EACH is the time of each.
. "$(dirname "$0")/common.sh"
need stress-ng cc python3
cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$T/shim.so" "$HERE/shim.c" || die "shim.c"
mkdir "$T/work"
foreign_begin # without a picture
export FOREIGN_DIR=$S

stressors=(access aio aiol chattr chdir chmod chown close copy-file dentry dir dirdeep dirmany dup fallocate fcntl fiemap
	file-ioctl filename flock fpunch fsize fstat getdent handle hdd inode-flags inotify io iomix lease link locka lockf
	lockofd mknod msync open readahead rename seek sendfile splice symlink sync-file touch utime verity xattr)
for s in "${stressors[@]}"; do
	size=() # of its files: all scratch files together have 64 MiB
	case $s in
	hdd) size=(--hdd-bytes 8M) ;;
	fallocate) size=(--fallocate-bytes 8M) ;;
	fiemap) size=(--fiemap-bytes 4M) ;;
	iomix) size=(--iomix-bytes 8M) ;;
	readahead) size=(--readahead-bytes 8M) ;;
	seek) size=(--seek-size 4M) ;;
	sendfile) size=(--sendfile-size 4M) ;;
	sync-file) size=(--sync-file-bytes 4M) ;;
	esac
	rc=0
	env -C "$T/work" LD_PRELOAD="$T/shim.so" stress-ng --temp-path "$T/work" --"$s" 2 --timeout "${SECONDS_EACH:-2}" --verify \
		"${size[@]}" >"$T/out" 2>&1 || rc=$?
	# 0: passed; 2: a call failed; 3: not supported here; 4: not available. Others mean that it crashed or hung.
	case $rc in
	0 | 2 | 3 | 4) ;;
	*) die "stress-ng --$s ended with $rc: $(tail -n 5 "$T/out")" ;;
	esac
	! grep -qE 'SIG(SEGV|BUS|ABRT|KILL)|killed|timed out' "$T/out" || die "stress-ng --$s: $(cat "$T/out")"
	while IFS= read -r errno; do
		foreign_refused "$s" "$(foreign_errno "$errno")"
	done < <(grep -oE 'errno=[0-9]+' "$T/out" | cut -d= -f2 | sort -un || :)
	! grep -q 'not supported\|does not support\|not allowed on the filesystem' "$T/out" || foreign_refused "$s" unsupported
	! grep -q 'unexpected data mismatch' "$T/out" || foreign_refused "$s" other
	foreign_log "$s"
	foreign_clean
done
foreign_end ${#stressors[@]} stressors
