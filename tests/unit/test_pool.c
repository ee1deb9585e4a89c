/* SPDX-License-Identifier: MIT */
/* pool: memory that never moves, strings that share the end of another, and files for what is too much. */
#include "cases.h"

#include "sessionfs/base/buf.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/pool.h"

#include "heap.h"

#include <fcntl.h>

enum { BLOCKS = 4000 };
#define BLOCK (8 * BUF_MAPPED / BLOCKS)

static bool disk_is_full;

int posix_fallocate(int fd, off_t at, off_t n)
{
	return disk_is_full ? ENOSPC : ftruncate(fd, at + n) < 0 ? errno : 0;
}

struct blocks {
	struct pool *pool;
	unsigned char *v[BLOCKS];
};

static size_t size_of(size_t i)
{
	return BLOCK / 2 + i % BLOCK;
}

static int fill_one(void *arg, size_t i)
{
	struct blocks *b = arg;
	b->v[i] = pool_alloc(b->pool, size_of(i));
	if (b->v[i])
		memset(b->v[i], (int)(i & 0xff), size_of(i));
	return b->v[i] ? 0 : -ENOMEM;
}

/* Fills a pool from several threads. Returns the bytes on the heap. */
static size_t fill(struct blocks *b, bool spills)
{
	size_t before = heap_used(), sum = 0;
	assert_non_null(b->pool = pool_new(spills));
	assert_int_equal(parallel_for(BLOCKS, fill_one, b), 0);
	for (size_t i = 0; i < BLOCKS; i++) {
		sum += size_of(i);
		for (size_t k = 0; k < size_of(i); k++)
			assert_int_equal(b->v[i][k], i & 0xff);
	}
	assert_int_equal(b->pool->size, sum);
	return heap_used() - before;
}

CASE(what_is_too_much_is_in_files)
{
	static struct blocks b;
	disk_is_full = false;
	size_t heap = fill(&b, true), size = b.pool->size;
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		skip();
	close(fd);
	assert_true(heap < size / 4);
	/* A file counts as a MiB at least. */
	assert_true(b.pool->memory < size / 4 + (4 << 20));
	pool_get(b.pool);
	pool_put(b.pool);
	assert_int_equal(b.v[BLOCKS - 1][0], (BLOCKS - 1) & 0xff);
	pool_put(b.pool);
	pool_put(NULL);
}

CASE(other_pools_and_those_without_room_on_the_disk_are_in_memory)
{
	static struct blocks b;
	for (int i = 0; i < 2; i++) {
		disk_is_full = i == 1;
		size_t heap = fill(&b, i == 1);
		assert_true(heap == 0 || heap >= b.pool->size);
		assert_int_equal(b.pool->memory, b.pool->size);
		pool_put(b.pool);
	}
	disk_is_full = false;
	assert_int_equal(deferred_take(0), 0);
}

CASE(a_copy_can_be_the_end_of_another)
{
	struct pool *p = pool_new(false);
	assert_non_null(p);
	const char *first = pool_copy(p, SPAN_LIT("2026_id"), (struct span){0});
	assert_string_equal(first, "2026_id");
	size_t size = p->size;
	assert_ptr_equal(pool_copy(p, SPAN_LIT("id"), span_of(first)), first + 5);
	assert_ptr_equal(pool_copy(p, SPAN_LIT("2026_id"), span_of(first)), first);
	assert_int_equal(p->size, size);
	assert_string_equal(pool_copy(p, SPAN_LIT("ie"), span_of(first)), "ie");
	assert_string_equal(pool_copy(p, SPAN_LIT("a longer one"), span_of(first)), "a longer one");
	assert_string_equal(pool_copy(p, SPAN_LIT(""), span_of(first)), "");
	assert_int_equal(p->size, size + 3 + 13 + 1);
	pool_put(p);
}

RUN_CASES(NULL, NULL)
