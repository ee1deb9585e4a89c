/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/counters.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/vec.h"

#include <errno.h>
#include <stdlib.h>

struct counter {
	struct span name; /* stored after the value */
	_Alignas(max_align_t) unsigned char value[];
};

void counters_release(struct counters *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->rows[i]);
	free(t->rows);
	map_release(&t->places);
	*t = (struct counters){.size = t->size};
}

void *counters_get(struct counters *t, struct span name)
{
	uint32_t known = map_get(&t->places, 0, name);
	if (known != MAP_NONE)
		return t->rows[known]->value;

	bool has_room = t->n < MAP_NONE && vec_grow(&t->rows, &t->cap, t->n + 1, sizeof(struct counter *));
	struct counter *row = has_room ? calloc(1, sizeof *row + t->size + name.n) : NULL;
	if (!row) {
		deferred_set(-ENOMEM);
		return NULL;
	}
	char *copy = (char *)row->value + t->size;
	if (name.n > 0)
		memcpy(copy, name.p, name.n);
	row->name = (struct span){copy, name.n};
	if (map_put(&t->places, 0, row->name, (uint32_t)t->n) < 0) {
		free(row);
		return NULL;
	}
	t->rows[t->n++] = row;
	return row->value;
}

struct span counters_name(const struct counters *t, size_t i)
{
	return t->rows[i]->name;
}

const void *counters_value(const struct counters *t, size_t i)
{
	return t->rows[i]->value;
}
