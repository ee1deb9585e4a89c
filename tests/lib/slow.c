/* SPDX-License-Identifier: MIT */
/* Preloaded: each read of a file whose path ends in $SLOW_FILE takes $SLOW_US microseconds, and then waits while the
 * file $GATE exists; the first to wait creates $GATE.reached. It returns at most $SLOW_BYTES bytes. Reading the first
 * 512 bytes, for the header, or 4096, for a fingerprint, is not delayed. So a test sets the speed of the disk without a
 * large file, or the order of events. */
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

static void take_long(void)
{
	const char *us = getenv("SLOW_US");
	if (us)
		usleep((useconds_t)atoi(us));
}

static size_t limit(size_t n)
{
	const char *most = getenv("SLOW_BYTES");
	return most && n > (size_t)atoi(most) ? (size_t)atoi(most) : n;
}

static void wait_for_gate(void)
{
	char reached[4096];
	const char *gate = getenv("GATE");
	if (!gate || access(gate, F_OK) < 0)
		return;
	snprintf(reached, sizeof reached, "%s.reached", gate);
	close(open(reached, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	while (access(gate, F_OK) == 0)
		usleep(10000);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t off)
{
	static ssize_t (*next)(int, void *, size_t, off64_t);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pread64");
	if ((off > 0 || (n != 512 && n != 4096)) && is_slow(fd)) {
		take_long();
		wait_for_gate();
		n = limit(n);
	}
	return next(fd, p, n, off);
}
