/* fs: the tree as libfuse's low-level operations. Each request is decoded, handed to tree_*, answered once. */
#ifndef SESSIONFS_FS_H
#define SESSIONFS_FS_H

#include "sessionfs/tree/tree.h"

#include <sys/types.h>

struct fs;
struct fuse_lowlevel_ops;
struct fuse_session;

struct fs_options {
	struct tree *tree;       /* not owned */
	struct catalog *catalog; /* not owned */
	bool read_only;          /* mounted with -o ro */
	/* Threads of this process get ELOOP for what they ask of the filesystem, at once: whoever would answer may be
	 * the one who asks, or wait for them. */
	bool refuse_own;
};

int fs_open(const struct fs_options *o, struct fs **ret);
/* The session that serves it, for telling the kernel what to forget. Before the loop begins. */
void fs_attach(struct fs *fs, struct fuse_session *session);
/* Takes requests and has them answered by at most so many threads, but at least one, until the filesystem is unmounted
 * or fuse_session_exit was called by a signal's handler: signals are taken by the thread that calls this. 0 or a
 * negative errno; -ETIMEDOUT: a thread waits for a file that does not answer, and needs all that there is until the
 * process ends. After fs_attach and fuse_daemonize. */
int fs_loop(struct fs *fs, unsigned threads);
/* Answers the reads that still wait: before fuse_session_destroy, after the loop has ended. */
void fs_stop(struct fs *fs);
/* After fuse_session_destroy. */
void fs_close(struct fs *fs);

/* The device of what is found at a path, learned without asking it; 0: unknown. */
dev_t fs_device_at(const char *path);

/* Unmounts what is mounted at a path (not owned) on this device as soon as nothing was asked for so long and nobody
 * uses it, which ends the loop. It has a thread: after fuse_daemonize, and closed when the loop has ended. 0 or an
 * error. */
struct fs_idle;
int fs_idle_open(struct fs *fs, const char *mountpoint, dev_t device, unsigned seconds, struct fs_idle **ret);
void fs_idle_close(struct fs_idle *idle);

/* The operations; their userdata is the struct fs. */
const struct fuse_lowlevel_ops *fs_operations(void);

#endif
