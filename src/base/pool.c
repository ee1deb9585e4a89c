/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/pool.h"

#include "sessionfs/base/buf.h"
#include "sessionfs/base/deferred.h"

#include <errno.h>
#include <stdlib.h>

/* The first chunk's size, and how much larger each next one of a pool that spills is. One of the maximum is in a file,
 * which has a descriptor. */
#define CHUNK_MIN ((size_t)LIMIT(65536, 1024))
#define CHUNK_GROWTH 4
#define CHUNK_MAX (CHUNK_MIN * 256)

struct pool_chunk {
	struct pool_chunk *older;
	struct buf bytes;
};

struct pool *pool_new(bool spills)
{
	struct pool *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	*p = (struct pool){.refs = 1, .spills = spills};
	lock_init(&p->lock, LOCK_POOL);
	return p;
}

static void pool_chunk_free(struct pool_chunk *c)
{
	if (c)
		buf_release(&c->bytes);
	free(c);
}

void pool_put(struct pool *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) > 1)
		return;
	for (struct pool_chunk *c = p->newest, *older; c; c = older) {
		older = c->older;
		pool_chunk_free(c);
	}
	lock_destroy(&p->lock);
	free(p);
}

/* Returns a chunk for n bytes to follow one of that size. */
static struct pool_chunk *pool_chunk_new(const struct pool *p, size_t n, size_t before)
{
	struct pool_chunk *c = calloc(1, sizeof *c);
	size_t size = p->spills && before >= CHUNK_MIN ? before * CHUNK_GROWTH : CHUNK_MIN;
	size = size < CHUNK_MAX ? size : CHUNK_MAX;
	int deferred = deferred_begin();
	if (c && !buf_reserve(&c->bytes, n > size ? n : size)) {
		buf_reset(&c->bytes);
		c->bytes.p = malloc(c->bytes.cap = n > CHUNK_MIN ? n : CHUNK_MIN);
	}
	deferred_end(deferred, 0);
	if (c && c->bytes.p)
		return c;
	free(c);
	return NULL;
}

/* Takes n bytes of the newest chunk. If that has no room, *made becomes the newest, or the result is NULL. */
static char *pool_take(struct pool *p, size_t n, struct pool_chunk **made, size_t *ret_newest)
{
	LOCKED(&p->lock);
	struct pool_chunk *c = p->newest;
	if (*made && (!c || c->bytes.cap - c->bytes.n < n)) {
		(*made)->older = c;
		p->newest = c = *made;
		*made = NULL;
		atomic_fetch_add(&p->memory, c->bytes.file ? buf_memory(&c->bytes) : 0);
	}
	*ret_newest = c ? c->bytes.cap : 0;
	if (!c || c->bytes.cap - c->bytes.n < n)
		return NULL;
	c->bytes.n += n;
	atomic_fetch_add(&p->size, n);
	atomic_fetch_add(&p->memory, c->bytes.file ? 0 : n);
	return c->bytes.p + c->bytes.n - n;
}

void *pool_alloc(struct pool *p, size_t n)
{
	struct pool_chunk *made = NULL;
	size_t newest;
	char *at;
	while (!(at = pool_take(p, n, &made, &newest)) && (made = pool_chunk_new(p, n, newest)))
		;
	pool_chunk_free(made);
	return at;
}

const char *pool_copy(struct pool *p, struct span text, struct span of)
{
	const char *end = text.n > 0 && text.n <= of.n ? of.p + of.n - text.n : NULL;
	if (end && memcmp(end, text.p, text.n) == 0)
		return end;
	char *to = pool_alloc(p, text.n + 1);
	deferred_set(to ? 0 : -ENOMEM);
	if (to && text.n > 0)
		memcpy(to, text.p, text.n);
	if (to)
		to[text.n] = '\0';
	return to;
}
