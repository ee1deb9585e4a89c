/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "sessionfs/base/space.h"
#include "texts.h"

CASE(white_space_is_trimmed)
{
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

CASE(size_of_first_space_is_returned)
{
	assert_int_equal(space_size(SPAN_LIT("\v x")), 1);
	assert_int_equal(space_size(SPAN_LIT("\xc2\xa0")), 2);
	assert_int_equal(space_size(SPAN_LIT("\xe3\x80\x80x")), 3);
	assert_int_equal(space_size(SPAN_LIT("\xe3\x80")), 0); /* cut */
	assert_int_equal(space_size(SPAN_LIT("x ")), 0);
	assert_int_equal(space_size((struct span){NULL, 0}), 0);
}

static void assert_flat(struct span text, const char *want)
{
	char copy[64];

	memcpy(copy, text.p, text.n);
	assert_span((struct span){copy, space_flatten(copy, text.n, '_', NULL)}, want);
}

CASE(controls_are_replaced)
{
	assert_flat(SPAN_LIT("\0\t\n\x1f \x7f"), "____ _");
	assert_flat(SPAN_LIT("\xc2\x80x\xc2\x9f\xc2\xa0"), "_x_\xc2\xa0");
	assert_flat(SPAN_LIT("\u2027\u2028\u2029\u202a"), "\u2027__\u202a");
	assert_flat(SPAN_LIT("x\xe2\x80"), "x\xe2\x80"); /* cut */
	assert_flat(SPAN_LIT("x\xc2"), "x\xc2");
	assert_int_equal(space_flatten(NULL, 0, '_', NULL), 0);
}

RUN_CASES(NULL, NULL)
