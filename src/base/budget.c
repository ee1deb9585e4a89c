/* SPDX-License-Identifier: MIT */
/* There are few clients, each with its own lock, so none is needed here. The counts are atomic; a slightly stale one
 * evicts one object too many or too few. */
#include "sessionfs/base/budget.h"
#include "sessionfs/base/clock.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/sys.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Three quarters of the limit can be reserved, because some objects are in use. This is the lowest effective limit. */
#define BUDGET_MIN ((size_t)32 << 20)
#define CLAIM_WAIT_NS 2000000

/* The system gets free memory back each time this many bytes were evicted. */
#define MALLOC_TRIM_BYTES ((size_t)8 << 20)

void budget_register(struct budget *b, struct budget_client *k)
{
	k->next = b->clients;
	b->clients = k;
}

void budget_unregister(struct budget *b, struct budget_client *k)
{
	struct budget_client **at = &b->clients;
	while (*at && *at != k)
		at = &(*at)->next;
	if (*at)
		*at = k->next;
}

uint64_t budget_clock(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC) + 1;
}

size_t budget_used(const struct budget *b)
{
	size_t sum = atomic_load_explicit(&b->reserved, memory_order_relaxed);
	for (const struct budget_client *k = b->clients; k; k = k->next)
		sum += atomic_load_explicit(&k->used, memory_order_relaxed);
	return sum;
}

/* Returns the client that must evict next, or NULL. */
static struct budget_client *next_to_evict(const struct budget *b)
{
	struct budget_client *found = NULL;
	uint64_t oldest = BUDGET_NOTHING;
	for (struct budget_client *k = b->clients; k; k = k->next) {
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

void budget_enforce(struct budget *b)
{
	struct budget_client *k;
	size_t before = budget_used(b);
	if (before <= b->limit)
		return;
	while (budget_used(b) > b->limit && (k = next_to_evict(b)))
		k->evict(k->arg);
	size_t after = budget_used(b), less = after < before ? before - after : 0;
	if (less == 0 || atomic_fetch_add_explicit(&b->evicted, less, memory_order_relaxed) + less < MALLOC_TRIM_BYTES)
		return;
	atomic_store_explicit(&b->evicted, 0, memory_order_relaxed);
#ifdef __GLIBC__
	/* Evicted objects are scattered among cached ones, so the allocator keeps their memory: over days the process
	 * would grow much larger than its caches. */
	malloc_trim(0);
#endif
}

int budget_reserve(struct budget *b, size_t bytes)
{
	const struct timespec moment = {.tv_nsec = CLAIM_WAIT_NS};
	size_t limit = (b->limit > BUDGET_MIN ? b->limit : BUDGET_MIN) / 4 * 3, claimed = atomic_load(&b->reserved);
	bool waits = false;
	int rc = 0;
	while (rc == 0) {
		if (claimed && claimed + bytes > limit) {
			rc = waits ? cancel_check() : cancel_wait_begin();
			waits |= rc == 0;
			if (rc == 0)
				sys_nanosleep(&moment, NULL);
			claimed = atomic_load(&b->reserved);
		} else if (atomic_compare_exchange_weak(&b->reserved, &claimed, claimed + bytes)) {
			break;
		}
	}
	if (waits)
		cancel_wait_end();
	if (rc == 0)
		budget_enforce(b);
	return rc;
}

void budget_unreserve(struct budget *b, size_t bytes)
{
	atomic_fetch_sub(&b->reserved, bytes);
}
