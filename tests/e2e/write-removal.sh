#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Removing a session, a project or the whole mount, or moving it to another disk, is refused before anything is gone;
# removing a label works with any tool.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need busybox rsync
write_mount
a=4726bdf3 b=21adfd5d c=436adaf5 d=2f83ebc0
echo one >"$s/entries/$a/label"
echo two >"$s/entries/$b/label"
wrote "labels" "label $a one" "label $b two"
sums() { (cd "$T/src" && find . -type f -exec sha256sum {} + | sort); }
sums >"$T/sums"
kept() { # WHAT
	sums | diff "$T/sums" - >&2 || die "$1: session files have changed"
	unchanged "$1"
}
elsewhere=$(mktemp -d "/dev/shm/sessionfs-test.XXXXXX") || elsewhere=$T/elsewhere
clean_first() { rm -rf "$elsewhere"; }
mkdir -p "$elsewhere"

# --- refused as a whole ------------------------------------------------------------------

rmtree='import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)'
for what in "$s" "$(dirname "$s")" "$T/mnt"; do
	refuses "not permitted|denied" rm -rf "$what"
	[ "$what" = "$T/mnt" ] || refuses "not permitted|denied" busybox rm -rf "$what"
	[ "$what" != "$s" ] || refuses "not permitted|denied" find "$what" -delete
	"$python" -c "$rmtree" "$what" || die "rmtree ended with $?"
	kept "rmtree of $what"
done
refuses "not permitted|denied" rm -rf "$s"/*
refuses "not permitted|denied" rm -rf "$s"/entries/*
refuses "not permitted|denied" rm -r "$s/entries/$a" "$s/entries/$b/label"
refuses "not permitted|denied" find "$s" -type f -delete
refuses "not permitted|denied" find "$s/entries" -depth -type f -exec rm {} +
for mv in mv "busybox mv"; do
	# shellcheck disable=SC2086
	refuses "not permitted|denied" $mv "$s" "$elsewhere/session"
	# shellcheck disable=SC2086
	refuses "not permitted|denied" $mv "$s/entries/$a" "$elsewhere/entry"
done
refuses "" "$python" -c 'import shutil, sys; shutil.move(*sys.argv[1:])' "$s" "$elsewhere/moved"
refuses "" rsync -a --remove-source-files "$s/entries/$a/" "$elsewhere/rsync/"
kept "all that is refused"
matches "another removal by this process was refused" "$(cat "$s/errors")" "what errors says"

# --- allowed -----------------------------------------------------------------------------

quiet rm "$s/entries/$a/label"
wrote "rm, after others were refused" "clear $a"
echo one >"$s/entries/$a/label"
wrote "a label" "label $a one"
quiet rm "$s/labels/one" "$s/labels/two"
wrote "rm of links" "clear $a" "clear $b"
for i in $a $b; do echo "again $i" >"$s/entries/$i/label"; done
wrote "labels" "label $a again $a" "label $b again $b"
labelled=$(cd "$s" && for i in entries/*/label; do echo "clear $(basename "$(dirname "$i")")"; done)
[ "$(wc -l <<<"$labelled")" -ge 4 ] || die "few labels: $labelled"
(cd "$s" && quiet find . -name label -delete)
mapfile -t records < <(tail -n "$(wc -l <<<"$labelled")" "$file" | jq -r '"clear " + .targetId')
is "$labelled" "$(printf '%s\n' "${records[@]}" | sort)" "the labels cleared by find -delete"
wrote "find -delete" "${records[@]}"
[ -z "$(ls "$s/labels")" ] || die "labels are left: $(ls "$s/labels")"

# After a refused write the writing process must not clean up.
echo one >"$s/entries/$c/label"
wrote "a label" "label $c one"
"$python" - "$s/entries/$c/label" "$s/entries/$d/label" <<'END' || die "cleaning up after a refused write"
import os, sys, threading

label, other = sys.argv[1:]


def refused(call):
    try:
        call()
    except OSError:
        return
    sys.exit("not refused")


def write(text):
    with open(label, "wb", buffering=0) as f:
        f.write(text)


refused(lambda: write(b"a\nb\n"))
refused(lambda: os.unlink(label))
beside = threading.Thread(target=refused, args=(lambda: os.unlink(label),))
beside.start()
beside.join()
assert open(label).read() == "one\n"
END
wrote "cleaning up after a refused write"
echo one >"$s/entries/$d/label"
wrote "a label" "label $d one"
refuses "not permitted" bash -c "rm '$s/entries/$c/branch' || rm '$s/title'"
