#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# systemd understands the unit as it is installed, and makes units that work of the lines for fstab in the manual.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need make systemd-analyze
export HOME=$T/home XDG_RUNTIME_DIR=$T/run
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR"

# Whether it works at all where no systemd runs.
printf '[Service]\nExecStart=/bin/true\n' >"$T/plain.service"
systemd-analyze verify --user --man=no "$T/plain.service" >"$T/out" 2>&1 || skip "systemd-analyze: $(tail -n 1 "$T/out")"

make -s -o "$SESSIONFS" -C "$ROOT" install BUILD="$(dirname "$SESSIONFS")" PREFIX="$T/prefix" || die "make install ended with $?"
unit=$T/prefix/share/doc/sessionfs/sessionfs.service
nothing "the unit" systemd-analyze verify --user --man=no "$unit"
rm "$T/prefix/bin/sessionfs"
fails 1 "sessionfs is not executable" systemd-analyze verify --user --man=no "$unit" # it does look

for generator in {/usr,}/lib/systemd/system-generators/systemd-fstab-generator ""; do [ ! -x "$generator" ] || break; done
[ -n "$generator" ] || lacks systemd-fstab-generator
grep ' fuse\.sessionfs .*x-systemd\.automount' "$ROOT/man/sessionfs.1" >"$T/fstab"
is 1 "$(wc -l <"$T/fstab")" "lines with an automount"
mkdir "$T/units"
SYSTEMD_FSTAB=$T/fstab "$generator" "$T/units" "$T/units" "$T/units" || die "the generator ended with $?"
nothing "the automount" systemd-analyze verify --man=no "$T/units/mnt-pi.automount"
matches "TimeoutIdleSec=10min" "$(cat "$T/units/mnt-pi.automount")" "the automount"
matches "Type=fuse.sessionfs" "$(cat "$T/units/mnt-pi.mount")" "the mount"

# What systemd hands on to mount, as root does it.
need_mount
need_root
samples "$T/src"
mount_fs "$T/src" "$T/mnt" -o "$(sed -n 's/^Options=//p' "$T/units/mnt-pi.mount")"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title"
umount_fs "$T/mnt"
