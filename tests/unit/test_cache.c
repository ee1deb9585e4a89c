/* SPDX-License-Identifier: MIT */
/* The test includes the module, to make its allocations fail. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

static int calls_until_failure = -1;

static void *failing_calloc(size_t n, size_t size)
{
	if (calls_until_failure == 0)
		return NULL;
	if (calls_until_failure > 0)
		calls_until_failure--;
	return calloc(n, size);
}

#define calloc failing_calloc
#include "../../src/tree/cache.c"
#undef calloc

static struct budget budget;

static struct view text(const char *s)
{
	struct view v = {.size = strlen(s)};
	buf_adds(&v.bytes, s);
	return v;
}

static void put(struct cache *c, node_t node, uint64_t serial, const char *s)
{
	struct view v = text(s);
	const struct view *kept = cache_put(c, node, serial, &v);
	assert_non_null(kept);
	cache_release(c, kept);
	budget_enforce(&budget);
}

static bool holds(struct cache *c, node_t node, uint64_t serial, const char *s)
{
	const struct view *v = cache_get(c, node, serial);
	if (!v)
		return false;
	assert_int_equal(v->size, strlen(s));
	assert_true(span_is(buf_span(&v->bytes), s));
	cache_release(c, v);
	return true;
}

/* Puts the item and reads it. */
static void use(struct cache *c, node_t node, const char *s)
{
	put(c, node, 1, s);
	assert_true(holds(c, node, 1, s));
}

static struct cache *open_cache(size_t limit)
{
	struct cache *c = NULL;
	budget = (struct budget)BUDGET_INIT(limit);
	assert_int_equal(cache_open(&budget, &c), 0);
	assert_int_equal(cache_budget(c)->limit, limit);
	return c;
}

static void finds_by_node_and_serial(void **state)
{
	(void)state;
	struct cache *c = open_cache(1 << 20);
	assert_null(cache_get(c, 7, 1));
	put(c, 7, 1, "seven");
	put(c, 8, 1, "");
	assert_true(holds(c, 7, 1, "seven"));
	assert_true(holds(c, 8, 1, ""));
	assert_null(cache_get(c, 9, 1));
	cache_close(c);
}

static void extendable_view_can_be_detached(void **state)
{
	(void)state;
	struct cache *c = open_cache(1 << 20);
	struct view v = {.size = 9, .n = 2, .ends = calloc(2, sizeof *v.ends), .more = calloc(1, 8)}, got;
	assert_non_null(v.ends);
	v.ends[1] = 9;
	const struct view *kept = cache_put(c, 7, 1, &v);
	assert_null(cache_get(c, 7, 2));
	/* Not while it has a reference. */
	assert_false(cache_detach(c, 7, &got));
	cache_release(c, kept);
	assert_true(cache_detach(c, 7, &got));
	assert_int_equal(got.n, 2);
	assert_int_equal(got.ends[1], 9);
	assert_int_equal(cache_used(c), 0);
	assert_null(cache_get(c, 7, 1));
	assert_false(cache_detach(c, 7, &v));
	view_release(&got);
	cache_close(c);
}

static void drops_a_view_of_another_serial(void **state)
{
	(void)state;
	struct cache *c = open_cache(1 << 20);
	put(c, 7, 1, "old");
	assert_null(cache_get(c, 7, 2));
	assert_int_equal(cache_used(c), 0);
	put(c, 7, 2, "new");
	put(c, 7, 3, "newer");
	assert_true(holds(c, 7, 3, "newer"));
	cache_close(c);
}

static void evicts_the_least_recently_used(void **state)
{
	(void)state;
	size_t each = sizeof(struct cache_item) + 4;
	struct cache *c = open_cache(3 * each);
	use(c, 1, "aaaa");
	use(c, 2, "bbbb");
	use(c, 3, "cccc");
	assert_int_equal(cache_used(c), 3 * each);
	assert_true(holds(c, 1, 1, "aaaa"));
	use(c, 4, "dddd");
	assert_false(holds(c, 2, 1, "bbbb"));
	assert_true(holds(c, 1, 1, "aaaa"));
	assert_true(holds(c, 3, 1, "cccc"));
	assert_true(holds(c, 4, 1, "dddd"));
	assert_int_equal(cache_used(c), 3 * each);
	cache_close(c);
}

static void big_value_evicts_several(void **state)
{
	(void)state;
	size_t each = sizeof(struct cache_item) + 4;
	struct cache *c = open_cache(3 * each);
	use(c, 1, "aaaa");
	use(c, 2, "bbbb");
	use(c, 3, "cccc");
	use(c, 4, "longer than four bytes");
	assert_false(holds(c, 1, 1, "aaaa"));
	assert_false(holds(c, 2, 1, "bbbb"));
	assert_true(holds(c, 3, 1, "cccc"));
	assert_true(cache_used(c) <= cache_budget(c)->limit);
	cache_close(c);
}

/* ---- with another client ---- */

struct other {
	struct budget_client keeper;
	uint64_t used_at;
	bool is_cancelled;
};

static uint64_t other_oldest(void *arg)
{
	const struct other *o = arg;
	return o->used_at;
}

static void other_evicts(void *arg)
{
	struct other *o = arg;
	o->is_cancelled = true;
	o->keeper.used = 0;
	o->used_at = BUDGET_NOTHING;
}

static void join(struct other *o, size_t used, uint64_t used_at)
{
	*o = (struct other){.used_at = used_at};
	o->keeper = (struct budget_client){.used = used, .oldest = other_oldest, .evict = other_evicts, .arg = o};
	budget_register(&budget, &o->keeper);
}

static void oldest_client_is_evicted_first(void **state)
{
	(void)state;
	size_t each = sizeof(struct cache_item) + 4;
	struct cache *c = open_cache(4 * each);
	struct other o;
	use(c, 1, "aaaa");
	use(c, 2, "bbbb");
	join(&o, 2 * each, budget_clock());
	use(c, 3, "cccc");
	assert_false(o.is_cancelled);
	assert_null(cache_get(c, 1, 1));
	assert_true(holds(c, 2, 1, "bbbb"));
	/* Now the cache has the least recently used item. */
	use(c, 4, "dddd");
	assert_true(o.is_cancelled);
	assert_true(holds(c, 3, 1, "cccc"));
	budget_unregister(&budget, &o.keeper);
	cache_close(c);
}

/* Another client can evict nothing and is over the limit alone: the cache keeps its share, and always its last used
 * item. */
static void cache_keeps_minimum_share(void **state)
{
	(void)state;
	size_t each = sizeof(struct cache_item) + 4;
	struct cache *c = open_cache(8 * BUDGET_OWN * each / 2);
	struct other o;
	join(&o, cache_budget(c)->limit * 2, BUDGET_NOTHING);
	for (node_t n = 1; n <= 20; n++)
		use(c, n, "aaaa");
	assert_int_equal(cache_used(c), 4 * each);
	assert_true(holds(c, 17, 1, "aaaa"));
	assert_true(holds(c, 20, 1, "aaaa"));
	char large[1024] = "";
	memset(large, 'x', 8 * each < sizeof large ? 8 * each : sizeof large - 1);
	use(c, 30, large);
	assert_int_equal(c->count, 1);
	budget_unregister(&budget, &o.keeper);
	cache_close(c);
}

static void view_in_use_survives_eviction(void **state)
{
	(void)state;
	struct cache *c = open_cache(sizeof(struct cache_item) + 16);
	struct view v = text("held");
	const struct view *held = cache_put(c, 1, 1, &v);
	use(c, 2, "other");
	assert_null(cache_get(c, 1, 1));
	assert_true(span_is(buf_span(&held->bytes), "held"));
	cache_release(c, held);
	assert_true(holds(c, 2, 1, "other"));
	cache_close(c);
}

static void newest_view_stays_over_budget(void **state)
{
	(void)state;
	struct cache *c = open_cache(sizeof(struct cache_item) + 4);
	put(c, 1, 1, "keep");
	put(c, 2, 1, "too big to keep");
	assert_true(holds(c, 2, 1, "too big to keep"));
	assert_true(holds(c, 1, 1, "keep"));
	assert_true(cache_used(c) <= cache_budget(c)->limit);

	struct view v = text("another, made twice");
	const struct view *held = cache_put(c, 3, 1, &v);
	assert_null(cache_get(c, 2, 1));
	put(c, 3, 1, "another, made twice");
	assert_true(holds(c, 3, 1, "another, made twice"));
	for (uint64_t n = 0; n <= BIG_AGE; n++)
		put(c, 1, n, "keep");
	assert_null(cache_get(c, 3, 1));
	assert_true(span_is(buf_span(&held->bytes), "another, made twice"));
	cache_release(c, held);
	put(c, 4, 1, "closed while it is kept");
	cache_close(c);
}

static void counts_arrays(void **state)
{
	(void)state;
	struct cache *c = open_cache(1 << 20);
	struct view v = {.size = 30, .n = 3, .item = sizeof(uint32_t)};
	v.ends = calloc(3, sizeof *v.ends);
	v.items = calloc(3, v.item);
	v.ends[2] = 30;
	const struct view *kept = cache_put(c, 1, 1, &v);
	assert_null(v.ends);
	assert_int_equal(kept->ends[2], 30);
	assert_int_equal(cache_used(c), sizeof(struct cache_item) + 3 * 12);
	cache_release(c, kept);
	cache_close(c);
}

static void concurrent_put_returns_first_view(void **state)
{
	(void)state;
	struct cache *c = open_cache(1 << 20);
	struct view a = text("same"), b = text("same");
	const struct view *first = cache_put(c, 1, 1, &a);
	const struct view *second = cache_put(c, 1, 1, &b);
	assert_ptr_equal(first, second);
	assert_null(b.bytes.p);
	cache_release(c, first);
	cache_release(c, second);
	assert_true(holds(c, 1, 1, "same"));
	cache_close(c);
}

static void many_values_are_found(void **state)
{
	(void)state;
	enum { N = 20000 };
	struct cache *c = open_cache(SIZE_MAX);
	for (unsigned i = 0; i < N; i++) {
		char s[16];
		snprintf(s, sizeof s, "%u", i);
		put(c, node_pack((struct node){.kind = 5, .slot = 3, .entry = i}), 1, s);
	}
	for (unsigned i = 0; i < N; i++) {
		char s[16];
		snprintf(s, sizeof s, "%u", i);
		assert_true(holds(c, node_pack((struct node){.kind = 5, .slot = 3, .entry = i}), 1, s));
	}
	assert_true(c->buckets >= N);
	cache_close(c);
}

static void survives_without_memory(void **state)
{
	(void)state;
	struct cache *c = NULL;
	calls_until_failure = 0;
	assert_int_equal(cache_open(&budget, &c), -ENOMEM);
	calls_until_failure = 1;
	assert_int_equal(cache_open(&budget, &c), -ENOMEM);
	assert_null(budget.clients);
	assert_null(c);
	calls_until_failure = -1;

	c = open_cache(1 << 20);
	struct view v = text("lost");
	calls_until_failure = 0;
	assert_null(cache_put(c, 1, 1, &v));
	assert_null(v.bytes.p);
	calls_until_failure = -1;

	for (node_t i = 1; i <= FIRST_BUCKETS; i++)
		put(c, i, 1, "x");
	calls_until_failure = 1; /* the item, not the bigger table */
	put(c, FIRST_BUCKETS + 1, 1, "y");
	calls_until_failure = -1;
	assert_int_equal(c->buckets, FIRST_BUCKETS);
	assert_true(holds(c, FIRST_BUCKETS + 1, 1, "y"));
	assert_true(holds(c, 1, 1, "x"));
	cache_close(c);
}

static void null_arguments_are_ignored(void **state)
{
	(void)state;
	struct cache *c = open_cache(0);
	put(c, 1, 1, "never kept");
	assert_null(cache_get(c, 1, 1));
	cache_release(c, NULL);
	cache_close(c);
	cache_close(NULL);
}

static void *churn(void *arg)
{
	struct cache *c = arg;
	for (uint64_t i = 0; i < 20000; i++) {
		node_t node = i % 97 + 1;
		const struct view *v = cache_get(c, node, i / 5000);
		if (!v) {
			struct view made = text("value");
			v = cache_put(c, node, i / 5000, &made);
		}
		if (!v || !span_is(buf_span(&v->bytes), "value"))
			return c;
		cache_release(c, v);
		budget_enforce(&budget);
	}
	return NULL;
}

static void threads_share_it(void **state)
{
	(void)state;
	struct cache *c = open_cache(50 * sizeof(struct cache_item));
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, c), 0);
	for (int i = 0; i < 4; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(cache_used(c) <= cache_budget(c)->limit);
	cache_close(c);
}

static void sizes_survive_eviction(void **state)
{
	uint64_t size = 0;

	(void)state;
	struct cache *c = open_cache(4096);
	for (node_t node = 1; node <= 100; node++) {
		struct view v = {.bytes = BUF_INIT, .size = node * 10};
		buf_addf(&v.bytes, "%1000d", 1);
		cache_release(c, cache_put(c, node, 7, &v));
		budget_enforce(&budget);
	}
	assert_null(cache_get(c, 50, 7));
	assert_true(cache_size(c, 50, 7, &size));
	assert_int_equal(size, 500);
	assert_false(cache_size(c, 50, 8, &size));
	assert_false(cache_size(c, 101, 7, &size));
	cache_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sizes_survive_eviction),
	    cmocka_unit_test(finds_by_node_and_serial),
	    cmocka_unit_test(extendable_view_can_be_detached),
	    cmocka_unit_test(drops_a_view_of_another_serial),
	    cmocka_unit_test(evicts_the_least_recently_used),
	    cmocka_unit_test(big_value_evicts_several),
	    cmocka_unit_test(oldest_client_is_evicted_first),
	    cmocka_unit_test(cache_keeps_minimum_share),
	    cmocka_unit_test(view_in_use_survives_eviction),
	    cmocka_unit_test(newest_view_stays_over_budget),
	    cmocka_unit_test(counts_arrays),
	    cmocka_unit_test(concurrent_put_returns_first_view),
	    cmocka_unit_test(many_values_are_found),
	    cmocka_unit_test(survives_without_memory),
	    cmocka_unit_test(null_arguments_are_ignored),
	    cmocka_unit_test(threads_share_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
