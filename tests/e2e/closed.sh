#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A closed directory lets no other user in, however much later, although the kernel goes by the owner and mode it has
# cached. It was listed before, and a session was added since.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need_root
need setpriv python3
P=--home-ada-weather--
F=$P/${CACHE##*/}.jsonl
STRANGER=12345
ACCESSES=7
export CACHE

stranger() { setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups bash -c "$@" 2>/dev/null; }
# Prints something if it got in.
access() { # NUMBER DIRECTORY
	case $1 in
	1) ls "$2" ;;
	2) ls -l "$2" ;;
	3) cd "$2" && echo "$PWD" ;;
	4) find "$2" ! -path "$2" ;;
	5) cat "$2"/{,*/,*/*/}title ;;
	6) test -r "$2" && echo readable ;;
	7) stat -c %n "$2/." ;;
	esac
}
export -f access

acl() { # FILE NAMED
	python3 -c 'import sys; from permissions import set_acl; set_acl(sys.argv[1], 0o755, sys.argv[2])' "$@"
}
export PYTHONPATH=$ROOT/tests/lib PYTHONDONTWRITEBYTECODE=1
# The mode grants access to others except the members of a group, or to all except a named user.
close() { # HOW FILE
	case $1 in
	mode) chmod go-rwx "$2" ;;
	group) chmod o-rwx "$2" ;;
	owner) chown 65534 "$2" && chmod go-rwx "$2" ;;
	acl) acl "$2" "u$STRANGER:0" ;;
	esac
}

# The caches of one mount must not affect another access: each has its own mount.
mount_all() { # OPTION...
	local how=mount_watched
	[[ $* != *poll* ]] || how=mount_fs
	for ((i = 1; i <= ACCESSES; i++)); do $how "$T/src" "$T/mnt$i" -o allow_other "$@"; done
}
umount_all() {
	for ((i = 1; i <= ACCESSES; i++)); do umount_fs "$T/mnt$i"; done
}
# The kernel has everything cached; then each listing can be outdated.
use_all() { # DIRECTORY
	for ((i = 1; i <= ACCESSES; i++)); do
		stranger "find $T/mnt$i/projects -maxdepth 3 -ls; access $i $T/mnt$i/$1" >/dev/null || :
	done
	mkdir "$T/src/--new--"
	sed 's/"id":"/&n/' "$T/src/$F" >"$T/src/--new--/new.jsonl"
	for ((i = 1; i <= ACCESSES; i++)); do ls "$(dirname "$T/mnt$i/$1")" >/dev/null; done
}
# Another one is in the session already, and reads its title when asked.
begin_inside() { coproc INSIDE { stranger "cd $T/mnt1/$CACHE && while read -r; do cat title || echo; done"; }; }
reads_inside() {
	local title
	echo >&"${INSIDE[1]}"
	read -r title <&"${INSIDE[0]}"
	[ -n "$title" ]
}
is_refused() { # NUMBER DIRECTORY
	[ -z "$(stranger "access $1 $T/mnt$1/$2")" ]
}

samples "$T/all"
while read -r how what dir; do
	for options in rw ro rw,poll; do
		[ "$options" != rw,poll ] || [ "$how" = mode ] || continue
		rm -rf "$T/src"
		mkdir -p "$T/src/$P"
		cp -p "$T/all/$F" "$T/src/$P"
		chmod -R a+rX "$T/src"
		mount_all -o "$options"
		use_all "$dir"
		begin_inside
		reads_inside || die "it was closed before"
		close "$how" "$T/src/$what"
		for ((i = 1; i <= ACCESSES; i++)); do
			title="$options: access $i to $dir after $how of $what"
			# The kernel is notified at once, and again a second later: a request at that very moment gets the old answer.
			await "$title" is_refused "$i" "$dir"
			is_refused "$i" "$dir" || die "$title: let in by the second"
		done
		await "$options: no reads of one who is inside after $how of $what" eval '! reads_inside'
		eval "exec ${INSIDE[1]}>&-"
		wait "$INSIDE_PID" || :
		umount_all
	done
done <<-ROWS
	mode . projects
	group . projects
	owner . projects
	acl . projects
	mode $P $WEATHER
	group $P $WEATHER
	owner $P $WEATHER
	acl $P $WEATHER
	mode $F $CACHE
	acl $F $CACHE
ROWS
