/* stop: whether the work at hand is still wanted.
 *
 * A thread that serves a request says once how to find out whether that was interrupted or the mount ends (stop_set);
 * whatever can take long asks at every step (stop_check) and gives up with what it answers. The answer belongs to the
 * thread, so that no function in between has to hand it on. */
#ifndef SESSIONFS_STOP_H
#define SESSIONFS_STOP_H

#include <stdbool.h>

struct stop {
	bool (*is_asked)(void *arg);
	/* Told that the thread begins, or ends, to wait for another one. False: too many wait already. NULL: any may.
	 */
	bool (*waits)(void *arg, bool begins);
	void *arg;
};

/* What the calling thread works for from now on, borrowed; NULL: nobody ends its work. Returns what it was before. */
const struct stop *stop_set(const struct stop *s);

/* What it works for: for threads that it has help. */
const struct stop *stop_get(void);

/* 0, or -EINTR: the work is to end. Cheap enough for each line of a file. */
int stop_check(void);

/* Around a wait that ends when another request is done, such as for the index that it makes: so many may wait that
 * none is left to do anything else. 0, or -EAGAIN: too many wait. Each 0 is followed by stop_wait_end. */
int stop_wait_begin(void);
void stop_wait_end(void);

#endif
