/* SPDX-License-Identifier: MIT */
/* tree_write: the writing half of the tree. A write appends once to the session file, or fails. Editors' scratch files
 * stay in memory. Thread-safe.
 *
 * Rules: sessionfs(5), "Writing". All functions return 0 or a negative errno. */
#ifndef SESSIONFS_TREE_WRITE_H
#define SESSIONFS_TREE_WRITE_H

#include "sessionfs/tree/tree.h"

struct tree_handle;

/* The process that makes the request. */
struct tree_caller {
	uid_t uid;
	gid_t gid;
	pid_t pid; /* thread id; 0: unknown, in another pid namespace */
};

/* What setattr can change. */
struct tree_setattr {
	bool mode, uid, gid, size, atime, mtime;
	struct tree_attr attr; /* the new values */
};

/* Opens a writable file, or a scratch file (also for reading). `truncate`: O_TRUNC. Fails with -EPERM if the name is
 * not writable, -EACCES if the session file is not, -EROFS on a read-only mount. */
int tree_open_write(struct tree *t, node_t node, bool truncate, const struct tree_caller *who,
                    struct tree_handle **ret);
int tree_create(struct tree *t, node_t dir, struct span name, mode_t mode, bool exclusive, bool truncate,
                const struct tree_caller *who, struct tree_handle **ret, struct tree_attr *ret_attr);
/* The offset of O_APPEND, except in a scratch file: the kernel asks for the end of a size that can be stale. */
#define TREE_END UINT64_MAX
int tree_write(struct tree *t, struct tree_handle *h, struct span bytes, uint64_t off, const struct tree_caller *who);
/* Appends up to n bytes at off of the text that the handle reads back. */
int tree_handle_read(struct tree *t, struct tree_handle *h, uint64_t off, size_t n, struct buf *out);
/* FLUSH: commits the text written or truncated since the last commit. The kernel can send it several times, and before
 * any write. Commits nothing while a process that has used the handle has the file open: the text can be incomplete. */
int tree_flush(struct tree *t, struct tree_handle *h, const struct tree_caller *who);
/* FSYNC: commits, and syncs the session file to disk. */
int tree_fsync(struct tree *t, struct tree_handle *h, const struct tree_caller *who);
/* The same for any file or directory that is not open for writing: syncs its session's file, if it has one. */
int tree_sync(struct tree *t, node_t node);
/* O_SYNC: syncs each commit of the handle to disk. */
void tree_handle_sync(struct tree *t, struct tree_handle *h);
/* Commits the rest (a truncation by a process that /proc does not show) and frees the handle. */
void tree_release(struct tree *t, struct tree_handle *h);
/* Frees the handle of a file that was never closed, without a commit: the text can be incomplete. */
void tree_release_uncommitted(struct tree *t, struct tree_handle *h);

/* `h` can be NULL; fails with -EBADF if it belongs to another file. Setting times, modes and owners of writable names
 * succeeds without effect. */
int tree_setattr(struct tree *t, node_t node, struct tree_handle *h, const struct tree_setattr *change,
                 struct tree_attr *ret);
/* Returns the attributes as this handle sees them (with its staged size). */
int tree_handle_attr(struct tree *t, node_t node, struct tree_handle *h, struct tree_attr *ret);

/* Increases when a session file may have been written to, or a write was refused. While it stays the same there is
 * nothing to invalidate. */
uint64_t tree_commit_count(const struct tree *t);

int tree_symlink(struct tree *t, node_t dir, struct span name, const char *target, const struct tree_caller *who,
                 struct tree_attr *ret);
/* Removes a name, or refuses to. After one refused removal, all removals of the process fail for ten seconds: see
 * state.c. */
int tree_unlink(struct tree *t, node_t dir, struct span name, const struct tree_caller *who);
/* Always fails. */
int tree_rmdir(struct tree *t, node_t dir, struct span name, const struct tree_caller *who);
/* Refuses what can be created nowhere: directories, devices, hard links. Records the refusal and returns the error. */
int tree_refuse_create(struct tree *t, node_t dir, struct span name);
/* Logs each scratch file that was left over, once. Returns when to call it again (CLOCK_MONOTONIC, in ms), unless one
 * is closed earlier: then catalog_wait returns. */
int64_t tree_report_leftovers(struct tree *t, int64_t now_ms);
int tree_rename(struct tree *t, node_t dir, struct span name, node_t to_dir, struct span to_name, bool no_replace);

#endif
