/* SPDX-License-Identifier: MIT */
/* events: what changes among the sessions, told to readers as JSON lines (sessionfs(5), ".events"):
 *
 *	{"time":"2026-03-01T09:30:00.000Z","event":"appended","session":"SID","path":"projects/P/STEM","entries":[...]}
 *
 * event is created, appended, label, renamed, replaced or deleted. All readers read one log of the newest lines. One
 * whose next lines are not there any more gets one event "lost" in their place. The thread that follows the catalog
 * calls events_publish; without readers it does nothing. Thread-safe. The lock is held in the callbacks: they must not
 * call back. */
#ifndef SESSIONFS_EVENTS_H
#define SESSIONFS_EVENTS_H

#include "sessionfs/catalog/catalog.h"

#define EVENTS_BACKLOG ((size_t)1 << 20) /* bytes of lines that are kept until they are read, for all readers */

struct events;
struct events_reader;

struct events_ops {
	/* Answers a read: `err` is 0 and `bytes` the answer (empty: end of file), or `err` is a negative errno. */
	void (*answer)(void *request, int err, struct span bytes);
	/* Whether the request was interrupted before the read began to wait. */
	bool (*is_interrupted)(void *request);
	/* There is something to read for the reader of this `poll` (see events_poll). The callee owns it from now
	 * on. */
	void (*ready)(void *poll);
	/* The poll is not needed any more: frees it. */
	void (*forget)(void *poll);
};

int events_open(struct catalog *c, const struct events_ops *ops, struct events **ret);
/* Answers all waiting reads with the end of the file. No reader may be used afterwards. */
void events_close(struct events *e);

/* Tells readers what changed at these places. */
void events_publish(struct events *e, const struct catalog_change *changes, size_t n);
bool events_have_readers(struct events *e);

/* Opens a reader, which gets the events from now on. */
int events_reader_open(struct events *e, struct events_reader **ret);
/* Closes the reader. Its waiting reads are answered with -EINTR. */
void events_reader_close(struct events *e, struct events_reader *r);

/* Answers the request with up to n bytes, whole lines if they fit. If there are none yet, events_publish answers later;
 * without `wait` the answer is -EAGAIN. */
void events_read(struct events *e, struct events_reader *r, size_t n, bool wait, void *request);
/* Answers the request with -EINTR if it is waiting. */
void events_interrupt(struct events *e, void *request);
/* Whether a read would be answered at once. If not, `ready` is called with `poll` (taken over; may be NULL) once it
 * would. A newer poll replaces an older one. */
bool events_poll(struct events *e, struct events_reader *r, void *poll);

#endif
