/* events: what changes among the sessions, told to readers as JSON lines (sessionfs(5), ".events"):
 *
 *	{"time":"2026-03-01T09:30:00.000Z","event":"appended","session":"SID","path":"projects/P/STEM","entries":[...]}
 *
 * event is created, appended, label, renamed, replaced or deleted. A reader too slow for its lines gets one event
 *"lost" in their place. The thread that follows the catalog calls events_tell; without readers nothing is looked at.
 *Thread-safe. The lock is held in the callbacks: they must not call back. */
#ifndef SESSIONFS_EVENTS_H
#define SESSIONFS_EVENTS_H

#include "sessionfs/catalog/catalog.h"

#define EVENTS_BACKLOG ((size_t)1 << 20) /* bytes kept for one reader */

struct events;
struct events_reader;

struct events_ops {
	/* Answers a read: 0 and the bytes (none: the end), or a negative errno. */
	void (*answer)(void *request, int err, struct span bytes);
	/* Whether the asker gave up before the read could wait. */
	bool (*gave_up)(void *request);
	/* There is something to read for whoever gave this to events_poll; `poll` is handed back. */
	void (*ready)(void *poll);
	/* The poll is not needed any more. */
	void (*forget)(void *poll);
};

int events_open(struct catalog *c, const struct events_ops *ops, struct events **ret);
/* Answers everyone who waits with the end of the file. No reader may be used afterwards. */
void events_close(struct events *e);

/* Tells readers what became of these places. */
void events_tell(struct events *e, const struct catalog_change *changes, size_t n);
bool events_are_read(struct events *e);

/* A reader gets what happens from now on. */
int events_reader_open(struct events *e, struct events_reader **ret);
/* Reads that wait are answered with -EINTR. */
void events_reader_close(struct events *e, struct events_reader *r);

/* Answers with up to n bytes, whole lines if they fit; at once if there are any, else later from events_tell, or,
 * unless `wait`, with -EAGAIN. */
void events_read(struct events *e, struct events_reader *r, size_t n, bool wait, void *request);
/* Answers the request with -EINTR if it waits. */
void events_interrupt(struct events *e, void *request);
/* Whether a read would be answered at once. If not, `poll` (taken over; may be NULL) is called ready once it
 * would; a newer one takes its place. */
bool events_poll(struct events *e, struct events_reader *r, void *poll);

#endif
