/* SPDX-License-Identifier: MIT */
/* calls: a cache with one line for each tool call of a message. Views show these lines at the results. A line is made
 * once for all results of the message; a view that caches them with the message need not read it again. */
#ifndef SESSIONFS_RENDER_CALLS_H
#define SESSIONFS_RENDER_CALLS_H

#include "sessionfs/render/tool.h"
#include "sessionfs/session/session.h"

/* Appends the line of a call. */
typedef void call_text(const struct session *s, const struct tool_use *u, struct buf *out);

/* Caches the lines for the calls of entry i, whose record is r, in `reader`, which belongs to one view. Returns 0 or a
 * negative errno. */
int call_texts_cache(const struct session *s, uint32_t i, const struct record *r, call_text *make,
                     struct reader *reader);
/* Returns the line of the n-th call of entry i, from 1; empty if it has no such call. It is valid until another entry
 * is requested. Earlier records of `reader` become invalid. Returns 0 or a negative errno. */
int call_texts_get(const struct session *s, uint32_t i, unsigned n, call_text *make, struct reader *reader,
                   struct span *ret);

/* Appends the summary of a call, as in chat.md, tree.txt and pages: tool_add_summary, with paths relative to the
 * session's working directory. */
void call_add_summary(const struct session *s, const struct tool_use *u, struct buf *out);

#endif
