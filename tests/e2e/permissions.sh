#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No user can read through the mount what the session file does not let them read.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
need rsync
samples "$T/src"
private=$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl
chmod 600 "$private"
chown 65534:65534 "$private"
chmod 640 "$T/src/scratch.jsonl"
chown 0:65534 "$T/src/scratch.jsonl"
mount_fs "$T/src" "$T/mnt" -o allow_other

is "65534:65534 400" "$(stat -c '%u:%g %a' "$T/mnt/$FORECAST/title")" "owner and mode of a private file"
is "65534:65534 700" "$(stat -c '%u:%g %a' "$T/mnt/$FORECAST")" "owner and mode of a private session"
is "0:65534 440" "$(stat -c '%u:%g %a' "$T/mnt/projects/unknown/scratch/title")" "owner and mode of a group's file"
is "0:65534 750" "$(stat -c '%u:%g %a' "$T/mnt/projects/unknown/scratch/entries")" "owner and mode of a group's directory"
is "0:0 444" "$(stat -c '%u:%g %a' "$T/mnt/$CACHE/title")" "owner and mode of everybody's file"
is "0:0 444" "$(stat -c '%u:%g %a' "$T/mnt/README.md")" "owner and mode of README.md"

# No mode is wider than the session file's, but for the owner's w of directories, and generated files are not writable.
while IFS= read -r -d '' s; do
	[ -L "$s" ] && continue
	file=$(find "$T/src" -name "$(basename "$s").jsonl")
	mode=$((0$(stat -c %a "$file")))
	while IFS=' ' read -r m p; do
		m=$((0$m))
		r=$((m & 0444))
		x=$((m & 0111))
		w=0
		case ${p#"$s"} in
		"" | /name | /labels | /labels.tsv | */label | */branch | /entries/*/context.json | /entries/[!~]*) w=$((mode & 0222)) ;;
		esac
		case ${p#"$s"} in /entries/*/context.json) ;; /entries/*/*[!lh]) w=0 ;; esac
		[ ! -d "$p" ] || w=$((w | (mode & 0400) >> 1))
		[ $((r & ~mode)) -eq 0 ] && [ $((x & ~((mode & 0444) >> 2))) -eq 0 ] && [ $((m & 0222 & ~w)) -eq 0 ] ||
			die "$p has mode $(printf %o "$m"), the session file $(printf %o "$mode")"
	done < <(find "$s" ! -type l -printf '%m %p\n')
done < <(find "$T/mnt/projects" -mindepth 2 -maxdepth 2 -type d -print0)

stranger() { setpriv --reuid=12345 --regid=12345 --clear-groups "$@"; }
stranger cat "$T/mnt/$CACHE/title" >/dev/null || die "a stranger cannot read a public file"
fails 1 "Permission denied" setpriv --reuid=12345 --regid=12345 --clear-groups cat "$T/mnt/$FORECAST/title"
fails 2 "Permission denied" setpriv --reuid=12345 --regid=12345 --clear-groups ls "$T/mnt/$FORECAST"
as_nobody cat "$T/mnt/$FORECAST/title" >/dev/null || die "the owner cannot read their own"
umount_fs "$T/mnt"

# A link does not open files of a closed directory, wherever that is.
for place in open closed; do
	mkdir -p "$T/$place/inner"
	cp "$T/src/scratch.jsonl" "$T/$place/inner/$place.jsonl"
	chmod -R a+rX "$T/$place"
	ln -s "$T/$place/inner/$place.jsonl" "$T/src/to-$place.jsonl"
	ln -s "$T/$place/inner" "$T/src/--$place--"
done
chmod 711 "$T/open"
chmod 750 "$T/closed"
mount_fs "$T/src" "$T/mnt" -o allow_other
stranger cat "$T/mnt/projects/unknown/to-open/title" "$T/mnt/projects/open/open/title" >/dev/null ||
	die "a stranger cannot read a public file through a link"
for s in unknown/to-closed closed/closed; do
	fails 1 "Permission denied" setpriv --reuid=12345 --regid=12345 --clear-groups cat "$T/mnt/projects/$s/title"
	cat "$T/mnt/projects/$s/title" >/dev/null || die "the mounting user cannot read $s"
done
umount_fs "$T/mnt"

# The names of nested sessions are listed only where each directory on the way can be listed; users who know a name can
# still read permitted files.
lists() { # PROJECT: the names that another user sees in it
	setpriv --reuid=12345 --regid=12345 --clear-groups ls "$T/mnt/projects/$1" 2>/dev/null | tr '\n' ' ' || :
}
says() { [ "$(lists "$2")" = "$1" ]; }
session() { # FILE ID
	mkdir -p "$(dirname "$1")"
	printf '{"type":"session","version":3,"id":"%s","cwd":"/flat"}\n' "$2" >"$1"
}
rm -rf "$T/src"
for dir in "$T/src/--nested--" "$T/src"; do
	session "$dir/s.jsonl" "${#dir}"
	session "$dir/s/run/session.jsonl" "${#dir}-run"
	mkdir -m 700 "$dir/s/nothing"
done
for options in rw ro; do
	chmod 700 "$T/src/--nested--/s/run" "$T/src/s/run"
	mount_watched "$T/src" "$T/mnt" -o "allow_other,$options"
	is "" "$(lists nested)" "a project with a closed directory"
	stranger cat "$T/mnt/projects/nested/s/title" >/dev/null || die "a stranger cannot read a session next to a closed directory"
	is "s s+run " "$(cd "$T/mnt/projects/nested" && echo *) " "the names that the mounting user sees"
	for name in s+run/title s/subagents; do
		fails 1 "Permission denied" setpriv --reuid=12345 --regid=12345 --clear-groups cat "$T/mnt/projects/nested/$name"
	done
	is "s" "$(stranger readlink "$T/mnt/projects/nested/.latest")" "the newest, which is in no closed directory"
	# A link gives the name of a session that cannot be listed.
	chmod 711 "$T/src/--nested--"
	unlisted() { ! setpriv --reuid=12345 --regid=12345 --clear-groups readlink "$1" >/dev/null 2>&1; }
	await "the target of a link to a session that cannot be listed" unlisted "$(find "$T/mnt/sessions/" -lname '*/nested/s')"
	chmod 755 "$T/src/--nested--"
	chmod 755 "$T/src/--nested--/s/run"
	await "a directory that was opened" says "s s+run " nested
	for mode in 700 711 744; do
		chmod "$mode" "$T/src/--nested--/s"
		await "a directory on the way with $mode" says "" nested
		chmod 755 "$T/src/--nested--/s"
		await "a directory on the way that was opened" says "s s+run " nested
	done
	# No earlier answer came from a closed directory.
	session "$T/src/--nested--/t/session.jsonl" t
	await "one more" says "s s+run t " nested
	mkdir -m 700 "$T/src/--nested--/u"
	session "$T/src/--nested--/u/session.jsonl" u
	await "one more that is closed" says "" nested
	rm -r "$T/src/--nested--/"[tu]
	await "its end" says "s s+run " nested
	# Sessions below a flat file have the names of the source in their names.
	is "" "$(lists flat)" "a flat project with a closed directory"
	chmod 755 "$T/src/s/run"
	await "a directory below a flat file that was opened" says "s s+run " flat
	chmod 711 "$T/src"
	await "a flat project in a source that may not be listed" says "" flat
	is "s s+run " "$(lists nested)" "another one there"
	chmod 755 "$T/src"
	umount_fs "$T/mnt"
done

# A file that names other sessions is for users who can list every directory: for each owner and group.
rm -rf "$T/src"
for s in a b c; do
	session "$T/src/--p--/$s.jsonl" $s
	session "$T/src/--p--/$s/run/session.jsonl" $s-run
done
chown 0:65534 "$T/src/--p--/a/run" "$T/src/--p--/b.jsonl"
chown 65534:65534 "$T/src/--p--/c.jsonl"
chmod 750 "$T/src/--p--/a/run"
mount_fs "$T/src" "$T/mnt" -o allow_other
is "400 440 40" "$(stat -c %a "$T/mnt/projects/p"/[abc]/subagents | xargs)" "modes of files that name other sessions"
umount_fs "$T/mnt"
rm -rf "$T/src"
samples "$T/src"

# The owner of a copy with the modes of the mount can remove it, and the mount removes nothing.
chmod 444 "$T/src/scratch.jsonl"
chown -R 65534:65534 "$T/src"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
for options in rw ro; do
	mount_watched "$T/src" "$T/mnt" -o "allow_other,$options"
	find "$T/src" -type f -exec sha256sum {} + | sort >"$T/sums"
	mkdir "$T/copies"
	chown 65534:65534 "$T/copies"
	as_nobody rsync -a "$T/mnt/projects" "$T/copies/rsync/"
	as_nobody cp -a "$T/mnt/projects" "$T/copies/cp"
	as_nobody tar -C "$T/mnt" -cf - projects | as_nobody tar -C "$T/copies" -xpf -
	refused="not permitted|denied|Read-only"
	fails 1 "$refused" "${nobody[@]}" rm -rf "$T/mnt/projects"
	fails 1 "$refused" "${nobody[@]}" find "$T/mnt/projects" -delete
	fails 1 "$refused" "${nobody[@]}" mv "$T/mnt/projects" "$T/copies/mv"
	# Its status depends on `errors`, which can vanish meanwhile.
	! as_nobody rsync -a --remove-source-files "$T/mnt/projects" "$T/copies/moved" >"$T/out" 2>&1 || die "rsync removed its source"
	find "$T/src" -type f -exec sha256sum {} + | sort | same "$T/sums" /dev/stdin "the source after removals ($options)"
	nothing "removing the copies ($options)" as_nobody rm -rf "$T/copies/rsync" "$T/copies/cp" "$T/copies/projects" "$T/copies/mv" "$T/copies/moved"
	is "" "$(ls -A "$T/copies")" "what is left of the copies ($options)"
	rmdir "$T/copies"
	umount_fs "$T/mnt"
done

# Without allow_other only the mounting user has access.
mount_fs "$T/src" "$T/mnt"
fails 2 "Permission denied" setpriv --reuid=12345 --regid=12345 --clear-groups ls "$T/mnt/"
