#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel keeps listings; a name that comes or goes without a change of the session file is listed as it is.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=tests/lib/write.sh
. "$(dirname "$0")/../lib/write.sh"
need_mount
MOUNT=mount_watched # a second is promised; the clock has no part in it
write_mount
entry=$s/entries/4726bdf3
echo old >"$entry/label"
wrote "a label" "label 4726bdf3 old"

is_listed() { find "$1" -mindepth 1 -maxdepth 1 -name "$2" | grep -q .; }
is_not_listed() { ! is_listed "$@"; }

for _ in 1 2; do is_not_listed "$s" errors || die "errors before there was one"; done
printf 'one\ntwo\n' 2>/dev/null >"$entry/label" && die "a label of two lines"
is_listed "$s" errors || die "errors is there, but not listed"

# A fork changes nothing in the session that it comes from.
dir=$(dirname "$file")
fork() { printf '{"type":"session","version":3,"id":"%s","cwd":"/","parentSession":"%s"}\n' "$1" "$2" >"$dir/$1.jsonl"; }
fork first /nowhere
sleep 3 # the kernel asks anew for what has just changed, and nothing shows when it stops to
for _ in 1 2; do is_not_listed "$s/../first" forks || die "forks before there were any"; done
fork second /elsewhere/first.jsonl
within 20 "forks is listed" is_listed "$s/../first" forks
rm "$dir/second.jsonl"
within 20 "forks is no longer listed" is_not_listed "$s/../first" forks

# As an editor does that keeps the old text.
for _ in 1 2; do is_listed "$entry" label || die "no label"; done
mv "$entry/label" "$entry/label~"
is_listed "$entry" label~ || die "what was made is not listed"
for _ in 1 2; do is_not_listed "$entry" label || die "what was moved away is listed"; done
within 12 "label is listed again" is_listed "$entry" label
rm "$entry/label~"
is_not_listed "$entry" label~ || die "what was removed is listed"

# A name that a program makes, and one that follows from what it writes.
echo "big one" >"$entry/label"
is_listed "$s/labels" "big one" || die "a new label is not listed"
is_not_listed "$s/labels" old || die "an old label is listed"
rm "$entry/label"
is_not_listed "$s/labels" "big one" || die "a cleared label is listed"
