/* SPDX-License-Identifier: MIT */
/* diff: two texts as the lines that differ. */
#ifndef SESSIONFS_RENDER_DIFF_H
#define SESSIONFS_RENDER_DIFF_H

#include "sessionfs/base/buf.h"

/* Receives the lines of a difference: ' ', '-' or '+' and the line; or '@' and the number of unchanged lines left out,
 * which ends a hunk. */
typedef void diff_line(void *arg, char sign, struct span line, size_t omitted);

/* Passes the shortest difference of two texts to fn, with up to three unchanged lines around each change, and at the
 * end
 * '@'. A newline at the end of both texts ends their last lines; if only one text has it, an empty line follows in that
 * text. Returns 0, -ENOMEM or another error of a buf, or -EINTR (cancel_check). */
int diff_texts(struct span old_text, struct span new_text, diff_line *fn, void *arg);

#endif
