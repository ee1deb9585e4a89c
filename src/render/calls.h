/* SPDX-License-Identifier: MIT */
/* calls: a cache of one line for each tool call of a message. A view shows these lines at the results. They are made
 * once for all results of the message; a view that makes them when it shows the message need not read that again. */
#ifndef SESSIONFS_RENDER_CALLS_H
#define SESSIONFS_RENDER_CALLS_H

#include "sessionfs/render/tool.h"
#include "sessionfs/session/session.h"

/* Appends what is said of a call. */
typedef void call_text(const struct session *s, struct tool_use *u, struct buf *out);

/* Has `reader`, which is one view's, keep what is said of the calls of entry i, the record of which is r, if it makes
 * any. Returns 0 or a negative errno. */
int call_texts_cache(const struct session *s, uint32_t i, const struct record *r, call_text *make,
                     struct reader *reader);
/* What is said of the n-th call of entry i, from 1; nothing if there is none. It is valid until another entry is asked
 * for. A record read before is not valid behind it. Returns 0 or a negative errno. */
int call_texts_get(const struct session *s, uint32_t i, unsigned n, call_text *make, struct reader *reader,
                   struct span *ret);

#endif
