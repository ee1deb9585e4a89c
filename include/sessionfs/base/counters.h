/* SPDX-License-Identifier: MIT */
/* counters: values by name, in the order in which the names first appeared. Names are any bytes, and there can be many:
 * a lookup is O(1) in any case. */
#ifndef SESSIONFS_COUNTERS_H
#define SESSIONFS_COUNTERS_H

#include "sessionfs/base/map.h"

struct counter;

struct counters {
	size_t size; /* of a value */
	struct counter **rows;
	size_t n, cap;
	struct map places; /* name to index in `rows` */
};

#define COUNTERS_INIT(type)                                                                                            \
	{                                                                                                              \
		.size = sizeof(type)                                                                                   \
	}

void counters_release(struct counters *t);

/* Returns the value of this name, zeroed if the name is new. Its address stays valid until counters_release. Returns
 * NULL if out of memory (deferred_set). */
void *counters_get(struct counters *t, struct span name);

struct span counters_name(const struct counters *t, size_t i);
const void *counters_value(const struct counters *t, size_t i);

#endif
