/* SPDX-License-Identifier: MIT */
/* lock: mutexes, and locks for many readers or one writer, in one order.
 *
 * A thread that holds a lock acquires only locks of a higher rank, and never the same lock twice. Each thread keeps a
 * list of the locks that it holds. A lock acquired against the order is logged; under test (SESSIONFS_LOCK_CHECK) the
 * program is aborted, so that an order that could deadlock fails at once.
 *
 * A system call can wait for somebody else: a path below the source can lead to a dead server or into this mount. The
 * lock of the catalog and those of a higher rank are never held across such a call (lock_may_block). Those of a lower
 * rank, and LOCK_DERIVED, belong to one reader of .events, one open file or one session: who waits for one of these
 * waits for what that session's bytes take to arrive. No lock is held while the kernel is notified, except LOCK_PREFILL
 * and LOCK_DROP_PAGES.
 */
#ifndef SESSIONFS_LOCK_H
#define SESSIONFS_LOCK_H

#include "sessionfs/base/cleanup.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The order, outermost first. */
enum lock_rank {
	LOCK_NONE,
	LOCK_PUBLISH, /* what .events knows of the sessions */
	LOCK_PREFILL, /* giving pages to the kernel with an open */
	LOCK_HANDLE,  /* the text of one open file, what is written through it */
	LOCK_FILE,    /* flock(2) on a session file */
	LOCK_SESSION, /* the index of one session file */
	LOCK_CATALOG, /* the session files on disk */
	/* The leaves: while one is held, no other module is called. */
	LOCK_DERIVED,   /* what is derived from one index */
	LOCK_READAHEAD, /* what was read of its file besides */
	LOCK_FACTS,     /* what is known of all sessions */
	LOCK_CACHE,
	LOCK_SCRATCH,
	LOCK_STATE, /* what is remembered of writable names */
	LOCK_LINES,
	LOCK_RUNS,
	LOCK_SEARCHES,   /* the queries that are known */
	LOCK_MATCHERS,   /* the matchers of a search that nobody uses */
	LOCK_EVENTS,     /* readers of .events */
	LOCK_HANDLES,    /* the numbers of open files */
	LOCK_DROP_PAGES, /* having the kernel drop pages */
	LOCK_LISTINGS,
	LOCK_LEASES,
	LOCK_READDIRPLUS,
	LOCK_SIZES,
	LOCK_LOOP,
	LOCK_REDACT,   /* what is hidden of a line of one file */
	LOCK_BLOCKING, /* the threads that ask servers that may not answer */
	LOCK_RANKS
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_destroy(struct lock *l);
void lock_acquire(struct lock *l);
/* Acquires the lock if it is free. Never waits, so the order does not matter. */
bool lock_try(struct lock *l);
/* The same, but waits for the lock this long, so the order matters. */
bool lock_try_for(struct lock *l, int64_t ns);
void lock_release(struct lock *l);

/* Condition variables of a lock count by CLOCK_MONOTONIC. */
void lock_cond_init(pthread_cond_t *cond);
void lock_wait(struct lock *l, pthread_cond_t *cond);
/* Waits this long at most. May return earlier for no reason. */
void lock_wait_for(struct lock *l, pthread_cond_t *cond, int64_t ns);
/* Waits while *busy, which the lock guards. 0, -EINTR (cancel_check) or -EAGAIN (cancel_wait_begin). */
int lock_wait_while(struct lock *l, pthread_cond_t *cond, const bool *busy);
/* A thread that waits for others calls cancel_check this often. */
#define LOCK_LOOK_NS INT64_C(20000000)

static inline void lock_release_held(struct lock **l)
{
	lock_release(*l);
}

static inline struct lock *lock_acquired(struct lock *l)
{
	lock_acquire(l);
	return l;
}

/* Holds the lock to the end of the scope. */
#define LOCKED(l) struct lock *locked_here CLEANUP(lock_release_held) = lock_acquired(l)

/* For many readers or one writer. Writers go first: a thread must not read twice. */
struct rwlock {
	struct lock lock; /* guards the rest */
	pthread_cond_t released;
	unsigned readers, writers_waiting;
	bool write_locked;
};

void lock_rw_init(struct rwlock *l, enum lock_rank rank);
void lock_rw_destroy(struct rwlock *l);
void lock_read(struct rwlock *l);
void lock_write(struct rwlock *l);
/* 0, -EINTR (cancel_check) or -EAGAIN (cancel_wait_begin). */
int lock_read_cancellable(struct rwlock *l);
/* The same, or -ETIMEDOUT if readers still have the lock after `ns`; -1: no limit. For another writer it waits however
 * long that takes. */
int lock_write_cancellable(struct rwlock *l, int64_t ns);
void lock_rw_release(struct rwlock *l);

/* Call before a system call that may wait for somebody else: complains if the thread holds the lock of the catalog or
 * one of a higher rank but LOCK_DERIVED, as lock_acquire does. */
void lock_may_block(void);

/* For flock(2), which has its place in the order, too. Call lock_mark_held before it is taken: that checks the order as
 * lock_acquire does. Call lock_unmark_held once it is released. */
void lock_mark_held(enum lock_rank rank);
void lock_unmark_held(enum lock_rank rank);

#endif
