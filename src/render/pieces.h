/* pieces: functions that producers share; producer.h says what they do. */
#ifndef SESSIONFS_RENDER_PIECES_H
#define SESSIONFS_RENDER_PIECES_H

#include "sessionfs/render/producer.h"

/* front.c. The entries of the path (uint32_t) as items: transcripts. */
int items_path(const struct place *p, struct totals *t, void **ret, size_t *ret_n);
int items_newer_path(const struct place *p, uint32_t first, uint32_t last, struct totals *t, void **ret, size_t *ret_n);
/* The messages that the model is sent (struct context_item) as items. */
int items_context(const struct place *p, struct totals *t, void **ret, size_t *ret_n);

/* The front matter of the Markdown views. */
int front_add(const struct place *p, const struct totals *t, struct buf *out);
/* The same, but reads the whole path for its usage, instead of taking that of the segments. */
int front_add_path(const struct place *p, const struct totals *t, struct buf *out);

#endif
