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

/* Directories whose listing the kernel may have kept although their mtime would not tell of a change. */
struct listings {
	pthread_mutex_t lock;
	struct listing_state *cells; /* hashed by `dir`, open addressing; cap is 0 or a power of two */
	size_t n, cap;
};

struct listing_state {
	node_t dir;     /* 0: free */
	uint64_t epoch; /* see fs_listings.c */
};

void listings_init(struct listings *l);
void listings_release(struct listings *l);
struct fs;
/* A directory with these attributes is about to be listed from its beginning. 0 or -ENOMEM. */
int listings_begin(struct fs *fs, const struct tree_attr *attr);
/* Attributes of this node are to go to the kernel: makes it drop a listing that may be outdated. */
void listings_check(struct fs *fs, node_t node);
/* Whether that could have anything to do. Any lock may be held. */
bool listings_is_noted(struct fs *fs, node_t node);

/* Younger than this, or from the future. */
bool fs_is_younger(struct timespec t, time_t seconds);

struct fs {
	struct tree *tree;
	struct catalog *catalog;
	struct watch *watch;
	struct handles handles;
	struct listings listings;
	struct fuse_session *session; /* NULL until fs_attach */
	struct timespec since;
	bool read_only;
	bool no_open;    /* the kernel opens files without asking */
	bool no_opendir; /* and directories */
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
