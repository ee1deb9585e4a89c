/* SPDX-License-Identifier: MIT */
/* A message is one line, written with one call, whatever bytes a file name in it has. Where messages go is the only
 * state of the whole process: set before threads start, and only read afterwards. */
#include "sessionfs/base/log.h"
#include "sessionfs/base/space.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

static enum log_level threshold = LOG_LEVEL_WARNING;
static bool to_syslog;

void log_setup(enum log_level level, bool use_syslog)
{
	threshold = level;
	to_syslog = use_syslog;
	if (use_syslog)
		openlog("sessionfs", LOG_PID, LOG_DAEMON);
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
	text[space_flatten(text, strlen(text), '?')] = '\0';
	if (to_syslog)
		syslog(priorities[level], "%s", text);
	else
		fprintf(stderr, "sessionfs: %s\n", text);
	errno = saved;
}
