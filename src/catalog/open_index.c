/* SPDX-License-Identifier: MIT */
/* The open indexes: a list by last use. If there are too many, or the budget is exceeded, the least recently used index
 * without a reference is evicted. The last one used always stays, whatever its size. */
#include "open_index.h"

#include "sessionfs/base/limits.h"

#include <sys/resource.h>

/* Each index keeps a file open. A small limit must leave some descriptors for others and a few for each request. */
#define OPEN_INDEXES_MAX LIMIT(512, 3)
#define SPARE_FILES 16

void open_index_unlink(struct open_indexes *o, struct open_index *x)
{
	*(x->newer ? &x->newer->older : &o->newest) = x->older;
	*(x->older ? &x->older->newer : &o->oldest) = x->newer;
	x->newer = x->older = NULL;
}

void open_index_link_newest(struct open_indexes *o, struct open_index *x)
{
	x->used_at = budget_clock();
	x->newer = NULL;
	x->older = o->newest;
	*(o->newest ? &o->newest->newer : &o->oldest) = x;
	o->newest = x;
}

void open_index_set_memory(struct catalog *c, struct open_index *x, size_t memory)
{
	atomic_fetch_add(&c->open.keeper.used, memory - x->as_of.memory);
	x->as_of.memory = memory;
}

/* Indexes in use come first in the list. */
struct open_index *open_index_of(const struct open_indexes *o, const struct session *s)
{
	struct open_index *x = o->newest;
	while (x && x->session != s)
		x = x->older;
	return x;
}

/* Removes an index from the list and its slot. It must have no references. */
static void open_index_remove(struct catalog *c, struct open_index *x)
{
	struct open_indexes *o = &c->open;

	open_index_unlink(o, x);
	o->count--;
	open_index_set_memory(c, x, 0);
	if (!open_index_is_forgotten(c, x)) {
		c->slots[x->slot].trace = x->as_of.trace;
		c->slots[x->slot].index = NULL;
	}
}

/* Returns the index to evict next, or NULL. */
static struct open_index *open_index_find_unused(const struct open_indexes *o)
{
	struct open_index *x = o->oldest;
	while (x && x->refs)
		x = x->newer;
	return x && x->newer ? x : NULL;
}

struct open_index *open_indexes_detach_surplus(struct catalog *c)
{
	struct open_index *out = NULL, *x;

	while (c->open.count > c->open.most && (x = open_index_find_unused(&c->open))) {
		open_index_remove(c, x);
		x->older = out;
		out = x;
	}
	return out;
}

void open_index_close_all(struct open_index *x)
{
	while (x) {
		struct open_index *next = x->older;
		if (x->session)
			session_close(x->session);
		free(x);
		x = next;
	}
}

static uint64_t open_index_oldest_use(void *arg)
{
	struct catalog *c = arg;

	lock_acquire(&c->lock);
	const struct open_index *x = open_index_find_unused(&c->open);
	uint64_t at = x ? x->used_at : BUDGET_NOTHING;
	lock_release(&c->lock);
	return at;
}

static void open_index_evict(void *arg)
{
	struct catalog *c = arg;

	lock_acquire(&c->lock);
	struct open_index *x = open_index_find_unused(&c->open);
	if (x)
		open_index_remove(c, x);
	lock_release(&c->lock);
	open_index_close_all(x);
}

void open_indexes_init(struct catalog *c)
{
	struct open_indexes *o = &c->open;

	lock_cond_init(&o->opened);
	struct rlimit limit;
	o->most = OPEN_INDEXES_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2 * OPEN_INDEXES_MAX + SPARE_FILES)
		o->most = limit.rlim_cur > SPARE_FILES + 2 ? (size_t)(limit.rlim_cur - SPARE_FILES) / 2 : 1;
	o->keeper = (struct budget_client){.oldest = open_index_oldest_use, .evict = open_index_evict, .arg = c};
	budget_register(c->budget, &o->keeper);
}

void open_indexes_release(struct catalog *c)
{
	struct open_indexes *o = &c->open;

	budget_unregister(c->budget, &o->keeper);
	open_index_close_all(o->newest);
	pthread_cond_destroy(&o->opened);
}

off_t open_indexes_known_size(const struct catalog *c, uint32_t slot)
{
	const struct slot *s = &c->slots[slot];
	return s->index && !s->index->opening ? s->index->as_of.size : (off_t)s->trace.end;
}

void open_indexes_forget(struct catalog *c, uint32_t slot)
{
	struct open_index *x = c->slots[slot].index;
	if (!x)
		return;
	c->slots[slot].index = NULL;
	x->refs++;
	open_index_put(c, x);
}

void open_index_put(struct catalog *c, struct open_index *x)
{
	if (--x->refs || !open_index_is_forgotten(c, x))
		return;
	open_index_remove(c, x);
	open_index_close_all(x);
}
