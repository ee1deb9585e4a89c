/* SPDX-License-Identifier: MIT */
/* scratch: the files and links that editors make beside what they edit, in
 * memory, limited in number and bytes. They never reach a session file.
 *
 * A file lives under one name in one directory of the tree, or, unlinked, while it is open. Thread-safe. */
#ifndef SESSIONFS_SCRATCH_H
#define SESSIONFS_SCRATCH_H

#include "sessionfs/base/buf.h"
#include "sessionfs/base/node.h"

#include <sys/stat.h>

struct scratch;

/* Ids here are numbers, never reused. The tree makes node ids of them. */
struct scratch_attr {
	uint64_t id;
	mode_t mode; /* type and permissions */
	uid_t uid;
	gid_t gid;
	uint64_t size;
	struct timespec atime, mtime;
};

int scratch_open(size_t most_files, size_t most_bytes, struct scratch **ret);
void scratch_close(struct scratch *sc);

/* Makes an empty file (target NULL) or a link. -EEXIST, -ENAMETOOLONG, -ENOSPC past the limits. */
int scratch_create(struct scratch *sc, node_t dir, struct span name, mode_t mode, uid_t uid, gid_t gid,
                   const char *target, struct scratch_attr *ret);
int scratch_lookup(struct scratch *sc, node_t dir, struct span name, struct scratch_attr *ret);
int scratch_getattr(struct scratch *sc, uint64_t id, struct scratch_attr *ret);
/* Takes over mode, owner and times from `a`; not the size. */
int scratch_setattr(struct scratch *sc, uint64_t id, const struct scratch_attr *a);

/* The file after `id` in the directory (0: the first), in the order they were made. */
bool scratch_next(struct scratch *sc, node_t dir, uint64_t after, struct buf *ret_name, struct scratch_attr *ret);

int scratch_unlink(struct scratch *sc, node_t dir, struct span name);
/* Replaces a file that has the new name. */
int scratch_rename(struct scratch *sc, node_t dir, struct span name, node_t to_dir, struct span to_name);

/* Counts an opener: an unlinked file is freed with its last one. */
int scratch_ref(struct scratch *sc, uint64_t id);
void scratch_unref(struct scratch *sc, uint64_t id);

/* File contents, or a link's target. Appends at most n bytes from off. */
int scratch_read(struct scratch *sc, uint64_t id, uint64_t off, size_t n, struct buf *out);
/* -ENOSPC past the limit, with nothing written; -EIO once the file was renamed onto a writable name:
 * bytes that come too late must not vanish. */
int scratch_write(struct scratch *sc, uint64_t id, struct span bytes, uint64_t off);
int scratch_resize(struct scratch *sc, uint64_t id, uint64_t size);
/* Notes that what the file holds must be on the disk once it is the value of a writable name; its directory. */
int scratch_sync(struct scratch *sc, uint64_t id, node_t *ret_dir);
bool scratch_is_synced(struct scratch *sc, uint64_t id);
/* How long a file may stay closed before it counts as left: editors are done with theirs sooner. */
#ifdef SESSIONFS_SMALL_LIMITS
#define SCRATCH_LEFTOVER_MS 1000
#else
#define SCRATCH_LEFTOVER_MS 60000
#endif
/* The next file that was left, each once; links never are. If false, *next_ms (CLOCK_MONOTONIC) is lowered to when
 * there may be one. */
bool scratch_next_leftover(struct scratch *sc, int64_t now_ms, int64_t *next_ms, node_t *ret_dir, struct buf *ret_name);
/* The file became the value of a writable name: it loses its own, later writes fail. */
void scratch_detach(struct scratch *sc, uint64_t id);

#endif
