/* SPDX-License-Identifier: MIT */
/* parallel: a loop on all cores.
 *
 * The threads of a parallel loop work for the request of the caller: they end with it (cancel.h), and what they could
 * not look up (deferred.h) is an error of the whole. */
#ifndef SESSIONFS_PARALLEL_H
#define SESSIONFS_PARALLEL_H

#include <stddef.h>

/* More threads than this do not help: they wait for the same disk and the same locks. */
#define PARALLEL_THREADS_MAX 16

/* Calls work(arg, i) once for each i below n, in any order, from several threads at once; the caller is one of them. i
 * is handed out one by one, so that a long one does not hold up the rest. Ends with the first error, and returns it: a
 * negative errno of `work`, an error deferred in it, or -EINTR (cancel_check is asked before each); what was not begun
 * then is not called. Otherwise 0. Where threads cannot be started, those that are there do all. */
int parallel_for(size_t n, int (*work)(void *arg, size_t i), void *arg);

#endif
