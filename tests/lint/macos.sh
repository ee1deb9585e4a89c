#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Imitates a Mac as far as Linux can: make builds without libfuse, and installs no unit, with options that BSD's tools have;
# the scripts that are installed or embedded use no other options; scripts/sessionfs.rb is Ruby.
. "$(dirname "$0")/../lib/lib.sh"
need make cc
unset MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS BUILD
cd "$ROOT"

mkdir "$T/bin"
cat >"$T/bin/cc" <<'END2'
#!/bin/sh
[ "$1" != -dumpmachine ] || { echo arm64-apple-darwin24.6.0 && exit; }
exec /usr/bin/cc "$@"
END2
printf '#!/bin/sh\necho /opt/homebrew\n' >"$T/bin/brew"
# Tools that refuse what BSD's do not have.
cat >"$T/bin/install" <<'END2'
#!/bin/sh
case " $* " in *" -D "*) echo "install: illegal option -- D" >&2 && exit 64 ;; esac
exec /usr/bin/install "$@"
END2
printf '#!/bin/sh\nexit 1\n' >"$T/bin/nproc"
chmod 755 "$T"/bin/*
export PATH=$T/bin:$PATH

plan=$(make -n V=1 BUILD="$T/build" PKG_CONFIG=false)
for flag in -DSESSIONFS_NO_FUSE -DSESSIONFS_PORTABLE src/base/sys_portable.c -I/opt/homebrew/include -L/opt/homebrew/lib; do
	grep -qF -e "$flag" <<<"$plan" || die "make on a Mac does not use $flag"
done
for flag in src/base/sys_linux.c src/fuse/ -lmd' ' -lfuse3 relro; do
	! grep -F -e "$flag" <<<"$plan" || die "make on a Mac uses $flag"
done

mkdir -p "$T/build"
cp "$SESSIONFS" "$T/build/sessionfs"
for prefix in /opt/homebrew /usr/local; do
	make -s -o "$T/build/sessionfs" install BUILD="$T/build" PREFIX=$prefix DESTDIR="$T/root" || die "make install ended with $?"
	is "bin/sessionfs
share/bash-completion/completions/sessionfs
share/doc/sessionfs/skill/sessionfs/SKILL.md
share/fish/vendor_completions.d/sessionfs.fish
share/man/man1/sessionfs.1
share/man/man5/sessionfs.5
share/man/man7/sessionfs.7
share/zsh/site-functions/_sessionfs" "$(cd "$T/root$prefix" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)" "installed files in $prefix"
	make -s uninstall BUILD="$T/build" PREFIX=$prefix DESTDIR="$T/root" || die "make uninstall ended with $?"
done
is "" "$(find "$T/root" ! -type d)" "files left by uninstall, or outside of the prefix"

# Options and programs that BSD lacks, or that mean something else there.
rules=(
	'sed (-[nE]* )*(-i|--)' '(^|[^-[:alnum:]])(head|sed|date|sort|cut|wc|ls|rm|cp|mv|ln|mkdir|mktemp|tail|find|xargs|readlink|stat|cat|tr) ([^|;]* )?--[a-z]'
	'readlink -[fem]' realpath 'date (-[du]* )?(-d|-I|-r )' 'grep -[a-zA-Z]*P' 'find [^|;]*-(printf|regextype|mindepth)' 'xargs [^|;]*-[rd]\b'
	'stat -c' 'sort -[a-zA-Z]*[VhR]' 'head -n -' 'cp -[a-zA-Z]*[at]' 'mktemp -[a-z]*[pt]' '\b(gensub|strftime|systime|asorti?)\(' PROCINFO IGNORECASE
	'\b(seq|tac|nproc|timeout) '
)
gnu=$(printf '%s\n' "${rules[@]}" | paste -sd'|')
installed=(scripts/sessionfs-pick scripts/completions/sessionfs.bash scripts/completions/_sessionfs scripts/completions/sessionfs.fish)
for line in "sed -i s/a/b/ f" "sed -n -i p f" "readlink -f x" "x=\$(date -d now)" "grep -oP x" "find . -printf x" "ls a | xargs -r rm" "sort --version-sort" "stat -c %s f"; do
	grep -qE -e "$gnu" <<<"$line" || die "not found: $line"
done
# fish has its own seq on every system.
is "" "$(grep -nE -e "$gnu" "${installed[@]}" | grep -v 'fish:[0-9]*: *for i in (seq ')" "options that only GNU's programs have"

if command -v ruby >/dev/null; then
	is "Syntax OK" "$(ruby -c scripts/sessionfs.rb)" "scripts/sessionfs.rb"
else
	echo "skipped: scripts/sessionfs.rb: ruby is not installed"
fi
