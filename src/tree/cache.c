/* SPDX-License-Identifier: MIT */
/* A hash table finds views by node, and a list orders them by last use. Eviction only removes a view from both; its
 * last release frees it. So a reader never waits for memory, and the budget limits cached views, not views in use.
 *
 * A view larger than the budget is read in many pieces like any other, and rendering it for each piece would be
 * quadratic. So the newest such view stays in addition to the others, while it is in use.
 *
 * One mutex guards everything: it is held for a few pointer moves, never while a view is rendered. If two threads
 * render the same view, the second one gets the view of the first from cache_put. */
#include "sessionfs/tree/cache.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/lock.h"

struct cache_item {
	struct view view; /* first: a view has the address of its item */
	node_t node;
	uint64_t serial;
	size_t cost;
	unsigned refs;
	bool is_cached;   /* in the table and the list */
	uint64_t used_at; /* budget_clock */
	struct cache_item *chain;
	struct cache_item *newer, *older;
};

/* The size of a view. It outlives the bytes, so that another stat does not render the view again. */
struct view_size {
	node_t node;
	uint64_t serial, size;
};

struct cache {
	struct lock lock;
	struct budget *budget;
	struct budget_client client;
	struct view_size *sizes;      /* one for each hash, newest only; NULL if out of memory */
	struct cache_item *oversized; /* the newest view larger than the budget; its cost is 0 */
	unsigned oversized_age;       /* views put since its last use */
	size_t count, buckets;        /* buckets: a power of two */
	struct cache_item **table;
	struct cache_item *newest, *oldest; /* by last use */
};

#define FIRST_BUCKETS LIMIT(256, 2)
#define CACHE_SIZES ((size_t)LIMIT(1 << 16, 4))
#define BIG_AGE LIMIT(64, 2)

void view_release(struct view *v)
{
	buf_release(&v->bytes);
	cleanup_free(&v->ends);
	cleanup_free(&v->items);
	cleanup_free(&v->more);
}

static void item_free(struct cache_item *s)
{
	view_release(&s->view);
	free(s);
}

static size_t cache_bucket(node_t node, size_t buckets)
{
	return (size_t)hash_word(node) & (buckets - 1);
}

static struct cache_item **cache_find_item(struct cache *c, node_t node)
{
	struct cache_item **at = &c->table[cache_bucket(node, c->buckets)];
	while (*at && (*at)->node != node)
		at = &(*at)->chain;
	return at;
}

static void cache_list_remove(struct cache *c, struct cache_item *s)
{
	*(s->newer ? &s->newer->older : &c->newest) = s->older;
	*(s->older ? &s->older->newer : &c->oldest) = s->newer;
}

static void cache_list_push(struct cache *c, struct cache_item *s)
{
	s->newer = NULL;
	s->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = s;
	c->newest = s;
	s->used_at = budget_clock();
}

static void cache_drop(struct cache *c, struct cache_item *s)
{
	*cache_find_item(c, s->node) = s->chain;
	cache_list_remove(c, s);
	if (s == c->oversized)
		c->oversized = NULL;
	c->count--;
	atomic_fetch_sub(&c->client.used, s->cost);
	s->is_cached = false;
	if (s->refs == 0)
		item_free(s);
}

/* If out of memory, the chains just get longer. */
static void cache_grow_table(struct cache *c)
{
	size_t buckets = c->buckets * 2;
	struct cache_item **table = calloc(buckets, sizeof(struct cache_item *));
	if (!table)
		return;
	for (size_t i = 0; i < c->buckets; i++) {
		for (struct cache_item *s = c->table[i], *next; s; s = next) {
			struct cache_item **head = &table[cache_bucket(s->node, buckets)];
			next = s->chain;
			s->chain = *head;
			*head = s;
		}
	}
	free(c->table);
	c->table = table;
	c->buckets = buckets;
}

/* The view used last is never evicted. */
static uint64_t cache_oldest_use(void *arg)
{
	struct cache *c = arg;
	LOCKED(&c->lock);
	return c->oldest != c->newest ? c->oldest->used_at : BUDGET_NOTHING;
}

static void cache_evict(void *arg)
{
	struct cache *c = arg;
	LOCKED(&c->lock);
	if (c->oldest != c->newest)
		cache_drop(c, c->oldest);
}

int cache_open(struct budget *budget, struct cache **ret)
{
	struct cache *c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->table = calloc(FIRST_BUCKETS, sizeof(struct cache_item *));
	if (!c->table) {
		free(c);
		return -ENOMEM;
	}
	lock_init(&c->lock, LOCK_CACHE);
	/* The kernel allocates its pages on first use. */
	c->sizes = budget->limit ? calloc(CACHE_SIZES, sizeof *c->sizes) : NULL;
	c->budget = budget;
	c->buckets = FIRST_BUCKETS;
	c->client = (struct budget_client){.oldest = cache_oldest_use, .evict = cache_evict, .arg = c};
	budget_register(budget, &c->client);
	*ret = c;
	return 0;
}

void cache_close(struct cache *c)
{
	if (!c)
		return;
	budget_unregister(c->budget, &c->client);
	while (c->oldest)
		cache_drop(c, c->oldest);
	lock_destroy(&c->lock);
	free(c->sizes);
	free(c->table);
	free(c);
}

struct budget *cache_budget(const struct cache *c)
{
	return c->budget;
}

const struct view *cache_get(struct cache *c, node_t node, uint64_t serial)
{
	LOCKED(&c->lock);
	struct cache_item *s = *cache_find_item(c, node);
	if (!s)
		return NULL;
	if (s->serial != serial) {
		if (!s->view.more)
			cache_drop(c, s);
		return NULL;
	}
	cache_list_remove(c, s);
	cache_list_push(c, s);
	if (s == c->oversized)
		c->oversized_age = 0;
	s->refs++;
	return &s->view;
}

bool cache_detach(struct cache *c, node_t node, struct view *ret)
{
	LOCKED(&c->lock);
	struct cache_item *s = *cache_find_item(c, node);
	if (!s || s->refs > 0)
		return false;
	*ret = s->view;
	s->view = (struct view){.bytes = BUF_INIT};
	cache_drop(c, s);
	return true;
}

static struct view_size *cache_size_entry(struct cache *c, node_t node)
{
	return &c->sizes[cache_bucket(node, CACHE_SIZES)];
}

bool cache_size(struct cache *c, node_t node, uint64_t serial, uint64_t *ret)
{
	if (!c->sizes)
		return false;
	LOCKED(&c->lock);
	const struct view_size *s = cache_size_entry(c, node);
	if (s->node != node || s->serial != serial)
		return false;
	*ret = s->size;
	return true;
}

const struct view *cache_put(struct cache *c, node_t node, uint64_t serial, struct view *v)
{
	struct cache_item *s = calloc(1, sizeof *s);
	if (!s) {
		view_release(v);
		*v = (struct view){0};
		return NULL;
	}
	/* The unused end of a buf that grew by doubling would count against the budget. */
	char *p = v->bytes.n && !v->bytes.file ? realloc(v->bytes.p, v->bytes.n) : NULL;
	if (p) {
		v->bytes.p = p;
		v->bytes.cap = v->bytes.n;
	}
	/* An eighth for the gaps that the allocator leaves. */
	size_t cap = v->cap > v->n ? v->cap : v->n, bytes = buf_memory(&v->bytes);
	size_t each = (v->ends ? sizeof *v->ends : 0) + (v->items ? v->item : 0);
	*s = (struct cache_item){.view = *v, .node = node, .serial = serial, .refs = 1};
	s->cost = sizeof *s + bytes + bytes / 8 + cap * each;
	*v = (struct view){0};

	LOCKED(&c->lock);
	if (c->sizes)
		*cache_size_entry(c, node) = (struct view_size){node, serial, s->view.size};
	if (c->oversized && c->oversized->node != node && ++c->oversized_age > BIG_AGE)
		cache_drop(c, c->oversized);
	struct cache_item *old = *cache_find_item(c, node);
	if (old && old->serial == serial) {
		item_free(s);
		old->refs++;
		return &old->view;
	}
	if (old)
		cache_drop(c, old);
	if (c->budget->limit == 0)
		return &s->view;
	if (s->cost > c->budget->limit) {
		if (c->oversized)
			cache_drop(c, c->oversized);
		c->oversized = s;
		c->oversized_age = 0;
		s->cost = 0;
	}
	if (c->count >= c->buckets)
		cache_grow_table(c);
	struct cache_item **head = &c->table[cache_bucket(node, c->buckets)];
	s->chain = *head;
	*head = s;
	cache_list_push(c, s);
	s->is_cached = true;
	c->count++;
	atomic_fetch_add(&c->client.used, s->cost);
	return &s->view;
}

void cache_release(struct cache *c, const struct view *v)
{
	if (!v)
		return;
	LOCKED(&c->lock);
	struct cache_item *s = (struct cache_item *)(uintptr_t)v;
	if (--s->refs == 0 && !s->is_cached)
		item_free(s);
}

size_t cache_used(const struct cache *c)
{
	return atomic_load(&c->client.used);
}
