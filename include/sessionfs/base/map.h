/* SPDX-License-Identifier: MIT */
/* map: (scope, text) to a number. The texts are borrowed. The hash is keyed, because session files can contain texts
 * chosen to collide. A map that is all zero is empty. */
#ifndef SESSIONFS_MAP_H
#define SESSIONFS_MAP_H

#include "sessionfs/base/hash.h"
#include "sessionfs/base/span.h"

#define MAP_NONE UINT32_MAX

struct map {
	struct cell *cells;
	size_t cap, n;
	struct hash_key secret;
};

/* Returns MAP_NONE if the key is missing. */
uint32_t map_get(const struct map *m, uint32_t scope, struct span key);
/* Adds or replaces a number. Returns 0 or -ENOMEM (deferred_set). */
int map_put(struct map *m, uint32_t scope, struct span key, uint32_t value);
/* Removes the key, if it is there. */
void map_remove(struct map *m, uint32_t scope, struct span key);
size_t map_memory(const struct map *m);
void map_release(struct map *m);

#endif
