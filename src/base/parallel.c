/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"

#include <stdatomic.h>

struct parallel {
	int (*work)(void *arg, size_t i);
	void *arg;
	size_t n;
	_Atomic size_t next; /* the next i to begin */
	_Atomic int rc;      /* the first error */
	const struct cancel *cancel;
};

/* Works until no i is left, or a call has failed. */
static void parallel_run(struct parallel *c)
{
	int before = deferred_begin();
	size_t i;
	while (atomic_load(&c->rc) == 0 && (i = atomic_fetch_add(&c->next, 1)) < c->n) {
		int none = 0, rc = cancel_check();
		if (rc == 0)
			rc = deferred_take(c->work(c->arg, i));
		if (rc < 0)
			atomic_compare_exchange_strong(&c->rc, &none, rc);
	}
	deferred_end(before, 0);
}

static void *parallel_thread_main(void *arg)
{
	struct parallel *c = arg;
	atomic_fetch_add(&process_threads_begun, 1);
	log_thread_init();
	cancel_set(c->cancel);
	parallel_run(c);
	return NULL;
}

int parallel_for(size_t n, int (*work)(void *arg, size_t i), void *arg)
{
	struct parallel c = {.work = work, .arg = arg, .n = n, .cancel = cancel_get()};
	pthread_t threads[PARALLEL_THREADS_MAX];
	size_t most = n > 1 ? sys_processors() : 1;
	size_t started = 0;
	if (most > PARALLEL_THREADS_MAX)
		most = PARALLEL_THREADS_MAX;
	while (started + 1 < most && started + 1 < n &&
	       sys_pthread_create(&threads[started], NULL, parallel_thread_main, &c) == 0)
		started++;
	parallel_run(&c);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	return atomic_load(&c.rc);
}
