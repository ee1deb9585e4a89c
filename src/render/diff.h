/* SPDX-License-Identifier: MIT */
/* diff: two texts as the lines that differ. */
#ifndef SESSIONFS_RENDER_DIFF_H
#define SESSIONFS_RENDER_DIFF_H

#include "sessionfs/base/buf.h"

struct diff {
	struct buf *out; /* NULL: count only */
	unsigned added, removed;
	bool has_hunks; /* an earlier pair of texts differed: "@@" comes before the next */
};

/* Appends the difference in lines, as tool_diff has it; nothing if there is none. A newline at the end of both texts
 * ends their last lines; if only one has it, an empty line follows in that one. Returns 0 or -ENOMEM. */
int diff_add(struct diff *d, struct span old_text, struct span new_text);

#endif
