/* SPDX-License-Identifier: MIT */
/* sys: the system, with the interface of Linux. sys_linux.c passes the calls on; sys_portable.c makes them from POSIX
 * calls, for other systems and for `make PORTABLE=1`.
 *
 * sys_pread is pread(2), and so on. They are weak: a test that defines one replaces it in the whole program. */
#ifndef SESSIONFS_SYS_H
#define SESSIONFS_SYS_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include "sessionfs/base/sys_linux.h"
#endif

/* The flags of a statx that asks no server, for a name. */
#define STATX_UNASKED (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)
/* Opens a path of plain names on one file system. Fails with ENOSYS if the system lacks this call, or
 * with another error if a sandbox forbids it. */
int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size);

/* clang-format off */
#define SYS_CALLS(X) \
	X(openat) X(fstat) X(fstatat) X(statx) X(fstatvfs) X(flock) X(readdir) \
	X(read) X(pread) X(pwrite) X(write) X(fsync) X(fdatasync) X(ftruncate) \
	X(renameat) X(fchmod) X(clock_gettime) X(nanosleep) X(pthread_create) X(sched_yield) SYS_LINUX_CALLS(X)
/* clang-format on */

#define SYS_DECLARE(name) extern __typeof__(name) *const sys_##name;
SYS_CALLS(SYS_DECLARE)

#ifdef SESSIONFS_PORTABLE
int portable_openat(int dir, const char *path, int flags, ...);
int portable_statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret);
int portable_fsync(int fd);
/* Fails with ENOSYS. */
int sys_missing(int first, ...);
#define sys_inotify_init1 sys_missing
enum { SYS_STATX_WAITS = 1 }; /* statx asks the server of a name, whatever its flags */
#else
#define sys_inotify_init1 inotify_init1
enum { SYS_STATX_WAITS = 0 };
#endif

#define SYS_NO_HANDLE INT_MIN
/* Identifies a name of a directory without asking its server, and opens it with O_PATH. Returns a descriptor;
 * SYS_NO_HANDLE for a name of no directory, if the system has no such descriptors; or a negative errno. */
int sys_open_name(int dir, const char *name, struct statx *ret);
/* Reads a link that sys_open_name opened as `fd`. Returns the length or a negative errno: -ESTALE if another link took
 * its name. */
ssize_t sys_read_link(int fd, int dir, const char *name, const struct statx *x, char *to, size_t n);
/* Opens a file without a name in `dir`, on a disk. Returns a descriptor or a negative errno: -ENOTSUP if it would be in
 * memory. */
int sys_open_unnamed(const char *dir);
/* Returns whether the file system of the descriptor can ask a server, and wait for its answer. */
bool sys_is_remote(int fd);
struct sys_mount {
	const char *dir, *type, *source, *options; /* of the call */
	dev_t device;
};
/* Calls fn for each mount, in order. Stops at and returns the first result of fn that is not 0; else returns 0. */
int sys_each_mount(int (*fn)(void *arg, const struct sys_mount *m), void *arg);
/* Returns the number of processors that this process can use. */
size_t sys_processors(void);
/* Returns the path of the program; the caller frees it. */
char *sys_program_path(void);
/* Returns the name of an error of a file or directory, such as "ENOSPC", or NULL. */
const char *sys_error_name(int err);
/* Sets the allocator so that memory which is freed returns to the system, if it has such settings. */
void sys_tune_memory(void);
/* Forbids debugging by the user's other processes, and to a process of root the rights of setuid files. */
void sys_forbid_debugging(void);

#endif
