/* SPDX-License-Identifier: MIT */
/* Finds the words of a query in a line, for highlighting. */
#include "words.h"

#include "sessionfs/base/fold.h"

/* Returns the number of bytes of the text before the character that folds to byte `at`; `with`: including that
 * character. */
static size_t folded_to_offset(struct span text, size_t at, bool with)
{
	char folded[FOLD_ROOM(1)];
	struct span rest = text;
	while (rest.n > 0) {
		size_t before = text.n - rest.n, n = fold_write(&rest, 1, folded);
		if (n > at)
			return with ? text.n - rest.n : before;
		at -= n;
	}
	return text.n;
}

/* Returns the first place of a word in folded text, from byte `from` on, or NULL. */
static const char *folded_find_word(struct span folded, size_t from, const struct term *t)
{
	const char *p = folded.p + from, *end = folded.p + folded.n;

	while ((p = memmem(p, (size_t)(end - p), t->text.p, t->text.n))) {
		if (t->kind != TERM_WHOLE || word_is_whole(folded, (size_t)(p - folded.p), t->text.n))
			return p;
		p++;
	}
	return NULL;
}

bool query_next_match(const struct query *q, struct span line, size_t from, struct span *ret)
{
	struct buf folded CLEANUP_BUF = BUF_INIT;
	struct span rest = {line.p + from, line.n - from};
	size_t begin = SIZE_MAX, end = 0;
	/* The character before the rest shows whether a word there is whole. */
	fold_add((struct span){line.p, from}, &folded);
	size_t before = folded.n;
	fold_add(rest, &folded);
	for (size_t i = 0; i < q->terms.n; i++) {
		const struct term *t = &q->terms.v[i];
		if (!term_is_word(t) || t->negated)
			continue;
		const char *p = folded_find_word(buf_span(&folded), before, t);
		size_t at = p ? (size_t)(p - folded.p) - before : SIZE_MAX;
		if (!p || at > begin || (at == begin && at + t->text.n <= end))
			continue;
		begin = at;
		end = at + t->text.n;
	}
	if (begin == SIZE_MAX)
		return false;
	begin = folded_to_offset(rest, begin, false);
	*ret = (struct span){rest.p + begin, folded_to_offset(rest, end - 1, true) - begin};
	return true;
}
