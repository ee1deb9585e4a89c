/* SPDX-License-Identifier: MIT */
/* buf: growable bytes with a sticky error.
 *
 * Invariants: `p` is NULL or owned by the buf; `n <= cap`; the bytes are not NUL-terminated. After the first failed
 * growth `err` is -ENOMEM or the error of the disk, `n` stays, and every append is a no-op. So producers need not check
 * each call: the consumer checks buf_err() once.
 *
 * A buf longer than BUF_MAPPED is backed by an unnamed file ($TMPDIR or /var/tmp), mapped shared: under pressure the
 * kernel writes it out, so it costs disk space instead of memory. It works like any other memory, in system calls too.
 * Its space is reserved before use: on a full disk the error is -ENOSPC, which is logged once. If such a file cannot be
 * created, or both directories are in memory, long bufs stay in memory. */
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
	int file; /* the descriptor of the backing file, or 0, which is always standard input */
};

/* A longer buf is backed by a file. */
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

/* Makes room for `more` bytes after `n`. Returns where they begin, or NULL (and sets the sticky error). The caller
 * writes there and adds to `n`. */
char *buf_reserve(struct buf *b, size_t more);

/* Returns the memory used. A file counts as a sixteenth of its size, at least a MiB: files are not unlimited either. */
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

/* Appends up to n bytes of s from `off` on. */
static inline void buf_add_slice(struct buf *b, struct span s, uint64_t off, size_t n)
{
	if (off < s.n)
		buf_add(b, s.p + off, n < s.n - off ? n : s.n - (size_t)off);
}

/* `p` is never NULL: memmem(3) and its like must not get NULL, not even with no bytes. */
static inline struct span buf_span(const struct buf *b)
{
	return (struct span){b->p ? b->p : "", b->n};
}

/* Returns 0, or why an append failed. */
static inline int buf_err(const struct buf *b)
{
	return b->err;
}

/* Returns the bytes with a NUL after them (not counted in n), or NULL if out of memory. */
const char *buf_cstr(struct buf *b);

#define CLEANUP_BUF CLEANUP(buf_release)

#endif
