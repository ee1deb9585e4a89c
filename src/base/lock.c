/* SPDX-License-Identifier: MIT */
/* A thread holds few locks, so a linear search of its list costs only nanoseconds. Release builds keep the check: the
 * shipped program is the tested one. */
#include "sessionfs/base/lock.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/cancel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A thread holds one lock of each rank at most. */
static _Thread_local struct {
	unsigned char rank[LOCK_RANKS];
	unsigned n;
} held;

static const char *const names[] = {
    [LOCK_NONE] = "none",         [LOCK_HANDLE] = "handle",     [LOCK_FILE] = "file",
    [LOCK_SESSION] = "session",   [LOCK_CATALOG] = "catalog",   [LOCK_DERIVED] = "derived",
    [LOCK_FACTS] = "facts",       [LOCK_CACHE] = "cache",       [LOCK_SCRATCH] = "scratch",
    [LOCK_STATE] = "state",       [LOCK_LINES] = "lines",       [LOCK_SEARCHES] = "searches",
    [LOCK_MATCHERS] = "matchers", [LOCK_HANDLES] = "handles",   [LOCK_DROP_PAGES] = "dropping",
    [LOCK_LISTINGS] = "listings", [LOCK_LEASES] = "leases",     [LOCK_SIZES] = "sizes",
    [LOCK_LOOP] = "loop",         [LOCK_BLOCKING] = "blocking", [LOCK_READAHEAD] = "ahead",
    [LOCK_REDACT] = "masked",     [LOCK_POOL] = "pool",
};
_Static_assert(sizeof names / sizeof *names == LOCK_RANKS, "a name for each rank");

/* --- the order ------------------------------------------------------------------- */

/* Under test the variable names a file for the message: a daemon has no standard error. */
static void log_order_violation(enum lock_rank rank, enum lock_rank before)
{
	const char *report = secure_getenv("SESSIONFS_LOCK_CHECK");
	log_error("lock order: %s acquired while holding %s", names[rank], names[before]);
	if (!report)
		return;
	int fd = open(report, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		dprintf(fd, "lock order: %s is acquired while %s is held\n", names[rank], names[before]);
	abort();
}

static void check_lock_order(enum lock_rank rank)
{
	for (unsigned i = 0; i < held.n; i++)
		if (held.rank[i] >= rank)
			log_order_violation(rank, held.rank[i]);
}

void lock_may_block(void)
{
	for (unsigned i = 0; i < held.n; i++)
		if (held.rank[i] >= LOCK_CATALOG && held.rank[i] != LOCK_DERIVED)
			log_order_violation(LOCK_NONE, held.rank[i]);
}

static void held_count_adjust(enum lock_rank rank)
{
	if (held.n < LOCK_RANKS)
		held.rank[held.n++] = (unsigned char)rank;
}

void lock_mark_held(enum lock_rank rank)
{
	check_lock_order(rank);
	held_count_adjust(rank);
}

void lock_unmark_held(enum lock_rank rank)
{
	unsigned i = held.n;
	while (i > 0 && held.rank[i - 1] != rank)
		i--;
	if (i == 0)
		return;
	held.n--;
	memmove(&held.rank[i - 1], &held.rank[i], held.n - (i - 1));
}

/* --- mutexes ----------------------------------------------------------------------- */

void lock_init(struct lock *l, enum lock_rank rank)
{
	pthread_mutex_init(&l->mutex, NULL);
	l->rank = rank;
}

void lock_destroy(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

void lock_acquire(struct lock *l)
{
	lock_mark_held(l->rank);
	pthread_mutex_lock(&l->mutex);
}

bool lock_try_for(struct lock *l, int64_t ns)
{
	const int64_t until = clock_ns(CLOCK_MONOTONIC) + ns;
	check_lock_order(l->rank);
	/* pthread_mutex_timedlock uses CLOCK_REALTIME, and the thread sanitizer does not support other clocks. */
	while (pthread_mutex_trylock(&l->mutex) != 0) {
		if (clock_ns(CLOCK_MONOTONIC) >= until)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	held_count_adjust(l->rank);
	return true;
}

void lock_release(struct lock *l)
{
	/* Read it now: the next holder may free the lock. */
	enum lock_rank rank = l->rank;
	pthread_mutex_unlock(&l->mutex);
	lock_unmark_held(rank);
}

void lock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, SYS_COND_CLOCK);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

void lock_wait(struct lock *l, pthread_cond_t *cond)
{
	pthread_cond_wait(cond, &l->mutex);
}

void lock_wait_for(struct lock *l, pthread_cond_t *cond, int64_t ns)
{
	const struct timespec until = clock_in(SYS_COND_CLOCK, ns);
	pthread_cond_timedwait(cond, &l->mutex, &until);
}

int lock_wait_while(struct lock *l, pthread_cond_t *cond, const bool *busy)
{
	for (unsigned i = 0; i < held.n; i++)
		if (held.rank[i] == LOCK_SESSION)
			log_order_violation(l->rank, LOCK_SESSION);
	int rc = *busy ? cancel_wait_begin() : 0;
	if (rc < 0 || !*busy)
		return rc;
	while (*busy && (rc = cancel_check()) == 0)
		lock_wait_for(l, cond, LOCK_LOOK_NS);
	cancel_wait_end();
	return rc;
}

/* --- readers and writers ------------------------------------------------------------- */

/* Not pthread_rwlock_t: its timed calls use CLOCK_REALTIME or are unknown to the thread sanitizer. Also, a writer that
 * checks every 20 ms for cancellation would lose its turn each time. */

void lock_rw_init(struct rwlock *l, enum lock_rank rank)
{
	*l = (struct rwlock){.write_locked = false};
	lock_init(&l->lock, rank);
	lock_cond_init(&l->released);
}

void lock_rw_destroy(struct rwlock *l)
{
	lock_destroy(&l->lock);
	pthread_cond_destroy(&l->released);
}

static bool is_free_for(const struct rwlock *l, bool write)
{
	return !l->write_locked && (write ? l->readers == 0 : l->writers_waiting == 0);
}

static int rwlock_wait(struct rwlock *l, bool write)
{
	int rc = is_free_for(l, write) ? 0 : cancel_wait_begin();
	if (rc < 0 || is_free_for(l, write))
		return rc;
	while (!is_free_for(l, write) && (rc = cancel_check()) == 0)
		lock_wait_for(&l->lock, &l->released, LOCK_LOOK_NS);
	cancel_wait_end();
	return rc;
}

int lock_rw_acquire(struct rwlock *l, bool write)
{
	check_lock_order(l->lock.rank);
	pthread_mutex_lock(&l->lock.mutex);
	l->writers_waiting += write;
	int rc = rwlock_wait(l, write);
	l->writers_waiting -= write;
	if (rc == 0 && write)
		l->write_locked = true;
	else if (rc == 0)
		l->readers++;
	else if (write)
		pthread_cond_broadcast(&l->released); /* readers wait for waiting writers */
	pthread_mutex_unlock(&l->lock.mutex);
	if (rc == 0)
		held_count_adjust(l->lock.rank);
	return rc;
}

void lock_rw_release(struct rwlock *l)
{
	pthread_mutex_lock(&l->lock.mutex);
	if (l->write_locked)
		l->write_locked = false;
	else
		l->readers--;
	if (l->readers == 0)
		pthread_cond_broadcast(&l->released);
	pthread_mutex_unlock(&l->lock.mutex);
	lock_unmark_held(l->lock.rank);
}
