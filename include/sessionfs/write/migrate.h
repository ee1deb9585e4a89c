/* SPDX-License-Identifier: MIT */
/* migrate: a v1 or v2 session file as pi 1.5.2 would rewrite it on opening, but with the ids that sessionfs shows. */
#ifndef SESSIONFS_MIGRATE_H
#define SESSIONFS_MIGRATE_H

#include "sessionfs/session/session.h"

/* Writes the whole file in version 3 to fd; the caller holds the session for reading. Skips lines that do not parse, as
 * pi does. Returns 0 or a negative errno. */
int migrate_write(const struct session *s, int fd);

#endif
