#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With -o idle a mount that nobody uses goes away, one that somebody uses does not.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
mkdir "$T/rw" "$T/ro"
LONG=60 # for what happens after some seconds

# By the table: mountpoint(1) asks the mount, and would keep it.
gone() { ! mounts_below | grep -qx "$1"; }
is_there() { ! gone "$1"; }
# Mounts in the foreground, as the variable pid.
in_foreground() { # DIRECTORY [OPTION...]
	local dir=$1
	shift
	mkdir -p "$dir"
	"$SESSIONFS" -f "$@" "$T/src" "$dir" 2>"$dir.log" &
	pid=$!
}
ends_well() { # DIRECTORY WHAT
	within $LONG "the end of $2" eval "! kill -0 $pid 2>/dev/null"
	local rc=0
	wait "$pid" || rc=$?
	is 0 "$rc" "exit status of $2 ($(cat "$1.log"))"
	gone "$1" || die "still mounted: $2"
}

# Nobody uses it: unmounted, exit status 0, and the directory can be used again.
for how in "" -s "-o ro" "-o ro -s" "-o clone_fd"; do
	# shellcheck disable=SC2086
	in_foreground "$T/mnt" -o idle=1,loglevel=info $how
	ends_well "$T/mnt" "an idle mount with '$how'"
	matches "unmounted: nothing was asked for 1 s" "$(cat "$T/mnt.log")" "what it says with '$how'"
done
: >"$T/mnt/file"
rm "$T/mnt/file"
for n in 1 2; do # in the background, and again
	timeout 60 "$SESSIONFS" -o idle=1 "$T/src" "$T/mnt" || die "mount $n ended with $?"
	within $LONG "the end of mount $n" gone "$T/mnt"
done

# An open file, a working directory and a reader of events keep it, read-only or not.
busy=() mounts=()
for how in rw ro; do
	for use in file directory events; do
		[ "$how-$use" != ro-events ] || continue # there are none
		m=$T/$how-$use
		in_foreground "$m" -o "idle=1,loglevel=debug,$how"
		within 20 "the mount $m" is_there "$m"
		case $use in
		file) sleep 1000 3<"$m/$FORECAST/title" & ;;
		directory) (cd "$m/$FORECAST" && exec sleep 1000) & ;;
		events) cat "$m/.events" >/dev/null & ;;
		esac
		busy+=($!)
		mounts+=("$m")
	done
done
refused_twice() { [ "$(grep -c "idle, but in use" "$1.log")" -ge 2 ]; }
for m in "${mounts[@]}"; do
	within $LONG "two attempts to unmount $m" refused_twice "$m"
	! gone "$m" || die "unmounted while in use: $m"
	is "Forecast command" "$(cat "$m/$FORECAST/title")" "title in $m"
done
kill "${busy[@]}"
for m in "${mounts[@]}"; do within $LONG "the end of the unused $m" gone "$m"; done

# Whoever comes again and again keeps it too, although the kernel has what they read.
for how in rw ro; do
	timeout 60 "$SESSIONFS" -o "idle=3,$how" "$T/src" "$T/$how" || die "the mount to read in ended with $?"
done
gap=0 last=$(date +%s%N) end=$((SECONDS + 8))
while [ $SECONDS -lt $end ]; do
	cat "$T"/r[ow]/"$FORECAST"/title "$T"/r[ow]/"$FORECAST"/entries/*/type >/dev/null 2>&1 || :
	now=$(date +%s%N)
	[ $((now - last)) -le $gap ] || gap=$((now - last))
	last=$now
	sleep 0.2
done
left=$(mounts_below | wc -l)
if [ $gap -gt 2000000000 ]; then
	echo "this machine is too busy to tell whether readers keep it: one took $gap ns"
else
	is 2 "$left" "mounts left between two reads"
fi
for how in rw ro; do within $LONG "the end after the last read" gone "$T/$how"; done

[ "$(id -u)" -eq 0 ] || exit 0

# What else is mounted at the place is left alone: below it,
mount -t tmpfs below "$T/mnt"
in_foreground "$T/mnt" -o idle=1
within $LONG "the end above another mount" eval "! kill -0 $pid 2>/dev/null"
is below "$(findmnt -rno SOURCE "$T/mnt")" "what was below"
umount "$T/mnt"

# over it,
in_foreground "$T/mnt" -o idle=3
within 10 "the mount to cover" is_there "$T/mnt"
exec 3<"$T/mnt/README.md" # keeps it until it is covered
mount -t tmpfs over "$T/mnt"
exec 3<&-
within $LONG "a word about it" grep -q "something else is here now" "$T/mnt.log"
sleep 4 # nothing more is said, though it tries again each three seconds
is 1 "$(grep -c "something else" "$T/mnt.log")" "how often it says so"
kill -s TERM $pid
wait $pid || die "the covered mount ended with $?"
is over "$(findmnt -rno SOURCE "$T/mnt" | tail -n 1)" "what was over it"
umount "$T/mnt"
umount "$T/mnt"

# and after it, when it lives on elsewhere.
in_foreground "$T/mnt" -o idle=3
within 10 "the mount to bind" is_there "$T/mnt"
mkdir "$T/elsewhere"
mount --bind "$T/mnt" "$T/elsewhere"
within $LONG "the end in one place" gone "$T/mnt"
is "Forecast command" "$(cat "$T/elsewhere/$FORECAST/title")" "title in the other place"
mount -t tmpfs after "$T/mnt"
kill -s TERM $pid
wait $pid || die "the bound mount ended with $?"
is after "$(findmnt -rno SOURCE "$T/mnt")" "what came after it"
