/* SPDX-License-Identifier: MIT */
/* later: clocks that a test moves forward instead of waiting. Include it in one file of a test binary. */
#ifndef LATER_H
#define LATER_H

#include "sessionfs/base/sys.h"

#include <stdatomic.h>
#include <stdint.h>

/* Catalogs use this clock; locks and threads use clocks that tests do not move. */
#define CATALOG_CLOCK CLOCK_MONOTONIC_COARSE

static _Atomic int64_t ahead_ms[16];
static _Atomic int64_t stands_ns[16]; /* 0: it runs by itself */

static int clock_ahead(clockid_t clock, struct timespec *ret)
{
	int rc = clock_gettime(clock, ret);
	int64_t stands = atomic_load(&stands_ns[clock]);
	if (stands)
		*ret = (struct timespec){(time_t)(stands / 1000000000), (long)(stands % 1000000000)};
	int64_t ms = atomic_load(&ahead_ms[clock]) + ret->tv_nsec / 1000000;
	ret->tv_sec += (time_t)(ms / 1000);
	ret->tv_nsec = (long)(ms % 1000) * 1000000 + ret->tv_nsec % 1000000;
	return rc;
}

__typeof__(clock_gettime) *const sys_clock_gettime = clock_ahead;

static inline void let_pass(clockid_t clock, int64_t ms)
{
	atomic_fetch_add(&ahead_ms[clock], ms);
}

/* From now on only let_pass() moves it: a busy machine makes nothing time out. */
static inline void let_stand(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	atomic_store(&stands_ns[clock], (int64_t)t.tv_sec * 1000000000 + t.tv_nsec);
}

#endif
