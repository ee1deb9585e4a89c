/* Growth doubles, so n appends cost O(n). An append that cannot grow changes
 * nothing but `err`: half a value is never mistaken for a whole one. */
#include "sessionfs/buf.h"

#include "sessionfs/fault.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

void buf_release(struct buf *b)
{
	cleanup_free(&b->p);
	*b = (struct buf)BUF_INIT;
}

char *buf_reserve(struct buf *b, size_t more)
{
	if (b->err)
		return NULL;
	if (b->cap - b->n >= more && b->p)
		return b->p + b->n;
	size_t cap = b->cap ? b->cap : 64;
	while (cap - b->n < more) {
		if (cap > SIZE_MAX / 2) {
			b->err = -ENOMEM;
			fault_note(-ENOMEM);
			return NULL;
		}
		cap *= 2;
	}
	char *p = realloc(b->p, cap);
	if (!p) {
		b->err = -ENOMEM;
		fault_note(-ENOMEM);
		return NULL;
	}
	b->p = p;
	b->cap = cap;
	return p + b->n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	char *to = buf_reserve(b, n);
	if (!to || n == 0)
		return;
	memcpy(to, p, n);
	b->n += n;
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char small[256];

	va_start(ap, fmt);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->err = -ENOMEM;
		return;
	}
	if ((size_t)n < sizeof small) {
		buf_add(b, small, (size_t)n);
		return;
	}
	char *to = buf_reserve(b, (size_t)n + 1);
	if (!to)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

const char *buf_cstr(struct buf *b)
{
	char *end = buf_reserve(b, 1);
	if (!end)
		return NULL;
	*end = '\0';
	return b->p;
}
