/* SPDX-License-Identifier: MIT */
/* find_fixture: what a query finds in a session, and the same found by looking at every entry. */
#ifndef FIND_FIXTURE_H
#define FIND_FIXTURE_H

#include "sessionfs/base/fold.h"
#include "sessionfs/find/match.h"
#include "sessionfs/render/entry_text.h"

#include <errno.h>

static inline ssize_t read_session_file(void *arg, void *p, size_t n, uint64_t off)
{
	return session_pread(arg, p, n, off);
}

/* The words of a query, whose text has nothing else, and which of them must not occur. */
struct brute {
	struct span words[8];
	bool negated[8], found[8];
	size_t n;
};

static inline void brute_look(struct brute *b, const struct entry_text *parts)
{
	CLEANUP_BUF struct buf line = BUF_INIT, word = BUF_INIT;

	for (const char *p = parts->text.p, *end = p + parts->text.n, *next; p < end; p = next + 1) {
		next = memchr(p, '\n', (size_t)(end - p));
		buf_reset(&line);
		fold_add((struct span){p, (size_t)(next - p)}, &line);
		for (size_t i = 0; i < b->n; i++) {
			buf_reset(&word);
			fold_add(b->words[i], &word);
			b->found[i] |= line.n && memmem(line.p, line.n, word.p, word.n);
		}
	}
}

/* Whether entry i has the words, judged by all that it says. */
static inline bool brute_matches(const struct session *s, uint32_t i, struct brute *b)
{
	struct entry_text parts CLEANUP_ENTRY_TEXT = {0};
	struct line line CLEANUP_LINE = LINE_INIT;
	struct record r;

	memset(b->found, 0, sizeof b->found);
	assert_int_equal(session_load(s, i, &line, &r), 0);
	entry_text_begin(&parts, &r);
	while (entry_text_next(&parts) > 0)
		brute_look(b, &parts);
	for (size_t k = 0; k < b->n; k++)
		if (b->found[k] == b->negated[k])
			return false;
	return true;
}

/* Words that must occur stand first in the canonical form, each behind its length. */
static inline bool asks_words(const struct query *q)
{
	return query_text(q).p[0] >= '0' && query_text(q).p[0] <= '9';
}

/* What the matcher finds, a number for each entry, each with as many bytes of lines as it says, and with a line if
 * there is a word that it has. */
static inline void match_all(const struct session *s, struct span text, struct buf *out)
{
	struct match_file file = {read_session_file, (void *)s};
	struct found_list found = {0};
	struct query *q = NULL;
	struct matcher *m = NULL;
	uint32_t next = 0;
	uint64_t at = 0;

	assert_int_equal(query_parse(text, 0, &q), 0);
	assert_int_equal(matcher_open(q, &m), 0);
	int may = match_may(m, &file, 0, &at);
	assert_true(may >= 0);
	assert_int_equal(match_session(m, s, 0, SIZE_MAX, &found, &next, NULL), 0);
	assert_int_equal(next, session_count(s));
	if (found.n)
		assert_true(may == 1 && match_entry_at(s, at) <= found.v[0].entry);
	for (size_t i = 0; i < found.n; i++) {
		CLEANUP_BUF struct buf lines = BUF_INIT;
		assert_int_equal(match_lines(m, s, found.v[i].entry, SPAN_LIT(""), &lines), 0);
		assert_int_equal(lines.n, found.v[i].bytes);
		assert_true(lines.n > 0 || !asks_words(q));
		buf_addf(out, "%u ", found.v[i].entry);
	}
	vec_release(&found);
	matcher_close(m);
	query_put(q);
}

#endif
