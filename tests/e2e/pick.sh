#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --pick chooses a session, with fzf and without, and resumes, forks, names, shows or trashes it. Names of sessions and
# files are never interpreted by a shell or by the terminal.
. "$(dirname "$0")/../lib/lib.sh"
need tmux fzf python3 busybox trash-put
export HOME=$T/home TMUX_TMPDIR=$T SHELL=/bin/sh RAN=$T/ran TMPDIR=$T/tmp OBEYED=$T/obeyed
unset TMUX BROWSER XDG_DATA_HOME
export FZF_DEFAULT_OPTS="--multi --select-1 --print-query --print0" # settings of a user that must not count here
mkdir -p "$HOME" "$T/tmp" "$T/bin" "$T/plain"
tmux() { command tmux -f /dev/null "$@"; }
clean_first() { command tmux kill-server 2>/dev/null; }

cat >"$T/bin/pi" <<'END'
#!/bin/sh
{ pwd -P && printf '%s\n' "$@"; } >"$RAN"
END
printf '#!/bin/sh\nprintf "%%s\\n" "$1" >"$RAN"\n' >"$T/bin/xdg-open"
chmod 755 "$T"/bin/*
# An environment without fzf, and with dash as sh.
for program in awk cat date mkdir mktemp rm sed tr wc; do ln -s "$(command -v "$program")" "$T/plain/$program"; done

# Sessions: more than a page of them, and names that look like commands.
python3 - "$T/src" "$T/cwd" <<'END' || die "the sessions"
import json, os, sys
src, cwds = sys.argv[1:]
evil = "$(touch $OBEYED) `touch $OBEYED` '\"; touch $OBEYED; \x1b]2;obeyed\x07\x1b[31m\u009b32m\u009d2;obeyed\u009c\r\n\x08{1} %s \\"
os.makedirs(cwds)
for i in range(1, 31):
    name, cwd, title = f"s{i:02}", f"{cwds}/d{i:02}", f"title {i:02}"
    directory = "--plain--"
    if i == 30:  # the newest
        name, title, directory = "odd $(touch $OBEYED) ' \x1b]2;obeyed\x07 \u009b32m \\ \n", evil, "--it's \\ $(touch $OBEYED) \u009b32m--"
        cwd = cwds + "/odd ' $(touch $OBEYED) \n"
    os.makedirs(f"{src}/{directory}", exist_ok=True)
    if i != 28:
        os.makedirs(cwd)
    else:
        cwd += "\x1b[31m\u009b32m"
    file = f"{src}/{directory}/{name}.jsonl"
    with open(file, "w") as f:
        for o in ({"type": "session", "version": 3, "id": f"id{i}", "timestamp": f"2026-03-{i:02}T09:15:03.460Z", "cwd": cwd},
                  {"type": "message", "id": "aaaa0001", "parentId": None, "timestamp": f"2026-03-{i:02}T09:15:03.460Z",
                   "message": {"role": "user", "content": f"{title} said\n" + (evil if i == 30 else "an apple" if i % 10 == 7 else "a pear")}},
                  {"type": "session_info", "id": "aaaa0002", "parentId": "aaaa0001", "timestamp": f"2026-03-{i:02}T09:15:03.460Z", "name": title}):
            f.write(json.dumps(o) + "\n")
    os.utime(file, (1773000000 + i * 86400,) * 2)
END
# A source with a fork and two subagents; the newest session is one of them.
python3 - "$T/agents" <<'END' || die "the subagents"
import json, os, sys
src = sys.argv[1]
for n, (file, name, words, parent) in enumerate([
        ("--w--/one.jsonl", "Plant\\ trees", ["an apple", "an apple tree", "a pear"], None), ("--w--/other.jsonl", "Water", ["a quince"], None),
        ("--w--/fork.jsonl", "Plant more", ["an apple"], "one.jsonl"),
        ("--w--/one/run-0/session.jsonl", "Dig", ["apple roots", "a medlar"], None), ("--w--/one/run-1/session.jsonl", "Rake", ["leaves"], None)], 1):
    os.makedirs(os.path.dirname(f"{src}/{file}"), exist_ok=True)
    at = f"2026-04-0{n}T10:00:0"
    with open(f"{src}/{file}", "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": f"id{n}", "timestamp": at + "0Z", "cwd": "/", **({"parentSession": parent} if parent else {})}), file=f)
        for i, text in enumerate(words):
            print(json.dumps({"type": "message", "id": f"m{n}{i}", "parentId": f"m{n}{i - 1}" if i else None, "timestamp": f"{at}{i}Z", "message": {"role": "user", "content": text}}), file=f)
        print(json.dumps({"type": "session_info", "id": f"n{n}", "parentId": f"m{n}0", "timestamp": f"2026-04-0{n}T12:00:00Z" if name == "Water" else at + "9Z", "name": name}), file=f)
END
printf '%s\n' '{"type":"session","version":3,"id":"beat","timestamp":"2026-01-05T10:00:00Z","cwd":"/","parentSession":"one.jsonl"}' \
	'{"type":"message","id":"b1","parentId":null,"timestamp":"2026-01-05T10:00:01Z","message":{"role":"user","content":"[OpenClaw heartbeat poll]"}}' >"$T/agents/--w--/beat.jsonl"
odd=$(find "$T/src" -name 'odd*')
obeyed() { [ ! -e "$T/obeyed" ] || die "$1 was obeyed"; }

# --- without fzf: questions on standard error, answers from standard input -----------------

pick() { # ANSWERS ARGUMENT...: sets $rc; the output is in $T/out and $T/err
	local answers=$1
	shift
	rm -f "$RAN"
	rc=0
	# shellcheck disable=SC2059
	printf "$answers" | PATH=$T/bin:$T/plain "$SESSIONFS" -S "${source:-$T/src}" --pick "$@" >"$T/out" 2>"$T/err" || rc=$?
	obeyed "a name ($answers)"
	is "" "$(find "$T/tmp" -name 'sessionfs-pick*')" "files left after $answers"
	LC_ALL=C tr -d '\n\t\040-\176\200-\377' <"$T/err" | cmp - /dev/null || die "control characters on the terminal"
	! LC_ALL=C grep -q "$(printf '\302[\200-\237]')" "$T/err" || die "control characters of eight bits on the terminal"
}
pick '2\np\n'
is "0 $T/src/--plain--/s29.jsonl" "$rc $(cat "$T/out")" "the path of the second one"
is 21 "$(grep -c "2026-03" "$T/err")" "rows of a page, and the chosen one"
pick '\n25\np\n'
is "$T/src/--plain--/s06.jsonl" "$(cat "$T/out")" "one of the second page"
is 31 "$(grep -c "2026-03" "$T/err")" "rows of two pages, and the chosen one"
pick 'x\n0\n31\n99999999999999999999999\n3\nb\n4\n\n'
is "$T/cwd/d27
--session
$T/src/--plain--/s27.jsonl" "$(cat "$RAN")" "what pi is given, after some mistakes"
pick '1\n\n'
is "$T/cwd/odd ' \$(touch \$OBEYED) 

--session
$odd" "$(cat "$RAN")" "what pi is given of the odd one"
pick '1\nf\n'
is "$T/cwd/odd ' \$(touch \$OBEYED) 

--fork
$odd" "$(cat "$RAN")" "what pi is to fork"
(cd "$T/bin" && pick '3\nf\n' && is "$T/bin
--fork
$T/src/--plain--/s28.jsonl" "$(cat "$RAN")" "a fork where one is") || exit 1
matches "d28\?\[31m\?32m: not there; the fork goes on in $T/bin" "$(cat "$T/err")" "a directory that is gone"
mkdir -p "$T/old/p"
echo '{"type":"session","id":"one","timestamp":"2026-03-02T09:15:03.460Z","cwd":"/"}' >"$T/old/p/one.jsonl"
source=$T/old pick '1\nf\n'
is "1 1" "$rc $([ -e "$RAN" ]; echo $?)" "a fork of version 1"
matches "one.jsonl: pi does not convert a session of version 1 or 2 when it forks it" "$(cat "$T/err")" "why"
pick '3\n\n'
is 0 "$([ ! -e "$RAN" ]; echo $?)" "no pi for it"
[ "$rc" -ne 0 ] || die "to go on in no directory ended with 0"
pick '1\np\n'
is "$odd" "$(cat "$T/out")" "the path of the odd one"
pick '1\no\n'
page=$(cat "$RAN")
"$SESSIONFS" -S "$T/src" --cat "html/$("$SESSIONFS" -S "$T/src" --cat sessions.tsv | sed -n 2p | cut -f2,3 | tr '\t' / | sed 's/\\\\/\\/g').html" | cmp - "$page" || die "the page"
is 600 "$(stat -c %a "$page")" "the mode of the page"
for answers in '' 'q\n' '1\n' '1\nt\n'; do
	pick "$answers"
	is "1 " "$rc $(cat "$T/out")" "chosen by $answers"
done
pick '2\np\n' 'apple -"title 27"'
is "$T/src/--plain--/s07.jsonl" "$(cat "$T/out")" "the second that a query finds"
pick '' 'quince'
is "1 sessionfs: quince: nothing found" "$rc $(cat "$T/err")" "nothing found"
pick '' 'quince$(touch $OBEYED)\e]2;obeyed\a' # control characters of the query are not printed either
pick '' '"open'
is 2 "$rc" "no query"
# Subagents are listed last, when asked for; a fork and a subagent name their parent, and rows count hits.
source=$T/agents
rows() { grep -aoE '[0-9]+.2026.*' "$T/err" | tr '\t' ' ' | sed -E '$d; s/(2026-..-..) +[0-9a-z]+/\1/'; } # without the chosen one, and ages
fork='2026-04-03  w          Plant more  (fork of Plant\ trees)'
pick '1\np\n'
is "$T/agents/--w--/fork.jsonl" "$(cat "$T/out")" "the newest that no other one started"
is "1 $fork
2 2026-04-02  w   5 min  Water
3 2026-04-01  w          Plant\ trees" "$(rows)" "the sessions that no other one started"
grep -q 'Enter for more, a for automatic ones, q to quit' "$T/err" || die "no word on subagents"
pick 'a\n4\np\n'
is "$T/agents/--w--/one/run-1/session.jsonl" "$(cat "$T/out")" "a subagent"
is "4 2026-04-05  w          Rake  (subagent of Plant\ trees)
5 2026-04-04  w          Dig  (subagent of Plant\ trees)
6 2026-01-05  w          [OpenClaw heartbeat poll]  (fork of Plant\ trees)" "$(rows | tail -n +4)" "subagents, and what no person said"
pick '2\np\n' apple
is "1 2026-04-03  w             1 hit  Plant more  (fork of Plant\ trees)
2 2026-04-01  w            2 hits  Plant\ trees" "$(rows)" "sessions with their hits"
is "$T/agents/--w--/one.jsonl" "$(cat "$T/out")" "the second with hits"
pick '1\np\n' medlar
is "1 2026-04-04  w             1 hit  Dig  (subagent of Plant\ trees)" "$(rows)" "subagents, if nothing else matches"
source=
mkdir "$T/none"
fails 1 "sessionfs: $T/none: no sessions" "$SESSIONFS" -S "$T/none" --pick
fails 1 "sessionfs: $T/not: no such source" "$SESSIONFS" -S "$T/not" --pick
mkdir "$T"/odd$'\x9b'31m-$'\u009b'31m-é-⛀-😀
is "sessionfs: $T/odd31m-?31m-é-⛀-😀: no sessions" "$("$SESSIONFS" -S "$T"/odd* --pick 2>&1 || :)" "an odd source"
is "$T/src/--plain--/s29.jsonl" "$(printf '2\np\n' | PI_CODING_AGENT_SESSION_DIR=$T/src PATH=$T/bin:$T/plain "$SESSIONFS" --pick 2>/dev/null)" "where pi keeps its sessions"
# On a Mac, pages are opened and files put in the trash by programs of macOS.
mkdir "$T/mac"
printf '#!/bin/sh\necho Darwin\n' >"$T/mac/uname"
printf '#!/bin/sh\nprintf "%%s\\n" "${0##*/}" "$@" >"$RAN"\n' | tee "$T/mac/open" >"$T/mac/trash"
chmod 755 "$T"/mac/*
mac() { printf %b "$1" | PATH=$T/mac:$T/plain "$SESSIONFS" -S "$T/src" --pick >/dev/null 2>"$T/err" || die "$(cat "$T/err")"; }
mac '2\no\n'
is open "$(sed -n 1p "$RAN")" "the opener on a Mac"
grep -q 'title 29 said' "$(sed -n 2p "$RAN")" || die "the page on a Mac"
mac '2\nt\ny\n'
is "trash $T/src/--plain--/s29.jsonl" "$(xargs <"$RAN")" "the trash on a Mac"
# Columns are aligned, in characters. A long project shows its end; a session's age is as in pi's list.
python3 - "$T/aged" <<'END' || die "sessions of many ages"
import json, os, sys, time
for n, (project, age) in enumerate([("p", 2.5 / 24), ("\u00e9t\u00e9", 3.5), ("home-ada-a-directory-with-a-long-name-\u00e9", 10), ("\u00fc", 45), ("home-ada", 800)]):
    os.makedirs(f"{sys.argv[1]}/--{project}--")
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - age * 86400))
    with open(f"{sys.argv[1]}/--{project}--/s{n}.jsonl", "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": f"s{n}", "timestamp": at, "cwd": "/"}), file=f)
        print(json.dumps({"type": "message", "id": "a", "parentId": None, "timestamp": at, "message": {"role": "user", "content": f"title {n}"}}), file=f)
END
aligned() {
	source=$T/aged pick 'q\n'
	is "  2h  p                                      title 0
  3d  été                                    title 1
  1w  …directory-with-a-long-name-é          title 2
 1mo  ü                                      title 3
  2y  home-ada                               title 4" "$(sed -n 's/^ *[0-9]\t[-0-9]*  //p' "$T/err")" "columns ($1)"
}
aligned "awk"
# A session at work: its newest entry is of the last minute. Others are done, or changed before that.
mkdir -p "$T/work/p"
at_work() { # NAME ROLE AGE
	printf '%s\n' '{"type":"session","version":3,"id":"'"$1"'","timestamp":"2026-03-02T09:15:03.460Z","cwd":"/"}' \
		'{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"'"$(date -u -d "$3" +%FT%T.000Z)"'","message":{"role":"'"$2"'","content":[{"type":"text","text":"'"$1"'"}]}}' >"$T/work/p/$1.jsonl"
}
marks() {
	at_work busy user now
	at_work left user '2 minutes ago'
	at_work answered assistant now
	source=$T/work pick 'q\n'
	is "answered
busy  (pi at work)
left" "$(sed -n 's/^.*[0-9]\t[-0-9]* *[0-9a-z]*  p  *//p' "$T/err" | sort)" "the session at work ($1)"
}
marks "GNU date"
# The same with other tools.
for program in "$T"/plain/*; do ln -sf "$(command -v busybox)" "$program"; done
marks "BusyBox date"
aligned "BusyBox awk"
pick '1\np\n'
is "$odd" "$(cat "$T/out")" "the path of the odd one, with busybox"
pick '1\n\n' 'apple'
is "--session $T/src/--plain--/s27.jsonl" "$(tail -n 2 "$RAN" | xargs)" "the arguments of pi, with busybox"
rm "$T/bin/pi"
pick '2\n\n'
is "1 sessionfs: pi: not found" "$rc $(tail -n 1 "$T/err" | sed 's/.*: sessionfs/sessionfs/')" "no pi"

# --- with fzf, on a terminal ------------------------------------------------------------

printf '#!/bin/sh\n{ pwd -P && printf "%%s\\n" "$@"; } >"$RAN"\n' >"$T/bin/pi"
chmod 755 "$T/bin/pi"
tmux new-session -d -s keep "tail -f --pid=$$ /dev/null" # a server without sessions would end, and could refuse the next one
screen() { tmux capture-pane -p -t p; }
shows() { grep -qF -- "$1" < <(screen); }
ended() { [ -s "$T/rc" ]; }
begin() { # ARGUMENT...
	rm -f "$T/rc" "$RAN"
	tmux new-session -d -s p -x 120 -y 40 "$(printf '%q ' env "PATH=$T/bin:$PATH" "$SESSIONFS" -S "${source:-$T/src}" --pick "$@") >${out:-$T/out}; echo \$? >$T/rc; tail -f --pid=$$ /dev/null"
	await "the list ($*)" shows "Alt-T: trash"
	await "its rows ($*)" eval 'grep -qE "[0-9]/[1-9]" < <(screen)' # a key before them chooses nothing
}
press() { tmux send-keys -t p "$@"; }
end() { # STATUS WHAT
	await "the end of $2" ended
	is "$1" "$(cat "$T/rc")" "status of $2 ($(screen))"
	obeyed "a name ($2)"
	is "" "$(find "$T/tmp" -name 'sessionfs-pick*')" "files left after $2"
	[[ $(tmux display-message -p -t p '#{pane_title}') != *obeyed* ]] || die "the terminal obeyed a title"
	tmux kill-session -t p
}
begin
await "the preview of the odd one" shows "?]2;obeyed??[31m?32m?2;obeyed??"
! shows $'\e' || die "an escape on the screen"
press Down
await "the preview" shows "title 29 said"
press Enter
end 0 "Enter"
is "$T/cwd/d29
--session
$T/src/--plain--/s29.jsonl" "$(cat "$RAN")" "what pi is given"
begin 'apple'
press "'07"
await "the only one" shows "1/3"
press M-f
end 0 "Alt-F"
is "$T/cwd/d07
--fork
$T/src/--plain--/s07.jsonl" "$(cat "$RAN")" "what pi is to fork"
begin 'title said "07"'
press M-p
end 0 "one that a query finds"
is "$T/src/--plain--/s07.jsonl" "$(cat "$T/out")" "its path"
begin
press M-p
end 0 "Alt-P"
is "$odd" "$(cat "$T/out")" "the path of the odd one"
out=/dev/stdout begin
press M-p
await "its path on the terminal" shows '?]2;obeyed? ?32m'
end 0 "Alt-P on a terminal"
begin
press Escape
end 1 "Escape"
# With --redact the preview has no key, in the hits and in the conversation, and neither has the page.
source=$T/keyed
mkdir -p "$source/--w--"
key=npm_$(printf 'example0%.0s' 1 2 3 4)1234
printf '%s\n' '{"type":"session","version":3,"id":"keyed","timestamp":"2026-04-01T09:15:03.460Z","cwd":"/w"}' \
	'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"keep '"$key"'"}}' >"$source/--w--/keyed.jsonl"
begin --redact keep
await "the preview" eval '[[ $(screen) == *"user: keep "*"## user"*"keep "* ]]'
! shows "${key:0:12}" || die "a key on the screen"
press M-o
end 0 "Alt-O with --redact"
is "keep" "$(grep -o -e 'keep' -e "${key:0:12}" "$(cat "$RAN")" | sort -u)" "words of the page"
# Subagents after Alt-A; the preview begins at the hits.
source=$T/agents
begin apple
await "hits before the conversation" eval '[[ $(screen) == *"user: an apple"*"## user"*"an apple"* ]]'
! shows "Dig" || die "a subagent is listed"
press Down
await "both hits" shows "user: an apple tree"
press M-a
await "all sessions" shows "3/3"
await "the subagent" shows "Dig  (subagent of Plant"
press M-p
end 0 "Alt-A"
source=
# The newest sessions are there before the others are read, and can be chosen. A gate holds back what is asked of all.
python3 - "$T/many" <<'END' || die "many sessions"
import json, os, sys
for i in range(1, 31):
    file = f"{sys.argv[1]}/--p{i % 3}--/s{i:02}.jsonl"
    os.makedirs(os.path.dirname(file), exist_ok=True)
    at = f"2026-03-{i:02}T09:15:03.460Z"
    with open(file, "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": f"id{i}", "timestamp": at, "cwd": "/"}), file=f)
        print(json.dumps({"type": "message", "id": "a", "parentId": None, "timestamp": at, "message": {"role": "user", "content": f"title {i:02} " + ("apple" if i % 3 else "pear")}}), file=f)
    os.utime(file, (1773000000 + i * 86400,) * 2)
END
cat >"$T/gated" <<END
#!/bin/sh
case "\$2 \$3 \$4" in "$T/many --cat sessions.tsv" | "$T/many --search"*) while [ ! -e "$T/gate" ]; do sleep 0.1; done ;; esac
exec "$SESSIONFS" "\$@"
END
chmod 755 "$T/gated"
start_gated() { # ARGUMENT...
	rm -f "$T/rc" "$T/gate"
	tmux new-session -d -s p -x 120 -y 40 "$(printf '%q ' env "PATH=$T/bin:$PATH" sh "$ROOT/scripts/sessionfs-pick" "$T/gated" "$T/many" "$@") >$T/out; echo \$? >$T/rc; tail -f --pid=$$ /dev/null"
}
no_program_left() { ! pgrep -f "$T/many" >/dev/null; }
begin_gated() {
	start_gated "$@"
	await "the newest ($*)" shows "the newest of 30 sessions; the others follow"
}
begin_gated
await "their number" shows "20/20"
press Down
await "the preview" shows "title 29 apple"
touch "$T/gate"
await "all of them" shows "30/30"
await "the columns" shows "Changed      Age  Project  Worked  Title"
press Escape
end 1 "Escape"
begin_gated apple
await "the newest with a match" shows "13/13"
press M-p
end 0 "Alt-P before all are searched"
is "$T/many/--p2--/s29.jsonl" "$(cat "$T/out")" "the newest with a match"
await "the end of the search" no_program_left
begin_gated apple
press M-a
touch "$T/gate"
await "all that match" shows "20/20"
press Escape
end 1 "Escape"
# Without a match in the newest, the list comes with the others.
source=$T/many
begin '"title 01"'
await "an older one" shows "1/1"
press Escape
end 1 "Escape"
start_gated '"title 01"'
await "the search" pgrep -f "$T/many --search=.title 01" >/dev/null
sleep 0.5 # the newest are searched first
kill -INT "$(pgrep -xf "sh $ROOT/scripts/sessionfs-pick $T/gated $T/many .title 01.")"
end 130 "the interrupt key"
await "the end of the search" no_program_left
# An older fzf cannot replace its list.
printf '#!/bin/sh\n[ "$1" != --version ] || exec echo "0.29 (debian)"\nexec %s "$@"\n' "$(command -v fzf)" >"$T/bin/fzf"
chmod 755 "$T/bin/fzf"
begin
await "all of them" shows "30/30"
press Escape
end 1 "Escape"
rm "$T/bin/fzf"
source=
# The trash: only after a yes.
for answer in n y; do
	begin
	press M-t
	await "the question" shows "in the trash?"
	[ -e "$odd" ] || die "it was thrown away before it was asked for"
	press $answer Enter
	end "$([ $answer = y ]; echo $?)" "trash: $answer"
	is "$([ $answer = n ]; echo $?)" "$([ -e "$odd" ]; echo $?)" "whether it is there after $answer"
done
is "$odd" "$(without_others trash-list | sed 's/^[^ ]* [^ ]* //')" "the files in the trash"
begin
await "the list without it" shows "29/29"
press Escape
end 1 "Escape"
