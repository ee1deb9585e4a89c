/* SPDX-License-Identifier: MIT */
/* cleanup: scope guards. A guard runs when the variable leaves its scope, and preserves errno. To pass the object on,
 * set the variable to NULL or -1. */
#ifndef SESSIONFS_CLEANUP_H
#define SESSIONFS_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang does not count the guard as a use of the variable. */
#define CLEANUP(fn) __attribute__((cleanup(fn), unused))

/* Sets the pointer to NULL. */
static inline void cleanup_free(void *pp)
{
	int saved = errno;
	free(*(void **)pp);
	memset(pp, 0, sizeof(void *));
	errno = saved;
}

static inline void cleanup_close(const int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_closedir(DIR **d)
{
	int saved = errno;
	if (*d)
		closedir(*d);
	errno = saved;
}

#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)
#define CLEANUP_CLOSEDIR CLEANUP(cleanup_closedir)

#endif
