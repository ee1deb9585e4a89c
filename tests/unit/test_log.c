/* SPDX-License-Identifier: MIT */
/* log: one line per message, above the threshold only. */
#include "cases.h"
#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/map.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct capture {
	int saved, pipe[2];
};

/* Sends stderr to a pipe. */
static void capture_begin(struct capture *c)
{
	fflush(stderr);
	c->saved = dup(STDERR_FILENO);
	assert_int_equal(pipe(c->pipe), 0);
	assert_int_equal(dup2(c->pipe[1], STDERR_FILENO), STDERR_FILENO);
	close(c->pipe[1]);
}

/* Restores stderr; returns the output to it, NUL-terminated. */
static void capture_end(struct capture *c, char *ret, size_t size)
{
	size_t n = 0;
	ssize_t got;
	fflush(stderr);
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	while (n < size - 1 && (got = read(c->pipe[0], ret + n, size - 1 - n)) > 0)
		n += (size_t)got;
	ret[n] = '\0';
	close(c->pipe[0]);
}

static void all_levels(void)
{
	log_error("a: %s", "error");
	log_warning("b: warning %d", 1);
	log_info("c: info");
	log_debug("d: debug");
}

/* At this level it logs this. */
static void assert_logs(enum log_level level, void (*what)(void), const char *want)
{
	char text[8000];
	struct capture c;
	log_setup(level, LOG_TO_STDERR);
	capture_begin(&c);
	what();
	capture_end(&c, text, sizeof text);
	assert_string_equal(text, want);
}

CASE(messages_above_level_are_dropped)
{
#define TO_WARNING "sessionfs: a: error\nsessionfs: b: warning 1\n"
	assert_logs(LOG_LEVEL_ERROR, all_levels, "sessionfs: a: error\n");
	assert_logs(LOG_LEVEL_WARNING, all_levels, TO_WARNING);
	assert_logs(LOG_LEVEL_INFO, all_levels, TO_WARNING "sessionfs: c: info\n");
	assert_logs(LOG_LEVEL_DEBUG, all_levels, TO_WARNING "sessionfs: c: info\nsessionfs: d: debug\n");
}

static void log_controls(void)
{
	log_error("x\ny\x1b[31m: \x7f\xc2\x85\xc2\x9b\u2028 na\xc3\xafve");
}

static void log_errno(void)
{
	errno = EXDEV;
	log_error("x: %m");
	assert_int_equal(errno, EXDEV);
}

CASE(a_message_stays_one_line)
{
	assert_logs(LOG_LEVEL_ERROR, log_controls, "sessionfs: x?y?[31m: ???? na\xc3\xafve\n");
	assert_logs(LOG_LEVEL_ERROR, log_errno, "sessionfs: x: Invalid cross-device link\n");
}

CASE(a_long_message_is_cut)
{
	char text[8000];
	struct capture c;
	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	capture_begin(&c);
	log_error("%*d", 5000, 1);
	capture_end(&c, text, sizeof text);
	assert_true(strlen(text) > 1000 && strlen(text) < 5000);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

CASE(syslog_replaces_stderr)
{
	char text[100];
	struct capture c;
	log_setup(LOG_LEVEL_DEBUG, LOG_TO_SYSLOG);
	capture_begin(&c);
	all_levels();
	capture_end(&c, text, sizeof text);
	log_setup(LOG_LEVEL_WARNING, LOG_TO_STDERR);
	assert_string_equal(text, "");
}

#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static void *use_up_the_stack(void *arg)
{
	volatile char room[4096];
	room[0] = arg ? *(volatile char *)arg : 0;
	if (room[0] == 0)
		use_up_the_stack((void *)room);
	return (void *)(uintptr_t)room[0];
}

static void *overflow(void *arg)
{
	log_thread_init();
	return use_up_the_stack(arg);
}

CASE(stack_overflow_is_logged)
{
	char text[8192];
	struct capture c;
	int status;
	capture_begin(&c);
	pid_t child = fork();
	if (child == 0) {
		pthread_t thread;
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
		log_install_crash_handler();
		pthread_create(&thread, NULL, overflow, NULL);
		pthread_join(thread, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	capture_end(&c, text, sizeof text);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	assert_ptr_equal(strstr(text, "sessionfs: ended by SIGSEGV; "), text);
	assert_non_null(strstr(text, "test_log(+0x"));
}
#endif

CASE(a_key_is_logged_once_until_it_is_forgotten)
{
	struct map logged CLEANUP(map_release) = {0};
	assert_true(log_once(&logged, 1, "a"));
	assert_false(log_once(&logged, 1, "a"));
	assert_true(log_once(&logged, 2, "a"));
	assert_true(log_once(&logged, 1, "b"));
	log_forget(&logged, 1, "a");
	log_forget(&logged, 1, "c");
	assert_false(log_once(&logged, 2, "a"));
	assert_true(log_once(&logged, 1, "a"));
	assert_false(log_once(&logged, 1, "a"));
}

RUN_CASES(NULL, NULL)
