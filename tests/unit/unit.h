/* SPDX-License-Identifier: MIT */
/* unit: cmocka, the headers that it requires, and main. Include it first, in one file of a test binary. */
#ifndef UNIT_H
#define UNIT_H

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

/* Few cases use their state, and few replaced functions all arguments. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The number of elements of an array. */
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* main, which runs these cases after a preparation of them all. */
#define CASES_AFTER(preparation, ...)                                                                                  \
	int main(void)                                                                                                 \
	{                                                                                                              \
		const struct CMUnitTest cases[] = {__VA_ARGS__};                                                       \
		return cmocka_run_group_tests(cases, preparation, NULL);                                               \
	}
#define CASES(...) CASES_AFTER(NULL, __VA_ARGS__)

/* A case without a fixture. */
#define CASE(f) cmocka_unit_test(f)

/* For CASES_AFTER. */
static inline int in_utc(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

#endif
