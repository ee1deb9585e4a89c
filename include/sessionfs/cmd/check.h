/* check: reads every session file under a source and says what is wrong, one line each:
 *
 *	file:line: reason
 *
 * `file` is relative to the source; bytes that would not print, and backslashes, are \xNN, so that one
 * problem is one line. What concerns a file as a whole is reported at line 1. Files come in byte order of their path.
 */
#ifndef SESSIONFS_CHECK_H
#define SESSIONFS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct check_options {
	unsigned progress_ms; /* how long it may take before progress is shown; 0: a second */
	bool progress_always; /* even if `progress` is no terminal */
};

/* Problems go to `out`; how far it is goes to `progress` (may be NULL) if that is a terminal, in one line that is
 * gone at the end. `o` may be NULL. *ret_found is the number of problems. 0, or a negative errno if
 * the source could not be searched or `out` not be written. */
int check_source(const char *source, const struct check_options *o, FILE *out, FILE *progress, size_t *ret_found);

#endif
