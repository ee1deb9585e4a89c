/* SPDX-License-Identifier: MIT */
/* duplicates: the table of marks, and the session for which an entry in several sessions counts. */
#include "cases.h"
#include "../../src/find/find_impl.h"
#include "failing_alloc.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/lock.h"

#include <math.h>

/* A hash as session_usage returns it: its upper two bits are 0. */
static uint64_t mark_of(uint64_t number)
{
	return hash_word(number + 1) & ~MARK_FLAGS;
}

#define SESSIONS 4

/* A table of several threads, and sessions with the slots 0, 1, ..., as facts.c has them. */
struct some_facts {
	struct lock lock;
	struct duplicate_table d;
	struct cached_facts facts[SESSIONS], *cached[SESSIONS];
	struct slot_state states[SESSIONS];
	uint64_t marks[SESSIONS][4];
	uint32_t wanted[SESSIONS];
	size_t n_wanted;
};

static int begin(void **state)
{
	struct some_facts *s = calloc(1, sizeof *s);
	assert_non_null(s);
	lock_init(&s->lock, LOCK_FACTS);
	s->d.lock = &s->lock;
	*state = s;
	return 0;
}

static int end(void **state)
{
	struct some_facts *s = *state;
	duplicates_release(&s->d);
	lock_destroy(&s->lock);
	free(s);
	return 0;
}

/* ---- the table ---- */

/* Each mark keeps its first owner while the table grows. */
CASE_WITH(a_mark_keeps_its_first_owner, begin, end)
{
	enum { MARKS = 5000, ROUND = 100 };
	struct some_facts *s = *state;
	for (uint64_t i = 0; i < MARKS; i++) {
		if (i % ROUND == 0)
			assert_true(duplicates_reserve(&s->d, ROUND));
		assert_int_equal(duplicates_set_owner(&s->d, mark_of(i), i % 7 + 1), 0);
		assert_int_equal(s->d.n, i + 1);
	}
	for (uint64_t i = 0; i < MARKS; i++)
		assert_int_equal(duplicates_set_owner(&s->d, mark_of(i), 1000), i % 7 + 1);
	assert_int_equal(s->d.n, MARKS);
}

/* A table of one thread records only that a mark was seen. */
CASE(a_table_without_a_lock_has_one_owner)
{
	enum { MARKS = 48 };
	struct duplicate_table d = {0};
	assert_true(duplicates_reserve(&d, MARKS));
	for (uint64_t i = 0; i < MARKS; i++)
		assert_int_equal(duplicates_set_owner(&d, mark_of(i), 1), 0);
	for (uint64_t i = 0; i < MARKS; i++)
		assert_int_equal(duplicates_set_owner(&d, mark_of(i), 1), 1);
	assert_int_equal(d.n, MARKS);
	duplicates_release(&d);
}

/* The other bits of marks with the same cell differ, also at the end of the table. */
CASE(marks_with_the_same_cell_differ)
{
	enum { MARKS = 48 };
	struct duplicate_table d = {0};
	assert_true(duplicates_reserve(&d, MARKS));
	/* With this factor the hash is the mark, and its upper 6 bits are the cell. */
	d.secret = (struct hash_key){.factor = 1};
	for (uint64_t i = 0; i < MARKS; i++)
		assert_int_equal(duplicates_set_owner(&d, UINT64_MAX << 58 | i << 1, 1), 0);
	for (uint64_t i = 0; i < MARKS; i++)
		assert_int_equal(duplicates_set_owner(&d, UINT64_MAX << 58 | i << 1, 1), 1);
	/* The first is in the last cell, the others are in the first cells. */
	assert_true(d.cells[63] && d.cells[0] && d.cells[MARKS - 2]);
	assert_int_equal(d.cells[MARKS - 1], 0);
	assert_int_equal(d.cells[62], 0);
	duplicates_release(&d);
}

/* At most four fifths of the cells are in use. */
CASE(a_table_grows_when_it_is_full)
{
	struct duplicate_table d = {0};
	assert_int_equal(duplicates_memory(&d), 0);
	assert_true(duplicates_reserve(&d, 0));
	assert_int_equal(duplicates_memory(&d), 64 * sizeof *d.cells);
	const uint64_t *cells = d.cells;
	assert_true(duplicates_reserve(&d, 48));
	assert_ptr_equal(d.cells, cells);
	for (uint64_t i = 0; i < 48; i++)
		duplicates_set_owner(&d, mark_of(i), 1);
	assert_true(duplicates_reserve(&d, 0));
	assert_int_equal(duplicates_memory(&d), 64 * sizeof *d.cells);
	assert_true(duplicates_reserve(&d, 1));
	assert_int_equal(duplicates_memory(&d), 80 * sizeof *d.cells);
	assert_true(duplicates_reserve(&d, 1000));
	assert_int_equal(duplicates_memory(&d), 1438 * sizeof *d.cells);
	assert_int_equal(d.n, 48);
	duplicates_release(&d);
	assert_int_equal(duplicates_memory(&d), 0);
}

/* A released table is empty, and can be used again. */
CASE_WITH(a_released_table_keeps_its_lock, begin, end)
{
	struct some_facts *s = *state;
	uint64_t marks[] = {mark_of(1)};
	assert_int_equal(duplicates_add_session(&s->d, 3, marks, 1, true), 0);
	assert_true(duplicates_memory(&s->d) > 64 * sizeof *s->d.cells);
	duplicates_release(&s->d);
	assert_ptr_equal(s->d.lock, &s->lock);
	assert_null(s->d.cells);
	assert_int_equal(s->d.n + s->d.is_shared.n + duplicates_memory(&s->d), 0);
	assert_int_equal(duplicates_add_session(&s->d, 0, marks, 1, false), 0);
	assert_int_equal(marks[0], mark_of(1));
}

/* ---- sessions ---- */

/* An entry of two sessions is excluded from the second. */
CASE_WITH(a_second_owner_is_excluded, begin, end)
{
	struct some_facts *s = *state;
	uint64_t first[] = {mark_of(1), mark_of(2)}, third[] = {mark_of(2), mark_of(3)}, other[] = {mark_of(4)};
	assert_int_equal(duplicates_add_session(&s->d, 1, first, 2, false), 0);
	assert_int_equal(duplicates_add_session(&s->d, 5, other, 1, false), 0);
	assert_int_equal(s->d.is_shared.n, 6);
	for (size_t i = 0; i < s->d.is_shared.n; i++)
		assert_false(s->d.is_shared.v[i]);
	s->d.is_current = true;
	assert_int_equal(duplicates_add_session(&s->d, 4, other, 0, false), 0);
	assert_true(s->d.is_current);
	assert_int_equal(duplicates_add_session(&s->d, 3, third, 2, false), 0);
	assert_false(s->d.is_current);
	assert_int_equal(first[0], mark_of(1));
	assert_int_equal(first[1], mark_of(2));
	assert_int_equal(third[0], mark_of(2) | MARK_EXCLUDED);
	assert_int_equal(third[1], mark_of(3));
	for (size_t i = 0; i < s->d.is_shared.n; i++)
		assert_int_equal(s->d.is_shared.v[i], i == 1 || i == 3);
	assert_int_equal(s->d.n, 4);
}

/* A session that is added again owns what it owned. An entry without a mark belongs to no session. */
CASE_WITH(a_session_owns_its_marks, begin, end)
{
	struct some_facts *s = *state;
	uint64_t marks[] = {mark_of(1), 0}, more[] = {mark_of(1), 0, mark_of(2)}, other[] = {0, 0};
	assert_int_equal(duplicates_add_session(&s->d, 0, marks, 2, false), 0);
	assert_int_equal(duplicates_add_session(&s->d, 0, more, 3, false), 0);
	assert_int_equal(duplicates_add_session(&s->d, 1, other, 2, false), 0);
	assert_int_equal(more[0], mark_of(1));
	assert_int_equal(more[1] | other[0] | other[1], 0);
	assert_int_equal(more[2], mark_of(2));
	assert_false(s->d.is_shared.v[0] || s->d.is_shared.v[1]);
	assert_int_equal(s->d.n, 2);
}

/* A session that may repeat its own ids is compared, and stays so. */
CASE_WITH(a_session_that_repeats_ids_is_compared, begin, end)
{
	struct some_facts *s = *state;
	uint64_t marks[] = {mark_of(1)};
	s->d.is_current = true;
	assert_int_equal(duplicates_add_session(&s->d, 0, marks, 1, true), 0);
	assert_false(s->d.is_current);
	assert_true(s->d.is_shared.v[0]);
	s->d.is_current = true;
	assert_int_equal(duplicates_add_session(&s->d, 0, marks, 1, false), 0);
	assert_true(s->d.is_shared.v[0]);
	assert_false(s->d.is_current);
}

CASE_WITH(a_session_that_finds_no_memory_is_not_added, begin, end)
{
	struct some_facts *s = *state;
	uint64_t marks[100];
	for (size_t i = 0; i < 100; i++)
		marks[i] = mark_of(i);
	for (unsigned nth = 1; nth <= 2; nth++) {
		let_alloc_fail(nth);
		int rc = duplicates_add_session(&s->d, 2, marks, 100, false);
		assert_true(alloc_has_failed());
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(s->d.n, 0);
	}
	assert_int_equal(duplicates_add_session(&s->d, 2, marks, 100, false), 0);
	assert_int_equal(s->d.n, 100);
	/* A table that cannot grow keeps its marks. */
	let_alloc_fail(1);
	assert_false(duplicates_reserve(&s->d, 1000));
	assert_true(alloc_has_failed());
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(duplicates_set_owner(&s->d, marks[i], 9), 3);
}

/* ---- the session that counts an entry ---- */

/* Adds the next session, with n marks of these numbers; 0 has no mark. */
static void add(struct some_facts *s, uint32_t slot, double created, const char *file, size_t n,
                const uint64_t *numbers)
{
	for (size_t i = 0; i < n; i++)
		s->marks[slot][i] = numbers[i] ? mark_of(numbers[i]) : 0;
	assert_int_equal(duplicates_add_session(&s->d, slot, s->marks[slot], n, false), 0);
	s->facts[slot] =
	    (struct cached_facts){.slot = slot, .facts.created = created, .marks = s->marks[slot], .n_marks = n};
	s->cached[slot] = &s->facts[slot];
	s->states[slot] = (struct slot_state){.slot = slot, .file = file};
}
#define ADD(s, slot, created, file, ...)                                                                               \
	add(s, slot, created, file, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static int find(struct some_facts *s)
{
	return duplicates_find(&s->d, s->cached, s->states, SESSIONS, s->wanted, &s->n_wanted);
}

/* Reads the wanted sessions again, as cached_facts_read does: their usage excludes exactly the duplicates. */
static void read_wanted(struct some_facts *s)
{
	for (size_t i = 0; i < s->n_wanted; i++)
		for (size_t k = 0; k < s->facts[s->wanted[i]].n_marks; k++) {
			uint64_t *m = &s->marks[s->wanted[i]][k];
			*m = (*m & ~MARK_FLAGS) | (*m & MARK_DUPLICATE ? MARK_EXCLUDED : 0);
		}
}

static bool is_duplicate(const struct some_facts *s, uint32_t slot, size_t i)
{
	return s->marks[slot][i] & MARK_DUPLICATE;
}

/* An entry counts for the session that was created first, whichever was read first. */
CASE_WITH(the_oldest_session_counts_an_entry, begin, end)
{
	struct some_facts *s = *state;
	ADD(s, 0, 2000, "b", 1, 2, 3);
	ADD(s, 1, 1000, "c", 2, 3);
	ADD(s, 2, 3000, "a", 3, 4);
	ADD(s, 3, 500, "d", 5);
	assert_int_equal(find(s), 0);
	/* Slot 2 excludes what it must. The others do not yet; slot 3 has nothing in common with them. */
	assert_int_equal(s->n_wanted, 2);
	assert_int_equal(s->wanted[0], 1);
	assert_int_equal(s->wanted[1], 0);
	assert_false(is_duplicate(s, 1, 0) || is_duplicate(s, 1, 1));
	assert_true(!is_duplicate(s, 0, 0) && is_duplicate(s, 0, 1) && is_duplicate(s, 0, 2));
	assert_true(is_duplicate(s, 2, 0) && !is_duplicate(s, 2, 1));
	assert_int_equal(s->marks[3][0], mark_of(5));
	assert_int_equal(s->marks[1][0], mark_of(2) | MARK_EXCLUDED);
	assert_int_equal(s->marks[2][0], mark_of(3) | MARK_EXCLUDED | MARK_DUPLICATE);
	assert_false(s->d.is_current);
	assert_int_equal(s->d.shared_count, 3);
	read_wanted(s);
	assert_int_equal(find(s), 0);
	assert_int_equal(s->n_wanted, 0);
	assert_true(s->d.is_current);
}

/* Sessions of one age are in the order of their files; a session without a time is the last. */
CASE_WITH(equal_ages_are_ordered_by_file, begin, end)
{
	struct some_facts *s = *state;
	ADD(s, 0, NAN, "a", 1);
	ADD(s, 1, 7000, "c", 1);
	ADD(s, 2, 7000, "b", 1);
	ADD(s, 3, NAN, "aa", 1);
	assert_int_equal(find(s), 0);
	assert_true(!is_duplicate(s, 2, 0) && is_duplicate(s, 1, 0));
	assert_true(is_duplicate(s, 0, 0) && is_duplicate(s, 3, 0));
	assert_int_equal(s->n_wanted, 2);
	assert_int_equal(s->wanted[0], 2);
	assert_int_equal(s->wanted[1], 0);
}

/* An entry that occurs twice in one session counts once. One without a mark counts each time. */
CASE_WITH(an_entry_counts_once_in_its_session, begin, end)
{
	struct some_facts *s = *state;
	ADD(s, 0, 1000, "a", 1, 1, 0, 0);
	s->d.is_shared.v[0] = true;
	assert_int_equal(find(s), 0);
	assert_int_equal(s->n_wanted, 1);
	assert_int_equal(s->marks[0][0], mark_of(1));
	assert_int_equal(s->marks[0][1], mark_of(1) | MARK_DUPLICATE);
	assert_int_equal(s->marks[0][2] | s->marks[0][3], 0);
}

/* Neither a mark after the last one of a session nor a session after the last one is used. */
CASE_WITH(nothing_after_the_last_is_compared, begin, end)
{
	struct some_facts *s = *state;
	ADD(s, 0, 1000, "a", 1);
	ADD(s, 1, 2000, "b", 1, 2);
	ADD(s, 2, 500, "c", 1);
	const uint64_t guard = mark_of(2) | MARK_FLAGS;
	s->marks[0][1] = guard;
	assert_int_equal(duplicates_find(&s->d, s->cached, s->states, 2, s->wanted, &s->n_wanted), 0);
	assert_int_equal(s->n_wanted, 0);
	assert_int_equal(s->d.shared_count, 2);
	assert_false(is_duplicate(s, 1, 1));
	assert_int_equal(s->marks[0][1], guard);
}

/* Nothing is compared while the last result holds. */
CASE_WITH(a_current_result_is_used_again, begin, end)
{
	struct some_facts *s = *state;
	ADD(s, 0, 1000, "a", 1);
	ADD(s, 1, 2000, "b", 1);
	assert_int_equal(find(s), 0);
	assert_int_equal(s->n_wanted, 0);
	assert_int_equal(s->marks[1][0], mark_of(1) | MARK_EXCLUDED | MARK_DUPLICATE);
	s->marks[1][0] &= ~MARK_DUPLICATE;
	assert_int_equal(find(s), 0);
	assert_int_equal(s->marks[1][0], mark_of(1) | MARK_EXCLUDED);
	/* The one that counted it disappears. */
	s->cached[0] = NULL;
	s->n_wanted = 77;
	assert_int_equal(find(s), 0);
	assert_int_equal(s->n_wanted, 1);
	assert_int_equal(s->wanted[0], 1);
	assert_int_equal(s->d.shared_count, 1);
	assert_false(is_duplicate(s, 1, 0));
}

static bool is_cancelled(void *arg)
{
	(*(unsigned *)arg)++;
	return true;
}

CASE_WITH(a_comparison_can_be_cancelled, begin, end)
{
	struct some_facts *s = *state;
	unsigned calls = 0;
	const struct cancel cancel = {.is_cancelled = is_cancelled, .arg = &calls};
	ADD(s, 0, 2000, "a", 1);
	ADD(s, 1, 1000, "b", 1);
	cancel_set(&cancel);
	int rc = find(s);
	cancel_set(NULL);
	assert_int_equal(rc, -EINTR);
	assert_int_equal(calls, 1);
	assert_false(s->d.is_current);
	assert_int_equal(find(s), 0);
	assert_int_equal(s->n_wanted, 2);
	read_wanted(s);
	cancel_set(&cancel);
	rc = find(s);
	cancel_set(NULL);
	assert_int_equal(rc, -EINTR);
	assert_false(s->d.is_current);
}

CASE_WITH(a_comparison_that_finds_no_memory_fails, begin, end)
{
	struct some_facts *s = *state;
	ADD(s, 0, 1000, "a", 1);
	ADD(s, 1, 2000, "b", 1);
	let_alloc_fail(1);
	int rc = find(s);
	assert_true(alloc_has_failed());
	assert_int_equal(rc, -ENOMEM);
	assert_int_equal(s->n_wanted, 0);
	assert_false(s->d.is_current);
	assert_int_equal(find(s), 0);
	assert_true(is_duplicate(s, 1, 0));
}

RUN_CASES(NULL, NULL)
