#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make install puts the program and its manual in their places, make uninstall takes them away.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need make mandoc
make -s -o "$SESSIONFS" -C "$ROOT" install BUILD="$(dirname "$SESSIONFS")" PREFIX=/opt/x DESTDIR="$T/root" || die "make install ended with $?"
is "755 ./opt/x/bin/sessionfs
644 ./opt/x/lib/systemd/user/sessionfs.service
644 ./opt/x/share/bash-completion/completions/sessionfs
644 ./opt/x/share/doc/sessionfs/examples/fstab
644 ./opt/x/share/doc/sessionfs/skill/sessionfs/SKILL.md
644 ./opt/x/share/fish/vendor_completions.d/sessionfs.fish
644 ./opt/x/share/man/man1/sessionfs.1
644 ./opt/x/share/man/man5/sessionfs.5
644 ./opt/x/share/man/man7/sessionfs.7
644 ./opt/x/share/zsh/vendor-completions/_sessionfs" "$(cd "$T/root" && find . -type f -printf '%m %p\n' | sort -k2)" "installed files"
is "$("$SESSIONFS" -V)" "$("$T/root/opt/x/bin/sessionfs" -V)" "the installed program"
mandoc -T markdown "$T/root/opt/x/share/man/man5/sessionfs.5" | grep transcript.md >/dev/null || die "the installed manual"
for n in 1 5 7; do
	is ".Os $("$SESSIONFS" -V | head -n 1)" "$(grep '^\.Os' "$T/root/opt/x/share/man/man$n/sessionfs.$n")" "the version in sessionfs($n)"
done
unit=$T/root/opt/x/lib/systemd/user/sessionfs.service
is "ExecStart=/opt/x/bin/sessionfs -f %h/pi" "$(grep ^ExecStart= "$unit")" "the program in the unit"
make -s -C "$ROOT" uninstall PREFIX=/opt/x DESTDIR="$T/root" || die "make uninstall ended with $?"
make -s -C "$ROOT" uninstall PREFIX=/opt/x DESTDIR="$T/root" || die "a second make uninstall ended with $?"
[ ! -e "$T/root/opt/x/share/doc/sessionfs" ] || die "uninstall left the directory of documents"
is "" "$(find "$T/root" ! -type d)" "what uninstall left"
make -s -o "$SESSIONFS" -C "$ROOT" install BUILD="$(dirname "$SESSIONFS")" DESTDIR="$T/root" || die "make install ended with $?"
[ -x "$T/root/usr/local/bin/sessionfs" ] || die "the default place is not /usr/local"
