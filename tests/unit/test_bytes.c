/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "sessionfs/base/bytes.h"

/* Every byte at every place, between other bytes. */
CASE(each_byte_has_a_bit)
{
	char text[16];
	for (unsigned c = 0; c < 256; c++) {
		for (unsigned at = 0; at < 16; at++) {
			memset(text, (int)(c ^ 0x80), sizeof text);
			text[at] = (char)c;
			assert_int_equal(bytes16_mask(bytes16_load(text) == (signed char)c), 1u << at);
			assert_int_equal(bytes16_mask(bytes16_load(text) != (signed char)c), 0xffffu ^ 1u << at);
		}
	}
}

CASE(a_range_has_its_ends_and_nothing_next_to_them)
{
	static const char ranges[][2] = {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'-', '-'}, {0, 127}};
	char text[16];
	for (size_t i = 0; i < COUNT(ranges); i++) {
		for (unsigned c = 0; c < 256; c++) {
			memset(text, (int)c, sizeof text);
			unsigned wanted =
			    c >= (unsigned char)ranges[i][0] && c <= (unsigned char)ranges[i][1] ? 0xffff : 0;
			bytes16 in = bytes16_range(bytes16_load(text), ranges[i][0], ranges[i][1]);
			assert_int_equal(bytes16_mask(in), wanted);
		}
	}
}

RUN_CASES(NULL, NULL)
