/* SPDX-License-Identifier: MIT */
/* A message is one line, written with one call, whatever bytes a file name in it has. The destination is the only
 * process-wide state. */
#include "sessionfs/base/log.h"

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

static _Atomic enum log_level threshold = LOG_LEVEL_WARNING;
static _Atomic enum log_target target;
static int syslog_fd = -1;

void log_setup(enum log_level level, enum log_target to)
{
	if (to == LOG_TO_SYSLOG && syslog_fd < 0)
		syslog_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	threshold = level;
	target = to;
}

/* As syslog(3) begins a line, which would also wait for a log daemon that has stopped. */
static void log_begin_line(int priority, char ret[64])
{
	if (target == LOG_TO_SYSLOG)
		snprintf(ret, 64, "<%d>sessionfs[%d]: ", LOG_DAEMON | priority, (int)getpid());
	else
		strcpy(ret, "sessionfs: ");
}

/* Makes only async-signal-safe calls. */
static void log_write_line(const char *begin, const char *line, size_t n)
{
	static const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	struct iovec v[] = {{(char *)begin, strlen(begin)}, {(char *)line, n}, {"\n", 1}};
	if (target == LOG_TO_SYSLOG)
		sendmsg(syslog_fd,
		        &(struct msghdr){
			    .msg_name = (void *)&log, .msg_namelen = sizeof log, .msg_iov = v, .msg_iovlen = 2},
		        MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (writev(STDERR_FILENO, v, 3) < 0)
		return;
}

void log_message(enum log_level level, const char *fmt, ...)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	char text[2048], begin[64];
	int saved = errno;
	va_list ap;

	if (level > threshold)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	text[space_flatten(text, strlen(text), '?', "")] = '\0';
	log_begin_line(priorities[level], begin);
	progress_clear();
	flockfile(stderr);
	/* With -d no line is dropped. */
	if (target != LOG_TO_STDERR_NONBLOCK || threshold == LOG_LEVEL_DEBUG ||
	    poll(&(struct pollfd){STDERR_FILENO, POLLOUT, 0}, 1, 0) != 0)
		log_write_line(begin, text, strlen(text));
	funlockfile(stderr);
	errno = saved;
}

/* A failed allocation costs a repeated message, not the answer. */
bool log_once(struct map *logged, uint32_t kind, const char *key)
{
	if (map_get(logged, kind, span_of(key)) != MAP_NONE)
		return false;
	int before = deferred_begin();
	map_put(logged, kind, span_of(key), 1);
	deferred_end(before, 0);
	return true;
}

void log_forget(struct map *logged, uint32_t kind, const char *key)
{
	map_remove(logged, kind, span_of(key));
}

/* --- crashes ------------------------------------------------------------------------- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
#define CRASHES (sizeof crashes / sizeof *crashes)

void log_block_signals(sigset_t *before)
{
	sigset_t most;
	sigfillset(&most);
	for (size_t i = 0; i < CRASHES; i++)
		sigdelset(&most, crashes[i]);
	pthread_sigmask(SIG_SETMASK, &most, before);
}

/* A sanitizer has a backtrace of its own, and a stack for it. gcc and clang report sanitizers differently. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined __GLIBC__ && !defined SANITIZED
#include <execinfo.h>

static char crash_begin[64]; /* of each line logged about a crash */

#define CRASH_STACK (32 * 1024)
static _Thread_local char crash_stack[CRASH_STACK]; /* the thread's own stack can be full */

void log_thread_init(void)
{
	sigaltstack(&(stack_t){.ss_sp = crash_stack, .ss_size = sizeof crash_stack}, NULL);
}

/* Uses only async-signal-safe calls. */
static void crash_handler(int sig)
{
	void *frames[64];
	char head[128], text[8192], *end;
	int ends[2];
	const char *name = sigabbrev_np(sig);
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		goto die;
	end = stpcpy(stpcpy(head, "ended by SIG"), name ? name : "NAL");
	end = stpcpy(end, "; addr2line -fi -e FILE +0xOFFSET finds the source line of FILE(+0xOFFSET):\n");
	if (write(ends[1], head, (size_t)(end - head)) < 0)
		goto die;
	backtrace_symbols_fd(frames, backtrace(frames, sizeof frames / sizeof *frames), ends[1]);
	ssize_t n = read(ends[0], text, sizeof text);
	for (char *line = text; n > 0 && (end = memchr(line, '\n', (size_t)(text + n - line))); line = end + 1)
		log_write_line(crash_begin, line, (size_t)(end - line));
die:
	raise(sig); /* as if there were no handler */
}

void log_install_crash_handler(void)
{
	struct sigaction act = {.sa_handler = crash_handler, .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND | SA_NODEFER)};
	void *frame;
	backtrace(&frame, 1); /* the first call loads a library */
	log_begin_line(LOG_ERR, crash_begin);
	log_thread_init();
	for (size_t i = 0; i < CRASHES; i++)
		sigaction(crashes[i], &act, NULL);
}
#else
void log_thread_init(void)
{
}

void log_install_crash_handler(void)
{
}
#endif
