#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Strange files neither hang nor crash the program, nor hide the sessions next to them.
. "$(dirname "$0")/../lib/lib.sh"
samples "$T/src"
samples "$T/src/--broken--" "$ROOT/tests/data/broken"
dir=$T/src/--home-ada-weather--
good=$dir/${FORECAST##*/}.jsonl
mkfifo "$dir/fifo.jsonl"
mkdir "$dir/directory.jsonl"
ln -s loop.jsonl "$dir/loop.jsonl"
ln -s nowhere "$dir/dangling.jsonl"
ln -s . "$T/src/self"
ln -s "$good" "$dir/linked.jsonl"
: >"$dir/nothing.jsonl"
[ "$(id -u)" -ne 0 ] || mknod "$dir/device.jsonl" c 1 5 || : # /dev/zero, endless
cp "$good" "$dir/unreadable.jsonl"
chmod 000 "$dir/unreadable.jsonl"
bytes=$(printf 'caf\xe9')
cp "$good" "$dir/$bytes.jsonl"
cp "$good" "$dir/new"$'\n'"line.jsonl"
cp "$good" "$dir/.hidden.jsonl"
cp "$good" "$dir/%41.jsonl"
mkdir "$T/src/--$bytes--" "$T/src/----"
cp "$good" "$T/src/--$bytes--/x.jsonl"
cp "$good" "$T/src/----/x.jsonl"

look() { # PREFIX-COMMAND...: the same checks with and without a mount
	"$@" ls "$WEATHER" >"$T/listing" || die "listing ended with $?"
	local name
	for name in "${FORECAST##*/}" "${CACHE##*/}" linked 'caf%E9' 'new%0Aline' '%2Ehidden' '%2541'; do
		grep -qxF -- "$name" "$T/listing" || die "$name is not listed: $(cat "$T/listing")"
	done
	for name in fifo directory loop dangling nothing device; do
		! grep -qxF "$name" "$T/listing" || die "$name is listed"
	done
	is "Forecast command" "$("$@" cat "$WEATHER/caf%E9/title")" "title of a session with an odd name"
	is "Forecast command" "$("$@" cat "$WEATHER/new%0Aline/title")" "title of another"
	is "Forecast command" "$("$@" cat 'projects/caf%E9/x/title')" "title in a project with an odd name"
	is "Forecast command" "$("$@" cat 'projects/%/x/title')" "title in the project of /"
	is "Forecast command" "$("$@" cat "$WEATHER/linked/title")" "title of a linked session"
}
without() {
	case $1 in
	ls) "$SESSIONFS" -S "$T/src" --json --ls "$2" | jq -r '.[].name' ;;
	cat) "$SESSIONFS" -S "$T/src" --cat "$2" ;;
	esac
}
need jq
export -f without
export SESSIONFS T
look bash -c 'without "$@"' -
if [ "$(id -u)" -eq 0 ]; then
	# Root reads everything. Another user does not see the unreadable file, but the others.
	cp "$SESSIONFS" "$T/program" # the checkout can be in a directory that only root can enter
	rc=0
	listing=$(as_nobody "$T/program" -S "$T/src" --json --ls "$WEATHER" 2>"$T/err" | jq -r '.[].name') || rc=$?
	is 2 $rc "status if a file is unreadable"
	grep -qxF "${FORECAST##*/}" <<<"$listing" || die "an unreadable file hides the others: $listing"
	! grep -qxF unreadable <<<"$listing" || die "an unreadable file is listed"
fi

can_mount || exit 0
mount_fs "$T/src" "$T/mnt"
inside() { (cd "$T/mnt" && "$@"); }
export -f inside
look bash -c 'inside "$@"' -
# Every file in the mount can be read to its end; grep would call a file with a NUL binary.
find "$T/mnt" -type f -exec cat {} + >/dev/null || die "something cannot be read"
python3 "$ROOT/tests/lib/tree.py" agree "$T/mnt" || die "listing and reading disagree"
is "" "$(cd "$T/mnt/projects/broken" && find . -name '*.md' -exec grep -LI . {} +)" "texts that grep would call binary"

# A file with a version above 3 is logged, once.
umount_fs "$T/mnt"
"$SESSIONFS" -f "$T/src" "$T/mnt" 2>"$T/log" &
await "a mount in the foreground" mountpoint -q "$T/mnt"
ls "$T/mnt/projects/broken" "$T/mnt/projects" >"$T/listing"
touch "$T/src/--broken--/lanes.jsonl"
ls "$T/mnt/projects/broken" "$T/mnt/projects" >"$T/listing"
umount_fs "$T/mnt"
is "sessionfs: --broken--/lanes.jsonl: a pi session of version 4 (lanes), which is not supported" "$(grep ' --broken--/lanes' "$T/log")" "the log"
