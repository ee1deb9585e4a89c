/* SPDX-License-Identifier: MIT */
/* events: changes of the sessions as JSON lines (sessionfs(5), "Changes"):
 *
 *	{"time":"2026-03-01T09:30:00.000Z","event":"appended","session":"SID","path":"projects/P/STEM","entries":[...]}
 *
 * event is created, appended, label, renamed, replaced, deleted or lost. Not thread-safe. */
#ifndef SESSIONFS_EVENTS_H
#define SESSIONFS_EVENTS_H

#include "sessionfs/catalog/catalog.h"

struct events;

/* Notes the state of all sessions: later changes are events. The catalog must outlive *ret. Returns 0 or -ENOMEM. */
int events_open(struct catalog *c, struct events **ret);
void events_close(struct events *e);
/* Replaces the contents of *out by the lines for these changes; no lines if nothing differs from the last call. If
 * memory is short, one "lost" event replaces the lines. */
void events_make_lines(struct events *e, const struct catalog_change *changes, size_t n, struct buf *out);

#endif
