/* SPDX-License-Identifier: MIT */
/* later: clocks that are put forward instead of waited for. Include it in one file of a test binary. */
#ifndef LATER_H
#define LATER_H

#include "sessionfs/base/sys.h"

#include <stdatomic.h>
#include <stdint.h>

/* Catalogs go by this one, locks and threads by none that a test puts forward. */
#define CATALOG_CLOCK CLOCK_MONOTONIC_COARSE

static _Atomic int64_t ahead_ms[16];

static int clock_ahead(clockid_t clock, struct timespec *ret)
{
	int rc = clock_gettime(clock, ret);
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

#endif
