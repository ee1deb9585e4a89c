/* SPDX-License-Identifier: MIT */
/* Apart from the code that uses them: a compiler can take a weak constant of its own file for the value. */
#include "sessionfs/base/sys.h"

#ifdef SESSIONFS_PORTABLE
#define openat portable_openat
#define statx portable_statx /* after its struct */
#define fsync portable_fsync
#define fdatasync portable_fsync
#endif

#define SYS_DEFINE(name) __attribute__((weak)) __typeof__(name) *const sys_##name = name;
SYS_CALLS(SYS_DEFINE)
