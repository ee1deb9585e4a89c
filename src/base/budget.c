/* SPDX-License-Identifier: MIT */
/* Few keepers, each with its own lock, so no lock here. The counts are atomic; if one is slightly stale, one thing too
 * many or too few is evicted. */
#include "sessionfs/base/budget.h"
#include "sessionfs/base/clock.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/sys.h"

#include <malloc.h>

/* Three quarters of the limit can be claimed, because some kept things are in use. A lower limit counts as this one. */
#define LEAST_LIMIT ((size_t)32 << 20)
#define CLAIM_WAIT_NS 2000000

/* Free memory goes back to the system each time this many bytes were evicted. */
#define GIVE_BACK ((size_t)8 << 20)

void budget_join(struct budget *b, struct keeper *k)
{
	k->next = b->keepers;
	b->keepers = k;
}

void budget_leave(struct budget *b, struct keeper *k)
{
	struct keeper **at = &b->keepers;
	while (*at && *at != k)
		at = &(*at)->next;
	if (*at)
		*at = k->next;
}

uint64_t budget_now(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC) + 1;
}

size_t budget_used(const struct budget *b)
{
	size_t sum = atomic_load_explicit(&b->claimed, memory_order_relaxed);
	for (const struct keeper *k = b->keepers; k; k = k->next)
		sum += atomic_load_explicit(&k->used, memory_order_relaxed);
	return sum;
}

/* The keeper that has to evict next, or NULL. */
static struct keeper *next_to_give(const struct budget *b)
{
	struct keeper *found = NULL;
	uint64_t oldest = BUDGET_NOTHING;
	for (struct keeper *k = b->keepers; k; k = k->next) {
		if (atomic_load_explicit(&k->used, memory_order_relaxed) <= b->limit / BUDGET_OWN)
			continue;
		uint64_t at = k->oldest(k->arg);
		if (at >= oldest)
			continue;
		oldest = at;
		found = k;
	}
	return found;
}

void budget_settle(struct budget *b)
{
	struct keeper *k;
	size_t before = budget_used(b);
	if (before <= b->limit)
		return;
	while (budget_used(b) > b->limit && (k = next_to_give(b)))
		k->evict(k->arg);
	size_t after = budget_used(b), less = after < before ? before - after : 0;
	if (less == 0 || atomic_fetch_add_explicit(&b->let_go, less, memory_order_relaxed) + less < GIVE_BACK)
		return;
	atomic_store_explicit(&b->let_go, 0, memory_order_relaxed);
#ifdef __GLIBC__
	/* Evicted things lie between kept ones, so the allocator holds on to their memory: over days the process would
	 * grow much larger than what it keeps. */
	malloc_trim(0);
#endif
}

int budget_claim(struct budget *b, size_t bytes)
{
	const struct timespec moment = {.tv_nsec = CLAIM_WAIT_NS};
	size_t limit = (b->limit > LEAST_LIMIT ? b->limit : LEAST_LIMIT) / 4 * 3, claimed = atomic_load(&b->claimed);
	int rc = cancel_wait_begin();
	if (rc < 0)
		return rc;
	while (rc == 0) {
		if (claimed && claimed + bytes > limit) {
			rc = cancel_check();
			if (rc == 0)
				sys_nanosleep(&moment, NULL);
			claimed = atomic_load(&b->claimed);
		} else if (atomic_compare_exchange_weak(&b->claimed, &claimed, claimed + bytes)) {
			break;
		}
	}
	cancel_wait_end();
	if (rc == 0)
		budget_settle(b);
	return rc;
}

void budget_unclaim(struct budget *b, size_t bytes)
{
	atomic_fetch_sub(&b->claimed, bytes);
}
