/* SPDX-License-Identifier: MIT */
/* tree_write: the writing half of the tree. A write becomes one append to the session file, or an error. Editors' side
 * files stay in memory. Thread-safe.
 *
 * Rules: sessionfs(5), "Writing". All return 0 or a negative errno. */
#ifndef SESSIONFS_TREE_WRITE_H
#define SESSIONFS_TREE_WRITE_H

#include "sessionfs/tree/tree.h"

struct tree_handle;

/* The process that makes the request. */
struct tree_caller {
	uid_t uid;
	gid_t gid;
	pid_t pid; /* of the thread; 0: unknown, in another pid namespace */
};

/* What setattr may change. */
struct tree_setattr {
	bool mode, uid, gid, size, atime, mtime;
	struct tree_attr attr; /* mode, uid, gid, size, mtime */
	struct timespec atime_value;
};

/* Opens a writable file, or a scratch file (also for reading). `truncate`: O_TRUNC. -EPERM if the name is not writable,
 * -EACCES if the session file is not, -EROFS on a read-only mount. */
int tree_open_write(struct tree *t, node_t node, bool truncate, const struct tree_caller *who,
                    struct tree_handle **ret);
int tree_create(struct tree *t, node_t dir, struct span name, mode_t mode, bool exclusive, bool truncate,
                const struct tree_caller *who, struct tree_handle **ret, struct tree_attr *ret_attr);
int tree_write(struct tree *t, struct tree_handle *h, struct span bytes, uint64_t off, const struct tree_caller *who);
/* Appends up to n bytes at off of what the handle would read back. */
int tree_handle_read(struct tree *t, struct tree_handle *h, uint64_t off, size_t n, struct buf *out);
/* FLUSH: commits what was written since the last commit. It may come several times, and before any write. While a
 * process that has used the handle still has the file open, the text may not be complete: then it commits nothing. */
int tree_flush(struct tree *t, struct tree_handle *h, const struct tree_caller *who);
/* FSYNC: commits, and has the session file on the disk. */
int tree_fsync(struct tree *t, struct tree_handle *h, const struct tree_caller *who);
/* The same for any file or directory that is not open for writing: that of its session, if it has one. */
int tree_sync(struct tree *t, node_t node);
/* O_SYNC: what is written through the handle is on the disk when it is committed. */
void tree_handle_sync(struct tree *t, struct tree_handle *h);
/* Commits what is left (a bare truncation) and frees the handle. */
void tree_release(struct tree *t, struct tree_handle *h);
/* Frees the handle of a file that was never closed, without a commit: the text may not be complete. */
void tree_release_uncommitted(struct tree *t, struct tree_handle *h);

/* `h` may be NULL; -EBADF if it is another file's. Setting times, modes and owners of writable names succeeds without
 * effect. */
int tree_setattr(struct tree *t, node_t node, struct tree_handle *h, const struct tree_setattr *change,
                 struct tree_attr *ret);
/* The attributes as this handle sees them (with its staged size). */
int tree_handle_attr(struct tree *t, node_t node, struct tree_handle *h, struct tree_attr *ret);

/* Rises whenever a session file may have been written to, or a write was refused. While it stays the same there is
 * nothing to invalidate. */
uint64_t tree_commit_count(const struct tree *t);

int tree_symlink(struct tree *t, node_t dir, struct span name, const char *target, const struct tree_caller *who,
                 struct tree_attr *ret);
/* Removes a name, or refuses to. A process that was refused a removal is refused all others for ten seconds: see
 * state.c. */
int tree_unlink(struct tree *t, node_t dir, struct span name, const struct tree_caller *who);
/* No directory can be removed. */
int tree_rmdir(struct tree *t, node_t dir, struct span name, const struct tree_caller *who);
/* What can be made nowhere: directories, devices, hard links. Notes that, and returns why. */
int tree_refuse_create(struct tree *t, node_t dir, struct span name);
/* Notes the side files that were left behind, each once. When to call it again (CLOCK_MONOTONIC, in ms), if none is
 * closed meanwhile: catalog_wait returns then. */
int64_t tree_report_leftovers(struct tree *t, int64_t now_ms);
int tree_rename(struct tree *t, node_t dir, struct span name, node_t to_dir, struct span to_name, bool no_replace);

#endif
