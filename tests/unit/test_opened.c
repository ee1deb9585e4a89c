/* SPDX-License-Identifier: MIT */
/* Open files of the source: lines, holes, references, and a file that shrinks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "files.h"
#include "sessionfs/file/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/sessionfs-opened-XXXXXX";
static int descriptor; /* of the file that was opened last */

static struct opened *open_it(void)
{
	struct resolved file = RESOLVED_INIT;
	struct opened *ret;
	file.fd = descriptor = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file.fd >= 0);
	assert_int_equal(opened_new(NULL, &file, &ret), 0);
	assert_int_equal(file.fd, -1);
	return ret;
}

static uint64_t line_start(struct opened *o, uint64_t off, uint64_t most)
{
	uint64_t at = UINT64_MAX;
	assert_int_equal(opened_find_line_start(o, off, most, &at), 0);
	return at;
}

/* Lines that end at, before and after the 4096 bytes that are read at once. */
static void a_line_start_is_found_from_each_byte(void **state)
{
	static const size_t lengths[] = {1, 2, 5000, 1, 4095, 4096, 4097, 9000, 1, 3};
	char text[40000];
	size_t n = 0;
	(void)state;
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

static void a_file_that_shrank_has_no_line_start(void **state)
{
	uint64_t at = 7;
	(void)state;
	put_file(path, "one\ntwo\n");
	struct opened *o = open_it();
	assert_int_equal(truncate(path, 6), 0);
	assert_int_equal(opened_find_line_start(o, 7, UINT64_MAX, &at), -ESTALE);
	assert_int_equal(at, 7);
	assert_int_equal(line_start(o, 6, UINT64_MAX), 4);
	opened_put(o);
}

static void bytes_and_data_are_found(void **state)
{
	char piece[16] = "";
	(void)state;
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
static void references_keep_the_file_open(void **state)
{
	char byte;
	(void)state;
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

static int set_up(void **state)
{
	int fd = mkostemp(path, O_CLOEXEC);
	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_line_start_is_found_from_each_byte),
	    cmocka_unit_test(a_file_that_shrank_has_no_line_start),
	    cmocka_unit_test(bytes_and_data_are_found),
	    cmocka_unit_test(references_keep_the_file_open),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
