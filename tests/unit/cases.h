/* SPDX-License-Identifier: MIT */
/* cases: cmocka, with the headers that it needs, and the cases of a test, which no list has to repeat:
 *
 *	CASE(slash_is_escaped)
 *	{
 *		assert_…
 *	}
 *
 *	RUN_CASES(NULL, NULL)
 *
 * They run in the order of the file. The argument is `void **state`, as in cmocka, or the test's fixture. */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

/* The number of elements of an array. */
#define COUNT(a) (sizeof(a) / sizeof *(a))

#define CASES_MAX 64

static struct CMUnitTest added_cases[CASES_MAX];
static size_t added_count;

static inline void add_case(const char *name, CMUnitTestFunction run, CMFixtureFunction before, CMFixtureFunction after)
{
	if (added_count == CASES_MAX)
		abort();
	added_cases[added_count++] = (struct CMUnitTest){name, run, before, after, NULL};
}

/* Runs them between the two functions, which can be NULL. Returns how many failed. */
static inline int run_cases(CMFixtureFunction before_all, CMFixtureFunction after_all)
{
	return _cmocka_run_group_tests("tests", added_cases, added_count, before_all, after_all);
}

/* A main that does nothing else. */
#define RUN_CASES(before_all, after_all)                                                                               \
	int main(void)                                                                                                 \
	{                                                                                                              \
		return run_cases(before_all, after_all);                                                               \
	}

/* Before main begins, the case is added. */
#define ADD_CASE(name, run, before, after)                                                                             \
	static __attribute__((constructor)) void add_##name(void)                                                      \
	{                                                                                                              \
		add_case(#name, run, before, after);                                                                   \
	}

/* With functions that run before and after it, or NULL. */
#define CASE_WITH(name, before, after)                                                                                 \
	static void name(void **state);                                                                                \
	ADD_CASE(name, name, before, after)                                                                            \
	static void name(void **state)
#define CASE(name) CASE_WITH(name, NULL, NULL)

/* The same, but the argument is the state that `before` made, declared as FIXTURE, such as `struct wire *w`. */
#define STATE_CASE(name, before, after)                                                                                \
	static void name(FIXTURE);                                                                                     \
	static void run_##name(void **state)                                                                           \
	{                                                                                                              \
		name(*state);                                                                                          \
	}                                                                                                              \
	ADD_CASE(name, run_##name, before, after)                                                                      \
	static void name(FIXTURE)
#define FIXTURE_CASE(name) STATE_CASE(name, set_up, tear_down)

/* For RUN_CASES. */
static inline int in_utc(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

#endif
