#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --copy writes what the mount shows (without FUSE, what --ls and --cat show): names, types, bytes, modes, times and
# targets. A second copy writes only changes, and with --delete it removes what is gone. Nothing in the directory leads
# the copy out of it.
. "$(dirname "$0")/../lib/lib.sh"
need python3
umask 022

copy() { # COUNTS ARGUMENT...: asserts the counts it prints
	local said=$1 out
	shift
	out=$("$SESSIONFS" -S "$T/src" --copy "$@") || die "--copy $* ended with $?"
	matches "^$said\$" "$out" "what --copy $* says"
}
# The directories of a copy can be written by their owner.
dump() { # mount|cli ARGUMENT...
	python3 "$ROOT/tests/lib/tree.py" dump "$@" | sed -E 's/ \[dr[w-][x-]/ [drwx/'
}

for set in sessions broken; do
	rm -rf "$T/src" "$T/to"
	samples "$T/src" "$ROOT/tests/data/$set"
	copy "[1-9][0-9]* written, 0 unchanged, 0 removed" / "$T/to"
	all=$(find "$T/to" ! -type d | wc -l)
	copy "0 written, $all unchanged, 0 removed" / "$T/to"
	dump mount "$T/to" >"$T/copied"
	if can_mount; then
		mount_fs "$T/src" "$T/mnt"
		dump mount "$T/mnt" >"$T/shown"
		diff -r --no-dereference "$T/mnt" "$T/to" >&2 || die "the copy of $set has other bytes than the mount"
		umount_fs "$T/mnt"
	else
		dump cli "$SESSIONFS" "$T/src" >"$T/shown"
	fi
	diff -u "$T/shown" "$T/copied" >&2 || die "the copy of $set differs from the mount"
done

# Parts of the tree: a directory, a session by a link to it, one file.
rm -rf "$T/src" "$T/to"
samples "$T/src"
copy ".*" / "$T/to"
for part in html "$WEATHER" "$FORECAST/" "projects/../$V1/./entries"; do
	copy "[1-9][0-9]* written, 0 unchanged, 0 removed" "$part" "$T/part"
	diff -r --no-dereference "$T/to/$part" "$T/part" >&2 || die "the copy of $part alone"
	rm -rf "$T/part"
done
copy "1 written, 0 unchanged, 0 removed" "$FORECAST/title" "$T/part"
touch "$T/part/.sessionfs~" # of a killed copy
copy "1 written, 0 unchanged, 0 removed" html/index.html "$T/part/"
copy "0 written, 1 unchanged, 0 removed" html/index.html "$T/part"
is "index.html title" "$(ls -A "$T/part" | tr "\n" " " | sed "s/ $//")" "two files"
same "$T/to/$FORECAST/title" "$T/part/title" "one file"
copy "[1-9].*" latest "$T/part"
same "$T/to/latest/chat.md" "$T/part/chat.md" "the newest session"
rm -rf "$T/part"

# After a line was appended to one session, its files and those made from all sessions are written again.
inodes() { (cd "$T/to" && find . ! -type d -printf '%i %T@ %p\n' | sort); }
inodes >"$T/before"
file=$(echo "$T"/src/--home-ada-weather--/*019cb401*.jsonl)
leaf=$(basename "$(readlink "$T/to/$ICONS/leaf")")
echo '{"type":"label","id":"abcd0123","parentId":"'"$leaf"'","targetId":"'"$leaf"'","label":"x","timestamp":"2026-03-03T15:00:00.000Z"}' >>"$file"
out=$("$SESSIONFS" -S "$T/src" --copy / "$T/to")
inodes >"$T/after"
comm -13 "$T/before" "$T/after" | cut -d' ' -f3- >"$T/changed"
matches "^$(wc -l <"$T/changed") written, $(comm -12 "$T/before" "$T/after" | wc -l) unchanged, 0 removed$" "$out" "the count"
name=${ICONS##*/}
: >"$T/others"
while IFS= read -r path; do
	case $path in
	"./$ICONS/"* | "./html/"*"/$name.html") ;;
	./html/index.html | ./README.md | ./.ignore | ./*.tsv | ./*.svg) ;; # their time is the newest one
	*) [ -h "$T/to/$path" ] || echo "$path" >>"$T/others" ;;
	esac
done <"$T/changed"
is "" "$(cat "$T/others")" "other files that were written"
same "$file" "$T/to/$ICONS/session.jsonl" "the grown session"
grep -q "/entries/.*/entry.json$" "$T/changed" && [ "$(grep -c '/entry.json$' "$T/changed")" -gt 1 ] && die "entries that stayed the same were written again"
rm -rf "$T/fresh"
copy ".*" / "$T/fresh"
dump mount "$T/fresh" >"$T/a"
dump mount "$T/to" >"$T/b"
diff -u "$T/a" "$T/b" >&2 || die "gone on with, the copy differs from a fresh one"

# A change in neither size nor time: the forks of a session, and a link. The names are equally long.
forks=$(cd "$T/to" && find projects -name forks | sed -n 1p)
tr '0-9' '1-90' <"$T/to/$forks" >"$T/other"
cat "$T/other" >"$T/to/$forks.new" && touch -r "$T/to/$forks" "$T/to/$forks.new" && mv "$T/to/$forks.new" "$T/to/$forks"
ln -sfn "$(readlink "$T/to/$FORECAST/leaf" | tr '0-9' '1-90')" "$T/to/$FORECAST/leaf" && touch -h -r "$T/fresh/$FORECAST/leaf" "$T/to/$FORECAST/leaf"
copy "2 written, .* removed" / "$T/to"
# Changes that another program made to the copy, and a mode.
chmod u+w "$T/to/$FORECAST/title"
echo more >>"$T/to/$FORECAST/title"
rm -r "$T/to/$FORECAST/labels"
chmod 600 "$T/to/$FORECAST/all.txt"
copy "[1-9][0-9]* written, .* 0 removed" / "$T/to"
diff -r --no-dereference "$T/fresh" "$T/to" >&2 || die "a changed copy is not repaired"
is 444 "$(stat -c %a "$T/to/$FORECAST/all.txt")" "the mode of a file that was changed"

# Names that are not in the tree stay, and are removed by --delete: a removed session, and files that never came from
# it.
mkdir -p "$T/to/own/deep/er" "$T/outside/dir"
echo mine | tee "$T/to/own/deep/er/file" "$T/outside/kept" "$T/outside/dir/kept" >/dev/null
ln -s "$T/outside" "$T/to/own/link"
chmod 500 "$T/to/own/deep"
rm "$file"
copy "[1-9][0-9]* written, [1-9][0-9]* unchanged, 0 removed" / "$T/to"
[ -e "$T/to/$ICONS/title" ] && [ -e "$T/to/own/deep/er/file" ] || die "something went without --delete"
copy "0 written, [1-9][0-9]* unchanged, [1-9][0-9]* removed" --delete / "$T/to"
rm -rf "$T/fresh"
copy ".*" / "$T/fresh"
diff -r --no-dereference "$T/fresh" "$T/to" >&2 || die "with --delete something else is left than a fresh copy has"

# A link in place of an unfinished file is not followed. (copy-kept.sh: other obstacles.)
rm "$T/to/$V1/title"
ln -s "$T/outside/kept" "$T/to/$V1/.sessionfs~"
copy "1 written, .*" / "$T/to"
diff -r --no-dereference "$T/fresh" "$T/to" >&2 || die "a link in the copy is left"
is "dir kept" "$(cd "$T/outside" && echo *)" "the files outside"
is "mine mine" "$(cat "$T/outside/kept" "$T/outside/dir/kept" | xargs)" "the files outside"

# Directories that must not be touched, each with its reason.
refused() { # REGEX DIRECTORY [OPTION...]
	local regex=$1 dir=$2 state
	shift 2
	state=$(find "$T/src" "$T/home" -printf '%p %s %T@ %m\n' | sort)
	fails 1 "^sessionfs: $dir: $regex\$" env HOME="$T/home" "$SESSIONFS" -S "$T/src" "$@" --copy / "$dir"
	is "$state" "$(find "$T/src" "$T/home" -printf '%p %s %T@ %m\n' | sort)" "the files after a refusal"
}
mkdir -p "$T/home/.pi/agent/sessions/--p--" "$T/home/empty"
refused "is inside the directory of sessions; choose a directory elsewhere" "$T/src"
refused "is inside the directory of sessions; choose a directory elsewhere" "$T/src/new"
refused "is inside the directory of sessions; choose a directory elsewhere" "$T/home/.pi/agent/sessions/--p--"
refused "contains the directory of sessions; choose a directory of its own" "$T"
refused "contains the directory of sessions; choose a directory of its own" /
refused "contains the directory of sessions; choose a directory of its own" "$T/home" # a session file of pi's
rm -r "$T/home/.pi"
refused "contains your home, which --delete would empty; choose a directory of its own" "$T/home" --delete
refused "No such file or directory; make the directory above it first" "$T/home/no/such"
ln -s ../src "$T/home/link"
refused "is inside the directory of sessions; choose a directory elsewhere" "$T/home/link"
mkdir "$T/bound"
if [ "$(id -u)" -eq 0 ] && mount --bind "$T/src" "$T/bound" 2>/dev/null; then
	refused "is inside the directory of sessions; choose a directory elsewhere" "$T/bound/new"
	umount "$T/bound"
fi
# A missing source, such as an unmounted disk, removes nothing from the copy.
mkdir "$T/none"
fails 1 "$T/none: no sessions, and --delete would empty the copy$" "$SESSIONFS" -S "$T/none" --copy --delete / "$T/to"
diff -r --no-dereference "$T/fresh" "$T/to" >&2 || die "something was removed"
