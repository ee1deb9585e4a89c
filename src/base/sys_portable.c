/* SPDX-License-Identifier: MIT */
/* Makes Linux's calls from POSIX calls. Three things are lost: only a directory has a handle, so for another name a
 * second look shows whether it is still the same file; only the device tells file systems apart; and directories are
 * polled, because nothing watches them. */
#include "sys_portable.h"

#include "sessionfs/base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

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

int portable_inotify_init1(int flags)
{
	(void)flags;
	errno = ENOSYS;
	return -1;
}

__attribute__((weak)) int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	(void)dir, (void)path, (void)how, (void)size;
	errno = ENOSYS;
	return -1;
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

int sys_allocate(int fd, size_t n)
{
	struct stat st;
	static const char zero[1 << 16];
	if (sys_fstat(fd, &st) < 0)
		return -errno;
	/* Only bytes that are written are sure to have room. */
	for (size_t at = (size_t)st.st_size; at < n;) {
		ssize_t got = sys_pwrite(fd, zero, n - at < sizeof zero ? n - at : sizeof zero, (off_t)at);
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		at += (size_t)got;
	}
	return 0;
}

void *sys_remap(int fd, void *p, size_t before, size_t n)
{
	void *to = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to != MAP_FAILED && before)
		munmap(p, before);
	return to;
}

size_t sys_processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (size_t)n : 1;
}

bool sys_random(void *p, size_t n)
{
	return getentropy(p, n) == 0;
}

/* Not every system can wait by the monotonic clock. If the other one is set back, a wait takes longer: its callers
 * look every few milliseconds. */
void sys_cond_init(pthread_cond_t *cond)
{
	pthread_cond_init(cond, NULL);
}

void sys_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t ns)
{
	const struct timespec until = clock_in(CLOCK_REALTIME, ns);
	pthread_cond_timedwait(cond, mutex, &until);
}

void sys_tune_memory(void)
{
}

void sys_trim_memory(void)
{
}

void sys_forbid_debugging(void)
{
}

#ifdef __linux__

char *sys_program_path(void)
{
	return realpath("/proc/self/exe", NULL);
}

#else

#include <mach-o/dyld.h>

char *sys_program_path(void)
{
	char path[4096];
	uint32_t n = sizeof path;
	return _NSGetExecutablePath(path, &n) == 0 ? realpath(path, NULL) : NULL;
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	(void)fd, (void)path, (void)mask;
	errno = ENOSYS;
	return -1;
}

int inotify_rm_watch(int fd, int wd)
{
	(void)fd, (void)wd;
	errno = ENOSYS;
	return -1;
}

int tgkill(pid_t process, pid_t thread, int signal)
{
	(void)process, (void)thread, (void)signal;
	errno = ENOSYS;
	return -1;
}

ssize_t sys_get_xattr(int fd, const char *name, void *p, size_t n)
{
	(void)fd, (void)name, (void)p, (void)n;
	errno = EOPNOTSUPP;
	return -1;
}

int pipe2(int ends[2], int flags)
{
	if (pipe(ends) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (flags & O_CLOEXEC)
			fcntl(ends[i], F_SETFD, FD_CLOEXEC);
		if (flags & O_NONBLOCK)
			fcntl(ends[i], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

int dup3(int from, int to, int flags)
{
	int fd = dup2(from, to);
	if (fd >= 0 && flags & O_CLOEXEC)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

char *secure_getenv(const char *name)
{
	return issetugid() ? NULL : getenv(name);
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

struct cookie {
	void *arg;
	cookie_io_functions_t io;
};

static int cookie_write(void *arg, const char *p, int n)
{
	struct cookie *k = arg;
	return (int)k->io.write(k->arg, p, (size_t)n);
}

static int cookie_close(void *arg)
{
	struct cookie *k = arg;
	int rc = k->io.close(k->arg);
	free(k);
	return rc;
}

FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t io)
{
	struct cookie *k = malloc(sizeof *k);
	(void)mode;
	if (!k)
		return NULL;
	*k = (struct cookie){cookie, io};
	FILE *f = funopen(k, NULL, cookie_write, NULL, cookie_close);
	if (!f)
		free(k);
	return f;
}

#endif
