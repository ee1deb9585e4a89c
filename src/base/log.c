/* One message is one line, written with one call, whatever bytes a file name in it has.
 * Where messages go is the only state that belongs to the whole process. It is set
 * before there are threads, and only read afterwards. */
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

static int priority_of(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_ERROR:
		return LOG_ERR;
	case LOG_LEVEL_WARNING:
		return LOG_WARNING;
	case LOG_LEVEL_INFO:
		return LOG_INFO;
	default:
		return LOG_DEBUG;
	}
}

__attribute__((format(printf, 2, 0))) static void log_message(enum log_level level, const char *fmt, va_list ap)
{
	char text[2048];
	int saved = errno;

	if (level > threshold)
		return;
	vsnprintf(text, sizeof text, fmt, ap);
	text[space_flatten(text, strlen(text), '?')] = '\0';
	if (to_syslog)
		syslog(priority_of(level), "%s", text);
	else
		fprintf(stderr, "sessionfs: %s\n", text);
	errno = saved;
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_message(LOG_LEVEL_ERROR, fmt, ap);
	va_end(ap);
}

void log_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_message(LOG_LEVEL_WARNING, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_message(LOG_LEVEL_INFO, fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_message(LOG_LEVEL_DEBUG, fmt, ap);
	va_end(ap);
}
