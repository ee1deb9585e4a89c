/* SPDX-License-Identifier: MIT */
/* source: finds pi's session directory when no SOURCE is given. */
#ifndef SESSIONFS_SOURCE_H
#define SESSIONFS_SOURCE_H

#include "sessionfs/base/buf.h"

/* Appends the directory by pi's precedence: PI_CODING_AGENT_SESSION_DIR, `sessionDir` in <cwd>/.pi/settings.json, then
 * in <agent dir>/settings.json, then <agent dir>/sessions; the agent dir is PI_CODING_AGENT_DIR or ~/.pi/agent. Empty
 * strings count as unset; `~`, `~/...` and file:// are expanded. Returns 0 or a negative errno; -EINVAL with a message
 * in *ret_why (static) for unreadable settings. */
int source_default(struct buf *out, const char **ret_why);

#endif
