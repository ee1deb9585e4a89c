#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Inode numbers stay the same while mounted, even after caches were dropped, and in every other mount.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
mount_watched "$T/src" "$T/mnt"
# Queries are not listed.
numbers() { (cd "$T/mnt" && find . search/{words,the,error} -printf '%i %p\n' | sort); }
numbers >"$T/first"
[ "$(wc -l <"$T/first")" -gt 500 ] || die "only $(wc -l <"$T/first") names"
is "" "$(find "$T/mnt" ! -type l -printf '%i\n' | sort | uniq -d)" "two files with one inode number"
is "$(find "$T/mnt/$FORECAST" -mindepth 1 -maxdepth 1 -printf '%i\n' | sort)" \
	"$("$SESSIONFS" -S "$T/src" --ls --json "$FORECAST" | grep -o '"inode":[0-9]*' | cut -d: -f2 | sort)" "numbers of --ls --json"
numbers >"$T/second"
same "$T/first" "$T/second" "inode numbers, a second time"
if [ "$(id -u)" -eq 0 ] && sync && echo 3 2>/dev/null >/proc/sys/vm/drop_caches; then
	numbers >"$T/third"
	same "$T/first" "$T/third" "inode numbers after the kernel's caches were dropped"
fi

# They survive growth and the eviction of every index: with the smallest cache all are evicted at once.
line='{"type":"message","id":"99990001","parentId":"33ccdcfd","timestamp":"2026-03-02T11:00:00.000Z","message":{"role":"user","content":"more"}}'
echo "$line" >>"$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl"
await "the new entry" test -d "$T/mnt/$FORECAST/entries/99990001"
numbers >"$T/fourth"
is "" "$(comm -23 <(grep -v "$FORECAST/branches/" "$T/first") "$T/fourth")" "inode numbers after the session grew"

# They are the same in another mount of the source, whatever is looked up first, and with other sessions and projects: a
# backup finds its files unchanged.
for walk in "ls -lR $WEATHER" "find . -depth -exec stat {} +" "ls search/the by-date/* labels/* sessions" others; do
	umount_fs "$T/mnt"
	if [ "$walk" = others ]; then
		mkdir "$T/src/--home-ada-aviary--"
		for name in --home-ada-weather--/0 --home-ada-aviary--/other; do
			echo '{"type":"session","version":3,"id":"'"${name##*/}"'","cwd":"/home/ada"}' >"$T/src/$name.jsonl"
			touch -d 2026-01-03 "$T/src/$name.jsonl"
		done
		walk="ls ."
	fi
	mount_fs "$T/src" "$T/mnt"
	(cd "$T/mnt" && eval "$walk") >/dev/null
	numbers >"$T/other"
	is "" "$(comm -23 "$T/fourth" "$T/other")" "inode numbers of another mount, after: $walk"
	is "" "$(find "$T/mnt" ! -type l -printf '%i\n' | sort | uniq -d)" "two files with one inode number"
done
