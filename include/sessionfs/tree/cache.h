/* cache: produced values by (node, serial), within a budget that may be shared. Least recently
 * used values go first, but see cache.c for those nobody has read yet. A value is immutable and reference-counted: it
 * outlives its eviction while someone holds it. Thread-safe. */
#ifndef SESSIONFS_CACHE_H
#define SESSIONFS_CACHE_H

#include "sessionfs/base/budget.h"
#include "sessionfs/base/buf.h"
#include "sessionfs/base/node.h"

struct cache;

/* A produced view. Either `bytes` holds all of it, or (too big to keep) only its first segment, and `ends`
 * says where each of its `segments` ends (all but the first counted from the end of the first), so that the part
 * that is wanted can be made again. */
struct view {
	uint64_t size;
	struct buf bytes;
	uint64_t *ends;
	uint32_t *entries; /* the entry of each segment but the first (front matter) */
	size_t segments, room;
	/* What was found out on the way, for whoever makes the next one from this one; see tree_transcript.c. */
	struct view_sums {
		double usage[6];
		uint32_t model, thinking, entries, relinks;
	} sums;
};

/* The budget outlives the cache. */
int cache_open(struct budget *budget, struct cache **ret);
void cache_close(struct cache *c);
struct budget *cache_budget(const struct cache *c);

/* The view made at this serial, or NULL; one of another serial without segments is dropped. Release with
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
