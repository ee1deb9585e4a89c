/* SPDX-License-Identifier: MIT */
/* The catalog's arrays of numbers. */
#include "catalog_impl.h"

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
