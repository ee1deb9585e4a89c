/* SPDX-License-Identifier: MIT */
/* json strings: decoding, its size, and quoting. Also utf8, which they use. */
#include "cases.h"
#include "session_lines.h"
#include "failing_alloc.h"
#include "texts.h"
#include "sessionfs/json/json.h"
#include "sessionfs/base/utf8.h"

#define FFFD "\xef\xbf\xbd"
#define NULL_SYMBOL "\xe2\x90\x80"

struct pair {
	struct span in, out;
};

/* clang-format off */
#define PAIR(in, out) {SPAN_LIT(in), SPAN_LIT(out)}
/* clang-format on */

static void check_decoding(const struct pair *pairs, size_t n, enum json_decode how)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		json_decode(pairs[i].in, how, &b);
		assert_buf(&b, pairs[i].out);
		assert_int_equal(json_decoded_size(pairs[i].in, how), pairs[i].out.n);
	}
}

CASE(both_decode_escapes)
{
	static const struct pair pairs[] = {
	    PAIR("", ""),
	    PAIR("plain", "plain"),
	    PAIR("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"),
	    PAIR("\\\\n", "\\n"),
	    PAIR("a\\nb\\nc", "a\nb\nc"),
	    PAIR("a run longer than a block, then \\t and \\\\ and \\\"",
	         "a run longer than a block, then \t and \\ and \""),
	    PAIR("\\u0041\\u00e9\\u20AC\\ud83d\\ude00", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
	    PAIR("\\uD800\\uDC00\\uDBFF\\uDFFF", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
	    PAIR("\\u007f\\u0080\\u07ff\\u0800\\uffff", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"),
	    PAIR("\xef\xbb\xbfna\xc3\xafve", "\xef\xbb\xbfna\xc3\xafve")};
	check_decoding(pairs, COUNT(pairs), JSON_EXACT);
	check_decoding(pairs, COUNT(pairs), JSON_CLEAN);
}

CASE(exact_mode_keeps_all_code_units)
{
	static const struct pair pairs[] = {PAIR("a\\u0000b", "a\0b"),
	                                    PAIR("\\ud800", "\xed\xa0\x80"),
	                                    PAIR("\\udfffx", "\xed\xbf\xbfx"),
	                                    PAIR("\\udc00\\ud800", "\xed\xb0\x80\xed\xa0\x80"),
	                                    PAIR("\\ud800\\ud800\\udc00", "\xed\xa0\x80\xf0\x90\x80\x80"),
	                                    PAIR("\\ud83d\\n", "\xed\xa0\xbd\n"),
	                                    PAIR("\xff\xc0\xaf\xed\xa0\x80", "\xff\xc0\xaf\xed\xa0\x80")};
	check_decoding(pairs, COUNT(pairs), JSON_EXACT);
}

CASE(clean_is_always_utf8)
{
	static const struct pair pairs[] = {
	    PAIR("a\\u0000b", "a" NULL_SYMBOL "b"),
	    PAIR("\\ud800", FFFD),
	    PAIR("\\udfffx", FFFD "x"),
	    PAIR("\\ud800\\ud800\\udc00", FFFD "\xf0\x90\x80\x80"),
	    PAIR("\\ud83d\\n", FFFD "\n"),
	    /* one for each byte that can begin nothing, and for each maximal ill-formed subpart */
	    PAIR("\xff\xfe", FFFD FFFD),
	    PAIR("\x80\xbf", FFFD FFFD),
	    PAIR("\xc0\xaf", FFFD FFFD),
	    PAIR("\xc3", FFFD),
	    PAIR("\xc3(", FFFD "("),
	    PAIR("\xe0\x80\x80", FFFD FFFD FFFD),
	    PAIR("\xe2\x82", FFFD),
	    PAIR("\xe2\x82x", FFFD "x"),
	    PAIR("\xe2\x82\xe2\x82\xac", FFFD "\xe2\x82\xac"),
	    PAIR("\xed\xa0\x80", FFFD FFFD FFFD),
	    PAIR("\xf0\x9f\x98", FFFD),
	    PAIR("\xf0\x9f\x98\\n\x80", FFFD "\n" FFFD),
	    PAIR("\xf0\x80\x80\x80", FFFD FFFD FFFD FFFD),
	    PAIR("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD),
	    PAIR("\xf5\x80", FFFD FFFD),
	    PAIR("\xf1\x80\x80\xf1\x80\x80\x80", FFFD "\xf1\x80\x80\x80"),
	};
	check_decoding(pairs, COUNT(pairs), JSON_CLEAN);
}

/* Text that no checked string contains must still be harmless. */
CASE(stray_backslashes_are_skipped)
{
	static const struct pair pairs[] = {PAIR("\\", ""),       PAIR("a\\", "a"),         PAIR("\\x41", "x41"),
	                                    PAIR("\\u12", "u12"), PAIR("\\u12g4", "u12g4"), PAIR("\\u\\n", "u\n")};
	check_decoding(pairs, COUNT(pairs), JSON_EXACT);
	check_decoding(pairs, COUNT(pairs), JSON_CLEAN);
}

CASE(size_agrees_on_random_text)
{
	static const char *const pieces[] = {"\\n",      "\\u0000",     "\\ud800", "\\udc00", "\\\\",
	                                     "\xff",     "\xe2",        "\x82",    "\xac",    "\xf0\x9f",
	                                     "\x98\x80", "abcdefghijk", "x",       "\xc3\xa9"};
	CLEANUP_BUF struct buf in = BUF_INIT, out = BUF_INIT;
	uint32_t seed = 99;
	for (int round = 0; round < 50000; round++) {
		buf_reset(&in);
		buf_reset(&out);
		seed = seed * 1664525 + 1013904223;
		for (uint32_t k = seed >> 28; k > 0; k--) {
			seed = seed * 1664525 + 1013904223;
			buf_adds(&in, pieces[(seed >> 16) % COUNT(pieces)]);
		}
		json_decode(buf_span(&in), JSON_EXACT, &out);
		assert_int_equal(json_decoded_size(buf_span(&in), JSON_EXACT), out.n);
		buf_reset(&out);
		json_decode(buf_span(&in), JSON_CLEAN, &out);
		assert_int_equal(json_decoded_size(buf_span(&in), JSON_CLEAN), out.n);
		assert_int_equal(utf8_prefix(buf_span(&out)), out.n);
		assert_true(out.n == 0 || !memchr(out.p, '\0', out.n));
	}
}

/* An escape means the same at any offset in a block. */
CASE(decoding_ignores_block_boundaries)
{
	static const struct pair pieces[] = {PAIR("\\n", "\n"),
	                                     PAIR("\\\\", "\\"),
	                                     PAIR("\\\\\\u0041", "\\A"),
	                                     PAIR("\\u00e9", "\xc3\xa9"),
	                                     PAIR("\\ud800", FFFD),
	                                     PAIR("\\ud83d\\nde00", FFFD "\nde00"),
	                                     PAIR("\\u0000", NULL_SYMBOL),
	                                     PAIR("\\ud83d\\ude00", "\xf0\x9f\x98\x80"),
	                                     PAIR("\xe2\x82\xac", "\xe2\x82\xac"),
	                                     PAIR("\xe2\x82", FFFD)};
	for (size_t i = 0; i < COUNT(pieces); i++) {
		for (size_t lead = 0; lead < 140; lead++) {
			CLEANUP_BUF struct buf in = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
			for (size_t k = 0; k < lead + 70; k++) {
				buf_addspan(&in, k == lead ? pieces[i].in : SPAN_LIT("u"));
				buf_addspan(&want, k == lead ? pieces[i].out : SPAN_LIT("u"));
			}
			json_decode(buf_span(&in), JSON_CLEAN, &got);
			assert_buf(&got, buf_span(&want));
			assert_int_equal(json_decoded_size(buf_span(&in), JSON_CLEAN), want.n);
		}
	}
}

CASE(decoding_appends)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	json_decode(SPAN_LIT("a\\n"), JSON_EXACT, &b);
	json_decode(SPAN_LIT("b\xff"), JSON_CLEAN, &b);
	json_decode((struct span){NULL, 0}, JSON_CLEAN, &b);
	assert_buf(&b, SPAN_LIT("a\nb" FFFD));
}

CASE(quotes_as_stringify_does)
{
	static const struct pair pairs[] = ITEMS(
	    PAIR("", JSON("")), PAIR("plain", JSON("plain")), PAIR("a\"b\\c/d", JSON("a\"b\\c/d")), PAIR("\b\f\n\r\t",
	    JSON("\b\f\n\r\t")), PAIR("\0\x01\x1f\x7f", "\"\\u0000\\u0001\\u001f\x7f\""),
	    PAIR("na\xc3\xafve \xe2\x80\xa8 \xf0\x9f\x98\x80", "\"na\xc3\xafve \xe2\x80\xa8 \xf0\x9f\x98\x80\""),
	    PAIR("\xed\xa0\x80\xed\xbf\xbf", JSON("\ud800\udfff")), PAIR("\xed\xa0", "\"" FFFD FFFD "\""),
	    PAIR("x\xff\xe2\x82y", "\"x" FFFD FFFD "y\""));
	for (size_t i = 0; i < COUNT(pairs); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		json_quote(pairs[i].in, &b);
		assert_buf(&b, pairs[i].out);
		assert_true(json_valid(buf_span(&b), NULL));
	}
}

CASE(quote_and_decode_round_trip)
{
	CLEANUP_BUF struct buf text = BUF_INIT, quoted = BUF_INIT, back = BUF_INIT;
	for (int c = 0; c < 0x80; c++)
		buf_addc(&text, (char)c);
	buf_adds(&text, "\xed\xa0\x80 \xf0\x9f\x98\x80 \xed\xb0\x80");
	json_quote(buf_span(&text), &quoted);
	json_decode((struct span){quoted.p + 1, quoted.n - 2}, JSON_EXACT, &back);
	assert_buf(&back, buf_span(&text));
}

CASE(decoding_fails_without_memory)
{
	const size_t n = 3000;
	for (int how = JSON_EXACT; how <= JSON_CLEAN; how++) {
		CLEANUP_BUF struct buf text = BUF_INIT, b = BUF_INIT;
		memset(buf_reserve(&text, n), '\xff', n);
		text.n = n;
		buf_adds(&b, "kept");
		allocs_left = 0;
		json_decode(buf_span(&text), (enum json_decode)how, &b);
		assert_int_equal(buf_err(&b), -ENOMEM);
		assert_int_equal(b.n, 4);
		buf_reset(&b);
		json_quote(buf_span(&text), &b);
		allocs_left = -1;
		assert_int_equal(buf_err(&b), -ENOMEM);
	}
}

/* Every lead byte with every second byte, against the table of well-formed sequences. */
CASE(utf8_second_bytes)
{
	for (unsigned lead = 0x80; lead < 0x100; lead++) {
		for (unsigned second = 0; second < 0x100; second++) {
			const unsigned char bytes[] = {(unsigned char)lead, (unsigned char)second, 0x80, 0x80};
			unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
			unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
			int size = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
			bool good = size && second >= low && second <= high;
			const char *p = (const char *)bytes;
			assert_int_equal(utf8_next(p, 4), good ? size : -1);
			for (int n = 1; n < size; n++)
				assert_int_equal(utf8_next(p, (size_t)n), good && n > 1 ? -n : -1);
		}
	}
}

CASE(utf8_prefix_finds_the_first_error)
{
	char text[64];
	memset(text, 'a', sizeof text);
	assert_int_equal(utf8_prefix((struct span){NULL, 0}), 0);
	for (size_t n = 0; n <= sizeof text; n++)
		assert_int_equal(utf8_prefix((struct span){text, n}), n);
	for (size_t at = 0; at < sizeof text; at++) {
		text[at] = '\xe9';
		assert_int_equal(utf8_prefix((struct span){text, sizeof text}), at);
		text[at] = 'a';
		if (at + 1 == sizeof text)
			break;
		memcpy(text + at, "\xc3\xa9", 2);
		assert_int_equal(utf8_prefix((struct span){text, sizeof text}), sizeof text);
		assert_int_equal(utf8_prefix((struct span){text, at + 1}), at);
		memcpy(text + at, "aa", 2);
	}
}

RUN_CASES(NULL, NULL)
