/* SPDX-License-Identifier: MIT */
/* stop: cancelling the work of a request.
 *
 * A thread that serves a request says once how to find out whether the request was interrupted or the mount ends
 * (stop_set). Long work asks at every step (stop_check), and returns the error if it is to end. The answer belongs to
 * the thread, so that the functions in between need not pass it on. */
#ifndef SESSIONFS_STOP_H
#define SESSIONFS_STOP_H

#include <stdbool.h>

struct stop {
	bool (*is_asked)(void *arg);
	/* Called when the thread begins or stops waiting for somebody else. False: no thread can take its place. NULL:
	 * no limit. */
	bool (*waits)(void *arg, bool begins);
	void *arg;
};

/* Sets what ends the calling thread's work from now on (borrowed; NULL: nothing does). Returns what was set before. */
const struct stop *stop_set(const struct stop *s);

/* What ends the calling thread's work: to be set in threads that help it. */
const struct stop *stop_get(void);

/* 0, or -EINTR: the work is to end. Cheap enough for each line of a file. */
int stop_check(void);

/* Around a wait for another request, such as for the index that it builds, or for another program: without this,
 * waiting requests could use up all threads. Returns 0, then call stop_wait_end after the wait; or -EAGAIN: no
 * thread can take its place. */
int stop_wait_begin(void);
void stop_wait_end(void);

#endif
