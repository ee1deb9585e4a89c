/* SPDX-License-Identifier: MIT */
/* match: words drawn at random are found where a search of every entry finds them. */
#include "cases.h"
#include "session_fixture.h"
#include "find_fixture.h"
#include "seed.h"

static uint64_t dice;

/* Few characters, so that words occur; characters that fold oddly, and that JSON escapes. */
static const char *const letters[] = {
    "a",
    "B",
    "k",
    "K",
    "\xe2\x84\xaa",
    "s",
    "S",
    "\xc5\xbf",
    "x",
    " ",
    " ",
    "/",
    ":",
    "$",
    "[",
    ",",
    "1",
    "\xc3\xa9",
    "\xc3\x89",
    "\xd0\xbf",
    "\xd0\x9f",
    "\xe6\x96\x87",
    "\xf0\x90\x90\x80",
    "\xf0\x90\x90\xa8",
    "\\\\",
    "\\n",
    "\\t",
    "\\u0000",
    "\\ud800",
    "\xff",
    "e",
    "\xcc\x81",
    "'",
    "\xe2\x80\x99",
    "-",
    "\xe2\x80\x94",
    "\xed\x9e\x88",
    "\xe1\x84\x92\xe1\x85\xb5",
    "\\u0301",
    "\\u2014",
};
enum { LETTERS = sizeof letters / sizeof *letters, SPELLED = 24 };

static void add_letter(unsigned i, struct buf *out)
{
	static const char *const escaped[SPELLED] = {
	    "\\u0061", "\\u0042", "\\u006b", "\\u004B", "\\u212a", "\\u0073", "\\u0053",        "\\u017F",
	    "\\u0078", "\\u0020", "\\u0020", "\\/",     "\\u003a", "\\u0024", "\\u005B",        "\\u002c",
	    "\\u0031", "\\u00e9", "\\u00C9", "\\u043f", "\\u041F", "\\u6587", "\\ud801\\udc00", "\\uD801\\uDC28"};

	const char *const *from = i < SPELLED && roll(&dice, 8) == 0 ? escaped : letters;
	buf_adds(out, from[i]);
}

static void add_text(unsigned n, struct buf *out)
{
	buf_addc(out, '"');
	for (unsigned i = roll(&dice, n); i-- > 0;)
		add_letter(roll(&dice, LETTERS), out);
	buf_addc(out, '"');
}

/* An entry, sometimes a long one, so that words are at the ends of blocks. */
static void add_entry(unsigned id, struct buf *out)
{
	buf_addf(out, "{\"type\":\"message\",\"id\":\"<%u>\",\"message\":{\"role\":\"%s\",\"content\":[", id,
	         roll(&dice, 2) ? "assistant" : "user");
	if (roll(&dice, 400) == 0) {
		buf_adds(out, "{\"type\":\"text\",\"text\":\"");
		for (unsigned i = 100000 + roll(&dice, 300000); i-- > 0;)
			buf_addc(out, '-');
		buf_adds(out, "\"},");
	}
	buf_adds(out, "{\"type\":\"text\",\"text\":");
	add_text(30, out);
	buf_adds(out, "},{\"type\":\"toolCall\",\"name\":\"t\",\"arguments\":{");
	add_text(4, out);
	buf_adds(out, " : ");
	add_text(8, out);
	buf_adds(out, ",\"s\":[1 , ");
	add_text(6, out);
	buf_adds(out, "] }}]}}\n");
}

/* The words as a query has them, and for the other search. */
static void make_words(struct buf *query, struct brute *b, struct buf words[2])
{
	*b = (struct brute){.n = 1 + roll(&dice, 2)};
	for (size_t i = 0; i < b->n; i++) {
		buf_reset(&words[i]);
		for (unsigned k = 1 + roll(&dice, roll(&dice, 3) ? 4 : 12); k-- > 0;) {
			unsigned letter = roll(&dice, LETTERS);
			if (letters[letter][0] == '\\')
				buf_adds(&words[i], roll(&dice, 2)   ? "\\"
				                    : roll(&dice, 2) ? "\xe2\x90\x80"
				                                     : "\xef\xbf\xbd");
			else
				buf_adds(&words[i], letters[letter]);
		}
		b->words[i] = buf_span(&words[i]);
		b->negated[i] = roll(&dice, 6) == 0;
		buf_addf(query, "%s\"%.*s\" ", b->negated[i] ? "-" : "", (int)words[i].n, words[i].p);
	}
}

static void check_words(const struct session *s)
{
	CLEANUP_BUF struct buf query = BUF_INIT, got = BUF_INIT, want = BUF_INIT;
	struct buf words[2] = {BUF_INIT, BUF_INIT};
	struct brute b;

	make_words(&query, &b, words);
	match_all(s, buf_span(&query), &got);
	for (uint32_t i = 0; i < session_count(s); i++)
		if (brute_matches(s, i, &b))
			buf_addf(&want, "%u ", i);
	if (!span_eq(buf_span(&got), buf_span(&want)))
		fail_msg("%.*s: found %.*s, not %.*s", (int)query.n, query.p, (int)got.n, got.p, (int)want.n, want.p);
	buf_release(&words[0]);
	buf_release(&words[1]);
}

CASE(needles_match_all_entries)
{
	dice = seed_of_run();
	for (int file = 0; file < 20; file++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT;
		CLEANUP_FIXTURE struct fixture f;
		buf_adds(&bytes, HEADER);
		for (unsigned i = 0; i < 60; i++)
			add_entry(i, &bytes);
		assert_int_equal(open_bytes(&f, bytes.p, bytes.n), 0);
		for (int i = 0; i < 60; i++)
			check_words(f.s);
	}
}

RUN_CASES(NULL, NULL)
