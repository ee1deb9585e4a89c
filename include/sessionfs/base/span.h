/* SPDX-License-Identifier: MIT */
/* span: borrowed bytes, the string type that crosses the layers.
 *
 * A span never owns its bytes and need not end in a NUL. It is valid as long as the buffer it points into: usually a
 * line that a `struct line` holds. */
#ifndef SESSIONFS_SPAN_H
#define SESSIONFS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *p;
	size_t n;
};

#define SPAN_LIT(s) ((struct span){(s), sizeof(s) - 1})

static inline bool char_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static inline bool char_is_alnum(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26 || char_is_digit(c);
}

static inline struct span span_of(const char *s)
{
	return (struct span){s, strlen(s)};
}

static inline bool span_eq(struct span a, struct span b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Compares bytes: negative, 0, or positive. */
static inline int span_compare(struct span a, struct span b)
{
	size_t least = a.n < b.n ? a.n : b.n;
	int order = least ? memcmp(a.p, b.p, least) : 0;
	return order ? order : (a.n > b.n) - (a.n < b.n);
}

static inline bool span_is(struct span a, const char *s)
{
	return span_eq(a, span_of(s));
}

static inline bool span_begins(struct span a, struct span with)
{
	return a.n >= with.n && (with.n == 0 || memcmp(a.p, with.p, with.n) == 0);
}

/* Returns whether each byte of a is in `of`. */
static inline bool span_only(struct span a, struct span of)
{
	while (a.n && memchr(of.p, a.p[a.n - 1], of.n))
		a.n--;
	return a.n == 0;
}

/* Splits the first line off the rest, without its newline. Returns false if the rest is empty. */
static inline bool span_line(struct span *rest, struct span *ret)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	*ret = (struct span){rest->p, end ? (size_t)(end - rest->p) : rest->n};
	size_t step = ret->n + (end != NULL);
	if (step == 0)
		return false;
	*rest = (struct span){rest->p + step, rest->n - step};
	return true;
}

#endif
