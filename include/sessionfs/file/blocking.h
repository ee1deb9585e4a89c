/* SPDX-License-Identifier: MIT */
/* blocking: work that can wait forever for another program, on threads that can get stuck.
 *
 * A system call on a dead network or FUSE server never returns, not even for SIGKILL. So a thread of this pool makes
 * such calls, with no lock held, and the caller waits for a bounded time. A call that takes longer than a second is
 * stuck: its thread counts against the limit, and no other thread asks the same device. When the call does return, its
 * thread continues as usual.
 *
 * Thread-safe. The first call starts the first thread, so it must not come before the process goes to the
 * background. */
#ifndef SESSIONFS_BLOCKING_H
#define SESSIONFS_BLOCKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BLOCKING_THREADS 16

/* One piece of work, embedded in its data. It is shared: its starter has a reference until blocking_put, and the pool
 * until it is done. */
struct blocking_call {
	void (*run)(struct blocking_call *p);  /* on a thread of the pool */
	void (*free)(struct blocking_call *p); /* after the last reference; on any thread */
	/* owned by the pool */
	struct blocking_call *next;
	unsigned refs;
	bool running, done;
	int64_t since; /* when a thread began it */
};

struct blocking_pool;

/* A thread is stuck after patience_ms, unless another one got an answer in the last patience_ms; after most_ms in any
 * case. Returns 0 or -ENOMEM. */
int blocking_pool_open(unsigned patience_ms, unsigned most_ms, struct blocking_pool **ret);
/* Ends the threads, without waiting for stuck ones. From then on blocking_start fails. */
void blocking_pool_close(struct blocking_pool *pool);
/* Frees the closed pool, after its last thread. */
void blocking_pool_put(struct blocking_pool *pool);

/* Queues the call, and takes a reference for the pool and one for the caller. Returns 0, or -EAGAIN without a thread
 * for it. */
int blocking_start(struct blocking_pool *pool, struct blocking_call *p);
void blocking_get(struct blocking_pool *pool, struct blocking_call *p);
void blocking_put(struct blocking_pool *pool, struct blocking_call *p);
bool blocking_is_done(struct blocking_pool *pool, const struct blocking_call *p);
/* Waits for all calls, at most until that time (CLOCK_MONOTONIC; 0: no limit). Returns 0 if all are done; -ETIMEDOUT if
 * the others are stuck, or queued after stuck calls; -ETIME after that time; or -EINTR (cancel_check). */
int blocking_wait(struct blocking_pool *pool, struct blocking_call *const *v, size_t n, int64_t until_ms);

/* Starts the call and waits for it. Returns 0, -ETIMEDOUT (also without a thread for it) or -EINTR. The caller has a
 * reference in any case. */
int blocking_run(struct blocking_pool *pool, struct blocking_call *p);

/* Returns whether the current thread belongs to a pool. */
bool blocking_on_pool_thread(void);
/* Call before a system call that asks this device. Returns 0, or -ETIMEDOUT if a stuck thread waits for the device.
 * Always 0 on a thread outside of pools. */
int blocking_check_device(dev_t device);

#endif
