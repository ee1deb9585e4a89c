/* SPDX-License-Identifier: MIT */
/* fold: compared with Python's data on every character. */
#include "cases.h"
#include "sessionfs/base/fold.h"

/* Later versions of Unicode than ours have more characters. */
#define PYTHON                                                                                                         \
	"python3 -c '\n"                                                                                               \
	"import sys, unicodedata\n"                                                                                    \
	"if [int(n) for n in unicodedata.unidata_version.split(\".\")] > [15, 0, 0]: sys.exit()\n"                     \
	"print(0, 0)\n"                                                                                                \
	"def fold(c):\n"                                                                                               \
	"    full, lower = c.casefold(), c.lower()\n"                                                                  \
	"    return full if len(full) == 1 else lower if len(lower) == 1 else c\n"                                     \
	"for i in range(0x110000):\n"                                                                                  \
	"    c = chr(i)\n"

/* Each character that folds to another one, and that one. One that Python lacks folds to 0: any will do. */
static const char *const ask = PYTHON "    if i < 0x20000 and unicodedata.category(c) == \"Cn\": print(i, 0)\n"
				      "    elif fold(c) != c: print(i, ord(fold(c)))' 2>/dev/null";

/* Each character that composed text lacks, and its single replacement (else 0). */
static const char *const ask_composed =
    PYTHON "    n = unicodedata.normalize(\"NFC\", c)\n"
	   "    m = unicodedata.category(c)[0] == \"M\"\n"
	   "    if n != c: print(i, ord(fold(n)) if len(n) == 1 and not m else 0)' 2>/dev/null";

static uint32_t read_next(FILE *f, unsigned *to)
{
	unsigned c;

	return fscanf(f, "%u %u", &c, to) == 2 ? c : UINT32_MAX;
}

CASE(every_character)
{
	FILE *f = popen(ask, "r");
	unsigned to = 0, folded = 0;

	assert_non_null(f);
	bool known = read_next(f, &to) == 0;
	uint32_t next = known ? read_next(f, &to) : UINT32_MAX;
	for (uint32_t c = 0; known && c < 0x110000; c++) {
		uint32_t want = c != next ? c : to ? to : fold_char(c);
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

CASE(every_composed_character)
{
	FILE *f = popen(ask_composed, "r");
	unsigned to = 0, n = 0;

	assert_non_null(f);
	bool known = read_next(f, &to) == 0;
	for (uint32_t c; known && (c = read_next(f, &to)) != UINT32_MAX; n++)
		if (fold_char_full(c) != (to ? to : FOLD_MANY))
			fail_msg("U+%04X becomes U+%04X, not U+%04X", c, fold_char_full(c), to);
	pclose(f);
	if (!known)
		skip();
	assert_true(n > 1000);
}

/* Each character that compares as another is in the list of candidates, and so is a mark of each that can be
 * decomposed. */
CASE(variants_fold_to_character)
{
	for (uint32_t c = 0; c < 0x2300; c = c == 0x5ff ? 0x1e00 : c + 1) {
		uint32_t same[FOLD_VARIANTS_MAX], folded = fold_char_full(c);
		if (folded == FOLD_MANY)
			continue;
		size_t n = fold_variants(folded, same), seen = 0, marks = 0;
		assert_true(n < FOLD_VARIANTS_MAX);
		for (size_t i = 0; i < n; i++) {
			assert_true(fold_char_full(same[i]) == folded || fold_char_full(same[i]) == FOLD_MANY ||
			            same[i] == 0x345);
			seen += same[i] == c;
			marks += same[i] == 0x301;
		}
		assert_int_equal(seen, 1);
		if (c == 0xe9 || c == 0x1ebf || c == 0x3ac || c == 0x1f71)
			assert_int_equal(marks, 1);
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

CASE(texts_are_folded)
{
	assert_folded(SPAN_LIT("Hello, World! @[`{ and quite some more of IT"),
	              "hello, world! @[`{ and quite some more of it");
	assert_folded(SPAN_LIT("\xc3\x89T\xc3\x89 \xd0\x9f\xd0\xa0 \xe2\x84\xaa\xc5\xbf"),
	              "\xc3\xa9t\xc3\xa9 \xd0\xbf\xd1\x80 ks");
	assert_folded(SPAN_LIT("\xc3\x9f\xe1\xba\x9e"), "\xc3\x9f\xc3\x9f");                     /* sharp s, both */
	assert_folded(SPAN_LIT("\xc4\xb0\xc4\xb1I"), "\xc4\xb0\xc4\xb1i");                       /* not Turkish */
	assert_folded(SPAN_LIT("\xf0\x90\x90\x80\xe6\x96\x87"), "\xf0\x90\x90\xa8\xe6\x96\x87"); /* Deseret, Han */
	assert_folded(SPAN_LIT("A\xff\xc3Z\xed\xa0\x80Q"), "a\xff\xc3z\xed\xa0\x80q");
	assert_folded((struct span){NULL, 0}, "");
}

/* Other encodings of the same text. */
CASE(equivalent_texts_fold_equal)
{
	assert_folded(SPAN_LIT("e\xcc\x81t\xc3\x89 CAFE\xcc\x81"), "\xc3\xa9t\xc3\xa9 caf\xc3\xa9");
	assert_folded(SPAN_LIT("\xc3\xaa\xcc\x81 e\xcc\x82\xcc\x81"), "\xe1\xba\xbf \xe1\xba\xbf");
	assert_folded(SPAN_LIT("e\xcc\x82\xcc\xa3 \xe1\xba\xb9\xcc\x82"), "\xe1\xbb\x87 \xe1\xbb\x87"); /* in order */
	assert_folded(SPAN_LIT("J\xcc\x8c\xc7\xb0"), "\xc7\xb0\xc7\xb0");  /* without a capital */
	assert_folded(SPAN_LIT("\xc5\xbf\xcc\x81"), "\xc5\x9b");           /* a long s, with an acute */
	assert_folded(SPAN_LIT("x\xcc\x81\xcc\x81"), "x\xcc\x81\xcc\x81"); /* without a composed form */
	assert_folded(SPAN_LIT("\xe2\x84\xab\xe2\x84\xa6\xcd\xbe\xe1\xbf\xaf"), "\xc3\xa5\xcf\x89;`");
	assert_folded(SPAN_LIT("\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8\xea\xb0\x80\xe1\x86\xa8"),
	              "\xea\xb0\x81\xea\xb0\x81");
	assert_folded(SPAN_LIT("\xe3\x81\x8b\xe3\x82\x99"), "\xe3\x81\x8c"); /* ka, ga */
	assert_folded(SPAN_LIT("\xef\xa4\x80"), "\xe8\xb1\x88");             /* a compatibility character */
	assert_folded(SPAN_LIT("\xe0\xa5\x98"), "\xe0\xa4\x95\xe0\xa4\xbc"); /* never composed */
	assert_folded(SPAN_LIT("\xce\x86\xcd\x85 \xe1\xbe\xbc\xcc\x81"), "\xe1\xbe\xb4 \xe1\xbe\xb4");
	assert_folded(SPAN_LIT("\xe2\x80\x98\xe2\x80\x99\xe2\x80\x9b\xca\xbc \xe2\x80\x9c\xe2\x80\x9d\xe2\x80\x9f"),
	              "'''' \"\"\"");
	assert_folded(SPAN_LIT("\xe2\x80\x90\xe2\x80\x91\xe2\x80\x92\xe2\x80\x93\xe2\x80\x94\xe2\x80\x95\xe2\x88\x92"),
	              "-------");
	assert_folded(SPAN_LIT("\xc2\xa0\xe2\x80\xaf\xe2\x80\x87\xe2\x80\x89"), "    ");
	/* Not in the list: a low quote, a prime, the ideographic space. */
	assert_folded(SPAN_LIT("\xe2\x80\x9e\xe2\x80\xb2\xe3\x80\x80"), "\xe2\x80\x9e\xe2\x80\xb2\xe3\x80\x80");
}

/* A text folds to the same in any pieces; many marks in a row take no more time each. */
CASE(folding_in_pieces_gives_same_result)
{
	CLEANUP_BUF struct buf text = BUF_INIT, whole = BUF_INIT;

	for (int i = 0; i < 40; i++)
		buf_adds(&text, i % 3 ? "e\xcc\x81 \xff\xcc\x81" : "some plain ASCII e\xcc\x82\xcc\x81");
	for (int i = 0; i < 100000; i++)
		buf_adds(&text, i % 2 ? "\xcc\x81" : "\xcc\xa3");
	fold_add(buf_span(&text), &whole);
	for (size_t most = 1; most < 5000; most += most < 40 ? 1 : 997) {
		CLEANUP_BUF struct buf pieces = BUF_INIT;
		struct span rest = buf_span(&text);
		while (rest.n > 0)
			pieces.n += fold_write(&rest, most, buf_reserve(&pieces, FOLD_ROOM(most)));
		assert_int_equal(pieces.n, whole.n);
		assert_memory_equal(pieces.p, whole.p, whole.n);
	}
}

/* The text grows by half. */
CASE(folded_text_can_be_longer)
{
	CLEANUP_BUF struct buf text = BUF_INIT, folded = BUF_INIT;

	for (int i = 0; i < 1000; i++)
		buf_adds(&text, "\xc8\xba");
	fold_add(buf_span(&text), &folded);
	assert_int_equal(folded.n, 3000);
	assert_memory_equal(folded.p, "\xe2\xb1\xa5\xe2\xb1\xa5", 6);
}

RUN_CASES(NULL, NULL)
