/* cache: produced values by (node, serial), within a budget that may be shared. Least recently
 * used values go first, but see cache.c for those nobody has read yet. A value is immutable and reference-counted: it
 * outlives its eviction while someone holds it. Thread-safe. */
#ifndef SESSIONFS_CACHE_H
#define SESSIONFS_CACHE_H

#include "sessionfs/base/budget.h"
#include "sessionfs/base/buf.h"
#include "sessionfs/base/node.h"

struct cache;

/* A value: bytes, and what its maker needs beside them. Only the memory that they take means anything here. */
struct view {
	uint64_t size; /* of the whole, of which `bytes` may hold only some */
	struct buf bytes;
	/* Two arrays of n elements, with room for more; NULL: there is none. */
	uint64_t *ends; /* where a part of it ends */
	void *items;
	size_t n, room, item; /* item: the bytes of one */
	/* A small thing of malloc's. A value that has it outlives its serial, for cache_take. */
	void *more;
};

/* The budget outlives the cache. */
int cache_open(struct budget *budget, struct cache **ret);
void cache_close(struct cache *c);
struct budget *cache_budget(const struct cache *c);

/* The view made at this serial, or NULL; one of another serial is dropped, if it has no `more`. Release with
 * cache_release. */
const struct view *cache_get(struct cache *c, node_t node, uint64_t serial);

/* Takes the view of the node out, of whatever serial it is, unless somebody holds it: its memory is the caller's.
 * False if there is none. */
bool cache_take(struct cache *c, node_t node, struct view *ret);
void view_release(struct view *v);

/* How large the view made at this serial was, if that is still known; its bytes may be gone. */
bool cache_size(struct cache *c, node_t node, uint64_t serial, uint64_t *ret);

/* Takes over *v (its memory too) and returns it referenced, to be released. NULL without memory (v is freed).
 * Of views larger than the budget only the newest is kept, while it is in use; with a budget of 0 none at all.
 * Nothing is evicted here, since the caller may hold locks: that is for the next budget_settle. */
const struct view *cache_put(struct cache *c, node_t node, uint64_t serial, struct view *v);

void cache_release(struct cache *c, const struct view *v);
size_t cache_used(const struct cache *c);

#endif
