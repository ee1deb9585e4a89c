/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "sessionfs/base/counters.h"

static void count(struct counters *t, struct span name)
{
	size_t *n = counters_get(t, name);
	assert_non_null(n);
	++*n;
}

static void expect(const struct counters *t, size_t i, struct span name, size_t n)
{
	assert_true(span_eq(counters_name(t, i), name));
	assert_int_equal(*(const size_t *)counters_value(t, i), n);
}

CASE(names_are_copied_in_order)
{
	struct counters t = COUNTERS_INIT(size_t);
	char name[] = "user";
	count(&t, span_of(name));
	name[0] = 'U'; /* the counters have their own copy */
	count(&t, span_of("assistant"));
	count(&t, span_of("user"));
	count(&t, SPAN_LIT("a\0b"));
	count(&t, (struct span){NULL, 0});
	count(&t, SPAN_LIT("a\0c"));
	count(&t, SPAN_LIT(""));
	assert_int_equal(t.n, 5);
	expect(&t, 0, span_of("user"), 2);
	expect(&t, 1, span_of("assistant"), 1);
	expect(&t, 2, SPAN_LIT("a\0b"), 1);
	expect(&t, 3, SPAN_LIT(""), 2);
	expect(&t, 4, SPAN_LIT("a\0c"), 1);
	counters_release(&t);
	assert_int_equal(t.n, 0);
	count(&t, span_of("again"));
	expect(&t, 0, span_of("again"), 1);
	counters_release(&t);
}

CASE(values_stay)
{
	struct counters t = COUNTERS_INIT(size_t);
	size_t *first = counters_get(&t, span_of("0"));
	char name[16];
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		count(&t, span_of(name));
	}
	assert_int_equal(t.n, 20000);
	assert_ptr_equal(counters_get(&t, span_of("0")), first);
	assert_int_equal(*first, 1);
	expect(&t, 19999, span_of("19999"), 1);
	counters_release(&t);
}

RUN_CASES(NULL, NULL)
