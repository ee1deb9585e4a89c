/* SPDX-License-Identifier: MIT */
/* buf: growable bytes with a sticky error.
 *
 * Invariants: `p` is NULL or owned by the buf; `n <= cap`; the bytes are not
 * NUL-terminated. After the first failed growth `err` is -ENOMEM or what the disk said, `n` stays
 * and every append is a no-op, so that producers need not check each call:
 * they append, and the consumer looks at buf_err() once.
 *
 * What is longer than BUF_MAPPED lies in a file without a name ($TMPDIR or /var/tmp), mapped shared: under pressure the
 * kernel writes it out, so it costs disk space and not memory. It is memory like any other, for system calls too. Its
 * space is reserved before it is used: on a full disk the error is -ENOSPC. Where no such file can be made, and where
 * both directories lie in memory, long bufs stay in memory. */
#ifndef SESSIONFS_BUF_H
#define SESSIONFS_BUF_H

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/span.h"

#include <stdint.h>

struct buf {
	char *p;
	size_t n, cap;
	int err;
	int file; /* the descriptor of the file that the bytes lie in, or 0: that one is always standard input */
};

/* A longer buf lies in a file. */
#define BUF_MAPPED ((size_t)LIMIT(8 << 20, 4096))

#define BUF_INIT                                                                                                       \
	{                                                                                                              \
		NULL, 0, 0, 0, 0                                                                                       \
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

/* The memory it uses. Of what lies in a file a sixteenth counts, at least a MiB: files are not unlimited either. */
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

/* 0, or why an append failed. */
static inline int buf_err(const struct buf *b)
{
	return b->err;
}

/* The bytes with a NUL after them (not counted in n), or NULL without memory. */
const char *buf_cstr(struct buf *b);

#define CLEANUP_BUF CLEANUP(buf_release)

#endif
