# SPDX-License-Identifier: MIT
# Sourced by the tests in this directory, which run programs of other projects on a mount. foreign_begin mounts a
# source; foreign_end checks that the source has the same bytes as before, that the mount answers, that sessionfs
# still has the same descriptors and no more memory than its limit, and that refused.tsv lists exactly the refusals.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../lib/lib.sh"
need_mount
HERE=$ROOT/tests/foreign
TOOL=$(basename "$0" .sh)
server=

clean_first() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
}

# Prints the SHA-256 of each file of the source, and each directory.
foreign_sums() {
	(cd "$T/src" && find . -type d -printf '%M %p\n' | sort && find . ! -type d -print0 | sort -z | xargs -0 sha256sum)
}
foreign_fds() { find "/proc/$server/fd" -mindepth 1 | wc -l; }
foreign_memory() { awk '/^Rss(Anon|Shmem):/ { n += $2 } END { print n }' "/proc/$server/status"; } # KiB

# Mounts the samples and a session of 4000 entries, whose first entry has the file IMAGE. S is the directory of a
# session that the tests can write to, L the large one.
# shellcheck disable=SC2120
foreign_begin() { # [IMAGE]
	samples "$T/src"
	python3 "$HERE/large.py" "$T/src" "$@"
	mkdir "$T/mnt"
	"$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
	server=$!
	await "a mount" mountpoint -q "$T/mnt"
	S=$T/mnt/$FORECAST
	L=$(echo "$T/mnt"/projects/foreign-large/*)
	[ -d "$S/entries" ] && [ -d "$L/entries" ] || die "the sessions are not in the mount"
	foreign_sums >"$T/before"
	(ls -A "$S" && echo errors) | sort -u >"$T/names" # errors appears with the first refusal
	find "$T/mnt" -maxdepth 4 -type f -exec cat {} + >/dev/null # opens each session
	fds=$(foreign_fds)
	: >"$T/refused"
	lines=0
}

foreign_errno() { # NUMBER: prints its name
	python3 -c 'import errno, sys; print(errno.errorcode[int(sys.argv[1])])' "$1"
}

# Records that this tool's TEST is refused with ERRNO.
foreign_refused() { # TEST ERRNO
	printf '%s\t%s\t%s\n' "$TOOL" "$1" "$2" >>"$T/refused"
}

# Records the refusals that sessionfs logged during TEST. It logs nothing else.
foreign_log() { # TEST
	local line errno
	while IFS= read -r line; do
		case $line in
		*": this name "* | *": names cannot be created or moved here" | *": not removed: "*) errno=EPERM ;;
		*": only 1024 files of editors, of 64 MiB in total, are kept") errno=ENOSPC ;;
		*": only in memory; lost at the unmount") continue ;;
		*) die "$1: the log has: $line" ;;
		esac
		foreign_refused "$1" $errno
	done < <(tail -n +$((lines + 1)) "$T/log" | cut -c 1-2000)
	lines=$(wc -l <"$T/log")
	sort -u -o "$T/refused" "$T/refused"
}

# Removes scratch files that TEST did not remove.
foreign_clean() {
	local name
	while IFS= read -r name; do
		rm -f "$S/$name"
	done < <(ls -A "$S" | grep -vxF -f "$T/names" || :)
	# A tool that removed everything in its directory leaves the hidden names for ten seconds.
	await "the names of the session" eval 'diff <((ls -A "$S" && echo errors) | sort -u) "$T/names" >/dev/null'
}

foreign_end() { # COUNT WHAT
	local memory
	foreign_log "the end"
	if ! diff <(awk -F '\t' -v OFS='\t' -v t="$TOOL" '$1 == t { print $1, $2, $3 }' "$HERE/refused.tsv" | sort) \
		<(sort -u "$T/refused") >"$T/diff"; then
		sed -n 's/^</no longer refused:/p; s/^>/not in refused.tsv:/p' "$T/diff" >&2
		die "refusals differ from tests/foreign/refused.tsv"
	fi
	kill -0 "$server" || die "sessionfs ended: $(tail -n 5 "$T/log")"
	foreign_sums >"$T/after"
	diff "$T/before" "$T/after" >&2 || die "the source changed"
	[ "$(cat "$S/title")" = "Forecast command" ] || die "the mount does not answer"
	"$SESSIONFS" -S "$T/src" --cat "${L#"$T/mnt/"}/chat.md" | cmp - "$L/chat.md" || die "chat.md has other bytes"
	await "descriptors: $(foreign_fds), before $fds" eval '[ "$(foreign_fds)" -le "$fds" ]'
	memory=$(foreign_memory)
	[ "$memory" -le $((160 << 10)) ] || is_sanitized || die "memory: $memory KiB"
	umount_fs "$T/mnt"
	kill "$server" 2>/dev/null || : # another mount namespace can keep the mount
	wait "$server" || [ $? = 143 ] || die "sessionfs ended with $?"
	server=
	echo "$TOOL: $1 $2, $(wc -l <"$T/refused") refusals as in the table, $(wc -l <"$T/before") files and directories unchanged, $((memory >> 10)) MiB"
}
