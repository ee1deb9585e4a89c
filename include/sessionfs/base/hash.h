/* SPDX-License-Identifier: MIT */
/* hash: hashes for tables in memory. They differ between processes, so never store them. */
#ifndef SESSIONFS_HASH_H
#define SESSIONFS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The upper half of the product depends on all bits of both numbers. It cannot be predicted without the factor. */
static inline uint64_t hash_mix(uint64_t word, uint64_t factor)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)word * factor;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	uint64_t a = word >> 32, b = word & UINT32_MAX, c = factor >> 32, d = factor & UINT32_MAX;
	uint64_t ad = a * d, middle = (b * d >> 32) + (ad & UINT32_MAX) + b * c;
	return word * factor ^ (a * c + (ad >> 32) + (middle >> 32));
#endif
}

/* Hashes a value that no user can choose: a node id, an address. */
static inline uint64_t hash_word(uint64_t word)
{
	return hash_mix(word, UINT64_C(0x9e3779b97f4a7c15));
}

/* The secret for hashes of file contents: it prevents files whose keys are chosen to collide. */
struct hash_key {
	uint64_t seed, factor;
};

void hash_key_draw(struct hash_key *k);

/* The same bytes have different hashes for different kinds of key. */
uint64_t hash_bytes(const struct hash_key *k, uint64_t kind, const char *p, size_t n);

/* A table of cells with linear probing is between 64 % and 80 % full. Returns how many cells the table of `cells` needs
 * for n keys: `cells` if they are enough. */
static inline size_t hash_cells_for(size_t cells, size_t n)
{
	for (cells = cells ? cells : 64; n > cells / 5 * 4;)
		cells += cells / 4;
	return cells;
}

/* Returns the first cell for a hash. */
static inline size_t hash_cell(uint32_t hash, size_t cells)
{
	return (size_t)((uint64_t)hash * cells >> 32);
}

#endif
