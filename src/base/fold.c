/* SPDX-License-Identifier: MIT */
/* Most text is ASCII: that is folded 16 bytes at a time, and only other characters are looked up. */
#include "sessionfs/base/fold.h"
#include "sessionfs/base/utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* From first to last each step-th character folds to itself plus delta. */
struct fold_range {
	uint32_t first, last, step;
	int32_t delta;
};

#include "fold_table.h"

enum { RANGES = sizeof fold_ranges / sizeof *fold_ranges };

uint32_t fold_char(uint32_t c)
{
	size_t low = 0, high = RANGES;

	/* Between Georgian and Cyrillic capitals there is nothing but the scripts of East Asia. */
	if (c >= 0x2e80 && c < 0xa640)
		return c;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (fold_ranges[middle].last < c)
			low = middle + 1;
		else
			high = middle;
	}
	const struct fold_range *r = &fold_ranges[low];
	if (low == RANGES || c < r->first || (c - r->first) % r->step)
		return c;
	return (uint32_t)((int32_t)c + r->delta);
}

size_t fold_alike(uint32_t folded, uint32_t ret[FOLD_ALIKE])
{
	size_t n = 0;

	ret[n++] = folded;
	for (size_t i = 0; i < RANGES && n < FOLD_ALIKE; i++) {
		uint32_t c = (uint32_t)((int32_t)folded - fold_ranges[i].delta);
		if (c >= fold_ranges[i].first && c <= fold_ranges[i].last && fold_char(c) == folded)
			ret[n++] = c;
	}
	return n;
}

/* Folds the ASCII that p begins with; returns its length. At least 16 bytes can be written at `to`. */
static size_t fold_ascii(const char *p, size_t n, char *to)
{
	size_t i = 0;

#ifdef __SSE2__
	for (; n - i >= 16; i += 16) {
		__m128i b = _mm_loadu_si128((const __m128i *)(p + i));
		if (_mm_movemask_epi8(b))
			break;
		__m128i capital =
		    _mm_and_si128(_mm_cmpgt_epi8(b, _mm_set1_epi8('A' - 1)), _mm_cmplt_epi8(b, _mm_set1_epi8('Z' + 1)));
		b = _mm_or_si128(b, _mm_and_si128(capital, _mm_set1_epi8(0x20)));
		_mm_storeu_si128((__m128i *)(to + i), b);
	}
#endif
	for (; i < n && (unsigned char)p[i] < 0x80; i++)
		to[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 0x20 : p[i]);
	return i;
}

size_t fold_write(const char *p, size_t n, char *to)
{
	char *out = to;

	for (size_t i = 0; i < n;) {
		size_t ascii = fold_ascii(p + i, n - i, out);
		i += ascii;
		out += ascii;
		if (i == n)
			break;
		int step = utf8_next(p + i, n - i);
		if (step > 0) {
			out = utf8_put(fold_char(utf8_char(p + i, step)), out);
			i += (size_t)step;
			continue;
		}
		for (; step < 0; step++)
			*out++ = p[i++];
	}
	return (size_t)(out - to);
}

void fold_add(struct span text, struct buf *out)
{
	char *to = buf_reserve(out, FOLD_ROOM(text.n));

	if (to)
		out->n += fold_write(text.p, text.n, to);
}
