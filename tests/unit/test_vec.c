/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/vec.h"

/* Huge requests must fail, not abort, under the sanitizers. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

CASE(growth_is_amortized)
{
	VEC(uint32_t) v = {0};
	size_t moves = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = v.cap;
		assert_true(vec_reserve(&v, 1));
		assert_true(v.n < v.cap);
		moves += v.cap != before;
		v.v[v.n++] = i;
	}
	assert_true(moves < 40); /* one by one costs O(1) each */
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(v.v[i], i);
	assert_int_equal(vec_used(&v), 400000);
	assert_true(vec_held(&v) >= 400000 && vec_held(&v) <= 400000 + 4096);
	vec_trim(&v);
	assert_in_range(v.cap, 100000, 107000);
	assert_int_equal(v.v[99999], 99999);
	vec_release(&v);
}

/* A plain array, and a request larger than the usual growth. */
CASE(plain_array_grows)
{
	char *p = NULL;
	size_t cap = 0;
	assert_true(vec_grow(&p, &cap, 1000, 1));
	assert_true(cap >= 1000);
	char *before = p;
	assert_true(vec_grow(&p, &cap, 1000, 1));
	assert_ptr_equal(p, before);
	free(p);
}

CASE(overflowing_request_fails)
{
	uint64_t *p = NULL;
	size_t cap = 0;
	assert_true(vec_grow(&p, &cap, 4, sizeof *p));
	p[3] = 7;
	size_t had = cap;
	int before = deferred_begin();
	/* The bytes do not fit a size_t: the request fails instead of wrapping around. */
	assert_false(vec_grow(&p, &cap, SIZE_MAX / 4, sizeof *p));
	assert_true(deferred_end(before, 0) < 0);
	assert_int_equal(cap, had);
	assert_int_equal(p[3], 7);
	free(p);
}

RUN_CASES(NULL, NULL)
