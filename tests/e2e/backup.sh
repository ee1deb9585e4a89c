#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A backup by restic or borg, which compare inode numbers, finds no file changed after a remount, whatever was looked up
# before it.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need restic borg jq
samples "$T/src"
export RESTIC_REPOSITORY=$T/restic RESTIC_PASSWORD=x BORG_REPO=$T/borg HOME=$T/home
export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes BORG_RELOCATED_REPO_ACCESS_IS_OK=yes
mkdir "$HOME"
restic -q init || die "restic init"
borg init -e none || die "borg init"
run_restic() { restic backup --json "$T/mnt/projects" 2>"$T/err" | jq -c 'select(.message_type == "summary")'; }
# Lists files that are new or changed. borg adds those with the newest time in a backup again in the next one.
run_borg() { (cd "$T/mnt" && borg create --list --filter AM "::$1" projects 2>&1 | grep -v /newest/); }
mkdir -p "$T/src/--home-ada--"
echo '{"type":"session","version":3,"id":"newest","timestamp":"2026-03-12T09:00:00.000Z","cwd":"/home/ada"}' >"$T/src/--home-ada--/newest.jsonl"

mount_fs "$T/src" "$T/mnt"
first=$(run_restic)
run_borg first >"$T/borg.first"
files=$(jq .files_new <<<"$first")
[ "$files" -gt 400 ] && [ "$(grep -c '^A ' "$T/borg.first")" -gt 400 ] || die "a first backup: $first, $(wc -l <"$T/borg.first")"
for walk in "ls -lR projects/home-ada-notes" "find . -depth -exec stat {} +" "ls search/the by-date/* labels/*"; do
	umount_fs "$T/mnt"
	mount_fs "$T/src" "$T/mnt"
	(cd "$T/mnt" && eval "$walk") >/dev/null
	is "0 0 $files" "$(run_restic | jq -r '"\(.files_new) \(.files_changed) \(.files_unmodified)"')" "restic after a remount and $walk"
	is "" "$(run_borg "${walk//[^a-z]/}")" "borg after a remount and $walk"
done
# What has changed is found.
echo "A new name" >"$T/mnt/$FORECAST/name"
umount_fs "$T/mnt"
mount_fs "$T/src" "$T/mnt"
run_borg changed >"$T/borg.changed"
grep -qxF "M $FORECAST/session.jsonl" "$T/borg.changed" || die "borg misses a change: $(cat "$T/borg.changed")"
