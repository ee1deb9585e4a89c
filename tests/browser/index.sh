#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# html/index.html in a real browser: every session of sessions.tsv is present, and can be sorted, filtered and opened;
# with scripts and without.
. "$(dirname "$0")/../lib/lib.sh"
. "$ROOT/tests/browser/common.sh"
need_mount
need_browser

samples "$T/src"
samples "$T/src/--broken--" "$ROOT/tests/data/broken"
node "$ROOT/tests/browser/sessions.mjs" pages "$T/src"
node "$ROOT/tests/browser/sessions.mjs" costs "$T/src"
# The mount and the reader are in different time zones.
TZ=Asia/Kolkata mount_fs "$T/src" "$T/mnt" -o ro
mkdir "$T/none"
mount_fs "$T/none" "$T/empty" -o ro
mkdir "$T/copied"
"$SESSIONFS" -S "$T/src" --copy html "$T/copied" >/dev/null
TZ=America/New_York drive index.mjs "$T/mnt" "$T/empty" "$T/copied" || die "the index in $CHROMIUM"
