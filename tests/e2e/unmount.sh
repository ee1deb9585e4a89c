#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sessionfs -u unmounts the named mount, or the only one, even if it is dead or does not answer. Without arguments on a
# terminal the program prints what it would do.
. "$(dirname "$0")/../lib/lib.sh"
need script
export HOME=$T/home
samples "$HOME/.pi/agent/sessions"
mkdir "$T/mnt" "$T/plain"

# --- without arguments ---
on_a_terminal() { SHELL=/bin/bash script -qefc "$(printf %q "$SESSIONFS")" /dev/null </dev/null | tr -d '\r'; }
rc=0
out=$(on_a_terminal) || rc=$?
is 2 $rc "status without arguments on a terminal"
matches "^sessionfs: no mountpoint
pi keeps its sessions in $HOME/.pi/agent/sessions.
To see them in ~/pi: (mkdir -p ~/pi && sessionfs ~/pi)
" "$out" "what it says there"
command=${BASH_REMATCH[1]}
out=$(HOME=$T/nowhere on_a_terminal) || :
matches "sessions in $T/nowhere/.pi/agent/sessions: No such file or directory.
To see the session files of a directory SOURCE in ~/pi: mkdir -p ~/pi && sessionfs SOURCE ~/pi
" "$out" "what it says without pi"
fails 2 "^sessionfs: no mountpoint; see sessionfs --help$" "$SESSIONFS"

fails 1 "^sessionfs: $T/plain: not a mount of sessions; to list them: findmnt -t fuse.sessionfs$" "$SESSIONFS" -u "$T/plain"
fails 1 "^sessionfs: $T/none: No such file" "$SESSIONFS" -u "$T/none"

need_mount
need setpriv unshare
mkdir "$T/bin"
ln -s "$SESSIONFS" "$T/bin/sessionfs"
(PATH=$T/bin:$PATH && eval "$command") || die "$command ended with $?"
mountpoint -q "$HOME/pi" || die "$command: it is not mounted"
matches "
Mounted now: (.*, )?$HOME/pi(,|
)" "$(on_a_terminal || :)" "what it says when it is mounted"

# --- named mounts ---
unmounted() { # DIRECTORY
	! mountpoint -q "$1" || die "$1 is still mounted"
}
(cd "$HOME" && "$SESSIONFS" --unmount pi) || die "-u ended with $?"
unmounted "$HOME/pi"
odd=$T/a\ \"b\"\ \\040\ -c
mount_fs "$HOME/.pi" "$odd" 2>/dev/null
"$SESSIONFS" -u "$odd" || die "-u of an odd name ended with $?"
unmounted "$odd"
mount_fs "$HOME/.pi/agent/sessions" "$T/mnt"
(cd "$T/mnt" && exec tail -f --pid=$$ /dev/null) &
holder=$!
await "a process in it" eval '[ "$(readlink /proc/$holder/cwd)" = "$T/mnt" ]'
fails 1 "^fusermount3: [^
]*usy[^
]*
sessionfs: $T/mnt: in use; to list the processes that use it: (fuser -vm '$T/mnt')$" "$SESSIONFS" -u "$T/mnt"
if command -v fuser >/dev/null; then
	matches "(^| )$holder( |$)" "$(eval "${BASH_REMATCH[1]}" 2>/dev/null | xargs)" "what ${BASH_REMATCH[1]} shows"
fi
mountpoint -q "$T/mnt" || die "a busy one was unmounted"

# Dead, and busy.
kill -KILL "$(mount_pid "$T/mnt")"
await "it is dead" eval '! ls "$T/mnt" >/dev/null 2>&1'
fails 1 "^sessionfs: $T/mnt: the program that was mounted here has died; to remove the mount: sessionfs -u '$T/mnt'$" "$SESSIONFS" "$T/mnt"
nothing "-u of a dead one" "$SESSIONFS" -u "$T/mnt/" # as completed
unmounted "$T/mnt"
kill $holder
wait $holder 2>/dev/null || :

# A mount that does not answer.
mount_fs "$HOME/.pi/agent/sessions" "$T/mnt"
pid=$(mount_pid "$T/mnt")
kill -STOP "$pid"
rc=0
"$SESSIONFS" -u "$T/mnt" || rc=$?
kill -CONT "$pid"
is 0 $rc "-u of one that does not answer"
unmounted "$T/mnt"
fails 1 "^sessionfs: fusermount3: No such file" env PATH=/nowhere "$SESSIONFS" -u "$(mount_fs "$HOME/.pi" "$T/mnt" 2>/dev/null && echo "$T/mnt")"
"$SESSIONFS" -u "$T/mnt"

# --- the only mount ---
# Other tests can have mounts of this user: this environment has none.
[ "$(id -u)" -ne 0 ] || {
	cat >"$T/apart.sh" <<'END'
set -e
mapfile -t mounts < <(awk '$3 == "fuse.sessionfs" { print $2 }' /proc/self/mounts)
for dir in "${mounts[@]}"; do umount -l "$(printf %b "$dir")"; done
sessionfs=$1 T=$2
says() { [ "$("$sessionfs" -u 2>&1)" = "$1" ] || { echo "expected: $1, got: $("$sessionfs" -u 2>&1)"; exit 1; }; }
says "sessionfs: -u: no mount of sessions"
"$sessionfs" "$T/mnt"
setpriv --reuid=65534 --clear-groups "$sessionfs" -u && exit 1
"$sessionfs" "$HOME/pi"
says "sessionfs: $T/mnt, $HOME/pi: several mounts; name the one to unmount"
"$sessionfs" -u "$T/mnt"
"$sessionfs" -u
! mountpoint -q "$HOME/pi"
END
	chmod 755 "$HOME" "$T"
	cp "$SESSIONFS" "$T/program" # no user can enter it
	out=$(unshare -m bash "$T/apart.sh" "$T/program" "$T" 2>&1) || die "without a name: $? $out"
	is_measured || is "sessionfs: -u: no mount of sessions" "$out" "the message to another user"
}
