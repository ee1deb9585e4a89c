#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Inode numbers stay the same while mounted, even after caches were dropped.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
mount_fs "$T/src" "$T/mnt"
numbers() { (cd "$T/mnt" && find . -printf '%i %p\n' | sort); }
numbers >"$T/first"
[ "$(wc -l <"$T/first")" -gt 500 ] || die "only $(wc -l <"$T/first") names"
is "" "$(find "$T/mnt" ! -type l -printf '%i\n' | sort | uniq -d)" "two files with one inode number"
numbers >"$T/second"
same "$T/first" "$T/second" "inode numbers, a second time"
if [ "$(id -u)" -eq 0 ] && sync && echo 3 2>/dev/null >/proc/sys/vm/drop_caches; then
	numbers >"$T/third"
	same "$T/first" "$T/third" "inode numbers after the kernel's caches were dropped"
fi

# They survive growth and the eviction of every index: with the smallest cache all are evicted at once.
line='{"type":"message","id":"99990001","parentId":"33ccdcfd","timestamp":"2026-03-02T11:00:00.000Z","message":{"role":"user","content":"more"}}'
echo "$line" >>"$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
within 20 "the new entry" test -d "$T/mnt/$FORECAST/entries/99990001"
numbers >"$T/fourth"
is "" "$(comm -23 <(grep -v "$FORECAST/branches/" "$T/first") "$T/fourth")" "inode numbers after the session grew"
