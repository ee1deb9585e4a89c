/* SPDX-License-Identifier: MIT */
/* fold: against what Python knows of every character. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/base/fold.h"

#include <stdio.h>

/* Each character that folds to another one and that. Later versions of Unicode than ours fold more. */
static const char *const ask =
    "python3 -c '\n"
    "import sys, unicodedata\n"
    "if [int(n) for n in unicodedata.unidata_version.split(\".\")] > [15, 0, 0]: sys.exit()\n"
    "print(0, 0)\n"
    "for i in range(0x110000):\n"
    "    c = chr(i); full, lower = c.casefold(), c.lower()\n"
    "    s = full if len(full) == 1 else lower if len(lower) == 1 else c\n"
    "    if s != c: print(i, ord(s))' 2>/dev/null";

static uint32_t read_next(FILE *f, unsigned *to)
{
	unsigned c;

	return fscanf(f, "%u %u", &c, to) == 2 ? c : UINT32_MAX;
}

static void every_character(void **state)
{
	FILE *f = popen(ask, "r");
	unsigned to = 0, folded = 0;

	(void)state;
	assert_non_null(f);
	bool known = read_next(f, &to) == 0;
	uint32_t next = known ? read_next(f, &to) : UINT32_MAX;
	for (uint32_t c = 0; known && c < 0x110000; c++) {
		uint32_t want = c == next ? to : c;
		if (fold_char(c) != want)
			fail_msg("U+%04X folds to U+%04X, not U+%04X", c, fold_char(c), want);
		folded += want != c;
		if (c == next)
			next = read_next(f, &to);
	}
	pclose(f);
	if (!known)
		skip();
	assert_true(folded > 1400);
}

static void alike(void **state)
{
	(void)state;
	for (uint32_t c = 0; c < 0x20000; c++) {
		uint32_t same[FOLD_ALIKE];
		uint32_t folded = fold_char(c);
		size_t n = fold_alike(folded, same), seen = 0;
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(fold_char(same[i]), folded);
			seen += same[i] == c;
		}
		assert_int_equal(seen, 1);
	}
}

static void assert_folded(struct span text, const char *want)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	fold_add(text, &b);
	assert_int_equal(buf_err(&b), 0);
	if (!span_is(buf_span(&b), want))
		fail_msg("`%.*s` is `%.*s`, not `%s`", (int)text.n, text.p, (int)b.n, b.p, want);
}

static void texts(void **state)
{
	(void)state;
	assert_folded(SPAN_LIT("Hello, World! @[`{ and quite some more of IT"),
	              "hello, world! @[`{ and quite some more of it");
	assert_folded(SPAN_LIT("\xc3\x89T\xc3\x89 \xd0\x9f\xd0\xa0 \xe2\x84\xaa\xc5\xbf"),
	              "\xc3\xa9t\xc3\xa9 \xd0\xbf\xd1\x80 ks");
	assert_folded(SPAN_LIT("\xc3\x9f\xe1\xba\x9e"), "\xc3\x9f\xc3\x9f");                     /* sharp s, both */
	assert_folded(SPAN_LIT("\xc4\xb0\xc4\xb1I"), "\xc4\xb0\xc4\xb1i");                       /* no Turkish */
	assert_folded(SPAN_LIT("\xf0\x90\x90\x80\xe6\x96\x87"), "\xf0\x90\x90\xa8\xe6\x96\x87"); /* Deseret, Han */
	assert_folded(SPAN_LIT("A\xff\xc3Z\xed\xa0\x80Q"), "a\xff\xc3z\xed\xa0\x80q");
	assert_folded((struct span){NULL, 0}, "");
}

/* The text gets longer by half. */
static void longer(void **state)
{
	CLEANUP_BUF struct buf text = BUF_INIT, folded = BUF_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_adds(&text, "\xc8\xba");
	fold_add(buf_span(&text), &folded);
	assert_int_equal(folded.n, 3000);
	assert_memory_equal(folded.p, "\xe2\xb1\xa5\xe2\xb1\xa5", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_character), cmocka_unit_test(alike),
	                                   cmocka_unit_test(texts), cmocka_unit_test(longer)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
