/* SPDX-License-Identifier: MIT */
/* progress: a line on the terminal that shows how far long work is.
 *
 * The work belongs to a thread and to the threads that help it, as its cancellation does (cancel.h): what it did is
 * reported without an argument, and costs little where no line is shown. */
#ifndef SESSIONFS_PROGRESS_H
#define SESSIONFS_PROGRESS_H

#include "sessionfs/base/cancel.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

/* Time before the first line, in ms, and between two lines. */
#define PROGRESS_DELAY_MS 1000
#define PROGRESS_STEP_MS 100

struct progress {
	FILE *out;
	int64_t next_ms;     /* not shown before this time */
	int64_t began_ms;    /* when the work with this format began, */
	double began_part;   /* and the part that was done then */
	const char *format;  /* of the last report: another one is of other work */
	int shown;           /* columns of the line on the terminal */
	atomic_flag is_used; /* by a thread that draws */
};

/* Prepares to show progress on `out` after delay_ms, if `out` is a terminal or `always`. `out` must outlive the
 * progress. The caller sets it as the `progress` of its struct cancel. */
void progress_init(struct progress *p, FILE *out, unsigned delay_ms, bool always);

/* Reports that a part of the calling thread's work is done: 0 to 1, and the text of the line. The time left is added.
 */
void progress_show(double part, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Erases the line of the calling thread's work, before anything else is printed. */
void progress_clear(void);

#endif
