#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# axe-core finds nothing in the pages: light and dark, wide and narrow, folded and unfolded.
. "$(dirname "$0")/../lib/lib.sh"
. "$ROOT/tests/browser/common.sh"
need_mount
need_browser
need_axe

samples "$T/src"
node "$ROOT/tests/browser/sessions.mjs" pages "$T/src"
mount_fs "$T/src" "$T/mnt" -o ro
drive accessible.mjs "$T/mnt" "$AXE" || die "axe-core in $CHROMIUM"
