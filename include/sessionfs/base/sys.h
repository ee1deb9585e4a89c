/* SPDX-License-Identifier: MIT */
/* sys: system calls that tests can make fail. sys_pread is pread(2), and so on. They are weak: a test that defines one
 * replaces it in the whole program. */
#ifndef SESSIONFS_SYS_H
#define SESSIONFS_SYS_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* Not every libc has these. */
#ifndef STATX_TYPE
#define SYS_OWN_STATX
#include <linux/stat.h>
int statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret);
#endif
#ifdef __GLIBC__
#define sys_strerror(err, text, n) strerror_r(err, text, n)
#define sys_error_name(err) strerrorname_np(err)
#else
int tgkill(pid_t process, pid_t thread, int signal);
#define sys_strerror(err, text, n) ((void)(text), (void)(n), strerror(err)) /* these strings are constant */
#define sys_error_name(err) ((void)(err), (const char *)NULL)
#endif
/* The flags of a statx that asks no server, for a name. */
#define STATX_UNASKED (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)
struct open_how;
int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size);

/* clang-format off */
#define SYS_CALLS(X) \
	X(openat) X(fstat) X(fstatat) X(statx) X(fstatvfs) X(flock) \
	X(read) X(pread) X(pwrite) X(write) X(fsync) X(fdatasync) X(ftruncate) \
	X(renameat) X(fchmod) X(fgetxattr) \
	X(inotify_add_watch) X(clock_gettime) X(nanosleep) X(pthread_create) X(tgkill) X(sched_yield)
/* clang-format on */

#define SYS_DECLARE(name) extern __typeof__(name) *const sys_##name;
SYS_CALLS(SYS_DECLARE)

#endif
