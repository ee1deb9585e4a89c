/* SPDX-License-Identifier: MIT */
/* counters: values by name, in the order in which the names were first seen. Names are any bytes, and there may be
 * many: a lookup costs O(1) whatever they are. */
#ifndef SESSIONFS_COUNTERS_H
#define SESSIONFS_COUNTERS_H

#include "sessionfs/base/map.h"

struct counter;

struct counters {
	size_t size; /* of a value */
	struct counter **rows;
	size_t n, cap;
	struct map places; /* of names in `rows` */
};

#define COUNTERS_INIT(type)                                                                                            \
	{                                                                                                              \
		.size = sizeof(type)                                                                                   \
	}

void counters_release(struct counters *t);

/* The value of this name, all zero when the name is new; it stays where it is until release. NULL without memory. */
void *counters_get(struct counters *t, struct span name);

struct span counters_name(const struct counters *t, size_t i);
const void *counters_value(const struct counters *t, size_t i);

#endif
