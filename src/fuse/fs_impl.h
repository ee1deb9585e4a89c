/* SPDX-License-Identifier: MIT */
/* fs_impl: shared by the parts of fs. */
#ifndef SESSIONFS_FS_IMPL_H
#define SESSIONFS_FS_IMPL_H

#include "coherence.h"
#include "sessionfs/fuse/fs.h"
#include "sessionfs/fuse/fuse_compat.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/tree/write.h"

struct fs;
struct fuse_in_header;

/* An open file: a text that is pinned for it, or a file being written. */
struct handle {
	struct tree_pinned *pinned;
	struct tree_handle *writing;
	unsigned users;    /* the open file itself, and each request that uses it */
	bool is_discarded; /* its text is not committed */
};

/* Open files by number, which detects invalid numbers. 0 is an open file without a handle. */
struct handles {
	struct lock lock;
	struct handle_place {
		struct handle *handle;
		size_t next; /* the next free number, or 0 */
	} * at;              /* number - 1 */
	size_t n, free;      /* free: the first free number, or 0 */
};

/* Frees the remaining handles. */
void handles_release(struct fs *fs, struct handles *h);
/* Takes over a copy of *handle. Returns its number, or 0 if out of memory. */
uint64_t handles_add(struct handles *h, const struct handle *handle);
/* Returns the handle with this number, or NULL. Return it with fs_handle_put. */
struct handle *handles_get(struct handles *h, uint64_t number);
/* Frees the number, if it is in use, and drops the open file's use of the handle. Without `commit` nothing is written,
 * for an open that failed. */
void handles_close(struct fs *fs, uint64_t number, bool commit);
/* Drops one use; the last one frees the handle. A RELEASE can overtake the thread that has just answered a READ. */
void fs_handle_put(struct fs *fs, struct handle *handle);

struct fs {
	struct tree *tree;
	struct catalog *catalog;
	struct handles handles;
	struct coherence coherence;
	struct fuse_session *session; /* NULL until fs_attach */
	bool read_only;
	bool refuse_own; /* see struct fs_options */
	bool no_open;    /* the kernel opens files without asking */
	bool no_opendir; /* the kernel opens directories without asking */
};

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The max bytes of one write. libfuse would announce 256 pages, whatever their size: the kernel gives no request to a
 * reader without room for the largest. */
enum { FS_MAX_WRITE = 1 << 20 };

/* caller.c: returns whether the caller is in the group. */
bool caller_in_group(fuse_req_t req, gid_t gid);
/* Returns whether the caller may read the file, or list the directory, with these attributes. */
bool caller_may_read(fuse_req_t req, const struct tree_attr *a);
/* Answers a request, except one that expects no reply, with an errno. Does not wait. */
void caller_reply_error(struct fuse_session *session, const struct fuse_in_header *h, int err);
/* Answers a request of one of our own threads with ELOOP. Returns false if the request needs a normal answer
 * (refuse_own). */
bool caller_refuse_our_thread(const struct fs *fs, const struct fuse_in_header *h);

/* loop.c: reads the next request like fuse_session_receive_buf. Returns its size, 0 at the end of the mount, or a
 * negative errno. libfuse's function drops a request that it has read if the session ends meanwhile. But the process
 * that waits for the answer can block the end of the session. The caller frees buf->mem. */
int fs_receive(struct fuse_session *session, struct fuse_buf *buf);
/* Cancelled work ends long before this. If it does not, it waits for a file of the source that never answers. */
#define FS_LEAVE_NS INT64_C(5000000000)

/* Waits until a thread has ended. Meanwhile requests fail with ENOTCONN: the thread can be notifying the kernel, which
 * can wait for a process that waits for our answer. Serving them could take arbitrarily long. Returns false if the
 * thread is still running after `ns`. */
bool join_while_refusing(struct fuse_session *session, pthread_t thread, int64_t ns);

/* write.c: requests that change the tree */
int op_open_write(fuse_req_t req, node_t node, struct fuse_file_info *fi);
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi);
void op_write(fuse_req_t req, fuse_ino_t ino, const char *p, size_t n, off_t off, struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set, struct fuse_file_info *fi);
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to, const char *new_name, unsigned flags);

#endif
