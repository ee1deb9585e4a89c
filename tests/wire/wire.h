/* SPDX-License-Identifier: MIT */
/* wire: the whole filesystem connected to a socket. The test plays the kernel: it sends requests as they come through
 * /dev/fuse and checks the bytes of the replies. Needs no mount and no privileges. */
#ifndef WIRE_H
#define WIRE_H

#include "../unit/cases.h"

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
	uint32_t pid; /* of the caller; 0: the test */
	uint32_t uid; /* and gid of the caller, by default root, whoever runs the test */
	struct fuse_init_out init;
	unsigned threads;       /* set before wire_open: maximum of threads that answer; 0: one */
	bool refuse_own;        /* set before wire_open: requests of the test's own threads are refused */
	bool unwatched;         /* set before wire_open: no thread follows changes or sends notifications by itself */
	unsigned notifications; /* number so far, and the last one */
	struct fuse_notify_inval_inode_out dropped;
	uint64_t counted;         /* set by the test: a node; `drops` counts how often it is dropped as a whole */
	const char *counted_name; /* or a name, in any directory */
	unsigned drops;
	struct buf kept; /* set by the test: the session file at its last check */
};

struct reply {
	int error; /* 0 or a negative errno */
	size_t n;
	_Alignas(8) char p[1 << 17];
};

/* Writes a file under the source; missing directories are created. */
void wire_file(struct wire *w, const char *path, const char *text);
void wire_append(struct wire *w, const char *path, const char *text);
/* Sets the file's time that many seconds back. */
void wire_age(struct wire *w, const char *path, long seconds);
void wire_remove(struct wire *w, const char *path);
void wire_chmod(struct wire *w, const char *path, mode_t mode);

/* Waits until earlier scans are no longer current. */
#define WIRE_FRESH_MS 1000
void wire_wait_for_look(void);
/* Moves a clock forward or back. */
void wire_let_pass(clockid_t clock, int64_t ms);
/* From now on only wire_let_pass moves the clock. */
void wire_let_stand(clockid_t clock);

/* Create an empty source, and the filesystem over it with INIT done. */
void wire_source(struct wire *w);
void wire_open(struct wire *w, bool read_only, uint32_t flags);
/* The steps of wire_open for a session of the caller: connect w->se with the test, and send INIT once it is served. */
void wire_connect(struct wire *w);
void wire_shake_hands(struct wire *w, uint32_t flags);
/* Ends the session; replies can still be read. */
void wire_stop(struct wire *w);
void wire_close(struct wire *w);

/* Sends a request made of the given parts (up to a NULL) and returns its number. */
uint64_t wire_send(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, const void *more,
                   size_t more_n);
/* The same; the request is interrupted, and the kernel refuses its reply. */
void wire_send_withdrawn(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, const void *more,
                         size_t more_n);
/* Receives the next reply and returns its request's number. Notifications before it are counted. */
uint64_t wire_receive(struct wire *w, struct reply *ret);
/* Receives the next message and returns its request's number, or 0 for a notification, which is counted. */
uint64_t wire_receive_any(struct wire *w, struct reply *ret);
/* Returns the error of the next reply, which must be to this request. `ret` can be NULL here and in wire_call. */
int wire_receive_of(struct wire *w, uint64_t unique, struct reply *ret);
/* Receives the next message, which must be a notification. */
void wire_notification(struct wire *w);
/* Returns true if a message arrives within `ms`; -1: without a limit. */
bool wire_wait(struct wire *w, int ms);
/* Sends and receives. Returns the error. */
int wire_call(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, struct reply *ret);
/* The same; without an error it sets *ret to the reply, of `ret_n` bytes. 0: of any size. */
int wire_get(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, void *ret, size_t ret_n);

int wire_lookup(struct wire *w, uint64_t parent, const char *name, struct fuse_entry_out *ret);
/* Follows a path of names, without links, from the root; the test fails if one is missing. */
struct fuse_entry_out wire_walk(struct wire *w, const char *path);
int wire_open_file(struct wire *w, uint64_t node, uint32_t flags, struct fuse_open_out *ret);
/* Returns FOPEN_CACHE_DIR if the kernel may keep the listing, else 0, or an error. */
int wire_open_dir(struct wire *w, const char *path);
int wire_flush(struct wire *w, uint64_t node, uint64_t fh);
void wire_release(struct wire *w, uint64_t node, uint64_t fh);
int wire_read(struct wire *w, uint64_t node, uint64_t fh, uint64_t off, uint32_t n, struct reply *ret);
int wire_readdirplus(struct wire *w, uint64_t node, uint64_t off, uint32_t n, struct reply *ret);

/* Returns the answer to GETATTR for a node. */
struct fuse_attr_out wire_attr(struct wire *w, uint64_t node);
/* Sends GETATTR for a directory. Returns the number of its notifications. */
unsigned wire_told(struct wire *w, uint64_t dir);

struct listed {
	char name[256];
	uint64_t ino, off;
	uint32_t type;
	struct fuse_entry_out entry;
};

/* Returns the listing of a directory, read in pieces of `piece` bytes. The caller frees it. */
struct listed *wire_list(struct wire *w, uint64_t dir, uint32_t piece, size_t *ret_n);
/* Lists the directory and drops the result. */
void wire_list_away(struct wire *w, uint64_t dir);

#endif
