/* SPDX-License-Identifier: MIT */
/* clock: the time, as one number or as a struct timespec, and the order of two times. */
#ifndef SESSIONFS_CLOCK_H
#define SESSIONFS_CLOCK_H

#include "sessionfs/base/sys.h"

#include <stdbool.h>
#include <stdint.h>

static inline struct timespec clock_now(clockid_t clock)
{
	struct timespec t;
	sys_clock_gettime(clock, &t);
	return t;
}

/* Returns the tv_sec of n seconds ago. */
static inline time_t clock_ago(time_t n)
{
	return clock_now(CLOCK_REALTIME).tv_sec - n;
}

/* Returns nanoseconds since the clock's zero; valid until the year 2262. */
static inline int64_t time_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t clock_ns(clockid_t clock)
{
	return time_ns(clock_now(clock));
}

static inline int64_t clock_ms(clockid_t clock)
{
	struct timespec t = clock_now(clock);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns the clock's time `ns` nanoseconds (at least 0) from now. */
static inline struct timespec clock_in(clockid_t clock, int64_t ns)
{
	struct timespec t = clock_now(clock);
	ns += t.tv_nsec;
	return (struct timespec){t.tv_sec + (time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* A file's time can be any number of seconds, too many for time_ns: so compare the fields. */
static inline bool time_is_same(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static inline bool time_is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

#endif
