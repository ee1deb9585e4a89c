/* SPDX-License-Identifier: MIT */
/* parallel: a loop on all cores.
 *
 * The threads of a parallel loop work for the caller's request: cancelling it stops them (cancel.h), and a deferred
 * error in one (deferred.h) fails the whole loop. */
#ifndef SESSIONFS_PARALLEL_H
#define SESSIONFS_PARALLEL_H

#include <stddef.h>

/* More threads than this do not help: they wait for the same disk and the same locks. */
#define PARALLEL_THREADS_MAX 16

/* Calls work(arg, i) once for each i below n, in any order, from several threads at once, including the caller's. Each
 * thread fetches one i at a time, so that a slow one does not delay the rest. Stops at the first error and returns it:
 * a negative errno of `work`, an error deferred in it, or -EINTR (cancel_check before each call). Calls not yet begun
 * are then dropped. Returns 0 otherwise. If threads cannot be started, the existing ones do all the work. */
int parallel_for(size_t n, int (*work)(void *arg, size_t i), void *arg);

#endif
