#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The temporary copy left by a killed migration is removed by the next mount or write, and no other file is.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need flock
samples "$T/src"
dir=$T/src/--home-ada-weather--
here() { (cd "$dir" && find . -name '.sessionfs-*' -printf '%f\n' | sort | paste -sd ' '); }

echo half >"$dir/.sessionfs-aB3dE6"
echo half >"$T/src/.sessionfs-aB3dE6"
echo held >"$dir/.sessionfs-heldXX"
echo more >"$dir/.sessionfs-seven77"
echo mark >"$dir/.sessionfs-in.txt"
mkdir "$dir/.sessionfs-direct"
mkfifo "$dir/.sessionfs-fifo00"
echo kept >"$T/kept"
ln -s "$T/kept" "$dir/.sessionfs-linked"
others=".sessionfs-direct .sessionfs-fifo00 .sessionfs-in.txt .sessionfs-linked .sessionfs-seven77"
exec 8<"$dir/.sessionfs-heldXX"
flock 8

mount_fs "$T/src" "$T/ro" -o ro 8<&-
ls "$T/ro/$WEATHER" >"$T/listed"
umount_fs "$T/ro"
is ".sessionfs-aB3dE6 $others" "$(here | sed 's/ .sessionfs-heldXX//')" "the files after a read-only mount"

mount_fs "$T/src" "$T/mnt" 8<&-
ls "$T/mnt/$WEATHER" >"$T/listed"
sorted() { tr ' ' '\n' <<<"$*" | sort | paste -sd ' '; }
is "$(sorted "$others" .sessionfs-heldXX)" "$(here)" "the files after a mount"
[ ! -e "$T/src/.sessionfs-aB3dE6" ] || die "the file in the source itself is still there"

echo half >"$dir/.sessionfs-later1"
echo x >"$T/mnt/$FORECAST/name"
is "$(sorted "$others" .sessionfs-heldXX)" "$(here)" "the files after a write"
exec 8<&-
echo y >"$T/mnt/$FORECAST/name"
is "$others" "$(here)" "the files once it is unlocked"
is kept "$(cat "$T/kept")" "the target of a link"
