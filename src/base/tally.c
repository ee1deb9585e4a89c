/* The names come from session files, so no hash that could be played with: the
 * balanced tree of <search.h>, and beside it the rows in order. (That header
 * has a struct entry, which is why this is a file of its own.) */
#include "sessionfs/base/tally.h"
#include "sessionfs/base/vec.h"

#include <search.h>
#include <stdlib.h>

struct tally_row {
	char *name;
	size_t n;
	_Alignas(max_align_t) unsigned char value[];
};

static int row_compare(const void *pa, const void *pb)
{
	const struct tally_row *a = pa, *b = pb;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return memcmp(a->name, b->name, a->n);
}

static void row_free(void *p)
{
	struct tally_row *row = p;
	free(row->name);
	free(row);
}

void tally_release(struct tally *t)
{
	tdestroy(t->tree, row_free);
	free(t->rows);
	*t = (struct tally){t->size, NULL, 0, 0, NULL};
}

static struct tally_row *row_new(size_t size, struct span name)
{
	struct tally_row *row = calloc(1, sizeof(*row) + size);
	char *copy = malloc(name.n + 1);
	if (!row || !copy) {
		free(copy);
		free(row);
		return NULL;
	}
	if (name.n > 0)
		memcpy(copy, name.p, name.n);
	row->name = copy;
	row->n = name.n;
	return row;
}

void *tally_get(struct tally *t, struct span name)
{
	char none[1];
	struct tally_row wanted = {.name = name.n > 0 ? (char *)name.p : none, .n = name.n};
	struct tally_row **known = tfind(&wanted, &t->tree, row_compare);
	if (known)
		return (*known)->value;

	if (!vec_grow(&t->rows, &t->cap, t->n + 1, sizeof(struct tally_row *)))
		return NULL;
	struct tally_row *row = row_new(t->size, name);
	if (!row)
		return NULL;
	if (!tsearch(row, &t->tree, row_compare)) {
		row_free(row);
		return NULL;
	}
	t->rows[t->n++] = row;
	return row->value;
}

struct span tally_name(const struct tally *t, size_t i)
{
	return (struct span){t->rows[i]->name, t->rows[i]->n};
}

const void *tally_value(const struct tally *t, size_t i)
{
	return t->rows[i]->value;
}
