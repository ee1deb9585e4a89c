#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Links form no cycles: programs that follow them end, after at most a few times the names of a plain walk.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
need zip
need rg
cat >"$T/circle.py" <<'END'
import os, sys
def below(directory):
    """The directories that one gets to from this one: its own, and those that its links lead to."""
    for e in os.scandir(directory):
        if e.is_symlink():
            assert os.path.exists(e.path), f"{e.path} leads nowhere"
        if e.is_dir():
            yield os.path.realpath(e.path)
done, links, stack = set(), set(), [(sys.argv[1], None)]
path = [os.path.realpath(sys.argv[1])]
iters = [below(path[0])]
while path:
    step = next(iters[-1], None)
    if step is None:
        done.add(path.pop())
        iters.pop()
        continue
    assert step not in path, f"a circle: {path[path.index(step):]}"
    if step not in done:
        path.append(step)
        iters.append(below(step))
print(len(done))
END
names() { wc -l <"$T/names"; }
ends() { # WHAT MOST COMMAND...: it ends, with at most MOST lines
	"${@:3}" >"$T/names" || die "$1 ended with $?"
	[ "$(names)" -le "$2" ] || die "$1: $(names) names, more than $2"
	[ "$(names)" -gt 0 ] || die "$1: nothing"
}
copies() { # WHAT DIRECTORY...: zip -r and cp -rL of them end, with at most a few times the names they have
	local what=$1 plain
	shift
	# A link of a query leads to the directory of an entry.
	plain=$(find "$@" -follow | wc -l)
	[ "$plain" -gt 20 ] || die "$what: only $plain names"
	(cd "$T/mnt" && zip -qr "$T/zip.zip" "${@#"$T/mnt/"}") || die "zip -r of $what ended with $?"
	mkdir "$T/copy"
	cp -rL "$@" "$T/copy" || die "cp -rL of $what ended with $?"
	is "$plain" "$(find "$T/copy" -mindepth 1 | wc -l)" "cp -rL of $what"
	[ "$(python3 -m zipfile -l "$T/zip.zip" | wc -l)" -le $((plain + 1)) ] || die "zip -r of $what: too many names"
	rm -rf "$T/copy" "$T/zip.zip"
}
samples "$T/src"
cp -r "$ROOT/tests/data/broken" "$T/broken"
for s in src broken; do
	mount_fs "$T/$s" "$T/mnt" -oro
	python3 "$T/circle.py" "$T/mnt" >/dev/null || die "the links of $s"
	plain=$(find "$T/mnt" | wc -l)
	ends "find -L of $s" $((10 * plain)) find -L "$T/mnt" -printf '\n'
	for d in "$T"/mnt/projects/*/*/; do
		plain=$(find "$d" | wc -l) files=$(find "$d" -type f | wc -l)
		ends "find -L $d" $((8 * plain)) find -L "$d" -printf '\n'
		ends "grep -R $d" $((8 * files)) grep -Rac '' "$d"
		ends "rg -L $d" $((8 * files)) rg -uuuL --files "$d"
		ends "tar -h $d" $((8 * plain)) sh -c 'tar -chf - -C "$1" . | tar -t' sh "$d"
	done
	# Copies of several sessions at once, and of the results of a query.
	mapfile -t dirs < <(find "$T/mnt/projects" -name entries -printf '%h\n' | sort | sed -n 1,4p)
	[ $s != src ] || dirs=("$T/mnt/$FORECAST" "$T"/mnt/projects/home-ada-notes/*)
	[ ${#dirs[@]} -gt 2 ] || die "${#dirs[@]} sessions of $s"
	copies "sessions of $s" "${dirs[@]}"
	copies "a query in $s" "$T/mnt/search/role:user"
	umount_fs "$T/mnt"
done
