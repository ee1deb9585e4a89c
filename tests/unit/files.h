/* SPDX-License-Identifier: MIT */
/* files: directories and files that a test creates, reads and removes. */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include "sessionfs/base/buf.h"
#include "sessionfs/base/cleanup.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A directory that all users can read; XXXXXX at the end of `path` becomes a unique name. */
static inline void make_temporary(char *path)
{
	assert_non_null(mkdtemp(path));
	assert_int_equal(chmod(path, 0755), 0);
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline int remove_all(const char *dir)
{
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void write_at(const char *path, int flags, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
	assert_true(fd >= 0);
	assert_true(write(fd, p, n) == (ssize_t)n);
	assert_int_equal(close(fd), 0);
}

static inline void put_file(const char *path, const char *text)
{
	write_at(path, O_CREAT | O_TRUNC, text, strlen(text));
}

static inline void add_file(const char *path, const char *text)
{
	write_at(path, O_APPEND, text, strlen(text));
}

/* Returns false if it does not exist. */
static inline bool read_file(const char *path, struct buf *out)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	if (fd < 0)
		return false;
	do {
		char *to = buf_reserve(out, 65536);
		assert_non_null(to);
		n = read(fd, to, 65536);
		assert_true(n >= 0);
		out->n += (size_t)n;
	} while (n > 0);
	return true;
}

#endif
