/* SPDX-License-Identifier: MIT */
/* blocking: work that may wait for ever for somebody else, on threads that can be left behind.
 *
 * A system call on a dead network or FUSE server never returns, not even for SIGKILL. So a thread of this pool makes
 * such calls, with no lock held, and the thread that wants the answer waits for a bounded time. A call that takes
 * longer than a second is left behind: its thread counts against the few there may be, and no other thread asks the
 * same device. When the call does return, its thread carries on as if nothing had happened.
 *
 * Thread-safe. The first call starts the first thread, so there must be none before the process goes to the
 * background. */
#ifndef SESSIONFS_BLOCKING_H
#define SESSIONFS_BLOCKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BLOCKING_THREADS 16

/* One piece of work, embedded in what it works on. It is shared: its starter holds it until blocking_put, and the pool
 * until it is done. */
struct blocking_call {
	void (*run)(struct blocking_call *p);  /* on a thread of the pool */
	void (*free)(struct blocking_call *p); /* when nobody holds it; on any thread */
	/* The pool's. */
	struct blocking_call *next;
	unsigned refs;
	bool running, done;
	int64_t since; /* when a thread began with it */
};

struct blocking_pool;

/* After patience_ms a thread counts as left behind, unless another one was answered as late as that; after most_ms in
 * any case. 0 or -ENOMEM. */
int blocking_pool_open(unsigned patience_ms, unsigned most_ms, struct blocking_pool **ret);
/* Does not wait for threads that are left behind; what they need lives on until they end. */
void blocking_pool_close(struct blocking_pool *pool);

/* Hands the call to the pool. From now on the caller holds it, too. 0, or -EAGAIN if there is no thread for it. */
int blocking_start(struct blocking_pool *pool, struct blocking_call *p);
void blocking_get(struct blocking_pool *pool, struct blocking_call *p);
void blocking_put(struct blocking_pool *pool, struct blocking_call *p);
bool blocking_is_done(struct blocking_pool *pool, const struct blocking_call *p);
/* Waits for all of them, but (unless 0) only until that time (CLOCK_MONOTONIC). 0 if all are done; -ETIMEDOUT if the
 * rest is left behind, or is queued behind such work; -ETIME if the time is over; or -EINTR (cancel_check). */
int blocking_wait(struct blocking_pool *pool, struct blocking_call *const *v, size_t n, int64_t until_ms);

/* Starts the call and waits for it: 0, -ETIMEDOUT (also without a thread for it) or -EINTR. The caller holds it
 * then. */
int blocking_run(struct blocking_pool *pool, struct blocking_call *p);

/* Whether this thread belongs to a pool. */
bool blocking_on_pool_thread(void);
/* Call before a system call that asks this device. 0, or -ETIMEDOUT if a thread that was left behind waits for the
 * device. On a thread that belongs to no pool this does nothing. */
int blocking_check_device(dev_t device);

#endif
