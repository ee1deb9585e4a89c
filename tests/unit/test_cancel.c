/* SPDX-License-Identifier: MIT */
/* cancel: one thread's work can be cancelled without the others'. */
#include "cases.h"
#include "sessionfs/base/cancel.h"

#include <pthread.h>

static bool is_true(void *arg)
{
	return *(const bool *)arg;
}

static void *check(void *arg)
{
	*(int *)arg = cancel_check();
	return NULL;
}

CASE(check_returns_eintr_when_cancelled)
{
	bool asked = false;
	const struct cancel cancel = {.is_cancelled = is_true, .arg = &asked};
	assert_int_equal(cancel_check(), 0);
	assert_null(cancel_set(&cancel));
	assert_int_equal(cancel_check(), 0);
	asked = true;
	assert_int_equal(cancel_check(), -EINTR);
	assert_ptr_equal(cancel_set(NULL), &cancel);
	assert_int_equal(cancel_check(), 0);
}

CASE(cancel_is_per_thread)
{
	bool asked = true;
	const struct cancel cancel = {.is_cancelled = is_true, .arg = &asked};
	pthread_t thread;
	int rc = -1;
	cancel_set(&cancel);
	assert_int_equal(pthread_create(&thread, NULL, check, &rc), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(rc, 0);
	assert_int_equal(cancel_check(), -EINTR);
	cancel_set(NULL);
}

RUN_CASES(NULL, NULL)
