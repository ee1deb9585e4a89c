/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t space_size(struct span s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (s.n && (p[0] == ' ' || (p[0] >= '\t' && p[0] <= '\r')))
		return 1;
	if (s.n > 1 && p[0] == 0xc2 && p[1] == 0xa0)
		return 2;
	if (s.n < 3)
		return 0;
	/* U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000, U+FEFF: the white space of JavaScript. */
	uint32_t c = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
	bool is_space = c == 0xe19a80 || (c >= 0xe28080 && c <= 0xe2808a) || c == 0xe280a8 || c == 0xe280a9 ||
	                c == 0xe280af || c == 0xe2819f || c == 0xe38080 || c == 0xefbbbf;
	return is_space ? 3 : 0;
}

struct span space_trim(struct span s)
{
	for (size_t n; (n = space_size(s)) > 0;)
		s = (struct span){s.p + n, s.n - n};
	for (size_t n = 1; n <= 3 && n <= s.n;) {
		bool ends = space_size((struct span){s.p + s.n - n, n}) == n;
		s.n -= ends ? n : 0;
		n = ends ? 1 : n + 1;
	}
	return s;
}

size_t control_size(struct span s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (s.n && (p[0] < 0x20 || p[0] == 0x7f))
		return 1;
	if (s.n > 1 && p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
		return 2;
	return s.n > 2 && memcmp(p, "\xe2\x80", 2) == 0 && (p[2] == 0xa8 || p[2] == 0xa9) ? 3 : 0;
}

size_t space_flatten(char *p, size_t n, char instead, const char *keep)
{
	char *to = p;

	for (size_t i = 0, step; i < n; i += step) {
		int size = p[i] >= ' ' && p[i] < 0x7f ? 1 : utf8_next(p + i, n - i);
		step = size > 0 ? (size_t)size : 1;
		bool is_control = size > 0 && control_size((struct span){p + i, step}) > 0;
		if (keep)
			is_control = size > 0 ? is_control && !memchr(keep, p[i], strlen(keep))
			                      : ((unsigned char)p[i] & 0xe0) == 0x80;
		if (is_control)
			*to++ = instead;
		for (size_t k = is_control ? step : 0; k < step; k++)
			*to++ = p[i + k];
	}
	return (size_t)(to - p);
}
