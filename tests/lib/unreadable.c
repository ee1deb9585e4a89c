/* SPDX-License-Identifier: MIT */
/* Preloaded: while the file $BAD exists, a file whose path ends in $BAD_FILE cannot be read. The text of $BAD selects
 * the failure: "bytes", reads of its contents (EIO); "header", also reads of its first line; "memory", the next large
 * allocation after a read; "acl", reading its ACL (EIO). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MUCH 65536
#define FIRST_READ 4096 /* the max read to identify a file */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
ssize_t pread64(int fd, void *p, size_t n, off64_t off);
ssize_t fgetxattr(int fd, const char *name, void *p, size_t n);

static __thread int starved;

static int is_bad(int fd)
{
	char link[64], path[4096];
	const char *end = getenv("BAD_FILE");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path);
	size_t k = end ? strlen(end) : 0;
	return k && n >= (ssize_t)k && memcmp(path + n - k, end, k) == 0;
}

/* Returns the first letter of the failure; 0: none. */
static char what_fails(int fd)
{
	char what = 0;
	int bad = is_bad(fd) ? open(getenv("BAD"), O_RDONLY | O_CLOEXEC) : -1;
	if (bad >= 0 && syscall(SYS_read, bad, &what, 1) != 1)
		what = 0;
	if (bad >= 0)
		close(bad);
	return what;
}

static ssize_t fail(int err)
{
	errno = err;
	return -1;
}

ssize_t pread64(int fd, void *p, size_t n, off64_t off)
{
	char what = what_fails(fd);
	/* After reading its first line this thread may do something else. */
	starved = what == 'm' && n > FIRST_READ;
	return what == 'b' || what == 'h' ? fail(EIO) : syscall(SYS_pread64, fd, p, n, off);
}

ssize_t read(int fd, void *p, size_t n)
{
	return what_fails(fd) == 'h' ? fail(EIO) : syscall(SYS_read, fd, p, n);
}

ssize_t fgetxattr(int fd, const char *name, void *p, size_t n)
{
	return what_fails(fd) == 'a' ? fail(EIO) : syscall(SYS_fgetxattr, fd, name, p, n);
}

static int is_refused(size_t n)
{
	if (!starved || n < MUCH)
		return 0;
	starved = 0;
	if (access(getenv("BAD"), F_OK) < 0)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n)
{
	return is_refused(n) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return is_refused(n * size) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return is_refused(n) ? NULL : __libc_realloc(p, n);
}
