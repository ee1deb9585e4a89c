/* SPDX-License-Identifier: MIT */
/* scan: reads a file in large blocks and finds the lines that can contain the words of a query. Private to find. */
#ifndef SESSIONFS_FIND_SCAN_H
#define SESSIONFS_FIND_SCAN_H

#include "sessionfs/find/match.h"

#include "needle.h"

/* The needles of a query, the rarest first: a matching line has all of them. */
struct needles {
	struct needle *v;
	size_t n;
	bool never; /* no line can match */
	bool any;   /* in:session: a matching line has one of them, and its file all */
};
int needles_make(const struct query *q, struct needles *ret);
void needles_release(struct needles *p);

/* Reads one file after another. */
struct scanner {
	const struct match_file *file;
	char *bytes;
	uint64_t offset; /* of `bytes` in the file */
	size_t n;
	bool at_end; /* the file ends after `bytes` */
};
int scanner_init(struct scanner *s);
void scanner_release(struct scanner *s);
/* Switches to another file, which is borrowed. */
void scanner_set(struct scanner *s, const struct match_file *file);

/* Searches for the first line at or after `from`, the start of a line, that has the needles. Returns 1 and sets *ret_at
 * to an offset in it, 0 if no line has them, or a negative errno. */
int scanner_find(struct scanner *s, const struct needles *needles, uint64_t from, uint64_t *ret_at);
/* Searches the file for each needle from number *found on; for that one at or after `from`, the start of a line. Adds
 * those that it finds to *found. Returns 1 if the file has all, 0 if it lacks number *found, or a negative errno. */
int scanner_find_each(struct scanner *s, const struct needles *needles, uint64_t from, size_t *found);

#endif
