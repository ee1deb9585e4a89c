/* SPDX-License-Identifier: MIT */
/* words: looks for the words of a query in text, piece by piece, so that a text of any size takes little memory.
 * Private to find. */
#ifndef SESSIONFS_FIND_WORDS_H
#define SESSIONFS_FIND_WORDS_H

#include "query_impl.h"

struct words {
	const struct term *v; /* of the query: those that must occur, then those that must not */
	size_t n, wanted;
	size_t longest; /* bytes */
	char *folded;   /* a piece of the text, behind the end of the one before */
	size_t filled;
	bool found[QUERY_TERMS];
	size_t missing; /* of those wanted */
};

int words_init(struct words *w, const struct query *q);
void words_release(struct words *w);

/* Begins with another entry: no word was found. */
void words_reset(struct words *w);
/* Looks at a text of the entry. True once it is known whether the entry has the words. */
bool words_look(struct words *w, struct span text);
/* Whether all texts together have all words that are wanted, and none of the others. */
bool words_are_there(const struct words *w);

/* How many of the words that are wanted occur in the text. */
unsigned words_count(struct words *w, struct span text);

#endif
