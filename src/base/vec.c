/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/vec.h"

#include "sessionfs/base/deferred.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define PAGE 4096

bool vec_grow(void *pp, size_t *cap, size_t need, size_t size)
{
	size_t more = *cap + *cap / 2 + 8;
	size_t room = need > more ? need : more;
	void *p;

	if (need <= *cap)
		return true;
	memcpy(&p, pp, sizeof p);
	void *moved = room > SIZE_MAX / size ? NULL : realloc(p, room * size);
	if (!moved) {
		deferred_set(-ENOMEM);
		return false;
	}
	memcpy(pp, &moved, sizeof moved);
	*cap = room;
	return true;
}

void vec_shrink(void *pp, size_t *cap, size_t n, size_t size)
{
	size_t room = n + n / 16;
	void *p;

	if (room >= *cap || room == 0)
		return;
	memcpy(&p, pp, sizeof p);
	void *moved = realloc(p, room * size);
	if (!moved)
		return;
	memcpy(pp, &moved, sizeof moved);
	*cap = room;
}

size_t vec_memory(size_t n, size_t cap, size_t size)
{
	size_t room = (cap - n) * size;

	return n * size + (room < PAGE ? room : PAGE);
}
