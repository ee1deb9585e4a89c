/* SPDX-License-Identifier: MIT */
/* Most text is ASCII, which is folded 16 bytes at a time; only other characters are looked up. Text is composed cluster
 * by cluster: a character, and the characters after it that can combine with it. */
#include "sessionfs/base/fold.h"
#include "sessionfs/base/bytes.h"
#include "sessionfs/base/utf8.h"

#include <utf8proc.h>

uint32_t fold_char(uint32_t c)
{
	utf8proc_int32_t full[4];

	/* Between Georgian and Cyrillic capitals there are only the scripts of East Asia. */
	if (c >= 0x2e80 && c < 0xa640)
		return c;
	if (utf8proc_decompose_char((utf8proc_int32_t)c, full, 4, UTF8PROC_CASEFOLD, NULL) == 1)
		return (uint32_t)full[0];
	/* The full folding has several characters. The simple one, if any, is the lower case; a capital I with a dot
	 * has none. */
	return c == 0x130 ? c : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

bool fold_is_word(uint32_t c)
{
	utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);

	return c == '_' || (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ND);
}

/* Returns the form a composed character compares as. A mark stays a mark: case folding makes U+0345 a letter. */
static uint32_t fold_plain(uint32_t c)
{
	switch (c) {
	case 0x0345:
		return c;
	case 0x02bc:
	case 0x2018:
	case 0x2019:
	case 0x201b:
		return '\'';
	case 0x201c:
	case 0x201d:
	case 0x201f:
		return '"';
	case 0x2010:
	case 0x2011:
	case 0x2012:
	case 0x2013:
	case 0x2014:
	case 0x2015:
	case 0x2212:
		return '-';
	case 0x00a0:
	case 0x2007:
	case 0x2009:
	case 0x202f:
		return ' ';
	default:
		return fold_char(c);
	}
}

/* --- clusters --------------------------------------------------------------------- */

/* Maximum characters of a cluster, and of its decomposition. */
enum { CLUSTER = 1 + FOLD_MARKS, DECOMPOSED = 4 * CLUSTER };

_Static_assert(FOLD_ROOM(0) >= 12 * CLUSTER, "a cluster fits");

/* These ranges contain all characters that composed text cannot have, and few others. */
static const struct {
	uint32_t first, last;
} uncomposed[] = {
    {0x340, 0x344},   {0x374, 0x387},     {0x958, 0x95f},     {0x9dc, 0x9df},     {0xa33, 0xa36},
    {0xa59, 0xa5e},   {0xb5c, 0xb5d},     {0xf43, 0xf81},     {0xf93, 0xfb9},     {0x1f71, 0x1f7d},
    {0x1fbb, 0x2001}, {0x2126, 0x212b},   {0x2329, 0x232a},   {0x2adc, 0x2adc},   {0xf900, 0xfad9},
    {0xfb1d, 0xfb4e}, {0x1d15e, 0x1d164}, {0x1d1bb, 0x1d1c0}, {0x2f800, 0x2fa1d},
};

enum { UNCOMPOSED = sizeof uncomposed / sizeof *uncomposed };

static bool is_uncomposed(uint32_t c)
{
	size_t i = 0;

	while (i < UNCOMPOSED && uncomposed[i].last < c)
		i++;
	return i < UNCOMPOSED && c >= uncomposed[i].first;
}

/* Returns whether the character can combine or change places with the one before it: a mark, or the rest of a Hangul
 * syllable. */
static bool combines_with_previous(uint32_t c)
{
	/* Most text beyond ASCII: western letters, arrows, lines and other symbols. */
	if (c < 0x300 || (c >= 0x2100 && c < 0x2c00))
		return false;
	if (c >= 0x1160 && c < 0x1200)
		return true;
	utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
	return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

/* Returns the length of the character at p if it joins the one before it, else 0. */
static int combining_size(const char *p, const char *end)
{
	/* Below U+0300. */
	if (p == end || (unsigned char)*p < 0xcc)
		return 0;
	int step = utf8_next(p, (size_t)(end - p));
	return step > 0 && combines_with_previous(utf8_char(p, step)) ? step : 0;
}

/* Writes the cluster composed and folded. The folded form can compose once more, as a small J with a caron does. */
static char *fold_compose(const char *p, size_t n, char *to)
{
	utf8proc_int32_t c[DECOMPOSED];
	char *out = to;

	for (int pass = 0; pass < 2; pass++, p = to, n = (size_t)(out - to)) {
		utf8proc_ssize_t length = utf8proc_decompose((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, c,
		                                             DECOMPOSED, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
		length = utf8proc_normalize_utf32(c, length, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
		out = to;
		for (utf8proc_ssize_t i = 0; i < length; i++)
			out = utf8_put(fold_plain((uint32_t)c[i]), out);
	}
	return out;
}

/* Writes the cluster at *p folded, and advances *p. An ill-formed sequence is a cluster, too. */
static char *fold_cluster(const char **p, const char *end, char *to)
{
	const char *begin = *p;
	int step = utf8_next(begin, (size_t)(end - begin)), n;

	*p += step < 0 ? -step : step;
	if (step < 0) {
		memcpy(to, begin, (size_t)-step);
		return to - step;
	}
	for (int marks = 0; marks < FOLD_MARKS && (n = combining_size(*p, end)) > 0; marks++)
		*p += n;
	uint32_t c = utf8_char(begin, step);
	if (*p == begin + step && !is_uncomposed(c))
		return utf8_put(fold_plain(c), to);
	return fold_compose(begin, (size_t)(*p - begin), to);
}

/* --- characters ------------------------------------------------------------------- */

/* Returns whether the character alone folds to one of the parts. */
static bool fold_contains(uint32_t c, const utf8proc_int32_t *parts, utf8proc_ssize_t n)
{
	char bytes[4], folded[FOLD_ROOM(4)];
	const char *p = bytes, *end = fold_cluster(&p, utf8_put(c, bytes), folded);

	for (p = folded; p < end;) {
		int step = utf8_next(p, (size_t)(end - p));
		for (utf8proc_ssize_t i = 0; i < n; i++)
			if (utf8_char(p, step) == (uint32_t)parts[i])
				return true;
		p += step;
	}
	return false;
}

uint32_t fold_char_full(uint32_t c)
{
	char bytes[4], folded[FOLD_ROOM(4)];
	const char *p = bytes;

	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
	if (combines_with_previous(c))
		return FOLD_MANY;
	if (!is_uncomposed(c))
		return fold_plain(c);
	int n = (int)(fold_cluster(&p, utf8_put(c, bytes), folded) - folded);
	return utf8_next(folded, (size_t)n) == n ? utf8_char(folded, n) : FOLD_MANY;
}

size_t fold_variants(uint32_t folded, uint32_t ret[FOLD_VARIANTS_MAX])
{
	/* The character itself, and the marks that it can be written with. */
	utf8proc_int32_t parts[4];
	utf8proc_ssize_t n_parts =
	    utf8proc_decompose_char((utf8proc_int32_t)folded, parts, 4, UTF8PROC_DECOMPOSE, NULL);
	size_t n = 0;

	parts[0] = (utf8proc_int32_t)folded;
	for (utf8proc_ssize_t i = 0; i < n_parts; i++)
		ret[n++] = (uint32_t)parts[i];
	/* All cases of a character are in one plane of Unicode. */
	for (uint32_t plane = folded & ~0xffffu, c = plane; c <= (plane | 0xffff); c++)
		if (c != folded && fold_char(c) == folded && n < FOLD_VARIANTS_MAX)
			ret[n++] = c;
	/* The typographic forms of ASCII characters; fold_plain has all of them. */
	for (uint32_t c = 0xa0; folded < 'a' && c <= 0x2212; c++)
		if (fold_plain(c) == folded && n < FOLD_VARIANTS_MAX)
			ret[n++] = c;
	for (size_t i = 0; i < UNCOMPOSED; i++)
		for (uint32_t c = uncomposed[i].first; c <= uncomposed[i].last; c++)
			if (n < FOLD_VARIANTS_MAX && fold_char(c) != folded && fold_contains(c, parts, n_parts))
				ret[n++] = c;
	return n;
}

/* --- text ------------------------------------------------------------------------- */

/* Folds the ASCII at the start of p; returns its length. `to` has room for at least 16 bytes. */
static size_t fold_ascii(const char *p, size_t n, char *to)
{
	size_t i = 0;

	for (; n - i >= 16; i += 16) {
		bytes16 b = bytes16_load(p + i);
		if (bytes16_mask(b < 0))
			break;
		b |= bytes16_range(b, 'A', 'Z') & 0x20;
		memcpy(to + i, &b, sizeof b);
	}
	for (; i < n && (unsigned char)p[i] < 0x80; i++)
		to[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 0x20 : p[i]);
	return i;
}

size_t fold_write(struct span *rest, size_t most, char *to)
{
	const char *p = rest->p, *end = p + rest->n, *stop = most < rest->n ? p + most : end;
	char *out = to;

	while (p < stop) {
		size_t ascii = fold_ascii(p, (size_t)(stop - p), out);
		ascii -= ascii > 0 && combining_size(p + ascii, end) > 0;
		p += ascii;
		out += ascii;
		if (p < stop)
			out = fold_cluster(&p, end, out);
	}
	*rest = (struct span){p, (size_t)(end - p)};
	return (size_t)(out - to);
}

void fold_add(struct span text, struct buf *out)
{
	while (text.n > 0) {
		char *to = buf_reserve(out, FOLD_ROOM(text.n < FOLD_PIECE ? text.n : FOLD_PIECE));
		if (!to)
			return;
		out->n += fold_write(&text, FOLD_PIECE, to);
	}
}
