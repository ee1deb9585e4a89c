#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# While a table of all sessions is rendered, requests for other names of the root get answers: no LOOKUP renders a
# table. Programs get exact sizes and whole tables nevertheless, whatever call comes first, also from a memory map.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need cc python3 rsync
needs_watches

# --- a slow table -----------------------------------------------------------------------
samples "$T/src"
slow=$(find "$T/src" -name '*.jsonl' | sort | sed -n 1p)
cc -shared -fPIC -O1 -o "$T/slow.so" "$ROOT/tests/lib/slow.c" -ldl
export GATE=$T/gate
other=projects/home-ada-notes
for options in "" "-oro"; do
	touch "$GATE"
	# A sanitizer must be the first of all libraries.
	LD_PRELOAD="$(sanitizer_library) $T/slow.so" SLOW_FILE=/${slow##*/} mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	rm -f "$T/tables"
	(cat "$T"/mnt/{sessions,usage,files,problems}.tsv "$T/mnt/html/index.html" && touch "$T/tables") >"$T/read" &
	reader=$!
	await "a read of the session" test -e "$GATE.reached"
	for name in .status README.md search html/.. by-date/.. "$other"; do
		ls -d "$T/mnt/$name" >"$T/names" || die "$name cannot be looked up while a table is rendered ($options)"
	done
	cat "$T/mnt/.status" "$T/mnt/README.md" "$T/mnt/.ignore" >"$T/names" || die ".status cannot be read while a table is rendered ($options)"
	ls "$T/mnt" "$T/mnt/$other" >"$T/names" || die "the root cannot be listed while a table is rendered ($options)"
	[ ! -e "$T/tables" ] || die "the table was not slow"
	rm "$GATE" "$GATE.reached"
	wait $reader || die "cat of the tables"
	umount_fs "$T/mnt"
done

# --- the first access to a table ----------------------------------------------------------
cat >"$T/read.py" <<'PY'
import mmap, os, sys
how, path = sys.argv[1:]
fd = os.open(path, os.O_RDONLY)
out = os.fdopen(os.dup(1), "wb")
if how == "map":
    size = os.fstat(fd).st_size
    with mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ) as m:
        out.write(m[:])
elif how == "seek":
    size = os.lseek(fd, 0, os.SEEK_END)
    out.write(os.pread(fd, size, 0))
elif how == "read":
    while piece := os.read(fd, 100):
        out.write(piece)
elif how == "end":
    out.write(os.pread(fd, 1 << 20, 0))
PY
tables="sessions.tsv usage.tsv files.tsv problems.tsv labels.tsv usage.svg"
mkdir "$T/want" "$T/sizes"
for table in $tables; do
	"$SESSIONFS" -S "$T/src" --cat "$table" >"$T/want/$table"
	wc -c <"$T/want/$table" >"$T/sizes/$table"
done
first() { # WANTED COMMAND...: its output for each table that was not accessed before
	local wanted=$1 table
	shift
	for options in "" "-oro"; do
		mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
		for table in $tables; do
			"$@" "$T/mnt/$table" >"$T/got" || die "$* of $table fails ($options)"
			same "$T/$wanted/$table" "$T/got" "$table by $* ($options)"
		done
		umount_fs "$T/mnt"
	done
}
copied() { # COMMAND... FILE
	rm -f "$T/copy"
	"$@" "$T/copy" && cat "$T/copy"
}
find_size() { find "$1" -printf '%s\n'; }
redirected() { # COMMAND... FILE
	"${@:1:$#-1}" <"${!#}"
}
first want cat
first want grep -a ""
first want redirected dd status=none bs=77
first want redirected cat
first want tail -c +1
first want tail -n +1
first want copied cp
first want copied cp --sparse=always
first want copied rsync -a
for how in map seek read end; do
	first want python3 "$T/read.py" "$how"
done
first sizes redirected wc -c
first sizes stat -c %s
first sizes find_size
# Many at once, some of which look up the name while others wait for the size.
for options in "" "-oro"; do
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	for i in {1..12}; do
		how=$([ $((i % 2)) = 0 ] && echo map || echo read)
		python3 "$T/read.py" "$how" "$T/mnt/sessions.tsv" >"$T/got.$i" &
	done
	for job in $(jobs -p); do wait "$job" || [ "$job" = "$(mount_pid "$T/mnt")" ] || die "one of many fails ($options)"; done
	for i in {1..12}; do same "$T/want/sessions.tsv" "$T/got.$i" "one of many ($options)"; done
	# A table that has become pages longer or shorter is whole for the next map.
	mkdir "$T/src/--more--"
	for i in {1..99}; do echo '{"type":"session","id":"more'"$i"'","timestamp":"2026-05-01T10:00:00.000Z"}' >"$T/src/--more--/$i.jsonl"; done
	for how in map read; do
		python3 "$T/read.py" "$how" "$T/mnt/sessions.tsv" >"$T/got" || die "$how of a table that has grown fails ($options)"
		"$SESSIONFS" -S "$T/src" --cat sessions.tsv | same /dev/stdin "$T/got" "a table that has grown by $how ($options)"
	done
	rm -r "$T/src/--more--"
	for how in map read; do
		python3 "$T/read.py" "$how" "$T/mnt/sessions.tsv" >"$T/got" || die "$how of a table that has shrunk fails ($options)"
		same "$T/want/sessions.tsv" "$T/got" "a table that has shrunk by $how ($options)"
	done
	umount_fs "$T/mnt"
done
