/* SPDX-License-Identifier: MIT */
/* parallel: runs each item once, on several threads, on behalf of the caller. */
#include "cases.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/sys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MANY 10000

struct work {
	_Atomic unsigned done[MANY];
	_Atomic size_t calls;
	size_t bad; /* which item fails, with `rc` or a deferred error */
	int rc, deferred;
	_Atomic bool asked;
};

/* No thread can be created. */
static bool refused;

static int make_thread(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	return refused ? EAGAIN : pthread_create(t, a, fn, arg);
}

__typeof__(pthread_create) *const sys_pthread_create = make_thread;

static int do_one(void *arg, size_t i)
{
	struct work *w = arg;
	atomic_fetch_add(&w->done[i], 1);
	atomic_fetch_add(&w->calls, 1);
	if (i != w->bad)
		return 0;
	deferred_set(w->deferred);
	return w->rc;
}

static struct work *work_new(void)
{
	static struct work w;
	memset(&w, 0, sizeof w);
	w.bad = MANY;
	return &w;
}

CASE(each_index_runs_once)
{
	const size_t counts[] = {0, 1, 2, 3, MANY};
	for (size_t k = 0; k < 2 * sizeof counts / sizeof *counts; k++) {
		struct work *w = work_new();
		size_t n = counts[k / 2];
		refused = k % 2;
		assert_int_equal(parallel_for(n, do_one, w), 0);
		for (size_t i = 0; i < MANY; i++)
			assert_int_equal(w->done[i], i < n);
	}
	refused = false;
}

CASE(first_error_stops_loop)
{
	struct work *w = work_new();
	w->bad = 0;
	w->rc = -ENOENT;
	refused = true;
	assert_int_equal(parallel_for(MANY, do_one, w), -ENOENT);
	assert_int_equal(w->calls, 1);
	refused = false;
	w->bad = MANY - 1;
	assert_int_equal(parallel_for(MANY, do_one, w), -ENOENT);
}

/* An error deferred by any thread fails the loop; one that the caller had deferred before stays the caller's. */
CASE(deferred_errors_are_returned)
{
	struct work *w = work_new();
	w->deferred = -EIO;
	deferred_set(-ENOMEM);
	for (size_t bad = 0; bad < 8; bad++) {
		w->bad = bad;
		assert_int_equal(parallel_for(8, do_one, w), -EIO);
	}
	assert_int_equal(deferred_take(0), -ENOMEM);
}

static bool is_cancelled(void *arg)
{
	return atomic_load((_Atomic bool *)arg);
}

static int ask(void *arg, size_t i)
{
	struct work *w = arg;
	atomic_fetch_add(&w->calls, 1);
	if (i == 0)
		atomic_store(&w->asked, true);
	while (cancel_check() == 0)
		;
	return 0;
}

/* The threads see that the caller is cancelled, and start no more items. */
CASE(cancelled_caller_starts_no_work)
{
	struct work *w = work_new();
	const struct cancel cancel = {.is_cancelled = is_cancelled, .arg = &w->asked};
	cancel_set(&cancel);
	assert_int_equal(parallel_for(MANY, ask, w), -EINTR);
	assert_true(w->calls <= PARALLEL_THREADS_MAX);
	cancel_set(NULL);
}

RUN_CASES(NULL, NULL)
