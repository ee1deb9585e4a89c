/* SPDX-License-Identifier: MIT */
/* fuzz_query: query.c, match.c and the layers below. Any text is a query or gets an error. A query finds the same in
 * any session as examining each entry does, and never skips the raw bytes of a session with a match.
 *
 * Input: the query, then the session file. */
#include "fuzz.h"

#include "session_fixture.h"

#include "find_fixture.h"

static void parse(struct span text)
{
	CLEANUP_BUF struct buf why = BUF_INIT;
	struct query *q = NULL, *again = NULL;

	int rc = query_parse(text, 0, &q, &why);
	assert_true(rc == 0 || rc == -EINVAL);
	assert_int_equal(query_parse(text, 0, &again, NULL), rc);
	assert_true((rc == 0) == (why.n == 0));
	assert_true(rc < 0 || q->terms.n == again->terms.n);
	for (size_t i = 0; rc == 0 && i < q->terms.n; i++) {
		assert_true(q->terms.v[i].kind == again->terms.v[i].kind);
		assert_true(q->terms.v[i].negated == again->terms.v[i].negated);
		assert_spans_equal(q->terms.v[i].text, again->terms.v[i].text);
	}
	if (rc < 0)
		assert_null(memchr(why.p, '\n', why.n));
	query_put(q);
	query_put(again);
}

/* Splits a text of nothing but words, in the simplest way. Returns false for other texts. */
static bool plain_words(struct span text, struct brute *b)
{
	const char *p = text.p, *end = p + text.n;

	*b = (struct brute){.n = 0};
	while (p < end) {
		if (*p == ' ') {
			p++;
			continue;
		}
		if (b->n == sizeof b->words / sizeof *b->words)
			return false;
		bool negated = *p == '-';
		p += negated;
		const char *word = p;
		while (p < end && *p != ' ') {
			if (*p == '"' || *p == ':' || (*p >= 0 && *p < ' '))
				return false;
			p++;
		}
		if (p == word)
			return false;
		b->negated[b->n] = negated;
		b->words[b->n++] = (struct span){word, (size_t)(p - word)};
	}
	return b->n > 0;
}

static void search(const struct session *s, struct span text)
{
	CLEANUP_BUF struct buf found = BUF_INIT, want = BUF_INIT;
	struct query *q = NULL;
	struct brute b;

	if (query_parse(text, 0, &q, NULL) < 0)
		return;
	query_put(q);
	match_all(s, text, &found);
	if (!plain_words(text, &b))
		return;
	for (uint32_t i = 0; i < session_count(s); i++)
		if (brute_matches(s, i, &b))
			buf_addf(&want, "%u ", i);
	assert_spans_equal(buf_span(&found), buf_span(&want));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[128];
	struct feed feed = feed_of(data, size);
	struct span text = feed_step(&feed);
	struct session *s = NULL;

	parse(text);
	snprintf(path, sizeof path, "%s/s.jsonl", fuzz_dir());
	fuzz_file(path, feed_bytes(&feed, feed.n), O_CREAT | O_TRUNC, 3600);
	int rc = session_open(&(struct source_path){NULL, path}, false, &s);
	assert_true(rc == 0 || rc == ERROR_NO_SESSION);
	if (rc == 0) {
		session_rdlock(s);
		search(s, text);
		session_unlock(s);
		session_close(s);
	}
	return 0;
}
