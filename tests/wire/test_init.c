/* SPDX-License-Identifier: MIT */
/* The handshake with the kernel, on machines with pages of any size. */
#include "fixture.h"

#include "sessionfs/base/sys.h"

/* libfuse counts in pages and calls the exported function. A sanitizer calls it too, before it can watch memory. */
static int page = 4096;

__attribute__((no_sanitize("thread"))) int getpagesize(void)
{
	return page;
}

/* The smallest buffer of a read. The kernel refuses reads with buffers too small for the largest write. */
static _Atomic size_t room = SIZE_MAX;

static ssize_t noted_read(int fd, void *p, size_t n)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && n < room)
		room = n;
	return read(fd, p, n);
}

__typeof__(read) *const sys_read = noted_read;

CASE(request_fits_any_page_size)
{
	for (page = 4096; page <= 65536; page *= 4) {
		struct wire *w = prepare();
		room = SIZE_MAX;
		wire_open(w, false, ALL_FLAGS);
		wire_walk(w, SESSION);
		print_message("pages of %d: writes of %u, %u pages, read with %zu\n", page, w->init.max_write,
		              w->init.max_pages, room);
		assert_true(room < SIZE_MAX);
		assert_true(w->init.max_write + sizeof(struct fuse_in_header) + sizeof(struct fuse_write_in) <= room);
		assert_int_equal(w->init.max_write, 1 << 20);
		assert_int_equal(w->init.max_pages * (unsigned)page, w->init.max_write);
		void *at = w;
		teardown(&at);
	}
}

RUN_CASES(NULL, NULL)
