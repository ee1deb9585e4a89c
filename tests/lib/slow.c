/* Preloaded: each read of a file whose path ends in $SLOW_FILE takes $SLOW_US microseconds. So a file is as long as a
 * test wants it to be, without being large. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t pread64(int fd, void *p, size_t n, off64_t off);

static int is_slow(int fd)
{
	char link[64], path[4096];
	const char *end = getenv("SLOW_FILE");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path);
	size_t k = end ? strlen(end) : 0;
	return k && n >= (ssize_t)k && memcmp(path + n - k, end, k) == 0;
}

ssize_t pread64(int fd, void *p, size_t n, off64_t off)
{
	static ssize_t (*next)(int, void *, size_t, off64_t);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pread64");
	if (is_slow(fd))
		usleep((useconds_t)atoi(getenv("SLOW_US")));
	return next(fd, p, n, off);
}
