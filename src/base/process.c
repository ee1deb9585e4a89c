/* SPDX-License-Identifier: MIT */
/* Each file of /proc is read with one call, so that its contents are consistent. */
#include "sessionfs/base/process.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/sys.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Descriptors passed to children are redirections, which have low numbers. */
#define PROCESS_FILES_MAX 256
#define PROCESS_CHILDREN_MAX 64

/* The required lines are at the beginning of the file. */
#define PROC_FILE_SIZE 1024

atomic_uint process_threads_begun;

static int process_read(const char *path, char text[PROC_FILE_SIZE])
{
	lock_may_block(); /* some files wait for the process */
	int fd CLEANUP_CLOSE = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, PROC_FILE_SIZE - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

/* Parses the number in the line that begins with `key` (which starts with a newline). */
static bool parse_status_field(const char *text, const char *key, int base, uint64_t *ret)
{
	const char *at = strstr(text, key);
	if (at)
		*ret = strtoull(at + strlen(key), NULL, base);
	return at;
}

pid_t process_of_thread(pid_t thread)
{
	char path[64], text[PROC_FILE_SIZE];
	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	uint64_t process = 0;
	if (thread > 0 && process_read(path, text) == 0)
		parse_status_field(text, "\nTgid:", 10, &process);
	return process > 0 ? (pid_t)process : thread;
}

bool process_is_dying(pid_t thread)
{
	enum { STATE = 3, SIGNAL = 31 }; /* as proc_pid_stat(5) numbers them */
	char path[64], text[PROC_FILE_SIZE];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)thread);
	if (thread <= 0 || process_read(path, text) < 0)
		return false;
	/* The name of the program, before the state, can have spaces and brackets. */
	const char *at = strrchr(text, ')');
	for (int field = STATE - 1; at && field < SIGNAL; field++)
		at = strchr(at + 1, ' ');
	return at && strtoull(at, NULL, 10) >> (SIGKILL - 1) & 1;
}

bool process_shows_files(pid_t thread)
{
	char dir[64];
	snprintf(dir, sizeof dir, "/proc/%d/fdinfo", (int)thread);
	DIR *d CLEANUP_CLOSEDIR = thread > 0 ? opendir(dir) : NULL;
	return d;
}

static bool thread_has_open(pid_t thread, uint64_t inode, bool left)
{
	char dir[64], path[sizeof dir + 256], text[PROC_FILE_SIZE];
	uint64_t flags, found;
	snprintf(dir, sizeof dir, "/proc/%d/fdinfo", (int)thread);
	DIR *d CLEANUP_CLOSEDIR = thread > 0 ? opendir(dir) : NULL;
	const struct dirent *e;
	for (int n = 0; d && n < PROCESS_FILES_MAX && (e = readdir(d)); n++) {
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (e->d_name[0] != '.' && process_read(path, text) == 0 &&
		    parse_status_field(text, "\nflags:", 8, &flags) && parse_status_field(text, "\nino:", 10, &found) &&
		    found == inode && (flags & O_ACCMODE) != O_RDONLY && !(left && flags & O_CLOEXEC))
			return true;
	}
	return false;
}

/* Adds the children of the thread. */
static void add_children(pid_t thread, pid_t to[PROCESS_CHILDREN_MAX], size_t *n)
{
	char path[64], text[PROC_FILE_SIZE];
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)thread, (int)thread);
	if (process_read(path, text) < 0)
		return;
	char *end = text;
	for (long pid; *n < PROCESS_CHILDREN_MAX && (pid = strtol(end, &end, 10)) > 0;)
		to[(*n)++] = (pid_t)pid;
}

bool process_writes(pid_t thread, uint64_t inode)
{
	pid_t all[PROCESS_CHILDREN_MAX] = {thread};
	size_t n = 1;
	for (size_t i = 0; i < n && thread > 0; i++) {
		if (thread_has_open(all[i], inode, i > 0))
			return true;
		add_children(all[i], all, &n);
	}
	return false;
}
