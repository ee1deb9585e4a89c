/* SPDX-License-Identifier: MIT */
/* The test includes the module, to make its allocations fail. */
#include "cases.h"

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

/* What an item of four bytes takes. */
#define EACH (sizeof(struct cache_item) + 4)

static struct budget budget;

static struct view text(const char *s)
{
	struct view v = {.bytes = BUF_INIT};
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
	assert_int_equal(view_size(v), strlen(s));
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

static void close_cache(struct cache **c)
{
	cache_close(*c);
}
#define CLEANUP_CACHE CLEANUP(close_cache)

CASE(finds_by_node_and_serial)
{
	struct cache *c CLEANUP_CACHE = open_cache(1 << 20);
	assert_null(cache_get(c, 7, 1));
	put(c, 7, 1, "seven");
	put(c, 8, 1, "");
	assert_true(holds(c, 7, 1, "seven"));
	assert_true(holds(c, 8, 1, ""));
	assert_null(cache_get(c, 9, 1));
}

/* Views of one file at different times share a body: each has its own front, length and back. */
CASE(views_share_a_growing_body)
{
	struct cache *c CLEANUP_CACHE = open_cache(1 << 20);
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct view v = text("front ");
	v.body = body_new();
	assert_non_null(v.body);
	buf_adds(&v.body->bytes, "one ");
	v.body_n = v.body->bytes.n;
	buf_adds(&v.back, "back");
	const struct view *kept = cache_put(c, 7, 1, &v);
	assert_null(v.body);
	assert_null(cache_get(c, 7, 2));
	struct body *body = cache_get_body(c, 7);
	assert_ptr_equal(body, kept->body);
	for (int i = 0; i < 10000; i++)
		buf_adds(&body->bytes, "two ");
	struct view later = text("longer front ");
	later.body = body;
	later.body_n = 8;
	const struct view *next = cache_put(c, 7, 2, &later);
	view_read(kept, 0, 100, &out);
	assert_string_equal(buf_cstr(&out), "front one back");
	assert_int_equal(view_size(kept), out.n);
	buf_reset(&out);
	view_read(next, 7, SIZE_MAX, &out);
	assert_string_equal(buf_cstr(&out), "front one two ");
	for (uint64_t off = 0; off <= view_size(kept) + 1; off++) {
		buf_reset(&out);
		view_read(kept, off, 3, &out);
		size_t left = off < 14 ? 14 - (size_t)off : 0;
		assert_int_equal(out.n, left < 3 ? left : 3);
		if (out.n > 0)
			assert_memory_equal(out.p, "front one back" + off, out.n);
	}
	cache_release(c, kept);
	cache_release(c, next);
	assert_null(cache_get_body(c, 8));
	put(c, 7, 3, "a view without a body");
	assert_null(cache_get_body(c, 7));
}

CASE(drops_a_view_of_another_serial)
{
	struct cache *c CLEANUP_CACHE = open_cache(1 << 20);
	put(c, 7, 1, "old");
	assert_null(cache_get(c, 7, 2));
	assert_int_equal(cache_used(c), 0);
	put(c, 7, 2, "new");
	put(c, 7, 3, "newer");
	assert_true(holds(c, 7, 3, "newer"));
}

CASE(evicts_the_least_recently_used)
{
	struct cache *c CLEANUP_CACHE = open_cache(VIEW_SHARE * EACH);
	for (node_t n = 1; n <= VIEW_SHARE; n++)
		use(c, n, "aaaa");
	assert_int_equal(cache_used(c), VIEW_SHARE * EACH);
	assert_true(holds(c, 1, 1, "aaaa"));
	use(c, 20, "dddd");
	assert_false(holds(c, 2, 1, "aaaa"));
	assert_true(holds(c, 1, 1, "aaaa"));
	assert_true(holds(c, 3, 1, "aaaa"));
	assert_true(holds(c, 20, 1, "dddd"));
	assert_int_equal(cache_used(c), VIEW_SHARE * EACH);
}

CASE(big_value_evicts_several)
{
	struct cache *c CLEANUP_CACHE = open_cache(16 * EACH);
	char large[EACH + 5] = "";
	memset(large, 'x', EACH + 4);
	for (node_t n = 1; n <= 16; n++)
		use(c, n, "aaaa");
	use(c, 20, large);
	assert_false(holds(c, 1, 1, "aaaa"));
	assert_false(holds(c, 2, 1, "aaaa"));
	assert_true(holds(c, 3, 1, "aaaa"));
	assert_true(cache_used(c) <= cache_budget(c)->limit);
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

CASE(oldest_client_is_evicted_first)
{
	struct cache *c CLEANUP_CACHE = open_cache(8 * EACH);
	struct other o;
	for (node_t n = 1; n <= 4; n++)
		use(c, n, "aaaa");
	join(&o, 4 * EACH, budget_clock());
	use(c, 5, "cccc");
	assert_false(o.is_cancelled);
	assert_null(cache_get(c, 1, 1));
	for (node_t n = 2; n <= 4; n++)
		assert_true(holds(c, n, 1, "aaaa"));
	/* Now the other client has the least recently used object. */
	use(c, 6, "dddd");
	assert_true(o.is_cancelled);
	assert_true(holds(c, 5, 1, "cccc"));
	budget_unregister(&budget, &o.keeper);
}

/* Another client can evict nothing and is over the limit alone: the cache keeps its share, and always its last used
 * item. */
CASE(cache_keeps_minimum_share)
{
	struct cache *c CLEANUP_CACHE = open_cache(8 * BUDGET_OWN * EACH / 2);
	struct other o;
	join(&o, cache_budget(c)->limit * 2, BUDGET_NOTHING);
	for (node_t n = 1; n <= 20; n++)
		use(c, n, "aaaa");
	assert_int_equal(cache_used(c), 4 * EACH);
	assert_true(holds(c, 17, 1, "aaaa"));
	assert_true(holds(c, 20, 1, "aaaa"));
	char large[8 * EACH + 1] = "";
	memset(large, 'x', 8 * EACH);
	use(c, 30, large);
	/* It counts as an eighth of the budget: two others stay. */
	assert_int_equal(c->count, 3);
	budget_unregister(&budget, &o.keeper);
}

CASE(view_in_use_survives_eviction)
{
	struct cache *c CLEANUP_CACHE = open_cache(sizeof(struct cache_item) + 16);
	struct view v = text("held");
	const struct view *held = cache_put(c, 1, 1, &v);
	for (node_t n = 2; n <= 2 + VIEW_SHARE; n++)
		use(c, n, "other");
	assert_null(cache_get(c, 1, 1));
	assert_true(span_is(buf_span(&held->bytes), "held"));
	cache_release(c, held);
	assert_true(holds(c, 2 + VIEW_SHARE, 1, "other"));
}

/* Two texts that are each larger than the budget stay while they are read in turns. */
CASE(large_views_stay_while_in_use)
{
	char large[8192] = "";
	memset(large, 'x', sizeof large - 1);
	struct cache *c CLEANUP_CACHE = open_cache(4096);
	put(c, 1, 1, large);
	put(c, 2, 1, large);
	for (node_t i = 0; i < 100; i++) {
		assert_true(holds(c, 1, 1, large));
		assert_true(holds(c, 2, 1, large));
		use(c, 10 + i, "small");
	}
	assert_true(cache_used(c) <= cache_budget(c)->limit);
	for (node_t i = 3; i < 3 + VIEW_SHARE; i++)
		put(c, i, 1, large);
	assert_null(cache_get(c, 1, 1));
}

CASE(counts_arrays)
{
	struct cache *c CLEANUP_CACHE = open_cache(1 << 20);
	struct view v = {.n = 3, .item = sizeof(uint32_t)};
	v.ends = calloc(3, sizeof *v.ends);
	v.items = calloc(3, v.item);
	v.ends[2] = 30;
	const struct view *kept = cache_put(c, 1, 1, &v);
	assert_null(v.ends);
	assert_int_equal(kept->ends[2], 30);
	assert_int_equal(cache_used(c), sizeof(struct cache_item) + 3 * 12);
	cache_release(c, kept);
}

CASE(concurrent_put_returns_first_view)
{
	struct cache *c CLEANUP_CACHE = open_cache(1 << 20);
	struct view a = text("same"), b = text("same");
	const struct view *first = cache_put(c, 1, 1, &a);
	const struct view *second = cache_put(c, 1, 1, &b);
	assert_ptr_equal(first, second);
	assert_null(b.bytes.p);
	cache_release(c, first);
	cache_release(c, second);
	assert_true(holds(c, 1, 1, "same"));
}

CASE(many_values_are_found)
{
	enum { N = 20000 };
	struct cache *c CLEANUP_CACHE = open_cache(SIZE_MAX);
	for (unsigned i = 0; i < 2 * N; i++) {
		node_t node = node_pack((struct node){.kind = 5, .slot = 3, .entry = i % N});
		char s[16];
		snprintf(s, sizeof s, "%u", i % N);
		if (i < N)
			put(c, node, 1, s);
		else
			assert_true(holds(c, node, 1, s));
	}
	assert_true(c->buckets >= N);
}

CASE(survives_without_memory)
{
	struct cache *c CLEANUP_CACHE = NULL;
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
}

CASE(null_arguments_are_ignored)
{
	struct cache *c CLEANUP_CACHE = open_cache(0);
	put(c, 1, 1, "never kept");
	assert_null(cache_get(c, 1, 1));
	cache_release(c, NULL);
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

CASE(threads_share_it)
{
	struct cache *c CLEANUP_CACHE = open_cache(50 * sizeof(struct cache_item));
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, c), 0);
	for (int i = 0; i < 4; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(cache_used(c) <= cache_budget(c)->limit);
}

CASE(sizes_survive_eviction)
{
	uint64_t size = 0;
	struct cache *c CLEANUP_CACHE = open_cache(4096);
	for (node_t node = 1; node <= 100; node++) {
		struct view v = {.bytes = BUF_INIT};
		buf_addf(&v.bytes, "%*d", (int)(1000 + node), 1);
		cache_release(c, cache_put(c, node, 7, &v));
		budget_enforce(&budget);
	}
	assert_null(cache_get(c, 50, 7));
	assert_true(cache_size(c, 50, 7, &size));
	assert_int_equal(size, 1050);
	assert_false(cache_size(c, 50, 8, &size));
	assert_false(cache_size(c, 101, 7, &size));
}

RUN_CASES(NULL, NULL)
