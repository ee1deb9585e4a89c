/* SPDX-License-Identifier: MIT */
/* cancel: cancelling the work of a request.
 *
 * A thread that serves a request says once how to find out whether the request was interrupted or the mount ends
 * (cancel_set). Long work asks at every step (cancel_check), and returns the error if it is to end. The answer belongs
 * to the thread, so that the functions in between need not pass it on. */
#ifndef SESSIONFS_CANCEL_H
#define SESSIONFS_CANCEL_H

#include <stdbool.h>

struct cancel {
	bool (*is_cancelled)(void *arg);
	/* Called when the thread begins or stops waiting for somebody else. False: no thread can take its place. NULL:
	 * no limit. */
	bool (*on_wait)(void *arg, bool begins);
	void *arg;
};

/* Sets what ends the calling thread's work from now on (borrowed; NULL: nothing does). Returns what was set before. */
const struct cancel *cancel_set(const struct cancel *s);

/* What ends the calling thread's work: to be set in threads that help it. */
const struct cancel *cancel_get(void);

/* 0, or -EINTR: the work is to end. Cheap enough for each line of a file. */
int cancel_check(void);

/* Around a wait for another request, such as for the index that it builds, or for another program: without this,
 * waiting requests could use up all threads. Returns 0, then call cancel_wait_end after the wait; or -EAGAIN: no thread
 * can take its place. */
int cancel_wait_begin(void);
void cancel_wait_end(void);

#endif
