#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# systemd accepts the unit as installed, is notified when the mount is ready, and turns the fstab lines of the manual
# into working units.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need make systemd-analyze
export HOME=$T/home XDG_RUNTIME_DIR=$T/run
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR"

# Whether it works where no systemd runs.
printf '[Service]\nExecStart=/bin/true\n' >"$T/plain.service"
systemd-analyze verify --user --man=no "$T/plain.service" >"$T/out" 2>&1 || skip "systemd-analyze: $(tail -n 1 "$T/out")"

make -s -o "$SESSIONFS" -C "$ROOT" install BUILD="$(dirname "$SESSIONFS")" PREFIX="$T/prefix" || die "make install ended with $?"
unit=$T/prefix/lib/systemd/user/sessionfs.service
nothing "the unit" systemd-analyze verify --user --man=no "$unit"
rm "$T/prefix/bin/sessionfs"
fails 1 "sessionfs is not executable" systemd-analyze verify --user --man=no "$unit" # it does check

for generator in {/usr,}/lib/systemd/system-generators/systemd-fstab-generator ""; do [ ! -x "$generator" ] || break; done
[ -n "$generator" ] || lacks systemd-fstab-generator
grep '^/.* fuse\.sessionfs ' "$ROOT/man/sessionfs.1" >"$T/lines"
same "$T/lines" <(sed -n 's/^#*\(.* fuse\.sessionfs \)/\1/p' "$T/prefix/share/doc/sessionfs/examples/fstab") "the lines of the manual and of the example"
grep 'x-systemd\.automount' "$T/lines" >"$T/fstab"
is 1 "$(wc -l <"$T/fstab")" "lines with an automount"
mkdir "$T/units"
SYSTEMD_FSTAB=$T/fstab "$generator" "$T/units" "$T/units" "$T/units" || die "the generator ended with $?"
nothing "the automount" systemd-analyze verify --man=no "$T/units/mnt-pi.automount"
matches "TimeoutIdleSec=10min" "$(cat "$T/units/mnt-pi.automount")" "the automount"
matches "Type=fuse.sessionfs" "$(cat "$T/units/mnt-pi.mount")" "the mount"

# Notifications to NOTIFY_SOCKET, with either form of address: ready only once the mount answers, which the listener
# checks.
need_mount
need python3
samples "$T/src"
cat >"$T/listen.py" <<'END'
import os, re, socket, subprocess, sys
name, program, source, mountpoint = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(("\0" + name[1:]) if name[0] == "@" else name)
s.settimeout(60)
child = subprocess.Popen([program, "-f", source, mountpoint], env={**os.environ, "NOTIFY_SOCKET": name})
ready = s.recv(4096).decode()
assert ready == f"READY=1\nMAINPID={child.pid}\n", ready
assert os.path.ismount(mountpoint)
assert open(mountpoint + "/latest/title").read() == "Will it rain tomorrow?\n"
helper = subprocess.run(["fusermount3", "-u", "-q", mountpoint]) if name[0] == "@" else child.terminate()
stopping = s.recv(4096).decode()
assert stopping == "STOPPING=1\n", stopping
assert child.wait(60) == 0, child.returncode
s.setblocking(False)
try:
    sys.exit("one more: " + s.recv(4096).decode())
except BlockingIOError:
    pass
END
mkdir "$T/ready"
for name in "$T/socket" "@sessionfs-test-$$"; do
	python3 "$T/listen.py" "$name" "$SESSIONFS" "$T/src" "$T/ready" || die "the notifications to $name"
done
# Without a listener, or with another kind of address: a warning, and it is mounted nevertheless.
for name in "$T/nobody" vsock:2:1234 "/$(printf '%0200d' 0)"; do
	NOTIFY_SOCKET=$name "$SESSIONFS" -f "$T/src" "$T/ready" 2>"$T/said" &
	within 60 "the warning of $name" grep -q "^sessionfs: NOTIFY_SOCKET" "$T/said"
	within 60 "a mount without $name" mountpoint -q "$T/ready"
	umount_fs "$T/ready"
	wait $! || die "with $name it ended with $?"
done

# The lines of the unit, as run by systemd: over a mount whose process was killed, and after an unmount.
lines() { sed -n "s/^$1=-\?//p" "$unit" | sed "s|%h|$HOME|g"; }
samples "$HOME/.pi/agent/sessions"
mkdir "$HOME/pi"
"$SESSIONFS" -f "$HOME/pi" &
pid=$!
within 60 "a mount" mountpoint -q "$HOME/pi"
kill -KILL $pid
wait $pid 2>/dev/null || :
fails 2 "not connected" ls "$HOME/pi"
lines ExecStartPre | bash -e -o pipefail
lines ExecStart | sed "s|^[^ ]*|exec $SESSIONFS|" >"$T/start"
bash "$T/start" &
pid=$!
within 60 "a mount where a dead one was" mountpoint -q "$HOME/pi"
lines ExecStop | bash
wait $pid || die "after ExecStop it ended with $?"
is 2 "$(grep -cE '^ExecStop(Post)?=-' "$unit")" "lines that may fail when it is unmounted already"

# The options systemd passes to mount, as root does.
need_root
mount_fs "$T/src" "$T/mnt" -o "$(sed -n 's/^Options=//p' "$T/units/mnt-pi.mount")"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title"
umount_fs "$T/mnt"
