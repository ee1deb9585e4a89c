/* SPDX-License-Identifier: MIT */
/* terminal: colours, and text that is safe to print, for people. */
#ifndef SESSIONFS_TERMINAL_H
#define SESSIONFS_TERMINAL_H

#include "sessionfs/base/buf.h"

#include <stdio.h>

/* Each ends with COLOUR_END. */
#define COLOUR_BOLD "\x1b[1m"
#define COLOUR_DIM "\x1b[2m"
#define COLOUR_RED "\x1b[31m"
#define COLOUR_BOLD_RED "\x1b[1;31m"
#define COLOUR_GREEN "\x1b[32m"
#define COLOUR_YELLOW "\x1b[33m"
#define COLOUR_MAGENTA "\x1b[35m"
#define COLOUR_CYAN "\x1b[36m"
#define COLOUR_BOLD_CYAN "\x1b[1;36m"
#define COLOUR_END "\x1b[m"

/* Returns whether output to fd gets colours by default: it is a terminal that supports them, and NO_COLOR is not set
 * (no-color.org). */
bool terminal_supports_color(int fd);

/* From `start` on, replaces each control character, except TAB and newline, by `?` (space_flatten): text of a session
 * must not reach the terminal as a command. */
void terminal_sanitize(struct buf *out, size_t start);
/* Returns a stream to `out` that replaces the same; `out` itself if that is not a terminal; NULL if out of memory. */
FILE *terminal_stream(FILE *out);
/* Closes *stream if it is such a stream; only flushes stdout and stderr. */
void terminal_close(FILE **stream);

#endif
