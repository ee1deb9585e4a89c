/* tally: values by name, in the order in which the names first came. Names are
 * any bytes, and there may be many: a lookup costs O(log n) whatever they are. */
#ifndef SESSIONFS_TALLY_H
#define SESSIONFS_TALLY_H

#include "sessionfs/base/span.h"

struct tally_row;

struct tally {
	size_t size; /* of a value */
	struct tally_row **rows;
	size_t n, cap;
	void *tree;
};

#define TALLY_INIT(type)                                                                                               \
	{                                                                                                              \
		sizeof(type), NULL, 0, 0, NULL                                                                         \
	}

void tally_release(struct tally *t);

/* The value of this name, all zero when the name is new; it stays where it is until release. NULL without memory. */
void *tally_get(struct tally *t, struct span name);

struct span tally_name(const struct tally *t, size_t i);
const void *tally_value(const struct tally *t, size_t i);

#endif
