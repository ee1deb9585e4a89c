#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bash, zsh and fish complete options and their values, directories, and paths from the source, whatever their names
# contain: the program gets the words that the shell completed.
. "$(dirname "$0")/../lib/lib.sh"
need zsh fish python3 shellcheck
completions=$ROOT/scripts/completions
nothing "shellcheck" shellcheck "$completions/sessionfs.bash"
mkdir -p "$T/src" "$T/a dir/inner" "$T/torn dir" "$T/bin" "$T/z"
: >"$T/damaged 'file'.jsonl"
: >"$T/torn dir/one"
export HOME=$T ZDOTDIR=$T/z

# A project with characters that are special to shells.
odd="a 'b' \"c\" \$d [e] f:g=h"
samples "$T/src"
mv "$T/src/--home-ada-weather--" "$T/src/--$odd--"

# Prints its arguments, one on a line; completions run the real program, and the bytes it reads are logged.
cat >"$T/bin/sessionfs" <<END
#!/bin/sh
case " \$* " in *" --help "*) exec "$SESSIONFS" "\$@" ;; esac
case " \$* " in *" --ls=/"*)
	"$SESSIONFS" "\$@"
	status=\$?
	awk '/^rchar/ { print \$2 }' "/proc/\$\$/io" >>"$T/read"
	exit \$status
	;;
esac
case " \$* " in *" --cat=sessions.tsv "*) exec "$SESSIONFS" "\$@" ;; esac
printf '[\n'
printf '%s\n' "\$@" ']'
END
chmod +x "$T/bin/sessionfs"
export PATH=$T/bin:$PATH

cat >"$T/bashrc" <<END
. /usr/share/bash-completion/bash_completion
. "$completions/sessionfs.bash"
bind -x '"\C-xm": echo COMPLETED'
PS1='ready> '
END
cat >"$T/z/.zshrc" <<END
fpath=("$completions" \$fpath)
autoload -U compinit && compinit -u -D
completed() { zle -I; print COMPLETED }
zle -N completed
bindkey -e
bindkey '^Xm' completed
PS1='ready> '
END
typed() { # SHELL LINE: prints the arguments of the program
	local shell=(zsh -i)
	[ "$1" = zsh ] || shell=(bash --noprofile --rcfile "$T/bashrc" -i)
	printf '%s' "$2" | (cd "$T" && python3 "$ROOT/tests/lib/complete.py" "${shell[@]}") | paste -sd'|'
}
path=$(cd "$T/src" && "$SESSIONFS" -S . --ls projects --json | grep -o 'a [^,]*h' | sed 's/\\"/"/g')
stem=${FORECAST##*/}
for shell in bash zsh; do
	try() { is "$2" "$(typed $shell "$1" | sed -E 's/\/([|]|$)/\1/g')" "$shell: $1"; }
	try 'sessionfs --sour\t/x --col\tal\t y' "--source=/x|--color=always|y"
	try 'sessionfs -o allow_o\t,cach\t5M -o loglevel=de\t a\t' "-o|allow_other,cache=5M|-o|loglevel=debug|a dir"
	try 'sessionfs -o opt\t a\t' "-o|opt|a dir" # a word of --help, but no option
	try 'sessionfs --repair dam\t a\t' "--repair|damaged 'file'.jsonl|a dir"
	try 'sessionfs --repair=torn\to\t' "--repair=torn dir/one"
	try 'sessionfs -S sr\t --cat late\ttit\t' "-S|src|--cat|latest/title"
	try 'sessionfs -S src --cat projects/a\t2026-03-02\ttit\t' "-S|src|--cat|projects/$path/$stem/title"
	for quote in \' \"; do
		try "sessionfs --source=src --cat=${quote}by-date/2026-03-05/\ttit\t" "--source=src|--cat=by-date/2026-03-05/08.30 Cache for ten minutes/title"
	done
done

fish() { # LINE: prints its completions, without descriptions
	command fish --no-config -c "source $completions/sessionfs.fish; cd $T; complete -C \$argv[1]" -- "$1" | cut -f1
}
is "--source" "$(fish "sessionfs --sour")" "fish: an option"
is "always auto" "$(fish "sessionfs --color=a" | grep -v / | sed 's/.*=//' | sort | paste -sd' ')" "fish: a value"
is "ro,cache=" "$(fish "sessionfs -o ro,cac")" "fish: a list"
is "a dir/" "$(fish "sessionfs a" | sed 's/\\//g')" "fish: a directory"
is "damaged 'file'.jsonl" "$(fish "sessionfs --repair dam" | sed 's/\\//g')" "fish: a file"
is "--repair=torn dir/" "$(fish "sessionfs --repair=torn" | sed 's/\\//g')" "fish: a directory of files"
is "latest/" "$(fish "sessionfs -S src --cat late")" "fish: a link to a directory"
is "--cat=projects/$path/" "$(fish "sessionfs --source=src --cat=projects/a")" "fish: an odd name"
is "projects/$path/$stem/title" "$(fish "sessionfs -S src --cat \"projects/${path//[\"$]/\\&}/$stem/tit\"" | sed 's/\\\(.\)/\1/g')" "fish: below it"

# Mounts of sessions, by the names that findmnt prints.
cat >"$T/bin/findmnt" <<'END'
#!/bin/sh
[ "$*" = "-lno TARGET -t fuse.sessionfs" ] && printf '%s\n' /mnt/pi "/mnt/odd 'one'"
END
chmod +x "$T/bin/findmnt"
for shell in bash zsh; do
	try 'sessionfs -u /mnt/p\t' "-u|/mnt/pi"
	try 'sessionfs --unmount /mnt/o\t' "--unmount|/mnt/odd 'one'"
done
is "/mnt/odd 'one' /mnt/pi" "$(fish "sessionfs -u /mnt/" | sed 's/\\\(.\)/\1/g' | LC_ALL=C sort | paste -sd' ')" "fish: mounts"

# Titles, as queries that find the session.
mkdir "$T/titles"
n=0
for title in "It's für alle" 'Has a \"quote\"' 'Plain $title'; do
	n=$((n + 1))
	printf '%s\n' '{"type":"session","version":3,"id":"t","timestamp":"2026-04-01T12:00:00.000Z","cwd":"/"}' \
		'{"type":"session_info","id":"a","parentId":null,"name":"'"$title"'"}' >"$T/titles/$n.jsonl"
done
for shell in bash zsh; do
	try 'sessionfs -S titles --pick It\t' "-S|titles|--pick|title:\"It's für alle\""
	try 'sessionfs -S titles --pick Pl\t' "-S|titles|--pick|title:\"Plain \$title\""
	try 'sessionfs -S titles --pick Has\t' "-S|titles|--pick|Has"
done
is "title:\"It's für alle\" title:\"Plain \$title\"" "$(fish "sessionfs -S titles --pick title:" | sed 's/\\\(.\)/\1/g' | LC_ALL=C sort | paste -sd' ')" "fish: titles"
is 1 "$("$SESSIONFS" -S "$T/titles" --search --entries "title:\"It's für alle\" type:session_info" | sed 1d | wc -l)" "sessions with that title"

# Values of filters, which the program knows.
for shell in bash zsh; do
	try 'sessionfs --search role:us\t' "--search|role:user"
	try 'sessionfs --search=state:wo\t' "--search=state:working"
	try 'sessionfs --search is:se\t' "--search|is:secret"
	try 'sessionfs --search what:sa\t' "--search|what:said"
done
is "type:branch_summary type:compaction type:label type:message" "$(fish "sessionfs --search type:" | LC_ALL=C sort | paste -sd' ')" "fish: values of a filter"
for value in $(fish "sessionfs --search " | grep :); do
	status=0
	"$SESSIONFS" -S "$T/src" --search "$value" >"$T/out" 2>&1 || status=$?
	[ $status -lt 2 ] || die "$value is offered, but refused: $(cat "$T/out")"
done

# Names need no sizes, so no session is read for them.
mkdir "$T/big"
python3 - "$T/big/s.jsonl" <<'PY'
import json, sys
with open(sys.argv[1], "w") as f:
    print(json.dumps({"type": "session", "version": 3, "id": "s", "timestamp": "2026-04-01T12:00:00.000Z", "cwd": "/"}), file=f)
    for i in range(64):
        print(json.dumps({"type": "message", "id": f"m{i}", "parentId": None, "message": {"role": "user", "content": "x" * 65536}}), file=f)
PY
rm "$T/read"
is "-S|big|--cat|latest" "$(typed bash 'sessionfs -S big --cat late\t' | sed 's/\/$//')" "bash: a name next to tables"
is "-S|big|--cat|latest" "$(typed zsh 'sessionfs -S big --cat late\t' | sed 's/\/$//')" "zsh: a name next to tables"
is "latest/" "$(fish "sessionfs -S big --cat late")" "fish: a name next to tables"
[ "$(wc -l <"$T/read")" -ge 3 ] || die "how much was read is not noted"
is "" "$(awk '$1 > 1000000' "$T/read")" "bytes that were read for names"
