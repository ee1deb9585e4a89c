/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "sessionfs/base/budget.h"
#include "sessionfs/base/cancel.h"

/* A client with items of one size, each with its own time of use; evicts the first one first. */
struct hoard {
	struct budget_client keeper;
	const uint64_t *times;
	size_t n, each;
};

static uint64_t oldest(void *arg)
{
	const struct hoard *h = arg;
	return h->n ? h->times[0] : BUDGET_NOTHING;
}

static void evict(void *arg)
{
	struct hoard *h = arg;
	h->times++;
	h->n--;
	h->keeper.used -= h->each;
}

static void hoard(struct budget *b, struct hoard *h, const uint64_t *times, size_t n, size_t each)
{
	*h = (struct hoard){.times = times, .n = n, .each = each};
	h->keeper = (struct budget_client){.used = n * each, .oldest = oldest, .evict = evict, .arg = h};
	budget_register(b, &h->keeper);
}

CASE(evicts_oldest_across_clients)
{
	struct budget b = BUDGET_INIT(60);
	struct hoard x, y;
	hoard(&b, &x, (const uint64_t[]){1, 4, 5, 9}, 4, 10);
	hoard(&b, &y, (const uint64_t[]){2, 3, 8}, 3, 20);
	assert_int_equal(budget_used(&b), 100);
	budget_enforce(&b);
	assert_int_equal(x.n, 3);
	assert_int_equal(y.n, 1);
	assert_int_equal(budget_used(&b), 50);
	budget_enforce(&b);
	assert_int_equal(budget_used(&b), 50);
}

/* One client can evict nothing and is over the limit alone: the other keeps its small share. */
CASE(client_keeps_minimum_share)
{
	struct budget b = BUDGET_INIT(80);
	struct hoard x, y;
	hoard(&b, &x, NULL, 0, 0);
	x.keeper.used = 1000;
	hoard(&b, &y, (const uint64_t[]){1, 2, 3, 4, 5}, 5, 5);
	budget_enforce(&b);
	assert_int_equal(y.n, 80 / BUDGET_OWN / 5);
	assert_int_equal(budget_used(&b), 1000 + 80 / BUDGET_OWN);
}

CASE(zero_limit_evicts_everything)
{
	struct budget b = BUDGET_INIT(0);
	struct hoard x;
	hoard(&b, &x, (const uint64_t[]){1, 2}, 2, 1);
	budget_enforce(&b);
	assert_int_equal(x.n, 0);
}

CASE(unregistered_client_does_not_count)
{
	struct budget b = BUDGET_INIT(10);
	struct hoard x, y, z;
	hoard(&b, &x, (const uint64_t[]){1}, 1, 10);
	hoard(&b, &y, (const uint64_t[]){2}, 1, 10);
	budget_unregister(&b, &x.keeper);
	assert_int_equal(budget_used(&b), 10);
	hoard(&b, &z, (const uint64_t[]){3}, 1, 5);
	budget_enforce(&b);
	assert_int_equal(x.n + y.n + z.n, 2);
	budget_unregister(&b, &y.keeper);
	budget_unregister(&b, &z.keeper);
	budget_unregister(&b, &z.keeper);
	assert_null(b.clients);
	budget_enforce(&b);
}

CASE(clock_is_monotonic)
{
	uint64_t before = budget_clock();
	assert_true(before > 0);
	assert_true(budget_clock() >= before);
}

static bool is_cancelled(void *arg)
{
	unsigned *looks = arg;
	return ++*looks > 3;
}

static bool no_thread(void *arg, bool begins)
{
	(void)arg;
	return !begins;
}

/* It needs no other thread if there is room. */
CASE(reservation_evicts_cached_memory)
{
	const struct cancel cancel = {.on_wait = no_thread}, *before = cancel_set(&cancel);
	struct budget b = BUDGET_INIT((size_t)64 << 20);
	struct hoard x;
	hoard(&b, &x, (const uint64_t[]){1, 2, 3}, 3, (size_t)20 << 20);
	assert_int_equal(budget_reserve(&b, (size_t)40 << 20), 0);
	assert_int_equal(x.n, 1);
	assert_int_equal(budget_reserve(&b, (size_t)40 << 20), -EAGAIN);
	cancel_set(before);
	budget_unreserve(&b, (size_t)40 << 20);
	assert_int_equal(budget_used(&b), (size_t)20 << 20);
}

CASE(reservation_waits_when_over_limit)
{
	struct budget b = BUDGET_INIT((size_t)64 << 20);
	unsigned looks = 0;
	const struct cancel cancel = {.is_cancelled = is_cancelled, .arg = &looks};
	const struct cancel *before = cancel_set(&cancel);
	/* A single client gets the whole budget. */
	assert_int_equal(budget_reserve(&b, (size_t)100 << 20), 0);
	assert_int_equal(budget_reserve(&b, 1), -EINTR);
	budget_unreserve(&b, (size_t)100 << 20);
	assert_int_equal(budget_reserve(&b, (size_t)40 << 20), 0);
	assert_int_equal(budget_reserve(&b, (size_t)8 << 20), 0);
	assert_int_equal(budget_reserve(&b, 1), -EINTR);
	cancel_set(before);
	assert_int_equal(budget_used(&b), (size_t)48 << 20);
}

RUN_CASES(NULL, NULL)
