/* SPDX-License-Identifier: MIT */
/* bytes: 16 bytes at a time, with the vectors of gcc and clang, which compile for every processor.
 *
 * A comparison sets all bits of the bytes for which it is true, and clears the others. SSE2 compares signed bytes:
 * subtract 128 (or flip the high bit) for an unsigned order in one instruction. */
#ifndef SESSIONFS_BYTES_H
#define SESSIONFS_BYTES_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef signed char bytes16 __attribute__((vector_size(16)));
typedef unsigned char ubytes16 __attribute__((vector_size(16)));

static inline bytes16 bytes16_load(const char *p)
{
	bytes16 b;
	memcpy(&b, p, sizeof b);
	return b;
}

/* Returns which bytes are from `first` to `last`, two ASCII bytes. */
static inline bytes16 bytes16_range(bytes16 b, char first, char last)
{
	return (bytes16)((ubytes16)b - (unsigned char)(first + 128)) < (signed char)(last - first - 127);
}

/* Returns a bit for each byte of a comparison, the first byte's lowest. */
static inline unsigned bytes16_mask(bytes16 comparison)
{
#ifdef __SSE2__
	return (unsigned)_mm_movemask_epi8((__m128i)comparison);
#else
	/* No two bytes have a bit in common, so the product adds them up in its highest byte. */
	const bytes16 bit = {1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128};
	const bytes16 bits = comparison & bit;
	uint64_t halves[2];
	memcpy(halves, &bits, sizeof halves);
	return (unsigned)(halves[0] * 0x0101010101010101u >> 56) | (unsigned)(halves[1] * 0x0101010101010101u >> 56)
	                                                               << 8;
#endif
}

#endif
