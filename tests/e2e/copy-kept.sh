#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --copy loses nothing: a DIR that is not a directory, a PATH that does not exist, and obstacles in DIR are errors that
# name it. --delete removes obstacles, but follows no link and enters no mount.
. "$(dirname "$0")/../lib/lib.sh"
need python3 setpriv
samples "$T/src"
rm -r "$T/src/--home-ada-weather--" # enough is left
copy=("$SESSIONFS" -S "$T/src" --copy)

state() { # FILE...: prints everything of these, and below them, that can be lost
	find "$@" -printf '%p %y %m %i %s %T@ %l\n' | sort
	find "$@" -type f -readable -exec cat {} +
}
kinds=(file closed link astray fifo socket)
[ "$(id -u)" -ne 0 ] || kinds+=(device)
put() { # KIND NAME
	case $1 in
	file) echo precious >"$2" ;;
	closed) echo precious >"$2" && chmod 0 "$2" ;;
	link) ln -s "$T/outside/file" "$2" ;;
	to-dir) ln -s "$T/outside" "$2" ;;
	astray) ln -s nowhere "$2" ;;
	fifo) mkfifo "$2" ;;
	socket) python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$2" ;;
	device) mknod "$2" c 1 3 ;;
	directory) mkdir -p "$2/below" && echo precious >"$2/below/file" ;;
	esac
}
mkdir "$T/outside"
echo precious >"$T/outside/file"
outside=$(state "$T/outside")
kept_outside() { is "$outside" "$(state "$T/outside")" "what is outside, after $1"; }

# --- DIR ---
for kind in "${kinds[@]}"; do
	put "$kind" "$T/notes.md"
	before=$(state "$T/notes.md")
	for delete in "" --delete; do
		for path in / latest/chat.md; do
			fails 1 "^sessionfs: $T/notes.md: Not a directory" "${copy[@]}" ${delete:+"$delete"} $path "$T/notes.md"
		done
		fails 1 "^sessionfs: no/such: No such file or directory; a PATH begins at the root of the tree: sessionfs --ls$" "${copy[@]}" ${delete:+"$delete"} no/such "$T/notes.md"
		is "$before" "$(state "$T/notes.md")" "a $kind as DIR $delete"
		kept_outside "a $kind as DIR $delete"
	done
	rm "$T/notes.md"
done
fails 1 "^sessionfs: no/such: No such file or directory; a PATH begins at the root of the tree: sessionfs --ls$" "${copy[@]}" no/such "$T/new"
fails 1 "^sessionfs: latest/title/.: Not a directory$" "${copy[@]}" --delete latest/title/. "$T/outside"
kept_outside "the copy of a directory that is a file"
[ ! -e "$T/new" ] || die "DIR was made although PATH does not exist"
# The command in the message writes the file.
mkdir "$T/bin"
ln -s "$SESSIONFS" "$T/bin/sessionfs"
for name in notes.md "it's mine.md"; do
	echo precious >"$T/$name"
	for redact in "" redact; do
		out=$(cd "$T" && "$SESSIONFS" -S src ${redact:+-o $redact} --copy latest/chat.md "$name" 2>&1) && die "$name was taken for a directory"
		[ "$name" != notes.md ] || is "sessionfs: notes.md: Not a directory; to write one file: sessionfs ${redact:+-o redact }-S src --cat latest/chat.md > notes.md" "$out" "the other way"
		(cd "$T" && PATH=$T/bin:$PATH && eval "${out#*to write one file: }") || die "the other way does not work: $out"
		"$SESSIONFS" -S "$T/src" --cat latest/chat.md | cmp - "$T/$name" || die "the other way writes something else: $out"
	done
done
# A link to a directory is accepted.
mkdir "$T/real"
ln -s real "$T/linked"
"${copy[@]}" latest/chat.md "$T/linked" >/dev/null
is chat.md "$(ls "$T/real")" "DIR that is a link to a directory"

# --- obstacles in DIR: a file, a link or a directory of the tree's names ---
"${copy[@]}" / "$T/fresh" >/dev/null
link=sessions/${FLAT##*/}
[ -h "$T/fresh/$link" ] || die "$link is no link"
for name in README.md "$link" html; do
	others=("${kinds[@]}" to-dir directory)
	for kind in "${others[@]}"; do
		case $name:$kind in
		README.md:file | README.md:closed | "$link":link | "$link":astray | "$link":to-dir | html:directory) continue ;;
		esac
		rm -rf "$T/to"
		mkdir -p "$T/to/${name%/*}" "$T/to/own"
		rm -rf "${T:?}/to/$name"
		echo mine >"$T/to/own/file"
		put "$kind" "$T/to/$name"
		before=$(state "$T/to/$name" "$T/to/own")
		fails 1 "^sessionfs: $name: [^:]*; it is in the way of the copy: move it, or remove it with --delete
[1-9][0-9]* written, 0 unchanged, 0 removed$" "${copy[@]}" / "$T/to"
		is "$before" "$(state "$T/to/$name" "$T/to/own")" "a $kind in the way of $name"
		is "$(printf '%s\n' own "${name%%/*}" | sort | xargs)" "$({ diff -rq --no-dereference "$T/fresh" "$T/to" || :; } | sed -E "s,.* $T/(fresh|to)/?,,; s,^: ,,; s,/.*,,; s/ .*//" | sort -u | xargs)" "what differs with a $kind in the way of $name"
		"${copy[@]}" --delete / "$T/to" >/dev/null || die "--delete does not clear the way: a $kind for $name"
		diff -r --no-dereference "$T/fresh" "$T/to" >&2 || die "a $kind in the way of $name with --delete"
		kept_outside "a $kind in the way of $name"
	done
done
# The name of an unfinished file.
mkdir "$T/to/html/.sessionfs~"
fails 1 "^sessionfs: html/.sessionfs~: File exists; it is in the way" "${copy[@]}" / "$T/to"
[ -d "$T/to/html/.sessionfs~" ] || die "a directory named .sessionfs~ is gone"

# A file that cannot be removed is named with the reason.
is_immutable() { chattr +i "$1" 2>/dev/null; }
if [ "$(id -u)" -eq 0 ] && command -v chattr >/dev/null && echo x >"$T/to/own" && is_immutable "$T/to/own"; then
	clean_first() { chattr -i "$T/to/own" 2>/dev/null; }
	fails 1 "sessionfs: own: Operation not permitted" "${copy[@]}" --delete / "$T/to"
	chattr -i "$T/to/own"
fi

# --- mounts below DIR, on the same disk and on another one ---
[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || exit 0
cat >"$T/apart.sh" <<'END'
set -e
sessionfs=$1 T=$2 how=$3
to=$T/mounts
mkdir -p "$to/own/deep" "$to/html" "$T/kept"
case $how in
bind) mount --bind "$T/kept" "$to/own/deep" && mount --bind "$T/kept" "$to/html" ;;
tmpfs) mount -t tmpfs none "$to/own/deep" && mount -t tmpfs none "$to/html" ;;
esac
for m in "$to/own/deep" "$to/html"; do
	mkdir -p "$m/dir" "$m/index.html/dir"
	echo precious | tee "$m/file" "$m/dir/file" "$m/index.html/dir/file" >/dev/null
done
rc=0
"$sessionfs" -S "$T/src" --copy --delete / "$to" 2>&1 || rc=$?
echo "status $rc"
for m in "$to/own/deep" "$to/html"; do
	[ "$(cat "$m/file" "$m/dir/file" "$m/index.html/dir/file" | xargs)" = "precious precious precious" ] || echo "lost in $m"
done
[ -d "$to/html/home-ada-weather" ] || echo "nothing was written there"
END
for how in bind tmpfs; do
	[ $how != bind ] || ! is_portable || continue # only Linux has mounts of a directory on the same disk
	out=$(unshare -m bash "$T/apart.sh" "$SESSIONFS" "$T" $how) || die "mounts ($how): $? $out"
	is "sessionfs: html: a mount; --delete removes nothing from mounts
sessionfs: html/index.html: Is a directory; it is in the way of the copy: move it, or remove it with --delete
sessionfs: own/deep: a mount; --delete removes nothing from mounts
sessionfs: own: Directory not empty
status 1" "$(grep -v ' written, ' <<<"$out")" "mounts ($how) below DIR"
	rm -rf "$T/mounts" "$T/kept"
done
