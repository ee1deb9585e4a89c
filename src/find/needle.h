/* SPDX-License-Identifier: MIT */
/* needle: whether a folded word can be in a text, asked of the raw bytes of JSON lines.
 *
 * What a line says stands in the raw line, character by character, but for what JSON may escape, what a view makes
 * itself, and other characters of the same folding. A needle is that part of a word (the run) which can only stand
 * there as plain text, in any case, or with some of its characters escaped (as \u0041 or \/); then it is read as JSON
 * from the first of those on. So a run is never missed, but what is found need not be the word. Private to find. */
#ifndef SESSIONFS_FIND_NEEDLE_H
#define SESSIONFS_FIND_NEEDLE_H

#include "sessionfs/base/fold.h"

/* Characters of a run, and the most bytes that they can take, all escaped as pairs of surrogates. */
#define NEEDLE_RUN 32
#define NEEDLE_BYTES (12 * NEEDLE_RUN)
/* So many bytes behind the end of what is scanned must be readable. */
#define NEEDLE_PAD 64
#define NEEDLE_PAIRS (FOLD_VARIANTS_MAX + 2)

/* Two bytes, `distance` apart, that stand where something may be. */
struct needle_pair {
	char first, second;
	char first_case, second_case; /* 0x20 for letters */
	unsigned char distance;
};

struct needle {
	uint32_t run[NEEDLE_RUN]; /* folded characters */
	unsigned n;
	unsigned anchor; /* the character at which the pairs are, but those of escapes */
	unsigned rarity; /* the greater the rarer */
	struct needle_pair pairs[NEEDLE_PAIRS];
	unsigned n_pairs;
};

/* The needle of a folded word; false if no part of it can be trusted. */
bool needle_make(struct span folded, struct needle *ret);

/* The first place at p or behind it, before `to`, at which the run may be; NULL if there is none. `from` to `end` are
 * the bytes that are known, of which p and `to` are part. */
const char *needle_find(const struct needle *needle, const char *from, const char *p, const char *to, const char *end);

#endif
