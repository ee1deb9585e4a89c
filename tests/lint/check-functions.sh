#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The number of functions that share a name, and of small ones with one caller, cannot grow; lookalikes are not counted.
. "$(dirname "$0")/../lib/lib.sh"
"$ROOT/scripts/check-functions" >"$T/out" 2>&1 || die "$(cat "$T/out")"
mkdir "$T/copy"
cp -r "$ROOT/src" "$ROOT/include" "$T/copy/"
new=$T/copy/src/tree/new.c

check=("$ROOT/scripts/check-functions" -l "$T/copy")
refused() { # SAID: checks the file on standard input
	cat >"$new"
	fails 1 "$1.*more than the limit" "${check[@]}"
}
passes() { # checks the file on standard input
	cat >"$new"
	"${check[@]}" >"$T/out" 2>&1 || die "refused: $(cat "$new" "$T/out")"
}

refused 'tree_open is defined in src/tree/new.c src/tree/tree.c' <<'END'
int tree_open(const char *dir)
{
	return 0;
}
END
refused 'new_small has 2 lines and one caller' <<'END'
static int new_small(int a)
{
	a++;
	return a;
}

int new_caller(int a)
{
	return new_small(a);
}
END
# The name on a line of its own, after an attribute; a comment and a string do not count as callers.
refused 'new_small has 6 lines and one caller' <<'END'
static inline __attribute__((format(printf, 1, 2))) const char *
new_small(const char *format, ...)
{
	/* new_small("a \" quote")
	 * and new_small(b) */
	char c = '"', d = '\'';
	const char *s = "/* new_small(\"c\") ";
	(void)c, (void)d; // new_small(d)
	return s;
}
/* { */ const char *new_caller(void)
{
	return new_small("//");
}
END

# Seven lines, two callers, a callback, a forward declaration, and no caller.
passes <<'END'
static int new_declared(int a);
static int new_long(int a)
{
	a++;
	a++;
	a++;
	a++;
	a++;
	a++;
	return a;
}

static int new_shared(int a)
{
	return a;
}

static int new_callback(int a)
{
	return a;
}

static int new_declared(int a)
{
	return new_shared(a);
}

int new_public(int a)
{
	return a;
}

int new_caller(int (*f)(int), int a)
{
	return f == new_callback ? new_long(a) : new_shared(new_declared(a));
}
END
# A name repeated by a declaration, a call, a string and a comment is defined once.
passes <<'END'
int tree_check(int a);
extern int tree_open(const char *dir);
/*
int tree_check(int a)
{
}
*/
int new_caller(void)
{
	const char *s = "tree_check(int a)";
	return tree_open(s);
}
END

# A test has no builder of its own with the name of one.
mkdir -p "$T/copy/tests/unit" "$T/copy/tests/wire" "$T/copy/tests/fuzz"
cp "$ROOT/tests/unit/session_lines.h" "$T/copy/tests/unit/"
rm "$new"
"${check[@]}" >"$T/out" 2>&1 || die "the builders: $(cat "$T/out")"
echo '#define USER(id) "x"' >"$T/copy/tests/unit/test_new.c"
fails 1 'test_new.c:1:#define USER.*session_lines.h defines this name' "${check[@]}"
rm "$T/copy/tests/unit/test_new.c"

# A count below the limit must lower it.
rm -r "$T/copy/src/catalog"
fails 1 'lower the limit' "${check[@]}"
