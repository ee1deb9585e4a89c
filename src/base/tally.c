/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/tally.h"
#include "sessionfs/base/vec.h"

#include <stdlib.h>

struct tally_row {
	struct span name; /* stands behind the value */
	_Alignas(max_align_t) unsigned char value[];
};

void tally_release(struct tally *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->rows[i]);
	free(t->rows);
	map_release(&t->places);
	*t = (struct tally){.size = t->size};
}

void *tally_get(struct tally *t, struct span name)
{
	uint32_t known = map_get(&t->places, 0, name);
	if (known != MAP_NONE)
		return t->rows[known]->value;

	if (t->n >= MAP_NONE || !vec_grow(&t->rows, &t->cap, t->n + 1, sizeof(struct tally_row *)))
		return NULL;
	struct tally_row *row = calloc(1, sizeof *row + t->size + name.n);
	if (!row)
		return NULL;
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

struct span tally_name(const struct tally *t, size_t i)
{
	return t->rows[i]->name;
}

const void *tally_value(const struct tally *t, size_t i)
{
	return t->rows[i]->value;
}
