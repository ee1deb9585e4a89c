#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A sandbox that began before sessionfs was mounted sees the mount if its mounts are slaves of those outside, and not if
# they are private.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
need unshare nsenter
samples "$T/src"
mkdir -p "$T/shared/pi"
mount --bind "$T/shared" "$T/shared"
mount --make-shared "$T/shared"
clean_first() { kill "${slave:-}" "${private:-}" 2>/dev/null; }
unshare --mount --propagation slave tail -f --pid=$$ /dev/null &
slave=$!
unshare --mount --propagation private tail -f --pid=$$ /dev/null &
private=$!
is_apart() { [ "$(readlink "/proc/$1/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ] && [ "$(cat "/proc/$1/comm")" = tail ]; }
await "the first" is_apart "$slave"
await "the second" is_apart "$private"
mount_fs "$T/src" "$T/shared/pi"
is "Forecast command" "$(nsenter -t "$slave" -m cat "$T/shared/pi/$FORECAST/title")" "the title as a slave sees it"
is "" "$(nsenter -t "$private" -m ls "$T/shared/pi")" "the names in the other one"
umount_fs "$T/shared/pi"
