/* SPDX-License-Identifier: MIT */
/* scratch: the files and links that editors create next to the file they edit, in memory, limited in number and bytes.
 * They never reach a session file.
 *
 * A file has one name in one directory of the tree, or, unlinked, exists while it is open. Thread-safe. */
#ifndef SESSIONFS_SCRATCH_H
#define SESSIONFS_SCRATCH_H

#include "sessionfs/base/buf.h"
#include "sessionfs/base/node.h"

#include <sys/stat.h>

struct scratch;

/* Ids here are numbers, never reused. The tree derives node ids from them. */
struct scratch_attr {
	uint64_t id;
	node_t dir;  /* scratch_home of the directory; ignored by scratch_setattr */
	mode_t mode; /* type and permissions */
	uid_t uid;
	gid_t gid;
	uint64_t size;
	struct timespec atime, mtime;
	bool synced; /* by scratch_sync */
};

int scratch_open(size_t most_files, size_t most_bytes, struct scratch **ret);
void scratch_close(struct scratch *sc);

/* Creates a file with these bytes, or a link with this target. Returns -EEXIST, unless it may `replace` the file of
 * that name; -ENAMETOOLONG; or -ENOSPC past the limits. */
int scratch_create(struct scratch *sc, node_t dir, struct span name, mode_t mode, uid_t uid, gid_t gid,
                   struct span bytes, bool replace, struct scratch_attr *ret);
int scratch_lookup(struct scratch *sc, node_t dir, struct span name, struct scratch_attr *ret);
int scratch_getattr(struct scratch *sc, uint64_t id, struct scratch_attr *ret);
/* Sets mode, owner and times from `a`; not the rest. */
int scratch_setattr(struct scratch *sc, uint64_t id, const struct scratch_attr *a);

/* Returns the file after `id` in the directory (0: the first), in creation order. */
bool scratch_next(struct scratch *sc, node_t dir, uint64_t after, struct buf *ret_name, struct scratch_attr *ret);

int scratch_unlink(struct scratch *sc, uint64_t id);
/* Replaces a file with the new name. */
int scratch_rename(struct scratch *sc, uint64_t id, node_t to_dir, struct span to_name);

/* Counts opens: an unlinked file is freed with the last one. */
int scratch_ref(struct scratch *sc, uint64_t id);
void scratch_unref(struct scratch *sc, uint64_t id);

/* Appends at most n bytes from off of the file's contents, or of a link's target. */
int scratch_read(struct scratch *sc, uint64_t id, uint64_t off, size_t n, struct buf *out);
/* Returns -ENOSPC past the limit, with nothing written; -EIO once the file was renamed onto a writable name: late bytes
 * must not vanish. */
int scratch_write(struct scratch *sc, uint64_t id, struct span bytes, uint64_t off);
int scratch_resize(struct scratch *sc, uint64_t id, uint64_t size);
/* Records that the file must be synced once it is the value of a writable name. */
void scratch_sync(struct scratch *sc, uint64_t id);
/* The time after which a closed file counts as left over: editors remove theirs sooner. */
#ifdef SESSIONFS_SMALL_LIMITS
#define SCRATCH_LEFTOVER_MS 1000
#else
#define SCRATCH_LEFTOVER_MS 60000
#endif
/* Returns the next leftover file, each once; locks of Emacs never are. If it returns false, it lowers *next_ms
 * (CLOCK_MONOTONIC) to the time when the next file can become one. */
bool scratch_next_leftover(struct scratch *sc, int64_t now_ms, int64_t *next_ms, node_t *ret_dir, struct buf *ret_name);
/* The file became the value of a writable name: it loses its own name, and later writes fail. */
void scratch_detach(struct scratch *sc, uint64_t id);

#endif
