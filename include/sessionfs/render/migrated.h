/* SPDX-License-Identifier: MIT */
/* migrated: the lines of an old session file as pi 1.5.2 makes them when it opens it, but with the ids under which
 * sessionfs shows the entries: keys keep their places, new ones come last, values that do not change stay as they are
 * stored. Without a newline; 0 or a negative errno. */
#ifndef SESSIONFS_MIGRATED_H
#define SESSIONFS_MIGRATED_H

#include "sessionfs/session/session.h"

/* Whether pi migrates this session at all. */
static inline bool session_is_migrated(const struct session *s)
{
	return session_format(s)->has_old_custom;
}

int migrated_add_header(const struct record *header, struct buf *out);
/* `r` is entry i, loaded. What is no object stays. */
int migrated_add_entry(const struct session *s, uint32_t i, const struct record *r, struct buf *out);

#endif
