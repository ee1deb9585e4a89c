/* SPDX-License-Identifier: MIT */
/* Preloaded: stops the clock that triggers the catalog's scans. A change seen in this time was reported by inotify,
 * however long the test waits. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec stands_at;
static atomic_bool stands;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock == CLOCK_MONOTONIC_COARSE && atomic_load(&stands)) {
		*t = stands_at;
		return 0;
	}
	return (int)syscall(SYS_clock_gettime, clock, t);
}

__attribute__((constructor)) static void stop_clock(void)
{
	clock_gettime(CLOCK_MONOTONIC_COARSE, &stands_at);
	atomic_store(&stands, true);
}
