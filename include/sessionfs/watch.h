/* watch: what changes among the session files, told to readers as JSON lines:
 *
 *	{"time":"2026-03-01T09:30:00.000Z","event":"changed","session":"SID","path":"projects/P/STEM"}
 *
 * event is added, changed or removed; a reader that is so slow that lines had to be dropped gets an
 * event "lost" without session and path in their place. Nothing is looked at while nobody reads.
 * Thread-safe. The lock is held in the callbacks: they must not call back. */
#ifndef SESSIONFS_WATCH_H
#define SESSIONFS_WATCH_H

#include "sessionfs/catalog.h"

#define WATCH_INTERVAL_MS 250
#define WATCH_BACKLOG ((size_t)1 << 20) /* bytes kept for one reader */

struct watch;
struct watch_reader;

struct watch_ops {
	/* Answers a read: 0 and the bytes (none: the end), or a negative errno. */
	void (*answer)(void *request, int err, struct span bytes);
	/* Whether the asker gave up before the read could wait. */
	bool (*gave_up)(void *request);
};

int watch_open(struct catalog *c, const struct watch_ops *ops, struct watch **ret);
/* Ends the thread and answers everyone who waits with the end of the file. No reader may be used afterwards. */
void watch_close(struct watch *w);

/* A reader gets what happens from now on. */
int watch_reader_open(struct watch *w, struct watch_reader **ret);
/* Reads that wait are answered with -EINTR. */
void watch_reader_close(struct watch *w, struct watch_reader *r);

/* Answers with up to n bytes, whole lines if they fit; at once if there are any, else later from the
 * thread, or, unless `wait`, with -EAGAIN. */
void watch_read(struct watch *w, struct watch_reader *r, size_t n, bool wait, void *request);
/* Answers the request with -EINTR if it waits. */
void watch_interrupt(struct watch *w, void *request);

#endif
