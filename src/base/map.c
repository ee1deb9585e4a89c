/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/map.h"

#include "sessionfs/base/deferred.h"

#include <errno.h>
#include <stdlib.h>

/* Open addressing, linear probing, at most three quarters full; an unused cell has no key. */
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
	for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
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

static int grow_cells(struct map *m)
{
	if (m->cap == 0)
		hash_key_draw(&m->secret);
	struct map more = *m;
	more.cap = m->cap ? m->cap * 2 : 64;
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
	if (m->n + 1 > m->cap / 4 * 3 && grow_cells(m) < 0)
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

/* Moves the next keys into the free cell if they can be found there. */
void map_remove(struct map *m, uint32_t scope, struct span key)
{
	const size_t mask = m->cap - 1;
	if (m->n == 0)
		return;
	struct cell *c = find_cell(m, map_hash(m, scope, key), scope, key);
	size_t hole = (size_t)(c - m->cells);
	m->n -= c->key != NULL;
	for (size_t i = (hole + 1) & mask; c->key && m->cells[i].key; i = (i + 1) & mask) {
		if (((i - m->cells[i].hash) & mask) < ((i - hole) & mask))
			continue;
		m->cells[hole] = m->cells[i];
		hole = i;
	}
	m->cells[hole] = (struct cell){0};
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
