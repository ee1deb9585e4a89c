/* SPDX-License-Identifier: MIT */
/* Finds the words of a query in a line, for highlighting. */
#include "query_impl.h"

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

bool query_next_match(const struct query *q, struct span line, size_t from, struct span *ret)
{
	struct buf folded CLEANUP_BUF = BUF_INIT;
	struct span rest = {line.p + from, line.n - from};
	size_t begin = SIZE_MAX, end = 0;
	fold_add(rest, &folded);
	for (size_t i = 0; i < q->terms.n; i++) {
		const struct term *t = &q->terms.v[i];
		if (t->kind != TERM_WORD || t->negated || folded.n < t->text.n)
			continue;
		const char *p = memmem(folded.p, folded.n, t->text.p, t->text.n);
		size_t at = p ? (size_t)(p - folded.p) : SIZE_MAX;
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
