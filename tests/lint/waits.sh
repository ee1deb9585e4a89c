#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No test has a limit in seconds, which a busy machine exceeds: tests wait for what must happen, and lib/limited ends those that hang.
. "$(dirname "$0")/../lib/lib.sh"

limits() { # DIRECTORY...: the lines with one
	grep -rnE --include='*.sh' --include=run '(^|[^-_a-z])timeout (-|[0-9]|"?\$)' "$@"
	grep -rnE --include='*.py' --include=run '(^|[^-_a-z])(timeout=|process\.wait\([0-9])|\.join\([0-9]' "$@"
	grep -rnE --include='*.[ch]' '\b(sem_timedwait|pthread_timedjoin_np|alarm) ?\(' "$@"
	grep -rnE --include='*.mjs' 'setTimeout\(\(\) =>' "$@"
}
mkdir "$T/planted"
printf '%s\n' 'timeout 20 ls' 'await "it" ls' '$(timeout -k 1 "$n" ls)' 'x --timeout 2' >"$T/planted/a.sh"
printf '%s\n' 'run(["ls"], timeout=60)' 'process.wait()' 'thread.join(20)' 'process.wait(20)' >"$T/planted/a.py"
printf '%s\n' 'sem_timedwait(s, &t);' 'sem_wait(s);' >"$T/planted/a.c"
printf '%s\n' 'setTimeout(() => fail(), 9);' 'setTimeout(done, 20)' >"$T/planted/a.mjs"
is "1 3 1 3 4 1 1" "$(limits "$T/planted" | cut -d: -f2 | xargs)" "the lines that are found"
cd "$ROOT/tests"
found=$(limits browser contract e2e far foreign fuzz golden lib lint unit wire | grep -v '^lint/waits\.sh:\|# not a limit') || :
[ -z "$found" ] || die "limits in seconds: $found"
