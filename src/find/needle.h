/* SPDX-License-Identifier: MIT */
/* needle: searches raw JSON lines for a folded word.
 *
 * The text of an entry is in its raw line character by character, except for JSON escapes, for text that a view makes
 * itself, and for other characters of the same folding. A needle is the part of a word (the run) that can only be there
 * as plain text, in any case, or with some characters escaped (as \u0041 or \/). From the first escape on, the text is
 * decoded as JSON. So no run is missed, but a match need not be the word. Private to find. */
#ifndef SESSIONFS_FIND_NEEDLE_H
#define SESSIONFS_FIND_NEEDLE_H

#include "sessionfs/base/fold.h"

/* Max characters of a run, and max bytes: all escaped as surrogate pairs. */
#define NEEDLE_RUN 32
#define NEEDLE_BYTES (12 * NEEDLE_RUN)
/* Number of bytes after the scanned ones that must be readable. */
#define NEEDLE_PAD 64
#define NEEDLE_PAIRS (FOLD_VARIANTS_MAX + 2)

/* Two bytes, `distance` apart, that mark a place to check. */
struct needle_pair {
	char first, second;
	char first_case, second_case; /* 0x20 for letters */
	unsigned char distance;
};

struct needle {
	uint32_t run[NEEDLE_RUN]; /* folded characters */
	unsigned n;
	unsigned anchor; /* the character at which the pairs are, except for escapes */
	unsigned rarity; /* higher is rarer */
	struct needle_pair pairs[NEEDLE_PAIRS];
	unsigned n_pairs;
};

/* Makes the needle of a folded word. Returns false if no part of it is usable. */
bool needle_make(struct span folded, struct needle *ret);

/* Returns the first place from p to before `to` at which the run can be; NULL if it cannot. The known bytes are `from`
 * to `end`, which include p and `to`. */
const char *needle_find(const struct needle *needle, const char *from, const char *p, const char *to, const char *end);

#endif
