#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Generated files cannot be changed, and with -o ro nothing can; a refused change changes nothing.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
before=$(find "$T/src" -type f -printf '%p %T@ %s\n' -exec md5sum {} + | sort)

refused() { # COMMAND...: is refused, each for its own reason
	local out rc=0
	out=$(timeout 20 "$@" 2>&1) || rc=$?
	[ $rc -ne 0 ] || die "$* succeeded"
	matches "Read-only file system|Operation not permitted|Permission denied" "$out" "$*"
}
for options in "" "-oro"; do
	mount_fs "$T/src" "$T/mnt" ${options:+"$options"}
	s=$T/mnt/$FORECAST
	files=("$T/mnt/README.md" "$s/title" "$s/session.jsonl" "$s/entries/436adaf5/text.md" "$s/branches/current/context.md")
	dirs=("$T/mnt" "$T/mnt/projects" "$s/entries" "$s/branches" "$T/mnt/sessions")
	if [ -n "$options" ]; then
		files+=("$s/name" "$s/labels.tsv" "$s/entries/436adaf5/label")
		dirs+=("$s" "$s/entries/436adaf5" "$s/labels")
	fi
	for f in "${files[@]}"; do
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
	for d in "${dirs[@]}"; do
		refused touch "$d/new"
		refused mkdir "$d/new"
		refused ln -s x "$d/new"
		refused mkfifo "$d/new"
		# Without -o ro this would remove the labels and names below it.
		[ -z "$options" ] || refused rm -r "$d"
		is "" "$(find "$d" -maxdepth 0 -perm /222)" "write bits of $d"
	done
	refused rmdir "$s/entries"
	if [ -n "$options" ]; then
		refused rm "$s/leaf"
		refused ln -sfn entries/436adaf5 "$s/leaf"
	fi
	umount_fs "$T/mnt"
done
is "$before" "$(find "$T/src" -type f -printf '%p %T@ %s\n' -exec md5sum {} + | sort)" "the session files"
