/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/sys.h"

#include <sys/syscall.h>

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

#define SYS_DEFINE(name) __attribute__((weak)) __typeof__(name) *const sys_##name = name;
SYS_CALLS(SYS_DEFINE)

__attribute__((weak)) int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	return (int)syscall(SYS_openat2, dir, path, how, size);
}
