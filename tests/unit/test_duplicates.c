/* SPDX-License-Identifier: MIT */
/* Entries that several sessions contain: which session counts them, and which sessions must be read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../src/find/find_impl.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/catalog/catalog.h"
#include "failing_alloc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { SESSIONS = 3, MARKS = 4 };

/* Sessions with slots 0, 1, 2, of which a lower number was created earlier. */
struct world {
	struct lock lock;
	struct duplicate_table d;
	struct cached_facts facts[SESSIONS], *cached[SESSIONS];
	struct slot_state states[SESSIONS];
	uint64_t marks[SESSIONS][MARKS];
	uint32_t wanted[SESSIONS];
	size_t n_wanted;
};

static int set_up(void **state)
{
	static const char *const files[SESSIONS] = {"p/a.jsonl", "p/b.jsonl", "p/c.jsonl"};
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	lock_init(&w->lock, LOCK_FACTS);
	w->d.lock = &w->lock;
	for (uint32_t i = 0; i < SESSIONS; i++) {
		w->facts[i] = (struct cached_facts){.slot = i, .facts = {.created = i}, .marks = w->marks[i]};
		w->states[i] = (struct slot_state){.slot = i, .file = files[i]};
	}
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	duplicates_release(&w->d);
	lock_destroy(&w->lock);
	free(w);
	return 0;
}

/* Reads session i, whose entries have the n marks in w->marks[i]. */
static void add_marks(struct world *w, uint32_t i, size_t n, bool repeats)
{
	w->cached[i] = &w->facts[i];
	w->facts[i].n_marks = n;
	assert_int_equal(duplicates_add_session(&w->d, i, w->marks[i], n, repeats), 0);
}

/* As add_marks, with these marks, up to 0. */
static void add(struct world *w, uint32_t i, const uint64_t marks[])
{
	size_t n = 0;
	for (; n < MARKS && marks[n]; n++)
		w->marks[i][n] = marks[n];
	add_marks(w, i, n, false);
}
#define ADD(w, i, ...) add(w, i, (const uint64_t[MARKS + 1]){__VA_ARGS__})

static void find(struct world *w)
{
	assert_int_equal(duplicates_find(&w->d, w->cached, w->states, SESSIONS, w->wanted, &w->n_wanted), 0);
}

/* Does what the facts do with a session that is wanted: its rows exclude its duplicates. */
static void read_wanted(struct world *w)
{
	for (size_t i = 0; i < w->n_wanted; i++) {
		struct cached_facts *k = w->cached[w->wanted[i]];
		for (size_t m = 0; m < k->n_marks; m++)
			k->marks[m] = (k->marks[m] & ~MARK_FLAGS) | (k->marks[m] & MARK_DUPLICATE ? MARK_EXCLUDED : 0);
	}
}

static void assert_marks(const struct world *w, uint32_t i, uint64_t flag, const bool expected[])
{
	for (size_t m = 0; m < w->facts[i].n_marks; m++)
		assert_int_equal(!!(w->marks[i][m] & flag), expected[m]);
}
#define ASSERT_MARKS(w, i, flag, ...) assert_marks(w, i, flag, (const bool[MARKS]){__VA_ARGS__})

static void sessions_without_common_entries_are_read_once(void **state)
{
	struct world *w = *state;
	ADD(w, 0, 10, 11);
	ADD(w, 1, 12);
	ADD(w, 2, 13, 14, 15);
	ASSERT_MARKS(w, 2, MARK_FLAGS, false, false, false);
	find(w);
	assert_int_equal(w->n_wanted, 0);
	assert_true(w->d.is_current);
	assert_int_equal(w->d.shared_count, 0);
	assert_int_equal(w->d.n, 6);
}

/* The session that was created first counts the entry, in whatever order they are read. */
static void oldest_session_counts_the_entry(void **state)
{
	struct world *w = *state;
	ADD(w, 2, 10, 11);
	ADD(w, 0, 10, 12);
	ADD(w, 1, 13, 11);
	/* As first seen, session 2 would count both. */
	ASSERT_MARKS(w, 0, MARK_EXCLUDED, true, false);
	ASSERT_MARKS(w, 1, MARK_EXCLUDED, false, true);
	ASSERT_MARKS(w, 2, MARK_EXCLUDED, false, false);
	find(w);
	assert_int_equal(w->n_wanted, 3);
	for (uint32_t i = 0; i < SESSIONS; i++)
		assert_int_equal(w->wanted[i], i);
	ASSERT_MARKS(w, 0, MARK_DUPLICATE, false, false);
	ASSERT_MARKS(w, 1, MARK_DUPLICATE, false, false);
	ASSERT_MARKS(w, 2, MARK_DUPLICATE, true, true);
	assert_false(w->d.is_current);
	read_wanted(w);
	find(w);
	assert_int_equal(w->n_wanted, 0);
	assert_true(w->d.is_current);
}

/* Of two sessions created at the same time, the one with the lesser path counts. */
static void lesser_path_counts_at_equal_times(void **state)
{
	struct world *w = *state;
	w->facts[0].facts.created = w->facts[1].facts.created = 5;
	w->states[0].file = "p/z.jsonl";
	ADD(w, 0, 10);
	ADD(w, 1, 10);
	find(w);
	ASSERT_MARKS(w, 0, MARK_DUPLICATE, true);
	ASSERT_MARKS(w, 1, MARK_DUPLICATE, false);
}

/* An id that occurs twice in one session counts once, although no other session has it. */
static void repeated_id_counts_once(void **state)
{
	struct world *w = *state;
	ADD(w, 0, 12);
	w->marks[1][0] = w->marks[1][2] = 10;
	w->marks[1][1] = 11;
	add_marks(w, 1, 3, true);
	ASSERT_MARKS(w, 1, MARK_EXCLUDED, false, false, false);
	find(w);
	ASSERT_MARKS(w, 1, MARK_DUPLICATE, false, false, true);
	assert_int_equal(w->d.shared_count, 1);
	assert_true(w->d.is_shared.v[1]);
	assert_false(w->d.is_shared.v[0]);
}

/* Entries without a mark (no id) are never the same. */
static void entries_without_mark_are_apart(void **state)
{
	struct world *w = *state;
	add_marks(w, 0, 2, false); /* all marks are 0 */
	add_marks(w, 1, 2, true);
	assert_int_equal(w->d.n, 0);
	find(w);
	ASSERT_MARKS(w, 1, MARK_DUPLICATE, false, false);
}

/* A session that was read again with the same entries shares none with others. */
static void session_is_no_copy_of_itself(void **state)
{
	struct world *w = *state;
	ADD(w, 0, 10, 11);
	ADD(w, 0, 10, 11, 12);
	ASSERT_MARKS(w, 0, MARK_EXCLUDED, false, false, false);
	assert_false(w->d.is_shared.v[0]);
	assert_int_equal(w->d.n, 3);
}

/* When a list was right, nothing is compared until a session that shares entries is added. */
static void right_list_is_not_made_again(void **state)
{
	struct world *w = *state;
	ADD(w, 0, 10);
	find(w);
	assert_true(w->d.is_current);
	ADD(w, 1, 11);
	assert_true(w->d.is_current);
	ADD(w, 2, 10);
	assert_false(w->d.is_current);
	find(w);
	assert_int_equal(w->n_wanted, 0); /* session 2 left it out when it was read */
	assert_true(w->d.is_current);
	assert_int_equal(w->d.shared_count, 2);
	w->marks[2][0] = 10 | MARK_EXCLUDED;
	find(w);
	ASSERT_MARKS(w, 2, MARK_DUPLICATE, false); /* not compared */
	/* The session that counted the entry is gone: the other one is read again. */
	w->cached[0] = NULL;
	find(w);
	assert_int_equal(w->d.shared_count, 1);
	assert_int_equal(w->n_wanted, 1);
	assert_int_equal(w->wanted[0], 2);
	ASSERT_MARKS(w, 2, MARK_DUPLICATE, false);
}

/* The marks of removed sessions stay in the table until they are many. */
static void many_marks_of_removed_sessions_are_reported(void **state)
{
	struct world *w = *state;
	size_t n = 100000 + 3; /* STALE_MARKS_MAX, or more than that in a build with small limits */
	uint64_t *marks = calloc(n, sizeof *marks);
	assert_non_null(marks);
	for (size_t i = 0; i < n; i++)
		marks[i] = i + 1;
	assert_int_equal(duplicates_add_session(&w->d, 0, marks, n, false), 0);
	w->cached[0] = &w->facts[0];
	w->facts[0].marks = marks;
	w->facts[0].n_marks = n;
	find(w);
	assert_false(w->d.is_stale);
	w->facts[0].n_marks = 1; /* 2 are in use at most, and 100,003 in the table */
	find(w);
	assert_true(w->d.is_stale);
	w->facts[0].n_marks = n / 2;
	find(w);
	assert_false(w->d.is_stale);
	free(marks);
}

/* Every mark is found again after the table has grown, also at its end. */
static void table_grows(void **state)
{
	struct world *w = *state;
	enum { MANY = 5000 };
	assert_true(duplicates_reserve(&w->d, MANY));
	assert_true(duplicates_memory(&w->d) >= MANY * sizeof(uint64_t));
	size_t before = duplicates_memory(&w->d);
	for (uint64_t i = 1; i <= MANY; i++)
		assert_int_equal(duplicates_set_owner(&w->d, i, i % 7 + 1), 0);
	assert_int_equal(duplicates_memory(&w->d), before);
	assert_true(duplicates_reserve(&w->d, 2 * MANY));
	assert_true(duplicates_memory(&w->d) > before);
	for (uint64_t i = 1; i <= MANY; i++)
		assert_int_equal(duplicates_set_owner(&w->d, i, 9), i % 7 + 1);
	assert_int_equal(w->d.n, MANY);
	duplicates_release(&w->d);
	assert_int_equal(duplicates_memory(&w->d), 0);
	assert_ptr_equal(w->d.lock, &w->lock);
}

/* A table of one thread records only that a mark was seen. */
static void table_without_lock_has_one_owner(void **state)
{
	struct duplicate_table d = {0};
	(void)state;
	assert_true(duplicates_reserve(&d, 2));
	assert_int_equal(duplicates_set_owner(&d, 5, 1), 0);
	assert_int_equal(duplicates_set_owner(&d, 5, 1), 1);
	assert_int_equal(duplicates_set_owner(&d, 6, 1), 0);
	duplicates_release(&d);
}

static void no_memory_changes_nothing(void **state)
{
	struct world *w = *state;
	uint64_t marks[MARKS] = {10, 11};
	ADD(w, 0, 10);
	for (long most = 0;; most++) {
		struct duplicate_table d = {.lock = &w->lock};
		allocs_left = most;
		int rc = duplicates_add_session(&d, 2, marks, 2, false);
		allocs_left = -1;
		duplicates_release(&d);
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_true(most < 3);
		assert_int_equal(marks[0], 10);
	}
	ADD(w, 1, 10, 11);
	w->facts[1].facts.created = -1; /* older, so that the list is wrong */
	allocs_left = 0;
	assert_int_equal(duplicates_find(&w->d, w->cached, w->states, SESSIONS, w->wanted, &w->n_wanted), -ENOMEM);
	allocs_left = -1;
	assert_false(w->d.is_current);
	find(w);
	assert_int_equal(w->n_wanted, 2);
}

static bool is_over(void *arg)
{
	(void)arg;
	return true;
}

static void comparing_can_be_cancelled(void **state)
{
	struct world *w = *state;
	const struct cancel cancel = {.is_cancelled = is_over};
	ADD(w, 0, 10);
	ADD(w, 1, 10);
	cancel_set(&cancel);
	assert_int_equal(duplicates_find(&w->d, w->cached, w->states, SESSIONS, w->wanted, &w->n_wanted), -EINTR);
	cancel_set(NULL);
	assert_false(w->d.is_current);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(sessions_without_common_entries_are_read_once),
	    CASE(oldest_session_counts_the_entry),
	    CASE(lesser_path_counts_at_equal_times),
	    CASE(repeated_id_counts_once),
	    CASE(entries_without_mark_are_apart),
	    CASE(session_is_no_copy_of_itself),
	    CASE(right_list_is_not_made_again),
	    CASE(many_marks_of_removed_sessions_are_reported),
	    CASE(table_grows),
	    CASE(table_without_lock_has_one_owner),
	    CASE(no_memory_changes_nothing),
	    CASE(comparing_can_be_cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
