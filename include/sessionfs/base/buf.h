/* buf: growable bytes with a sticky error.
 *
 * Invariants: `p` is NULL or owned by the buf; `n <= cap`; the bytes are not
 * NUL-terminated. After the first failed growth `err` is -ENOMEM, `n` stays
 * and every append is a no-op, so that producers need not check each call:
 * they append, and the consumer looks at buf_err() once. */
#ifndef SESSIONFS_BUF_H
#define SESSIONFS_BUF_H

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/span.h"

#include <stdint.h>

struct buf {
	char *p;
	size_t n, cap;
	int err;
	struct paged *paged; /* whose bytes these are, or NULL */
};

/* A buf of this size or more is paged (paged.h): never pass its bytes to a system call. */
#define BUF_PAGED ((size_t)8 << 20)

#define BUF_INIT                                                                                                       \
	{                                                                                                              \
		NULL, 0, 0, 0, NULL                                                                                    \
	}

/* Frees the bytes; the buf is empty and usable again. */
void buf_release(struct buf *b);

/* Empties the buf and clears the error; keeps the memory. */
static inline void buf_reset(struct buf *b)
{
	b->n = 0;
	b->err = 0;
}

/* Makes room for `more` bytes after `n`. Returns where they begin, or NULL
 * (and the error sticks). The caller writes there and adds to `n`. */
char *buf_reserve(struct buf *b, size_t more);

/* Makes the buf a view of n bytes of a file from `off` on, in place of what it held. They must not be changed. */
void buf_map(struct buf *b, int fd, uint64_t off, size_t n);

/* The memory it uses, plus a share for the disk space it uses. */
size_t buf_memory(const struct buf *b);

void buf_add(struct buf *b, const void *p, size_t n);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

static inline void buf_addspan(struct buf *b, struct span s)
{
	buf_add(b, s.p, s.n);
}

static inline struct span buf_span(const struct buf *b)
{
	return (struct span){b->p, b->n};
}

/* 0, or -ENOMEM once an append failed. */
static inline int buf_err(const struct buf *b)
{
	return b->err;
}

/* The bytes with a NUL after them (not counted in n), or NULL without memory. */
const char *buf_cstr(struct buf *b);

#define CLEANUP_BUF CLEANUP(buf_release)

#endif
