/* SPDX-License-Identifier: MIT */
/* The catalog's strings, which never move, and its arrays of numbers. Names last as long as the mount, so no string is
 * ever removed. */
#include "catalog_impl.h"

#include "sessionfs/base/deferred.h"

#define STRING_CHUNK_SIZE 65536

struct string_chunk {
	struct string_chunk *older;
	size_t used, size;
	char bytes[];
};

const char *string_pool_copy(struct string_pool *s, struct span text)
{
	struct string_chunk *c = s->newest;
	if (!c || c->size - c->used <= text.n) {
		size_t size = text.n + 1 > STRING_CHUNK_SIZE ? text.n + 1 : STRING_CHUNK_SIZE;
		struct string_chunk *fresh = malloc(sizeof *fresh + size);
		if (!fresh) {
			deferred_set(-ENOMEM);
			return NULL;
		}
		*fresh = (struct string_chunk){.older = c, .size = size};
		s->newest = c = fresh;
	}
	char *p = c->bytes + c->used;
	if (text.n)
		memcpy(p, text.p, text.n);
	p[text.n] = '\0';
	c->used += text.n + 1;
	return p;
}

void string_pool_release(struct string_pool *s)
{
	while (s->newest) {
		struct string_chunk *older = s->newest->older;
		free(s->newest);
		s->newest = older;
	}
}

int list_add(struct u32_list *l, uint32_t value)
{
	if (!vec_reserve(l, 1))
		return -ENOMEM;
	l->v[l->n++] = value;
	return 0;
}

size_t list_count_below(const struct u32_list *l, uint64_t value)
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

void list_drop_first(struct u32_list *l, size_t n)
{
	l->n -= n;
	if (l->n)
		memmove(l->v, l->v + n, l->n * sizeof *l->v);
	else
		list_release(l);
}

void list_release(struct u32_list *l)
{
	free(l->v);
	*l = (struct u32_list){0};
}
