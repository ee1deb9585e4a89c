/* Growth doubles, so n appends cost O(n). An append that cannot grow changes
 * nothing but `err`: half a value is never mistaken for a whole one. */
#include "sessionfs/base/buf.h"

#include "sessionfs/base/fault.h"
#include "sessionfs/base/paged.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

/* Addresses are cheap. */
#define MOST_PAGED ((size_t)1 << 36)

void buf_release(struct buf *b)
{
	if (b->paged)
		paged_close(b->paged);
	else
		free(b->p);
	*b = (struct buf)BUF_INIT;
}

static char *fail(struct buf *b, int err)
{
	b->err = err;
	fault_note(err);
	return NULL;
}

/* Makes the buf paged. If there is no room for the file behind it, the buf stays in memory. */
static bool turn_paged(struct buf *b)
{
	struct paged *paged;
	if (paged_make(MOST_PAGED, &paged) < 0)
		return false;
	if (paged_grow(paged, b->n) < 0) {
		paged_close(paged);
		return false;
	}
	if (b->n)
		memcpy(paged_bytes(paged), b->p, b->n);
	free(b->p);
	b->paged = paged;
	b->p = paged_bytes(paged);
	b->cap = MOST_PAGED;
	return true;
}

static char *reserve_paged(struct buf *b, size_t more)
{
	if (more > b->cap - b->n)
		return fail(b, -ENOMEM);
	int rc = paged_grow(b->paged, b->n + more);
	return rc < 0 ? fail(b, rc) : b->p + b->n;
}

char *buf_reserve(struct buf *b, size_t more)
{
	if (b->err)
		return NULL;
	if (b->paged && b->cap == 0)
		buf_release(b);
	if (b->paged)
		return reserve_paged(b, more);
	if (b->cap - b->n >= more && b->p)
		return b->p + b->n;
	size_t cap = b->cap ? b->cap : 64;
	while (cap - b->n < more) {
		if (cap > SIZE_MAX / 2)
			return fail(b, -ENOMEM);
		cap *= 2;
	}
	if (b->n + more > BUF_PAGED && turn_paged(b))
		return reserve_paged(b, more);
	char *p = realloc(b->p, cap);
	if (!p)
		return fail(b, -ENOMEM);
	b->p = p;
	b->cap = cap;
	return p + b->n;
}

void buf_map(struct buf *b, int fd, uint64_t off, size_t n)
{
	buf_release(b);
	int rc = paged_map(fd, off, n, &b->paged);
	if (rc < 0) {
		fail(b, rc);
		return;
	}
	b->p = paged_bytes(b->paged);
	b->n = n;
}

size_t buf_memory(const struct buf *b)
{
	if (!b->paged)
		return b->cap;
	return PAGED_MEMORY + (b->cap ? b->n / 16 : 0);
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
