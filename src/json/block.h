/* SPDX-License-Identifier: MIT */
/* Many bytes of a string at once: a mask with one bit for each byte of a CHUNK. Private to json. Callers also have a
 * plain loop, for the rest of a text. */
#ifndef SESSIONFS_JSON_BLOCK_H
#define SESSIONFS_JSON_BLOCK_H

#include "sessionfs/base/bytes.h"

enum { CHUNK = 64 };

/* Returns the bytes of the chunk at p that are c. */
static inline uint64_t chunk_equal(const char *p, char c)
{
	uint64_t mask = 0;

#pragma GCC unroll 4
	for (int i = 0; i < CHUNK; i += 16)
		mask |= (uint64_t)bytes16_mask(bytes16_load(p + i) == (signed char)c) << i;
	return mask;
}

struct chunk_escapes {
	uint64_t begins;  /* the backslashes that begin an escape */
	uint64_t escaped; /* the bytes after those */
};

/* Finds which backslashes of a chunk begin an escape; `open` is 1 if the byte before the chunk begins one, else 0. */
static inline struct chunk_escapes chunk_escapes(uint64_t backslash, uint64_t open)
{
	const uint64_t odd_bits = 0xaaaaaaaaaaaaaaaau;

	/* The borrow of the subtraction runs through each run of backslashes, so that every second one of a run comes
	 * out as escaped, and the byte after an odd run. */
	uint64_t first = backslash & ~open;
	uint64_t series = (((first << 1) | odd_bits) - first) ^ odd_bits;
	return (struct chunk_escapes){series & backslash, series ^ (backslash | open)};
}

#endif
