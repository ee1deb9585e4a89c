/* SPDX-License-Identifier: MIT */
/* failing_calls: system calls that fail on demand, and replace those in sessionfs/base/sys.h. Include it in one file of
 * a test binary. */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include "sessionfs/base/sys.h"

#include <errno.h>
#include <stdarg.h>

enum call {
	OPENAT,
	FSTAT,
	FSTATAT,
	STATX,
	FLOCK,
	PREAD,
	PWRITE,
	WRITE,
	FSYNC,
	FDATASYNC,
	FTRUNCATE,
	FGETXATTR,
	FSTATVFS,
	CALLS,
};

/* The nth call (from 1) of a kind fails `times` times. */
static struct plan {
	bool on;
	struct {
		unsigned seen, nth, times;
		int err;
	} calls[CALLS];
	/* The most bytes that each write takes, from the first on; 0 ends the list. */
	size_t most[4];
	/* The inode that fsync(2) was called for last. */
	ino_t synced;
	/* File systems cannot reserve space, or have space for root alone. */
	bool no_blocks, no_room;
	/* Called before the nth call of a kind. */
	void (*before)(enum call c, unsigned nth);
} plan;

static void let_fail(enum call c, unsigned nth, unsigned times, int err)
{
	plan.on = true;
	plan.calls[c].nth = nth;
	plan.calls[c].times = times;
	plan.calls[c].err = err;
}

static bool fails(enum call c)
{
	if (!plan.on)
		return false;
	unsigned n = ++plan.calls[c].seen;
	if (plan.before)
		plan.before(c, n);
	if (plan.calls[c].nth == 0 || n < plan.calls[c].nth || n >= plan.calls[c].nth + plan.calls[c].times)
		return false;
	errno = plan.calls[c].err;
	return true;
}

/* One call per line: its type, name, kind, parameters and arguments. */
#define FAILING_CALLS(X)                                                                                               \
	X(int, fstat, FSTAT, (int fd, struct stat *st), (fd, st))                                                      \
	X(int, fstatat, FSTATAT, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags))      \
	X(int, statx, STATX, (int dir, const char *path, int flags, unsigned mask, struct statx *x),                   \
	  (dir, path, flags, mask, x))                                                                                 \
	X(int, flock, FLOCK, (int fd, int how), (fd, how))                                                             \
	X(ssize_t, pread, PREAD, (int fd, void *p, size_t n, off_t off), (fd, p, n, off))                              \
	X(ssize_t, pwrite, PWRITE, (int fd, const void *p, size_t n, off_t off), (fd, p, n, off))                      \
	X(int, fdatasync, FDATASYNC, (int fd), (fd))                                                                   \
	X(int, ftruncate, FTRUNCATE, (int fd, off_t size), (fd, size))                                                 \
	X(ssize_t, fgetxattr, FGETXATTR, (int fd, const char *name, void *p, size_t n), (fd, name, p, n))

#define FAILING(type, name, kind, parameters, arguments)                                                               \
	static type failing_##name parameters                                                                          \
	{                                                                                                              \
		return fails(kind) ? -1 : name arguments;                                                              \
	}                                                                                                              \
	__typeof__(name) *const sys_##name = failing_##name;

FAILING_CALLS(FAILING)

static int failing_fsync(int fd)
{
	struct stat st;
	if (fails(FSYNC))
		return -1;
	if (plan.on && fstat(fd, &st) == 0)
		plan.synced = st.st_ino;
	return fsync(fd);
}

__typeof__(fsync) *const sys_fsync = failing_fsync;

/* A file system that does not report its free space, reports zero. */
static int failing_fstatvfs(int fd, struct statvfs *fs)
{
	int rc = fails(FSTATVFS) ? -1 : fstatvfs(fd, fs);
	if (plan.no_blocks)
		fs->f_blocks = fs->f_bfree = fs->f_bavail = 0;
	if (plan.no_room)
		fs->f_bavail = 0;
	return rc;
}

__typeof__(fstatvfs) *const sys_fstatvfs = failing_fstatvfs;

static int failing_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fails(OPENAT) ? -1 : openat(dir, path, flags, mode);
}

__typeof__(openat) *const sys_openat = failing_openat;

static ssize_t failing_write(int fd, const void *p, size_t n)
{
	if (fails(WRITE))
		return -1;
	if (!plan.on)
		return write(fd, p, n);
	unsigned nth = plan.calls[WRITE].seen;
	size_t most = nth <= 4 ? plan.most[nth - 1] : 0;
	return write(fd, p, most && most < n ? most : n);
}

__typeof__(write) *const sys_write = failing_write;

#endif
