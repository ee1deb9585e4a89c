# SPDX-License-Identifier: MIT
# Sourced after lib.sh by the tests that write: one mounted session, and what must be in its file.
# shellcheck shell=bash

python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || python=python3
WRITE_PY=$ROOT/tests/lib/write.py

# Mounts the samples; $file is the session's file, $s its directory in the mount. Writes must be in the file when the
# writer ends, so nothing here waits.
write_mount() {
	need python3
	[ -d "$T/src" ] || samples "$T/src"
	"${MOUNT:-mount_fs}" "$T/src" "$T/mnt"
	file=$T/src/--home-ada-weather--/${FORECAST##*/}.jsonl
	s=$T/mnt/$FORECAST
	cp "$file" "$T/kept"
}

# Asserts that the file has exactly these new lines since the last time, and that every view shows them: see write.py.
wrote() { # WHAT [RECORD...]
	local what=$1 out
	shift
	out=$("$python" -EsB "$WRITE_PY" wrote "$T/kept" "$file" "$s" "$SESSIONFS" "$T/src" "$@" 2>&1) ||
		die "$what: ${out#FAILED: }"
	rm -f "$T/shown"
}
# Asserts that nothing was written, without a process that reads everything again: for frequent checks.
unchanged() { # WHAT
	same "$T/kept" "$file" "$1: the session file"
	[ -f "$T/shown" ] || shown >"$T/shown"
	shown | diff "$T/shown" - >&2 || die "$1: what is shown has changed"
}
shown() {
	(cd "$s" && { ls -A . labels entries/* | grep -vx errors && cat title labels.tsv entries/*/label entries/*/branch; })
}

# Runs a command that must succeed and print nothing.
quiet() { nothing "$*" "$@"; }

# Asserts that a command is refused, with this message; nothing was appended and everything is as before.
refuses() { # REGEX COMMAND...
	local regex=$1 out rc=0
	shift
	out=$("$@" 2>&1 | tr -d '\0') || rc=$?
	[ "$rc" -ne 0 ] || die "$* ended with 0: $out"
	matches "$regex" "$out" "message of $*"
	unchanged "after the refused $*"
}
