/* SPDX-License-Identifier: MIT */
/* diff: two texts as the lines that differ. */
#ifndef SESSIONFS_RENDER_DIFF_H
#define SESSIONFS_RENDER_DIFF_H

#include "sessionfs/base/buf.h"

struct diff {
	struct buf *out; /* NULL: count only */
	unsigned added, removed;
	size_t cells;   /* pairs of changed lines */
	bool has_hunks; /* an earlier pair of texts differed: the next begins with "@@" */
};

/* Appends the difference in lines as in tool_diff; nothing if the texts are equal. A newline at the end of both texts
 * ends their last lines; if only one text has it, an empty line follows in that text. Returns 0 or -ENOMEM. */
int diff_add(struct diff *d, struct span old_text, struct span new_text);

/* The maximum of `cells` for counting only: later changes are not counted. */
#define DIFF_COUNT_CELLS_MAX ((size_t)1 << 16)

#endif
