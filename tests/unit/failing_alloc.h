/* SPDX-License-Identifier: MIT */
/* failing_alloc: allocations that fail on demand. The linker puts these functions in place of the library's in each
 * test that includes this (see the Makefile). Include it in one file of a test binary. */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* The number of calls, by all threads, that still succeed; negative: all. Then all fail, or one does. */
static _Atomic long allocs_left = -1;
static _Atomic bool one_alloc_fails;

static bool alloc_fails(void)
{
	if (allocs_left != 0) {
		allocs_left -= allocs_left > 0;
		return false;
	}
	if (one_alloc_fails)
		allocs_left = -1;
	errno = ENOMEM;
	return true;
}

#define FAILING_ALLOC(type, name, parameters, arguments)                                                               \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		return alloc_fails() ? NULL : __real_##name arguments;                                                 \
	}

FAILING_ALLOC(void *, malloc, (size_t n), (n))
FAILING_ALLOC(void *, calloc, (size_t n, size_t size), (n, size))
FAILING_ALLOC(void *, realloc, (void *p, size_t n), (p, n))
FAILING_ALLOC(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
FAILING_ALLOC(char *, strdup, (const char *s), (s))

/* Only the nth call from now on fails. */
static inline void let_alloc_fail(unsigned nth)
{
	allocs_left = (long)nth - 1;
	one_alloc_fails = true;
}

/* All succeed from now on. Returns true if that one failed. */
static inline bool alloc_has_failed(void)
{
	bool failed = one_alloc_fails && allocs_left < 0;
	allocs_left = -1;
	one_alloc_fails = false;
	return failed;
}

#endif
