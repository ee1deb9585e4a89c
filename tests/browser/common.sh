# SPDX-License-Identifier: MIT
# Sourced after tests/lib/lib.sh by the tests in a real browser.
# shellcheck shell=bash

starts() { LIMIT=60 "$ROOT/tests/lib/limited" node "$ROOT/tests/browser/starts.mjs" "$CHROMIUM" "$T/try" 2>"$T/why"; }
need_browser() {
	local c
	need node python3
	CHROMIUM=
	for c in chromium chromium-browser google-chrome; do
		CHROMIUM=$(command -v "$c") && break
	done
	[ -n "$CHROMIUM" ] || skip "there is no chromium here"
	# A container can forbid the browser's sandbox; the pages are ours. A browser that does not start counts as missing.
	starts || { export BROWSER_NO_SANDBOX=1 && starts; } ||
		skip "$CHROMIUM does not start here: $(tail -n 3 "$T/why" "$T/try/log" 2>/dev/null | tr '\n' ' ')"
}

# Puts axe-core, whose rules are WCAG's, into $AXE.
need_axe() {
	local dir=$ROOT/build/axe
	# shellcheck disable=SC2034 # for who sources this
	AXE=$dir/axe.js
	LIMIT=300 "$ROOT/tests/lib/limited" "$ROOT/tests/browser/fetch-axe" "$dir" 2>"$T/why" || skip "$(tail -n 1 "$T/why")"
}

# The browser must not write to the user's directories.
drive() { # SCRIPT ARGUMENT...
	node "$ROOT/tests/browser/$1" "$CHROMIUM" "$T/browser" "${@:2}"
}
