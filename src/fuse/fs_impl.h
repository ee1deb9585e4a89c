/* fs_impl: what the parts of fs share. */
#ifndef SESSIONFS_FS_IMPL_H
#define SESSIONFS_FS_IMPL_H

#include "sessionfs/fuse/fs.h"
#include "sessionfs/fuse/fuse_compat.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/tree/write.h"
#include "sessionfs/fuse/events.h"

#include <stdatomic.h>

struct fs;

/* What an open file keeps: a text of its own, a place among the events, or what is being written. */
struct handle {
	node_t pinned;    /* whose text it is, 0: none */
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

/* Directories whose listing the kernel may have kept although their mtime would not tell of a change. */
struct listings {
	struct lock lock;
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
/* Whether the kernel must ask for the attributes of this directory before it uses what it has kept of its names. */
bool listings_is_volatile(struct fs *fs, node_t dir);
/* Attributes of this node are to go to the kernel: makes it drop a listing that may be outdated. */
void listings_check(struct fs *fs, node_t node);
/* Whether that could have anything to do. Any lock may be held. */
bool listings_is_noted(struct fs *fs, node_t node);

/* fs_quiet.c: what was given to the kernel for as long as it is not told otherwise */
struct quiet {
	struct lock lock;
	bool kept;                /* somebody tells */
	struct quiet_slot *slots; /* by number */
	size_t n, nodes;
	bool given_above;   /* something of the directories above the sessions */
	int64_t dropped_ms; /* when promises that had ended were dropped last */
};

void quiet_init(struct quiet *q);
void quiet_keep(struct fs *fs, bool kept);
void quiet_release(struct quiet *q);
/* Attributes are about to go to the kernel: what the tree lets it keep for long is noted, or is for a moment only.
 * Any lock of the tree's may be held. */
void quiet_settle(struct fs *fs, struct tree_attr *a);
/* Forgets what was noted of a session, since the kernel is told now. The nodes noted one by one are the caller's to
 * free; true if there was something besides. */
bool quiet_take(struct fs *fs, uint32_t slot, node_t **ret, size_t *ret_n);
/* The same for what is above all sessions. */
bool quiet_take_above(struct fs *fs);
/* Whether the kernel may still keep what was noted one by one, taken or not. */
bool quiet_is_promised(struct fs *fs, uint32_t slot);

/* fs_follow.c: the thread that follows changes */
struct follow {
	pthread_t thread;
	bool running;
	atomic_bool stop;
	struct again *again; /* the thread's own */
	size_t n, cap;
};

void follow_start(struct fs *fs);
void follow_stop(struct fs *fs);
/* Something was written through the mount: what follows the node's session is asked for again from now on. */
void follow_written(struct fs *fs, node_t node);

/* fs_pages.c: contents that the kernel is given with the open */
struct pages {
	struct lock lock; /* who has it gives */
	node_t *given;    /* hashed; NULL: nothing is given */
};

void pages_init(struct pages *p);
void pages_release(struct pages *p);
/* From now on; there must be several threads. 0 or -ENOMEM. */
int pages_start(struct fs *fs);
/* Before the answer to the open of a file whose contents never change. */
void pages_give(struct fs *fs, node_t node);

/* fs_plus.c: what a listing brings along besides the names */
enum plus_kind { PLUS_ALL, PLUS_PROBE, PLUS_DIRS }; /* attributes of all; of all but one file; of directories */

/* Of so many listings one is a probe; so many that nobody used are enough. */
enum { PLUS_PROBE_EVERY = 64, PLUS_UNUSED_MAX = 1024 };

struct plus {
	struct lock lock;
	unsigned listings; /* since the last probe */
	unsigned unused;   /* probes in a row */
	bool probed;       /* and nothing is known of it yet */
};

void plus_init(struct plus *p);
void plus_release(struct plus *p);
/* For a listing, or the next piece of one. After PLUS_PROBE: plus_probed, if there was a file. */
enum plus_kind plus_begin(struct plus *p, bool first);
void plus_probed(struct plus *p);
/* Somebody looked up a file. */
void plus_looked_up(struct plus *p);

/* fs_sizes.c: sizes that the kernel was told */
struct size_told {
	node_t node;
	uint64_t size;
};

struct sizes {
	struct lock lock;       /* of the notes */
	struct lock dropping;   /* who has it drops pages */
	struct size_told *told; /* hashed; NULL: nothing is noted */
};

void sizes_init(struct sizes *s);
void sizes_release(struct sizes *s);
/* From now on; there must be several threads, and no opens that are answered. 0 or -ENOMEM. */
int sizes_start(struct fs *fs);
/* Before an answer with these attributes: drops what the kernel has of a file that has another size now. No lock may
 * be held. */
void sizes_tell(struct fs *fs, const struct tree_attr *a);
/* False if that must be done first. Any lock may be held. */
bool sizes_may_be_told(struct fs *fs, const struct tree_attr *a);

/* Younger than this, or from the future. */
bool fs_is_younger(struct timespec t, time_t seconds);
/* The time in so many nanoseconds. */
struct timespec fs_in(clockid_t clock, int64_t ns);

struct fs {
	struct tree *tree;
	struct catalog *catalog;
	struct events *events;
	struct handles handles;
	struct listings listings;
	struct quiet quiet;
	struct follow follow;
	struct pages pages;
	struct plus plus;
	struct sizes sizes;
	struct fuse_session *session; /* NULL until fs_attach */
	struct timespec since;
	bool read_only;
	bool refuse_own; /* see struct fs_options */
	bool no_open;    /* the kernel opens files without asking */
	bool no_opendir; /* and directories */
	bool idle;       /* fs_idle.c is at work */
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

/* fs_loop.c: the next request, as fuse_session_receive_buf has it: its size, 0 at the end of the mount, or a negative
 * errno. But that one drops the request it has read if the session was told to end meanwhile; who waits for the answer
 * may hold what the end waits for. buf->mem is the caller's to free. */
int fs_receive(struct fuse_session *session, struct fuse_buf *buf);
/* Waits until a thread has ended, and answers requests meanwhile: it may be telling the kernel of something that waits
 * for whoever waits for the answer. */
void fs_join(struct fuse_session *session, pthread_t thread);

/* fs.c */
struct stat stat_of(const struct tree_attr *a);
struct fuse_entry_param entry_of(const struct tree_attr *a);

/* fs_pin.c: texts made for one open file */
/* Of a file whose session is growing. */
bool pin_is_wanted(const struct tree_attr *attr);
/* Makes the text and gives it a number. 0 or a negative errno. */
int pin_open(struct fs *fs, node_t node, uint64_t *ret);
/* Answers the request. */
void pin_read(fuse_req_t req, struct handle *h, size_t n, uint64_t off);
uint64_t pin_size(struct handle *h);

/* fs_write.c: the operations that change something */
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

/* fs_stream.c: `.events` at the root */

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
