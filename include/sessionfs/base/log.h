/* log: messages `sessionfs: object: reason` to stderr, in the background to syslog. */
#ifndef SESSIONFS_LOG_H
#define SESSIONFS_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Messages above `level` are dropped. Once `syslog` is true they go to syslog(3). Not thread-safe: call before threads
 * start. */
void log_setup(enum log_level level, bool syslog);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
