/* render_front: the front matter of the Markdown views. */
#ifndef SESSIONFS_RENDER_FRONT_H
#define SESSIONFS_RENDER_FRONT_H

#include "sessionfs/session/context.h"
#include "sessionfs/render/render.h"

/* Adds up the usage of the entries. 0 or a negative errno. */
int front_sum(const struct session *s, const uint32_t *path, size_t n, struct render_usage *sum);

/* Appends the front matter of a view of `c`, the context at `at`. */
int front_add(const struct session *s, uint32_t at, const struct context *c, const struct render_usage *usage,
              struct buf *out);

#endif
