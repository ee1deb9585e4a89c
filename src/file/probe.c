/* SPDX-License-Identifier: MIT */
#include "sessionfs/file/probe.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#define STACK ((size_t)512 << 10)

struct prober {
	struct probes *pool;
	bool exists, busy, asks;
	int64_t since; /* when it became busy */
	dev_t device;  /* the one it asks, if `asks` */
};

struct probes {
	struct lock lock;
	pthread_cond_t wanted, changed; /* work has come; work is done, or a thread has ended */
	struct prober threads[PROBE_THREADS];
	struct probe *first, **last; /* the queue: no thread works on these yet */
	unsigned patience_ms, most_ms;
	int64_t answered; /* when somebody who was asked last answered */
	unsigned refs;    /* of the owner and of each thread */
	bool closed;
};

static _Thread_local struct prober *here;

int probes_open(unsigned patience_ms, unsigned most_ms, struct probes **ret)
{
	struct probes *ps = calloc(1, sizeof *ps);
	if (!ps)
		return -ENOMEM;
	lock_init(&ps->lock, LOCK_PROBES);
	lock_cond_init(&ps->wanted);
	lock_cond_init(&ps->changed);
	ps->last = &ps->first;
	ps->patience_ms = patience_ms;
	ps->most_ms = most_ms;
	ps->refs = 1;
	*ret = ps;
	return 0;
}

/* ---- references ---- */

/* Call without the lock: freeing a probe may close a file, and that asks the device once more. */
void probe_put(struct probes *ps, struct probe *p)
{
	lock_acquire(&ps->lock);
	bool last = --p->refs == 0;
	lock_release(&ps->lock);
	if (last)
		p->free(p);
}

/* Drops a reference to the pool, and releases the lock. */
static void probes_leave(struct probes *ps)
{
	bool last = --ps->refs == 0;
	pthread_cond_broadcast(&ps->changed);
	lock_release(&ps->lock);
	if (!last)
		return;
	lock_destroy(&ps->lock);
	pthread_cond_destroy(&ps->wanted);
	pthread_cond_destroy(&ps->changed);
	free(ps);
}

/* Whether what a thread began with then will hardly come any more. */
static bool probe_is_late(const struct probes *ps, int64_t since, int64_t now)
{
	return now - since >= ps->most_ms || (now - since >= ps->patience_ms && now - ps->answered >= ps->patience_ms);
}

static bool is_left_behind(const struct probes *ps, const struct prober *t, int64_t now)
{
	return t->exists && t->busy && probe_is_late(ps, t->since, now);
}

/* Whether there is a thread that is not left behind: it will come to the queue. */
static bool is_served(const struct probes *ps, int64_t now)
{
	for (size_t i = 0; i < PROBE_THREADS; i++)
		if (ps->threads[i].exists && !is_left_behind(ps, &ps->threads[i], now))
			return true;
	return false;
}

void probes_close(struct probes *ps)
{
	if (!ps)
		return;
	lock_acquire(&ps->lock);
	ps->closed = true;
	pthread_cond_broadcast(&ps->wanted);
	while (is_served(ps, clock_ms(CLOCK_MONOTONIC)))
		lock_wait_for(&ps->lock, &ps->changed, LOCK_LOOK_NS);
	struct probe *queue = ps->first;
	ps->first = NULL;
	lock_release(&ps->lock);
	for (struct probe *next; queue; queue = next) {
		next = queue->next;
		probe_put(ps, queue);
	}
	lock_acquire(&ps->lock);
	probes_leave(ps);
}

/* ---- the threads ---- */

static struct probe *next_work(struct prober *t)
{
	struct probes *ps = t->pool;
	t->busy = t->asks = false;
	pthread_cond_broadcast(&ps->changed);
	while (!ps->first && !ps->closed)
		lock_wait(&ps->lock, &ps->wanted);
	struct probe *p = ps->closed ? NULL : ps->first;
	if (!p)
		return NULL;
	ps->first = p->next;
	if (!ps->first)
		ps->last = &ps->first;
	p->next = NULL;
	p->running = t->busy = true;
	p->since = t->since = clock_ms(CLOCK_MONOTONIC);
	return p;
}

static void *prober_serve(void *arg)
{
	struct prober *t = arg;
	struct probes *ps = t->pool;
	struct probe *p;

	here = t;
	lock_acquire(&ps->lock);
	while ((p = next_work(t)) != NULL) {
		lock_release(&ps->lock);
		p->run(p);
		lock_acquire(&ps->lock);
		p->done = true;
		if (t->asks)
			ps->answered = clock_ms(CLOCK_MONOTONIC);
		pthread_cond_broadcast(&ps->changed);
		lock_release(&ps->lock);
		probe_put(ps, p);
		lock_acquire(&ps->lock);
	}
	t->exists = false;
	probes_leave(ps);
	return NULL;
}

/* The thread blocks signals: other threads take them. */
static int start_thread(struct probes *ps, struct prober *t)
{
	pthread_attr_t attr;
	pthread_t id;
	sigset_t all, before;

	*t = (struct prober){.pool = ps, .exists = true};
	ps->refs++;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = sys_pthread_create(&id, &attr, prober_serve, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		return 0;
	t->exists = false;
	ps->refs--;
	return -EAGAIN;
}

/* Has a thread for one more piece of work: a free one, a new one, or one that is not left behind. */
static int ensure_thread(struct probes *ps)
{
	struct prober *none = NULL;
	for (size_t i = 0; i < PROBE_THREADS; i++) {
		struct prober *t = &ps->threads[i];
		if (t->exists && !t->busy && !ps->first)
			return 0;
		if (!t->exists)
			none = t;
	}
	if (none && start_thread(ps, none) == 0)
		return 0;
	return is_served(ps, clock_ms(CLOCK_MONOTONIC)) ? 0 : -EAGAIN;
}

int probe_start(struct probes *ps, struct probe *p)
{
	LOCKED(&ps->lock);
	int rc = ps->closed ? -EAGAIN : ensure_thread(ps);
	if (rc == 0) {
		p->refs = 2;
		p->next = NULL;
		*ps->last = p;
		ps->last = &p->next;
		pthread_cond_signal(&ps->wanted);
	}
	return rc;
}

void probe_get(struct probes *ps, struct probe *p)
{
	LOCKED(&ps->lock);
	p->refs++;
}

bool probe_is_done(struct probes *ps, const struct probe *p)
{
	LOCKED(&ps->lock);
	return p->done;
}

/* ---- waiting ---- */

int probe_wait(struct probes *ps, struct probe *const *v, size_t n, int64_t until_ms)
{
	int rc = 0;
	LOCKED(&ps->lock);
	for (size_t i = 0; i < n && rc != -EINTR && rc != -ETIME; i++) {
		while (!v[i]->done && rc != -EINTR && rc != -ETIME) {
			int64_t now = clock_ms(CLOCK_MONOTONIC);
			if (v[i]->running ? probe_is_late(ps, v[i]->since, now) : !is_served(ps, now))
				break; /* it may not come any more */
			int64_t left = until_ms ? (until_ms - now) * 1000000 : LOCK_LOOK_NS;
			if (left > 0)
				lock_wait_for(&ps->lock, &ps->changed, left < LOCK_LOOK_NS ? left : LOCK_LOOK_NS);
			rc = cancel_check() < 0 ? -EINTR : left > 0 ? rc : -ETIME;
		}
		if (!v[i]->done && rc == 0)
			rc = -ETIMEDOUT;
	}
	return rc;
}

int probe_ask(struct probes *ps, struct probe *p)
{
	if (probe_start(ps, p) == 0)
		return probe_wait(ps, &p, 1, 0);
	p->refs = 1;
	return -ETIMEDOUT;
}

bool probe_is_here(void)
{
	return here != NULL;
}

int probe_asks(dev_t device)
{
	if (!here)
		return 0;
	struct probes *ps = here->pool;
	int rc = 0;
	LOCKED(&ps->lock);
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	for (size_t i = 0; i < PROBE_THREADS; i++) {
		const struct prober *t = &ps->threads[i];
		if (t != here && t->asks && t->device == device && is_left_behind(ps, t, now))
			rc = -ETIMEDOUT;
	}
	here->asks = rc == 0;
	here->device = device;
	return rc;
}
