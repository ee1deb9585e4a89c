/* SPDX-License-Identifier: MIT */
/* Linux's calls, as sys_portable.c makes them. */
#ifndef SESSIONFS_SYS_PORTABLE_H
#define SESSIONFS_SYS_PORTABLE_H

#include "sessionfs/base/sys.h"

int portable_openat(int dir, const char *path, int flags, ...);
int portable_statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret);
int portable_fsync(int fd);
int portable_inotify_init1(int flags);

#endif
