#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An unreadable source is an error, one without sessions gets a message. A mount hides files only if requested, and
# sessions never.
. "$(dirname "$0")/../lib/lib.sh"
export HOME=$T/home
pi=$HOME/.pi/agent/sessions
samples "$pi"
rm "$pi"/*.jsonl
mkdir -p "$T/mnt" "$T/empty" "$T/busy" "$T/closed" "$T/none"
: >"$T/busy/file"
cp "$SESSIONFS" "$T/program" # as another user: the checkout can be in a directory that only root can enter
program=$T/program
nobody=(env)
[ "$(id -u)" -ne 0 ] || nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# --- the source ---
fails 1 "nowhere/.pi/agent/sessions: No such file.*SOURCE" env HOME="$T/nowhere" "$program" "$T/mnt"
matches "no sessions of pi" "$(HOME=$T/nowhere "$program" --ls / 2>&1)" "what it says without pi"
fails 1 "sessionfs: $T/nowhere: no such source .No such file" "$program" "$T/nowhere" "$T/mnt"
chmod 0 "$T/closed"
for how in "$T/mnt" "--search x" "--ls /" --check; do
	# shellcheck disable=SC2086
	fails 1 "sessionfs: $T/closed: Permission denied" "${nobody[@]}" "$program" -S "$T/closed" $how
done
chmod 744 "$T/closed" # root's, or ours: its names can be listed, but it grants no more
[ "$(id -u)" -ne 0 ] || fails 1 "sessionfs: $T/closed: Permission denied" "${nobody[@]}" "$program" -S "$T/closed" --ls /

warning() { # SOURCE [OPTION...]: prints its further messages
	# shellcheck disable=SC2069 # what it prints is not of interest
	"$program" -S "$@" 2>&1 >/dev/null || :
}
told="no sessions"
is "sessionfs: $T/none: $told" "$(warning "$T/none" --check)" "a source with nothing in it"
is "sessionfs: $HOME: $told; found some in $pi" "$(warning "$HOME" --search x)" "a home as source"
is "" "$(warning "$HOME" --check -o loglevel=error)" "the messages with loglevel=error"
# One or two levels above the directory of all sessions, sessions are found, but as one project.
below() { echo "sessionfs: $1: all sessions are below one directory; to tell their projects apart, use it as the source: $2"; }
for source in "$HOME/.pi" "$HOME/.pi/agent"; do
	for how in --check "--search x" "--copy README.md $T/to"; do
		# shellcheck disable=SC2086
		is "$(below "$source" "$pi")" "$(warning "$source" $how)" "a source above pi's, with $how"
	done
done
is "" "$(warning "$pi" --check)" "pi's own"
claw=$T/.openclaw
mkdir -p "$claw/agents/main/sessions/nested" "$claw/agents/main/logs"
cp "$pi"/--home-ada-weather--/*019cadd4*.jsonl "$claw/agents/main/sessions/"
cp "$pi"/--home-ada-weather--/*019cb401*.jsonl "$claw/agents/main/sessions/nested/"
echo '{"type":"log"}' >"$claw/agents/main/logs/day.jsonl"
for source in "$claw/agents/main" "$claw/agents" "$claw"; do
	is "$(below "$source" "$claw/agents/main/sessions")" "$(warning "$source" --check)" "a source above another program's"
done
is "" "$(warning "$claw/agents/main/sessions" --check)" "that directory"
# Above two such directories one of them is suggested; not next to a session in another one.
cp -r "$claw/agents/main" "$claw/agents/other"
for source in "$claw/agents" "$claw"; do
	matches "^sessionfs: $source: all sessions are below several directories; to tell their projects apart, use one as the source: $claw/agents/(main|other)/sessions$" \
		"$(warning "$source" --check)" "a source above two directories of sessions"
done
is "$(below "$claw/agents/other" "$claw/agents/other/sessions")" "$(warning "$claw/agents/other" --check)" "a source above one of them"
cp "$pi"/--home-ada-weather--/*019cadd4*.jsonl "$claw/agents/other/"
for source in "$claw/agents/other" "$claw/agents" "$claw"; do
	is "" "$(warning "$source" --check)" "a session next to the directory of sessions"
done
mkdir -p "$T/named/my-sessions/p" "$T/named/sessions.old"
cp "$pi"/--home-ada-weather--/*019cadd4*.jsonl "$T/named/my-sessions/p/"
is "" "$(warning "$T/named" --check)" "a directory with another name"
mkdir -p "$T/deep/a/b/c" "$T/deep/a/--x--/d"
cp "$pi"/--home-ada-weather--/*.jsonl "$T/deep/a/b/c/"
is "" "$(warning "$T/deep" --check)" "a source with sessions in deeper directories only"
mkdir "$T/linked"
ln -s "$pi/--home-ada-weather--" "$T/linked/weather"
is "" "$(warning "$T/linked" --search x)" "a source that has only a link to a project"
is "" "$(warning "$pi/--home-ada-weather--" --search x)" "a source that is a project"
# The search ends, also with many files, or with one that does not answer.
(cd "$T/none" && seq -f 'f%g.jsonl' 10000 | xargs touch && mkfifo pipe.jsonl && ln -s . loop)
matches "$told" "$(warning "$T/none" --search x)" "a source with many names"

# --- the mountpoint ---
fails 1 "sessionfs: $T/missing: no such mountpoint .No such file.*mkdir -p '$T/missing'" "$program" "$T/missing"
refused() { # REGEX MOUNTPOINT [OPTION...]
	fails 1 "sessionfs: $2: $1" "$program" "${@:3}" "$T/empty" "$2"
	! mountpoint -q "$2" || die "mounted on $2"
}
refused "not empty.*-o nonempty" "$T/busy"
for o in "" nonempty; do
	for hidden in "$pi" "$HOME/.pi/agent" "$HOME"; do refused "would hide the sessions of pi" "$hidden" -o "ro,$o"; done
	for hidden in "$T/deep/a" "$T/deep/a/b/c"; do refused "contains sessions.*SOURCE MOUNTPOINT" "$hidden" -o "ro,$o"; done
done

need_mount
said=$("$program" "$HOME/.pi/agent" "$T/mnt" 2>&1) || die "a source above pi's is not mounted: $said"
is "$(below "$HOME/.pi/agent" "$pi")" "$said" "the message for a source above pi's"
umount_fs "$T/mnt"
said=$("$program" "$HOME" "$T/mnt" 2>&1) || die "a source without sessions is not mounted: $said"
is "sessionfs: $HOME: $told; found some in $pi" "$said" "the message for it"
mountpoint -q "$T/mnt" || die "it is not mounted"
# Sessions that appear are shown.
cp -r "$pi/--home-ada-weather--" "$HOME/"
await "sessions that came" test -e "$T/mnt/$FORECAST/title"
fails 1 "sessions are already mounted here" "$program" "$T/mnt"
umount_fs "$T/mnt"
said=$("$program" -o nonempty "$T/busy" 2>&1) || die "-o nonempty: $said"
is "" "$said" "the messages with -o nonempty"
is "Forecast command" "$(cat "$T/busy/$FORECAST/title")" "title, on a directory that is not empty"
umount_fs "$T/busy"
[ -e "$T/busy/file" ] || die "a hidden file is gone"

# --- what a mount lacks, and what to do ---
[ "$(id -u)" -eq 0 ] && need setpriv unshare && unshare -m true 2>/dev/null || exit 0
: >"$T/lacking"
chmod 0 "$T/lacking"
mkdir "$T/theirs"
chown 65534 "$T/theirs"
chmod -R go+rX "$pi" "$T/home"
mknod -m 666 "$T/open" c 10 229 2>/dev/null || :
# shellcheck disable=SC2016
without=(unshare -m bash -c 'eval "$1" && shift && exec "$@"' -) # HOW COMMAND...: the command, where FUSE is not available
mounts=("${nobody[@]}" "$program" "$pi" "$T/theirs")
tree="--cat, --ls, --search and --copy need no mount"
if [ -e /dev/fuse ]; then
	closed="mount --bind '$T/lacking' /dev/fuse"
	fails 1 "sessionfs: $T/theirs: not mounted; as root: chmod 666 /dev/fuse; $tree" "${without[@]}" "$closed" "${mounts[@]}"
	matches "README.md" "$("${without[@]}" "$closed" "${nobody[@]}" "$program" -S "$pi" --ls 2>&1)" "--ls without a mount"
	if as_nobody bash -c ': <>"$1"' - "$T/open" 2>/dev/null; then
		fails 1 "sessionfs: $T/theirs: not mounted; as root: apt-get install fuse3; $tree" "${without[@]}" \
			"mount --bind '$T/open' /dev/fuse && mount --bind '$T/lacking' '$(command -v fusermount3)'" "${mounts[@]}"
	fi
fi
fails 1 "not mounted; as root: modprobe fuse; $tree" "${without[@]}" "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3" "${mounts[@]}"
