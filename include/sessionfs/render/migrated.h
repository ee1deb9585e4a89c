/* SPDX-License-Identifier: MIT */
/* migrated: the lines of an old session file as pi 1.5.2 makes them when it opens the file, but with the ids under
 * which sessionfs shows the entries. Existing keys keep their order, new keys come last, and unchanged values keep
 * their stored text. Lines have no newline. Functions return 0 or a negative errno. */
#ifndef SESSIONFS_MIGRATED_H
#define SESSIONFS_MIGRATED_H

#include "sessionfs/session/session.h"

/* Returns whether pi migrates this session. */
static inline bool session_is_migrated(const struct session *s)
{
	return session_format(s)->has_old_custom;
}

int migrated_add_header(const struct record *header, struct buf *out);
/* `r` is entry i, loaded. Values other than objects stay unchanged. */
int migrated_add_entry(const struct session *s, uint32_t i, const struct record *r, struct buf *out);

#endif
