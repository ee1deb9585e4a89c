/* SPDX-License-Identifier: MIT */
/* Where in a line the words of a query stand, to be shown in colour. */
#include "query_impl.h"

#include "sessionfs/base/fold.h"

/* The longest character, and what it folds to. */
enum { CHARACTER = 4 };

/* The bytes of the character that the text begins with; a byte that is no UTF-8 counts as one. */
static size_t character(struct span text)
{
	size_t n = 1;
	while (n < text.n && n < CHARACTER && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* How much of the text the folded word takes, if the text begins with it; else 0. */
static size_t begins_with(struct span text, struct span word)
{
	char folded[FOLD_ROOM(CHARACTER)];
	size_t at = 0, done = 0;
	while (done < word.n) {
		if (at == text.n)
			return 0;
		size_t n = character((struct span){text.p + at, text.n - at});
		size_t k = fold_write(text.p + at, n, folded);
		if (k > word.n - done || memcmp(folded, word.p + done, k) != 0)
			return 0;
		at += n;
		done += k;
	}
	return at;
}

bool query_mark(const struct query *q, struct span line, size_t from, struct span *ret)
{
	for (size_t at = from; at < line.n; at += character((struct span){line.p + at, line.n - at})) {
		size_t longest = 0;
		for (size_t i = 0; i < q->terms.n; i++) {
			const struct term *t = &q->terms.v[i];
			if (t->kind != TERM_WORD || t->negated)
				continue;
			size_t n = begins_with((struct span){line.p + at, line.n - at}, t->text);
			longest = n > longest ? n : longest;
		}
		*ret = (struct span){line.p + at, longest};
		if (longest > 0)
			return true;
	}
	return false;
}
