/* Keepers are few and each has its own lock, so there is none here: their counts are atomic, and a look at them that is
 * a moment old lets one thing more or less go. */
#include "sessionfs/budget.h"

#include <time.h>

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
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + 1;
}

size_t budget_used(const struct budget *b)
{
	size_t sum = 0;
	for (const struct keeper *k = b->keepers; k; k = k->next)
		sum += atomic_load_explicit(&k->used, memory_order_relaxed);
	return sum;
}

/* Whose turn it is, or NULL. */
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
	while (budget_used(b) > b->limit && (k = next_to_give(b)))
		k->give_way(k->arg);
}
