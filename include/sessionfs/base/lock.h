/* SPDX-License-Identifier: MIT */
/* lock: mutexes, and locks for many readers or one writer, in one order.
 *
 * A thread that holds a lock acquires only locks of a higher rank, and never the same lock twice. Each thread keeps a
 * list of the locks that it holds. Acquiring a lock out of order is logged; under test (SESSIONFS_LOCK_CHECK) it aborts
 * the program, so that a possible deadlock fails at once.
 *
 * A system call can wait for another program: a path below the source can lead to a dead server or into this mount. The
 * catalog's lock and locks of a higher rank are never held across such a call (lock_may_block). Locks of a lower rank,
 * and LOCK_DERIVED, belong to one open file or one session: waiting for one of these takes as long as reading that
 * session's bytes. No lock is held while the kernel is notified, except LOCK_DROP_PAGES. */
#ifndef SESSIONFS_LOCK_H
#define SESSIONFS_LOCK_H

#include "sessionfs/base/cleanup.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The order, outermost first. */
enum lock_rank {
	LOCK_NONE,
	LOCK_HANDLE,  /* the text of one open file, and data written through it */
	LOCK_FILE,    /* flock(2) on a session file */
	LOCK_SESSION, /* the index of one session file */
	LOCK_CATALOG, /* the session files on disk */
	LOCK_DERIVED, /* data derived from one index; reads its file */
	/* The leaves: no other module is called while one is held, except by the holder of LOCK_DROP_PAGES. */
	LOCK_READAHEAD, /* data read ahead of its file */
	LOCK_FACTS,     /* facts about all sessions */
	LOCK_POOL,      /* a pool of memory */
	LOCK_CACHE,
	LOCK_SCRATCH,
	LOCK_STATE, /* the state of writable names */
	LOCK_LINES,
	LOCK_SEARCHES,   /* the list of queries */
	LOCK_MATCHERS,   /* the idle matchers of a search */
	LOCK_HANDLES,    /* the numbers of open files */
	LOCK_DROP_PAGES, /* having the kernel drop pages */
	LOCK_LISTINGS,
	LOCK_LEASES,
	LOCK_SIZES,
	LOCK_LOOP,
	LOCK_REDACT,   /* the masks of one file's lines */
	LOCK_BLOCKING, /* the threads that ask servers, which can be stuck */
	LOCK_RANKS
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_destroy(struct lock *l);
void lock_acquire(struct lock *l);
/* Acquires the lock if it gets free within `ns`. */
bool lock_try_for(struct lock *l, int64_t ns);
void lock_release(struct lock *l);

/* Condition variables of a lock count by CLOCK_MONOTONIC. */
void lock_cond_init(pthread_cond_t *cond);
void lock_wait(struct lock *l, pthread_cond_t *cond);
/* Waits for at most `ns`. Wakeups can be spurious. */
void lock_wait_for(struct lock *l, pthread_cond_t *cond, int64_t ns);
/* Waits while *busy, which the lock guards. Returns 0, -EINTR (cancel_check) or -EAGAIN (cancel_wait_begin). The
 * caller must not hold LOCK_SESSION: the busy thread can wait for the readers of that session. */
int lock_wait_while(struct lock *l, pthread_cond_t *cond, const bool *busy);
/* A thread that waits for others calls cancel_check at this interval. */
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

/* Holds the lock until the end of the scope. */
#define LOCKED(l) struct lock *locked_here CLEANUP(lock_release_held) = lock_acquired(l)

/* A lock for many readers or one writer. Writers go first: a thread must not acquire it twice for reading. */
struct rwlock {
	struct lock lock; /* guards the rest */
	pthread_cond_t released;
	unsigned readers, writers_waiting;
	bool write_locked;
};

void lock_rw_init(struct rwlock *l, enum lock_rank rank);
void lock_rw_destroy(struct rwlock *l);
/* Returns 0, -EINTR (cancel_check) or -EAGAIN (cancel_wait_begin). */
int lock_rw_acquire(struct rwlock *l, bool write);
void lock_rw_release(struct rwlock *l);

/* Call before a system call that can wait for another program. If the thread holds the catalog's lock, or a lock of a
 * higher rank except LOCK_DERIVED, that is an order violation, as in lock_acquire. */
void lock_may_block(void);

/* For flock(2), which has a rank, too. Call lock_mark_held before locking: it checks the order as lock_acquire does.
 * Call lock_unmark_held after unlocking. */
void lock_mark_held(enum lock_rank rank);
void lock_unmark_held(enum lock_rank rank);

#endif
