/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
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

size_t sys_processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}
