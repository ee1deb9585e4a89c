#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# After `make hooks` git refuses commits of unformatted code or includes across layers, and accepts others. The staged
# text counts, not the file in the work tree.
. "$(dirname "$0")/../lib/lib.sh"
need git make clang-format cppcheck shellcheck mandoc

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE MAKEFLAGS
mkdir "$T/clone"
cp -r "$ROOT"/{src,include,man,scripts,Makefile,NEWS.md,ARCHITECTURE.md,.clang-format} "$T/clone/"
cd "$T/clone"
git init -q
git add .
git commit -qm 'All there is'
nothing "make hooks" make -s hooks
nothing "make hooks once more" make -s hooks

refused() { # REGEX
	fails 1 "$1" git commit -m 'No good'
	git reset -q --hard
}

file=src/base/buf.c
echo 'static int  badly( void ){return 1;}' >>$file
git add $file
refused "$file:.*clang-format"

echo '#include "sessionfs/tree/tree.h"' >>$file
git add $file
refused "$file:[0-9]+: base may not include sessionfs/tree/tree.h"

printf '%s\n' '#!/bin/sh' 'echo $1' >scripts/new
git add scripts/new
refused 'SC2086'

# The staged text is bad, the file is good.
echo 'static int  badly( void ){return 1;}' >>$file
git add $file
git show "HEAD:$file" >$file
refused "$file:.*clang-format"

# The reverse.
printf '\n/* Said well. */\n' >>$file
git add $file
echo 'static int  badly( void ){return 1;}' >>$file
git commit -qm 'Good' || die "a good commit is refused"
is "$file" "$(git show --name-only --format= HEAD)" "the committed files"

# A hook of another origin stays.
echo '#!/bin/true' >.git/hooks/pre-commit
fails 2 'there is another hook' make -s hooks
is '#!/bin/true' "$(cat .git/hooks/pre-commit)" "a hook of another origin"
