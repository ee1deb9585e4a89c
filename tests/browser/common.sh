# SPDX-License-Identifier: MIT
# Sourced behind tests/lib/lib.sh by the tests in a real browser.
# shellcheck shell=bash

starts() { timeout 120 node "$ROOT/tests/browser/starts.mjs" "$CHROMIUM" "$T/try" 2>"$T/why"; }
need_browser() {
	local c
	need node python3
	CHROMIUM=
	for c in chromium chromium-browser google-chrome; do
		CHROMIUM=$(command -v "$c") && break
	done
	[ -n "$CHROMIUM" ] || skip "there is no chromium here"
	# A container may not let it make its sandbox; what it is shown here is ours. One that cannot start at all is none.
	starts || { export BROWSER_NO_SANDBOX=1 && starts; } ||
		skip "$CHROMIUM does not start here: $(tail -n 3 "$T/why" "$T/try/log" 2>/dev/null | tr '\n' ' ')"
}

# axe-core, whose rules are those of WCAG, into $AXE.
need_axe() {
	local dir=$ROOT/build/axe
	# shellcheck disable=SC2034 # for who sources this
	AXE=$dir/axe.js
	timeout 300 "$ROOT/tests/browser/fetch-axe" "$dir" 2>"$T/why" || skip "$(tail -n 1 "$T/why")"
}

# A browser is not to keep anything in the user's directories.
drive() { # SCRIPT ARGUMENT...
	timeout -k 10 400 node "$ROOT/tests/browser/$1" "$CHROMIUM" "$T/browser" "${@:2}"
}
