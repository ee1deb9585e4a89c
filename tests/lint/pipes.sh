#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No test pipes into a reader that can end before its writer: the writer then dies of SIGPIPE, sometimes, and the test with it.
. "$(dirname "$0")/../lib/lib.sh"

early() { grep -rnE --include='*.sh' --include=run '[^|]\| *(head|grep( -[a-zA-Z]+)* -[a-zA-Z]*q[a-zA-Z]*)\b' "$1"; }
mkdir "$T/planted"
printf '%s\n' 'ls | head -n 1' 'a || grep -q b c' 'named | grep -qxF -- x' 'ls | sed -n 1p' >"$T/planted/a.sh"
is "1 3" "$(early "$T/planted" | cut -d: -f2 | xargs)" "the lines that are found"
lines=$(cd "$ROOT" && early tests | grep -v '^tests/lint/pipes.sh:') || :
[ -z "$lines" ] || die "sed -n 1p reads all, and a reader of < <(COMMAND) can end early: $lines"
