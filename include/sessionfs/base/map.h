/* SPDX-License-Identifier: MIT */
/* map: (scope, text) to a number. The texts are borrowed. The hash is keyed, because anybody may choose many texts.
 * Nothing is ever removed. A map that is all zero is empty. */
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

/* MAP_NONE if it is not there. */
uint32_t map_get(const struct map *m, uint32_t scope, struct span key);
/* Replaces the number that was there. 0 or -ENOMEM (deferred_set). */
int map_put(struct map *m, uint32_t scope, struct span key, uint32_t value);
size_t map_memory(const struct map *m);
void map_release(struct map *m);

#endif
