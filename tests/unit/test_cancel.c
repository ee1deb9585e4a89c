/* SPDX-License-Identifier: MIT */
/* cancel: each thread's work can be ended, and only that. */
#include "sessionfs/base/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_true(void *arg)
{
	return *(const bool *)arg;
}

static void *check(void *arg)
{
	*(int *)arg = cancel_check();
	return NULL;
}

static void ends_when_asked(void **state)
{
	(void)state;
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

static void leaves_other_threads_alone(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ends_when_asked),
	    cmocka_unit_test(leaves_other_threads_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
