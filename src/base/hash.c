/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/hash.h"

#include <string.h>
#include <sys/random.h>

/* A thread asks the system once; its other secrets follow from that one. Without random bytes, addresses are the
 * secret: better than none. */
void hash_key_draw(struct hash_key *k)
{
	static _Thread_local struct hash_key drawn;

	if (drawn.factor == 0) {
		drawn = (struct hash_key){(uint64_t)(uintptr_t)k, hash_word((uint64_t)(uintptr_t)&drawn)};
		(void)!getrandom(&drawn, sizeof drawn, GRND_NONBLOCK);
		drawn.factor |= 1;
	}
	drawn.seed += drawn.factor;
	*k = (struct hash_key){hash_word(drawn.seed), hash_mix(drawn.seed, drawn.factor) | 1};
}

static uint64_t hash_load(const char *p, size_t n)
{
	uint64_t word = 0;

	memcpy(&word, p, n);
	return word;
}

uint64_t hash_bytes(const struct hash_key *k, uint64_t kind, const char *p, size_t n)
{
	/* Without the factor, one more byte could cancel out another byte. */
	uint64_t h = (k->seed ^ kind) + n * k->factor;

	if (n < 8) {
		uint64_t few = 0; /* avoids a call */
		if (n >= 4)
			few = hash_load(p, 4) | hash_load(p + n - 4, 4) << 32;
		else if (n > 0)
			few = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
			      (unsigned char)p[n - 1];
		return hash_mix(h ^ few, k->factor);
	}
	for (; n > 8; p += 8, n -= 8) {
		h = hash_mix(h ^ hash_load(p, 8), k->factor);
		if (n < 16)
			return hash_mix(h ^ hash_load(p + n - 8, 8), k->factor);
	}
	return hash_mix(h ^ hash_load(p, 8), k->factor);
}
