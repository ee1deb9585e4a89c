#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The disk is full, a file reached its size limit, or the disk is read-only: every kind of write fails with that error,
# the session file stays byte for byte, and once there is room the same writes work, in the same mount.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need_root
need busybox dash vim
mkdir "$T/src"
mount -t tmpfs -o size=2m,mode=755 sessionfs-test "$T/src" || skip "cannot mount a tmpfs here"
samples "$T/src"
write_mount
a=4726bdf3 b=21adfd5d c=436adaf5 d=2f83ebc0

start() { # WORD: creates what the writes below replace and remove
	echo "$1" >"$s/entries/$d/label"
	echo "$1" >"$s/name"
	ln -s "../entries/$b" "$s/labels/linked"
	wrote "before" "label $d $1" "name $1" "label $b linked"
}
start one

# Appends a line as pi would, so long that only ROOM bytes of the file's last block are free.
pad() { # ROOM
	local last size n
	last=$(tail -n 1 "$file" | jq -r .id)
	size=$(stat -c %s "$file")
	printf -v line '{"type":"custom","id":"%08x","parentId":"%s","timestamp":"2026-03-01T10:00:00.000Z","customType":"pad","data":"%s"}' \
		$((++pads)) "$last" ""
	n=$(((8192 - $1 - (size + ${#line} + 1) % 4096) % 4096))
	line=${line%\"\}}$(printf "%${n}s" "")\"\}
	printf '%s\n' "$line" >>"$file"
	is $((4096 - $1)) $((($(stat -c %s "$file") - 1) % 4096 + 1)) "bytes in the last block"
	await "the padding is shown" eval "tail -n 1 '$s/session.jsonl' | cmp -s - <(tail -n 1 '$file')"
	wrote "padding" "raw $line"
}
pads=0

# Every way to write, once. WORD distinguishes runs; the appended records are in `records`.
table() { sed "s/^$d	[^	]*/$d	$1/" "$s/labels.tsv" >"$T/table"; }
records=()
ways() { # RUN WORD: calls RUN with a command, with its records in `records`
	local run=$1 w=$2 shell side=$T/value
	for shell in bash dash "busybox sh"; do
		records=("label $a $w $shell")
		# shellcheck disable=SC2086
		$run $shell -c "echo '$w $shell' >'$s/entries/$a/label'"
		records=("name $w $shell")
		# shellcheck disable=SC2086
		$run $shell -c "echo '$w $shell' >'$s/name'"
	done
	records=("branch $a $w")
	$run bash -c "echo '$w' >'$s/entries/$a/branch'"
	echo "$w cp" >"$side"
	records=("label $a $w cp")
	$run cp "$side" "$s/entries/$a/label"
	echo "$w cp" >"$side"
	records=("name $w cp")
	$run cp "$side" "$s/name"
	printf '%s\nof two lines\n' "$w" >"$side"
	records=("branch $c $w
of two lines")
	$run cp "$side" "$s/entries/$c/branch"
	table "$w"
	records=("label $d $w")
	$run cp "$T/table" "$s/labels.tsv"
	echo "$w mv" >"$side"
	records=("clear $c" "label $c $w mv") # to another filesystem mv removes first
	$run mv "$side" "$s/entries/$c/label"
	echo "$w rename" >"$side"
	records=("label $c $w rename")
	$run "$python" -c 'import os, sys
side = sys.argv[2] + ".side"
open(side, "w").write(open(sys.argv[1]).read())
try: os.replace(side, sys.argv[2])
except OSError as e:
    os.unlink(side)
    sys.exit(str(e))' "$side" "$s/entries/$c/label"
	records=("label $c $w fsync")
	$run "$python" -c 'import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
os.write(fd, sys.argv[2].encode())
os.fsync(fd)' "$s/entries/$c/label" "$w fsync"
	records=("label $a vim $w cp")
	$run vim -es -N -u NONE -i NONE -c 's/.*/vim '"$w"' cp/' -c 'wq' "$s/entries/$a/label"
	records=("label $c $w-link")
	$run ln -s "../entries/$c" "$s/labels/$w-link"
	records=("clear $b" "label $a linked")
	$run ln -sfn "../entries/$a" "$s/labels/linked"
	records=("label $a $w-moved")
	$run mv "$s/labels/linked" "$s/labels/$w-moved"
	records=("branch $b ")
	$run ln -sfn "entries/$b" "$s/leaf"
	for shell in bash dash "busybox sh"; do
		records=("clear $d")
		# shellcheck disable=SC2086
		$run $shell -c ": >'$s/entries/$d/label'"
		records=("label $d $w $shell")
		# shellcheck disable=SC2086
		$run $shell -c "echo '$w $shell' >'$s/entries/$d/label'"
	done
	records=("clear $d")
	$run cp /dev/null "$s/entries/$d/label"
	records=("label $d $w rename")
	$run cp "$side" "$s/entries/$d/label"
	records=("clear $d")
	$run truncate -s 0 "$s/entries/$d/label"
	records=("label $d $w rename")
	$run cp "$side" "$s/entries/$d/label"
	records=("name ${w:0:1}")
	$run truncate -s 1 "$s/name"
	records=("clear $d")
	$run rm "$s/entries/$d/label"
	records=("name ")
	$run rm "$s/name"
}
cannot() { # COMMAND...: fails with $said, but dash has one word for all errors of write, and busybox sh and vim -es have none
	case $1 in
	dash) refuses "I/O error|$said" "$@" ;;
	busybox | vim) refuses "" "$@" ;;
	*) refuses "$said" "$@" ;;
	esac
	[[ $* == *"rm "* ]] || matches "$said" "$(head -n 1 "$s/errors")" "the newest of errors after $*"
}
can() {
	quiet "$@"
	wrote "$*" "${records[@]}"
}
fill() { dd if=/dev/zero of="$T/src/fill" bs=4k 2>/dev/null || :; }

said="No space left on device"
for room in 0 100; do
	rm -f "$T/src/fill"
	pad $room
	fill
	ways cannot full
done
rm -f "$T/src/fill"
pad 1000
fill
records=("label $a fits")
can bash -c "echo fits >'$s/entries/$a/label'" # into the last block of the file
# Text that comes in pieces, of which the first ones fit.
many=$(printf 'line %04d of many, and "quoted"\n' {1..700}) # 22 kB, 25 in the file
for kb in 8 20; do
	rm -f "$T/src/fill"
	fill
	truncate -s -${kb}k "$T/src/fill"
	for shell in bash "busybox sh"; do
		# shellcheck disable=SC2086,SC2016
		cannot $shell -c 'printf "%s\n" "$1" >"$2"' - "$many" "$s/entries/$a/branch"
	done
done
rm -f "$T/src/fill"
quiet bash -c 'printf "%s\n" "$1" >"$2"' - "$many" "$s/entries/$a/branch"
wrote "what comes in pieces" "branch $a $many"

ways can "room"

# The mount survives a directory that is read-only for a while.
start two
mount -o remount,bind,ro "$T/src"
said="Read-only file system"
ways cannot fixed
mount -o remount,bind,rw "$T/src"
ways can loose

# At the size limit: the signal for it must not end the filesystem.
start three
limit=$((($(stat -c %s "$file") / 1024 + 2) * 1024))
pad $(((4096 - limit % 4096) % 4096))
is $limit "$(stat -c %s "$file")" "size of the file at the limit"
umount_fs "$T/mnt"
ulimit -S -f $((limit / 1024))
write_mount
ulimit -S -f unlimited
said="File too large"
ways cannot large
