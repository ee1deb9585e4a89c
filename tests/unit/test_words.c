/* SPDX-License-Identifier: MIT */
/* words: the words of a query in long and short lines, whole and in parts, and the part of a line that is shown. */
#include "cases.h"
#include "session_fixture.h"
#include "find_fixture.h"

#include "sessionfs/base/utf8.h"

/* A line of some MiB is searched in pieces: a word at each place around their ends. */
CASE(words_across_piece_boundaries_match)
{
	for (size_t before = 16300; before < 16420; before++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT, got = BUF_INIT;
		CLEANUP_FIXTURE struct fixture f;
		buf_adds(&bytes, HEADER "{\"type\":\"message\",\"id\":\"1\",\"timestamp\":\"2026-03-01T12:00:00Z\","
		                        "\"message\":{\"role\":\"user\",\"content\":\"");
		for (size_t i = 0; i < before; i++)
			buf_addc(&bytes, '-');
		buf_adds(&bytes, "\xc3\x89t\xc3\xa9 \xe2\x84\xaa\xe6\x96\x87 end\"}}\n");
		assert_int_equal(open_bytes(&f, bytes.p, bytes.n), 0);
		match_all(f.s, SPAN_LIT("\"\xc3\xa9T\xc3\xa9 k\xe6\x96\x87 e\" nd"), &got);
		assert_true(span_is(buf_span(&got), "0 "));
	}
}

/* Whether a word is whole is decided with the character after it, which can be in the next piece. */
CASE(whole_words_across_piece_boundaries_match)
{
	static const struct {
		const char *end, *want;
	} rows[] = {{"cat ", "0 "},
	            {"cats ", ""},
	            {"\xc3\xa9"
	             "cat ",
	             ""},
	            {"cat\xc3\xa9 ", ""},
	            {"cat", "0 "}};

	for (size_t before = 16350; before < 16400; before++) {
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			CLEANUP_BUF struct buf bytes = BUF_INIT, got = BUF_INIT;
			CLEANUP_FIXTURE struct fixture f;
			buf_adds(&bytes, HEADER "{\"type\":\"message\",\"id\":\"1\",\"timestamp\":\"2026-03-01T12:00:"
			                        "00Z\",\"message\":{\"role\":\"user\",\"content\":\"");
			/* concat is in each piece that ends or begins within it. */
			for (size_t n = 0; n < before; n++)
				buf_addc(&bytes, "concat-"[(before - n) % 7]);
			buf_addf(&bytes, "-%s", rows[i].end);
			for (size_t n = 0; n < 20000 && i != 4; n++)
				buf_addc(&bytes, '-');
			buf_adds(&bytes, "\"}}\n");
			assert_int_equal(open_bytes(&f, bytes.p, bytes.n), 0);
			match_all(f.s, SPAN_LIT("word:cat"), &got);
			if (!span_is(buf_span(&got), rows[i].want))
				fail_msg("%zu characters and `%s`: found `%.*s`", before, rows[i].end, (int)got.n,
				         got.p);
		}
	}
}

/* The lines with the most words win, then those with the most whole words. An id shows the first lines. */
CASE(whole_words_come_first)
{
	static const char *const said = "category\\nno\\ncategories\\nconcat\\nthe cat\\na cat dog\\ncats";
	static const struct {
		const char *query, *want;
	} rows[] = {
	    {"cat", "1 5 6 "},
	    {"cat dog", "1 5 6 "},
	    {"word:cat", "5 6 "},
	    {"cats", "7 "},
	    {"no", "2 "},
	    {"entry-id", "1 2 3 "},
	    {"ENTRY-ID-1", "1 2 3 "},
	    {"entry-i", ""},
	    {"the-session", "1 2 3 "},
	    {"-the-session", "1 2 3 "},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT, lines = BUF_INIT, got = BUF_INIT;
		struct span rest, line;
		CLEANUP_FIXTURE struct fixture f;
		buf_addf(&bytes, LINE({"type":"session","version":3,"id":"the-session-id"})
		                          LINE({"type":"message","id":"entry-id-1","timestamp":"2026-03-01T12:00:00Z",
		        "message":{"role":"user","content":"%s"}}),
		                                said);
		assert_int_equal(open_bytes(&f, bytes.p, bytes.n), 0);
		match_all(f.s, span_of(rows[i].query), &got);
		assert_int_equal(got.n > 0, *rows[i].want != '\0');
		if (got.n > 0)
			lines_of(f.s, rows[i].query, 0, &lines);
		buf_reset(&got);
		for (rest = buf_span(&lines); span_line(&rest, &line);)
			buf_addf(&got, "%c ", line.p[strlen("P/entries/entry-id-1/text.md:")]);
		if (!span_is(buf_span(&got), rows[i].want))
			fail_msg("%s: lines `%.*s`, not `%s`", rows[i].query, (int)got.n, got.p, rows[i].want);
	}
}

/* The text that hits.txt shows of a user's long line, for this query. */
static void cut_of(const char *line, const char *query, struct buf *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT, lines = BUF_INIT;
	struct fixture f;

	buf_addf(&bytes, HEADER LINE({"type":"message","id":"1","timestamp":"2026-03-01T12:00:00Z","message":{"role":"user",
	        "content":"%s"}}),
	                              line);
	assert_int_equal(open_bytes(&f, bytes.p, bytes.n), 0);
	lines_of(f.s, query, 0, &lines);
	fixture_release(&f);
	struct span shown = buf_span(&lines), path = SPAN_LIT("P/entries/1/text.md:1:");
	assert_true(shown.n > path.n && memcmp(shown.p, path.p, path.n) == 0);
	buf_reset(out);
	buf_add(out, shown.p + path.n, shown.n - path.n - 1);
	assert_true(utf8_count(buf_span(out)) == HIT_CHARACTERS);
	assert_non_null(buf_cstr(out));
}

/* Appends n characters without a word. */
static void add_filler(size_t n, struct buf *out)
{
	while (n-- > 0)
		buf_adds(out, n % 9 ? "." : "\xc2\xb7");
}

/* The part with the most words wins, wherever they are. In a line, a number is that many characters. */
CASE(the_best_part_is_shown)
{
	static const struct {
		const char *query;
		struct {
			size_t n;
			const char *text;
		} line[4];
		const char *shown, *hidden;
	} rows[] = {
	    /* the most words */
	    {"alpha beta", {{400, "alpha"}, {400, "alpha beta"}, {400, "beta"}, {400, ""}}, "alpha beta", "alpha."},
	    /* whole words before parts of words, at either end */
	    {"to beta", {{400, "store beta"}, {400, "to beta"}, {400, "toe beta"}, {400, ""}}, "to beta", "store"},
	    {"to beta",
	     {{400, "pro to_beta"}, {400, "to\xc3\xa9 beta"}, {400, "to beta;"}, {400, ""}},
	     "to beta;",
	     "_"},
	    {"to beta", {{400, "to beta;"}, {400, "to beta,"}, {400, ""}}, "to beta;", "to beta,"},
	    {"to", {{400, "to9"}, {400, "TO"}, {400, ""}}, "TO", "to9"},
	    /* longer words before shorter */
	    {"alphabet to", {{400, "to"}, {400, "alphabet"}, {400, ""}}, "alphabet", "to"},
	    /* it has room for 298 characters and two ellipses, for one more where the line begins or ends */
	    {"alpha beta", {{400, "alpha"}, {289, "beta"}, {400, ""}}, "\u2026alpha", "-"},
	    {"alpha beta", {{400, "alpha"}, {290, "beta"}, {400, ""}}, "alpha", "beta"},
	    {"alpha beta", {{0, "alpha"}, {290, "beta"}, {400, ""}}, "beta\u2026", "\u2026alpha"},
	    {"alpha beta", {{400, "alpha"}, {290, "beta"}}, "\u2026alpha", "beta\u2026"},
	    /* a word in parts, and one that folds to another length */
	    {"\xc3\xa9t\xc3\xa9 key",
	     {{400, "e\xcc\x81t"},
	      {400, "e\xcc\x81te\xcc\x81 \xe2\x84\xaa"
	            "ey"},
	      {400, ""}},
	     "e\xcc\x81 ",
	     "t."},
	    /* none of them */
	    {"role:user", {{400, "alpha"}}, ".", "alpha"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CLEANUP_BUF struct buf line = BUF_INIT, got = BUF_INIT;
		for (size_t k = 0; k < 4 && rows[i].line[k].text; k++) {
			add_filler(rows[i].line[k].n, &line);
			buf_adds(&line, rows[i].line[k].text);
		}
		cut_of(buf_cstr(&line), rows[i].query, &got);
		if (!strstr(got.p, rows[i].shown) || strstr(got.p, rows[i].hidden))
			fail_msg("%zu: %s", i, got.p);
	}
}

/* The place of the best two words, around the ends of the pieces of a long line. */
CASE(the_best_part_is_at_a_seam)
{
	for (size_t before = 16340; before < 16400; before++) {
		CLEANUP_BUF struct buf line = BUF_INIT, got = BUF_INIT;
		buf_adds(&line, "needles in ahay");
		add_filler(before - line.n, &line);
		buf_adds(&line, " needle in hay ");
		add_filler(40000, &line);
		cut_of(buf_cstr(&line), "needle hay in", &got);
		assert_non_null(strstr(got.p, "needle in hay"));
		assert_ptr_equal(strstr(got.p, "\xe2\x80\xa6"), got.p);
	}
}

RUN_CASES(NULL, NULL)
