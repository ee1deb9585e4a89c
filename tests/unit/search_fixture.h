/* SPDX-License-Identifier: MIT */
/* search_fixture: sessions to search, and the lines of an answer. */
#ifndef SEARCH_FIXTURE_H
#define SEARCH_FIXTURE_H

#include "../../src/find/search_impl.h"
#include "catalog_fixture.h"
#include "sessionfs/find/facts.h"
#include "sessionfs/find/search.h"

#include <stdlib.h>

struct finder {
	struct source_fixture *p;
	struct facts *facts;
	struct searches *s;
};

static inline void finder_open(struct finder *f, size_t budget)
{
	open_within(f->p, budget);
	assert_int_equal(facts_open(f->p->c, &f->p->budget, &f->facts), 0);
	assert_int_equal(searches_open(f->p->c, f->facts, &f->p->budget, &f->s), 0);
}

static inline void finder_close(struct finder *f)
{
	searches_close(f->s);
	facts_close(f->facts);
}

#define CLEANUP_FINDER CLEANUP(finder_close)

static inline void answer_put_at(const struct answer **a)
{
	answer_put(*a);
}
#define CLEANUP_ANSWER CLEANUP(answer_put_at)

static inline uint64_t number_of(struct finder *f, const char *text)
{
	uint64_t number;
	assert_int_equal(searches_get_number(f->s, span_of(text), &number), 0);
	return number;
}

static inline const struct answer *ask(struct finder *f, const char *text)
{
	const struct answer *a;
	assert_int_equal(searches_get(f->s, number_of(f, text), &a), 0);
	return a;
}

static inline const char *lines_of(const struct answer *a, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(answer_text(a, FOUND_HITS, out), 0);
	assert_int_equal(out->n, answer_size(a, FOUND_HITS));
	return buf_cstr(out);
}

static inline void expect(struct finder *f, const char *query, const char *lines)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	const struct answer *a CLEANUP_ANSWER = ask(f, query);
	assert_string_equal(lines_of(a, &text), lines);
}

/* After a change. */
static inline void expect_later(struct finder *f, const char *query, const char *lines)
{
	wait_stale();
	expect(f, query, lines);
}

static inline void three_sessions_within(struct finder *f, struct source_fixture *p, size_t cache)
{
	f->p = p;
	put(f->p, "p/a.jsonl",
	    HEADER_OF("a", "/") USER_MS("1", null, 1000, "red one") USER_MS("2", null, 2000, "blue"));
	put(f->p, "p/b.jsonl", HEADER_OF("b", "/") USER_MS("1", null, 9000, "Red two"));
	put(f->p, "p/c.jsonl", HEADER_OF("c", "/") USER_MS("1", null, 5000, "green\nred three\nred four"));
	finder_open(f, cache);
}

static inline void three_sessions(struct finder *f, struct source_fixture *p)
{
	three_sessions_within(f, p, 64 << 20);
}

static inline void put_many(struct finder *f, const char *file, const char *id, const char *ms, size_t entries,
                            size_t lines)
{
	struct buf b CLEANUP_BUF = BUF_INIT, said CLEANUP_BUF = BUF_INIT;
	int time = atoi(ms); /* differs, so that no session has copies of another one's entries */
	for (size_t k = 0; k < lines; k++)
		buf_addf(&said, "red %zu\\n", k);
	buf_addf(&b, HEADER_OF("%s", "/"), id);
	for (size_t i = 0; i < entries; i++)
		buf_addf(&b, MESSAGE_AT("e%zu", null, "2026-03-01T09:%02d:%02d.%03dZ", "role":"user","timestamp":%s,"content":"%s"),
		                        i, time / 60000, time / 1000 % 60, time % 1000, ms, buf_cstr(&said));
	put(f->p, file, buf_cstr(&b));
}

static inline size_t count_lines(const struct answer *a)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	size_t n = 0;
	lines_of(a, &text);
	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

#endif
