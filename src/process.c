/* A file of /proc comes with one read, as it is at that moment. */
#include "sessionfs/process.h"

#include "sessionfs/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* More than the lines that are looked for, which stand at the beginning. */
#define FILE_BYTES 1024

static int read_file(const char *path, char text[FILE_BYTES])
{
	int fd CLEANUP_CLOSE = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_BYTES - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

/* The number in the line that begins with `key`; -1 if there is none. */
static long long number_in(const char *text, const char *key, int base)
{
	const char *at = strstr(text, key);
	return at ? strtoll(at + strlen(key), NULL, base) : -1;
}

pid_t process_of(pid_t thread)
{
	char path[64], text[FILE_BYTES];
	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	long long process = thread > 0 && read_file(path, text) == 0 ? number_in(text, "\nTgid:", 10) : -1;
	return process > 0 ? (pid_t)process : thread;
}
