/* SPDX-License-Identifier: MIT */
/* Random tests draw the same values each time; SESSIONFS_TEST_SEED=n selects others. */
#ifndef SEED_H
#define SEED_H

#include <inttypes.h>
#include <stdlib.h>

static inline uint64_t seed_of_run(void)
{
	const char *text = getenv("SESSIONFS_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	print_message("SESSIONFS_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* Returns a number below `sides`; the same ones follow the same seed. */
static inline unsigned roll(uint64_t *seed, unsigned sides)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(*seed >> 33) % sides;
}

#endif
