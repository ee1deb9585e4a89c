#!/usr/bin/env bash
# Every command that the README and the manual show works, and prints what they say.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3 jq rsync rg
export HOME=$T/home
mkdir -p "$HOME" "$T/bin"

# The program as if it were installed; set-up as a plan: tests/e2e/demo.sh and install.sh show that
# it works, and this is make check.
ln -s "$SESSIONFS" "$T/bin/sessionfs"
cat >"$T/bin/sudo" <<'END'
#!/bin/sh
exec "$@"
END
cat >"$T/bin/make" <<END
#!/bin/sh
case \$1 in
install | uninstall) exec /usr/bin/make -s -C "$ROOT" BUILD="$(dirname "$SESSIONFS")" DESTDIR="$T/root" "\$@" ;;
*) exec /usr/bin/make -s -C "$ROOT" -n "\$@" >/dev/null ;;
esac
END
# What systemd does with our unit: tests/e2e/systemd.sh shows that it can read it.
cat >"$T/bin/systemctl" <<END
#!/bin/bash
commands() { sed -n "s/^\$1=-\?//p" "$ROOT/scripts/systemd/sessionfs.service" | sed "s|%h|\$HOME|g"; }
case "\$*" in
"--user enable --now /usr/local/share/doc/sessionfs/sessionfs.service") source <(commands ExecStartPre && commands ExecStart) ;;
"--user disable --now sessionfs.service") source <(commands ExecStopPost) ;;
*) exit 1 ;;
esac
END
chmod +x "$T/bin/sudo" "$T/bin/make" "$T/bin/systemctl"
export PATH=$T/bin:$PATH

# Each document begins with the samples as they are: what one writes is not in the way of the next.
fresh() {
	rm -rf "$HOME/.pi" "$HOME/backup"
	samples "$HOME/.pi/agent/sessions"
	samples "$HOME/backup"
}
cd "$HOME"
for document in README.md man/sessionfs.1; do
	fresh
	python3 "$ROOT/tests/lib/examples.py" "$ROOT/$document" || die "$document"
	is "" "$(mounts_below)" "what $document left mounted"
done
fresh
mount_fs "$HOME/.pi/agent/sessions" "$T/mnt"
cd "$T/mnt"
python3 "$ROOT/tests/lib/examples.py" "$ROOT/man/sessionfs.5" || die "sessionfs.5"
