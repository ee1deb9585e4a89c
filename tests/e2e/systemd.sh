#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# systemd accepts the unit as installed, is notified when the mount is ready, and turns the fstab lines of the manual
# into working units.
. "$(dirname "$0")/../lib/lib.sh"
need make systemd-analyze
export HOME="$T/a home" XDG_RUNTIME_DIR=$T/run
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR"

# Whether it works where no systemd runs.
printf '[Service]\nExecStart=/bin/true\n' >"$T/plain.service"
systemd-analyze verify --user --man=no "$T/plain.service" >"$T/out" 2>&1 || skip "systemd-analyze: $(tail -n 1 "$T/out")"

# make takes no absolute path with a blank.
build=$(realpath --relative-to="$ROOT" "$(dirname "$SESSIONFS")")
make -s -o "$build/sessionfs" -C "$ROOT" install BUILD="$build" PREFIX="$HOME/.local" || die "make install ended with $?"
unit=$HOME/.local/share/systemd/user/sessionfs.service
nothing "the unit" systemd-analyze verify --user --man=no "$unit"
rm "$HOME/.local/bin/sessionfs"
fails 1 "sessionfs is not executable" systemd-analyze verify --user --man=no "$unit" # it does check

for generator in {/usr,}/lib/systemd/system-generators/systemd-fstab-generator ""; do [ ! -x "$generator" ] || break; done
[ -n "$generator" ] || lacks systemd-fstab-generator
grep '^/.* fuse\.sessionfs ' "$ROOT/man/sessionfs.1" >"$T/lines"
same "$T/lines" <(sed -n 's/^#*\(.* fuse\.sessionfs \)/\1/p' "$HOME/.local/share/doc/sessionfs/examples/fstab") "the lines of the manual and of the example"
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
need python3 bindfs findmnt pgrep
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
	await "the warning of $name" grep -q "^sessionfs: NOTIFY_SOCKET" "$T/said"
	await "a mount without $name" mountpoint -q "$T/ready"
	umount_fs "$T/ready"
	wait $! || die "with $name it ended with $?"
done

# The lines of the unit, as run by systemd: where a mount was killed, where one is served, and where another program's is.
mkdir -p "$HOME/.local/bin"
ln -s "$SESSIONFS" "$HOME/.local/bin/sessionfs"
lines() { sed -n "s/^$1=-\?//p" "$unit" | sed "s|%h/pi|'$HOME/pi'|g; s/\\$\\$/\$/g"; }
samples "$HOME/.pi/agent/sessions"
mkdir "$HOME/pi"
killed() {
	"$SESSIONFS" -f "$HOME/pi" &
	await "a mount" mountpoint -q "$HOME/pi"
	kill -KILL $!
	wait $! 2>/dev/null || :
	fails 2 "not connected" ls "$HOME/pi"
}
killed
lines ExecStopPost | bash -e
! mountpoint -q "$HOME/pi" || die "ExecStopPost left a dead mount"
killed
lines ExecStartPre | bash -e -o pipefail
(echo -n "exec " && lines ExecStart) >"$T/start"
bash "$T/start" &
pid=$!
await "a mount where a dead one was" mountpoint -q "$HOME/pi"
lines ExecStartPre | bash
lines ExecStopPost | bash
is "Will it rain tomorrow?" "$(cat "$HOME/pi/latest/title")" "the title in a mount that was left alone"
is "" "$(lines ExecStop)" "a command to stop it"
kill -TERM $pid
wait $pid || die "after SIGTERM it ended with $?"
! mountpoint -q "$HOME/pi" || die "SIGTERM left the mount"
bindfs --no-allow-other "$T/src" "$HOME/pi"
lines ExecStartPre | bash
lines ExecStopPost | bash
is "fuse" "$(findmnt -no FSTYPE "$HOME/pi" | cut -d. -f1)" "another program's mount"
kill -KILL "$(pgrep -f "^bindfs --no-allow-other $T/src $HOME/pi\$")"
await "the end of bindfs" eval '! ls "$HOME/pi" >/dev/null 2>&1'
lines ExecStartPre | bash 2>/dev/null || :
grep -qF " ${HOME// /\\040}/pi " /proc/self/mountinfo || die "another program's dead mount was removed"
fusermount3 -u "$HOME/pi"

# The options systemd passes to mount, as root does, but for those that mount.fuse3 keeps.
need_root
mount_fs "$T/src" "$T/mnt" -o "$(sed -n 's/,setuid=ada,drop_privileges//; s/^Options=//p' "$T/units/mnt-pi.mount")"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title"
umount_fs "$T/mnt"
