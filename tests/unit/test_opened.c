/* SPDX-License-Identifier: MIT */
/* Open files of the source: lines, holes, references, a file that shrinks, and files that the pool reads. */
#include "cases.h"
#include "files.h"
#include "sessionfs/file/opened.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static char path[] = "/tmp/sessionfs-opened-XXXXXX";
static int descriptor; /* of the file that was opened last */

/* With a resolver, as a file that can wait for another program. */
static struct opened *open_by(struct resolver *r)
{
	struct resolved file = RESOLVED_INIT;
	struct opened *ret;
	file.fd = descriptor = open(path, O_RDONLY | O_CLOEXEC);
	file.foreign = true;
	assert_int_equal(fstat(file.fd, &file.st), 0);
	assert_int_equal(opened_new(r, &file, &ret), 0);
	assert_int_equal(file.fd, -1);
	return ret;
}

static struct opened *open_it(void)
{
	return open_by(NULL);
}

static uint64_t line_start(struct opened *o, uint64_t off, uint64_t most)
{
	uint64_t at = UINT64_MAX;
	assert_int_equal(opened_find_line_start(o, off, most, &at), 0);
	return at;
}

/* Lines that end at, before and after the 4096 bytes that are read at once. */
CASE(a_line_start_is_found_from_each_byte)
{
	static const size_t lengths[] = {1, 2, 5000, 1, 4095, 4096, 4097, 9000, 1, 3};
	char text[40000];
	size_t n = 0;
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		memset(text + n, 'x', lengths[i]);
		n += lengths[i];
		text[n - 1] = '\n';
	}
	text[n] = '\0';
	put_file(path, text);
	struct opened *o = open_it();
	for (size_t off = 0, line = 0; off < n; off++) {
		if (off > 0 && text[off - 1] == '\n')
			line = off;
		assert_int_equal(line_start(o, off, UINT64_MAX), line);
		for (size_t most = 1; most < 20000; most = most * 7 + 1)
			if (off % 251 == 0 || off - line < 3)
				assert_int_equal(line_start(o, off, most), off - line > most ? off - most : line);
		assert_int_equal(line_start(o, off, 0), off);
	}
	opened_put(o);
}

CASE(a_file_that_shrank_has_no_line_start)
{
	uint64_t at = 7;
	put_file(path, "one\ntwo\n");
	struct opened *o = open_it();
	assert_int_equal(truncate(path, 6), 0);
	assert_int_equal(opened_find_line_start(o, 7, UINT64_MAX, &at), -ESTALE);
	assert_int_equal(at, 7);
	assert_int_equal(line_start(o, 6, UINT64_MAX), 4);
	opened_put(o);
}

CASE(bytes_and_data_are_found)
{
	char piece[16] = "";
	put_file(path, "0123456789");
	struct opened *o = open_it();
	assert_int_equal(opened_pread(o, piece, 4, 3), 4);
	assert_string_equal(piece, "3456");
	assert_int_equal(opened_pread_raw(o, piece, sizeof piece, 8), 2);
	assert_int_equal(opened_pread(o, piece, sizeof piece, 10), 0);
	assert_int_equal(opened_seek_data(o, 0), 0);
	assert_int_equal(opened_seek_data(o, 4), 4);
	assert_int_equal(opened_seek_data(o, 10), -ENXIO);
	assert_false(opened_is_foreign(o));
	assert_false(opened_redacts(o));
	opened_put(o);
}

/* The last reference closes the file. */
CASE(references_keep_the_file_open)
{
	char byte;
	put_file(path, "a");
	struct opened *o = open_it();
	assert_ptr_equal(opened_get(o), o);
	opened_put(o);
	assert_int_equal(opened_pread(o, &byte, 1, 0), 1);
	assert_true(fcntl(descriptor, F_GETFD) >= 0);
	opened_put(o);
	assert_int_equal(fcntl(descriptor, F_GETFD), -1);
	opened_put(NULL);
}

CASE(foreign_files_are_read_by_the_pool)
{
	struct resolver *r;
	char piece[16] = "................";
	put_file(path, "0123456789");
	assert_int_equal(resolver_open("/tmp", &r), 0);
	struct opened *o = open_by(r);
	assert_true(opened_is_foreign(o));
	assert_int_equal(opened_pread(o, piece, 4, 3), 4);
	assert_memory_equal(piece, "3456............", 16);
	assert_int_equal(opened_pread(o, piece, sizeof piece, 10), 0);
	assert_int_equal(opened_seek_data(o, 4), 4);
	assert_int_equal(opened_seek_data(o, 10), -ENXIO);
	put_file(path, "01\n3456789");
	assert_int_equal(line_start(o, 9, UINT64_MAX), 3);
	/* A slow server has a second for a part of a long read. */
	static char much[1 << 20];
	assert_int_equal(truncate(path, sizeof much), 0);
	assert_in_range(opened_pread_raw(o, much, sizeof much, 0), 1, sizeof much / 4);
	/* A thread closes the file. */
	opened_put(o);
	while (fcntl(descriptor, F_GETFD) >= 0)
		sched_yield();
	/* The resolver can be closed before its files. */
	o = open_by(r);
	resolver_close(r);
	opened_put(o);
}

struct nested {
	struct blocking_call call;
	struct opened *file;
	pthread_barrier_t *all;
	ssize_t got;
	char byte;
};

static void nested_run(struct blocking_call *p)
{
	struct nested *n = (struct nested *)p;
	pthread_barrier_wait(n->all);
	n->got = opened_pread(n->file, &n->byte, 1, 5);
}

static void nested_free(struct blocking_call *p)
{
}

/* All threads of the pool read: they need no other thread for it. */
CASE(threads_of_the_pool_read_directly)
{
	struct resolver *r;
	struct nested calls[BLOCKING_THREADS];
	pthread_barrier_t all;
	put_file(path, "0123456789");
	assert_int_equal(resolver_open("/tmp", &r), 0);
	struct opened *o = open_by(r);
	struct blocking_pool *pool = resolver_blocking_pool(r);
	pthread_barrier_init(&all, NULL, BLOCKING_THREADS);
	for (unsigned i = 0; i < BLOCKING_THREADS; i++) {
		calls[i] = (struct nested){.call = {.run = nested_run, .free = nested_free}, .file = o, .all = &all};
		assert_int_equal(blocking_start(pool, &calls[i].call), 0);
	}
	for (unsigned i = 0; i < BLOCKING_THREADS; i++) {
		while (!blocking_is_done(pool, &calls[i].call))
			sched_yield();
		assert_int_equal(calls[i].got, 1);
		assert_int_equal(calls[i].byte, '5');
		blocking_put(pool, &calls[i].call);
	}
	opened_put(o);
	resolver_close(r);
	pthread_barrier_destroy(&all);
}

static int set_up(void **state)
{
	int fd = mkostemp(path, O_CLOEXEC);
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	return unlink(path);
}

RUN_CASES(set_up, tear_down)
