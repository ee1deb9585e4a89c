/* SPDX-License-Identifier: MIT */
/* utf8: well-formed or not, by the WHATWG decoder (Unicode table 3-7), so that U+FFFD is in the same places as in pi,
 * which reads files through that decoder. */
#ifndef SESSIONFS_UTF8_H
#define SESSIONFS_UTF8_H

#include "sessionfs/base/span.h"

#include <stdint.h>

/* Returns the length of the character at p, of n > 0 bytes, if it is well-formed; else minus the length of the maximal
 * ill-formed subpart (1 to 3). */
int utf8_next(const char *p, size_t n);

/* Returns the well-formed character of n bytes at p. */
static inline uint32_t utf8_char(const char *p, int n)
{
	uint32_t c = (unsigned char)*p & (n > 1 ? 0x7fu >> n : 0x7fu);
	for (int i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

/* Writes a character, at most 4 bytes, and returns its end. A surrogate is written like any other (WTF-8). */
static inline char *utf8_put(uint32_t c, char *to)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c >= 0x10000)
			*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(c < 0x10000 ? 0xe0 | c >> 12 : 0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* Returns the length of the well-formed prefix. */
size_t utf8_prefix(struct span s);

/* Returns the number of bytes of a character at the end that lacks bytes. */
size_t utf8_incomplete(struct span s);

/* Returns the first `characters` characters of text, or all. */
struct span utf8_first(struct span text, size_t characters);
/* Returns the number of characters. */
size_t utf8_count(struct span text);

#endif
