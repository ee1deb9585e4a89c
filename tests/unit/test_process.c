/* SPDX-License-Identifier: MIT */
/* Facts from /proc: threads, open files, and inherited files. */
#include "cases.h"

#include "sessionfs/base/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *own_process(void *arg)
{
	*(pid_t *)arg = process_of_thread(gettid());
	return NULL;
}

CASE(thread_maps_to_process)
{
	pthread_t thread;
	pid_t process = 0;

	assert_int_equal(process_of_thread(getpid()), getpid());
	assert_int_equal(pthread_create(&thread, NULL, own_process, &process), 0);
	pthread_join(thread, NULL);
	assert_int_equal(process, getpid());
	assert_int_equal(process_of_thread(1 << 30), 1 << 30);
	assert_int_equal(process_of_thread(0), 0);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* Forks a child that inherits the open files and waits for input from `fd`. */
static pid_t start_child(int fd)
{
	pid_t child = fork();
	char c;

	assert_true(child >= 0);
	if (child == 0)
		_exit(read(fd, &c, 1) == 1 ? 0 : 1);
	return child;
}

CASE(open_writers_are_found)
{
	char name[] = "/tmp/sessionfs-process-XXXXXX";
	int fd = mkstemp(name), gate[2];

	assert_true(fd >= 0);
	uint64_t inode = inode_of(fd);
	assert_int_equal(pipe(gate), 0);
	assert_true(process_writes(getpid(), inode));
	assert_false(process_writes(getpid(), inode + 1));
	assert_false(process_writes(1 << 30, inode));
	assert_false(process_writes(0, inode));
	assert_true(process_shows_files(getpid()));
	assert_false(process_shows_files(1 << 30));
	assert_false(process_shows_files(0));

	/* Inherited by a child, unless the child closes it on exec. */
	pid_t child = start_child(gate[0]);
	int other = open(name, O_RDONLY | O_CLOEXEC);
	close(fd);
	assert_true(process_writes(getpid(), inode));
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(process_writes(getpid(), inode)); /* read-only */
	close(other);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	child = start_child(gate[0]);
	close(fd);
	assert_false(process_writes(getpid(), inode));
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(gate[0]);
	close(gate[1]);
	unlink(name);
}

/* A process killed while it waits for the mount: tests/wire/test_loop.c. */
CASE(live_process_is_not_dying)
{
	sigset_t blocked, before;
	sigfillset(&blocked);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	raise(SIGUSR1); /* stays pending */
	assert_false(process_is_dying(gettid()));
	assert_int_equal(sigwaitinfo(&blocked, NULL), SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_false(process_is_dying(1 << 30));
	assert_false(process_is_dying(0));
}

RUN_CASES(NULL, NULL)
