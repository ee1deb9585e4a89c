/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/clock.h"

#include <errno.h>
#include <linux/magic.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#ifdef SYS_OWN_STATX
int statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret)
{
	return (int)syscall(SYS_statx, dir, path, flags, wanted, ret);
}
#endif

#ifndef __GLIBC__
int tgkill(pid_t process, pid_t thread, int signal)
{
	return (int)syscall(SYS_tgkill, process, thread, signal);
}
#endif

__attribute__((weak)) int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	return (int)syscall(SYS_openat2, dir, path, how, size);
}

int sys_open_name(int dir, const char *name, struct statx *ret)
{
	int fd = sys_openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (sys_statx(fd, "", STATX_UNASKED | AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, ret) == 0)
		return fd;
	int err = errno;
	close(fd);
	return -err;
}

ssize_t sys_read_link(int fd, int dir, const char *name, const struct statx *x, char *to, size_t n)
{
	(void)dir, (void)name, (void)x;
	ssize_t got = readlinkat(fd, "", to, n);
	return got < 0 ? -errno : got;
}

int sys_open_unnamed(const char *dir)
{
	struct statfs fs;
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) == 0 && (unsigned)fs.f_type != TMPFS_MAGIC && (unsigned)fs.f_type != RAMFS_MAGIC)
		return fd;
	close(fd);
	return -ENOTSUP;
}

int sys_allocate(int fd, size_t n)
{
	return -posix_fallocate(fd, 0, (off_t)n);
}

void *sys_remap(int fd, void *p, size_t before, size_t n)
{
	return before ? mremap(p, before, n, MREMAP_MAYMOVE) : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

size_t sys_processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

bool sys_random(void *p, size_t n)
{
	return getrandom(p, n, GRND_NONBLOCK) == (ssize_t)n;
}

void sys_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

void sys_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t ns)
{
	const struct timespec until = clock_in(CLOCK_MONOTONIC, ns);
	pthread_cond_timedwait(cond, mutex, &until);
}

void sys_tune_memory(void)
{
#ifdef __GLIBC__
	/* By default each thread has its own arena, and memory freed in the middle of one stays there: the process
	 * grows beyond its data. With few arenas, and large blocks in mappings of their own, evicted memory returns to
	 * the system. Read buffers stay below the threshold, because they are short-lived. */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 320 * 1024);
	mallopt(M_TRIM_THRESHOLD, 2 * 1024 * 1024);
#endif
}

void sys_trim_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

char *sys_program_path(void)
{
	return realpath("/proc/self/exe", NULL);
}

/* The leak sanitizer is such a debugger. */
void sys_forbid_debugging(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	/* Not for users: they unmount with fusermount3, which is setuid and must keep its rights. */
	if (geteuid() == 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
