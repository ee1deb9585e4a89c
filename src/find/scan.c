/* SPDX-License-Identifier: MIT */
/* Blocks overlap so that no word is split: a place is checked only if the block also contains SCAN_MARGIN bytes on both
 * sides, or the file begins or ends there. */
#include "scan.h"

#include "sessionfs/base/cancel.h"

#include "query_impl.h"

#include <errno.h>
#include <stdlib.h>

/* A block fits into the CPU's cache, so that it is fetched from memory once. */
enum { SCAN_BLOCK_SIZE = 256 * 1024, SCAN_MARGIN = 512 };

_Static_assert(SCAN_MARGIN >= NEEDLE_BYTES, "a run fits");

/* --- needles ----------------------------------------------------------------------- */

static int needle_rarity_cmp(const void *a, const void *b)
{
	const struct needle *x = a, *y = b;

	return (x->rarity < y->rarity) - (x->rarity > y->rarity);
}

int needles_make(const struct query *q, struct needles *ret)
{
	bool lacks_one = false;

	*ret = (struct needles){.v = calloc(q->terms.n, sizeof *ret->v), .any = q->in_session};
	if (!ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < q->terms.n; i++) {
		const struct term *t = &q->terms.v[i];
		const struct filter *f = &query_filters[t->kind];
		if (t->negated || !f->needle || (ret->any && !term_is_word(t)))
			continue;
		/* A word with a newline is in no line. */
		ret->never |= term_is_word(t) && memchr(t->text.p, '\n', t->text.n);
		bool has = needle_make(f->needle(t->text), &ret->v[ret->n]);
		ret->n += has;
		lacks_one |= !has;
	}
	/* Any line can have a word without a needle. */
	if (ret->any && lacks_one)
		ret->n = 0;
	qsort(ret->v, ret->n, sizeof *ret->v, needle_rarity_cmp);
	return 0;
}

void needles_release(struct needles *p)
{
	free(p->v);
}

/* --- reading ---------------------------------------------------------------------- */

int scanner_init(struct scanner *s)
{
	*s = (struct scanner){.bytes = malloc(SCAN_BLOCK_SIZE + NEEDLE_PAD)};
	if (!s->bytes)
		return -ENOMEM;
	memset(s->bytes, 0, SCAN_BLOCK_SIZE + NEEDLE_PAD);
	return 0;
}

void scanner_release(struct scanner *s)
{
	free(s->bytes);
}

void scanner_set(struct scanner *s, const struct match_file *file)
{
	s->file = file;
	s->offset = s->n = 0;
	s->at_end = false;
}

/* Moves the block to `offset`, and reads only the bytes it lacks. */
static int scanner_read_block(struct scanner *s, uint64_t offset)
{
	uint64_t end = s->offset + s->n;
	size_t keep = offset >= s->offset && offset < end ? (size_t)(end - offset) : 0;

	memmove(s->bytes, s->bytes + s->n - keep, keep);
	s->offset = offset;
	s->n = keep;
	s->at_end = false;
	while (s->n < SCAN_BLOCK_SIZE && !s->at_end) {
		ssize_t n = s->file->read(s->file->arg, s->bytes + s->n, SCAN_BLOCK_SIZE - s->n, s->offset + s->n);
		if (n < 0)
			return (int)n;
		s->at_end = n == 0;
		s->n += (size_t)n;
	}
	return cancel_check();
}

/* Returns the end of the places that can be checked in this block. */
static uint64_t scanner_block_end(const struct scanner *s)
{
	if (s->at_end)
		return s->offset + s->n;
	return s->offset + (s->n > SCAN_MARGIN ? s->n - SCAN_MARGIN : 0);
}

/* --- finding ---------------------------------------------------------------------- */

/* Returns whether the line at `place` has the other needles, too: true if the block has only a part of it. If false,
 * sets *ret_next to the end of the line. */
static bool line_has_other_needles(const struct scanner *s, const struct needles *needles, const char *place,
                                   const char **ret_next)
{
	const char *end = s->bytes + s->n;
	const char *first = memrchr(s->bytes, '\n', (size_t)(place - s->bytes));
	const char *last = memchr(place, '\n', (size_t)(end - place));

	if (needles->n < 2 || (!first && s->offset > 0) || (!last && !s->at_end))
		return true;
	first = first ? first + 1 : s->bytes;
	last = last ? last : end;
	for (size_t i = 1; i < needles->n; i++) {
		if (needle_find(&needles->v[i], first, first, last, last))
			continue;
		*ret_next = last;
		return false;
	}
	return true;
}

/* Searches each line from p to before `to` for one of the needles. */
static const char *scanner_find_any(const struct scanner *s, const struct needles *needles, const char *p,
                                    const char *to)
{
	for (const char *last; p < to; p = last + 1) {
		last = memchr(p, '\n', (size_t)(to - p));
		last = last ? last : to;
		for (size_t i = 0; i < needles->n; i++) {
			const char *place = needle_find(&needles->v[i], s->bytes, p, last, s->bytes + s->n);
			if (place)
				return place;
		}
	}
	return NULL;
}

/* Searches the block from `from` on. If it returns NULL, *ret_next is where to continue. */
static const char *scanner_find_in_block(const struct scanner *s, const struct needles *needles, uint64_t from,
                                         uint64_t *ret_next)
{
	const char *p = s->bytes + (from - s->offset), *to = s->bytes + (scanner_block_end(s) - s->offset);

	while (p < to) {
		const char *place = needles->any ? scanner_find_any(s, needles, p, to)
		                                 : needle_find(&needles->v[0], s->bytes, p, to, s->bytes + s->n);
		if (!place)
			break;
		if (needles->any || line_has_other_needles(s, needles, place, &p))
			return place;
	}
	*ret_next = s->offset + (uint64_t)((p > to ? p : to) - s->bytes);
	return NULL;
}

int scanner_find(struct scanner *s, const struct needles *needles, uint64_t from, uint64_t *ret_at)
{
	while (!needles->never) {
		/* The block must cover `from`, with its margin. */
		uint64_t begin = from > SCAN_MARGIN ? from - SCAN_MARGIN : 0;
		bool is_covered = begin >= s->offset && from < scanner_block_end(s);
		int rc = is_covered ? 0 : scanner_read_block(s, begin);
		if (rc < 0 || from >= scanner_block_end(s))
			return rc;
		*ret_at = from;
		if (needles->n == 0)
			return 1;
		const char *place = scanner_find_in_block(s, needles, from, &from);
		if (!place)
			continue;
		*ret_at = s->offset + (uint64_t)(place - s->bytes);
		return 1;
	}
	return 0;
}

int scanner_find_each(struct scanner *s, const struct needles *needles, uint64_t from, size_t *found)
{
	uint64_t at;
	int rc = !needles->never;

	for (; rc > 0 && needles->n > *found; from = 0) {
		const struct needles one = {.v = needles->v + *found, .n = 1};
		rc = scanner_find(s, &one, from, &at);
		*found += rc > 0;
	}
	return rc;
}
