/* fs_impl: what the parts of fs share. */
#ifndef SESSIONFS_FS_IMPL_H
#define SESSIONFS_FS_IMPL_H

#include "coherence.h"
#include "sessionfs/fuse/fs.h"
#include "sessionfs/fuse/fuse_compat.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/tree/write.h"
#include "sessionfs/fuse/events.h"

struct fs;

/* An open file: its own text, its place among the events, or what is being written. */
struct handle {
	node_t snapshot;  /* whose text it is, 0: none */
	struct lock lock; /* guards the three that follow */
	struct buf text;
	uint32_t count; /* see tree_pin */
	bool ended;     /* the last read came to its end */
	struct events_reader *reader;
	struct tree_handle *writing;
	unsigned users; /* the open file and the requests at work on it */
};

/* Open files by number, so that a number we never gave is noticed. 0 is an open file that keeps nothing. */
struct handles {
	struct lock lock;
	struct handle **at; /* number - 1 */
	size_t n;
};

void handles_init(struct handles *h);
/* Frees what is left; readers belong to the events. */
void handles_release(struct fs *fs, struct handles *h);
/* Takes over a copy of *handle, and makes its lock. Its number, or 0 without memory. */
uint64_t handles_add(struct handles *h, const struct handle *handle);
/* NULL if there is none with this number; hand it back with handle_put. */
struct handle *handles_get(struct handles *h, uint64_t number);
/* Takes the number away; the caller hands the handle back with handle_put. */
struct handle *handles_remove(struct handles *h, uint64_t number);
/* The last one frees it: a RELEASE can overtake the thread that has just answered a READ. */
void handle_put(struct fs *fs, struct handle *handle);

struct fs {
	struct tree *tree;
	struct catalog *catalog;
	struct events *events;
	struct handles handles;
	struct coherence coherence;
	struct fuse_session *session; /* NULL until fs_attach */
	struct timespec since;
	bool read_only;
	bool refuse_own; /* see struct fs_options */
	bool no_open;    /* the kernel opens files without asking */
	bool no_opendir; /* and directories */
	bool idle;       /* idle.c is at work */
	bool asked;      /* since it looked; atomic */
};

/* Every operation comes through here. */
static inline struct fs *fs_of(fuse_req_t req)
{
	struct fs *fs = fuse_req_userdata(req);
	/* Written only if it must be: all threads share it. */
	if (!__atomic_load_n(&fs->asked, __ATOMIC_RELAXED))
		__atomic_store_n(&fs->asked, true, __ATOMIC_RELAXED);
	return fs;
}

/* loop.c: the next request, as fuse_session_receive_buf has it: its size, 0 at the end of the mount, or a negative
 * errno. But that one drops the request it has read if the session was told to end meanwhile; who waits for the answer
 * may hold what the end waits for. buf->mem is the caller's to free. */
int fs_receive(struct fuse_session *session, struct fuse_buf *buf);
/* Waits until a thread has ended, and answers requests meanwhile: it may be telling the kernel of something that waits
 * for whoever waits for the answer. */
void fs_join(struct fuse_session *session, pthread_t thread);

/* snapshot.c: texts made for one open file */
/* For a file whose session is growing. */
bool snapshot_is_wanted(const struct tree_attr *attr);
/* Makes the text and gives it a number. 0 or a negative errno. */
int snapshot_open(struct fs *fs, node_t node, uint64_t *ret);
/* Answers the request. */
void snapshot_read(fuse_req_t req, struct handle *h, size_t n, uint64_t off);
uint64_t snapshot_size(struct handle *h);

/* write.c: the operations that change something */
int write_open(fuse_req_t req, node_t node, struct fuse_file_info *fi);
void write_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi);
void write_write(fuse_req_t req, fuse_ino_t ino, const char *p, size_t n, off_t off, struct fuse_file_info *fi);
void write_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void write_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void write_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set, struct fuse_file_info *fi);
void write_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void write_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void write_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void write_rename(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to, const char *new_name,
                  unsigned flags);

/* stream.c: `.events` at the root */

/* No kind of the tree has this id: kind 0 is unused but for the root, which is part 1. */
#define NODE_EVENTS ((node_t)2)

bool stream_is_name(const struct fs *fs, node_t parent, const char *name);
struct tree_attr stream_attr(const struct fs *fs);
void stream_open(struct fs *fs, fuse_req_t req, struct fuse_file_info *fi);
void stream_read(struct fs *fs, fuse_req_t req, struct events_reader *reader, size_t n,
                 const struct fuse_file_info *fi);
void stream_poll(struct fs *fs, fuse_req_t req, struct events_reader *reader, struct fuse_pollhandle *poll);
extern const struct events_ops stream_ops;

#endif
