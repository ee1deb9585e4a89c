#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make install installs the program and its manual, and make uninstall removes them.
. "$(dirname "$0")/../lib/lib.sh"
need make mandoc zsh fish
# make takes no absolute path with a blank.
build=$(realpath --relative-to="$ROOT" "$(dirname "$SESSIONFS")")
make -s -o "$build/sessionfs" -C "$ROOT" install BUILD="$build" PREFIX=/opt/x DESTDIR="$T/root" || die "make install ended with $?"
is "755 ./opt/x/bin/sessionfs
644 ./opt/x/lib/systemd/user/sessionfs.service
644 ./opt/x/share/bash-completion/completions/sessionfs
644 ./opt/x/share/doc/sessionfs/examples/fstab
644 ./opt/x/share/doc/sessionfs/skill/sessionfs/SKILL.md
644 ./opt/x/share/fish/vendor_completions.d/sessionfs.fish
644 ./opt/x/share/man/man1/sessionfs.1
644 ./opt/x/share/man/man5/sessionfs.5
644 ./opt/x/share/man/man7/sessionfs.7
644 ./opt/x/share/zsh/site-functions/_sessionfs" "$(cd "$T/root" && find . -type f -printf '%m %p\n' | sort -k2)" "installed files"
is "$("$SESSIONFS" -V)" "$("$T/root/opt/x/bin/sessionfs" -V)" "the installed program"
mandoc -T markdown "$T/root/opt/x/share/man/man5/sessionfs.5" | grep transcript.md >/dev/null || die "the installed manual"
for n in 1 5 7; do
	is ".Os $("$SESSIONFS" -V | sed -n 1p)" "$(grep '^\.Os' "$T/root/opt/x/share/man/man$n/sessionfs.$n")" "the version in sessionfs($n)"
done
unit=$T/root/opt/x/lib/systemd/user/sessionfs.service
is 'ExecStart="/opt/x/bin/sessionfs" -f %h/pi' "$(grep ^ExecStart= "$unit")" "the program in the unit"
matches 'ln -s "/opt/x/share/doc/sessionfs/skill/sessionfs"' "$(cat "$T/root/opt/x/share/man/man7/sessionfs.7")" "the skill in the manual"
make -s -C "$ROOT" uninstall PREFIX=/opt/x DESTDIR="$T/root" || die "make uninstall ended with $?"
make -s -C "$ROOT" uninstall PREFIX=/opt/x DESTDIR="$T/root" || die "a second make uninstall ended with $?"
[ ! -e "$T/root/opt/x/share/doc/sessionfs" ] || die "uninstall left the directory of documents"
is "" "$(find "$T/root" ! -type d)" "files left by uninstall"
make -s -o "$build/sessionfs" -C "$ROOT" install BUILD="$build" DESTDIR="$T/root" || die "make install ended with $?"
[ -x "$T/root/usr/local/bin/sessionfs" ] || die "the default place is not /usr/local"
is "$T/root/etc $T/root/usr" "$(echo "$T"/root/[a-n,p-z]*)" "where else it installs: /etc, for fish"

# For one user, in a home with a blank and characters that are special to sed and systemd; found by that user's systemd.
home="$T/ada & 100%"
own() { HOME=$home make -s -o "$build/sessionfs" -C "$ROOT" "$1" BUILD="$build" PREFIX="$home/.local" || die "make $1 in $home ended with $?"; }
own install
nothing "the program of one user" cmp "$SESSIONFS" "$home/.local/bin/sessionfs"
matches "ln -s \"$home/.local/share/doc/sessionfs/skill/sessionfs\"" "$(cat "$home/.local/share/man/man7/sessionfs.7")" "the skill in that user's manual"
is "ExecStart=\"${home//%/%%}/.local/bin/sessionfs\" -f %h/pi" "$(grep ^ExecStart= "$home/.local/share/systemd/user/sessionfs.service")" "the program in that user's unit"
own uninstall
is "" "$(find "$home" ! -type d)" "files left by uninstall in that home"

# The shells find the completions in their default directories, each below $T/root.
unset XDG_DATA_DIRS
export HOME=$T/home
mkdir "$HOME"
found() { # WHERE: the completions each shell has for sessionfs
	# shellcheck disable=SC2016
	is _sessionfs "$(zsh -f -c 'fpath=($1$^fpath $fpath); autoload -U compinit && compinit -u -D; print $_comps[sessionfs]' zsh "$T/root")" "zsh, $1"
	# shellcheck disable=SC2016
	is --source "$(PATH=$(dirname "$SESSIONFS"):$PATH fish -c 'set fish_complete_path $argv[1]$fish_complete_path; complete -C "sessionfs --sour"' "$T/root" | cut -f1)" \
		"fish, $1"
	XDG_DATA_DIRS=$T/root/usr/local/share:$T/root/usr/share bash -c '. /usr/share/bash-completion/bash_completion; __load_completion sessionfs' || die "bash, $1"
}
found "from source"
make -s -C "$ROOT" uninstall DESTDIR="$T/root"
is "" "$(find "$T/root" ! -type d)" "files left by uninstall in the default places"
make -s -o "$build/sessionfs" -C "$ROOT" install BUILD="$build" DESTDIR="$T/root" PREFIX=/usr ZSHDIR=/usr/share/zsh/vendor-completions
found "from Debian's package"
