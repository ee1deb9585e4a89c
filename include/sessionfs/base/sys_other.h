/* SPDX-License-Identifier: MIT */
/* The names of Linux that macOS, the only other known system, lacks. Their functions are in sys_portable.c. */
#ifndef SESSIONFS_SYS_OTHER_H
#define SESSIONFS_SYS_OTHER_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define st_atim st_atimespec
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec

#define O_PATH 0x1000000 /* no flag of macOS; sys_openat takes it out */
#define SOCK_CLOEXEC 0
#define MSG_NOSIGNAL 0x80000
#define EREMOTEIO EBADRPC
#define GRND_NONBLOCK 0
#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC

struct statx_timestamp {
	int64_t tv_sec;
	uint32_t tv_nsec;
};
struct statx {
	uint32_t stx_mask, stx_nlink, stx_uid, stx_gid, stx_dev_major, stx_dev_minor;
	uint16_t stx_mode;
	uint64_t stx_attributes, stx_ino, stx_size, stx_mnt_id;
	struct statx_timestamp stx_mtime, stx_ctime;
};
enum { STATX_TYPE = 1, STATX_BASIC_STATS = 0x7ff, STATX_MNT_ID = 0x1000, STATX_ATTR_MOUNT_ROOT = 0x2000 };
enum { AT_EMPTY_PATH = 0x10000, AT_NO_AUTOMOUNT = 0, AT_STATX_DONT_SYNC = 0 };
int statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret);

struct open_how {
	uint64_t flags, mode, resolve;
};
enum { RESOLVE_NO_XDEV = 1, RESOLVE_NO_SYMLINKS = 4, RESOLVE_BENEATH = 8 };

struct inotify_event {
	int wd;
	uint32_t mask, cookie, len;
	char name[];
};
enum { IN_MODIFY = 0x2, IN_ATTRIB = 0x4, IN_MOVED_FROM = 0x40, IN_MOVED_TO = 0x80, IN_CREATE = 0x100 };
enum { IN_DELETE = 0x200, IN_DELETE_SELF = 0x400, IN_MOVE_SELF = 0x800, IN_UNMOUNT = 0x2000, IN_Q_OVERFLOW = 0x4000 };
enum { IN_IGNORED = 0x8000, IN_ONLYDIR = 1 << 24, IN_EXCL_UNLINK = 1 << 26, IN_ISDIR = 1 << 30 };
enum { IN_CLOEXEC = 0, IN_NONBLOCK = 0 };

/* Polling needs no watch, and macOS has another kind of ACL. */
#define SYS_LINUX_CALLS(X)
#define sys_inotify_add_watch sys_missing
#define sys_inotify_rm_watch sys_missing
#define sys_fgetxattr(fd, name, p, n) ((void)(fd), errno = EOPNOTSUPP, -1)

/* A condition can wait by this clock alone. If it is set back, a wait takes longer. */
#define SYS_COND_CLOCK CLOCK_REALTIME
#define pthread_condattr_setclock(attr, clock) ((void)(attr))

typedef int sys_stream_size, sys_stream_result;
#define sys_open_stream(arg, out, end) funopen(arg, NULL, out, NULL, end)

extern char **environ;
#define dup3(from, to, flags) (dup2(from, to) < 0 ? -1 : fcntl(to, F_SETFD, FD_CLOEXEC))
#define getrandom(p, n, flags) (getentropy(p, n) == 0 ? (ssize_t)(n) : -1)
#define secure_getenv(name) (issetugid() ? NULL : getenv(name))
int fdatasync(int fd);
int pipe2(int ends[2], int flags);
int posix_fallocate(int fd, off_t from, off_t n);
void *memrchr(const void *p, int c, size_t n);
#define qsort_r(...) sys_sort(__VA_ARGS__)
void sys_sort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *, void *), void *arg);

#endif
