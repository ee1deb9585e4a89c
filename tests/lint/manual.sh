#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual renders well with mandoc and groff, and bad rendering is found.
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
goes_on() { # LINE...: a quote contains more than its words
	{
		printf '%s\n' ".Dd November 21, 2026" ".Dt WRONG 1" ".Os" ".Sh NAME" ".Nm right" ".Nd page" ".Sh DESCRIPTION"
		printf '%s\n' "$@"
	} >"$T/wrong.1"
	fails 1 "a quote goes on after the quoted words: ${1%% *}" "${look[@]}" "$T/wrong.1"
}
goes_on ".Ql input , output , total"
goes_on ".Pq as Ql ls No says"
goes_on ".Dq one Pa two"
printf '%s\n' ".Ql file:line: reason ) ," ".Ql (untrusted, for context):\\& ;" ".Ql Pa" >>"$T/right"
sed '$d' "$T/wrong.1" | cat - "$T/right" >"$T/right.1"
nothing "quotes that end with their words" "${look[@]}" "$T/right.1"

wrong "a quote in a quote" ".Ql ls , Ql find"
wrong "a quote is not closed" "so \\(oqit is" ".Pp" "More."
wrong "a quote is closed" "so it\\(cq is"
wrong "a macro" ".Ar X Y&Pa Z .Pa"
wrong "two blanks" ".Bl -tag -width Ds" ".It Pa by-date/ Ns Ar TIME No \\& Ar TITLE" "Text." ".El"
