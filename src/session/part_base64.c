/* SPDX-License-Identifier: MIT */
/* Base64 as Node's Buffer.from(text, "base64") reads it: both alphabets; other characters are skipped; the first `=`
 * ends it. A character beyond U+00FF counts as the low byte of each of its UTF-16 units, as in Node.
 *
 * Images are megabytes of clean base64, which is measured and decoded in groups. A group with an odd character in it is
 * decoded one character at a time. */
#include "record_impl.h"

#include "sessionfs/base/bytes.h"
#include "sessionfs/base/utf8.h"

#include <stdint.h>
#include <string.h>

enum {
	GROUP = 4,  /* characters that make three bytes */
	CHUNK = 64, /* characters measured at once */
};

/* The value of a character plus one; 0 for characters outside both alphabets. */
static const unsigned char value_of[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,  ['I'] = 9,
    ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
    ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27,
    ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
    ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45,
    ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
    ['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63,
    ['-'] = 63, ['/'] = 64, ['_'] = 64,
};

struct base64_decoder {
	char *to;      /* NULL: count only */
	size_t n;      /* bytes decoded */
	uint32_t bits; /* of the unfinished group */
	unsigned have; /* characters of the unfinished group */
	bool ended;    /* a `=` was read */
};

static inline void base64_put_group(struct base64_decoder *d, uint32_t bits)
{
	if (d->to) {
		d->to[d->n] = (char)(bits >> 16);
		d->to[d->n + 1] = (char)(bits >> 8);
		d->to[d->n + 2] = (char)bits;
	}
	d->n += 3;
}

static void base64_put_unit(struct base64_decoder *d, uint32_t unit)
{
	unsigned char c = (unsigned char)unit;

	d->ended |= c == '=';
	if (d->ended || !value_of[c])
		return;
	d->bits = d->bits << 6 | (value_of[c] - 1u);
	if (++d->have < GROUP)
		return;
	base64_put_group(d, d->bits);
	d->bits = d->have = 0;
}

/* Returns the end of the character at p, which is not ASCII. */
static const char *base64_put_wide_char(struct base64_decoder *d, const char *p, const char *end)
{
	int step = utf8_next(p, (size_t)(end - p));
	if (step < 0)
		return p - step;
	uint32_t c = utf8_char(p, step);
	if (c > 0xffff) {
		base64_put_unit(d, 0xd7c0 + (c >> 10));
		c &= 0x3ff;
	}
	base64_put_unit(d, c);
	return p + step;
}

static void base64_put_last(struct base64_decoder *d)
{
	if (d->have < 2)
		return;
	uint32_t bits = d->bits << 6 * (GROUP - d->have);
	if (d->to) {
		d->to[d->n] = (char)(bits >> 16);
		if (d->have == 3)
			d->to[d->n + 1] = (char)(bits >> 8);
	}
	d->n += d->have - 1;
}

/* Returns whether CHUNK characters at p all belong to an alphabet. */
static bool chunk_is_clean(const char *p)
{
	bytes16 odd = {0};

	for (size_t i = 0; i < CHUNK; i += sizeof odd) {
		bytes16 c = bytes16_load(p + i);
		odd |= ~(bytes16_range(c | 0x20, 'a', 'z') | bytes16_range(c, '0', '9') | (c == '+') | (c == '-') |
		         (c == '/') | (c == '_'));
	}
	return bytes16_mask(odd) == 0;
}

/* Returns the end of the whole groups at p, before the first odd character. */
static const char *base64_put_groups(struct base64_decoder *d, const char *p, const char *end)
{
	while (!d->to && end - p >= CHUNK && chunk_is_clean(p)) {
		d->n += CHUNK / GROUP * 3;
		p += CHUNK;
	}
	for (; end - p >= GROUP; p += GROUP) {
		uint32_t a = value_of[(unsigned char)p[0]], b = value_of[(unsigned char)p[1]];
		uint32_t c = value_of[(unsigned char)p[2]], e = value_of[(unsigned char)p[3]];
		if (!a || !b || !c || !e)
			break;
		base64_put_group(d, (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (e - 1));
	}
	return p;
}

size_t base64_decode(struct span text, char *to)
{
	struct base64_decoder d = {.to = to};
	const char *p = text.p, *end = text.n ? p + text.n : p;

	while (p < end && !d.ended) {
		if (d.have == 0) {
			p = base64_put_groups(&d, p, end);
			if (p == end)
				break;
		}
		if ((unsigned char)*p < 0x80)
			base64_put_unit(&d, (unsigned char)*p++);
		else
			p = base64_put_wide_char(&d, p, end);
	}
	base64_put_last(&d);
	return d.n;
}
