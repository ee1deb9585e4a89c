/* SPDX-License-Identifier: MIT */
/* Preloaded into stress-ng, which works in a directory that it creates. The mount has no mkdir(2), so the directory
 * becomes a link to $FOREIGN_DIR. Other directories are not changed. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_work_directory(const char *path)
{
	const char *name = strrchr(path, '/');
	return strncmp(name ? name + 1 : path, "tmp-stress-ng", 13) == 0;
}

int mkdir(const char *path, mode_t mode)
{
	int (*next)(const char *, mode_t);
	const char *dir = getenv("FOREIGN_DIR");
	if (dir && is_work_directory(path))
		return symlink(dir, path);
	*(void **)&next = dlsym(RTLD_NEXT, "mkdir");
	return next(path, mode);
}

int rmdir(const char *path)
{
	int (*next)(const char *);
	if (is_work_directory(path))
		return unlink(path);
	*(void **)&next = dlsym(RTLD_NEXT, "rmdir");
	return next(path);
}
