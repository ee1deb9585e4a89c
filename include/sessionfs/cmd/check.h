/* SPDX-License-Identifier: MIT */
/* check: reads every session file of a source and prints its problems, one line each:
 *
 *	file:line: reason
 *
 * `file` is relative to the source. Unprintable bytes and backslashes are written as \xNN, so each problem is one line.
 * A problem of the whole file is reported at line 1. Files are in byte order of their path. */
#ifndef SESSIONFS_CHECK_H
#define SESSIONFS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct check_options {
	unsigned progress_ms; /* show progress after this time; 0: one second */
	bool progress_always; /* even if `progress` is not a terminal */
};

/* Writes problems to `out`, and their number to *ret_found. If `progress` (NULL: none) is a terminal, shows progress
 * there in one line, erased at the end. `o` NULL: defaults. Returns 0, or a negative errno if the source could not be
 * searched or `out` could not be written. */
int check_source(const char *source, const struct check_options *o, FILE *out, FILE *progress, size_t *ret_found);

#endif
