#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The newest heading of NEWS.md has the version and its day, and all other places agree: the program, the manual, and
# the names of the tarball and the package. (tests/e2e/install.sh and tests/package/run check installed files.)
. "$(dirname "$0")/../lib/lib.sh"
need make
heading=$(grep -m 1 '^## ' "$ROOT/NEWS.md")
matches '^## [0-9]+\.[0-9]+\.[0-9]+, 20[0-9]{2}-[01][0-9]-[0-3][0-9]$' "$heading" "the newest heading of NEWS.md"
version=${heading#\#\# } day=${heading#*, }
version=${version%,*}
is "sessionfs $version" "$("$SESSIONFS" -V | sed -n 1p)" "the version of the program, and the newest in NEWS.md"
plan=$(make -s -n -C "$ROOT" dist deb)
for script in dist deb; do
	grep -qxF "scripts/$script $version $day" <<<"$plan" || die "make $script calls scripts/$script with another version"
done
is "" "$(grep -nE 'sessionfs [0-9]+\.[0-9]+\.[0-9]+' "$ROOT"/man/* | grep -vF "sessionfs $version")" "another version in the manual"
is "" "$(grep -LxF .Os "$ROOT"/man/*)" "pages in which make install cannot put the version"
is "" "$(cd "$ROOT" && grep -rlF "$version" Makefile include scripts src man)" "other places that have the version"
