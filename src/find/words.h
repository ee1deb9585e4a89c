/* SPDX-License-Identifier: MIT */
/* words: looks for the words of a query in text, piece by piece, so that a text of any size takes little memory.
 * Private to find. */
#ifndef SESSIONFS_FIND_WORDS_H
#define SESSIONFS_FIND_WORDS_H

#include "query_impl.h"

struct words {
	const struct term *v; /* of the query: those that must occur, then those that must not */
	size_t n, n_required;
	size_t longest;      /* bytes */
	char *folded;        /* a piece of the text, after the end of the one before */
	size_t filled, kept; /* bytes of both; of the one before */
	bool found[QUERY_TERMS];
	size_t missing; /* of those wanted */
};

int words_init(struct words *w, const struct query *q);
void words_release(struct words *w);

/* Begins with another entry: no word was found. */
void words_reset(struct words *w);
/* Looks at a text of the entry. True once it is known whether the entry has the words. */
bool words_add_text(struct words *w, struct span text);
/* Whether all texts together have all words that are wanted, and none of the others. */
bool words_match(const struct words *w);

/* How many of the words that are wanted occur in the text. */
unsigned words_count(struct words *w, struct span text);

/* Appends the line. Of more than `most` characters it appends the part that shows the most different words: whole words
 * before parts of words, then longer words before shorter, then the first such part. An ellipsis stands for the first
 * or last character where it is cut. Takes one pass over the line. 0, or a negative errno (-EINTR by cancel_check). */
int words_cut(struct words *w, struct span line, size_t most, struct buf *out);

#endif
