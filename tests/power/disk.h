/* SPDX-License-Identifier: MIT */
/* disk: records the calls that change the files below one directory, and makes every state in which a loss of power can
 * leave a name there. `calls` lists the calls that the model has; any other ends the test.
 *
 * The model: a file is on the disk as of its last fsync(2) or fdatasync(2). Of the calls after that, the disk has those
 * up to any one of them, and any part of their bytes: up to a byte of the last write, whole pages or sectors, or NULs
 * in place of bytes that were lost. Names are on the disk as of the last fsync of their directory; of the later
 * renames, removals and new names, the disk has those up to any one of them. A new link has its target. */
#ifndef POWER_DISK_H
#define POWER_DISK_H

#include "sessionfs/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

struct disk;

/* Returns the imported functions that `calls` lacks, or "". */
const char *disk_unknown_calls(void);

/* Starts to record the calls on the files that are now below the directory, which count as synced, and on those that
 * are created later. One disk at a time is recorded. The caller ends it with disk_close. */
struct disk *disk_open(const char *dir);
/* Stops to record. */
void disk_stop(struct disk *d);
void disk_close(struct disk *d);

/* What another program does, without any sync: it appends to a file (or creates it), renames it. */
void disk_append(struct disk *d, const char *name, const char *text);
void disk_rename(struct disk *d, const char *from, const char *to);
void disk_make_dir(struct disk *d, const char *name);
/* What a shell does: creates a file for the output of a program. disk_sync syncs a file of that name and the directory.
 */
FILE *disk_create(struct disk *d, const char *name);
void disk_sync(struct disk *d, const char *name);

/* The program under test has now acknowledged that the file, or every name, is on the disk as it is. */
void disk_promise(struct disk *d, const char *name);
void disk_promise_all(struct disk *d);

/* After n more recorded calls, all fail, as if the program was killed; 0: none does. */
void disk_kill(struct disk *d, size_t n);

/* How the next write of the program ends. */
enum disk_trouble {
	DISK_SOUND,
	DISK_SHORT,   /* the disk takes half of it at first */
	DISK_FULL,    /* the disk takes half of it, and nothing of the rest */
	DISK_NO_ROOM, /* the disk takes nothing */
	DISK_BROKEN,  /* the next sync fails */
	DISK_SHARED,  /* right after the next sync, which is a promise, another program appends DISK_OTHERS */
};
#define DISK_OTHERS "{\"type\":\"custom\",\"id\":\"other\",\"parentId\":null}\n"
void disk_set_trouble(struct disk *d, enum disk_trouble trouble);

size_t disk_count_files(const struct disk *d);
size_t disk_count_calls(const struct disk *d);
/* Returns whether the call syncs a directory. */
bool disk_is_dir_sync(const struct disk *d, size_t call);
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
	bool exists;       /* the name leads to a file */
	mode_t mode;       /* its type and mode */
	struct span bytes; /* of that file; the target of a link */
	/* that a call set; tv_nsec is -1 if the file was changed later */
	struct timespec time;
	/* The file begins with these bytes, unless an acknowledged write was lost. */
	struct span promise;
	bool all_promised;
};

/* Which of the recorded syncs count. */
#define DISK_EVERY_SYNC ((size_t)-1)
#define DISK_NO_SYNC ((size_t)-2)

/* Makes each state of the name, a path below the directory, each once, if the power fails after the call `from` or
 * later. `without`: the number of a sync that does not count, as if the program had not made it, or one of the above.
 * Returns the number of states. */
size_t disk_each_state(const struct disk *d, const char *name, size_t from, size_t without,
                       void (*fn)(void *arg, const struct disk_state *state), void *arg);
/* Calls fn for the path of each name that was there at any time, once. With `sync`, the number of a call, only for the
 * names that it concerns. */
void disk_each_name(const struct disk *d, size_t sync, void (*fn)(void *arg, const char *name), void *arg);

#endif
