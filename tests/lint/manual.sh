#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual reads well as mandoc and as groff show it, and what would not is found.
# shellcheck source=tests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 mandoc groff
look=(python3 "$ROOT/tests/lib/manual.py")
nothing "the manual" "${look[@]}" "$ROOT"/man/sessionfs.{1,5,7}

wrong() { # REGEX LINE...: lines that are found
	local regex=$1
	shift
	{
		printf '%s\n' ".Dd November 21, 2026" ".Dt WRONG 1" ".Os" ".Sh NAME" ".Nm wrong" ".Nd page" ".Sh DESCRIPTION"
		printf '%s\n' "$@"
	} >"$T/wrong.1"
	fails 1 "mandoc: $regex.*groff: $regex" "${look[@]}" "$T/wrong.1"
}
wrong "a quote in a quote" ".Ql ls , Ql find"
wrong "a quote is not closed" "so \\(oqit is" ".Pp" "More."
wrong "a quote is closed" "so it\\(cq is"
wrong "a macro" ".Ar X Y&Pa Z .Pa"
wrong "two blanks" ".Bl -tag -width Ds" ".It Pa by-date/ Ns Ar TIME No \\& Ar TITLE" "Text." ".El"
