/* SPDX-License-Identifier: MIT */
#include "words.h"

#include "sessionfs/base/fold.h"

#include <errno.h>
#include <stdlib.h>

/* Of the text, at a time: what stays near the CPU when it is looked through for many words. */
enum { PIECE = 16 * 1024 };

int words_init(struct words *w, const struct query *q)
{
	*w = (struct words){.v = q->terms.v};
	for (; w->n < q->terms.n && w->v[w->n].kind == TERM_WORD; w->n++) {
		w->wanted += !w->v[w->n].negated;
		if (w->longest < w->v[w->n].text.n)
			w->longest = w->v[w->n].text.n;
	}
	w->folded = malloc(w->longest + FOLD_ROOM(PIECE));
	return w->folded ? 0 : -ENOMEM;
}

void words_release(struct words *w)
{
	free(w->folded);
}

void words_reset(struct words *w)
{
	memset(w->found, 0, sizeof w->found);
	w->missing = w->wanted;
}

/* Folds the next piece of *rest behind what a word that ends in it may begin with. False at the end of the text. */
static bool next_piece(struct words *w, struct span *rest)
{
	size_t keep = w->longest - (w->longest > 0);

	if (rest->n == 0)
		return false;
	keep = keep < w->filled ? keep : w->filled;
	memmove(w->folded, w->folded + w->filled - keep, keep);
	w->filled = keep + fold_write(rest, PIECE, w->folded + keep);
	return true;
}

/* A word that holds a newline is in no line; a text has many. */
static bool has_word(const struct words *w, size_t i)
{
	struct span word = w->v[i].text;

	return memmem(w->folded, w->filled, word.p, word.n) && !memchr(word.p, '\n', word.n);
}

bool words_look(struct words *w, struct span text)
{
	w->filled = 0;
	while (next_piece(w, &text)) {
		for (size_t i = 0; i < w->n; i++) {
			if (w->found[i] || !has_word(w, i))
				continue;
			w->found[i] = true;
			if (i >= w->wanted)
				return true;
			w->missing--;
		}
		if (w->missing == 0 && w->wanted == w->n)
			return true;
	}
	return false;
}

bool words_are_there(const struct words *w)
{
	for (size_t i = w->wanted; i < w->n; i++)
		if (w->found[i])
			return false;
	return w->missing == 0;
}

unsigned words_count(struct words *w, struct span text)
{
	unsigned n = 0;

	memset(w->found, 0, w->wanted * sizeof *w->found);
	w->filled = 0;
	while (n < w->wanted && next_piece(w, &text)) {
		for (size_t i = 0; i < w->wanted; i++) {
			if (w->found[i] || !has_word(w, i))
				continue;
			w->found[i] = true;
			n++;
		}
	}
	return n;
}
