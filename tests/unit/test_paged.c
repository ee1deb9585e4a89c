/* paged: long bytes that come and go, and bufs that turn into them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/base/buf.h"
#include "sessionfs/base/paged.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LONG = 48 << 20 };

static char byte_at(size_t i)
{
	return (char)(i * 7 + i / 4096);
}

static int make_file(size_t n)
{
	char name[] = "/tmp/sessionfs-paged.XXXXXX", piece[4096];
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	unlink(name);
	for (size_t at = 0; at < n; at += sizeof piece) {
		for (size_t i = 0; i < sizeof piece; i++)
			piece[i] = byte_at(at + i);
		assert_int_equal(write(fd, piece, sizeof piece), sizeof piece);
	}
	return fd;
}

/* Bytes of the addresses that are in memory. */
static size_t resident(const char *p, size_t n)
{
	unsigned char *pages = malloc(n / 4096 + 1);
	size_t found = 0;
	assert_int_equal(mincore((void *)((uintptr_t)p & ~(uintptr_t)4095), n, pages), 0);
	for (size_t i = 0; i < n / 4096; i++)
		found += (size_t)(pages[i] & 1) * 4096;
	free(pages);
	return found;
}

static void a_file_is_read_as_it_is_touched(void **state)
{
	int fd = make_file(LONG);
	struct paged *p;
	(void)state;
	assert_int_equal(paged_map(fd, 5, LONG - 5, &p), 0);
	close(fd);
	const char *bytes = paged_bytes(p);
	for (size_t i = 0; i < LONG - 5; i += 61)
		assert_int_equal(bytes[i], byte_at(i + 5));
	for (size_t i = LONG - 6; i > 99991; i -= 99991)
		assert_int_equal(bytes[i], byte_at(i + 5));
	assert_int_equal(bytes[LONG - 5], 0);
	assert_true(resident(bytes, LONG) <= PAGED_MEMORY);
	paged_close(p);
}

static void a_file_that_shrank_reads_as_zeros(void **state)
{
	int fd = make_file(LONG);
	struct paged *p;
	(void)state;
	assert_int_equal(paged_map(fd, 0, LONG, &p), 0);
	assert_int_equal(paged_bytes(p)[LONG / 2], byte_at(LONG / 2));
	assert_int_equal(ftruncate(fd, LONG / 4), 0);
	assert_int_equal(paged_bytes(p)[LONG - 1], 0);
	assert_int_equal(paged_bytes(p)[1], byte_at(1));
	close(fd);
	paged_close(p);
}

static void a_long_buf_keeps_what_was_written(void **state)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	(void)state;
	for (size_t i = 0; i < LONG; i++)
		buf_addc(&b, byte_at(i));
	assert_int_equal(buf_err(&b), 0);
	assert_non_null(b.paged);
	assert_true(resident(b.p, LONG) <= PAGED_MEMORY);
	assert_true(buf_memory(&b) < LONG / 4);
	b.p[3] = 'x';
	for (size_t i = 4; i < LONG; i++)
		assert_int_equal(b.p[i], byte_at(i));
	assert_int_equal(b.p[3], 'x');
	buf_reset(&b);
	buf_adds(&b, "short");
	assert_string_equal(buf_cstr(&b), "short");
}

static void a_mapped_buf_can_be_used_again(void **state)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	int fd = make_file(LONG);
	(void)state;
	buf_map(&b, fd, 0, LONG);
	assert_int_equal(buf_err(&b), 0);
	assert_int_equal(b.n, LONG);
	assert_int_equal(b.p[12345678], byte_at(12345678));
	buf_map(&b, fd, 1, LONG / 2);
	assert_int_equal(b.p[0], byte_at(1));
	buf_reset(&b);
	buf_adds(&b, "text");
	assert_string_equal(buf_cstr(&b), "text");
	assert_null(b.paged);
	buf_map(&b, -1, 0, 1);
	assert_int_equal(buf_err(&b), -EBADF);
	close(fd);
}

static void *sum_all(void *arg)
{
	const struct buf *b = arg;
	uintptr_t sum = 0;
	for (size_t i = 0; i < b->n; i += 509)
		sum += (unsigned char)b->p[i];
	return (void *)sum;
}

static void threads_read_the_same(void **state)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	pthread_t threads[6];
	void *sum;
	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* it takes the mmap that brings a page for a write to it */
#endif
	for (size_t i = 0; i < LONG; i++)
		buf_addc(&b, byte_at(i));
	uintptr_t expected = (uintptr_t)sum_all(&b);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sum_all, &b), 0);
	for (size_t i = 0; i < 6; i++) {
		pthread_join(threads[i], &sum);
		assert_int_equal((uintptr_t)sum, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_file_is_read_as_it_is_touched),
	    cmocka_unit_test(a_file_that_shrank_reads_as_zeros),
	    cmocka_unit_test(a_long_buf_keeps_what_was_written),
	    cmocka_unit_test(a_mapped_buf_can_be_used_again),
	    cmocka_unit_test(threads_read_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
