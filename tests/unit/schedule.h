/* SPDX-License-Identifier: MIT */
/* schedule: runs the threads of a test one at a time, in an order drawn from a seed.
 *
 * A thread stops at points: before it locks a mutex, after it unlocks one, while it waits for a condition, and where
 * the test calls schedule_point. There a random choice says which thread continues. A thread that waits for a mutex or
 * a condition is not chosen. The clocks stand still, except where the test moves them (schedule_pass); if all threads
 * wait, the clock jumps to the first time limit. So the same seed gives the same run.
 *
 * The process runs on one core: parallel_for starts no threads there. Include this file in one file of a test binary,
 * and wrap the functions `__wrap_X` (Makefile). */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "sessionfs/base/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* The threads of the test, and at most 16 of a pool, which end and begin again. */
#define SCHEDULE_THREADS 32
#define SCHEDULE_MUTEXES 64
#define SCHEDULE_TRACE 4096
/* More points in one round are a call that does not end. */
#define SCHEDULE_POINTS_MAX 200000

enum schedule_state { SCHEDULE_FREE, SCHEDULE_READY, SCHEDULE_WAITS, SCHEDULE_IDLE };

struct schedule_thread {
	enum schedule_state state;
	const void *on;  /* the mutex or condition that it waits for */
	int64_t until;   /* the time limit of the wait; 0: none */
	bool timed_out;  /* the last wait ended by it */
	bool is_worker;  /* the test started it; otherwise the program did */
	atomic_int turn; /* it may run */
	void *(*main)(void *arg);
	void *arg;
};

struct schedule_step {
	unsigned thread;
	const char *what;
	char detail[40];
};

static struct {
	struct schedule_thread threads[SCHEDULE_THREADS];
	const void *held[SCHEDULE_MUTEXES]; /* locked mutexes */
	unsigned held_by[SCHEDULE_MUTEXES], held_count;
	unsigned current;
	uint64_t seed;
	unsigned keeps; /* another thread is chosen at one of this many points */
	int64_t now;    /* nanoseconds */
	unsigned jumps; /* how often all threads waited, and the clock jumped */
	uint64_t points, hash;
	struct schedule_step trace[SCHEDULE_TRACE];
	uint64_t traced;
	void (*fails)(const char *why);       /* reports, and does not return */
	void (*on_unlock)(const void *mutex); /* or NULL */
} schedule;

static _Thread_local struct schedule_thread *schedule_self;

__attribute__((noreturn)) static void schedule_fail(const char *why)
{
	schedule.fails(why);
	abort();
}

static uint64_t schedule_draw(uint64_t below)
{
	schedule.seed = schedule.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t x = schedule.seed ^ schedule.seed >> 32;
	return (x * UINT64_C(0x9e3779b97f4a7c15) >> 20) % below;
}

static unsigned schedule_number(const struct schedule_thread *t)
{
	return (unsigned)(t - schedule.threads);
}

static void schedule_note(const char *what, const char *detail)
{
	struct schedule_step *s = &schedule.trace[schedule.traced++ % SCHEDULE_TRACE];
	*s = (struct schedule_step){.thread = schedule.current, .what = what};
	if (detail)
		snprintf(s->detail, sizeof s->detail, "%s", detail);
}

static inline void schedule_print(FILE *out)
{
	uint64_t i = schedule.traced > SCHEDULE_TRACE ? schedule.traced - SCHEDULE_TRACE : 0;
	unsigned last = SCHEDULE_THREADS;
	for (; i < schedule.traced; i++) {
		const struct schedule_step *s = &schedule.trace[i % SCHEDULE_TRACE];
		if (s->thread != last)
			fprintf(out, "\n  thread %u:", s->thread);
		last = s->thread;
		fprintf(out, " %s%s%s", s->what, s->detail[0] ? " " : "", s->detail);
	}
	fputc('\n', out);
}

/* ---- turns ---- */

static void schedule_give_turn(struct schedule_thread *t)
{
	schedule.current = schedule_number(t);
	atomic_store(&t->turn, 1);
	syscall(SYS_futex, &t->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void schedule_await_turn(struct schedule_thread *t)
{
	while (!atomic_exchange(&t->turn, 0))
		syscall(SYS_futex, &t->turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* Chooses a thread that can run. If all wait, the clock jumps to the first time limit. */
static struct schedule_thread *schedule_choose(void)
{
	struct schedule_thread *ready[SCHEDULE_THREADS], *first = NULL;
	unsigned n = 0;
	for (struct schedule_thread *t = schedule.threads; t < schedule.threads + SCHEDULE_THREADS; t++) {
		bool waits = t->state == SCHEDULE_WAITS && t->until;
		if (t->state == SCHEDULE_READY || (waits && t->until <= schedule.now))
			ready[n++] = t;
		else if (waits && (!first || t->until < first->until))
			first = t;
	}
	if (n > 0) {
		first = ready[n > 1 ? schedule_draw(n) : 0];
	} else if (!first) {
		schedule_fail("deadlock: all threads wait");
	} else {
		schedule.now = first->until;
		schedule.jumps++;
	}
	first->timed_out = first->state == SCHEDULE_WAITS;
	first->state = SCHEDULE_READY;
	return first;
}

static void schedule_switch(void)
{
	struct schedule_thread *me = schedule_self, *next = schedule_choose();
	if (next == me)
		return;
	schedule_give_turn(next);
	schedule_await_turn(me);
}

static void schedule_count(const char *what, const char *detail)
{
	if (++schedule.points > SCHEDULE_POINTS_MAX)
		schedule_fail("a call does not end");
	schedule.hash =
	    (schedule.hash ^ schedule.current ^ (uint64_t)(unsigned char)*what << 8) * UINT64_C(0x100000001b3);
	schedule_note(what, detail);
}

/* Another thread may run here. */
static void schedule_point(const char *what, const char *detail)
{
	if (!schedule_self)
		return;
	schedule_count(what, detail);
	if (schedule_draw(schedule.keeps) == 0)
		schedule_switch();
}

/* Waits until schedule_wake(on), or until that time. Returns false if the time is over. */
static bool schedule_wait(const void *on, int64_t until)
{
	struct schedule_thread *me = schedule_self;
	me->state = SCHEDULE_WAITS;
	me->on = on;
	me->until = until;
	me->timed_out = false;
	schedule_switch();
	me->on = NULL;
	return !me->timed_out;
}

static void schedule_wake(const void *on, bool all)
{
	struct schedule_thread *waits[SCHEDULE_THREADS];
	unsigned n = 0;
	for (unsigned i = 0; i < SCHEDULE_THREADS; i++)
		if (schedule.threads[i].state == SCHEDULE_WAITS && schedule.threads[i].on == on)
			waits[n++] = &schedule.threads[i];
	for (unsigned i = 0, one = !all && n > 0 ? (unsigned)schedule_draw(n) : 0; i < n; i++)
		if (all || i == one)
			waits[i]->state = SCHEDULE_READY;
}

static inline void schedule_pass(int64_t ms)
{
	schedule.now += ms * 1000000;
}

/* ---- threads ---- */

static struct schedule_thread *schedule_add(bool is_worker, void *(*thread_main)(void *), void *arg)
{
	struct schedule_thread *t = schedule.threads;
	while (t < schedule.threads + SCHEDULE_THREADS && t->state != SCHEDULE_FREE)
		t++;
	if (t == schedule.threads + SCHEDULE_THREADS)
		schedule_fail("too many threads");
	t->state = is_worker ? SCHEDULE_IDLE : SCHEDULE_READY;
	t->is_worker = is_worker;
	t->main = thread_main;
	t->arg = arg;
	t->on = NULL;
	atomic_store(&t->turn, 0);
	return t;
}

static void *schedule_thread_main(void *arg)
{
	struct schedule_thread *t = schedule_self = arg;
	schedule_await_turn(t);
	void *ret = t->main(t->arg);
	t->state = SCHEDULE_FREE;
	struct schedule_thread *next = schedule_choose();
	schedule_self = NULL;
	schedule_give_turn(next);
	return ret;
}

static int schedule_create(pthread_t *ret, const pthread_attr_t *attr, void *(*thread_main)(void *), void *arg)
{
	struct schedule_thread *t = schedule_add(false, thread_main, arg);
	int rc = pthread_create(ret, attr, schedule_thread_main, t);
	if (rc)
		t->state = SCHEDULE_FREE;
	return rc;
}
__typeof__(pthread_create) *const sys_pthread_create = schedule_create;

/* The calling thread becomes the first one of the schedule, and the process runs on one core. */
static void schedule_begin(void (*fails)(const char *why))
{
	cpu_set_t all, one;
	schedule.fails = fails;
	schedule.keeps = 1;
	schedule.now = INT64_C(1000000000000);
	if (sched_getaffinity(0, sizeof all, &all) == 0) {
		CPU_ZERO(&one);
		for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
			if (CPU_ISSET(i, &all))
				CPU_SET(i, &one);
		sched_setaffinity(0, sizeof one, &one);
	}
	schedule_self = schedule_add(true, NULL, NULL);
	schedule_self->state = SCHEDULE_READY;
}

/* Starts a thread that calls work(arg) once in each round that includes it. */
struct schedule_worker {
	struct schedule_thread *thread;
	void (*work)(void *arg);
	void *arg;
};

static void *schedule_worker_main(void *arg)
{
	struct schedule_worker *w = arg;
	for (;;) {
		w->work(w->arg);
		w->thread->state = SCHEDULE_IDLE;
		unsigned busy = 0;
		for (unsigned i = 1; i < SCHEDULE_THREADS; i++)
			busy += schedule.threads[i].is_worker && schedule.threads[i].state != SCHEDULE_FREE &&
			        schedule.threads[i].state != SCHEDULE_IDLE;
		if (busy == 0)
			schedule_wake(&schedule, true);
		schedule_switch();
	}
	return NULL;
}

static void schedule_start_worker(struct schedule_worker *w)
{
	pthread_t id;
	w->thread = schedule_add(true, schedule_worker_main, w);
	if (pthread_create(&id, NULL, schedule_thread_main, w->thread) != 0)
		schedule_fail("no thread");
}

/* Runs these workers until all have ended. Called by the first thread. */
static void schedule_run(struct schedule_worker *const *v, unsigned n, unsigned keeps)
{
	schedule.keeps = keeps;
	schedule.points = 0;
	schedule.jumps = 0;
	for (unsigned i = 0; i < n; i++)
		v[i]->thread->state = SCHEDULE_READY;
	if (n > 0)
		schedule_wait(&schedule, 0);
}

/* ---- what the program calls ---- */

__typeof__(pthread_mutex_lock) __real_pthread_mutex_lock, __wrap_pthread_mutex_lock;
__typeof__(pthread_mutex_unlock) __real_pthread_mutex_unlock, __wrap_pthread_mutex_unlock;
__typeof__(pthread_cond_wait) __wrap_pthread_cond_wait;
__typeof__(pthread_cond_timedwait) __wrap_pthread_cond_timedwait;
__typeof__(pthread_cond_signal) __wrap_pthread_cond_signal;
__typeof__(pthread_cond_broadcast) __wrap_pthread_cond_broadcast;

static unsigned schedule_find_held(const void *m)
{
	unsigned i = 0;
	while (i < schedule.held_count && schedule.held[i] != m)
		i++;
	return i;
}

static void schedule_lock(pthread_mutex_t *m)
{
	while (schedule_find_held(m) < schedule.held_count)
		schedule_wait(m, 0);
	if (schedule.held_count == SCHEDULE_MUTEXES)
		schedule_fail("too many mutexes");
	schedule.held_by[schedule.held_count] = schedule.current;
	schedule.held[schedule.held_count++] = m;
	__real_pthread_mutex_lock(m);
}

static void schedule_unlock(pthread_mutex_t *m)
{
	unsigned i = schedule_find_held(m);
	if (i == schedule.held_count || schedule.held_by[i] != schedule.current)
		schedule_fail("a thread unlocks a mutex that it does not hold");
	if (schedule.on_unlock)
		schedule.on_unlock(m);
	schedule.held[i] = schedule.held[--schedule.held_count];
	schedule.held_by[i] = schedule.held_by[schedule.held_count];
	__real_pthread_mutex_unlock(m);
	schedule_wake(m, true);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	if (!schedule_self)
		return __real_pthread_mutex_lock(m);
	schedule_point("lock", NULL);
	schedule_lock(m);
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (!schedule_self)
		return __real_pthread_mutex_unlock(m);
	schedule_unlock(m);
	schedule_point("unlock", NULL);
	return 0;
}

static int schedule_cond_wait(pthread_cond_t *cond, pthread_mutex_t *m, int64_t until)
{
	schedule_count("wait", NULL);
	schedule_unlock(m);
	bool woken = schedule_wait(cond, until);
	schedule_lock(m);
	return woken ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *m)
{
	return schedule_cond_wait(cond, m, 0);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *m, const struct timespec *until)
{
	return schedule_cond_wait(cond, m, (int64_t)until->tv_sec * 1000000000 + until->tv_nsec);
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	schedule_wake(cond, false);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	schedule_wake(cond, true);
	return 0;
}

/* CLOCK_REALTIME is the same clock in the year 2023. */
static int schedule_clock(clockid_t clock, struct timespec *ret)
{
	int64_t ns = schedule.now;
	*ret = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		ret->tv_sec += 1700000000;
	return 0;
}
__typeof__(clock_gettime) *const sys_clock_gettime = schedule_clock;

#endif
