#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# path and resume: pi gets the session file, in the session's directory or, if it has none, in one that exists, whatever
# bytes the names contain; otherwise there is an error and pi does not start. On a terminal, the script asks before a
# second pi continues a session that is working and changed in the last minute.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3 dash busybox
mkdir -p "$T/bin" "$T/cwd" "$T/src/--odd--"
cat >"$T/bin/pi" <<'END'
#!/bin/sh
{ pwd -P && printf 'x\0' && printf '%s\0' "$@"; } >"$RAN"
END
chmod 755 "$T/bin/pi"
export RAN=$T/ran PATH=$T/bin:$PATH CDPATH=$T OLDPWD=$T
cat >"$T/make.py" <<'END'
import json, os, sys
src, cwds = (os.fsencode(a) for a in sys.argv[1:])
NAMES = [b"plain", b"two words", b"it's", b'"quoted"', b"$HOME `id` $(id)", b"a\nb", b"end\n", b"-x", b"back\\slash\\", b"\\", b"'\\''",
         b"*?[a]", b"~", b"#!;&|<>", b"\xc3\xa9\xe2\x82\xac", b"tab\tcr\r", b"bad\xff\x81\x88"]
for i, name in enumerate(NAMES):
    os.mkdir(os.path.join(cwds, name))
    cwd = json.dumps(os.fsdecode(os.path.join(cwds, name)), ensure_ascii=False).encode("utf-8", "surrogateescape")
    with open(os.path.join(src, b"--odd--", b"%02d " % i + name + b".jsonl"), "wb") as f:
        f.write(b'{"type":"session","version":3,"id":"n%02d","timestamp":"2026-03-02T09:15:03.460Z","cwd":%s}\n' % (i, cwd))
for name, cwd in [("old", "/no such/directory"), ("odd", os.fsdecode(os.path.join(cwds, NAMES[-1]))), ("gone", "/no such/directory"), ("gone it's \\n $HOME", "/no \x1b]0;x\x07such\n\u009b1m"), ("gone \x1b[7m", "/no such/directory"), ("none", None), ("number", 7), ("empty", ""), ("dash", "-"), ("nul", os.fsdecode(cwds) + "\0"),
                  ("file", "/etc/passwd"), ("here", "-r"), ("home", "~")]:
    header = {"type": "session", "version": 2 if name == "old" else 3, "id": name, "timestamp": "2026-03-02T09:15:03.460Z", "cwd": cwd}
    with open(os.path.join(src, b"--odd--", os.fsencode(name) + b".jsonl"), "w", errors="surrogateescape") as f:
        f.write(json.dumps({k: v for k, v in header.items() if v is not None}, ensure_ascii=False) + "\n")
END
cat >"$T/check.py" <<'END'
import os, re, subprocess, sys
src, mnt, *sh = (os.fsencode(a) for a in sys.argv[1:])
ran, n = os.environb[b"RAN"], 0
for link in sorted(os.listdir(mnt + b"/sessions")):
    s = mnt + b"/sessions/" + link
    path = open(s + b"/path", "rb").read()
    assert path == open(s + b"/path", "rb").read() and len(path) == os.stat(s + b"/path").st_size
    assert os.path.samefile(path[:-1], src + b"/--odd--/" + path[:-1].split(b"/--odd--/", 1)[1]), path
    assert open(path[:-1], "rb").read() == open(s + b"/session.jsonl", "rb").read()
    if os.path.exists(ran):
        os.unlink(ran)
    run = subprocess.run([*sh, s + b"/resume", "-p", "it's \\ \n", ""], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    if link == b"odd":
        continue
    # pi decodes each byte of a path that is not UTF-8 as U+FFFD, and would begin another session.
    has_none = link in (b"none", b"number", b"empty")
    if not has_none and (link[:1] != b"n" or link == b"nul" or b"\xff" in path):
        assert run.returncode != 0 and run.stderr and not run.stdout and not os.path.exists(ran), (link, run)
        assert not re.search(rb"[^\n -~]", run.stderr) and run.stderr.count(b"\n") <= 2, (link, run)
        # The suggested command, pasted into a shell. For an impossible directory there is only an error.
        if b"\xff" not in path and b"\x1b" not in path and link != b"nul":
            subprocess.run([b"sh", b"-c", run.stderr.split(b"resume: to continue elsewhere: ", 1)[1]], check=True)
            # pi does not convert a file that it forks.
            how = b"--session\0" if link == b"old" else b"--fork\0"
            assert open(ran, "rb").read().split(b"\nx\0", 1)[1] == how + path[:-1] + b"\0", (link, run)
        continue
    assert run.returncode == 0 and not run.stderr and not run.stdout, (link, run)
    cwd, args = open(ran, "rb").read().split(b"\nx\0", 1)
    name = os.path.basename(path[:-len(b".jsonl\n")])[3:]
    assert cwd == (b"/" if has_none else os.path.realpath(os.path.dirname(src)) + b"/cwd/" + name), (link, cwd)
    assert args == b"--session\0" + path[:-1] + b"\0-p\0it's \\ \n\0\0", (link, args)
    n += 1
assert n == 19, n
END
python3 "$T/make.py" "$T/src" "$T/cwd"
for o in "" "-oro"; do
	mount_fs "$T/src" "$T/mnt" $o
	python3 "$T/check.py" "$T/src" "$T/mnt" || die "resume, run by the kernel ($o)"
	for sh in dash bash "bash --posix" "busybox sh"; do
		# shellcheck disable=SC2086
		python3 "$T/check.py" "$T/src" "$T/mnt" $sh || die "resume, run by $sh ($o)"
	done
	# A directory without a leading slash is relative to the current one.
	(cd "$T" && mkdir -p ./-r && "$T/mnt/sessions/here/resume" && is "$T/-r" "$(head -n 1 "$RAN")" "a relative directory")
	(cd "$T/bin" && "$T/mnt/sessions/none/resume" && is "$T/bin" "$(head -n 1 "$RAN")" "no directory")
	"$T/mnt/sessions/odd/resume" && is "$T/cwd/"$'bad\xff\x81\x88' "$(head -n 1 "$RAN")" "a directory that is not UTF-8"
	refused=$(grep -rlaF 'is not UTF-8' "$T"/mnt/projects/*/*/resume)
	fails 1 "its path is not UTF-8" "$refused"
	matches NUL "$("$T/mnt/sessions/nul/resume" 2>&1)" "a directory with NUL in its name"
	is "$(stat -Lc %y "$T/mnt/sessions/gone/session.jsonl")" "$(stat -Lc %y "$T/mnt/sessions/gone/resume")" "mtime of resume"
	is "$(stat -Lc %y "$T/mnt/sessions/gone/session.jsonl")" "$(stat -Lc %y "$T/mnt/sessions/gone/path")" "mtime of path"
	is "555 444" "$(stat -Lc %a "$T/mnt/sessions/gone/resume" "$T/mnt/sessions/gone/path" | xargs)" "modes"
	umount_fs "$T/mnt"
done
chmod 640 "$T/src/--odd--/gone.jsonl"
mount_fs "$T/src" "$T/mnt"
is 550 "$(stat -Lc %a "$T/mnt/sessions/gone/resume")" "x where it has r"
umount_fs "$T/mnt"

# --- pi at work ------------------------------------------------------------------------

mkdir -p "$T/work/p"
busy="$T/work/p/it's \\ \$(touch obeyed) "$'\n'.jsonl
say() { # ROLE [VERSION]
	printf '%s\n' '{"type":"session","version":'"${2:-3}"',"id":"busy","timestamp":"2026-03-02T09:15:03.460Z","cwd":"'"$T"'/cwd"}' \
		'{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-03-02T09:15:04.460Z","message":{"role":"'"$1"'","content":[{"type":"text","text":"Hi"}]}}' >"$busy"
}
cat >"$T/terminal.py" <<'END'
import os, pty, subprocess, sys
answer, *command = sys.argv[1:]
terminal, end = pty.openpty()
os.write(terminal, os.fsencode(answer))
run = subprocess.Popen(command, stdin=end, stdout=end, stderr=end)
os.close(end)
shown = b""
try:
    while got := os.read(terminal, 65536):
        shown += got
except OSError:
    pass
sys.stdout.buffer.write(b"%d " % run.wait() + shown.replace(b"\r", b""))
END
on_terminal() { # ANSWER COMMAND...: sets $shown and $ran
	rm -f "$RAN"
	shown=$(python3 "$T/terminal.py" "$@")
	ran=$([ ! -e "$RAN" ] || tr '\0' '\n' <"$RAN")
}
given() { # --session or --fork: what pi gets
	printf '%s\nx\n%s\n%s\n-p' "$T/cwd" "$1" "$busy"
}
quiet() { [[ $1 != *"at work"* ]] || die "a question $2: $1"; }
say user
mount_watched "$T/work" "$T/mnt"
resume=$T/mnt/sessions/busy/resume
"$SESSIONFS" -S "$T/work" --copy / "$T/copy" >/dev/null 2>&1 || die "the copy"
copied=$(find "$T/copy" -name resume -type f)
touch "$busy"
for run in "" dash bash "busybox sh"; do
	for script in "$resume" "$copied"; do
		# shellcheck disable=SC2086
		on_terminal $'f\n' $run "$script" -p
		is "$(given --fork)" "$ran" "the fork ($run $script)"
		matches "resume: pi seems to be at work in this session" "$shown" "the question ($run $script)"
	done
done
on_terminal $'c\n' "$resume" -p
is "$(given --session)" "$ran" "to continue anyway"
say user 2
await "an old version" eval '[ "$(jq .version "$T/mnt/sessions/busy/info.json")" = 2 ]'
on_terminal $'f\n' "$resume" -p
is "1 " "${shown%% *} $ran" "a fork of an old version"
matches "c: continue anyway, Enter: leave: " "$shown" "the question of an old version"
! grep -q "f: fork" <<<"$shown" || die "a fork of an old version is offered"
on_terminal $'c\n' "$resume" -p
is "$(given --session)" "$ran" "to continue an old version"
say user
await "the new version" eval '[ "$(jq .version "$T/mnt/sessions/busy/info.json")" = 3 ]'
touch "$busy"
for answer in $'\n' $'y\n' $'fork\n' $'\004'; do
	on_terminal "$answer" "$resume" -p
	is "1 " "${shown%% *} $ran" "another answer ($answer)"
done
for run in '</dev/null' '| cat' '2>/dev/null'; do
	on_terminal '' sh -c '"$0" -p '"$run" "$resume"
	quiet "$shown" "with $run"
	is "$(given --session)" "$ran" "with $run"
done
# The script decides when it runs: its text is the same later.
text=$(cat "$resume")
touch -d '2 minutes ago' "$busy"
on_terminal '' sh "$copied" -p
quiet "$shown" "after a minute"
is "$(given --session)" "$ran" "after a minute"
is "$text" "$(cat "$resume")" "the script after a minute"
say assistant
await "the end of the answer" eval '[ "$(cat "$T/mnt/sessions/busy/state")" = done ]'
touch "$busy"
on_terminal '' "$resume" -p
quiet "$shown" "of a session that is done"
is "$(given --session)" "$ran" "a session that is done"
