/* SPDX-License-Identifier: MIT */
/* Known queries: their numbers, caching and memory, and requests at the same time. */
#include "cases.h"

#include "sessionfs/base/cancel.h"
#include "failing_alloc.h"
#include "heap.h"
#include "search_fixture.h"

#include <pthread.h>

/* With hardly any memory nothing is cached, and the answers are the same. */
FIXTURE_CASE(tiny_budget_gives_equal_answers)
{
	CLEANUP_FINDER struct finder f = {.p = p};
	put_many(&f, "p/a.jsonl", "a", "9000", 300, 3);
	put_many(&f, "p/b.jsonl", "b", "8000", 9, 1100);
	finder_open(&f, 4096);
	for (int i = 0; i < 3; i++) {
		const struct answer *a CLEANUP_ANSWER = ask(&f, "red"), *b CLEANUP_ANSWER = ask(&f, "red -entry");
		assert_int_equal(count_lines(a), 300 * 3 + 9 * 3);
		assert_int_equal(count_lines(b), 300 * 3 + 9 * 3);
		assert_int_equal(answer_size(a, FOUND_HITS), answer_size(b, FOUND_HITS));
	}
}

/* The state of each session counts against the budget, even without results. */
FIXTURE_CASE(session_rows_count_in_budget)
{
	enum { SESSIONS = 300, LEAST = 8 * sizeof(void *) };
	CLEANUP_FINDER struct finder f = {.p = p};
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
}

/* Queries count with the bytes that the allocator uses for them, with and without an answer. */
FIXTURE_CASE(queries_are_counted)
{
	enum { QUERIES = 800 };
	CLEANUP_FINDER struct finder f = {.p = p};
	char text[32];
	put_many(&f, "p/a.jsonl", "a", "9000", 3, 1);
	finder_open(&f, 64 << 20);
	answer_put(ask(&f, "red"));
	for (int answered = 0; answered < 2; answered++) {
		size_t heap = heap_used(), before = budget_used(&f.p->budget);
		for (int i = 0; i < QUERIES; i++) {
			snprintf(text, sizeof text, "red -other%d%d", answered, i);
			searches_lookup_count(f.s, number_of(&f, text), 1, 0);
			if (answered)
				answer_put(ask(&f, text));
		}
		size_t real = heap_used() - heap, said = budget_used(&f.p->budget) - before;
		print_message("%zu bytes, says %zu\n", real, said);
		assert_true(heap == 0 || (said >= real - real / 8 && said <= real + real / 8));
	}
}

/* Of queries that no thread uses, the one that was used least recently loses its answer first. */
FIXTURE_CASE(least_recent_answer_is_evicted)
{
	CLEANUP_FINDER struct finder f;
	three_sessions(&f, p);
	answer_put(ask(&f, "one"));
	answer_put(ask(&f, "two"));
	answer_put(ask(&f, "three"));
	answer_put(ask(&f, "one"));
	searches_lookup_count(f.s, number_of(&f, "three"), 1, 0);
	f.p->budget.limit = 1;
	const char *const order[] = {"two", "one", "three"};
	for (int n = 0; n < 2; n++) {
		assert_true(f.s->client.oldest(f.s->client.arg) != BUDGET_NOTHING);
		f.s->client.evict(f.s->client.arg);
		for (int i = 0; i < 3; i++) {
			uint64_t number = 0;
			for (size_t k = 0; k < SEARCH_QUERIES; k++)
				for (const struct search *a = f.s->cells[k]; a; a = a->next)
					number = span_is(buf_span(&a->text), order[i]) ? a->answer != NULL : number;
			assert_int_equal(number, i > n);
		}
	}
	assert_true(f.s->client.oldest(f.s->client.arg) == BUDGET_NOTHING);
}

/* The kernel can know names of a million queries: one without an answer has only its text. */
FIXTURE_CASE(evicted_answers_take_their_queries)
{
	enum { QUERIES = 300 };
	CLEANUP_FINDER struct finder f = {.p = p};
	size_t parsed = 0, known = 0;
	put_many(&f, "p/a.jsonl", "a", "9000", 1, 1);
	finder_open(&f, 4096);
	for (int i = 0; i < QUERIES; i++) {
		char text[32];
		snprintf(text, sizeof text, "red -other%d", i);
		searches_lookup_count(f.s, number_of(&f, text), 1, 0);
		const struct answer *a CLEANUP_ANSWER = ask(&f, text);
		assert_int_equal(answer_count(a), 1);
	}
	for (size_t i = 0; i < SEARCH_QUERIES; i++)
		for (const struct search *a = f.s->cells[i]; a; a = a->next, known++)
			parsed += a->query != NULL;
	assert_int_equal(known, QUERIES);
	assert_true(parsed < 10);
	const struct answer *again CLEANUP_ANSWER = ask(&f, "red -other0");
	assert_int_equal(answer_count(again), 1);
}

FIXTURE_CASE(test_numbers)
{
	CLEANUP_FINDER struct finder f;
	struct buf why CLEANUP_BUF = BUF_INIT;
	const struct answer *a;
	char text[32];
	three_sessions(&f, p);
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
	/* The answer to an invalid query says why. */
	a = ask(&f, "\"red");
	assert_null(answer_query(a));
	assert_int_equal(answer_count(a), 0);
	assert_int_equal(answer_add_hints(f.s, a, &why), 0);
	assert_string_equal(buf_cstr(&why), "\"red: unclosed quote; add one at the end\n");
	answer_put(a);
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
	return true;
}

/* Several threads ask the same query while the sessions change; one that is cancelled does not affect the others. */
FIXTURE_CASE(threads_can_share_a_query)
{
	CLEANUP_FINDER struct finder f;
	pthread_t threads[4];
	const struct answer *a;
	const struct cancel cancel = {.is_cancelled = is_over};
	three_sessions(&f, p);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &f), 0);
	for (int i = 0; i < 20; i++) {
		append(f.p, "p/a.jsonl", USER_MS("9", null, 1, "blue and red"));
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

/* Every request gets an answer of its day, wherever midnight passes. */
FIXTURE_CASE(midnight_renews_relative_dates)
{
	CLEANUP_FINDER struct finder f;
	three_sessions(&f, p);
	put(p, "p/new.jsonl", HEADER_OF("new", "/") UNTIMED("1", null, "role":"user","content":"red"));
	expect(&f, SINCE, "projects/p/new/entries/1/text.md:1:red\n");
	let_pass(CLOCK_REALTIME, 3 * DAY_MS);
	expect(&f, SINCE, "");
	midnight = &f;
	for (unsigned i = 0; i < 32; i++) {
		const struct answer *a;
		answer_put(ask(&f, SINCE));
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
}

static void assert_hints(struct finder *f, const char *query, const char *want)
{
	CLEANUP_BUF struct buf out = BUF_INIT;
	const struct answer *a CLEANUP_ANSWER = ask(f, query);
	assert_int_equal(answer_add_hints(f->s, a, &out), 0);
	assert_string_equal(buf_cstr(&out), want);
}

FIXTURE_CASE(answers_without_entries_have_hints)
{
#define WORD(meant) ": not a filter, so this is a word; did you mean " meant "\n"
#define PATTERN(part) ": words are not patterns, but match parts of words; use rg, or search for " part "\n"
	CLEANUP_FINDER struct finder f;
	three_sessions(&f, p);
	append(f.p, "p/a.jsonl",
	    LINE({"type":"message","id":"3","message":{"role":"assistant",
	        "content":[{"type":"toolCall","name":"bash","id":"c"},{"type":"toolCall","name":"Read","id":"d"}]}})
	    LINE({"type":"message","id":"4","message":{"role":"toolResult","toolName":"bash"}})
	    LINE({"type":"message","id":"5","message":{"role":"odd\nrole"}}));
	wait_stale();
	assert_hints(&f, "red", "");
	assert_hints(&f, "nowhere", "");
	assert_hints(&f, "roel:user", "roel:user" WORD("role:"));
	assert_hints(&f, "tools:x rol:y", "rol:y" WORD("role:") "tools:x" WORD("tool:"));
	assert_hints(&f, JSON("Role:x"), "role:x" WORD("role:"));
	assert_hints(&f, "-tols:x nowhere", "");
	assert_hints(&f, "since:7d", "since:7d" WORD("after:"));
	assert_hints(&f, "from:ada", "from:ada" WORD("role: or after:"));
	assert_hints(&f, "dir:x path:y", "dir:x" WORD("project:") "path:y" WORD("file:"));
	assert_hints(&f, "mode:755", "mode:755" WORD("model:"));
	assert_hints(&f, "/umbrel+a/", "/umbrel+a/" PATTERN("umbrel+a"));
	assert_hints(&f, "nowhere*", "nowhere*" PATTERN("nowhere"));
	assert_hints(&f, "nowhere* red", "");
	assert_hints(&f, "/nowhere", "");
	assert_hints(&f, "role:human",
	             "role:human: no entry has this value; there are user, assistant, toolResult, odd role\n");
	assert_hints(&f, "role:user nowhere", "");
	assert_hints(&f, "-role:human nowhere", "");
	assert_hints(&f, "type:msg", "type:msg: no entry has this value; there are message\n");
	assert_hints(&f, "tool:shell red", "tool:shell: no entry has this value; there are bash, Read\n");
	assert_hints(&f, "tool:READ nowhere", "");
}

/* Without memory for its text, a query is not mistaken for another. */
FIXTURE_CASE(query_text_without_memory_is_not_mistaken)
{
	CLEANUP_FINDER struct finder f;
	uint64_t number;
	three_sessions(&f, p);
	long most = 0;
	for (int rc = -ENOMEM; rc < 0; most++) {
		allocs_left = most;
		rc = searches_get_number(f.s, SPAN_LIT("red"), &number);
		allocs_left = -1;
		assert_true(rc == 0 || rc == -ENOMEM);
	}
	assert_true(most > 1);
	assert_int_equal(number_of(&f, "red"), number);
}

RUN_CASES(NULL, NULL)
