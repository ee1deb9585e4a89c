/* SPDX-License-Identifier: MIT */
/* Preloaded: while the file $BAD exists, a file or directory whose path ends in $BAD_FILE cannot be read. The text of
 * $BAD selects the failure: "bytes", reads of its contents (EIO); "header", also reads of its first line; "memory", the
 * next large allocation after a read; "acl", reading its ACL (EIO); "names", reading its names after the first few
 * (EIO); "rename", renaming another file to it (ENOENT); an errno as a number, opening it. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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

/* Reads $BAD; returns its first letter, or 0 without it. A digit: *ret_errno is the number. */
static char what_is_asked(int *ret_errno)
{
	char text[16] = "";
	int bad = (int)syscall(SYS_openat, AT_FDCWD, getenv("BAD"), O_RDONLY | O_CLOEXEC);
	if (bad >= 0 && syscall(SYS_read, bad, text, sizeof text - 1) < 1)
		text[0] = '\0';
	if (bad >= 0)
		syscall(SYS_close, bad);
	*ret_errno = atoi(text);
	return text[0];
}

/* Returns the first letter of the failure; 0: none. */
static char what_fails(int fd)
{
	int number;
	return is_bad(fd) ? what_is_asked(&number) : 0;
}

/* A relative path begins with the slash that is before it. */
static int path_is_bad(const char *path)
{
	char whole[4096];
	const char *end = getenv("BAD_FILE");
	int n = snprintf(whole, sizeof whole, "%s%s", *path == '/' ? "" : "/", path);
	size_t k = end ? strlen(end) : 0;
	return k && n >= (int)k && n < (int)sizeof whole && strcmp(whole + (size_t)n - k, end) == 0;
}

/* Returns the errno of opening this path; 0: it succeeds. */
static int open_errno(const char *path)
{
	int number;
	return path_is_bad(path) && isdigit((unsigned char)what_is_asked(&number)) ? number : 0;
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

static long (*real_syscall(void))(long, ...)
{
	static long (*real)(long, ...);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real;
}

long syscall(long number, ...)
{
	long a[6];
	va_list ap;
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	int err = number == SYS_openat2 ? open_errno((const char *)a[1]) : 0;
	return err ? fail(err) : real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int openat64(int at, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	int err = open_errno(path);
	return err ? (int)fail(err) : (int)syscall(SYS_openat, at, path, flags, mode);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
	int number;
	if (path_is_bad(to) && what_is_asked(&number) == 'r')
		return (int)fail(ENOENT);
	return (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
}

struct dirent64 *readdir64(DIR *d)
{
	static struct dirent64 *(*real)(DIR *);
	static __thread int names;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "readdir64");
	names = what_fails(dirfd(d)) == 'n' ? names + 1 : 0;
	if (names < 4)
		return real(d);
	names = 0;
	errno = EIO;
	return NULL;
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
