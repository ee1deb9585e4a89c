/* SPDX-License-Identifier: MIT */
/* events: changes of the sessions, published to readers as JSON lines (sessionfs(5), ".events"):
 *
 *	{"time":"2026-03-01T09:30:00.000Z","event":"appended","session":"SID","path":"projects/P/STEM","entries":[...]}
 *
 * event is created, appended, label, renamed, replaced or deleted. All readers read one log of the newest lines. A
 * reader whose next lines were dropped gets one event "lost" in their place. The thread that follows the catalog calls
 * events_publish, which does nothing without readers. Thread-safe. The lock is held in the callbacks: they must not
 * call back. */
#ifndef SESSIONFS_EVENTS_H
#define SESSIONFS_EVENTS_H

#include "sessionfs/catalog/catalog.h"

#define EVENTS_BACKLOG ((size_t)1 << 20) /* max bytes of lines kept for all readers */

struct events;
struct events_reader;

struct events_ops {
	/* Answers a read with `bytes` if `err` is 0 (empty: end of file), else with `err`, a negative errno. */
	void (*answer)(void *request, int err, struct span bytes);
	/* Returns whether the request was interrupted before the read began to wait. */
	bool (*is_interrupted)(void *request);
	/* The reader of this `poll` has data (see events_poll). Takes ownership of the poll. */
	void (*ready)(void *poll);
	/* Frees an unused poll. */
	void (*forget)(void *poll);
};

int events_open(struct catalog *c, const struct events_ops *ops, struct events **ret);
/* Answers all waiting reads with the end of the file. Readers must not be used afterwards. */
void events_close(struct events *e);

/* Publishes the changes at these places. */
void events_publish(struct events *e, const struct catalog_change *changes, size_t n);
bool events_have_readers(struct events *e);

/* Opens a reader. It gets the events that follow. */
int events_reader_open(struct events *e, struct events_reader **ret);
/* Closes the reader, and answers its waiting reads with -EINTR. */
void events_reader_close(struct events *e, struct events_reader *r);

/* Answers the request with up to n bytes, whole lines if they fit. Without data, events_publish answers later; or,
 * without `wait`, the answer is -EAGAIN. */
void events_read(struct events *e, struct events_reader *r, size_t n, bool wait, void *request);
/* Answers the request with -EINTR if it is waiting. */
void events_interrupt(struct events *e, void *request);
/* Returns whether a read would be answered at once. If not, calls `ready` once it would. Takes ownership of `poll`
 * (NULL: none), which replaces an older one. */
bool events_poll(struct events *e, struct events_reader *r, void *poll);

#endif
