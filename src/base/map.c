/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/map.h"

#include "sessionfs/base/deferred.h"

#include <errno.h>
#include <stdlib.h>

/* Cells with linear probing (hash_cells_for); an unused one has no key. */
struct cell {
	const char *key;
	uint32_t length, scope, hash, value;
};

static uint32_t map_hash(const struct map *m, uint32_t scope, struct span key)
{
	return (uint32_t)hash_bytes(&m->secret, scope, key.p, key.n);
}

static struct cell *find_cell(const struct map *m, uint32_t hash, uint32_t scope, struct span key)
{
	for (size_t i = hash_cell(hash, m->cap);; i = i + 1 == m->cap ? 0 : i + 1) {
		struct cell *c = &m->cells[i];
		if (!c->key || (c->hash == hash && c->scope == scope && span_eq((struct span){c->key, c->length}, key)))
			return c;
	}
}

uint32_t map_get(const struct map *m, uint32_t scope, struct span key)
{
	if (m->n == 0)
		return MAP_NONE;
	const struct cell *c = find_cell(m, map_hash(m, scope, key), scope, key);
	return c->key ? c->value : MAP_NONE;
}

static int grow_cells(struct map *m, size_t cap)
{
	if (m->cap == 0)
		hash_key_draw(&m->secret);
	struct map more = *m;
	more.cap = cap;
	more.cells = calloc(more.cap, sizeof *more.cells);
	if (!more.cells) {
		deferred_set(-ENOMEM);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->cap; i++) {
		const struct cell *c = &m->cells[i];
		if (c->key)
			*find_cell(&more, c->hash, c->scope, (struct span){c->key, c->length}) = *c;
	}
	free(m->cells);
	*m = more;
	return 0;
}

int map_put(struct map *m, uint32_t scope, struct span key, uint32_t value)
{
	size_t cap = hash_cells_for(m->cap, m->n + 1);
	if (cap != m->cap && grow_cells(m, cap) < 0)
		return -ENOMEM;
	uint32_t hash = map_hash(m, scope, key);
	struct cell *c = find_cell(m, hash, scope, key);
	if (!c->key) {
		*c = (struct cell){.key = key.p, .length = (uint32_t)key.n, .scope = scope, .hash = hash};
		m->n++;
	}
	c->value = value;
	return 0;
}

/* Puts the keys in the next cells again: the cell can have kept them from a better place. */
void map_remove(struct map *m, uint32_t scope, struct span key)
{
	if (m->n == 0)
		return;
	struct cell *c = find_cell(m, map_hash(m, scope, key), scope, key);
	m->n -= c->key != NULL;
	for (bool is_next = false; c->key; is_next = true) {
		struct cell moved = *c;
		*c = (struct cell){0};
		if (is_next)
			*find_cell(m, moved.hash, moved.scope, (struct span){moved.key, moved.length}) = moved;
		c = c + 1 == m->cells + m->cap ? m->cells : c + 1;
	}
}

size_t map_memory(const struct map *m)
{
	return m->cap * sizeof *m->cells;
}

void map_release(struct map *m)
{
	free(m->cells);
	*m = (struct map){0};
}
