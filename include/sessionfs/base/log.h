/* SPDX-License-Identifier: MIT */
/* log: messages `sessionfs: object: reason` to stderr, in the background to syslog. */
#ifndef SESSIONFS_LOG_H
#define SESSIONFS_LOG_H

#include <signal.h>
#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Messages above `level` are dropped. Once `syslog` is true they go to syslog(3). Not thread-safe: call before threads
 * start. */
void log_setup(enum log_level level, bool syslog);

void log_message(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* After log_setup, in the process that is to serve: from now on a signal that says that the program is wrong (SIGSEGV,
 * SIGABRT, ...) has a backtrace go where messages go, before it ends the process. Does nothing where libc has none. */
void log_install_crash_handler(void);
/* Each thread of ours calls this first: else there is no backtrace when its stack is used up. */
void log_thread_init(void);
/* Blocks all signals but those. */
void log_block_signals(sigset_t *before);

#endif
