/* SPDX-License-Identifier: MIT */
/* match: whether the bytes of a file can match, before the session is opened. */
#include "cases.h"
#include "session_fixture.h"
#include "find_fixture.h"
#include "sessionfs/base/cancel.h"

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
		CLEANUP_MATCHER struct matcher *m = matcher_of(span_of(cases[i].query));
		print_message("%s\n", cases[i].query);
		assert_int_equal(match_next_candidate(m, &file, true, 0, NULL, NULL), cases[i].want);
	}
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
	CLEANUP_MATCHER struct matcher *m = matcher_of(SPAN_LIT("red xylem in:session role:nobody"));
	size_t words = 0;
	uint64_t at = 1;

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
}

/* A read that fails, and an interrupt, end the scan. */
CASE(errors_end_a_scan)
{
	struct long_file long_file = {SPAN_LIT(""), 300000, -EIO};
	struct match_file file = {read_long_file, &long_file};
	const struct cancel cancel = {.is_cancelled = count_down, .arg = &(int){0}};
	CLEANUP_MATCHER struct matcher *m = matcher_of(SPAN_LIT("x"));

	assert_int_equal(match_next_candidate(m, &file, true, 0, NULL, NULL), -EIO);
	cancel_set(&cancel);
	int rc = match_next_candidate(m, &file, true, 0, NULL, NULL);
	cancel_set(NULL);
	assert_int_equal(rc, -EINTR);
}

RUN_CASES(NULL, NULL)
