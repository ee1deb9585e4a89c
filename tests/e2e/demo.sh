#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The demo runs to its end, mounted or not, and leaves nothing behind.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need rsync file
mkdir "$T/tmp"
for how in mount no-mount; do
	[ $how = no-mount ] || can_mount || continue
	TMPDIR=$T/tmp timeout 120 "$ROOT/scripts/demo" "$SESSIONFS" --$how >"$T/out" 2>&1 || die "the demo ($how) ended with $?: $(tail -n 20 "$T/out")"
	grep -q "Forecast command" "$T/out" || die "no title in the demo ($how)"
	for best in "entries/.*[Uu]nittest" "^## user" "2026-03-02 09.15 Forecast command" "html"; do
		grep -q "$best" "$T/out" || die "no $best in the demo ($how)"
	done
	grep -q "PNG image data" "$T/out" || die "no picture in the demo ($how)"
	is "" "$(ls -A "$T/tmp")" "what the demo ($how) left"
	is "" "$(mounts_below)" "what the demo ($how) left mounted"
done
