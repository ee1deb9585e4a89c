/* SPDX-License-Identifier: MIT */
/* cache: rendered views by (node, serial), within a budget that caches can share. It evicts least recently used views
 * first. A view is immutable and reference-counted: an evicted view lives until its last release. Thread-safe. */
#ifndef SESSIONFS_CACHE_H
#define SESSIONFS_CACHE_H

#include "sessionfs/base/budget.h"
#include "sessionfs/base/buf.h"
#include "sessionfs/base/node.h"

struct cache;

/* Bytes, and what their producer stores with them. The cache uses only the amount of memory they take. */
struct view {
	uint64_t size; /* of the whole view; `bytes` can hold less */
	struct buf bytes;
	/* Two arrays of n elements, with space for `cap`. Either can be NULL. */
	uint64_t *ends; /* where each part ends */
	void *items;
	size_t n, cap, item; /* item: size of one item in bytes */
	/* A small malloc'ed block or NULL. The cache keeps a view that has one after its serial has changed, for
	 * cache_detach. */
	void *more;
};

/* The budget outlives the cache. */
int cache_open(struct budget *budget, struct cache **ret);
void cache_close(struct cache *c);
struct budget *cache_budget(const struct cache *c);

/* Returns the view of this serial, or NULL. Drops a view of another serial if it has no `more`. Release with
 * cache_release. */
const struct view *cache_get(struct cache *c, node_t node, uint64_t serial);

/* Removes the node's view from the cache, whatever its serial, and gives its memory to the caller. Returns false if the
 * view is missing or in use. */
bool cache_detach(struct cache *c, node_t node, struct view *ret);
void view_release(struct view *v);

/* Returns the size of the view of this serial if it is still known; its bytes can be evicted already. */
bool cache_size(struct cache *c, node_t node, uint64_t serial, uint64_t *ret);

/* Takes ownership of *v and returns a view to be released with cache_release. Returns NULL if out of memory (v is
 * freed). Of views larger than the budget, only the newest stays, while it is in use; with a budget of 0 none. This
 * function does not evict, since the caller can hold locks: the next budget_enforce does. */
const struct view *cache_put(struct cache *c, node_t node, uint64_t serial, struct view *v);

void cache_release(struct cache *c, const struct view *v);
size_t cache_used(const struct cache *c);

#endif
