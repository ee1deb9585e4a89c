/* SPDX-License-Identifier: MIT */
/* find_fixture: the hits of a query in a session, and the same hits found by reading every entry. */
#ifndef FIND_FIXTURE_H
#define FIND_FIXTURE_H

#include "../../src/find/match_impl.h"
#include "sessionfs/base/fold.h"
#include "sessionfs/render/entry_text.h"

#include <errno.h>

static inline ssize_t read_session_file(void *arg, void *p, size_t n, uint64_t off)
{
	return session_pread(arg, p, n, off);
}

static inline struct matcher *matcher_of(struct span query)
{
	struct query *q = NULL;
	struct matcher *m = NULL;

	assert_int_equal(query_parse(query, 0, &q, NULL), 0);
	assert_int_equal(matcher_open(q, &m), 0);
	return m;
}

static inline void matcher_close_at(struct matcher **m)
{
	struct query *q = (struct query *)(*m)->q;

	matcher_close(*m);
	query_put(q);
}
#define CLEANUP_MATCHER CLEANUP(matcher_close_at)
#define CLEANUP_FOUND CLEANUP(found_release)

struct shown_lines {
	struct span prefix;
	struct buf *out;
};

static inline int show_line(void *arg, const struct found_list *of, const struct hit *hit)
{
	const struct shown_lines *l = arg;

	(void)of;
	buf_addspan(l->out, l->prefix);
	buf_addspan(l->out, hit->path);
	buf_addf(l->out, ":%ju:", (uintmax_t)hit->line);
	buf_addspan(l->out, hit->text);
	buf_addc(l->out, '\n');
	return buf_err(l->out);
}

/* Appends the lines of hits.txt of an entry, each after this prefix. */
static inline int match_lines(struct matcher *m, const struct session *s, uint32_t entry, struct span prefix,
                              struct buf *out)
{
	struct shown_lines l = {prefix, out};

	return match_each_hit_line(m, s, NULL, entry, HIT_LINES, show_line, &l);
}

/* The words of a query that has nothing else, and which of them must not occur. */
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

/* Returns whether entry i has the words, judged by all its text. */
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

/* Words that must occur come first. */
static inline bool asks_words(const struct query *q)
{
	return q->terms.v[0].kind == TERM_WORD && !q->terms.v[0].negated;
}

/* Of a struct cancel, whose argument is how many checks find nothing. */
static inline bool count_down(void *arg)
{
	return --*(int *)arg < 0;
}

/* Appends the number of each entry that the matcher finds. Checks that its lines have as many bytes as it reports, and
 * that it has a line if one of the words occurs. */
static inline void match_all(const struct session *s, struct span text, struct buf *out)
{
	struct match_file file = {read_session_file, (void *)s};
	CLEANUP_FOUND struct found_list found = {.project = "", .stem = ""};
	CLEANUP_MATCHER struct matcher *m = matcher_of(text);
	uint32_t next = 0;
	uint64_t at = 0;

	int may = match_next_candidate(m, &file, session_format(s)->has_ids, 0, NULL, &at);
	assert_true(may >= 0);
	assert_int_equal(match_session(m, s, 0, SIZE_MAX, &found, &next, NULL), 0);
	assert_int_equal(next, session_count(s));
	if (found.n)
		assert_true(may == 1 && match_entry_at(s, at) <= found.v[0].entry);
	for (size_t i = 0; i < found.n; i++) {
		struct found begin = found_entry_begin(&found, i);
		assert_true(found.v[i].lines > begin.lines || !asks_words(m->q));
		assert_true(found.v[i].ends[FOUND_ROWS] > begin.ends[FOUND_ROWS]);
		buf_addf(out, "%u ", found.v[i].entry);
	}
}

/* The lines of hits.txt for one entry, however many it has with one of the words. */
static inline void lines_of(const struct session *s, const char *query, uint32_t entry, struct buf *out)
{
	CLEANUP_MATCHER struct matcher *m = matcher_of(span_of(query));

	assert_int_equal(match_lines(m, s, entry, SPAN_LIT("P/"), out), 0);
	assert_true(m->lines.cap <= 4 * HIT_LINES);
}

#endif
