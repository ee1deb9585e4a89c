/* failing_alloc: makes realloc, from which every buf has its memory, fail on
 * demand. Include it in one file of a test binary. Sanitizers bring their own
 * allocator: there CAN_FAIL_ALLOC is 0 and the tests that need it are skipped. */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_FAIL_ALLOC 0
#else
#define CAN_FAIL_ALLOC 1
#endif

/* How many calls still succeed; negative: all of them. */
static long allocs_left = -1;

#if CAN_FAIL_ALLOC
void *__libc_realloc(void *p, size_t n);
void *realloc(void *p, size_t n);

void *realloc(void *p, size_t n)
{
	if (allocs_left == 0)
		return NULL;
	if (allocs_left > 0)
		allocs_left--;
	return __libc_realloc(p, n);
}
#endif

#endif
