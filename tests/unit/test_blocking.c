/* SPDX-License-Identifier: MIT */
/* The pool of threads for calls that can hang: without threads, with a clock that moves, with a queue. */
#include "cases.h"
#include "later.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/file/blocking.h"

#include <semaphore.h>

#define PATIENCE 100
#define MOST 1000

static atomic_bool no_threads;

static int make_thread(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return atomic_load(&no_threads) ? EAGAIN : pthread_create(id, attr, run, arg);
}

__typeof__(pthread_create) *const sys_pthread_create = make_thread;

/* A call that asks a device (0: none), and with a gate hangs until it is posted. */
struct work {
	struct blocking_call call;
	dev_t device;
	sem_t *gate, begun, *freed;
	int asked;
	bool on_pool_thread;
	bool alone; /* it drops the caller's reference, so its thread frees it; that hangs until the gate is posted */
};

static struct {
	struct blocking_pool *pool;
	sem_t gate;
	sem_t freeing, freed; /* posted when a call that is alone begins to be freed, and for each freed one */
} all;

static void work_run(struct blocking_call *p)
{
	struct work *w = (struct work *)p;
	w->on_pool_thread = blocking_on_pool_thread();
	w->asked = w->device ? blocking_check_device(w->device) : 0;
	sem_post(&w->begun);
	if (w->gate && w->asked == 0)
		sem_wait(w->gate);
	if (w->alone)
		blocking_put(all.pool, p);
}

static void work_free(struct blocking_call *p)
{
	struct work *w = (struct work *)p;
	sem_t *freed = w->freed;
	if (w->alone) {
		sem_post(&all.freeing);
		sem_wait(&all.gate);
	}
	sem_destroy(&w->begun);
	free(w);
	sem_post(freed);
}

static struct work *work(dev_t device, sem_t *gate)
{
	struct work *w = calloc(1, sizeof *w);
	assert_non_null(w);
	*w = (struct work){
	    .call = {.run = work_run, .free = work_free}, .device = device, .gate = gate, .freed = &all.freed};
	sem_init(&w->begun, 0, 0);
	return w;
}

static unsigned freed(void)
{
	int n;
	sem_getvalue(&all.freed, &n);
	return (unsigned)n;
}

static struct work *hang(dev_t device)
{
	struct work *w = work(device, &all.gate);
	assert_int_equal(blocking_start(all.pool, &w->call), 0);
	while (sem_wait(&w->begun) < 0)
		;
	return w;
}

static void answer(dev_t device)
{
	struct work *w = work(device, NULL);
	assert_int_equal(blocking_run(all.pool, &w->call), 0);
	assert_int_equal(w->asked, 0);
	assert_true(w->on_pool_thread);
	assert_true(blocking_is_done(all.pool, &w->call));
	blocking_put(all.pool, &w->call);
}

/* Returns -ETIME for a call that is not done, but not stuck either: the time of the wait is over at once. */
static int wait_now(struct work *w)
{
	struct blocking_call *p = &w->call;
	return blocking_wait(all.pool, &p, 1, clock_ms(CLOCK_MONOTONIC));
}

static int set_up(void **state)
{
	atomic_store(&no_threads, false);
	let_stand(CLOCK_MONOTONIC);
	sem_init(&all.gate, 0, 0);
	sem_init(&all.freeing, 0, 0);
	sem_init(&all.freed, 0, 0);
	return blocking_pool_open(PATIENCE, MOST, &all.pool);
}

static int tear_down(void **state)
{
	/* Where a test has failed, calls still hang. */
	for (unsigned i = 0; i < BLOCKING_THREADS; i++)
		sem_post(&all.gate);
	blocking_pool_close(all.pool);
	blocking_pool_put(all.pool);
	return 0;
}

CASE_WITH(without_a_thread_a_call_fails, set_up, tear_down)
{
	atomic_store(&no_threads, true);
	/* More often than there are threads: none of them counts as begun. */
	for (unsigned i = 0; i < 2 * BLOCKING_THREADS; i++) {
		struct work *w = work(0, NULL);
		assert_int_equal(blocking_start(all.pool, &w->call), -EAGAIN);
		assert_int_equal(blocking_run(all.pool, &w->call), -ETIMEDOUT);
		assert_int_equal(freed(), i);
		blocking_put(all.pool, &w->call);
		assert_int_equal(freed(), i + 1);
	}
	atomic_store(&no_threads, false);
	answer(0);
	/* With one thread, others are not needed: it serves the queue. */
	atomic_store(&no_threads, true);
	struct work *first = hang(0), *second = work(0, NULL);
	struct blocking_call *const both[] = {&first->call, &second->call};
	assert_int_equal(blocking_start(all.pool, &second->call), 0);
	assert_false(blocking_is_done(all.pool, &second->call));
	sem_post(&all.gate);
	assert_int_equal(blocking_wait(all.pool, both, 2, 0), 0);
	assert_true(blocking_is_done(all.pool, &first->call) && blocking_is_done(all.pool, &second->call));
	blocking_put(all.pool, &first->call);
	blocking_put(all.pool, &second->call);
}

/* A call is stuck after PATIENCE without an answer of any device, and after MOST in any case. */
CASE_WITH(answers_extend_patience, set_up, tear_down)
{
	struct work *w = hang(1);
	assert_int_equal(wait_now(w), -ETIME);
	let_pass(CLOCK_MONOTONIC, PATIENCE - 40);
	answer(2);
	let_pass(CLOCK_MONOTONIC, 40);
	assert_int_equal(wait_now(w), -ETIME);
	/* A call that asks no device does not count as an answer. */
	answer(0);
	let_pass(CLOCK_MONOTONIC, PATIENCE - 41);
	assert_int_equal(wait_now(w), -ETIME);
	let_pass(CLOCK_MONOTONIC, 1);
	assert_int_equal(wait_now(w), -ETIMEDOUT);
	answer(2);
	assert_int_equal(wait_now(w), -ETIME);
	let_pass(CLOCK_MONOTONIC, MOST - 2 * PATIENCE + 40 - 1);
	answer(2);
	assert_int_equal(wait_now(w), -ETIME);
	let_pass(CLOCK_MONOTONIC, 1);
	answer(2);
	assert_int_equal(wait_now(w), -ETIMEDOUT);
	/* Only its own device is avoided, however often. */
	for (unsigned i = 0; i < 2 * BLOCKING_THREADS; i++) {
		struct work *again = work(1, NULL);
		assert_int_equal(blocking_run(all.pool, &again->call), 0);
		assert_int_equal(again->asked, -ETIMEDOUT);
		blocking_put(all.pool, &again->call);
		answer(3);
	}
	/* Its answer ends that. */
	blocking_get(all.pool, &w->call);
	sem_post(&all.gate);
	while (!blocking_is_done(all.pool, &w->call))
		sched_yield();
	answer(1);
	unsigned before = freed();
	blocking_put(all.pool, &w->call);
	assert_int_equal(freed(), before);
	blocking_put(all.pool, &w->call);
	while (freed() == before)
		sched_yield();
}

/* What a call asked is answered when the call is done, though its thread hangs while it frees the call. */
CASE_WITH(a_call_that_is_freed_asks_nothing, set_up, tear_down)
{
	struct work *w = work(2, NULL);
	w->alone = true;
	assert_int_equal(blocking_start(all.pool, &w->call), 0);
	while (sem_wait(&all.freeing) < 0)
		;
	let_pass(CLOCK_MONOTONIC, PATIENCE);
	answer(2);
}

/* Once hung devices occupy all threads, calls fail at once, until a device answers. */
CASE_WITH(stuck_threads_are_bounded, set_up, tear_down)
{
	struct work *stuck[BLOCKING_THREADS], *more = work(99, NULL);
	for (unsigned i = 0; i < BLOCKING_THREADS; i++)
		stuck[i] = hang(i + 1);
	let_pass(CLOCK_MONOTONIC, PATIENCE);
	assert_int_equal(blocking_start(all.pool, &more->call), -EAGAIN);
	for (unsigned i = 0; i < BLOCKING_THREADS; i++) {
		sem_post(&all.gate);
		blocking_put(all.pool, &stuck[i]->call);
	}
	while (blocking_start(all.pool, &more->call) < 0)
		sched_yield();
	while (!blocking_is_done(all.pool, &more->call))
		sched_yield();
	assert_int_equal(more->asked, 0);
	blocking_put(all.pool, &more->call);
}

CASE_WITH(the_queue_is_freed_with_the_pool, set_up, tear_down)
{
	struct work *stuck[BLOCKING_THREADS], *queued[3];
	for (unsigned i = 0; i < BLOCKING_THREADS; i++)
		stuck[i] = hang(i + 1);
	for (unsigned i = 0; i < 3; i++) {
		queued[i] = work(0, NULL);
		assert_int_equal(blocking_start(all.pool, &queued[i]->call), 0);
		assert_int_equal(wait_now(queued[i]), -ETIME);
	}
	let_pass(CLOCK_MONOTONIC, PATIENCE);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(wait_now(queued[i]), -ETIMEDOUT);
		blocking_put(all.pool, &queued[i]->call);
	}
	struct work *more = work(0, NULL);
	assert_int_equal(blocking_run(all.pool, &more->call), -ETIMEDOUT);
	blocking_put(all.pool, &more->call);
	assert_int_equal(freed(), 1);
	for (unsigned i = 0; i < BLOCKING_THREADS; i++)
		blocking_put(all.pool, &stuck[i]->call);
	blocking_pool_close(all.pool);
	blocking_pool_put(all.pool);
	all.pool = NULL;
	assert_int_equal(freed(), 4);
	for (unsigned i = 0; i < BLOCKING_THREADS; i++)
		sem_post(&all.gate);
	while (freed() < 4 + BLOCKING_THREADS)
		sched_yield();
}

RUN_CASES(NULL, NULL)
