/* SPDX-License-Identifier: MIT */
/* cancel: cancelling the work of a request.
 *
 * A thread that serves a request sets once how to find out whether the request was interrupted or the mount ends
 * (cancel_set). Long work checks at every step (cancel_check), and returns the error if cancelled. The setting belongs
 * to the thread, so the functions in between need not pass it on. */
#ifndef SESSIONFS_CANCEL_H
#define SESSIONFS_CANCEL_H

#include <stdbool.h>

struct progress;

struct cancel {
	bool (*is_cancelled)(void *arg); /* NULL: never */
	/* Called when the thread begins or stops waiting for another thread or program. Returns false if no thread can
	 * take its place. NULL: no limit. */
	bool (*on_wait)(void *arg, bool begins);
	void *arg;
	struct progress *progress; /* shows what the work did (progress.h); or NULL */
};

/* Sets what cancels the calling thread's work (borrowed; NULL: nothing). Returns the previous setting. */
const struct cancel *cancel_set(const struct cancel *s);

/* Returns the calling thread's setting, for threads that help it. */
const struct cancel *cancel_get(void);

/* Returns 0, or -EINTR if cancelled. Cheap enough for each line of a file. */
int cancel_check(void);

/* Call before waiting for another request, such as for the index that it builds, or for another program: otherwise
 * waiting requests could use up all threads. Returns 0, then call cancel_wait_end after the wait; or -EAGAIN if no
 * thread can take its place. */
int cancel_wait_begin(void);
void cancel_wait_end(void);

#endif
