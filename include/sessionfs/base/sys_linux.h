/* SPDX-License-Identifier: MIT */
/* Linux's own calls; not every libc has all of them. */
#ifndef SESSIONFS_SYS_LINUX_H
#define SESSIONFS_SYS_LINUX_H

#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

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

#endif
