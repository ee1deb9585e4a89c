/* SPDX-License-Identifier: MIT */
/* words: searches text for the words of a query, piece by piece, so that any text needs little memory. Private to
 * find. */
#ifndef SESSIONFS_FIND_WORDS_H
#define SESSIONFS_FIND_WORDS_H

#include "query_impl.h"

struct words {
	const struct term *v; /* of the query: the required ones, then the negated ones */
	size_t n, n_required;
	size_t enough;       /* how many of the required ones an entry needs */
	size_t longest;      /* bytes */
	char *folded;        /* a piece of the text, after the end of the piece before */
	size_t filled, kept; /* bytes of both; of the piece before */
	bool found[QUERY_TERMS];
	bool whole[QUERY_TERMS]; /* found as a whole word */
	size_t missing, partial; /* required ones not found yet, and not found as a whole word yet */
	bool seen[QUERY_TERMS];  /* found in a text of the entry */
};

int words_init(struct words *w, const struct query *q);
void words_release(struct words *w);

/* Forgets the words seen, to start another entry. */
void words_reset(struct words *w);
/* Searches a text of the entry. Returns whether it has a required word. */
bool words_add_text(struct words *w, struct span text);
/* Returns how many required words the texts have. */
size_t words_seen(const struct words *w);
/* Returns whether the texts have enough required words and no negated one. */
bool words_match(const struct words *w);

/* Returns how many required words occur in the text; sets *ret_whole to how many are whole words there. */
unsigned words_count(struct words *w, struct span text, unsigned *ret_whole);

/* Returns whether no letter, mark, digit or `_` is next to the n bytes of folded text from `at`. */
bool word_is_whole(struct span folded, size_t at, size_t n);

/* Appends the line. If it has more than `most` characters, appends the part with the most different words; then whole
 * words come before parts of words, longer words before shorter, the first part before later ones. An ellipsis replaces
 * the first or last character at a cut. Reads the line once. Returns 0 or a negative errno (-EINTR: cancel_check). */
int words_cut(struct words *w, struct span line, size_t most, struct buf *out);

#endif
