/* SPDX-License-Identifier: MIT */
/* Preloaded into the program under test: counts its system calls and allocations, and makes one of them fail, or return
 * less than requested. tests/lib/fail.py selects it through the file $FAIL_CONTROL. With $FAIL_TRACE it prints the
 * place.
 *
 * Only the program's own calls count: libraries handle a failure in their own way. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <dlfcn.h>

/* The calls that can fail. Reads of the device, of a queue of events and of a file are different kinds. */
/* clang-format off */
#define KINDS(X) \
	X(alloc) X(open) X(openat) X(openat2) X(stat) X(lstat) X(fstat) X(fstatat) X(statx) X(pread) X(read) \
	X(read_device) X(read_events) X(readdir) X(fdopendir) X(write) X(write_events) X(ftruncate) X(fsync) \
	X(fdatasync) X(flock) X(rename) X(renameat) X(renameat2) X(unlink) X(unlinkat) X(mkostemp) X(getrandom) \
	X(inotify_init1) X(inotify_add_watch) X(eventfd) X(poll) X(ppoll) X(pthread_create) X(realpath) \
	X(readlink) X(readlinkat) X(statfs) X(fstatfs) X(statvfs) X(fstatvfs) X(flistxattr) X(fgetxattr) \
	X(fsetxattr) X(fchmod) X(fchown) X(fcntl) X(close) X(pipe2) X(getdents64) X(fallocate) X(mkdirat) \
	X(linkat)
/* clang-format on */

#define AS_ENUM(name) K_##name,
#define AS_TEXT(name) #name "\n"
enum kind { KINDS(AS_ENUM) K_COUNT };

/* The file: the tool writes the first three and then `armed`; the rest belongs to this library. `error` 0: the call
 * returns less. */
struct control {
	_Atomic uint32_t armed, kind, error, fired;
	_Atomic uint64_t nth; /* numbered as in `calls` */
	_Atomic uint64_t calls[K_COUNT];
};

enum { NAMES_AT = 4096, SIZE = 8192 };
static struct control *control;
static uintptr_t begin, end; /* the range of the program's own code */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static int find_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			end = begin + info->dlpi_phdr[i].p_memsz;
		}
	}
	return 1; /* the first one is the program */
}

__attribute__((constructor)) static void start(void)
{
	static const char names[] = KINDS(AS_TEXT);
	const char *path = getenv("FAIL_CONTROL");
	/* Not in its child processes. */
	if (!path || strcmp(program_invocation_short_name, "sessionfs") != 0)
		return;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (p == MAP_FAILED)
		abort();
	memcpy(p + NAMES_AT, names, sizeof names);
	dl_iterate_phdr(find_program, NULL);
	control = (struct control *)p;
}

/* Returns whether this call fails or, if `shortened` is given, returns less. */
static int fails(enum kind k, const void *caller, int *shortened)
{
	if (shortened)
		*shortened = 0;
	if (!control || (uintptr_t)caller < begin || (uintptr_t)caller >= end)
		return 0;
	uint64_t n = atomic_fetch_add(&control->calls[k], 1) + 1;
	if (!atomic_load(&control->armed) || atomic_load(&control->kind) != k || atomic_load(&control->nth) != n)
		return 0;
	int error = (int)atomic_load(&control->error);
	if (!error && !shortened)
		return 0;
	atomic_store(&control->fired, 1);
	if (getenv("FAIL_TRACE")) {
		void *frames[24];
		backtrace_symbols_fd(frames, backtrace(frames, 24), STDERR_FILENO);
	}
	if (error)
		errno = error;
	else
		*shortened = 1;
	return error != 0;
}

#define CALLER __builtin_return_address(0)
#define REAL(name)                                                                                                     \
	static __typeof__(name) *real;                                                                                 \
	if (!real)                                                                                                     \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

/* One line per call: the type, its name, its kind, the result when it fails, the parameters, the arguments. */
#define PLAIN(X)                                                                                                       \
	X(int, stat64, stat, -1, (const char *path, struct stat64 *st), (path, st))                                    \
	X(int, lstat64, lstat, -1, (const char *path, struct stat64 *st), (path, st))                                  \
	X(int, fstat64, fstat, -1, (int fd, struct stat64 *st), (fd, st))                                              \
	X(int, fstatat64, fstatat, -1, (int at, const char *path, struct stat64 *st, int flags),                       \
	  (at, path, st, flags))                                                                                       \
	X(int, statx, statx, -1, (int at, const char *path, int flags, unsigned mask, struct statx *st),               \
	  (at, path, flags, mask, st))                                                                                 \
	X(struct dirent64 *, readdir64, readdir, NULL, (DIR * d), (d))                                                 \
	X(DIR *, fdopendir, fdopendir, NULL, (int fd), (fd))                                                           \
	X(int, ftruncate64, ftruncate, -1, (int fd, off64_t size), (fd, size))                                         \
	X(int, fsync, fsync, -1, (int fd), (fd))                                                                       \
	X(int, fdatasync, fdatasync, -1, (int fd), (fd))                                                               \
	X(int, flock, flock, -1, (int fd, int how), (fd, how))                                                         \
	X(int, rename, rename, -1, (const char *from, const char *to), (from, to))                                     \
	X(int, renameat, renameat, -1, (int at, const char *from, int to_at, const char *to), (at, from, to_at, to))   \
	X(int, renameat2, renameat2, -1, (int at, const char *from, int to_at, const char *to, unsigned flags),        \
	  (at, from, to_at, to, flags))                                                                                \
	X(int, unlink, unlink, -1, (const char *path), (path))                                                         \
	X(int, unlinkat, unlinkat, -1, (int at, const char *path, int flags), (at, path, flags))                       \
	X(int, linkat, linkat, -1, (int at, const char *path, int to_at, const char *to, int flags),                   \
	  (at, path, to_at, to, flags))                                                                                \
	X(int, mkdirat, mkdirat, -1, (int at, const char *path, mode_t mode), (at, path, mode))                        \
	X(int, mkostemp64, mkostemp, -1, (char *path, int flags), (path, flags))                                       \
	X(int, inotify_init1, inotify_init1, -1, (int flags), (flags))                                                 \
	X(int, inotify_add_watch, inotify_add_watch, -1, (int fd, const char *path, uint32_t mask), (fd, path, mask))  \
	X(int, eventfd, eventfd, -1, (unsigned n, int flags), (n, flags))                                              \
	X(int, poll, poll, -1, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))                                  \
	X(int, ppoll, ppoll, -1, (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *mask),      \
	  (fds, n, t, mask))                                                                                           \
	X(char *, realpath, realpath, NULL, (const char *path, char *to), (path, to))                                  \
	X(ssize_t, readlink, readlink, -1, (const char *path, char *p, size_t n), (path, p, n))                        \
	X(ssize_t, readlinkat, readlinkat, -1, (int at, const char *path, char *p, size_t n), (at, path, p, n))        \
	X(int, statfs64, statfs, -1, (const char *path, struct statfs64 *fs), (path, fs))                              \
	X(int, fstatfs64, fstatfs, -1, (int fd, struct statfs64 *fs), (fd, fs))                                        \
	X(int, statvfs64, statvfs, -1, (const char *path, struct statvfs64 *fs), (path, fs))                           \
	X(int, fstatvfs64, fstatvfs, -1, (int fd, struct statvfs64 *fs), (fd, fs))                                     \
	X(ssize_t, flistxattr, flistxattr, -1, (int fd, char *p, size_t n), (fd, p, n))                                \
	X(ssize_t, fgetxattr, fgetxattr, -1, (int fd, const char *name, void *p, size_t n), (fd, name, p, n))          \
	X(int, fsetxattr, fsetxattr, -1, (int fd, const char *name, const void *p, size_t n, int flags),               \
	  (fd, name, p, n, flags))                                                                                     \
	X(int, fchmod, fchmod, -1, (int fd, mode_t mode), (fd, mode))                                                  \
	X(int, fchown, fchown, -1, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))                                     \
	X(int, fallocate64, fallocate, -1, (int fd, int mode, off64_t off, off64_t n), (fd, mode, off, n))             \
	X(void *, reallocarray, alloc, NULL, (void *p, size_t n, size_t size), (p, n, size))                           \
	X(char *, strdup, alloc, NULL, (const char *text), (text))                                                     \
	X(char *, strndup, alloc, NULL, (const char *text, size_t n), (text, n))                                       \
	X(int, pipe2, pipe2, -1, (int fds[2], int flags), (fds, flags))

int statx(int at, const char *path, int flags, unsigned mask, struct statx *st);
int inotify_add_watch(int fd, const char *path, uint32_t mask);
ssize_t flistxattr(int fd, char *p, size_t n);
ssize_t fgetxattr(int fd, const char *name, void *p, size_t n);
int fsetxattr(int fd, const char *name, const void *p, size_t n, int flags);
int eventfd(unsigned n, int flags);

#define WRAP(type, name, kind, failed, parameters, arguments)                                                          \
	type name parameters                                                                                           \
	{                                                                                                              \
		REAL(name);                                                                                            \
		return fails(K_##kind, CALLER, NULL) ? failed : real arguments;                                        \
	}

PLAIN(WRAP)

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	REAL(pthread_create);
	return fails(K_pthread_create, CALLER, NULL) ? errno : real(thread, attr, run, arg);
}

/* The descriptor is closed even then. */
int close(int fd)
{
	REAL(close);
	int rc = real(fd), failed = fails(K_close, CALLER, NULL);
	return failed ? -1 : rc;
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	REAL(open64);
	return fails(K_open, CALLER, NULL) ? -1 : real(path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	REAL(openat64);
	return fails(K_openat, CALLER, NULL) ? -1 : real(at, path, flags, mode);
}

int fcntl64(int fd, int what, ...)
{
	va_list ap;
	va_start(ap, what);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	REAL(fcntl64);
	return fails(K_fcntl, CALLER, NULL) ? -1 : real(fd, what, arg);
}

long syscall(long number, ...)
{
	long a[6];
	va_list ap;
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	REAL(syscall);
	if ((number == SYS_openat2 && fails(K_openat2, CALLER, NULL)) ||
	    (number == SYS_getdents64 && fails(K_getdents64, CALLER, NULL)))
		return -1;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t getrandom(void *p, size_t n, unsigned flags)
{
	int half;
	REAL(getrandom);
	return fails(K_getrandom, CALLER, &half) ? -1 : real(p, half ? n / 2 : n, flags);
}

/* The kinds of descriptors. */
enum what { A_FILE, THE_DEVICE, EVENTS };

static enum what what_is(int fd)
{
	struct stat st;
	if (syscall(SYS_fstat, fd, &st) < 0)
		return A_FILE;
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(10, 229))
		return THE_DEVICE;
	return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode) ? A_FILE : EVENTS;
}

ssize_t read(int fd, void *p, size_t n)
{
	REAL(read);
	static const enum kind kinds[] = {[A_FILE] = K_read, [THE_DEVICE] = K_read_device, [EVENTS] = K_read_events};
	enum what w = control ? what_is(fd) : A_FILE;
	int half;
	if (fails(kinds[w], CALLER, w == A_FILE ? &half : NULL))
		return -1;
	return real(fd, p, w == A_FILE && half && n > 1 ? n / 2 : n);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t off)
{
	int half;
	REAL(pread64);
	return fails(K_pread, CALLER, &half) ? -1 : real(fd, p, half && n > 1 ? n / 2 : n, off);
}

ssize_t write(int fd, const void *p, size_t n)
{
	REAL(write);
	enum what w = control ? what_is(fd) : A_FILE;
	int half;
	if (fails(w == EVENTS ? K_write_events : K_write, CALLER, w == A_FILE ? &half : NULL))
		return -1;
	return real(fd, p, w == A_FILE && half && n > 1 ? n / 2 : n);
}

/* --- memory -------------------------------------------------------------------------------------- */

void *malloc(size_t n)
{
	return fails(K_alloc, CALLER, NULL) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(K_alloc, CALLER, NULL) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails(K_alloc, CALLER, NULL) ? NULL : __libc_realloc(p, n);
}
