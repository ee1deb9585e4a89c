/* SPDX-License-Identifier: MIT */
/* tally: values by name, in the order in which the names were first seen. Names are
 * any bytes, and there may be many: a lookup costs O(1) whatever they are. */
#ifndef SESSIONFS_TALLY_H
#define SESSIONFS_TALLY_H

#include "sessionfs/base/map.h"

struct tally_row;

struct tally {
	size_t size; /* of a value */
	struct tally_row **rows;
	size_t n, cap;
	struct map places; /* of names in `rows` */
};

#define TALLY_INIT(type)                                                                                               \
	{                                                                                                              \
		.size = sizeof(type)                                                                                   \
	}

void tally_release(struct tally *t);

/* The value of this name, all zero when the name is new; it stays where it is until release. NULL without memory. */
void *tally_get(struct tally *t, struct span name);

struct span tally_name(const struct tally *t, size_t i);
const void *tally_value(const struct tally *t, size_t i);

#endif
