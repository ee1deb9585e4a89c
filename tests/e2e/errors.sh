#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `errors` changes without a change of the session file: a reader gets the refusals up to its open, in one read or many.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
samples "$T/src"
mount_fs "$T/src" "$T/mnt"
cd "$T/mnt/$FORECAST"
refuse() { # TEXT: a label of this many characters is refused
	! { printf 'x\0%s\n' "$1" >entries/4726bdf3/label; } 2>/dev/null || die "a NUL was taken"
}
for _ in {1..70}; do refuse a; done

# All lines have the same length, so the size stays the same with each.
exec 3<errors
before=$(stat -c %s errors)
whole=$(cat errors)
first=$(head -c 70 <&3)
sleep 0.01 # the next one has another time
refuse b
is "$before" "$(stat -c %s errors)" "the size of errors"
is "$whole" "$first$(cat <&3)" "errors that was open when there was one more"
[ "$whole" != "$(cat errors)" ] || die "one more refusal is not in errors"
exec 3<&-
is "$(cat errors)" "$(dd if=errors bs=100 status=none)" "errors in pieces"
