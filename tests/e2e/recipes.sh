#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recipes of sessionfs(7) work for names with blanks and for titles that begin with a quote. (tests/e2e/documents.sh runs
# all of them on the samples.)
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3 sqlite3
export HOME=$T/home
project="$HOME/.pi/agent/sessions/--home-ada-my notes--"
mkdir -p "$project/2026-03-03 one/run 0" "$HOME/pi" "$T/bin"
ln -s "$SESSIONFS" "$T/bin/sessionfs"
session() { # FILE WORDS
	printf '%s\n' '{"type":"session","version":3,"id":"'"$2"'","timestamp":"2026-03-03T09:00:00.000Z","cwd":"/home/ada/my notes"}' \
		'{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-03T09:00:00.000Z","message":{"role":"user","content":"'"$2"'"}}' >"$1"
}
session "$project/2026-03-03 one.jsonl" '\"Quoted\" at its beginning'
session "$project/2026-03-03 one/run 0/session.jsonl" 'Look it up'
session "$project/2026-03-04 two.jsonl" '\"Never closed'
session "$project/2026-03-05 three.jsonl" 'Plain'
touch -d 2026-03-03 "$project"/*.jsonl "$project"/*/*/session.jsonl
mount_fs "$HOME/.pi/agent/sessions" "$HOME/pi"
recipe() { # WORDS: runs the commands of the example that has them
	python3 - "$ROOT" "$1" >"$T/recipe" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1] + "/tests/lib")
		from examples import blocks, commands
		found = [b for b in blocks(sys.argv[1] + "/man/sessionfs.7") if sys.argv[2] in b]
		assert len(found) == 1, found
		print("\n".join(command for command, _ in commands(found[0])))
	END
	PATH=$T/bin:$PATH bash -e -o pipefail "$T/recipe"
}
cd "$HOME/pi"
# Nothing after a quote is swallowed.
is "home-ada-my notes	4	0.0
1 Plain
1 Look it up" "$(recipe sqlite3)" "the tables in sqlite3 and a program"

is "projects/home-ada-my notes/2026-03-03 one+run 0
Look it up
working
0 projects/home-ada-my notes/2026-03-03 one" "$(recipe 'subagents | while')" "subagents with a blank in their names"
touch "$project/2026-03-05 three.jsonl"
await "the session that was working" eval '[ "$(recipe "-mmin -60")" = "projects/home-ada-my notes/2026-03-05 three/state" ]'

cd /
# The largest messages, by number, whatever their names are.
mkdir -p "$T/plain/pi/projects/home-ada-weather/2026-03-02"
{
	printf 'entry\trole\tname\ttokens\ttotal\n1\tuser\t\t900\t900\n'
	for i in {2..12}; do printf '%s\ttoolResult\tname %s\t%s\t0\n' "$i" "$i" $((i * 100)); done
} >"$T/plain/pi/projects/home-ada-weather/2026-03-02/context.tsv"
is "12 11 10 1 9 8 7 6 5 4" "$(HOME=$T/plain recipe 'context.tsv' | cut -f1 | xargs)" "the largest messages"

# All are older than 90 days.
cat >"$T/bin/trash-put" <<'END'
#!/bin/bash
[ "$1" = -- ] && printf '%s\n' "${@:2}"
END
chmod +x "$T/bin/trash-put"
is "$(find "$project" -name '*.jsonl' | sort)" "$(recipe "90 days ago" | sort)" "the files to delete"
