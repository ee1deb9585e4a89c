/* SPDX-License-Identifier: MIT */
/* log: messages `sessionfs: object: reason` to stderr, in the background to syslog. */
#ifndef SESSIONFS_LOG_H
#define SESSIONFS_LOG_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct map;

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The last two drop a message that cannot be written at once: a mount, with any lock held, waits for no log daemon. */
enum log_target { LOG_TO_STDERR, LOG_TO_STDERR_NONBLOCK, LOG_TO_SYSLOG };

/* Messages above `level` are dropped. */
void log_setup(enum log_level level, enum log_target to);

void log_message(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* For a message that is logged once. Returns true if `logged`, which borrows the key, does not have it yet, and adds
 * it. The caller guards `logged`. */
bool log_once(struct map *logged, uint32_t kind, const char *key);
/* The next message with this key is logged again. */
void log_forget(struct map *logged, uint32_t kind, const char *key);

/* Call after log_setup, in the process that serves the mount. A signal that means a bug (SIGSEGV, SIGABRT, ...) then
 * logs a backtrace before it ends the process. Does nothing if libc has no backtraces. */
void log_install_crash_handler(void);
/* Each of our threads must call this first: otherwise a stack overflow gets no backtrace. */
void log_thread_init(void);
/* Blocks all signals except those for crashes. */
void log_block_signals(sigset_t *before);

#endif
