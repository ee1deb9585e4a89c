/* SPDX-License-Identifier: MIT */
/* fs: the tree as libfuse's low-level operations. Each request is decoded, passed to tree_*, and answered once. */
#ifndef SESSIONFS_FS_H
#define SESSIONFS_FS_H

#include "sessionfs/tree/tree.h"

struct fs;
struct fuse_lowlevel_ops;
struct fuse_session;

struct fs_options {
	struct tree *tree;       /* not owned */
	struct catalog *catalog; /* not owned */
	bool read_only;          /* mounted with -o ro */
	/* Requests from threads of this process fail with ELOOP at once: the thread that would answer can be the
	 * caller, or can be waiting for it. */
	bool refuse_own;
};

int fs_open(const struct fs_options *o, struct fs **ret);
/* Sets the libfuse session through which the kernel is notified. Call before the loop begins. */
void fs_attach(struct fs *fs, struct fuse_session *session);
/* Answers requests with at most `threads` threads (at least one) until the filesystem is unmounted or a signal handler
 * calls fuse_session_exit. The calling thread takes the signals; it calls on_ready (NULL: nothing) once INIT, the
 * kernel's first request, was answered. Returns 0 or a negative errno. -ECANCELED: it ended before that. -ETIMEDOUT: a
 * thread still waits for a file that does not answer, so free nothing until the process ends. Call after fs_attach, in
 * the process that serves the mount. */
int fs_loop(struct fs *fs, unsigned threads, void (*on_ready)(void *arg), void *arg);
/* Answers waiting reads. Returns false if a thread waits for a file that does not answer: free nothing. Call after the
 * loop has ended, before fuse_session_destroy. */
bool fs_stop(struct fs *fs);
/* Call after fuse_session_destroy. */
void fs_close(struct fs *fs);

/* The operations; their userdata is the struct fs. */
extern const struct fuse_lowlevel_ops fs_operations;

#endif
