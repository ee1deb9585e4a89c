#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Options, messages and exit statuses are as in the manual.
. "$(dirname "$0")/../lib/lib.sh"
samples "$T/src"
mkdir "$T/mnt" "$T/full"
: >"$T/file"

# -h and -V come first and succeed.
out=$("$SESSIONFS" -h) || die "-h ended with $?"
matches "^usage: sessionfs .options. .SOURCE. MOUNTPOINT" "$out" "-h"
is "$out" "$("$SESSIONFS" --help)" "--help"
matches "^sessionfs [0-9]+\.[0-9]+\.[0-9]+" "$("$SESSIONFS" -V)" "-V"
is "$("$SESSIONFS" -V)" "$("$SESSIONFS" --version)" "--version"

# Usage errors end with 2, failures with 1; both give the reason.
fails 2 "sessionfs: " "$SESSIONFS"
fails 2 "sessionfs: .*no-such-option" "$SESSIONFS" --no-such-option "$T/src" "$T/mnt"
fails 2 "sessionfs: " "$SESSIONFS" "$T/src" "$T/mnt" superfluous
fails 1 "sessionfs: .*$T/nowhere.*No such file" "$SESSIONFS" "$T/nowhere" "$T/mnt"
# Words that look like commands of another program, or like an option of this one.
(cd "$T" && fails 1 "sessionfs: help: no such mountpoint .*; for commands: sessionfs --help$" "$SESSIONFS" -S src help)
fails 1 "sessionfs: no sessions of pi.*; see sessionfs --help$" env HOME="$T/nowhere" "$SESSIONFS" help
(cd "$T" && fails 1 "sessionfs: cat: no such source .*; for commands: sessionfs --help$" "$SESSIONFS" cat "$T/mnt")
! "$SESSIONFS" "$T/src" "$T/missing" 2>&1 | grep -e --help || die "a path was taken for a command"
fails 2 "^sessionfs: -o redakt: unknown option, or an option for mounts only; see sessionfs --help$" "$SESSIONFS" -S "$T/src" -o redakt --copy / "$T/copied"
[ ! -e "$T/copied" ] || die "-o redakt copied unredacted files"
matches "--limit=N [^
]*; 0: all" "$out" "what --help says of --limit"
is "$("$SESSIONFS" -S "$T/src" --search weather)" "$("$SESSIONFS" -S "$T/src" --search --limit=0 weather)" "--limit=0"
fails 1 "sessionfs: .*$T/file.*[Nn]ot a directory" "$SESSIONFS" "$T/file" "$T/mnt"
fails 1 "sessionfs: .*$T/file.*[Nn]ot a directory" "$SESSIONFS" "$T/src" "$T/file"
fails 1 "sessionfs: .*$T/missing.*No such file" "$SESSIONFS" "$T/src" "$T/missing"
fails 1 "sessionfs: .*nothing-here.*No such file.*; a PATH begins at the root of the tree: sessionfs --ls$" "$SESSIONFS" -S "$T/src" --cat nothing-here
fails 1 "^sessionfs: projects: Is a directory; to list a directory: sessionfs --ls PATH$" "$SESSIONFS" -S "$T/src" --cat projects
fails 1 "sessionfs: .*nothing-here.*No such file" "$SESSIONFS" -S "$T/src" --ls nothing-here
for end in / /. /..; do fails 1 "^sessionfs: latest/title$end: Not a directory$" "$SESSIONFS" -S "$T/src" --ls "latest/title$end"; done
fails 1 "sessionfs: .*nothing-here.*No such file" "$SESSIONFS" -S "$T/src" --tree nothing-here
fails 1 "sessionfs: .*write|sessionfs: .*[Nn]o space" bash -c '"$1" -S "$2" --cat README.md >/dev/full' - "$SESSIONFS" "$T/src"
matches "title" "$("$SESSIONFS" -S "$T/src" --tree "$FORECAST")" "--tree"
is "Forecast command" "$("$SESSIONFS" -S "$T/src" --cat "/$FORECAST/title")" "--cat with a leading slash"
is "Forecast command" "$("$SESSIONFS" -S "$T/src" --cat "$WEATHER/../../$FORECAST//./title")" "--cat with dots"
is "$("$SESSIONFS" -S "$T/src" --cat "$FLAT/title")" "$("$SESSIONFS" -S "$T/src" --cat "sessions/${FLAT##*/}/title")" "--cat through a link"

# Lost output is an error of each action, and closed standard streams are no place for its files.
bad=$T/broken.jsonl
printf '%s\n' '{"type":"session","version":3,"id":"b","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}' '{"type":' >"$bad"
mkdir "$T/problems"
cp "$bad" "$T/problems/b.jsonl"
on_streams() { # REDIRECTION ARGUMENT...: prints the status
	local how=$1 rc=0
	shift
	eval "\"\$SESSIONFS\" \"\$@\" >'$T/out' 2>'$T/err' $how" <<<$'1\np' || rc=$?
	echo $rc
}
while read -r -a words; do
	for how in '>&-' '>&- <&-' '>&- 2>&-' '<&- >&- 2>&-' '>/dev/full'; do
		[ "$(on_streams "$how" "${words[@]}")" -ne 0 ] || die "${words[*]} $how: status 0"
		[[ $how = *2* ]] || [ -s "$T/err" ] || die "${words[*]} $how: no message"
	done
	[[ ${words[*]} != *--pick* ]] || continue # asks
	for how in '<&-' '2>&-' '<&- 2>&-'; do
		is "$(on_streams "" "${words[@]}")" "$(on_streams "$how" "${words[@]}")" "the status of ${words[*]} $how"
		[ -s "$T/out" ] || die "${words[*]} $how printed nothing"
	done
done <<END
--help
--version
-S $T/src --cat README.md
-S $T/src --ls projects
-S $T/src --ls projects --json
-S $T/src --ls projects --names
-S $T/src --tree projects
-S $T/src --search weather
-S $T/src --search weather --json
-S $T/src --search weather --entries
-S $T/src --secrets
-S $T/src --copy README.md $T/full
-S $T/src --pick
--check $T/problems
--repair $bad
END
for how in '>&-' '<&- >&- 2>&-'; do
	is 1 "$(on_streams "$how" -S "$T/src" --events)" "the status of --events $how"
done

need_mount
for how in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	is 0 "$(on_streams "$how" "$T/src" "$T/mnt")" "the status of a mount $how"
	is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "a title, mounted $how"
	! proc_is_open || is "" "$(find "/proc/$(mount_pid "$T/mnt")/fd" -name '[0-2]' ! -lname /dev/null)" "other files on standard streams $how"
	is 0 "$(on_streams "$how" -u "$T/mnt")" "the status of -u $how"
	eval "\"\$SESSIONFS\" -f \"\$T/src\" \"\$T/mnt\" $how" &
	await "the mount in the foreground $how" mountpoint -q "$T/mnt"
	! proc_is_open || is "" "$(find /proc/$!/fd -name '[0-2]' -lname 'socket:*' -o -name '[0-2]' -lname "$T/src*")" "files of ours on standard streams with -f $how"
	umount_fs "$T/mnt"
	wait $! || die "-f $how ended with $?"
done
# The command returns once mounted, with the right subtype and source in the mount table.
mount_fs "$T/src" "$T/mnt" -o ro,relatime,nofail,noauto,_netdev,user,x-systemd.automount
is "fuse.sessionfs" "$(findmnt -no FSTYPE "$T/mnt")" "the type of the mount"
is "$T/src" "$(findmnt -no SOURCE "$T/mnt")" "the source in the mount table"
for o in ro nosuid nodev; do matches "(^|,)$o(,|$)" "$(findmnt -no OPTIONS "$T/mnt")" "mount options"; done
umount_fs "$T/mnt"
mkdir "$T/a b"
mount_fs "$T/src" "$T/a b"
umount_fs "$T/a b"
(cd "$T" && mount_fs src mnt) # relative names, although the program changes to / in the background
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title from a relative source"
umount_fs "$T/mnt"
fails 2 "sessionfs: " "$SESSIONFS" -o no_such_option_at_all "$T/src" "$T/mnt"
! mountpoint -q "$T/mnt" || die "an unknown option was mounted"
# Version 0.1.0 accepted this.
fails 2 "sessionfs: -o idle=60: libfuse rejects" "$SESSIONFS" -o idle=60 "$T/src" "$T/mnt"
# One message, of this program, names the options that libfuse rejects, and no other.
while read -r list rejected; do
	fails 2 "^sessionfs: -o $rejected: libfuse rejects this: unknown option or invalid value; see sessionfs --help$" "$SESSIONFS" -o "$list" "$T/src" "$T/mnt"
done <<END
ro,redakt redakt
rw,noatime,redakt,fsname=pi,idle=60,dev,suid redakt,idle=60
it's,exec it's
END
fails 2 "^sessionfs: max_read=65536: only the kernel can choose this; leave it out$" "$SESSIONFS" -o max_read=65536 "$T/src" "$T/mnt"
! mountpoint -q "$T/mnt" || die "mounted with idle=60"

mount_fs "$T/src" "$T/mnt" -o max_threads=100,poll
umount_fs "$T/mnt"
mount_fs "$T/src" "$T/mnt" --max-threads=100 --poll=0.5
umount_fs "$T/mnt"

# After a signal it is unmounted, and the status is 0.
for signal in TERM INT HUP; do
	# A shell makes its background jobs ignore SIGINT.
	env --default-signal=INT "$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
	pid=$!
	await "the mount in the foreground" mountpoint -q "$T/mnt"
	ls "$T/mnt" >/dev/null
	kill -s $signal $pid
	await "the end after SIG$signal" eval "! kill -0 $pid 2>/dev/null"
	rc=0
	wait $pid || rc=$?
	is 0 $rc "exit status after SIG$signal ($(cat "$T/log"))"
	! mountpoint -q "$T/mnt" || die "still mounted after SIG$signal"
done
"$SESSIONFS" -f -s "$T/src" "$T/mnt" &
pid=$!
await "the mount with one thread" mountpoint -q "$T/mnt"
is "Forecast command" "$(cat "$T/mnt/$FORECAST/title")" "title with one thread"
umount_fs "$T/mnt"
rc=0
wait $pid || rc=$?
is 0 $rc "exit status after umount"

# -d logs requests and how long the kernel may keep the answers; -f does not.
for o in -d:1 -f:0; do
	"$SESSIONFS" "${o%:*}" "$T/src" "$T/mnt" >"$T/log" 2>&1 &
	pid=$!
	await "the mount with $o" mountpoint -q "$T/mnt"
	[[ ! -e $T/mnt/nosuch ]] || die "nosuch is there"
	umount_fs "$T/mnt"
	wait $pid || die "exit status with $o"
	is "${o#*:}" "$(grep -c '^sessionfs: lookup 1/nosuch: missing, fixed (I10)$' "$T/log")" "the log with $o"
done

# A dead mount point: the message has the command that repairs it.
"$SESSIONFS" -f "$T/src" "$T/mnt" 2>/dev/null &
pid=$!
await "the mount that will die" mountpoint -q "$T/mnt"
kill -s KILL $pid
wait $pid 2>/dev/null || :
out=$("$SESSIONFS" "$T/src" "$T/mnt" 2>&1) && die "mounted over a dead mount point"
matches "sessionfs -u '$T/mnt'$" "$out" "the hint for a dead mount point"
mkdir "$T/bin"
ln -s "$SESSIONFS" "$T/bin/sessionfs"
(PATH=$T/bin:$PATH && eval "${out##*: }") || die "the hint does not work: $out"
mount_fs "$T/src" "$T/mnt"
umount_fs "$T/mnt"

# --- the process in the background ---------------------------------------------------------
mount_fs "$T/src" "$T/mnt"
pid=$(mount_pid "$T/mnt")
is "$pid $pid" "$(ps -o pgid=,sid= -p "$pid" | xargs)" "its group and session"
! proc_is_open || is / "$(readlink "/proc/$pid/cwd")" "its directory"
! proc_is_open || for fd in 0 1 2; do is /dev/null "$(readlink "/proc/$pid/fd/$fd")" "descriptor $fd"; done
pipes() { ! proc_is_open || find "/proc/$1/fd" -lname 'pipe:*' -printf '%l\n' | sort; }
# Both ends of a pipe of its own are there.
is "" "$(comm -13 <(pipes $$ | sort -u) <(pipes "$pid" | uniq -u))" "pipes to the process that started it"
umount_fs "$T/mnt"

# The command ends with 0 only if the mount is served. If the process that serves it ends before that, for any reason, the
# command ends with an error, and nothing is mounted.
need cc
# Preloaded: in the background process, and there alone, setsid is called. EARLY says how it ends.
cat >"$T/early.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

pid_t setsid(void)
{
	const char *how = getenv("EARLY");
	pid_t sid = (pid_t)syscall(SYS_setsid);
	raise(strcmp(how, "kill") == 0 ? SIGKILL : strcmp(how, "crash") == 0 ? SIGSEGV : strcmp(how, "stop") == 0 ? SIGSTOP : strcmp(how, "end") == 0 ? SIGTERM : SIGCHLD);
	unsetenv("LD_PRELOAD"); /* programs cannot load all of it */
	if (strcmp(how, "unmount") == 0 && system("fusermount3 -uz \"$EARLY_MOUNT\"") != 0)
		abort();
	return sid;
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
	if (strcmp(getenv("EARLY"), "threads") == 0)
		return EAGAIN;
	return real(t, a, f, arg);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
	static int answers;
	if (strcmp(getenv("EARLY"), "slow") == 0 && answers++ == 0)
		usleep(200000);
	return syscall(SYS_writev, fd, v, n);
}
END
cc -shared -fPIC -O1 -o "$T/early.so" "$T/early.c" -ldl || die "early.c"
export EARLY_MOUNT=$T/mnt
preload="$(sanitizer_library) $T/early.so"
while IFS=: read -r how option message; do
	[ "$how" != crash ] || ! is_sanitized || continue
	rc=0
	# shellcheck disable=SC2086
	env "EARLY=$how" "LD_PRELOAD=$preload" "$SESSIONFS" $option "$T/src" "$T/mnt" 2>"$T/err" || rc=$?
	is 1 $rc "the status after $how $option ($(cat "$T/err"))"
	matches "^sessionfs: .*$message" "$(cat "$T/err")" "the message after $how $option"
	is "" "$(mounts_below)" "mounts after $how $option"
done <<-END
	kill::cannot run in the background: killed
	crash::cannot run in the background: killed
	end::$T/mnt: ended before
	unmount::$T/mnt: ended before
	threads::$T/mnt: Resource temporarily unavailable
	threads:-f:$T/mnt: Resource temporarily unavailable
END

# It ends although the answer to the first request is slow, and no other request follows.
EARLY=slow LD_PRELOAD=$preload "$SESSIONFS" "$T/src" "$T/mnt" || die "status $? after a slow beginning"
umount_fs "$T/mnt"

# The command does not hang while the process hangs: a signal ends both.
EARLY=stop LD_PRELOAD=$preload "$SESSIONFS" "$T/src" "$T/mnt" 2>"$T/err" &
command=$!
await "the process that hangs" eval 'pgrep -P $command -x sessionfs >/dev/null && [ "$(ps -o state= --ppid $command)" = T ]'
kill -TERM $command
rc=0
wait $command || rc=$?
is 1 $rc "the status after a signal"
is "sessionfs: cannot run in the background: killed" "$(cat "$T/err")" "the message after a signal"
is "" "$(mounts_below)" "mounts after a signal"
