/* SPDX-License-Identifier: MIT */
/* query: which queries parse, which fail, and which are equal. */
#include "cases.h"

#include "../../src/find/query.c"

#include "failing_alloc.h"

/* 2026-03-10T12:00:00Z */
#define NOW INT64_C(1773144000000)

static struct query *query_of(const char *text)
{
	struct query *q = NULL;
	int rc = query_parse(span_of(text), NOW, &q, NULL);

	if (rc < 0)
		fail_msg("`%s` does not parse: %d", text, rc);
	return q;
}

/* The terms, each text after its length. */
static struct span terms_of(const struct query *q, struct buf *out)
{
	for (size_t i = 0; i < q->terms.n; i++) {
		const struct term *t = &q->terms.v[i];
		buf_addf(out, "%s%s%zu:", t->negated ? "-" : "", query_filters[t->kind].name, t->text.n);
		buf_addspan(out, t->text);
	}
	return buf_span(out);
}

static bool is_equal(const char *one, const char *other)
{
	struct query *a = query_of(one), *b = query_of(other);
	struct buf of_a CLEANUP_BUF = BUF_INIT, of_b CLEANUP_BUF = BUF_INIT;
	bool equal = span_eq(terms_of(a, &of_a), terms_of(b, &of_b));
	query_put(a);
	query_put(b);
	return equal;
}

CASE(terms_are_parsed)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"word", "4:word"},
	    {"Two  WORDS ", "3:two5:words"},
	    {"\tb\na\r", "1:a1:b"},
	    {"a b a A", "1:a1:b"},
	    {"\"two words\"", "9:two words"},
	    {"-x", "-1:x"},
	    {"--x", "-2:-x"},
	    {"\"-x\"", "2:-x"},
	    {"-\"a b\"", "-3:a b"},
	    {"x -x", "1:x-1:x"},
	    {"\" \"", "1: "},
	    {"\"role:user\"", "9:role:user"},
	    {"role:toolResult", "role:10:toolresult"},
	    {"-type:label tool:Bash", "-type:5:labeltool:4:bash"},
	    {"title:\"two words\"", "title:9:two words"},
	    {"std::vector http://x ROLE:user", "8:http://x9:role:user11:std::vector"},
	    {"model:a/b label:x project:p session:s", "model:3:a/blabel:1:xproject:1:psession:1:s"},
	    {"is:ERROR", "is:5:error"},
	    {"b word:a -word:c a", "1:aword:1:a1:b-word:1:c"},
	    {"what:Said x what:call", "1:xwhat:4:callwhat:4:said"},
	    {"what:output", "what:6:output"},
	    {"\"OR\" or -| or|", "2:or3:or|-1:|"},
	    {"after:2026-02-28", "after:10:2026-02-28"},
	    {"before:7d", "before:10:2026-03-03"},
	    {"after:0d -before:1D", "after:10:2026-03-10-before:10:2026-03-09"},
	    {"after:Today before:YESTERDAY", "after:10:2026-03-10before:10:2026-03-09"},
	    {"after:2w -before:0W", "after:10:2026-02-24-before:10:2026-03-10"},
	    {"after:2026-02 before:2025-12", "after:10:2026-02-01before:10:2025-12-01"},
	    {"x in:SESSION y", "1:x1:yin:7:session"},
	    {"\xc3\x89t\xc3\xa9", "5:\xc3\xa9t\xc3\xa9"},
	    {"\xe2\x84\xaa\xc5\xbf", "2:ks"},
	    {"a\xe3\x80\x80"
	     "b\xc2\xa0"
	     "c",
	     "1:a1:b1:c"},
	    {"caf\xe9", "4:caf\xe9"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct query *q = query_of(rows[i].text);
		struct buf text CLEANUP_BUF = BUF_INIT;
		struct span got = terms_of(q, &text);
		if (!span_is(got, rows[i].want))
			fail_msg("`%s` is `%.*s`, not `%s`", rows[i].text, (int)got.n, got.p, rows[i].want);
		query_put(q);
	}
}

CASE(equal_queries_have_equal_terms)
{
	static const char *const rows[][2] = {
	    {"a b", "B  A"},
	    {"after:1d x", "x after:2026-03-09"},
	    {"after:yesterday", "after:2026-03-09"},
	    {"after:1w", "after:7d"},
	    {"after:2026-02", "after:2026-02-01"},
	    {"\"a\"", "a"},
	    {"-role:USER x", "x -role:user -role:user"},
	};
	static const char *const others[][2] = {
	    {"a b", "\"a b\""}, {"a", "-a"}, {"role:user", "\"role:user\""}, {"role:a", "type:a"}, {"\"1:x\"", "x"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_true(is_equal(rows[i][0], rows[i][1]));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(is_equal(others[i][0], others[i][1]));
}

static void assert_invalid(const char *text)
{
	struct query *q = NULL;
	if (query_parse(span_of(text), NOW, &q, NULL) != -EINVAL)
		fail_msg("`%s` parses", text);
	assert_null(q);
}

CASE(invalid_queries_are_refused)
{
	static const char *const rows[] = {
	    " ",         "-\"\"",       "a\"b",    "\"a\"\"b\"",         "a - b",     "-\"", "-role:",
	    "role:\"\"", "role:a\"b\"", "x:\"y\"", "x in:\"session x\"", "what:text", "|",
	};
	char text[64];
	char days[] =
	    "d 7 x7d -1d 7dd tomorrow w 2m -1w 999999w 2026-1 2026-13 2026-00 2026/02 2026-02- 2026 2026-2-3 "
	    "2026-02-30 2026-13-01 2026-00-01 2026-01-00 2026-01-01T00 2025-02-29 999999d 99999999999999999999d";

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_invalid(rows[i]);
	for (const char *day = strtok(days, " "); day; day = strtok(NULL, " ")) {
		snprintf(text, sizeof text, "after:%s", day);
		assert_invalid(text);
	}
	/* A filter without a value. */
	for (size_t k = TERM_WHOLE; query_filters[k].name; k++)
		assert_invalid(query_filters[k].name);
}

/* They stay words, even if they are similar to a filter. */
CASE(other_words_with_colons_are_words)
{
	static const char *const words[] = {"tools:bash", "rol:user", "Role:user", "roel:user", "mode:755", "since:7d",
	                                    "tools:",     "it:error", "s:x",       ":x",        "a:tool:x"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct query *q = query_of(words[i]);
		assert_int_equal(q->terms.v[0].kind, TERM_WORD);
		query_put(q);
	}
}

/* Each reason names the part, and what to write instead. */
CASE(refusals_have_a_remedy)
{
	static const char *const rows[][2] = {
	    {"", "empty query; write words"},
	    {"\"open", "\"open: unclosed quote; add one at the end"},
	    {"a \"\"", "\"\": empty quotes; write words between them"},
	    {"\"a\"b", "\"a\"b: no space after the closing quote; add one"},
	    {"a\"b\"", "a\"b\": a quote inside a word; put the whole word or value in quotes"},
	    {"-", "-: no value; add one without a space"},
	    {"role: x", "role: no value; add one without a space"},
	    {"a OR b", "OR: OR is not an operator; search for each word, or use rg 'a|b'"},
	    {"after:banana", "banana: not a day; use YYYY-MM-DD, YYYY-MM, today, yesterday, 7d or 2w"},
	    {"is:warning", "warning: unknown value; use is:error or is:secret"},
	    {"state:open", "open: unknown value; use state:working, state:done, state:failed or state:stopped"},
	    {"-what:output", "what:: cannot be negated; name the other kinds"},
	    {"x -in:session", "in:: cannot be negated; leave it out"},
	    {"x in:project", "project: unknown value; use in:session"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CLEANUP_BUF struct buf why = BUF_INIT;
		struct query *q = NULL;
		assert_int_equal(query_parse(span_of(rows[i][0]), NOW, &q, &why), -EINVAL);
		assert_null(q);
		assert_string_equal(buf_cstr(&why), rows[i][1]);
	}
}

/* Asserts that the query is valid on the day that ends then. */
static void assert_current(const struct query *q, int64_t end)
{
	int64_t begin = end - INT64_C(86400000);
	assert_true(query_is_current(q, begin) && query_is_current(q, end - 1));
	assert_false(query_is_current(q, begin - 1) || query_is_current(q, end));
}

CASE(days_begin_at_local_midnight)
{
	static const char *const relative[] = {"after:7d", "before:2w", "x after:today", "-before:yesterday"};
	static const char *const fixed[] = {"after:2026-01-01 word", "after:2026-01", "x in:session"};
	struct query *q;
	for (size_t i = 0; i < sizeof relative / sizeof *relative; i++) {
		q = query_of(relative[i]);
		/* The test runs in UTC. */
		assert_current(q, INT64_C(1773187200000));
		query_put(q);
	}
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		q = query_of(fixed[i]);
		assert_true(query_is_current(q, 0) && query_is_current(q, INT64_MAX - 1));
		query_put(q);
	}
	assert_int_equal(setenv("TZ", "XYZ-14", 1), 0); /* the 11th already */
	tzset();
	q = query_of("after:today");
	assert_true(span_is(q->terms.v[0].text, "2026-03-11"));
	assert_current(q, INT64_C(1773223200000));
	query_put(q);
	in_utc(NULL);
}

/* After a day of 23 or 25 hours, without a midnight, and with two. */
CASE(days_begin_where_clocks_change)
{
	static const struct {
		const char *zone, *query;
		int64_t begin;
	} rows[] = {
	    {"CET-1CEST,M3.5.0,M10.5.0/3", "after:2026-03-30", INT64_C(1774821600000)},
	    {"CET-1CEST,M3.5.0,M10.5.0/3", "after:2026-10-26", INT64_C(1792969200000)},
	    {"AST4ADT,M3.2.0/0,M11.1.0/0", "after:2026-03-08", INT64_C(1772942400000)},
	    {"AST4ADT,M3.2.0/0,M11.1.0/0", "after:2026-11-01", INT64_C(1793505600000)},
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(setenv("TZ", rows[i].zone, 1), 0);
		tzset();
		struct query *q = query_of(rows[i].query);
		assert_int_equal(q->terms.v[0].day, rows[i].begin);
		query_put(q);
	}
	in_utc(NULL);
}

CASE(terms_are_limited)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct query *q = NULL;

	for (int i = 0; i < 10000; i++)
		buf_addf(&text, "w%d ", i);
	assert_int_equal(query_parse(buf_span(&text), NOW, &q, NULL), -EINVAL);
	buf_reset(&text);
	for (int i = 0; i < 10000; i++)
		buf_addf(&text, "w%d ", i % QUERY_TERMS);
	assert_int_equal(query_parse(buf_span(&text), NOW, &q, NULL), 0);
	query_put(q);
	buf_reset(&text);
	for (int i = 0; i < 255; i++)
		buf_addc(&text, '"');
	assert_int_equal(query_parse(buf_span(&text), NOW, &q, NULL), -EINVAL);
}

CASE(session_filters_select_sessions)
{
	const struct query_session s = {SPAN_LIT("home-will-app"), SPAN_LIT("2026-03-02_abc"), SPAN_LIT("abc"),
	                                SPAN_LIT("Fix the Parser"), SPAN_LIT("done")};
	static const struct {
		const char *text;
		bool wants, local;
	} rows[] = {
	    {"x", true, true},
	    {"title:parser", true, false},
	    {"-title:parser", false, false},
	    {"title:\"the p\" x", true, false},
	    {"title:lexer", false, false},
	    {"project:WILL", true, true},
	    {"project:anna", false, true},
	    {"-project:anna", true, true},
	    {"session:ABC", true, true},
	    {"session:2026-03-02", true, true},
	    {"session:b -session:c", false, true},
	    {"state:DONE", true, false},
	    {"-state:done", false, false},
	    {"state:working", false, false},
	    {"-state:\"failed\" x", true, false},
	    {"label:x", true, false},
	    {"-label:x y", true, false},
	    {"x y in:session", true, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct query *q = query_of(rows[i].text);
		if (query_may_match_session(q, &s) != rows[i].wants)
			fail_msg("%s", rows[i].text);
		assert_int_equal(query_verdict_is_final(q, false), rows[i].local);
		assert_int_equal(query_verdict_is_final(q, true), rows[i].local || q->in_session);
		query_put(q);
	}
}

CASE(allocation_failure_is_returned)
{
	struct query *q = NULL;
	int rc = -ENOMEM;

	for (long n = 0; rc < 0; n++) {
		allocs_left = n;
		rc = query_parse(SPAN_LIT("one \"two three\" role:user after:7d"), NOW, &q, NULL);
		allocs_left = -1;
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_true(n > 0 || rc < 0);
	}
	query_put(q);
}

RUN_CASES(in_utc, NULL)
