/* fs_impl: what the parts of fs share. */
#ifndef SESSIONFS_FS_IMPL_H
#define SESSIONFS_FS_IMPL_H

#include "sessionfs/fs.h"
#include "sessionfs/fuse_compat.h"
#include "sessionfs/watch.h"

#include <pthread.h>

/* What an open file keeps: bytes pinned at open, or a place among the events. */
struct handle {
	struct buf text;
	struct watch_reader *reader; /* NULL: the text */
};

/* Open files by number, so that a number we never gave is noticed. 0 is an open file that keeps nothing. */
struct handles {
	pthread_mutex_t lock;
	struct handle **at; /* number - 1 */
	size_t n;
};

void handles_init(struct handles *h);
/* Frees what is left; readers belong to the watch. */
void handles_release(struct handles *h);
/* Takes over a copy of *handle. Its number, or 0 without memory. */
uint64_t handles_add(struct handles *h, const struct handle *handle);
/* NULL if there is none with this number. Stays until handles_remove. */
struct handle *handles_get(struct handles *h, uint64_t number);
/* The caller frees it with handle_free. */
struct handle *handles_remove(struct handles *h, uint64_t number);
void handle_free(struct handle *handle);

struct fs {
	struct tree *tree;
	struct catalog *catalog;
	struct watch *watch;
	struct handles handles;
	struct timespec since;
	bool read_only;
	bool no_open; /* the kernel opens files without asking */
};

/* fs_events.c: `.events` at the root */

/* No kind of the tree has this id: kind 0 is unused but for the root, which is part 1. */
#define NODE_EVENTS ((node_t)2)

bool events_is_name(const struct fs *fs, node_t parent, const char *name);
struct tree_attr events_attr(const struct fs *fs);
void events_open(struct fs *fs, fuse_req_t req, struct fuse_file_info *fi);
void events_read(struct fs *fs, fuse_req_t req, struct watch_reader *reader, size_t n, const struct fuse_file_info *fi);
extern const struct watch_ops events_watch_ops;

#endif
