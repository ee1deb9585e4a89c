/* SPDX-License-Identifier: MIT */
/* disk: records the calls that change the files of one directory, and makes every state in which a loss of power can
 * leave a file of it. Replaces calls of sessionfs/base/sys.h.
 *
 * The model: a file is on the disk as of its last fsync(2) or fdatasync(2). Of the calls after that, the disk has those
 * up to any one of them, and any part of their bytes: up to a byte of the last write, whole pages or sectors, or NULs
 * in place of bytes that were lost. Names are on the disk as of the last fsync of the directory; of the later renames
 * and new names, the disk has those up to any one of them. */
#ifndef POWER_DISK_H
#define POWER_DISK_H

#include "sessionfs/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

/* Starts to record the calls on the files that the directory has now, which count as synced, and on those that are
 * created later. One disk at a time is recorded. The caller ends it with disk_close. */
struct disk *disk_open(const char *dir);
/* Stops to record. */
void disk_stop(struct disk *d);
void disk_close(struct disk *d);

/* What another program does, without any sync: it appends to a file (or creates it), renames it. */
void disk_append(struct disk *d, const char *name, const char *text);
void disk_rename(struct disk *d, const char *from, const char *to);

/* The program under test has now acknowledged that the file is on the disk as it is. */
void disk_promise(struct disk *d, const char *name);

/* How the next write or sync of the program ends. */
enum disk_trouble {
	DISK_SOUND,
	DISK_SHORT,   /* the disk takes half of it at first */
	DISK_FULL,    /* the disk takes half of it, and nothing of the rest */
	DISK_NO_ROOM, /* the disk takes nothing */
	DISK_BROKEN,  /* the next sync fails */
	DISK_CROWDED, /* another program appends a line during the next sync, too late for it */
};
void disk_set_trouble(struct disk *d, enum disk_trouble trouble);

size_t disk_count_files(const struct disk *d);
size_t disk_count_calls(const struct disk *d);
/* Returns whether the call synced a file that had changed since its last sync. */
bool disk_is_sync(const struct disk *d, size_t call);
/* Returns the bytes that the n-th of the files had at first, or that a call wrote or found; an empty span for other
 * calls. */
struct span disk_start(const struct disk *d, size_t file);
struct span disk_bytes(const struct disk *d, size_t call);

/* The hashes of what was seen; all zero is empty. Release with disk_seen_release. */
struct disk_seen {
	uint64_t *places;
	size_t n, size;
};
/* Returns false if it was there. */
bool disk_seen_add(struct disk_seen *seen, uint64_t hash);
void disk_seen_release(struct disk_seen *seen);
/* Returns a hash of the bytes and of the hash before them. */
uint64_t disk_hash(uint64_t before, struct span bytes);

struct disk_state {
	bool exists;         /* the name leads to a file */
	struct span bytes;   /* of that file */
	struct span promise; /* the file begins with these bytes, unless an acknowledged write was lost */
};

/* Which of the recorded syncs count. */
#define DISK_EVERY_SYNC ((size_t)-1)
#define DISK_NO_SYNC ((size_t)-2)

/* Makes each state of the name, each once. `without`: the number of a sync that does not count, as if the program had
 * not made it, or one of the above. Returns the number of states. */
size_t disk_each_state(const struct disk *d, const char *name, size_t without,
                       void (*fn)(void *arg, const struct disk_state *state), void *arg);

#endif
