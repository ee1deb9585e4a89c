# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# backup.sh: rsync of the whole mount, compared with rsync of a plain copy of it. Sourced by tests/bench/run.
: "${work:?}" "${slow_reps:?}"

copy() { rsync -a "$1" "$2"; }

# What the second run would transfer: nothing.
check_same() { # FROM TO
	[[ -z $(rsync -ai "$1" "$2" | sed -n 1,3p | tee /dev/stderr) ]]
}

# The copy made from the mount is the plain copy; its own copy goes to another directory.
backup_first() {
	rm -rf "$work/copy.mount" "$work/copy.plain"
	fresh_slice
	timed backup.first.mount 0 copy "$at/projects/" "$work/copy.mount"
	drop_caches
	timed backup.first.plain 0 copy "$work/copy.mount/" "$work/copy.plain"
}

fresh_slice() {
	unmount "$at"
	mount_as rw "$at" "$work/slice.d"
	drop_caches
}

backup_again() {
	fresh_slice
	timed backup.cold.mount 0 copy "$at/projects/" "$work/copy.mount"
	timed backup.warm.mount 0 copy "$at/projects/" "$work/copy.mount"
	timed backup.warm.mount 0 copy "$at/projects/" "$work/copy.mount"
	drop_caches
	timed backup.cold.plain 0 copy "$work/copy.mount/" "$work/copy.plain"
	timed backup.warm.plain 0 copy "$work/copy.mount/" "$work/copy.plain"
	timed backup.warm.plain 0 copy "$work/copy.mount/" "$work/copy.plain"
}

figure_backup() {
	local i at=$work/mnt/backup
	make_slice
	for ((i = 0; i < slow_reps; i++)); do
		backup_first
		[[ $i -gt 0 ]] || check_same "$at/projects/" "$work/copy.mount"
		backup_again
	done
	unmount "$at"
	note "backup: $(find "$work/copy.mount" | wc -l) names, $(megabytes "$work/copy.mount") MB"
	compare "rsync -a of projects/, against that of a plain copy" backup.first.mount backup.first.plain "<= 3"
	compare "rsync -a once more, cold, against that of a plain copy" backup.cold.mount backup.cold.plain "<= 2"
	compare "rsync -a once more, warm, against that of a plain copy" backup.warm.mount backup.warm.plain "<= 1.2"
	rm -rf "$work/copy.mount" "$work/copy.plain"
}
