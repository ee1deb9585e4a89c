#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel caches listings; a name that appears or disappears without a change of the session file is listed
# correctly.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
MOUNT=mount_watched # within the promised second, not by an expired cache
write_mount
entry=$s/entries/4726bdf3
echo old >"$entry/label"
wrote "a label" "label 4726bdf3 old"

is_listed() { [ -n "$(find "$1" -mindepth 1 -maxdepth 1 -name "$2")" ]; }
is_not_listed() { ! is_listed "$@"; }

for _ in 1 2; do is_not_listed "$s" errors || die "errors before there was one"; done
printf 'one\ntwo\n' 2>/dev/null >"$entry/label" && die "a label of two lines"
is_listed "$s" errors || die "errors is there, but not listed"

# A fork changes nothing in its parent.
dir=$(dirname "$file")
fork() { printf '{"type":"session","version":3,"id":"%s","cwd":"/","parentSession":"%s"}\n' "$1" "$2" >"$dir/$1.jsonl"; }
fork first /nowhere
sleep 3 # the kernel revalidates recent changes, and when that ends cannot be seen
for _ in 1 2; do is_not_listed "$s/../first" forks || die "forks before there were any"; done
fork second /elsewhere/first.jsonl
await "forks is listed" is_listed "$s/../first" forks
rm "$dir/second.jsonl"
await "the end of forks in the listing" is_not_listed "$s/../first" forks

# As an editor does that keeps the old text.
for _ in 1 2; do is_listed "$entry" label || die "no label"; done
mv "$entry/label" "$entry/label~"
is_listed "$entry" label~ || die "a created name is not listed"
for _ in 1 2; do is_not_listed "$entry" label || die "a renamed name is listed"; done
await "label is listed again" is_listed "$entry" label
rm "$entry/label~"
is_not_listed "$entry" label~ || die "a removed name is listed"

# A name that a program creates, and one that results from its write.
echo "big one" >"$entry/label"
is_listed "$s/labels" "big one" || die "a new label is not listed"
is_not_listed "$s/labels" old || die "an old label is listed"
rm "$entry/label"
is_not_listed "$s/labels" "big one" || die "a cleared label is listed"
