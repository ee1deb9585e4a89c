/* SPDX-License-Identifier: MIT */
/* Linux's own calls; not every libc has all of them. */
#ifndef SESSIONFS_SYS_LINUX_H
#define SESSIONFS_SYS_LINUX_H

#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define SYS_LINUX_CALLS(X) X(inotify_add_watch) X(inotify_rm_watch) X(fgetxattr) X(tgkill)
#define SYS_COND_CLOCK CLOCK_MONOTONIC

/* A stream that is written by a function, which gets and returns a number of bytes. */
typedef size_t sys_stream_size;
typedef ssize_t sys_stream_result;
#define sys_open_stream(arg, out, end) fopencookie(arg, "w", (cookie_io_functions_t){.write = (out), .close = (end)})

#ifndef STATX_TYPE
#define SYS_OWN_STATX
#include <linux/stat.h>
int statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret);
#endif
#ifndef __GLIBC__
int tgkill(pid_t process, pid_t thread, int signal);
#endif

#endif
