/* SPDX-License-Identifier: MIT */
/* name: encoding, decoding and cutting. */
#include "cases.h"
#include "failing_alloc.h"
#include "sessionfs/base/name.h"
#include "seed.h"
#include "texts.h"

struct sample {
	struct span text, name;
};

#define SAMPLE(text, name)                                                                                             \
	{                                                                                                              \
		{text, sizeof text - 1},                                                                               \
		{                                                                                                      \
			name, sizeof name - 1                                                                          \
		}                                                                                                      \
	}

static const struct sample samples[] = {
    SAMPLE("", "%"),
    SAMPLE("auth works", "auth works"),
    SAMPLE("a/b", "a%2Fb"),
    SAMPLE("100%", "100%25"),
    SAMPLE("%", "%25"),
    SAMPLE(".", "%2E"),
    SAMPLE("..", "%2E."),
    SAMPLE(".git", "%2Egit"),
    SAMPLE("a.b~c", "a.b~c"),
    SAMPLE("~", "%7E"),
    SAMPLE("~1", "%7E1"),
    SAMPLE("a\0b\n\x1f\x7f", "a%00b%0A%1F%7F"),
    SAMPLE("na\xc3\xafve \xf0\x9f\x98\x80", "na\xc3\xafve \xf0\x9f\x98\x80"),
    SAMPLE("\xff\xfe", "%FF%FE"),
    SAMPLE("\xc3", "%C3"),
    SAMPLE("\xc0\xaf", "%C0%AF"),
    SAMPLE("\xed\xa0\x80", "%ED%A0%80"),
    SAMPLE("\xf4\x90\x80\x80", "%F4%90%80%80"),
    SAMPLE("\xe2\x82"
           "x",
           "%E2%82x"),
};

CASE(names_round_trip)
{
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		CLEANUP_BUF struct buf name = BUF_INIT, text = BUF_INIT;
		name_encode("", samples[i].text, "", &name);
		assert_buf(&name, samples[i].name);
		assert_true(name_decode(samples[i].name, &text));
		assert_buf(&text, samples[i].text);
	}
}

CASE(other_forms_are_refused)
{
	static const struct span wrong[] = {
	    SPAN_LIT(""),     SPAN_LIT("100%"),         SPAN_LIT("%%"),
	    SPAN_LIT("%2"),   SPAN_LIT("%2f"),          SPAN_LIT("%41"),
	    SPAN_LIT("a%7E"), SPAN_LIT("a%2E"),         SPAN_LIT("."),
	    SPAN_LIT(".."),   SPAN_LIT("~5"),           SPAN_LIT("a/b"),
	    SPAN_LIT("a\nb"), SPAN_LIT("\xff"),         SPAN_LIT("%C3%AF"),
	    SPAN_LIT("a\0b"), SPAN_LIT("%ZZ"),          SPAN_LIT("%2\0"),
	    SPAN_LIT("\x7f"), SPAN_LIT("\xed\xa0\x80"), SPAN_LIT("%F0%9F%98%80"),
	};
	CLEANUP_BUF struct buf text = BUF_INIT;

	buf_adds(&text, "kept");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_false(name_decode(wrong[i], &text));
		assert_buf(&text, SPAN_LIT("kept"));
	}
}

CASE(prefix_and_suffix_are_not_encoded)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	name_encode("1-", SPAN_LIT("."), "", &b);
	assert_buf(&b, SPAN_LIT("1-."));
	buf_reset(&b);
	name_encode("1-", SPAN_LIT("~/x"), "", &b);
	assert_buf(&b, SPAN_LIT("1-~%2Fx"));
	buf_reset(&b);
	name_encode("2-", SPAN_LIT(""), "~a", &b);
	assert_buf(&b, SPAN_LIT("2-%~a"));
	buf_reset(&b);
	name_encode("", SPAN_LIT(".x"), "~%25", &b);
	assert_buf(&b, SPAN_LIT("%2Ex~%25"));
}

CASE(encoding_appends)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	buf_adds(&b, "dir/");
	name_encode("", SPAN_LIT(".a"), "", &b);
	assert_buf(&b, SPAN_LIT("dir/%2Ea"));
	buf_reset(&b);
	buf_adds(&b, "x");
	assert_true(name_decode(SPAN_LIT("%2Fy"), &b));
	assert_buf(&b, SPAN_LIT("x/y"));
}

CASE(hash_is_sha256)
{
	char hash[9];

	name_hash8(SPAN_LIT("a"), SPAN_LIT("b"), SPAN_LIT("c"), hash);
	assert_string_equal(hash, "ba7816bf");
	name_hash8(SPAN_LIT(""), SPAN_LIT("abc"), (struct span){NULL, 0}, hash);
	assert_string_equal(hash, "ba7816bf");
	name_hash8(SPAN_LIT(""), SPAN_LIT(""), SPAN_LIT(""), hash);
	assert_string_equal(hash, "e3b0c442");
}

/* A component of the maximum length stays whole; with one byte more it is cut. */
CASE(long_names_are_cut)
{
	char text[400], hash[9];

	memset(text, 'a', sizeof text);
	for (size_t n = NAME_BYTES - 2; n <= sizeof text; n++) {
		CLEANUP_BUF struct buf name = BUF_INIT, back = BUF_INIT;
		name_encode("", (struct span){text, n}, "", &name);
		assert_int_equal(name.n, n <= NAME_BYTES ? n : NAME_BYTES);
		assert_int_equal(name_decode(buf_span(&name), &back), n <= NAME_BYTES);
		if (n <= NAME_BYTES)
			continue;
		name_hash8(SPAN_LIT(""), (struct span){text, n}, SPAN_LIT(""), hash);
		assert_memory_equal(name.p, text, 246);
		assert_int_equal(name.p[246], '~');
		assert_memory_equal(name.p + 247, hash, 8);
	}
}

CASE(cuts_are_between_characters)
{
	static const struct {
		const char *piece, *name;
	} pieces[] = {
	    {"/", "%2F"}, {"\xc3\xa9", "\xc3\xa9"}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, {"\xff", "%FF"}};

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		for (size_t lead = 0; lead < 5; lead++) {
			CLEANUP_BUF struct buf text = BUF_INIT, name = BUF_INIT;
			size_t unit = strlen(pieces[i].name);
			buf_add(&text, "xxxxx", lead);
			for (int k = 0; k < 300; k++)
				buf_adds(&text, pieces[i].piece);
			name_encode("", buf_span(&text), "", &name);
			size_t kept = name.n - 9;
			assert_true(name.n <= NAME_BYTES && kept + unit > 246);
			assert_int_equal((kept - lead) % unit, 0);
			assert_memory_equal(name.p + kept - unit, pieces[i].name, unit);
			assert_int_equal(name.p[kept], '~');
		}
	}
}

CASE(hash_covers_prefix_and_suffix)
{
	CLEANUP_BUF struct buf a = BUF_INIT, b = BUF_INIT;
	char text[300], hash[9];

	memset(text, 'q', sizeof text);
	struct span s = {text, sizeof text};
	name_encode("7-", s, "~one", &a);
	name_encode("7-", s, "~two", &b);
	assert_int_equal(a.n, NAME_BYTES);
	assert_memory_equal(a.p, "7-qqq", 5);
	assert_false(span_eq(buf_span(&a), buf_span(&b)));
	name_hash8(SPAN_LIT("7-"), s, SPAN_LIT("~one"), hash);
	assert_memory_equal(a.p + a.n - 8, hash, 8);
}

CASE(a_long_suffix_alone_is_cut_too)
{
	CLEANUP_BUF struct buf name = BUF_INIT;
	char suffix[301];

	for (size_t i = 0; i < 300; i += 3)
		memcpy(suffix + i, "%2F", 3);
	suffix[300] = '\0';
	name_encode("", SPAN_LIT("ab"), suffix, &name);
	assert_int_equal(name.n, 2 + 243 + 9);
	assert_memory_equal(name.p + 242, "%2F~", 4);
}

CASE(huge_text_is_cut_without_allocation)
{
	CLEANUP_BUF struct buf name = BUF_INIT;
	const size_t n = (size_t)8 << 20;

	char *text = malloc(n);
	assert_non_null(text);
	memset(text, '/', n);
	name_encode("", (struct span){text, n}, "", &name);
	assert_true(name.cap < 4096);
	assert_int_equal(name.n, NAME_BYTES);
	free(text);
}

CASE(random_bytes_round_trip)
{
	uint32_t seed = (uint32_t)seed_of_run();

	for (int round = 0; round < 20000; round++) {
		CLEANUP_BUF struct buf name = BUF_INIT, back = BUF_INIT;
		char text[84];
		seed = seed * 1664525 + 1013904223;
		size_t n = seed >> 16 & 0xff;
		n %= sizeof text;
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1664525 + 1013904223;
			text[i] = (char)(seed >> 24);
		}
		name_encode("", (struct span){text, n}, "", &name);
		assert_true(name.n > 0 && name.n <= NAME_BYTES);
		assert_null(memchr(name.p, '/', name.n));
		assert_null(memchr(name.p, '\0', name.n));
		assert_true(name.p[0] != '.' && name.p[0] != '~');
		assert_true(name_decode(buf_span(&name), &back));
		assert_buf(&back, (struct span){text, n});
	}
}

CASE(allocation_failure_is_returned)
{
	for (long left = 0; left < 6; left++) {
		CLEANUP_BUF struct buf name = BUF_INIT, text = BUF_INIT;
		char long_text[500];
		memset(long_text, '/', sizeof long_text);
		allocs_left = left;
		name_encode("p", (struct span){long_text, sizeof long_text}, "s", &name);
		allocs_left = left;
		bool decoded = name_decode(SPAN_LIT("%2Fa"), &text);
		allocs_left = -1;
		assert_int_equal(buf_err(&name), left < 4 ? -ENOMEM : 0);
		assert_int_equal(decoded, left >= 3);
		assert_int_equal(text.n, decoded ? 2 : 0);
	}
}

RUN_CASES(NULL, NULL)
