/* SPDX-License-Identifier: MIT */
/* Threads that wait for an index that another thread builds. */
#include "cases.h"
#include "catalog_fixture.h"
#include "sessionfs/base/cancel.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

/* When a thread is held: at its first cancel check, or at the first one after it has waited; or in its next read. */
enum hold { NEVER, AT_FIRST, AFTER_WAIT, IN_READ };

/* A thread that gets the index; with NO_SLOT it lists all. If it is held, its cancel check blocks until the test
 * releases it. */
struct asker {
	struct source_fixture *p;
	uint32_t slot;
	enum hold hold;
	atomic_bool held, cancelled;
	bool is_waiting, has_waited; /* its own thread's */
	sem_t reached, waits, go;
	int rc;
	uint32_t count;
	pthread_t thread;
};

static bool is_cancelled(void *arg)
{
	struct asker *a = arg;
	if (!a->is_waiting && atomic_load(&a->held)) {
		sem_post(&a->reached);
		sem_wait(&a->go);
	}
	return atomic_load(&a->cancelled);
}

static bool waits(void *arg, bool begins)
{
	struct asker *a = arg;
	a->is_waiting = begins;
	if (begins) {
		/* It can wait again, for another builder, after its release. */
		if (a->hold == AFTER_WAIT && !a->has_waited)
			atomic_store(&a->held, true);
		a->has_waited = true;
		sem_post(&a->waits);
	}
	return true;
}

static _Thread_local struct asker *reader; /* that is held in its next read */

static ssize_t held_pread(int fd, void *p, size_t n, off_t off)
{
	struct asker *a = reader;
	reader = NULL;
	if (a) {
		sem_post(&a->reached);
		sem_wait(&a->go);
	}
	return pread(fd, p, n, off);
}

__typeof__(pread) *const sys_pread = held_pread;

static void *ask(void *arg)
{
	struct asker *a = arg;
	reader = a->hold == IN_READ ? a : NULL;
	const struct cancel cancel = {.is_cancelled = is_cancelled, .on_wait = waits, .arg = a};
	struct session *s;
	cancel_set(&cancel);
	a->rc = a->slot == NO_SLOT ? catalog_list_states(a->p->c, &(uint64_t){0}, NULL, NULL)
	                           : catalog_session_get(a->p->c, a->slot, &s);
	if (a->rc == 0 && a->slot != NO_SLOT) {
		a->count = session_count(s);
		catalog_session_put(a->p->c, s);
	}
	return NULL;
}

static void start(struct asker *a, struct source_fixture *p, uint32_t slot, enum hold hold)
{
	*a = (struct asker){.p = p, .slot = slot, .hold = hold, .held = hold == AT_FIRST, .rc = 1};
	sem_init(&a->reached, 0, 0);
	sem_init(&a->waits, 0, 0);
	sem_init(&a->go, 0, 0);
	assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
}

static void wait_for(sem_t *event)
{
	assert_int_equal(sem_wait(event), 0);
}

static void let_go(struct asker *a)
{
	atomic_store(&a->held, false);
	sem_post(&a->go);
}

static void assert_ends(struct asker *a, int rc)
{
	assert_int_equal(pthread_join(a->thread, NULL), 0);
	assert_int_equal(a->rc, rc);
	sem_destroy(&a->reached);
	sem_destroy(&a->waits);
	sem_destroy(&a->go);
}

enum { ENTRIES = 40000 };

static uint32_t begin(struct source_fixture *p)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	make_dir(p, "a");
	buf_adds(&text, HEADER_OF("big", "/"));
	for (int i = 0; i < ENTRIES; i++)
		buf_adds(&text, USER("x", null, "hi"));
	assert_non_null(buf_cstr(&text));
	put(p, "a/big.jsonl", text.p);
	open_place(p);
	return slot_of(p, "a", "big");
}

FIXTURE_CASE(waiter_can_be_cancelled)
{
	struct asker builder, waiter;
	uint32_t slot = begin(p);
	start(&builder, p, slot, AT_FIRST);
	wait_for(&builder.reached);
	start(&waiter, p, slot, NEVER);
	wait_for(&waiter.waits);
	atomic_store(&waiter.cancelled, true);
	assert_ends(&waiter, -EINTR);
	let_go(&builder);
	assert_ends(&builder, 0);
	assert_int_equal(builder.count, ENTRIES);
}

/* The scan of another thread. */
FIXTURE_CASE(waiter_for_a_scan_can_be_cancelled)
{
	struct asker scanner, waiters[2];
	uint32_t slot = begin(p), slots[] = {slot, NO_SLOT};
	append(p, "a/big.jsonl", USER("y", null, "hi"));
	wait_stale();
	start(&scanner, p, slot, IN_READ);
	wait_for(&scanner.reached);
	for (size_t i = 0; i < 2; i++) {
		start(&waiters[i], p, slots[i], NEVER);
		wait_for(&waiters[i].waits);
		atomic_store(&waiters[i].cancelled, true);
		assert_ends(&waiters[i], -EINTR);
	}
	let_go(&scanner);
	assert_ends(&scanner, 0);
	assert_int_equal(scanner.count, ENTRIES + 1);
}

/* One thread is cancelled; the others get the index. They continue only after it has ended: otherwise it would get
 * their index, too. */
FIXTURE_CASE(cancelled_builder_does_not_stop_others)
{
	struct asker builder, waiters[3];
	uint32_t slot = begin(p);
	start(&builder, p, slot, AT_FIRST);
	wait_for(&builder.reached);
	for (size_t i = 0; i < 3; i++)
		start(&waiters[i], p, slot, AFTER_WAIT);
	for (size_t i = 0; i < 3; i++)
		wait_for(&waiters[i].waits);
	atomic_store(&builder.cancelled, true);
	let_go(&builder);
	assert_ends(&builder, -EINTR);
	for (size_t i = 0; i < 3; i++)
		let_go(&waiters[i]);
	for (size_t i = 0; i < 3; i++) {
		assert_ends(&waiters[i], 0);
		assert_int_equal(waiters[i].count, ENTRIES);
	}
}

/* A thread reads for long while the file grows: its index does not change, and the others wait for it or are cancelled.
 */
FIXTURE_CASE(growing_waits_for_readers)
{
	struct asker others[4];
	struct session *s;
	uint32_t slot = begin(p);
	assert_int_equal(catalog_session_get(p->c, slot, &s), 0);
	append(p, "a/big.jsonl", USER("y", null, "hi"));
	wait_stale();
	for (size_t i = 0; i < 4; i++) {
		start(&others[i], p, slot, NEVER);
		wait_for(&others[i].waits);
	}
	atomic_store(&others[0].cancelled, true);
	assert_ends(&others[0], -EINTR);
	assert_int_equal(session_count(s), ENTRIES);
	catalog_session_put(p->c, s);
	for (size_t i = 1; i < 4; i++) {
		assert_ends(&others[i], 0);
		assert_int_equal(others[i].count, ENTRIES + 1);
	}
}

RUN_CASES(NULL, NULL)
