/* SPDX-License-Identifier: MIT */
#include "sessionfs/file/blocking.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#define STACK ((size_t)512 << 10)

struct blocking_thread {
	struct blocking_pool *pool;
	bool exists, busy, asks;
	int64_t since; /* when it became busy */
	dev_t device;  /* the device it asks, if `asks` */
};

struct blocking_pool {
	struct lock lock;
	pthread_cond_t wanted, changed; /* work was queued; work is done, or a thread has ended */
	struct blocking_thread threads[BLOCKING_THREADS];
	struct blocking_call *first, **last; /* the queue, without the running calls */
	unsigned patience_ms, most_ms;
	int64_t answered; /* when a device last answered */
	unsigned refs;    /* of the owner and of each thread */
	bool closed;
};

static _Thread_local struct blocking_thread *here;

int blocking_pool_open(unsigned patience_ms, unsigned most_ms, struct blocking_pool **ret)
{
	struct blocking_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return -ENOMEM;
	lock_init(&pool->lock, LOCK_BLOCKING);
	lock_cond_init(&pool->wanted);
	lock_cond_init(&pool->changed);
	pool->last = &pool->first;
	pool->patience_ms = patience_ms;
	pool->most_ms = most_ms;
	pool->refs = 1;
	*ret = pool;
	return 0;
}

/* ---- references ---- */

/* Call without the lock: freeing a call can close a file, which asks the device again. */
void blocking_put(struct blocking_pool *pool, struct blocking_call *p)
{
	lock_acquire(&pool->lock);
	bool last = --p->refs == 0;
	lock_release(&pool->lock);
	if (last)
		p->free(p);
}

/* Drops a reference to the pool, and releases the lock. */
static void blocking_pool_put_unlock(struct blocking_pool *pool)
{
	bool last = --pool->refs == 0;
	pthread_cond_broadcast(&pool->changed);
	lock_release(&pool->lock);
	if (!last)
		return;
	lock_destroy(&pool->lock);
	pthread_cond_destroy(&pool->wanted);
	pthread_cond_destroy(&pool->changed);
	free(pool);
}

/* Returns whether a call that began at `since` is unlikely to return. */
static bool blocking_timed_out(const struct blocking_pool *pool, int64_t since, int64_t now)
{
	return now - since >= pool->most_ms ||
	       (now - since >= pool->patience_ms && now - pool->answered >= pool->patience_ms);
}

static bool is_stuck(const struct blocking_pool *pool, const struct blocking_thread *t, int64_t now)
{
	return t->exists && t->busy && blocking_timed_out(pool, t->since, now);
}

/* Returns whether a thread that is not stuck exists: it will serve the queue. */
static bool queue_is_served(const struct blocking_pool *pool, int64_t now)
{
	for (size_t i = 0; i < BLOCKING_THREADS; i++)
		if (pool->threads[i].exists && !is_stuck(pool, &pool->threads[i], now))
			return true;
	return false;
}

void blocking_pool_close(struct blocking_pool *pool)
{
	if (!pool)
		return;
	lock_acquire(&pool->lock);
	pool->closed = true;
	pthread_cond_broadcast(&pool->wanted);
	while (queue_is_served(pool, clock_ms(CLOCK_MONOTONIC)))
		lock_wait_for(&pool->lock, &pool->changed, LOCK_LOOK_NS);
	struct blocking_call *queue = pool->first;
	pool->first = NULL;
	lock_release(&pool->lock);
	for (struct blocking_call *next; queue; queue = next) {
		next = queue->next;
		blocking_put(pool, queue);
	}
}

void blocking_pool_put(struct blocking_pool *pool)
{
	if (!pool)
		return;
	lock_acquire(&pool->lock);
	blocking_pool_put_unlock(pool);
}

/* ---- the threads ---- */

static struct blocking_call *next_call(struct blocking_thread *t)
{
	struct blocking_pool *pool = t->pool;
	t->busy = false;
	pthread_cond_broadcast(&pool->changed);
	while (!pool->first && !pool->closed)
		lock_wait(&pool->lock, &pool->wanted);
	struct blocking_call *p = pool->closed ? NULL : pool->first;
	if (!p)
		return NULL;
	pool->first = p->next;
	if (!pool->first)
		pool->last = &pool->first;
	p->next = NULL;
	p->running = t->busy = true;
	p->since = t->since = clock_ms(CLOCK_MONOTONIC);
	return p;
}

static void *blocking_thread_main(void *arg)
{
	struct blocking_thread *t = arg;
	struct blocking_pool *pool = t->pool;
	struct blocking_call *p;

	atomic_fetch_add(&process_threads_begun, 1);
	log_thread_init();
	here = t;
	lock_acquire(&pool->lock);
	while ((p = next_call(t)) != NULL) {
		lock_release(&pool->lock);
		p->run(p);
		lock_acquire(&pool->lock);
		p->done = true;
		/* The call has its answer; freeing it can hang again. */
		t->since = clock_ms(CLOCK_MONOTONIC);
		if (t->asks)
			pool->answered = t->since;
		t->asks = false;
		pthread_cond_broadcast(&pool->changed);
		lock_release(&pool->lock);
		blocking_put(pool, p);
		lock_acquire(&pool->lock);
	}
	t->exists = false;
	blocking_pool_put_unlock(pool);
	return NULL;
}

/* Pool threads block signals, so that other threads get them. */
static int start_thread(struct blocking_pool *pool, struct blocking_thread *t)
{
	pthread_attr_t attr;
	pthread_t id;
	sigset_t before;

	*t = (struct blocking_thread){.pool = pool, .exists = true};
	pool->refs++;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	log_block_signals(&before);
	int rc = sys_pthread_create(&id, &attr, blocking_thread_main, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		return 0;
	t->exists = false;
	pool->refs--;
	return -EAGAIN;
}

/* Ensures a thread for one more call: an idle one, a new one, or one that is not stuck. */
static int ensure_thread(struct blocking_pool *pool)
{
	struct blocking_thread *none = NULL;
	for (size_t i = 0; i < BLOCKING_THREADS; i++) {
		struct blocking_thread *t = &pool->threads[i];
		if (t->exists && !t->busy && !pool->first)
			return 0;
		if (!t->exists)
			none = t;
	}
	if (none && start_thread(pool, none) == 0)
		return 0;
	return queue_is_served(pool, clock_ms(CLOCK_MONOTONIC)) ? 0 : -EAGAIN;
}

int blocking_start(struct blocking_pool *pool, struct blocking_call *p)
{
	LOCKED(&pool->lock);
	int rc = pool->closed ? -EAGAIN : ensure_thread(pool);
	if (rc == 0) {
		p->refs = 2;
		p->next = NULL;
		*pool->last = p;
		pool->last = &p->next;
		pthread_cond_signal(&pool->wanted);
	}
	return rc;
}

void blocking_get(struct blocking_pool *pool, struct blocking_call *p)
{
	LOCKED(&pool->lock);
	p->refs++;
}

bool blocking_is_done(struct blocking_pool *pool, const struct blocking_call *p)
{
	LOCKED(&pool->lock);
	return p->done;
}

/* ---- waiting ---- */

int blocking_wait(struct blocking_pool *pool, struct blocking_call *const *v, size_t n, int64_t until_ms)
{
	int rc = 0;
	LOCKED(&pool->lock);
	for (size_t i = 0; i < n && rc != -EINTR && rc != -ETIME; i++) {
		while (!v[i]->done && rc != -EINTR && rc != -ETIME) {
			int64_t now = clock_ms(CLOCK_MONOTONIC);
			if (v[i]->running ? blocking_timed_out(pool, v[i]->since, now) : !queue_is_served(pool, now))
				break; /* it is unlikely to finish */
			int64_t left = until_ms ? (until_ms - now) * 1000000 : LOCK_LOOK_NS;
			if (left > 0)
				lock_wait_for(&pool->lock, &pool->changed, left < LOCK_LOOK_NS ? left : LOCK_LOOK_NS);
			rc = cancel_check() < 0 ? -EINTR : left > 0 ? rc : -ETIME;
		}
		if (!v[i]->done && rc == 0)
			rc = -ETIMEDOUT;
	}
	return rc;
}

int blocking_run(struct blocking_pool *pool, struct blocking_call *p)
{
	if (blocking_start(pool, p) == 0)
		return blocking_wait(pool, &p, 1, 0);
	p->refs = 1;
	return -ETIMEDOUT;
}

bool blocking_on_pool_thread(void)
{
	return here != NULL;
}

int blocking_check_device(dev_t device)
{
	if (!here)
		return 0;
	struct blocking_pool *pool = here->pool;
	int rc = 0;
	LOCKED(&pool->lock);
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	for (size_t i = 0; i < BLOCKING_THREADS; i++) {
		const struct blocking_thread *t = &pool->threads[i];
		if (t != here && t->asks && t->device == device && is_stuck(pool, t, now))
			rc = -ETIMEDOUT;
	}
	here->asks = rc == 0;
	here->device = device;
	return rc;
}
