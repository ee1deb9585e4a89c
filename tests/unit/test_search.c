/* SPDX-License-Identifier: MIT */
/* Answers to queries over all sessions: order, limits, caching and renewal. e2e/search.sh and test_match check that
 * they are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sessionfs/base/cancel.h"
#include "sessionfs/find/facts.h"
#include "sessionfs/find/search.h"
#include "../../src/find/search_impl.h"
#include "catalog_fixture.h"
#include "failing_alloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define SAYS(id, ms, text)                                                                                             \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":null,\"timestamp\":\"2026-03-01T09:00:00.000Z\","        \
	"\"message\":{\"role\":\"user\",\"content\":\"" text "\",\"timestamp\":" ms "}}\n"

struct finder {
	struct source_fixture *p;
	struct facts *facts;
	struct searches *s;
};

static void finder_open(struct finder *f, size_t budget)
{
	open_within(f->p, budget);
	assert_int_equal(facts_open(f->p->c, &f->p->budget, &f->facts), 0);
	assert_int_equal(searches_open(f->p->c, f->facts, &f->p->budget, &f->s), 0);
}

static void finder_close(struct finder *f)
{
	searches_close(f->s);
	facts_close(f->facts);
}

static uint64_t number_of(struct finder *f, const char *text)
{
	uint64_t number;
	assert_int_equal(searches_get_number(f->s, span_of(text), &number, NULL), 0);
	return number;
}

static const struct answer *ask(struct finder *f, const char *text)
{
	const struct answer *a;
	assert_int_equal(searches_get(f->s, number_of(f, text), &a), 0);
	return a;
}

static const char *lines_of(const struct answer *a, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(answer_text(a, FOUND_HITS, out), 0);
	assert_int_equal(out->n, answer_size(a, FOUND_HITS));
	return buf_cstr(out);
}

static void expect(struct finder *f, const char *query, const char *lines)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	const struct answer *a = ask(f, query);
	assert_string_equal(lines_of(a, &text), lines);
	answer_put(a);
}

static void three_sessions_within(struct finder *f, struct source_fixture *p, size_t cache)
{
	f->p = p;
	make_dir(f->p, "p");
	put(f->p, "p/a.jsonl", HEADER("a", "/") SAYS("1", "1000", "red one") SAYS("2", "2000", "blue"));
	put(f->p, "p/b.jsonl", HEADER("b", "/") SAYS("1", "9000", "Red two"));
	put(f->p, "p/c.jsonl", HEADER("c", "/") SAYS("1", "5000", "green\\nred three\\nred four"));
	finder_open(f, cache);
}

static void three_sessions(struct finder *f, struct source_fixture *p)
{
	three_sessions_within(f, p, 64 << 20);
}

static void look_at_order(struct source_fixture *p, size_t cache)
{
	struct finder f;
	three_sessions_within(&f, p, cache);
	expect(&f, "red",
	       "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/c/entries/1/text.md:2:red three\n"
	       "projects/p/c/entries/1/text.md:3:red four\nprojects/p/a/entries/1/text.md:1:red one\n");
	expect(&f, "red session:a", "projects/p/a/entries/1/text.md:1:red one\n");
	expect(&f, "yellow", "");
	const struct answer *a = ask(&f, "red");
	struct buf rows CLEANUP_BUF = BUF_INIT;
	assert_int_equal(answer_text(a, FOUND_ROWS, &rows), 0);
	assert_int_equal(rows.n, answer_size(a, FOUND_ROWS));
	assert_string_equal(buf_cstr(&rows),
	                    "time\tproject\tstem\tentry\twhat\tpath\tline\ttext\n"
	                    "2026-03-01T09:00:00.000Z\tp\tb\t1\tuser\tprojects/p/b/entries/1/text.md\t1\tRed two\n"
	                    "2026-03-01T09:00:00.000Z\tp\tc\t1\tuser\tprojects/p/c/entries/1/text.md\t2\tred three\n"
	                    "2026-03-01T09:00:00.000Z\tp\ta\t1\tuser\tprojects/p/a/entries/1/text.md\t1\tred one\n");
	assert_true(span_begins(answer_entry_text(a, FOUND_ROWS, 2), SPAN_LIT("2026-03-01T09:00:00.000Z\tp\ta\t")));
	assert_int_equal(answer_count(a), 3);
	assert_int_equal(answer_at(a, 0).entry, 0);
	assert_true(span_is(answer_at(a, 0).title, "Red two"));
	answer_put(a);
	finder_close(&f);
}

static void answers_are_ordered(void **state)
{
	look_at_order(*state, 64 << 20);
}

/* Answers that are not cached are computed again. */
static void uncached_answers_are_ordered(void **state)
{
	look_at_order(*state, 64);
}

static void readers_keep_the_old_answer(void **state)
{
	struct finder f;
	struct buf text CLEANUP_BUF = BUF_INIT;
	three_sessions(&f, *state);
	const struct answer *a = ask(&f, "red"), *same = ask(&f, "red");
	assert_ptr_equal(a, same);
	answer_put(same);
	append(f.p, "p/a.jsonl", SAYS("3", "10000", "red again"));
	wait_stale();
	const struct answer *next = ask(&f, "red");
	assert_true(answer_version(next) != answer_version(a));
	assert_string_equal(lines_of(next, &text),
	                    "projects/p/a/entries/1/text.md:1:red one\nprojects/p/a/entries/3/text.md:1:red again\n"
	                    "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/c/entries/1/text.md:2:red three\n"
	                    "projects/p/c/entries/1/text.md:3:red four\n");
	/* Readers of the old answer keep it. */
	assert_string_equal(lines_of(a, &text),
	                    "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/c/entries/1/text.md:2:red three\n"
	                    "projects/p/c/entries/1/text.md:3:red four\nprojects/p/a/entries/1/text.md:1:red one\n");
	answer_put(a);
	answer_put(next);
	finder_close(&f);
}

/* Appended data can make a session match that did not match before. */
static void appended_data_can_match(void **state)
{
	struct finder f;
	three_sessions(&f, *state);
	expect(&f, "yellow", "");
	expect(&f, "label:x red", "");
	append(f.p, "p/a.jsonl", SAYS("3", "1000", "yell"));
	append(f.p, "p/b.jsonl", "{\"type\":\"message\",\"id\":\"2\",\"message\":{\"role\":\"user\",\"content\":\"yel");
	wait_stale();
	expect(&f, "yellow", "");
	append(f.p, "p/b.jsonl", "low\"}}\n{\"type\":\"label\",\"id\":\"3\",\"targetId\":\"1\",\"label\":\"x\"}\n");
	wait_stale();
	expect(&f, "yellow", "projects/p/b/entries/2/text.md:1:yellow\n");
	expect(&f, "label:x red", "projects/p/b/entries/1/text.md:1:Red two\n");
	put(f.p, "p/b.jsonl", HEADER("b", "/") SAYS("1", "1", "nothing"));
	wait_stale();
	expect(&f, "yellow", "");
	assert_int_equal(unlink(at(f.p, "p/c.jsonl")), 0);
	wait_stale();
	expect(&f, "red", "projects/p/a/entries/1/text.md:1:red one\n");
	finder_close(&f);
}

/* An append can change where earlier text is found: a label or name that another one replaces or clears, a label whose
 * entry comes later. Without such changes only the appended part is searched. */
static void replaced_values_move_their_lines(void **state)
{
#define LABEL(id, target, label)                                                                                       \
	"{\"type\":\"label\",\"id\":\"" id "\",\"targetId\":\"" target "\",\"label\":\"" label "\"}\n"
#define NAME(id, name) "{\"type\":\"session_info\",\"id\":\"" id "\",\"name\":\"" name "\"}\n"
#define OF "projects/p/a/entries/"
	struct finder f = {.p = *state};
	make_dir(f.p, "p");
	put(f.p, "p/a.jsonl",
	    HEADER("a", "/") SAYS("1", "1000", "x") LABEL("2", "1", "red") LABEL("3", "9", "red too"));
	finder_open(&f, 64 << 20);
	expect(&f, "red", OF "1/label:1:red\n" OF "3/entry.json:1:" LABEL("3", "9", "red too"));
	append(f.p, "p/a.jsonl", SAYS("4", "1000", "red"));
	wait_stale();
	expect(&f, "red", OF "1/label:1:red\n" OF "3/entry.json:1:" LABEL("3", "9", "red too") OF "4/text.md:1:red\n");
	append(f.p, "p/a.jsonl", SAYS("9", "1000", "x"));
	wait_stale();
	expect(&f, "red", OF "1/label:1:red\n" OF "9/label:1:red too\n" OF "4/text.md:1:red\n");
	append(f.p, "p/a.jsonl", LABEL("5", "1", "Red") NAME("6", "red name"));
	wait_stale();
	expect(&f, "red",
	       OF "2/entry.json:1:" LABEL("2", "1", "red") OF "9/label:1:red too\n" OF "4/text.md:1:red\n" OF
	                                                      "1/label:1:Red\nprojects/p/a/name:1:red name\n");
	append(f.p, "p/a.jsonl", LABEL("7", "1", "") LABEL("8", "9", "") NAME("a", "blue"));
	wait_stale();
	expect(&f, "red",
	       OF "2/entry.json:1:" LABEL("2", "1", "red") OF "3/entry.json:1:" LABEL("3", "9", "red too") OF
	       "4/text.md:1:red\n" OF "5/entry.json:1:" LABEL("5", "1", "Red") OF
	       "6/entry.json:1:" NAME("6", "red name"));
	finder_close(&f);
}

/* `session:` matches the id in the header, not the name made from it. */
static void session_filter_matches_header_id(void **state)
{
	struct finder f = {.p = *state};
	make_dir(f.p, "p");
	put(f.p, "p/a.jsonl", HEADER("team/42", "/") SAYS("1", "1000", "red"));
	put(f.p, "p/b.jsonl", HEADER("team/42", "/") SAYS("2", "2000", "red"));
	finder_open(&f, 64 << 20);
	expect(&f, "red session:team/42", "projects/p/b/entries/2/text.md:1:red\n" OF "1/text.md:1:red\n");
	expect(&f, "red session:/42 -session:B", OF "1/text.md:1:red\n");
	expect(&f, "red session:%2F42", "");
	expect(&f, "red -session:TEAM/", "");
	finder_close(&f);
}

static void put_many(struct finder *f, const char *file, const char *id, const char *ms, size_t entries, size_t lines)
{
	struct buf b CLEANUP_BUF = BUF_INIT;
	int time = atoi(ms); /* differs, so that no session has copies of another one's entries */
	buf_addf(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"cwd\":\"/\"}\n", id);
	for (size_t i = 0; i < entries; i++) {
		buf_addf(&b,
		         "{\"type\":\"message\",\"id\":\"e%zu\",\"parentId\":null,"
		         "\"timestamp\":\"2026-03-01T09:%02d:%02d.%03dZ\",\"message\":{\"role\":\"user\","
		         "\"timestamp\":%s,\"content\":\"",
		         i, time / 60000, time / 1000 % 60, time % 1000, ms);
		for (size_t k = 0; k < lines; k++)
			buf_addf(&b, "red %zu\\n", k);
		buf_adds(&b, "\"}}\n");
	}
	put(f->p, file, buf_cstr(&b));
}

static size_t count_lines(const struct answer *a)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	size_t n = 0;
	lines_of(a, &text);
	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

/* The lines are full before an entry of one session, the entries in another session; results that were left out return
 * when earlier ones are removed. */
static void full_answer_is_refilled(void **state)
{
	struct finder f;
	struct buf text CLEANUP_BUF = BUF_INIT;
	f.p = *state;
	make_dir(f.p, "p");
	put_many(&f, "p/a.jsonl", "a", "9000", 333, 3);
	put_many(&f, "p/b.jsonl", "b", "8000", 900, 11);
	put_many(&f, "p/c.jsonl", "c", "7000", 8000, 2);
	put_many(&f, "p/d.jsonl", "d", "6000", 8000, 1);
	put_many(&f, "p/e.jsonl", "e", "5000", 5, 1);
	finder_open(&f, 64 << 20);
	const struct answer *a = ask(&f, "red");
	assert_int_equal(count_lines(a), SEARCH_ENTRIES_MAX - 1);
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	lines_of(a, &text);
	/* 333 * 3 + 900 * 3 + 3150 * 2; the next line would belong to an entry of two */
	const char last[] = "projects/p/c/entries/e3149/text.md:2:red 1\n";
	assert_memory_equal(text.p + text.n - strlen(last), last, strlen(last));
	assert_int_equal(answer_at(a, SEARCH_ENTRIES_MAX - 1).entry, SEARCH_ENTRIES_MAX - 1 - 333 - 900 - 8000);
	answer_put(a);
	assert_int_equal(unlink(at(f.p, "p/c.jsonl")), 0);
	assert_int_equal(unlink(at(f.p, "p/b.jsonl")), 0);
	wait_stale();
	a = ask(&f, "red");
	assert_int_equal(count_lines(a), 333 * 3 + 8000 + 5);
	assert_int_equal(answer_count(a), 333 + 8000 + 5);
	answer_put(a);
	finder_close(&f);
}

static atomic_uint sessions_searched;

int __real_match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                         uint32_t *ret_next, bool *ret_undated);
int __wrap_match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                         uint32_t *ret_next, bool *ret_undated);

int __wrap_match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                         uint32_t *ret_next, bool *ret_undated)
{
	sessions_searched++;
	return __real_match_session(m, s, from, most, out, ret_next, ret_undated);
}

/* A batch that found enough text leaves its other sessions for the next one. Then older sessions of a full answer are
 * not searched. */
static void batch_stops_at_its_bytes(void **state)
{
	enum { SESSIONS = 24 };
	struct finder f;
	char file[32], id[8], ms[16];
	struct timespec times[2];
	f.p = *state;
	make_dir(f.p, "p");
	for (int i = 0; i < SESSIONS; i++) {
		snprintf(file, sizeof file, "p/s%d.jsonl", i);
		snprintf(id, sizeof id, "s%d", i);
		snprintf(ms, sizeof ms, "%d", 90000 - i);
		put_many(&f, file, id, ms, 5000, 1);
		times[0] = times[1] = (struct timespec){.tv_sec = 1700000000 - i};
		assert_int_equal(utimensat(AT_FDCWD, at(f.p, file), times, 0), 0);
	}
	finder_open(&f, 64 << 20);
	sessions_searched = 0;
	const struct answer *a = ask(&f, "red");
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	struct buf text CLEANUP_BUF = BUF_INIT;
	lines_of(a, &text);
	const char first[] = "projects/p/s0/entries/e0/text.md:1:red 0\n";
	assert_memory_equal(text.p, first, strlen(first));
	const char last[] = "projects/p/s1/entries/e4999/text.md:1:red 0\n";
	assert_memory_equal(text.p + text.n - strlen(last), last, strlen(last));
#ifdef SESSIONFS_SMALL_LIMITS
	assert_true(sessions_searched < SESSIONS);
#endif
	answer_put(a);
	/* When a session with hits has grown, no other session is searched. */
	append(f.p, "p/s0.jsonl", SAYS("new", "90000", "red"));
	wait_stale();
	sessions_searched = 0;
	a = ask(&f, "red");
	assert_int_equal(sessions_searched, 1);
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	answer_put(a);
	finder_close(&f);
}

/* An entry that several sessions contain is in the answer once: in the first session in which it matches. Changes of
 * one session move it, and search again only this session and those that lack copies. */
static void copies_are_found_once(void **state)
{
#define RED SAYS("1", "1000", "red") SAYS("2", "2000", "red two")
#define IN(session, id) "projects/p/" session "/entries/" id "/text.md:1:red"
	struct finder f = {.p = *state};
	make_dir(f.p, "p");
	put(f.p, "p/a.jsonl", HEADER("a", "/") RED SAYS("3", "9000", "red a"));
	put(f.p, "p/b.jsonl", HEADER("b", "/") RED SAYS("4", "8000", "red b"));
	put(f.p, "p/c.jsonl", HEADER("c", "/") RED);
	/* The same id and text, but not the same time; the same id and time, but more text. */
	put(f.p, "p/d.jsonl",
	    HEADER("d", "/") "{\"type\":\"message\",\"id\":\"1\",\"timestamp\":\"2026-03-01T09:00:00.001Z\","
	                     "\"message\":{\"role\":\"user\",\"content\":\"red\",\"timestamp\":10}}\n" SAYS(
				 "2", "20", "red two\\nmore"));
	finder_open(&f, 64 << 20);
#define OF_D IN("d", "1") "\n" IN("d", "2") " two\n"
	expect(&f, "red", IN("a", "1") "\n" IN("a", "2") " two\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D);
	/* A later session becomes the first. It is searched, and no other. */
	append(f.p, "p/c.jsonl", SAYS("5", "10000", "blue"));
	wait_stale();
	sessions_searched = 0;
	expect(&f, "red", IN("c", "1") "\n" IN("c", "2") " two\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D);
	assert_int_equal(sessions_searched, 1);
	append(f.p, "p/c.jsonl", SAYS("6", "11000", "red c"));
	wait_stale();
	sessions_searched = 0;
	expect(
	    &f, "red",
	    IN("c", "1") "\n" IN("c", "2") " two\n" IN("c", "6") " c\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D);
	assert_int_equal(sessions_searched, 1);
	/* The first one loses an entry: the next has it. A session without copies is not searched. */
	put(f.p, "p/c.jsonl", HEADER("c", "/") SAYS("2", "12000", "red two"));
	wait_stale();
	sessions_searched = 0;
	expect(&f, "red", IN("c", "2") " two\n" IN("a", "1") "\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D);
	assert_int_equal(sessions_searched, 3);
	assert_int_equal(unlink(at(f.p, "p/c.jsonl")), 0);
	assert_int_equal(unlink(at(f.p, "p/a.jsonl")), 0);
	wait_stale();
	expect(&f, "red", IN("b", "1") "\n" IN("b", "2") " two\n" IN("b", "4") " b\n" OF_D);
	finder_close(&f);
}

/* A label that is set later can make the entry of the first session match, or no longer match. */
static void labels_move_copies(void **state)
{
	struct finder f = {.p = *state};
	make_dir(f.p, "p");
	put(f.p, "p/a.jsonl", HEADER("a", "/") RED SAYS("3", "9000", "red a"));
	put(f.p, "p/b.jsonl", HEADER("b", "/") RED LABEL("4", "1", "x"));
	finder_open(&f, 64 << 20);
	expect(&f, "red label:x", IN("b", "1") "\n");
	append(f.p, "p/a.jsonl", LABEL("5", "1", "x"));
	wait_stale();
	expect(&f, "red label:x", IN("a", "1") "\n");
	append(f.p, "p/a.jsonl", LABEL("6", "1", ""));
	wait_stale();
	expect(&f, "red label:x", IN("b", "1") "\n");
	finder_close(&f);
}

/* The limit counts each entry once. */
static void limit_counts_copies_once(void **state)
{
	struct finder f = {.p = *state};
	char file[16];
	make_dir(f.p, "p");
	for (int i = 0; i < 4; i++) {
		snprintf(file, sizeof file, "p/s%d.jsonl", i);
		put_many(&f, file, file, "9000", 5000 + (size_t)i, 1);
	}
	put_many(&f, "p/t.jsonl", "t", "5000", 4997, 1);
	finder_open(&f, 64 << 20);
	const struct answer *a = ask(&f, "red");
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	assert_int_equal(count_lines(a), SEARCH_ENTRIES_MAX);
	struct buf text CLEANUP_BUF = BUF_INIT;
	lines_of(a, &text);
	const char last[] = "projects/p/t/entries/e4996/text.md:1:red 0\n";
	assert_memory_equal(text.p + text.n - strlen(last), last, strlen(last));
	answer_put(a);
	finder_close(&f);
}

/* With hardly any memory nothing is cached, and the answers are the same. */
static void tiny_budget_gives_equal_answers(void **state)
{
	struct finder f;
	f.p = *state;
	make_dir(f.p, "p");
	put_many(&f, "p/a.jsonl", "a", "9000", 300, 3);
	put_many(&f, "p/b.jsonl", "b", "8000", 9, 1100);
	finder_open(&f, 4096);
	for (int i = 0; i < 3; i++) {
		const struct answer *a = ask(&f, "red"), *b = ask(&f, "red -entry");
		assert_int_equal(count_lines(a), 300 * 3 + 9 * 3);
		assert_int_equal(count_lines(b), 300 * 3 + 9 * 3);
		assert_int_equal(answer_size(a, FOUND_HITS), answer_size(b, FOUND_HITS));
		answer_put(a);
		answer_put(b);
	}
	finder_close(&f);
}

/* The state of each session counts against the budget, even without results. */
static void session_rows_count_in_budget(void **state)
{
	enum { SESSIONS = 300, LEAST = 8 * sizeof(void *) };
	struct finder f;
	f.p = *state;
	make_dir(f.p, "p");
	for (int i = 0; i < SESSIONS; i++) {
		char file[32], id[32];
		snprintf(file, sizeof file, "p/%d.jsonl", i);
		snprintf(id, sizeof id, "s%d", i);
		put_many(&f, file, id, "9000", 1, 1);
	}
	finder_open(&f, 64 << 20);
	answer_put(ask(&f, "nowhere"));
	size_t before = budget_used(&f.p->budget);
	answer_put(ask(&f, "elsewhere"));
	assert_true(budget_used(&f.p->budget) >= before + (size_t)SESSIONS * LEAST);
	finder_close(&f);
}

static void test_numbers(void **state)
{
	struct finder f;
	struct buf why CLEANUP_BUF = BUF_INIT;
	const struct answer *a;
	uint64_t number;
	char text[32];
	three_sessions(&f, *state);
	uint64_t first = number_of(&f, "red");
	assert_true(first >> SEARCH_NUMBER_BITS == 0);
	assert_int_equal(number_of(&f, "red"), first);
	for (int i = 0; i < SEARCH_QUERIES; i++) {
		snprintf(text, sizeof text, "word%d", i);
		assert_true(number_of(&f, text) != first);
	}
	assert_false(searches_has_number(f.s, first));
	assert_int_equal(searches_get(f.s, first, &a), -ESTALE);
	assert_int_equal(number_of(&f, "red"), first);
	assert_true(searches_has_number(f.s, first));
	assert_int_equal(searches_get_number(f.s, SPAN_LIT("\"red"), &number, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why), "\"red: unclosed quote");
	finder_close(&f);
}

static void *ask_often(void *arg)
{
	struct finder *f = arg;
	for (int i = 0; i < 50; i++)
		answer_put(ask(f, i % 2 ? "red" : "blue"));
	return NULL;
}

static bool is_over(void *arg)
{
	(void)arg;
	return true;
}

/* Several threads ask the same query while the sessions change; one that is cancelled does not affect the others. */
static void threads_can_share_a_query(void **state)
{
	struct finder f;
	pthread_t threads[4];
	const struct answer *a;
	const struct cancel cancel = {.is_cancelled = is_over};
	three_sessions(&f, *state);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &f), 0);
	for (int i = 0; i < 20; i++) {
		append(f.p, "p/a.jsonl", SAYS("9", "1", "blue and red"));
		cancel_set(&cancel);
		int rc = searches_get(f.s, number_of(&f, "green"), &a);
		cancel_set(NULL);
		assert_true(rc == -EINTR || rc == 0);
		if (rc == 0)
			answer_put(a);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* lets the other threads run */
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	wait_stale();
	a = ask(&f, "blue and");
	assert_int_equal(count_lines(a), 20);
	answer_put(a);
	expect(&f, "green", "projects/p/c/entries/1/text.md:1:green\n");
	finder_close(&f);
}

/* Midnight passes, in another thread, when the lock of the searches is released for the `gives`th time. */
static struct finder *midnight;
static _Thread_local unsigned gives;

#define SINCE "red after:2d"
#define DAY_MS (INT64_C(24) * 3600 * 1000)

/* Has the query's answer dropped, and is cancelled before there is a new one. */
static void *ask_at_midnight(void *arg)
{
	struct finder *f = arg;
	const struct cancel cancel = {.is_cancelled = is_over};
	const struct answer *a;
	let_pass(CLOCK_REALTIME, DAY_MS);
	cancel_set(&cancel);
	assert_int_equal(searches_get(f->s, number_of(f, SINCE), &a), -EINTR);
	return NULL;
}

void __real_lock_release(struct lock *l);
void __wrap_lock_release(struct lock *l);

void __wrap_lock_release(struct lock *l)
{
	__real_lock_release(l);
	pthread_t thread;
	if (!midnight || l != &midnight->s->lock || gives == 0 || --gives > 0)
		return;
	assert_int_equal(pthread_create(&thread, NULL, ask_at_midnight, midnight), 0);
	pthread_join(thread, NULL);
}

/* Every request gets an answer, wherever midnight passes. */
static void midnight_renews_relative_dates(void **state)
{
	struct finder f;
	three_sessions(&f, *state);
	midnight = &f;
	for (unsigned i = 0; i < 32; i++) {
		const struct answer *a = ask(&f, SINCE);
		answer_put(a);
		/* The answer is cached, or must be computed again. */
		let_pass(CLOCK_REALTIME, i % 2 * DAY_MS);
		uint64_t number = number_of(&f, SINCE);
		gives = i / 2 + 1;
		assert_int_equal(searches_get(f.s, number, &a), 0);
		gives = 0;
		assert_int_equal(answer_size(a, FOUND_HITS), 0);
		answer_put(a);
	}
	midnight = NULL;
	finder_close(&f);
}

/* Without memory for its text, a query is not mistaken for another. */
static void query_text_without_memory_is_not_mistaken(void **state)
{
	struct finder f;
	uint64_t number;
	three_sessions(&f, *state);
	long most = 0;
	for (int rc = -ENOMEM; rc < 0; most++) {
		allocs_left = most;
		rc = searches_get_number(f.s, SPAN_LIT("red"), &number, NULL);
		allocs_left = -1;
		assert_true(rc == 0 || rc == -ENOMEM);
	}
	assert_true(most > 1);
	assert_int_equal(number_of(&f, "red"), number);
	finder_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(answers_are_ordered),
	    TEST(uncached_answers_are_ordered),
	    TEST(readers_keep_the_old_answer),
	    TEST(appended_data_can_match),
	    TEST(full_answer_is_refilled),
	    TEST(replaced_values_move_their_lines),
	    TEST(session_filter_matches_header_id),
	    TEST(tiny_budget_gives_equal_answers),
	    TEST(batch_stops_at_its_bytes),
	    TEST(copies_are_found_once),
	    TEST(labels_move_copies),
	    TEST(limit_counts_copies_once),
	    TEST(session_rows_count_in_budget),
	    TEST(test_numbers),
	    TEST(threads_can_share_a_query),
	    TEST(midnight_renews_relative_dates),
	    TEST(query_text_without_memory_is_not_mistaken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
