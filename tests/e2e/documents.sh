#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every command in the README and the manual works and prints the output they show.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3 jq rsync rg mergerfs bwrap unshare git patch restic sqlite3
export HOME=$T/home
mkdir -p "$HOME" "$T/bin"
export RESTIC_PASSWORD=secret

# The program as if installed; setup is only printed: tests/e2e/demo.sh and install.sh check it, and this is part of
# make check.
ln -s "$SESSIONFS" "$T/bin/sessionfs"
[ "$(id -u)" -eq 0 ] || grep -q '^user_allow_other' /etc/fuse.conf || { # which only root can enable
	rm "$T/bin/sessionfs"
	printf '#!/bin/bash\nexec -a sessionfs "%s" "${@/%%,allow_other/}"\n' "$SESSIONFS" >"$T/bin/sessionfs"
}
cat >"$T/bin/sudo" <<'END'
#!/bin/sh
exec "$@"
END
# make takes no absolute path with a blank.
build=$(realpath --relative-to="$ROOT" "$(dirname "$SESSIONFS")")
cat >"$T/bin/make" <<END
#!/bin/sh
case \$1 in
install | uninstall) exec /usr/bin/make -s -C "$ROOT" BUILD="$build" DESTDIR="$T/root" "\$@" ;;
*) exec /usr/bin/make -s -C "$ROOT" -n "\$@" >/dev/null ;;
esac
END
# tests/package/run checks that the result of make deb can be installed.
cat >"$T/bin/apt" <<'END'
#!/bin/sh
[ "$*" = "install ./dist/sessionfs_*.deb" ]
END
# The unit in systemd: tests/e2e/systemd.sh checks that it parses.
cat >"$T/bin/systemctl" <<END
#!/bin/bash
commands() { sed -n "s/^\$1=-\?//p" "$ROOT/scripts/systemd/sessionfs.service" | sed 's|%h|~|g; s/[\$][\$]/\$/g'; }
case "\$*" in
"--user enable --now sessionfs") source <(commands ExecStartPre && commands ExecStart | sed 's/ -f / /') ;;
"--user disable --now sessionfs") sessionfs -u ~/pi ;;
*) exit 1 ;;
esac
END
# A page exists, whole: tests/browser checks it in a browser.
cat >"$T/bin/xdg-open" <<'END'
#!/bin/sh
tail -n 1 "$1" | grep '</html>' >&2
END
printf '#!/bin/sh\nexec xdg-open "$3"\n' >"$T/bin/chromium"
# A second is ten programs that sleep for a tenth of it: longer on a busy machine.
cat >"$T/bin/timeout" <<'END'
#!/bin/bash
"${@:2}" &
for ((left = 10 * $1; left > 0; left--)); do kill -0 $! 2>/dev/null && sleep 0.1; done
kill $! && exit 124
wait $!
END
# An agent that answers once it is watched, in the given session or the newest one, from the directory it belongs to.
cat >"$T/bin/pi" <<'END'
#!/bin/bash
file=$(ls -t ~/.pi/agent/sessions/*/*.jsonl | sed -n 1p)
[ "$1" != --session ] || file=$2
if [ "$1" = --fork ]; then
	file=~/.pi/agent/sessions/--elsewhere--/fork.jsonl
	mkdir -p ~/.pi/agent/sessions/--elsewhere--
	{ jq -nc --arg parent "$2" '{type: "session", version: 3, id: "fork", parentSession: $parent}' && tail -n +2 "$2"; } >"$file"
fi
[ "$1" != --session ] || [ "$PWD" = "$(head -n 1 "$file" | jq -r .cwd)" ] || exit 1
own_watcher() { # other tests have some, too
	local pid
	for pid in $(pgrep -x -f 'sessionfs --events'); do grep -sqzxF "HOME=$HOME" "/proc/$pid/environ" && echo "$pid" || :; done
}
asleep=0
for _ in {1..20}; do # some of them are not watched
	watcher=$(own_watcher) && [ "$watcher" ] && [[ $(ps -o state= -p "$watcher") == S ]] && asleep=$((asleep + 1)) || asleep=0
	[ $asleep -lt 3 ] || break
	sleep 0.1
done
parent=$(tail -n 1 "$file" | jq .id)
echo '{"type":"message","id":"0000beef","parentId":'"$parent"',"message":{"role":"user","content":"And tomorrow?"}}' >>"$file"
parent='"0000beef"'
for _ in {1..50}; do # it works for a moment; some of them are not watched
	[ -e ~/pi/latest/state ] && [ "$(cat ~/pi/latest/state)" != working ] || break
	sleep 0.1
done
echo '{"type":"message","id":"0000dead","parentId":'"$parent"',"message":{"role":"assistant","content":"Yes.","stopReason":"stop"}}' >>"$file"
END
chmod +x "$T"/bin/*
export PATH=$T/bin:$PATH

# Each document begins with the original samples, unaffected by changes of the one before.
fresh() {
	local name file=$HOME/.pi/agent/sessions/--${FORECAST#projects/}.jsonl
	file=${file/weather\//weather--/}
	rm -rf "$HOME/.pi" "$HOME/elsewhere" "$HOME/backup" "$HOME/saved" "$HOME/restored" "$HOME/old" "$HOME/pi" "$HOME/laptop" "$HOME/all" "$HOME/chosen" "$HOME/shared" "$HOME/weather" "$HOME/.openclaw"
	samples "$HOME/.pi/agent/sessions"
	samples "$HOME/backup"
	# The sessions of another machine.
	mkdir -p "$HOME/laptop/--home-ada-garden--"
	cp "$HOME/backup/--home-ada-notes--"/2025-12-14*.jsonl "$HOME/laptop/--home-ada-garden--/"
	# A commit of what a session changed.
	git init -q "$HOME/weather"
	: >"$HOME/weather/weather.py"
	git -C "$HOME/weather" add weather.py
	GIT_COMMITTER_DATE=2026-03-02T09:20:00Z git -C "$HOME/weather" -c user.name=ada -c user.email=ada@localhost commit -qm "Add a forecast"
	# The sessions of an agent of OpenClaw, one of them an archive.
	mkdir -p "$HOME/.openclaw/agents/main/sessions"
	for name in c1a7.jsonl c1a7.jsonl.reset.2026-03-01T08-00-00.000Z; do
		echo '{"type":"session","version":3,"id":"c1a7","timestamp":"2026-03-01T07:00:00.000Z","cwd":"/home/ada/claw"}' \
			>"$HOME/.openclaw/agents/main/sessions/$name"
	done
	# A session whose directory exists.
	touch -r "$file" "$T/time"
	sed -i "1s|\"cwd\":\"[^\"]*\"|\"cwd\":\"$HOME\"|" "$file"
	touch -r "$T/time" "$file"
	# A call of another agent.
	file=$(echo "$HOME/.pi/agent/sessions/--home-ada-weather--"/2026-03-03*.jsonl)
	mkdir -p "${file%.jsonl}/run-0"
	{
		echo '{"type":"session","version":3,"id":"run-0","cwd":"/home/ada/weather"}'
		echo '{"type":"message","id":"0a","parentId":null,"message":{"role":"user","content":"Look it up."}}'
	} >"${file%.jsonl}/run-0/session.jsonl"
	touch -r "$file" "${file%.jsonl}/run-0/session.jsonl"
}
# The targets of the project's pages exist.
(cd "$ROOT" && grep -ohE '\]\([^):#]+\)' -- *.md | tr -d '])(' | sort -u | while read -r file; do
	[ -e "$file" ] || die "$file: a document links to it, but it is missing"
done) || exit 1
cd "$HOME"
for document in README.md man/sessionfs.1 man/sessionfs.7; do
	# A command of this page expects the changes of the one before, which a portable build sees a second later.
	[ "$document" != man/sessionfs.7 ] || ! is_portable || continue
	fresh
	# A session that a provider refuses.
	python3 "$ROOT/tests/lib/refused.py" ~/refused/--home-ada-rain--/rain.jsonl ~
	python3 "$ROOT/tests/lib/examples.py" "$ROOT/$document" || die "$document"
	is "" "$(mounts_below)" "mounts left by $document"
done
fresh
mount_fs "$HOME/.pi/agent/sessions" "$T/mnt"
cd "$T/mnt"
python3 "$ROOT/tests/lib/examples.py" "$ROOT/man/sessionfs.5" || die "sessionfs.5"
