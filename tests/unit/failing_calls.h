/* failing_calls: system calls that fail on demand. The linker puts these in place of the calls that the code under
 * test makes (the Makefile has the list). Include it in one file of a test binary. */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

enum call {
	OPEN,
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
	RENAMEAT,
	FCHOWN,
	FCHMOD,
	GETRANDOM,
	FLISTXATTR,
	FGETXATTR,
	FSETXATTR,
	FSTATVFS,
	CALLS,
};

/* What the calls do: the nth one (from 1) of a kind fails `times` times. */
static struct plan {
	bool on;
	struct {
		unsigned seen, nth, times;
		int err;
	} calls[CALLS];
	/* How many bytes each write takes at most, from the first on; 0 ends the list. */
	size_t most[4];
	/* Called before the lock is asked for. */
	void (*before_flock)(void);
	/* Called before the nth call of a kind. */
	void (*before)(enum call c, unsigned nth);
	/* Called before the nth write reaches the file. */
	void (*before_write)(unsigned nth);
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

/* One line a call: the type, its name, its kind, the parameters, the arguments. */
#define WRAPPED(X)                                                                                                     \
	X(int, fstat64, FSTAT, (int fd, struct stat *st), (fd, st))                                                    \
	X(int, fstatat64, FSTATAT, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags))    \
	X(int, statx, STATX, (int dir, const char *path, int flags, unsigned mask, struct statx *x),                   \
	  (dir, path, flags, mask, x))                                                                                 \
	X(ssize_t, pread64, PREAD, (int fd, void *p, size_t n, off_t off), (fd, p, n, off))                            \
	X(ssize_t, pwrite64, PWRITE, (int fd, const void *p, size_t n, off_t off), (fd, p, n, off))                    \
	X(int, fsync, FSYNC, (int fd), (fd))                                                                           \
	X(int, fdatasync, FDATASYNC, (int fd), (fd))                                                                   \
	X(int, ftruncate64, FTRUNCATE, (int fd, off_t size), (fd, size))                                               \
	X(int, renameat, RENAMEAT, (int from_dir, const char *from, int to_dir, const char *to),                       \
	  (from_dir, from, to_dir, to))                                                                                \
	X(int, fchown, FCHOWN, (int fd, uid_t u, gid_t g), (fd, u, g))                                                 \
	X(int, fchmod, FCHMOD, (int fd, mode_t m), (fd, m))                                                            \
	X(ssize_t, getrandom, GETRANDOM, (void *p, size_t n, unsigned flags), (p, n, flags))                           \
	X(ssize_t, flistxattr, FLISTXATTR, (int fd, char *p, size_t n), (fd, p, n))                                    \
	X(ssize_t, fgetxattr, FGETXATTR, (int fd, const char *name, void *p, size_t n), (fd, name, p, n))              \
	X(int, fsetxattr, FSETXATTR, (int fd, const char *name, const void *p, size_t n, int flags),                   \
	  (fd, name, p, n, flags))                                                                                     \
	X(int, fstatvfs64, FSTATVFS, (int fd, struct statvfs *fs), (fd, fs))

#define WRAP(type, name, kind, parameters, arguments)                                                                  \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		return fails(kind) ? -1 : __real_##name arguments;                                                     \
	}

WRAPPED(WRAP)

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);

int __wrap_flock(int fd, int how)
{
	if (fails(FLOCK))
		return -1;
	if (plan.on && plan.before_flock && how != LOCK_UN) {
		plan.on = false;
		plan.before_flock();
		plan.on = true;
	}
	return __real_flock(fd, how);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_open64(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fails(OPEN) ? -1 : __real_open64(path, flags, mode);
}

int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);

int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fails(OPENAT) ? -1 : __real_openat64(dir, path, flags, mode);
}

/* What the headers make of it where the flags are no constant. */
int __real___openat64_2(int dir, const char *path, int flags);
int __wrap___openat64_2(int dir, const char *path, int flags);

int __wrap___openat64_2(int dir, const char *path, int flags)
{
	return fails(OPENAT) ? -1 : __real___openat64_2(dir, path, flags);
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
	if (fails(WRITE))
		return -1;
	if (!plan.on)
		return __real_write(fd, p, n);
	unsigned nth = plan.calls[WRITE].seen;
	if (plan.before_write) {
		plan.on = false;
		plan.before_write(nth);
		plan.on = true;
	}
	size_t most = nth <= 4 ? plan.most[nth - 1] : 0;
	return __real_write(fd, p, most && most < n ? most : n);
}

#endif
