/* calls: what a view says of the calls of a message wherever their results stand. It is made once for all results that
 * follow the message; if it is made when the message is shown, that is not read again. */
#ifndef SESSIONFS_RENDER_CALLS_H
#define SESSIONFS_RENDER_CALLS_H

#include "sessionfs/render/tool.h"
#include "sessionfs/session/session.h"

/* Appends what is said of a call. */
typedef void call_text(const struct session *s, struct tool_use *u, struct buf *out);

/* Has `reader`, which is one view's, keep what is said of the calls of entry i, the record of which is r, if it makes
 * any. Returns 0 or a negative errno. */
int calls_keep(const struct session *s, uint32_t i, const struct record *r, call_text *make, struct reader *reader);
/* What is said of the n-th call of entry i, from 1; nothing if there is none. It is valid until another entry is asked
 * for. A record read before is not valid behind it. Returns 0 or a negative errno. */
int calls_get(const struct session *s, uint32_t i, unsigned n, call_text *make, struct reader *reader,
              struct span *ret);

#endif
