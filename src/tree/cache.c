/* SPDX-License-Identifier: MIT */
/* A hash table finds views by node, and a list orders them by last use. Eviction only removes a view from both; its
 * last release frees it. So a reader never waits for memory, and the budget limits cached views, not views in use.
 *
 * A large view is read in many pieces, and rendering it for each piece would be quadratic. So no view counts as more
 * than a share of the budget: several large views in use stay.
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
struct known_size {
	node_t node;
	uint64_t serial, size;
};

struct cache {
	struct lock lock;
	struct budget *budget;
	struct budget_client client;
	struct known_size *sizes; /* one for each hash, newest only; NULL if out of memory */
	size_t count, buckets;    /* buckets: a power of two */
	struct cache_item **table;
	struct cache_item *newest, *oldest; /* by last use */
};

#define FIRST_BUCKETS LIMIT(256, 2)
#define CACHE_SIZES ((size_t)LIMIT(1 << 16, 4))
/* A view counts as at most this fraction of the budget. */
#define VIEW_SHARE 8

struct body *body_new(void)
{
	struct body *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	lock_init(&b->lock, LOCK_CACHE);
	atomic_init(&b->refs, 1);
	b->totals = (struct render_totals)TOTALS_INIT;
	return b;
}

void body_put(struct body *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
		return;
	buf_release(&b->bytes);
	lock_destroy(&b->lock);
	free(b);
}

void view_release(struct view *v)
{
	buf_release(&v->bytes);
	buf_release(&v->back);
	body_put(v->body);
	free(v->ends);
	free(v->items);
	*v = (struct view){0};
}

/* Appends a part of a text, and moves *off and *n to the rest. */
static void view_read_part(struct span part, uint64_t *off, size_t *n, struct buf *out)
{
	size_t before = out->n;
	buf_add_slice(out, part, *off, *n);
	*n -= out->n - before;
	*off -= *off < part.n ? *off : part.n;
}

void view_read(const struct view *v, uint64_t off, size_t n, struct buf *out)
{
	view_read_part(buf_span(&v->bytes), &off, &n, out);
	if (v->body) {
		LOCKED(&v->body->lock);
		view_read_part((struct span){v->body->bytes.p, (size_t)v->body_n}, &off, &n, out);
	}
	view_read_part(buf_span(&v->back), &off, &n, out);
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
		if (!s->view.body)
			cache_drop(c, s);
		return NULL;
	}
	cache_list_remove(c, s);
	cache_list_push(c, s);
	s->refs++;
	return &s->view;
}

struct body *cache_get_body(struct cache *c, node_t node)
{
	LOCKED(&c->lock);
	const struct cache_item *s = *cache_find_item(c, node);
	struct body *body = s ? s->view.body : NULL;
	if (body)
		atomic_fetch_add(&body->refs, 1);
	return body;
}

static struct known_size *cache_size_entry(struct cache *c, node_t node)
{
	return &c->sizes[cache_bucket(node, CACHE_SIZES)];
}

bool cache_size(struct cache *c, node_t node, uint64_t serial, uint64_t *ret)
{
	if (!c->sizes)
		return false;
	LOCKED(&c->lock);
	const struct known_size *s = cache_size_entry(c, node);
	if (s->node != node || s->serial != serial)
		return false;
	*ret = s->size;
	return true;
}

/* Returns the memory of a buf, and an eighth more for the gaps that the allocator leaves. First frees the unused end of
 * a buf that grew by doubling, since it would count against the budget. */
static size_t buf_shrink(struct buf *b)
{
	char *p = b->n && !b->file ? realloc(b->p, b->n) : NULL;
	if (p) {
		b->p = p;
		b->cap = b->n;
	}
	return buf_memory(b) + buf_memory(b) / 8;
}

static size_t view_cost(struct view *v)
{
	size_t cap = v->cap > v->n ? v->cap : v->n;
	size_t each = (v->ends ? sizeof *v->ends : 0) + (v->items ? v->item : 0);
	size_t bytes = buf_shrink(&v->bytes) + buf_shrink(&v->back) + cap * each;
	if (!v->body)
		return bytes;
	LOCKED(&v->body->lock);
	return bytes + sizeof *v->body + buf_shrink(&v->body->bytes);
}

const struct view *cache_put(struct cache *c, node_t node, uint64_t serial, struct view *v)
{
	struct cache_item *s = calloc(1, sizeof *s);
	if (!s) {
		view_release(v);
		return NULL;
	}
	size_t cost = sizeof *s + view_cost(v), most = c->budget->limit / VIEW_SHARE;
	*s = (struct cache_item){
	    .view = *v, .node = node, .serial = serial, .refs = 1, .cost = cost < most ? cost : most};
	*v = (struct view){0};

	LOCKED(&c->lock);
	if (c->sizes)
		*cache_size_entry(c, node) = (struct known_size){node, serial, view_size(&s->view)};
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
