/* SPDX-License-Identifier: MIT */
/* Finds words of a text that its page lacks. A word is ASCII letters and digits. Syntax that Markdown replaces does not
 * count: the numbers of a list, and marks of tasks. */
#ifndef SESSIONFS_TEST_PAGE_WORDS_H
#define SESSIONFS_TEST_PAGE_WORDS_H

#include "sessionfs/base/buf.h"
#include "sessionfs/base/vec.h"

struct words {
	struct span *v;
	size_t n, cap;
};

static inline bool is_word_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline void add_words(struct words *w, struct span text)
{
	const char *end = text.n ? text.p + text.n : text.p;

	for (const char *p = text.p, *q; p < end; p = q + 1) {
		for (q = p; q < end && is_word_char(*q); q++)
			;
		if (q > p && vec_grow(&w->v, &w->cap, w->n + 1, sizeof *w->v))
			w->v[w->n++] = (struct span){p, (size_t)(q - p)};
	}
}

static inline bool is_mark(struct span word, const char *end)
{
	size_t digits = 0;

	while (digits < word.n && word.p[digits] <= '9')
		digits++;
	const char *next = word.p + word.n;
	return next < end && ((digits == word.n && (*next == '.' || *next == ')')) ||
	                      (word.n == 1 && (*word.p | 0x20) == 'x' && *next == ']'));
}

static inline int word_cmp(const void *pa, const void *pb)
{
	return span_compare(*(const struct span *)pa, *(const struct span *)pb);
}

/* Returns the first word, in their order, that occurs less often in `html` than in `text`; n is 0 without one. */
static inline struct span missing_word(struct span text, struct span html)
{
	struct words said = {0}, shown = {0};
	struct span missing = {NULL, 0};
	size_t k = 0;

	add_words(&said, text);
	add_words(&shown, html);
	if (said.n)
		qsort(said.v, said.n, sizeof *said.v, word_cmp);
	if (shown.n)
		qsort(shown.v, shown.n, sizeof *shown.v, word_cmp);
	for (size_t i = 0; i < said.n && missing.n == 0; i++) {
		if (is_mark(said.v[i], text.p + text.n))
			continue;
		while (k < shown.n && span_compare(shown.v[k], said.v[i]) < 0)
			k++;
		if (k < shown.n && span_eq(shown.v[k], said.v[i]))
			k++;
		else
			missing = said.v[i];
	}
	free(said.v);
	free(shown.v);
	return missing;
}

#endif
