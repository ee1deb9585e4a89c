/* SPDX-License-Identifier: MIT */
/* cache: produced views by (node, serial), within a budget that may be shared. Least recently used views are evicted
 * first. A view is immutable and reference-counted: it outlives its eviction while someone holds it. Thread-safe. */
#ifndef SESSIONFS_CACHE_H
#define SESSIONFS_CACHE_H

#include "sessionfs/base/budget.h"
#include "sessionfs/base/buf.h"
#include "sessionfs/base/node.h"

struct cache;

/* Bytes, and what their maker needs beside them. The cache uses only the amount of memory they take. */
struct view {
	uint64_t size; /* of the whole; `bytes` may hold only some of it */
	struct buf bytes;
	/* Two arrays of n elements, with space for `cap`. Either may be NULL. */
	uint64_t *ends; /* where each part ends */
	void *items;
	size_t n, cap, item; /* item: the size of one item in bytes */
	/* A small malloc'ed block or NULL. A view that has one outlives its serial, for cache_detach. */
	void *more;
};

/* The budget outlives the cache. */
int cache_open(struct budget *budget, struct cache **ret);
void cache_close(struct cache *c);
struct budget *cache_budget(const struct cache *c);

/* The view made at this serial, or NULL. A view of another serial is dropped if it has no `more`. Release with
 * cache_release. */
const struct view *cache_get(struct cache *c, node_t node, uint64_t serial);

/* Takes the node's view out of the cache, whatever its serial, unless somebody holds it. The caller then owns its
 * memory. False if there is none to take. */
bool cache_detach(struct cache *c, node_t node, struct view *ret);
void view_release(struct view *v);

/* The size of the view made at this serial, if still known; its bytes may be gone. */
bool cache_size(struct cache *c, node_t node, uint64_t serial, uint64_t *ret);

/* Takes over *v with its memory and returns a view to be released with cache_release. NULL without memory (v is freed).
 * Of views larger than the budget only the newest is kept, while it is in use; with a budget of 0 none at all. The next
 * budget_enforce evicts views, not this function, since the caller may hold locks. */
const struct view *cache_put(struct cache *c, node_t node, uint64_t serial, struct view *v);

void cache_release(struct cache *c, const struct view *v);
size_t cache_used(const struct cache *c);

#endif
