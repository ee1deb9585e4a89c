/* SPDX-License-Identifier: MIT */
/* The names of Linux and its libraries that other systems lack; only macOS is known. sys_portable.c has the functions.
 */
#ifndef SESSIONFS_SYS_OTHER_H
#define SESSIONFS_SYS_OTHER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>

#define st_atim st_atimespec
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec

#define O_PATH 0x1000000 /* no flag of macOS; sys_openat takes it out */
#define SOCK_CLOEXEC 0
#define MSG_NOSIGNAL 0x80000
#define EREMOTEIO EBADRPC
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
enum {
	STATX_TYPE = 1,
	STATX_BASIC_STATS = 0x7ff,
	STATX_MNT_ID = 0x1000,
	STATX_ATTR_MOUNT_ROOT = 0x2000,
	AT_EMPTY_PATH = 0x10000,
	AT_NO_AUTOMOUNT = 0,
	AT_STATX_DONT_SYNC = 0
};
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
enum {
	IN_MODIFY = 0x2,
	IN_ATTRIB = 0x4,
	IN_MOVED_FROM = 0x40,
	IN_MOVED_TO = 0x80,
	IN_CREATE = 0x100,
	IN_DELETE = 0x200,
	IN_DELETE_SELF = 0x400,
	IN_MOVE_SELF = 0x800,
	IN_UNMOUNT = 0x2000,
	IN_Q_OVERFLOW = 0x4000,
	IN_IGNORED = 0x8000,
	IN_ONLYDIR = 0x1000000,
	IN_EXCL_UNLINK = 0x4000000,
	IN_ISDIR = 0x40000000,
	IN_CLOEXEC = 0,
	IN_NONBLOCK = 0
};
int inotify_init1(int flags);
int inotify_add_watch(int fd, const char *path, uint32_t mask);
int inotify_rm_watch(int fd, int wd);

typedef struct {
	ssize_t (*read)(void *cookie, char *p, size_t n);
	ssize_t (*write)(void *cookie, const char *p, size_t n);
	int (*seek)(void *cookie, int64_t *at, int whence);
	int (*close)(void *cookie);
} cookie_io_functions_t;
/* For streams that are written. */
FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t io);

/* Fails with EOPNOTSUPP: macOS has another kind of ACL. */
#define fgetxattr sys_get_xattr
ssize_t sys_get_xattr(int fd, const char *name, void *p, size_t n);
extern char **environ;
int dup3(int from, int to, int flags);
int fdatasync(int fd);
int pipe2(int ends[2], int flags);
int tgkill(pid_t process, pid_t thread, int signal);
char *secure_getenv(const char *name);
void *memrchr(const void *p, int c, size_t n);
#define qsort_r(...) sys_sort(__VA_ARGS__)
void sys_sort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *, void *), void *arg);

#define sys_strerror(err, text, n) (strerror_r(err, text, n) == 0 ? (text) : "unknown error")
#define sys_error_name(err) ((void)(err), (const char *)NULL)

#endif
