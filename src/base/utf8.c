/* SPDX-License-Identifier: MIT */
/* Text is mostly ASCII: 16 bytes at a time are skipped while no high bit is set, and only the rest is checked byte by
 * byte. */
#include "sessionfs/base/utf8.h"

#include "sessionfs/base/bytes.h"

struct lead {
	unsigned more;           /* the number of continuation bytes */
	unsigned char low, high; /* the range of the first of them */
};

static struct lead utf8_lead(unsigned char c)
{
	if (c < 0xc2 || c > 0xf4)
		return (struct lead){0, 0, 0};
	if (c < 0xe0)
		return (struct lead){1, 0x80, 0xbf};
	if (c < 0xf0)
		return (struct lead){2, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf};
	return (struct lead){3, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf};
}

int utf8_next(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	if (u[0] < 0x80)
		return 1;
	struct lead lead = utf8_lead(u[0]);
	if (lead.more == 0 || n < 2 || u[1] < lead.low || u[1] > lead.high)
		return -1;
	for (unsigned i = 2; i <= lead.more; i++)
		if (i >= n || (u[i] & 0xc0) != 0x80)
			return -(int)i;
	return (int)lead.more + 1;
}

size_t utf8_prefix(struct span s)
{
	size_t i = 0;

	while (i < s.n) {
		if ((unsigned char)s.p[i] < 0x80) {
			i++;
			while (s.n - i >= sizeof(bytes16) && !bytes16_mask(bytes16_load(s.p + i) < 0))
				i += sizeof(bytes16);
			continue;
		}
		int step = utf8_next(s.p + i, s.n - i);
		if (step < 0)
			break;
		i += (size_t)step;
	}
	return i;
}

size_t utf8_incomplete(struct span s)
{
	for (size_t k = 1; k <= 3 && k <= s.n; k++) {
		unsigned char c = (unsigned char)s.p[s.n - k];
		if (c < 0x80 || c > 0xbf)
			return utf8_lead(c).more >= k ? k : 0;
	}
	return 0;
}

size_t utf8_count(struct span text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; n++) {
		int step = utf8_next(text.p + i, text.n - i);
		i += (size_t)(step < 0 ? -step : step);
	}
	return n;
}

struct span utf8_first(struct span text, size_t characters)
{
	size_t n = 0;

	while (n < text.n && characters-- > 0) {
		int step = utf8_next(text.p + n, text.n - n);
		n += (size_t)(step < 0 ? -step : step);
	}
	return (struct span){text.p, n};
}
