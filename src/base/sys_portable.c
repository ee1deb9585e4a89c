/* SPDX-License-Identifier: MIT */
/* Makes Linux's calls from POSIX calls. Three things are lost: only a directory has a handle, so for another name a
 * second look shows whether it is still the same file; only the device tells file systems apart; and directories are
 * polled, because nothing watches them. */
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Linux's names ---- */

#ifndef O_SEARCH
#define O_SEARCH O_RDONLY
#endif

int portable_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? (mode_t)va_arg(ap, unsigned) : 0;
	va_end(ap);
	if (flags & O_PATH)
		flags = (flags & ~O_PATH) | O_SEARCH | O_DIRECTORY;
	return openat(dir, path, flags, mode);
}

static struct statx_timestamp portable_time(struct timespec t)
{
	return (struct statx_timestamp){.tv_sec = t.tv_sec, .tv_nsec = (uint32_t)t.tv_nsec};
}

int portable_statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret)
{
	struct stat st;
	(void)wanted;
	if (*path ? fstatat(dir, path, &st, flags & AT_SYMLINK_NOFOLLOW) < 0 : fstat(dir, &st) < 0)
		return -1;
	*ret = (struct statx){
	    .stx_mask = STATX_BASIC_STATS,
	    .stx_mode = (uint16_t)st.st_mode,
	    .stx_nlink = (uint32_t)st.st_nlink,
	    .stx_uid = st.st_uid,
	    .stx_gid = st.st_gid,
	    .stx_ino = st.st_ino,
	    .stx_size = (uint64_t)st.st_size,
	    .stx_dev_major = (uint32_t)major(st.st_dev),
	    .stx_dev_minor = (uint32_t)minor(st.st_dev),
	    .stx_mtime = portable_time(st.st_mtim),
	    .stx_ctime = portable_time(st.st_ctim),
	};
	return 0;
}

int portable_fsync(int fd)
{
#ifdef F_FULLFSYNC
	/* macOS's fsync(2) leaves data in the cache of the disk. Other file systems than its own have no such call. */
	if (fcntl(fd, F_FULLFSYNC) == 0)
		return 0;
#endif
	return fsync(fd);
}

int sys_missing(int first, ...)
{
	(void)first;
	errno = ENOSYS;
	return -1;
}

__attribute__((weak)) int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	(void)path, (void)how, (void)size;
	return sys_missing(dir);
}

/* ---- the rest of the interface ---- */

static bool is_same_file(const struct statx *x, const struct stat *st)
{
	return x->stx_ino == st->st_ino && x->stx_dev_major == (uint32_t)major(st->st_dev) &&
	       x->stx_dev_minor == (uint32_t)minor(st->st_dev);
}

int sys_open_name(int dir, const char *name, struct statx *ret)
{
	struct stat st;
	if (sys_statx(dir, name, STATX_UNASKED, STATX_BASIC_STATS, ret) < 0)
		return -errno;
	if (!S_ISDIR(ret->stx_mode))
		return SYS_NO_HANDLE;
	int fd = sys_openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = sys_fstat(fd, &st) < 0 ? errno : is_same_file(ret, &st) ? 0 : ESTALE;
	if (err) {
		close(fd);
		return -err;
	}
	return fd;
}

ssize_t sys_read_link(int fd, int dir, const char *name, const struct statx *x, char *to, size_t n)
{
	struct stat st;
	(void)fd;
	ssize_t got = readlinkat(dir, name, to, n);
	/* The text of a link never changes. */
	if (got < 0 || sys_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return is_same_file(x, &st) && st.st_ctim.tv_sec == x->stx_ctime.tv_sec &&
	               st.st_ctim.tv_nsec == (long)x->stx_ctime.tv_nsec
	           ? got
	           : -ESTALE;
}

int sys_open_unnamed(const char *dir)
{
	char path[1024];
	if ((size_t)snprintf(path, sizeof path, "%s/sessionfs-XXXXXX", dir) >= sizeof path)
		return -ENAMETOOLONG;
	int fd = mkstemp(path);
	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	unlink(path);
	return fd;
}

size_t sys_processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (size_t)n : 1;
}

#ifndef __linux__

int posix_fallocate(int fd, off_t from, off_t n)
{
	struct stat st;
	static const char zero[1 << 16];
	if (sys_fstat(fd, &st) < 0)
		return errno;
	/* Only bytes that are written are sure to have room. */
	for (off_t at = st.st_size; at < from + n;) {
		ssize_t got = sys_pwrite(
		    fd, zero, (size_t)(from + n - at) < sizeof zero ? (size_t)(from + n - at) : sizeof zero, at);
		if (got <= 0)
			return got < 0 ? errno : EIO;
		at += got;
	}
	return 0;
}

int pipe2(int ends[2], int flags)
{
	int rc = pipe(ends);
	for (int i = 0; rc == 0 && i < 2; i++)
		if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0 || fcntl(ends[i], F_SETFL, flags & O_NONBLOCK) < 0)
			rc = -1;
	return rc;
}

void *memrchr(const void *p, int c, size_t n)
{
	const unsigned char *at = p;
	while (n > 0)
		if (at[--n] == (unsigned char)c)
			return (void *)(uintptr_t)(at + n);
	return NULL;
}

/* macOS passes the argument first. */
struct sort_order {
	int (*cmp)(const void *, const void *, void *);
	void *arg;
};

static int sort_cmp(void *arg, const void *a, const void *b)
{
	const struct sort_order *order = arg;
	return order->cmp(a, b, order->arg);
}

void sys_sort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *, void *), void *arg)
{
#undef qsort_r
	qsort_r(base, n, size, &(struct sort_order){cmp, arg}, sort_cmp);
}

#endif
