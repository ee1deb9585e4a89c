/* SPDX-License-Identifier: MIT */
/* scan: reads a file in large blocks, for the lines in which the words of a query can be. Private to find. */
#ifndef SESSIONFS_FIND_SCAN_H
#define SESSIONFS_FIND_SCAN_H

#include "sessionfs/find/match.h"

#include "needle.h"

/* The needles of a query, the rarest first: all of them must be in a line that matches. */
struct needles {
	struct needle *v;
	size_t n;
	bool never; /* nothing can match at all */
};
int needles_make(const struct query *q, struct needles *ret);
void needles_release(struct needles *p);

/* Where a file is read. One is used for file after file. */
struct scanner {
	const struct match_file *file;
	char *bytes;
	uint64_t offset; /* of the bytes in the file */
	size_t n;
	bool at_end; /* the file has no more than these */
};
int scanner_init(struct scanner *s);
void scanner_release(struct scanner *s);
/* Forgets the file before. The file is borrowed. */
void scanner_set(struct scanner *s, const struct match_file *file);

/* The first line that begins at `from`, which begins one, or behind it, and has all needles: 1, and *ret_at is a place
 * in it; 0: none; or a negative errno. */
int scanner_find(struct scanner *s, const struct needles *needles, uint64_t from, uint64_t *ret_at);

#endif
