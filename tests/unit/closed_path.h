/* SPDX-License-Identifier: MIT */
/* closed_path: a file or directory that cannot be opened. Include it in one file of a test binary. */
#ifndef CLOSED_PATH_H
#define CLOSED_PATH_H

#include "sessionfs/base/sys.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

static const char *closed_path; /* as the source has it; or NULL */

int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	errno = EHOSTDOWN;
	return closed_path && strcmp(path, closed_path) == 0 ? -1 : (int)syscall(SYS_openat2, dir, path, how, size);
}

#endif
