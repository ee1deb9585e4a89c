/* Views are found by node in a hash table and ordered by last use in a list. A view lives as long as somebody holds it:
 * eviction only takes it out of the table, the last release frees it. So a reader never waits for memory, and the
 * budget bounds what is kept for later, not what is in use now.
 *
 * Many views are made for their size, and read later: `grep -r` and the shell's `*` look at all names before the first
 * file is read. If the oldest view were evicted first, each would be gone when its reader comes. So for a minute views
 * that nobody has read are evicted last, and the newest of them first: as many as fit are made only once.
 *
 * A view larger than the budget is read in many pieces like any other, and making it for each piece would be quadratic.
 * So the newest one is kept beside the others, as long as it is in use.
 *
 * One mutex guards everything: it is held for a few pointer moves, never while a view is made. If two threads make the
 * same view, the second one gets the first one's from cache_put. */
#include "sessionfs/tree/cache.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/lock.h"

struct item {
	struct view view; /* first: a view that was handed out is its item */
	node_t node;
	uint64_t serial;
	size_t cost;
	unsigned refs;
	bool kept; /* in the table and a list, or the big one */
	bool is_read;
	uint64_t used_at; /* budget_now */
	struct item *chain;
	struct item *newer, *older;
};

/* The size of a view. It is kept longer than the bytes, so that another stat does not make the view again. */
struct size {
	node_t node;
	uint64_t serial, size;
};

/* By last use. */
struct order {
	struct item *newest, *oldest;
};

struct cache {
	struct lock lock;
	struct budget *budget;
	struct keeper keeper;
	struct size *sizes;    /* one for each hash: a newer one replaces it; NULL without memory */
	struct item *big;      /* the newest one larger than the budget, in no list */
	unsigned big_age;      /* views put since it was used last */
	size_t count, buckets; /* buckets is a power of two */
	struct item **table;
	struct order read, unread;
	const struct item *last; /* used last: never evicted; compared, not dereferenced */
};

#define FIRST_BUCKETS LIMIT(256, 2)
#define SIZES ((size_t)LIMIT(1 << 16, 4))
#define BIG_AGE LIMIT(64, 2)
#define WAIT_NS (UINT64_C(1000000000) * LIMIT(60, 1))

void view_release(struct view *v)
{
	buf_release(&v->bytes);
	cleanup_free(&v->ends);
	cleanup_free(&v->items);
	cleanup_free(&v->more);
}

static void item_free(struct item *s)
{
	view_release(&s->view);
	free(s);
}

static size_t bucket_of(node_t node, size_t buckets)
{
	return hash_word(node) & (buckets - 1);
}

static struct item **find_item(struct cache *c, node_t node)
{
	struct item **at = &c->table[bucket_of(node, c->buckets)];
	while (*at && (*at)->node != node)
		at = &(*at)->chain;
	return at;
}

static struct order *order_of(struct cache *c, const struct item *s)
{
	return s->is_read ? &c->read : &c->unread;
}

static void list_remove(struct cache *c, struct item *s)
{
	struct order *o = order_of(c, s);
	*(s->newer ? &s->newer->older : &o->newest) = s->older;
	*(s->older ? &s->older->newer : &o->oldest) = s->newer;
}

static void list_push(struct cache *c, struct item *s)
{
	struct order *o = order_of(c, s);
	s->newer = NULL;
	s->older = o->newest;
	*(o->newest ? &o->newest->newer : &o->oldest) = s;
	o->newest = s;
	s->used_at = budget_now();
	c->last = s;
}

/* Takes the item at this place of its chain out of the cache. */
static void drop(struct cache *c, struct item **at)
{
	struct item *s = *at;
	*at = s->chain;
	list_remove(c, s);
	c->count--;
	atomic_fetch_sub(&c->keeper.used, s->cost);
	s->kept = false;
	if (s->refs == 0)
		item_free(s);
}

static void drop_big(struct cache *c)
{
	struct item *s = c->big;
	c->big = NULL;
	if (!s)
		return;
	s->kept = false;
	if (s->refs == 0)
		item_free(s);
}

static bool is_big(const struct cache *c, node_t node, uint64_t serial)
{
	return c->big && c->big->node == node && c->big->serial == serial;
}

static const struct view *use_big(struct cache *c)
{
	c->big_age = 0;
	c->big->refs++;
	return &c->big->view;
}

/* Without memory the chains just get longer. */
static void grow_table(struct cache *c)
{
	size_t buckets = c->buckets * 2;
	struct item **table = calloc(buckets, sizeof(struct item *));
	if (!table)
		return;
	for (size_t i = 0; i < c->buckets; i++) {
		for (struct item *s = c->table[i], *next; s; s = next) {
			struct item **head = &table[bucket_of(s->node, buckets)];
			next = s->chain;
			s->chain = *head;
			*head = s;
		}
	}
	free(c->table);
	c->table = table;
	c->buckets = buckets;
}

static void keep(struct cache *c, struct item *s)
{
	if (c->count >= c->buckets)
		grow_table(c);
	struct item **head = &c->table[bucket_of(s->node, c->buckets)];
	s->chain = *head;
	*head = s;
	list_push(c, s);
	s->kept = true;
	c->count++;
	atomic_fetch_add(&c->keeper.used, s->cost);
}

/* ---- eviction ---- */

static bool has_waited(const struct item *s)
{
	return budget_now() - s->used_at > WAIT_NS;
}

/* The one to be evicted next, or NULL. */
static struct item *dispensable(const struct cache *c)
{
	struct item *read = c->read.oldest, *unread = c->unread.oldest;
	if (unread && !has_waited(unread))
		unread = NULL;
	if (read == c->last)
		read = NULL;
	if (read && (!unread || read->used_at < unread->used_at))
		return read;
	if (!unread)
		unread = c->unread.newest;
	return unread && unread == c->last ? unread->older : unread;
}

static uint64_t oldest_use(void *arg)
{
	struct cache *c = arg;
	LOCKED(&c->lock);
	const struct item *s = dispensable(c);
	if (!s)
		return BUDGET_NOTHING;
	return s->is_read || has_waited(s) ? s->used_at : BUDGET_LAST;
}

static void give_way(void *arg)
{
	struct cache *c = arg;
	LOCKED(&c->lock);
	struct item *s = dispensable(c);
	if (s)
		drop(c, find_item(c, s->node));
}

/* ---- */

int cache_open(struct budget *budget, struct cache **ret)
{
	struct cache *c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->table = calloc(FIRST_BUCKETS, sizeof(struct item *));
	if (!c->table) {
		free(c);
		return -ENOMEM;
	}
	lock_init(&c->lock, LOCK_CACHE);
	/* Its pages come as they are used. */
	c->sizes = budget->limit ? calloc(SIZES, sizeof *c->sizes) : NULL;
	c->budget = budget;
	c->buckets = FIRST_BUCKETS;
	c->keeper = (struct keeper){.oldest = oldest_use, .give_way = give_way, .arg = c};
	budget_join(budget, &c->keeper);
	*ret = c;
	return 0;
}

void cache_close(struct cache *c)
{
	if (!c)
		return;
	budget_leave(c->budget, &c->keeper);
	while (c->read.oldest)
		drop(c, find_item(c, c->read.oldest->node));
	while (c->unread.oldest)
		drop(c, find_item(c, c->unread.oldest->node));
	drop_big(c);
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
	if (is_big(c, node, serial))
		return use_big(c);
	struct item **at = find_item(c, node), *s = *at;
	if (!s)
		return NULL;
	if (s->serial != serial) {
		if (!s->view.more)
			drop(c, at);
		return NULL;
	}
	list_remove(c, s);
	s->is_read = true;
	list_push(c, s);
	s->refs++;
	return &s->view;
}

bool cache_take(struct cache *c, node_t node, struct view *ret)
{
	LOCKED(&c->lock);
	bool is_the_big = c->big && c->big->node == node;
	struct item **at = find_item(c, node), *s = is_the_big ? c->big : *at;
	if (!s || s->refs > 0)
		return false;
	*ret = s->view;
	s->view = (struct view){.bytes = BUF_INIT};
	if (is_the_big)
		drop_big(c);
	else
		drop(c, at);
	return true;
}

static struct size *size_of(struct cache *c, node_t node)
{
	return &c->sizes[bucket_of(node, SIZES)];
}

bool cache_size(struct cache *c, node_t node, uint64_t serial, uint64_t *ret)
{
	if (!c->sizes)
		return false;
	LOCKED(&c->lock);
	const struct size *s = size_of(c, node);
	if (s->node != node || s->serial != serial)
		return false;
	*ret = s->size;
	return true;
}

/* The unused end of a buf that grew by doubling would count against the budget. */
static void trim_buf(struct buf *b)
{
	char *p = b->n && !b->file ? realloc(b->p, b->n) : NULL;
	if (!p)
		return;
	b->p = p;
	b->cap = b->n;
}

/* The memory of a view, plus an eighth for the gaps that the allocator leaves. */
static size_t cost_of(const struct view *v)
{
	size_t room = v->room > v->n ? v->room : v->n,
	       each = (v->ends ? sizeof *v->ends : 0) + (v->items ? v->item : 0);
	return sizeof(struct item) + buf_memory(&v->bytes) + buf_memory(&v->bytes) / 8 + room * each;
}

const struct view *cache_put(struct cache *c, node_t node, uint64_t serial, struct view *v)
{
	struct item *s = calloc(1, sizeof *s);
	if (!s) {
		view_release(v);
		*v = (struct view){0};
		return NULL;
	}
	trim_buf(&v->bytes);
	s->view = *v;
	*v = (struct view){0};
	s->node = node;
	s->serial = serial;
	s->cost = cost_of(&s->view);
	s->refs = 1;

	LOCKED(&c->lock);
	if (c->sizes)
		*size_of(c, node) = (struct size){node, serial, s->view.size};
	if (is_big(c, node, serial)) {
		item_free(s);
		return use_big(c);
	}
	if (++c->big_age > BIG_AGE)
		drop_big(c);
	struct item **at = find_item(c, node);
	if (*at && (*at)->serial == serial) {
		item_free(s);
		s = *at;
		s->refs++;
		return &s->view;
	}
	if (*at)
		drop(c, at);
	if (c->budget->limit == 0)
		return &s->view;
	if (s->cost > c->budget->limit) {
		drop_big(c);
		s->kept = true;
		c->big = s;
		c->big_age = 0;
		return &s->view;
	}
	keep(c, s);
	return &s->view;
}

void cache_release(struct cache *c, const struct view *v)
{
	if (!v)
		return;
	LOCKED(&c->lock);
	struct item *s = (struct item *)(uintptr_t)v;
	if (--s->refs == 0 && !s->kept)
		item_free(s);
}

size_t cache_used(const struct cache *c)
{
	return atomic_load(&c->keeper.used);
}
