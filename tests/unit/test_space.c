#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/base/space.h"

static void assert_span(struct span s, const char *text)
{
	if (!span_is(s, text))
		fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.p, text);
}

static void test_trim(void **state)
{
	(void)state;
	assert_span(space_trim(SPAN_LIT("\t\v\f\r\n x y \xc2\xa0\xe1\x9a\x80")), "x y");
	assert_span(space_trim(SPAN_LIT("\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xa8"
	                                "z"
	                                "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\x9f"
	                                "\xe3\x80\x80\xef\xbb\xbf")),
	            "z");
	assert_span(space_trim(SPAN_LIT("\xe2\x80\x8b"
	                                "x"
	                                "\xc2\x85")),
	            "\xe2\x80\x8b"
	            "x"
	            "\xc2\x85");

	assert_int_equal(space_trim(SPAN_LIT("\0")).n, 1);
	assert_int_equal(space_trim(SPAN_LIT(" \xc2\xa0 ")).n, 0);
	assert_int_equal(space_trim((struct span){NULL, 0}).n, 0);
}

static void test_first(void **state)
{
	(void)state;
	assert_int_equal(space_first(SPAN_LIT("\v x")), 1);
	assert_int_equal(space_first(SPAN_LIT("\xc2\xa0")), 2);
	assert_int_equal(space_first(SPAN_LIT("\xe3\x80\x80x")), 3);
	assert_int_equal(space_first(SPAN_LIT("\xe3\x80")), 0); /* cut */
	assert_int_equal(space_first(SPAN_LIT("x ")), 0);
	assert_int_equal(space_first((struct span){NULL, 0}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_trim), cmocka_unit_test(test_first)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
