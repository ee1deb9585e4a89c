/* SPDX-License-Identifier: MIT */
/* The catalog's strings, which never move, and its arrays of numbers. Names last as long as the mount, so
 * nothing can be removed. */
#include "catalog_impl.h"

#include "sessionfs/base/deferred.h"

#define CHUNK 65536

struct chunk {
	struct chunk *older;
	size_t used, size;
	char bytes[];
};

const char *strings_copy(struct strings *s, struct span text)
{
	struct chunk *c = s->newest;
	if (!c || c->size - c->used <= text.n) {
		size_t size = text.n + 1 > CHUNK ? text.n + 1 : CHUNK;
		struct chunk *fresh = malloc(sizeof *fresh + size);
		if (!fresh) {
			deferred_set(-ENOMEM);
			return NULL;
		}
		*fresh = (struct chunk){.older = c, .size = size};
		s->newest = c = fresh;
	}
	char *p = c->bytes + c->used;
	if (text.n)
		memcpy(p, text.p, text.n);
	p[text.n] = '\0';
	c->used += text.n + 1;
	return p;
}

void strings_release(struct strings *s)
{
	while (s->newest) {
		struct chunk *older = s->newest->older;
		free(s->newest);
		s->newest = older;
	}
}

int list_add(struct list *l, uint32_t value)
{
	if (!vec_reserve(l, 1))
		return -ENOMEM;
	l->v[l->n++] = value;
	return 0;
}

size_t list_below(const struct list *l, uint64_t value)
{
	size_t low = 0, high = l->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (l->v[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void list_drop(struct list *l, size_t n)
{
	l->n -= n;
	if (l->n)
		memmove(l->v, l->v + n, l->n * sizeof *l->v);
	else
		list_release(l);
}

void list_release(struct list *l)
{
	free(l->v);
	*l = (struct list){0};
}
