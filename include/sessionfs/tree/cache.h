/* SPDX-License-Identifier: MIT */
/* cache: rendered views by (node, serial), within a budget that caches can share. It evicts least recently used views
 * first. A view is immutable and reference-counted: an evicted view lives until its last release. Thread-safe. */
#ifndef SESSIONFS_CACHE_H
#define SESSIONFS_CACHE_H

#include "sessionfs/base/budget.h"
#include "sessionfs/base/buf.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/node.h"
#include "sessionfs/render/producer.h"

#include <stdatomic.h>

struct cache;

/* The segments of a view, one after the other. Bytes are only appended, so views of one file at different times share a
 * body. */
struct body {
	struct lock lock; /* guards the rest; never held together with another one of its rank */
	atomic_uint refs;
	struct buf bytes;
	struct render_totals totals; /* the state after these bytes (views.c), as are the rest */
	size_t n;                    /* number of segments */
	uint32_t last;               /* entry of the last segment */
	uint32_t entries, relinks;   /* of the session */
};
/* Returns an empty body, or NULL if out of memory. */
struct body *body_new(void);
/* Drops one reference. */
void body_put(struct body *b);

/* A text: `bytes`, the first body_n bytes of `body` if it is set, and `back`. Or a list, with or without bytes. */
struct view {
	struct buf bytes, back;
	struct body *body;
	uint64_t body_n;
	/* Two arrays of n elements, with space for `cap`. Either can be NULL. */
	uint64_t *ends; /* where each part ends */
	void *items;
	size_t n, cap, item; /* item: size of one item in bytes */
};

static inline uint64_t view_size(const struct view *v)
{
	return v->bytes.n + v->body_n + v->back.n;
}

/* Appends up to n bytes of the text from `off` on. */
void view_read(const struct view *v, uint64_t off, size_t n, struct buf *out);
/* Frees what the view owns; it is then empty. */
void view_release(struct view *v);

/* The budget outlives the cache. */
int cache_open(struct budget *budget, struct cache **ret);
void cache_close(struct cache *c);
struct budget *cache_budget(const struct cache *c);

/* Returns the view of this serial, or NULL. Drops a view of another serial if it has no body. Release with
 * cache_release. */
const struct view *cache_get(struct cache *c, node_t node, uint64_t serial);

/* Returns the body of the node's view, whatever its serial, or NULL. Release with body_put. */
struct body *cache_get_body(struct cache *c, node_t node);

/* Returns the size of the view of this serial if it is still known; its bytes can be evicted already. */
bool cache_size(struct cache *c, node_t node, uint64_t serial, uint64_t *ret);

/* Takes ownership of *v and returns a view to be released with cache_release. Returns NULL if out of memory (v is
 * freed). A view counts as at most an eighth of the budget, so that several large ones in use stay; with a budget of 0
 * none stays. This function does not evict, since the caller can hold locks: the next budget_enforce does. */
const struct view *cache_put(struct cache *c, node_t node, uint64_t serial, struct view *v);

void cache_release(struct cache *c, const struct view *v);
size_t cache_used(const struct cache *c);

#endif
