/* hash: where things are in the tables in memory. Nothing of it is the same in another process, so it is not stored. */
#ifndef SESSIONFS_HASH_H
#define SESSIONFS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The upper half of the product depends on all bits of both, in a way that only who knows the factor can foresee. */
static inline uint64_t hash_mix(uint64_t word, uint64_t factor)
{
	unsigned __int128 product = (unsigned __int128)word * factor;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of what nobody can choose: node ids, addresses. */
static inline uint64_t hash_word(uint64_t word)
{
	return hash_mix(word, UINT64_C(0x9e3779b97f4a7c15));
}

/* Secrets: of what stands in files, so that no file can be made to collide. */
struct hash_key {
	uint64_t seed, factor;
};

void hash_key_draw(struct hash_key *k);

/* The same bytes as another kind of key have another hash. */
uint64_t hash_bytes(const struct hash_key *k, uint64_t kind, const char *p, size_t n);

#endif
