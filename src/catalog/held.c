/* SPDX-License-Identifier: MIT */
/* The open indexes: a list by last use. When there are too many, or the budget is exceeded, the
 * least recently used index that nobody holds is dropped. The one used last always stays,
 * whatever its size. */
#include "held.h"

#include "sessionfs/base/limits.h"

#include <sys/resource.h>

/* Each index keeps a file open. A small limit must leave some descriptors for others and a few for each request. */
#define OPEN_MAX LIMIT(512, 3)
#define OTHERS 16

void held_close(struct held *h)
{
	if (h->session)
		session_close(h->session);
	free(h);
}

void held_unlink(struct open_indexes *o, struct held *h)
{
	*(h->newer ? &h->newer->older : &o->newest) = h->older;
	*(h->older ? &h->older->newer : &o->oldest) = h->newer;
	h->newer = h->older = NULL;
}

void held_link_newest(struct open_indexes *o, struct held *h)
{
	h->used_at = budget_now();
	h->newer = NULL;
	h->older = o->newest;
	*(o->newest ? &o->newest->newer : &o->oldest) = h;
	o->newest = h;
}

void held_set_memory(struct catalog *c, struct held *h, size_t memory)
{
	atomic_fetch_add(&c->open.keeper.used, memory - h->memory);
	h->memory = memory;
}

/* Those that somebody holds were used last: few stand before it. */
struct held *held_of(const struct open_indexes *o, const struct session *s)
{
	struct held *h = o->newest;
	while (h && h->session != s)
		h = h->older;
	return h;
}

void held_remove(struct catalog *c, struct held *h)
{
	struct open_indexes *o = &c->open;

	held_unlink(o, h);
	o->count--;
	held_set_memory(c, h, 0);
	if (!h->forgotten) {
		c->slots[h->slot].trace = h->trace;
		c->slots[h->slot].held = NULL;
	}
}

/* The index to be dropped next, or NULL. */
static struct held *held_dispensable(const struct open_indexes *o)
{
	struct held *h = o->oldest;
	while (h && h->refs)
		h = h->newer;
	return h && h->newer ? h : NULL;
}

struct held *held_take_surplus(struct catalog *c)
{
	struct held *out = NULL, *h;

	while (c->open.count > c->open.most && (h = held_dispensable(&c->open))) {
		held_remove(c, h);
		h->older = out;
		out = h;
	}
	return out;
}

void held_close_all(struct held *h)
{
	while (h) {
		struct held *next = h->older;
		held_close(h);
		h = next;
	}
}

static uint64_t held_oldest_use(void *arg)
{
	struct catalog *c = arg;

	lock_take(&c->lock);
	const struct held *h = held_dispensable(&c->open);
	uint64_t at = h ? h->used_at : BUDGET_NOTHING;
	lock_give(&c->lock);
	return at;
}

static void held_give_way(void *arg)
{
	struct catalog *c = arg;

	lock_take(&c->lock);
	struct held *h = held_dispensable(&c->open);
	if (h)
		held_remove(c, h);
	lock_give(&c->lock);
	if (h)
		held_close(h);
}

void open_indexes_init(struct catalog *c)
{
	struct open_indexes *o = &c->open;

	hash_key_draw(&o->secret);
	lock_cond_init(&o->opened);
	struct rlimit limit;
	o->most = OPEN_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2 * OPEN_MAX + OTHERS)
		o->most = limit.rlim_cur > OTHERS + 2 ? (size_t)(limit.rlim_cur - OTHERS) / 2 : 1;
	o->keeper = (struct keeper){.oldest = held_oldest_use, .give_way = held_give_way, .arg = c};
	budget_join(c->budget, &o->keeper);
}

void open_indexes_release(struct catalog *c)
{
	struct open_indexes *o = &c->open;

	budget_leave(c->budget, &o->keeper);
	while (o->newest) {
		struct held *h = o->newest;
		o->newest = h->older;
		held_close(h);
	}
	pthread_cond_destroy(&o->opened);
}

off_t open_indexes_seen(const struct catalog *c, uint32_t slot)
{
	const struct slot *s = &c->slots[slot];
	return s->held && !s->held->opening ? s->held->size : (off_t)s->trace.size;
}

void open_indexes_forget(struct catalog *c, uint32_t slot)
{
	struct held *h = c->slots[slot].held;
	if (!h)
		return;
	c->slots[slot].held = NULL;
	h->forgotten = true;
	if (h->refs)
		return;
	held_remove(c, h);
	held_close(h);
}

void held_put(struct catalog *c, struct held *h)
{
	if (--h->refs || !h->forgotten)
		return;
	held_remove(c, h);
	held_close(h);
}
