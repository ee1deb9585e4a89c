/* SPDX-License-Identifier: MIT */
/* match: whether the bytes of a file can match, before the session is opened. */
#include "cases.h"
#include "session_fixture.h"
#include "find_fixture.h"

static ssize_t read_span(void *arg, void *p, size_t n, uint64_t off)
{
	const struct span *all = arg;

	n = off >= all->n ? 0 : n < all->n - off ? n : all->n - off;
	memcpy(p, all->p + off, n);
	return (ssize_t)n;
}

/* A view adds to these strings, and joins them. */
CASE(joined_strings_can_match)
{
	static const struct {
		const char *query;
		int want;
	} cases[] = {
	    {"\"tools: read\"", 1}, {"\"read bash\"", 1}, {"\"grep -edit\"", 1}, {"\"-edit\"", 1},
	    {"\"### rules\"", 1},   {"\"## ru\"", 1},     {"\"#rules\"", 0},     {"gr-ep", 0},
	};
	struct span line = SPAN_LIT("{\"message\":{\"role\":\"system\",\"sections\":{\"Rules\":\"Be brief\"},"
	                            "\"toolsAdded\":[{\"name\":\"read\"}, {\"name\":\"bash\"},{\"name\":\"grep\"}],"
	                            "\"toolsRemoved\":[\"edit\"]}}\n");
	struct match_file file = {read_span, &line};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct query *q;
		struct matcher *m;
		assert_int_equal(query_parse(span_of(cases[i].query), 0, &q, NULL), 0);
		assert_int_equal(matcher_open(q, &m), 0);
		print_message("%s\n", cases[i].query);
		assert_int_equal(match_next_candidate(m, &file, true, 0, NULL, NULL), cases[i].want);
		matcher_close(m);
		query_put(q);
	}
}

static ssize_t fail_to_read(void *arg, void *p, size_t n, uint64_t off)
{
	return -EIO;
}

/* A file with this text, and text without words up to its size. */
struct long_file {
	struct span text;
	uint64_t size;
	int rc; /* of a read after it */
};

static ssize_t read_long_file(void *arg, void *p, size_t n, uint64_t off)
{
	const struct long_file *f = arg;
	size_t begin = off < f->text.n ? (size_t)off : f->text.n;

	if (off >= f->size)
		return f->rc;
	n = n < f->size - off ? n : (size_t)(f->size - off);
	memset(p, '-', n);
	memcpy(p, f->text.p + begin, n < f->text.n - begin ? n : f->text.n - begin);
	return (ssize_t)n;
}

/* One word after the other is searched in the file; if it lacks one, later only new lines are searched for that. */
CASE(words_of_a_file_are_counted)
{
	struct long_file long_file = {SPAN_LIT("{\"a\":\"xylem\"}\n"), 300000, -EIO};
	struct match_file file = {read_long_file, &long_file};
	struct matcher *m = NULL;
	struct query *q = NULL;
	size_t words = 0;
	uint64_t at = 1;

	assert_int_equal(query_parse(SPAN_LIT("red xylem in:session role:nobody"), 0, &q, NULL), 0);
	assert_int_equal(matcher_open(q, &m), 0);
	/* After an error nothing is known of the second word. */
	assert_int_equal(match_next_candidate(m, &file, true, 0, &words, &at), -EIO);
	assert_int_equal(words, 0);
	long_file.rc = 0;
	assert_int_equal(match_next_candidate(m, &file, true, 0, &words, &at), 0);
	assert_int_equal(words, 1);
	long_file.text = SPAN_LIT("{\"a\":\"red xylem\"}\n");
	assert_int_equal(match_next_candidate(m, &file, true, long_file.text.n, &words, &at), 0);
	assert_int_equal(words, 1);
	assert_int_equal(match_next_candidate(m, &file, true, 0, &words, &at), 1);
	assert_int_equal(words, 2);
	assert_int_equal(at, 0);
	matcher_close(m);
	query_put(q);
}

CASE(read_errors_are_returned)
{
	struct match_file file = {fail_to_read, NULL};
	struct query *q = NULL;
	struct matcher *m = NULL;

	assert_int_equal(query_parse(SPAN_LIT("x"), 0, &q, NULL), 0);
	assert_int_equal(matcher_open(q, &m), 0);
	assert_int_equal(match_next_candidate(m, &file, true, 0, NULL, NULL), -EIO);
	matcher_close(m);
	query_put(q);
}

RUN_CASES(NULL, NULL)
