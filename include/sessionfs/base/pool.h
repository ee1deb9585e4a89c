/* SPDX-License-Identifier: MIT */
/* pool: memory that never moves, and is freed all at once. Thread-safe.
 *
 * A large pool that spills is in unnamed files, like a long buf: reading it can wait for the disk, so hold no lock of
 * the catalog, and no leaf. If no file can be made, it stays in memory. */
#ifndef SESSIONFS_POOL_H
#define SESSIONFS_POOL_H

#include "sessionfs/base/lock.h"
#include "sessionfs/base/span.h"

#include <stdatomic.h>

struct pool {
	struct lock lock; /* guards the chunks; never held during a system call */
	struct pool_chunk *newest;
	_Atomic unsigned refs;
	_Atomic size_t size, memory; /* bytes that were allocated; memory used, where files count as in buf_memory */
	size_t size_max;             /* for the owner's use; 0: not set */
	bool spills;                 /* constant */
};

struct pool *pool_new(bool spills); /* NULL if out of memory */
/* Add and drop a reference; the last one frees it. pool_put accepts NULL. */
static inline struct pool *pool_get(struct pool *p)
{
	atomic_fetch_add(&p->refs, 1);
	return p;
}
void pool_put(struct pool *p);
/* Returns n bytes, as aligned as all earlier sizes; NULL if out of memory. */
void *pool_alloc(struct pool *p, size_t n);
/* Returns a copy with a NUL after it; or the end of `of`, if that is the text. NULL if out of memory (deferred_set). */
const char *pool_copy(struct pool *p, struct span text, struct span of);

#endif
