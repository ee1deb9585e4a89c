/* SPDX-License-Identifier: MIT */
/* A message is one line, written with one call, whatever bytes a file name in it has. The destination is the only
 * process-wide state. */
#include "sessionfs/base/log.h"

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/base/space.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

static _Atomic enum log_level threshold = LOG_LEVEL_WARNING;
static atomic_bool to_syslog;

void log_setup(enum log_level level, bool use_syslog)
{
	if (use_syslog)
		openlog("sessionfs", LOG_PID, LOG_DAEMON);
	threshold = level;
	to_syslog = use_syslog;
}

void log_message(enum log_level level, const char *fmt, ...)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	char text[2048];
	int saved = errno;
	va_list ap;

	if (level > threshold)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	text[space_flatten(text, strlen(text), '?', "")] = '\0';
	if (to_syslog) {
		syslog(priorities[level], "%s", text);
	} else {
		progress_clear();
		fprintf(stderr, "sessionfs: %s\n", text);
	}
	errno = saved;
}

/* A failed allocation costs a repeated message, not the answer. */
bool log_once(struct map *logged, uint32_t kind, const char *key)
{
	if (map_get(logged, kind, span_of(key)) == 1)
		return false;
	int before = deferred_push();
	map_put(logged, kind, span_of(key), 1);
	deferred_pop(before, 0);
	return true;
}

void log_forget(struct map *logged, uint32_t kind, const char *key)
{
	if (map_get(logged, kind, span_of(key)) == 1)
		map_put(logged, kind, span_of(key), 0);
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

static char crash_prefix[64]; /* of each line logged about a crash */

#define CRASH_STACK (32 * 1024)
static _Thread_local char crash_stack[CRASH_STACK]; /* the thread's own stack can be full */

void log_thread_init(void)
{
	sigaltstack(&(stack_t){.ss_sp = crash_stack, .ss_size = sizeof crash_stack}, NULL);
}

/* Uses only async-signal-safe calls: not syslog(3), so each line is sent in its protocol. */
static void crash_handler(int sig)
{
	static const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	void *frames[64];
	char head[128], text[8192], *end;
	int ends[2], out = STDERR_FILENO;
	const char *name = sigabbrev_np(sig);
	if (to_syslog)
		out = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if ((to_syslog && connect(out, (const struct sockaddr *)&log, sizeof log) < 0) ||
	    pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		goto die;
	end = stpcpy(stpcpy(head, "ended by SIG"), name ? name : "NAL");
	end = stpcpy(end, "; addr2line -fi -e FILE +0xOFFSET finds the source line of FILE(+0xOFFSET):\n");
	if (write(ends[1], head, (size_t)(end - head)) < 0)
		goto die;
	backtrace_symbols_fd(frames, backtrace(frames, sizeof frames / sizeof *frames), ends[1]);
	ssize_t n = read(ends[0], text, sizeof text);
	for (char *line = text; n > 0 && (end = memchr(line, '\n', (size_t)(text + n - line))); line = end + 1) {
		const struct iovec v[] = {{crash_prefix, strlen(crash_prefix)},
		                          {line, (size_t)(end - line) + !to_syslog}};
		if (writev(out, v, 2) < 0)
			break;
	}
die:
	raise(sig); /* as if there were no handler */
}

void log_install_crash_handler(void)
{
	struct sigaction act = {.sa_handler = crash_handler, .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND | SA_NODEFER)};
	void *frame;
	backtrace(&frame, 1); /* the first call loads a library */
	if (to_syslog)
		snprintf(crash_prefix, sizeof crash_prefix, "<%d>sessionfs[%d]: ", LOG_DAEMON | LOG_ERR, (int)getpid());
	else
		strcpy(crash_prefix, "sessionfs: ");
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
