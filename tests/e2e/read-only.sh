#!/usr/bin/env bash
# Every change is refused, and changes nothing.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
before=$(find "$T/src" -type f -printf '%p %T@ %s\n' -exec md5sum {} + | sort)

refused() { # COMMAND...: refused for a reason of its own
	local out rc=0
	out=$(timeout 20 "$@" 2>&1) || rc=$?
	[ $rc -ne 0 ] || die "$* succeeded"
	matches "Read-only file system|Operation not permitted|Permission denied" "$out" "$*"
}
for options in "" "-oro"; do
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	s=$T/mnt/$FORECAST
	for f in "$T/mnt/README.md" "$s/title" "$s/name" "$s/session.jsonl" "$s/labels.tsv" "$s/entries/436adaf5/label" "$s/entries/436adaf5/text.md"; do
		[ -e "$f" ] || die "$f is missing"
		refused bash -c 'echo x >"$1"' - "$f"
		refused bash -c 'echo x >>"$1"' - "$f"
		refused truncate -s 0 "$f"
		refused rm -f "$f"
		refused mv "$f" "$f.old"
		refused chmod 777 "$f"
		refused touch "$f"
		refused ln "$f" "$s/hard"
		is "" "$(find "$f" -perm /222)" "write bits of $f"
	done
	for d in "$T/mnt" "$T/mnt/projects" "$s" "$s/entries" "$s/entries/436adaf5" "$s/labels" "$s/branches" "$T/mnt/sessions"; do
		refused touch "$d/new"
		refused mkdir "$d/new"
		refused ln -s x "$d/new"
		refused mkfifo "$d/new"
		refused rm -r "$d"
		is "" "$(find "$d" -maxdepth 0 -perm /222)" "write bits of $d"
	done
	refused rmdir "$s/entries"
	refused rm "$s/leaf"
	refused ln -sfn entries/436adaf5 "$s/leaf"
	umount_fs "$T/mnt"
done
is "$before" "$(find "$T/src" -type f -printf '%p %T@ %s\n' -exec md5sum {} + | sort)" "the session files"
