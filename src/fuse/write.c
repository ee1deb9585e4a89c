/* SPDX-License-Identifier: MIT */
/* Requests that change the tree. Each is decoded, passed to tree/write.h, and answered once.
 *
 * A file open for writing bypasses the page cache: only this handle sees its bytes before their commit. */
#include "fs_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* libfuse fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct tree_caller request_caller(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	return (struct tree_caller){ctx->uid, ctx->gid, ctx->pid};
}

/* Answers with the result. If a write changed anything or was refused since tree_commit_count returned `before`,
 * notifies the kernel first (I5). */
static void reply_to_write(fuse_req_t req, fuse_ino_t node, uint64_t before, int rc)
{
	follow_notify_write(fs_of(req), node, before);
	fuse_reply_err(req, -rc);
}

/* Gives the handle a number. Frees the handle on failure. */
static int op_add_write_handle(struct fs *fs, struct tree_handle *h, struct fuse_file_info *fi)
{
	if (fi->flags & O_DSYNC)
		tree_handle_sync(fs->tree, h);
	const struct handle handle = {.writing = h};
	fi->fh = handles_add(&fs->handles, &handle);
	if (fi->fh == 0) {
		tree_release_uncommitted(fs->tree, h);
		return -ENOMEM;
	}
	fi->direct_io = 1;
	fi->noflush = 0;
	return 0;
}

int op_open_write(fuse_req_t req, node_t node, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct tree_caller who = request_caller(req);
	struct tree_handle *h;
	uint64_t before = tree_commit_count(fs->tree);
	int rc = tree_open_write(fs->tree, node, fi->flags & O_TRUNC, &who, &h);
	follow_notify_write(fs, node, before);
	return rc < 0 ? rc : op_add_write_handle(fs, h, fi);
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct tree_caller who = request_caller(req);
	struct tree_handle *h;
	struct tree_attr attr;
	uint64_t before = tree_commit_count(fs->tree);
	int rc = tree_create(fs->tree, parent, span_of(name), mode, fi->flags & O_EXCL, fi->flags & O_TRUNC, &who, &h,
	                     &attr);
	follow_notify_write(fs, parent, before);
	if (rc == 0)
		rc = op_add_write_handle(fs, h, fi);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	log_entry("create", parent, name, &attr);
	struct fuse_entry_param e = coherence_entry(&attr);
	uint64_t number = fi->fh;
	/* The reply was not delivered: the request was interrupted, and no RELEASE will come. */
	if (fuse_reply_create(req, &e, fi) == -ENOENT)
		handles_close(fs, number, false);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *p, size_t n, off_t off, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct tree_caller who = request_caller(req);
	uint64_t before = tree_commit_count(fs->tree);
	struct handle *h = fi ? handles_get(&fs->handles, fi->fh) : NULL;
	/* Also set by pwritev2 with RWF_DSYNC. */
	if (h && h->writing && fi->flags & O_DSYNC)
		tree_handle_sync(fs->tree, h->writing);
	uint64_t at = off < 0 ? INT64_MAX : (uint64_t)off;
	/* A value can be shorter than the text that was written. The kernel ignores the size in a reply if a
	 * notification arrives before it. */
	if (fi && fi->flags & O_APPEND && !tree_is_scratch(ino))
		at = TREE_END;
	int rc = h && h->writing ? tree_write(fs->tree, h->writing, (struct span){p, n}, at, &who) : -EBADF;
	fs_handle_put(fs, h);
	follow_notify_write(fs, ino, before);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_write(req, n);
}

static void op_commit(fuse_req_t req, fuse_ino_t ino, const struct fuse_file_info *fi,
                      int (*how)(struct tree *, struct tree_handle *, const struct tree_caller *))
{
	struct fs *fs = fs_of(req);
	struct tree_caller who = request_caller(req);
	uint64_t before = tree_commit_count(fs->tree);
	/* Nothing was written. After ENOSYS the kernel does not ask again. */
	if (fs->read_only) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
	struct handle *h = handles_get(&fs->handles, fi->fh);
	int rc = 0;
	if (h && h->writing)
		rc = how(fs->tree, h->writing, &who);
	else if (how == tree_fsync)
		rc = tree_sync(fs->tree, ino);
	fs_handle_put(fs, h);
	reply_to_write(req, ino, before, rc);
}

void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	op_commit(req, ino, fi, tree_flush);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	op_commit(req, ino, fi, tree_fsync);
}

static struct tree_setattr setattr_of_request(const struct stat *st, int to_set)
{
	return (struct tree_setattr){
	    .mode = to_set & FUSE_SET_ATTR_MODE,
	    .uid = to_set & FUSE_SET_ATTR_UID,
	    .gid = to_set & FUSE_SET_ATTR_GID,
	    .size = to_set & FUSE_SET_ATTR_SIZE,
	    .atime = to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW),
	    .mtime = to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW),
	    .attr =
		{
		    .mode = st->st_mode,
		    .uid = st->st_uid,
		    .gid = st->st_gid,
		    .size = (uint64_t)st->st_size,
		    .mtime = to_set & FUSE_SET_ATTR_MTIME_NOW ? clock_now(CLOCK_REALTIME) : st->st_mtim,
		    .atime = to_set & FUSE_SET_ATTR_ATIME_NOW ? clock_now(CLOCK_REALTIME) : st->st_atim,
		},
	};
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct tree_attr attr;
	const struct tree_setattr change = setattr_of_request(st, to_set);
	uint64_t before = tree_commit_count(fs->tree);
	struct handle *h = fi ? handles_get(&fs->handles, fi->fh) : NULL;
	int rc = tree_setattr(fs->tree, ino, h ? h->writing : NULL, &change, &attr);
	fs_handle_put(fs, h);
	follow_notify_write(fs, ino, before);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	log_attr("setattr", &attr);
	struct stat now = attr_to_stat(&attr);
	fuse_reply_attr(req, &now, cache_class_seconds(attr.attr_class));
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct tree_caller who = request_caller(req);
	struct tree_attr attr;
	uint64_t before = tree_commit_count(fs->tree);
	int rc = tree_symlink(fs->tree, parent, span_of(name), target, &who, &attr);
	follow_notify_write(fs, parent, before);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	log_entry("symlink", parent, name, &attr);
	struct fuse_entry_param e = coherence_entry(&attr);
	fuse_reply_entry(req, &e);
}

static void op_remove_name(fuse_req_t req, fuse_ino_t parent, const char *name,
                           int (*how)(struct tree *, node_t, struct span, const struct tree_caller *))
{
	struct fs *fs = fs_of(req);
	struct tree_caller who = request_caller(req);
	uint64_t before = tree_commit_count(fs->tree);
	reply_to_write(req, parent, before, how(fs->tree, parent, span_of(name), &who));
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	op_remove_name(req, parent, name, tree_unlink);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	op_remove_name(req, parent, name, tree_rmdir);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fs *fs = fs_of(req);
	uint64_t before = tree_commit_count(fs->tree);
	reply_to_write(req, parent, before, tree_refuse_create(fs->tree, parent, span_of(name)));
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	op_mkdir(req, parent, name, mode);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	op_mkdir(req, parent, name, 0);
}

void op_rename(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to, const char *new_name, unsigned flags)
{
	struct fs *fs = fs_of(req);
	uint64_t before = tree_commit_count(fs->tree);
	int rc = -EINVAL;
	if ((flags & ~(unsigned)RENAME_NOREPLACE) == 0)
		rc = tree_rename(fs->tree, from, span_of(name), to, span_of(new_name), flags & RENAME_NOREPLACE);
	reply_to_write(req, to, before, rc);
}
