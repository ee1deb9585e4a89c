#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Data is synced before the call that requests it returns, however a program saves: checked by the calls on the session
# file. Without such a request the system decides.
. "$(dirname "$0")/../lib/lib.sh"
need_mount_traced
need strace python3
is_sanitized && skip "a sanitizer makes calls of its own"
strace -o "$T/trace" true 2>/dev/null || skip "strace is not allowed here"
samples "$T/src"
mkdir "$T/mnt"
strace -f -y -qq -e trace=write,pwrite64,writev,pwritev,fsync,fdatasync,sync_file_range,syncfs -e signal=none -o "$T/trace" \
	"$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
await "the mount" mountpoint -q "$T/mnt"
cd "$T/mnt/$FORECAST"
a=4726bdf3 b=f31d0e43
label=entries/$a/label

# In order: w for a write of the session file, S for a sync of it and of its directory. A refusal is logged before it is answered, so its
# line in the trace marks where one way begins.
ways=()
way() { # CALLS WHAT COMMAND...
	! mkdir "$T/mnt/mark-${#ways[@]}-" 2>/dev/null || die "a directory was made"
	ways+=("$1 $2")
	shift 2
	"$@" || die "$* ended with $?"
}
calls_of() { # NUMBER
	awk -v from="mark-$1-" -v to="mark-$(($1 + 1))-" -v file="${FORECAST##*/}.jsonl>" -v dir="/--home-ada-weather-->" '
		index($0, from) { on = 1 } index($0, to) { on = 0 }
		on && index($0, file) && /(write|pwrite64|writev|pwritev)\(/ { printf "w" }
		on && index($0, file) && /(fsync|fdatasync|syncfs)\(/ { printf "s" }
		on && index($0, dir) && /fsync\(/ { printf "d" }' "$T/trace" | sed 's/sd/S/g'
}
py() { python3 -c "import os, sys
def save(path, text, flags=0, sync=True, dir=False):
    tmp = path + '.new'
    fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600)
    os.write(fd, text)
    if sync: os.fsync(fd)
    os.close(fd)
    os.rename(tmp, path)
    if dir: sync_of(os.path.dirname(path) or '.')
def sync_of(path, call=os.fsync):
    fd = os.open(path, os.O_RDONLY)
    call(fd)
    os.close(fd)
$1" "${@:2}"; }
put() { printf '%s\n' "$1" >"${2:-$label}"; }

way w "nobody asks" put one
way S "sync of a file" sync "$label"
way "" "again" sync "$label"
way w "nobody asks" put two
way S "fdatasync of a file that is read" py "sync_of('chat.md', os.fdatasync)"
way wS "dd conv=fsync" dd of="$label" conv=fsync status=none <<<three
way wS "dd conv=fdatasync" dd of="$label" conv=fdatasync status=none <<<four
way wS "dd oflag=sync" dd of="$label" oflag=sync status=none <<<five
way wS "dd oflag=dsync bs=1" dd of="$label" oflag=dsync bs=1 status=none <<<six
way wS "RWF_DSYNC" py "fd = os.open('$label', os.O_WRONLY | os.O_TRUNC); os.pwritev(fd, [b'seven'], 0, os.RWF_DSYNC); os.close(fd)"
way wS "a side file with fsync, renamed" py "save('name', b'A name')"
way wS "and fsync of the directory" py "save('$label', b'eight', dir=True)"
way w "a side file without" py "save('$label', b'nine', sync=False)"
way S "the directory alone" py "sync_of('entries/$a')"
way wS "without, and fsync of the directory" py "save('name', b'Another', sync=False, dir=True)"
way wS "a side file with O_SYNC" py "save('$label', b'ten', os.O_SYNC, sync=False)"
way w "a link" ln -s "../entries/$b" labels/eleven
way S "the directory of links" sync labels
way wS "a link, and the session's directory" py "os.symlink('../entries/$a', 'labels/twelve'); sync_of('.')"
way wS "rm, and the directory" py "os.remove('$label'); sync_of('entries')"
way wS "the leaf" py "os.remove('leaf'); os.symlink('entries/$b', 'leaf'); sync_of('branches')"
way wS "the table" py "text = open('labels.tsv').read().replace('eleven', 'thirteen').encode(); save('labels.tsv', text)"
way wS "a branch" dd of="entries/$a/branch" conv=fsync status=none <<<summary
another_first() { put fourteen && dd of="$T/mnt/$V2/name" conv=fsync status=none <<<x && sync "$label"; }
way wS "a sync after that of a newer write to another session" another_first
way "" "above the sessions" sync "$T/mnt" "$T/mnt/sessions.tsv" ..
way "" "nothing more"  true
! mkdir "$T/mnt/mark-${#ways[@]}-" 2>/dev/null || die "a directory was made"
cd /
umount_fs "$T/mnt"
wait
for n in "${!ways[@]}"; do
	is "${ways[n]%% *}" "$(calls_of "$n")" "calls for \"${ways[n]#* }\""
done
