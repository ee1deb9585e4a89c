/* SPDX-License-Identifier: MIT */
/* check: reads every session file under a source and says what is wrong, one line each:
 *
 *	file:line: reason
 *
 * `file` is relative to the source. Unprintable bytes and backslashes are written as \xNN, so one
 * problem is one line. A problem of the file as a whole is reported at line 1. Files are in byte order of their path.
 */
#ifndef SESSIONFS_CHECK_H
#define SESSIONFS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct check_options {
	unsigned progress_ms; /* show progress after this time; 0: a second */
	bool progress_always; /* even if `progress` is not a terminal */
};

/* Writes problems to `out`. If `progress` (may be NULL) is a terminal, shows progress there, in one line that is
 * erased at the end. `o` may be NULL. *ret_found is the number of problems. 0, or a negative errno if
 * the source could not be searched or `out` could not be written. */
int check_source(const char *source, const struct check_options *o, FILE *out, FILE *progress, size_t *ret_found);

#endif
