#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sizes and bytes are exact, for tools that copy and search.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need rsync tar rg
samples "$T/src"

for options in "" "-oro"; do
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	rm -rf "$T/copy" "$T/tar" "$T/cp"

	# rsync: a file copied once is not copied again, even after a remount.
	mkdir "$T/copy"
	rsync -a "$T/mnt/" "$T/copy/" || die "rsync ended with $?"
	nothing "a second rsync -a transfers nothing" rsync -ai "$T/mnt/" "$T/copy/"
	nothing "nor does one with checksums" rsync -aic --delete "$T/mnt/" "$T/copy/"
	umount_fs "$T/mnt"
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	nothing "nor does one after a remount" rsync -ai "$T/mnt/" "$T/copy/"

	# tar and cp
	mkdir "$T/tar"
	tar -C "$T/mnt" -cf - . 2>"$T/tar.err" | tar -C "$T/tar" -xf - || die "tar: $(cat "$T/tar.err")"
	is "" "$(cat "$T/tar.err")" "tar's complaints"
	diff -r --no-dereference "$T/mnt" "$T/tar" >&2 || die "tar's copy differs"
	cp -a "$T/mnt" "$T/cp" || die "cp -a ended with $?"
	diff -r --no-dereference "$T/mnt" "$T/cp" >&2 || die "cp's copy differs"
	is "$(cd "$T/mnt" && find . -printf '%p %y %m %TY-%Tm-%TdT%TH:%TM:%TS %l\n' | sort)" \
		"$(cd "$T/cp" && find . -printf '%p %y %m %TY-%Tm-%TdT%TH:%TM:%TS %l\n' | sort)" "what cp -a kept"

	# grep, and ripgrep through a memory map, find the same as in the copy.
	is "$(cd "$T/cp" && grep -rc forecast . | sort)" "$(cd "$T/mnt" && grep -rc forecast . | sort)" "grep -rc"
	is "$(cd "$T/cp" && rg --no-mmap -uuc forecast . | sort)" "$(cd "$T/mnt" && rg --mmap -uuc forecast . | sort)" "rg --mmap"

	# The end of a file, its length and its blocks.
	f=$T/mnt/$FORECAST/transcript.md
	is "$(tail -c 100 "$T/cp/$FORECAST/transcript.md")" "$(tail -c 100 "$f")" "tail -c"
	is "$(stat -c %s "$f")" "$(wc -c <"$f")" "wc -c of a file"
	is "$(cat "$f" | wc -c)" "$(wc -c <"$f")" "wc -c of a pipe"
	is "$(dd if="$f" bs=7 skip=11 count=3 status=none | md5sum)" \
		"$(dd if="$T/cp/$FORECAST/transcript.md" bs=7 skip=11 count=3 status=none | md5sum)" "reading in the middle"
	is "$((($(stat -c %s "$f") + 511) / 512 * 512))" "$(du -B1 "$f" | cut -f1)" "du"

	touch -d '2026-03-20' "$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
	umount_fs "$T/mnt" # the kernel may keep times for a minute
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	touch -d '2026-03-19' "$T/mark"
	is "$FORECAST/title" "$(cd "$T/mnt" && find projects -newer "$T/mark" -name title)" "find -newer"
	samples "$T/src"
	umount_fs "$T/mnt"
done

# entry.json is the line, byte for byte.
mount_fs "$T/src" "$T/mnt"
for s in "$T/mnt"/projects/*/*/; do
	[ -L "${s%/}" ] && continue
	python3 - "$s" <<'PY' || die "entry.json differs from the line"
import os, sys
s = sys.argv[1]
lines = {l for l in open(s + "session.jsonl", "rb").read().split(b"\n") if l}
shown = {open(f"{s}entries/{e}/entry.json", "rb").read().rstrip(b"\n") for e in os.listdir(s + "entries")}
headers = lines - shown
if len(headers) != 1 or not shown <= lines:
    sys.exit(f"{s}: {len(lines)} lines, {len(shown)} entries, {len(lines & shown)} in common")
PY
	same "$s/session.jsonl" "$(find "$T/src" -name "$(basename "$s").jsonl")" "session.jsonl"
done
