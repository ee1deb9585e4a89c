/* SPDX-License-Identifier: MIT */
/* wire: the whole filesystem behind a socket. The test plays the kernel: it sends requests as they
 * would come through /dev/fuse and looks at the bytes of the replies. No mount, no privileges. */
#ifndef WIRE_H
#define WIRE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/fuse/fs.h"
#include "sessionfs/fuse/fuse_compat.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <sys/stat.h>

struct wire {
	char source[64];
	int fd; /* the kernel's end */
	struct budget budget;
	struct catalog *catalog;
	struct cache *cache;
	struct tree *tree;
	struct fs *fs;
	struct fuse_session *se;
	pthread_t thread;
	uint64_t unique;
	uint32_t pid; /* of who asks; 0: the test */
	uint32_t uid; /* and gid of who asks; 0: the test's */
	struct fuse_init_out init;
	unsigned threads;       /* set before wire_open: at most so many answer; 0: one */
	bool refuse_own;        /* set before wire_open: the test's own threads are refused what they ask */
	bool unwatched;         /* set before wire_open: nobody follows changes, nothing is told by itself */
	unsigned notifications; /* so far, and the last one */
	struct fuse_notify_inval_inode_out dropped;
	uint64_t counted; /* set by the test: a node, and how often all that is kept of it was dropped */
	unsigned drops;
	struct fuse_notify_store_out stored;
	char *pages;    /* that were given with it */
	uint64_t woken; /* the poll that was woken last */
};

struct reply {
	int error; /* 0 or a negative errno */
	size_t n;
	_Alignas(8) char p[1 << 17];
};

/* Writes a file under the source; parts of the path are made. */
void wire_file(struct wire *w, const char *path, const char *text);
void wire_append(struct wire *w, const char *path, const char *text);
/* As if it had last been written that long ago. */
void wire_age(struct wire *w, const char *path, long seconds);
void wire_remove(struct wire *w, const char *path);
void wire_chmod(struct wire *w, const char *path, mode_t mode);

/* Until a look at the disk made before holds no longer. */
#define WIRE_FRESH_MS 1000
void wire_wait_for_look(void);
/* Puts a clock forward, or back again. */
void wire_let_pass(clockid_t clock, int64_t ms);

/* An empty source, then the filesystem over it with INIT done. */
void wire_source(struct wire *w);
void wire_open(struct wire *w, bool read_only, uint32_t flags);
/* What wire_open does for its own session: connects w->se with the test, and, when it is served, INIT. */
void wire_connect(struct wire *w);
void wire_shake_hands(struct wire *w, uint32_t flags);
/* Ends the session; replies that come meanwhile stay to be read. */
void wire_stop(struct wire *w);
void wire_close(struct wire *w);

/* Sends a request of the parts that are given (up to a NULL) and returns its number. */
uint64_t wire_send(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, const void *more,
                   size_t more_n);
/* The next reply and whose it is; notifications before it are counted. */
uint64_t wire_receive(struct wire *w, struct reply *ret);
/* The next message and whose reply it is: nobody's (0) if it is a notification, which is counted. */
uint64_t wire_receive_any(struct wire *w, struct reply *ret);
/* The error of the reply to this request, which must be the next. */
int wire_receive_of(struct wire *w, uint64_t unique, struct reply *ret);
/* Takes the next message, which must be a notification. */
void wire_notification(struct wire *w);
/* True if a message is there within so many milliseconds. */
bool wire_wait(struct wire *w, int ms);
/* Sends and receives. Returns the error. */
int wire_call(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, struct reply *ret);

int wire_lookup(struct wire *w, uint64_t parent, const char *name, struct fuse_entry_out *ret);
/* Follows a path of names, not of links, from the root; the test fails if there is none. */
struct fuse_entry_out wire_walk(struct wire *w, const char *path);
int wire_open_file(struct wire *w, uint64_t node, uint32_t flags, struct fuse_open_out *ret);
/* Whether the kernel may keep the listing (FOPEN_CACHE_DIR or 0), or an error. */
int wire_open_dir(struct wire *w, const char *path);
int wire_read(struct wire *w, uint64_t node, uint64_t fh, uint64_t off, uint32_t n, struct reply *ret);
int wire_readdirplus(struct wire *w, uint64_t node, uint64_t off, uint32_t n, struct reply *ret);

/* What the kernel gets when it asks for the attributes of a node. */
struct fuse_attr_out wire_attr(struct wire *w, uint64_t node);
/* How many notifications about it come when the kernel asks for the attributes of a directory, and for how long it may
 * keep these, in seconds (NULL if not wanted). */
unsigned wire_told(struct wire *w, uint64_t dir, uint64_t *ret_valid);

struct listed {
	char name[256];
	uint64_t ino, off;
	uint32_t type;
	struct fuse_entry_out entry;
};

/* Everything in a directory, read in pieces of so many bytes. The caller frees it. */
struct listed *wire_list(struct wire *w, uint64_t dir, uint32_t piece, size_t *ret_n);
/* The same, for the listing's sake. */
void wire_list_away(struct wire *w, uint64_t dir);

#endif
