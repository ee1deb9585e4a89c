/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "sessionfs/base/clock.h"

CASE(units_are_converted)
{
	assert_int_equal(time_ns((struct timespec){3, 5}), INT64_C(3000000005));
	assert_int_equal(time_ns((struct timespec){-1, 999999999}), -1);
	int64_t ms = clock_ms(CLOCK_MONOTONIC);
	int64_t ns = clock_ns(CLOCK_MONOTONIC);
	struct timespec now = clock_now(CLOCK_MONOTONIC);
	assert_true(ms <= ns / 1000000);
	assert_true(ns <= time_ns(now));
	assert_true(time_ns(now) <= clock_ns(CLOCK_MONOTONIC));
}

/* Nanoseconds are carried: the system gets less than a second of them. */
CASE(nanoseconds_are_carried)
{
	int64_t before = clock_ns(CLOCK_MONOTONIC);
	struct timespec t = clock_in(CLOCK_MONOTONIC, INT64_C(2999999999));
	int64_t after = clock_ns(CLOCK_MONOTONIC);
	assert_in_range(t.tv_nsec, 0, 999999999);
	assert_true(time_ns(t) - before >= INT64_C(2999999999));
	assert_true(time_ns(t) - after <= INT64_C(2999999999));
}

CASE(extreme_times_are_ordered)
{
	/* File times before 1970, and where nanoseconds in one number would overflow. */
	const bool is_wide = sizeof(time_t) == 8;
	const time_t first = is_wide ? (time_t)INT64_MIN : INT32_MIN, last = is_wide ? (time_t)INT64_MAX : INT32_MAX;
	const struct timespec rising[] = {{first, 0}, {-2, 999999999}, {-1, 0}, {0, 0}, {0, 1}, {1, 0}, {last, 1}};
	const size_t n = COUNT(rising);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(time_is_before(rising[i], rising[k]), i < k);
			assert_int_equal(time_is_same(rising[i], rising[k]), i == k);
		}
}

RUN_CASES(NULL, NULL)
