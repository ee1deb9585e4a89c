/* SPDX-License-Identifier: MIT */
/* Decodes requests for tree_*, and its results into replies. coherence.h says what the kernel may keep of them. After
 * a first answer of ENOSYS, the kernel opens directories, and with -o ro (but not -s) also files, without asking. */
#include "sessionfs/fuse/fs.h"
#include "fs_impl.h"

#include "sessionfs/base/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* libfuse fixes the signatures. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define FILE_LIVE_SECONDS 10 /* a session with a younger file counts as growing */
#define LISTING_MAX ((size_t)1 << 20)

/* The end of the mount cancels all work; the reply is then ENOTCONN. */
static void reply_error(fuse_req_t req, int rc)
{
	bool gone = rc == -EINTR && fs_of(req)->session && fuse_session_exited(fs_of(req)->session);
	fuse_reply_err(req, gone ? ENOTCONN : -rc);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;
	compat_want(conn, FUSE_CAP_READDIRPLUS, 1);
	compat_want(conn, FUSE_CAP_READDIRPLUS_AUTO, 0); /* without attributes, find looks up each directory */
	compat_want(conn, FUSE_CAP_AUTO_INVAL_DATA, 1);
	compat_want(conn, FUSE_CAP_WRITEBACK_CACHE, 0);
	compat_want(conn, FUSE_CAP_CACHE_SYMLINKS, 0); /* their targets follow the session */
	if (conn->max_write > FS_MAX_WRITE)
		conn->max_write = FS_MAX_WRITE;
	fs->no_open = fs->coherence.sizes.sent && compat_is_capable(conn, FUSE_CAP_NO_OPEN_SUPPORT);
	fs->no_opendir = compat_is_capable(conn, FUSE_CAP_NO_OPENDIR_SUPPORT);
	follow_start(fs); /* its thread reads what is set above */
}

/* --- names and attributes -------------------------------------------------- */

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct tree_attr attr;
	int rc = tree_lookup(fs->tree, parent, span_of(name), &attr);
	if (rc && rc != -ENOENT) {
		reply_error(req, rc);
		return;
	}
	struct fuse_entry_param e = {.ino = 0};
	if (rc) {
		enum tree_class class = tree_negative_class(fs->tree, parent, span_of(name));
		log_debug("lookup %" PRIu64 "/%s: missing, %s (I10)", parent, name, cache_class_name(class));
		e.entry_timeout = cache_class_seconds(class);
	} else {
		if (tree_is_table(attr.node))
			sizes_recall(fs, &attr);
		else
			coherence_check_attr(fs, req, attr.node, &attr);
		log_entry("lookup", parent, name, &attr);
		e = coherence_entry(&attr);
	}
	tree_lookup_count(fs->tree, e.ino, 1, 0);
	/* The reply was not delivered: the lookup was interrupted, and no FORGET will come. */
	if (fuse_reply_entry(req, &e) == -ENOENT)
		tree_lookup_count(fs->tree, e.ino, 0, 1);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t names)
{
	tree_lookup_count(fs_of(req)->tree, ino, 0, names);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct tree_attr attr;
	struct handle *handle = fi ? handles_get(&fs->handles, fi->fh) : NULL;
	int rc = handle && handle->writing ? tree_handle_attr(fs->tree, ino, handle->writing, &attr)
	                                   : tree_getattr(fs->tree, ino, &attr);
	/* SEEK_END must use the size that can be read through this handle. */
	if (rc == 0 && handle && handle->pinned)
		attr.size = tree_pinned_size(handle->pinned);
	fs_handle_put(fs, handle);
	if (rc) {
		reply_error(req, rc);
		return;
	}
	coherence_check_attr(fs, req, ino, &attr);
	log_attr("getattr", &attr);
	struct stat st = attr_to_stat(&attr);
	fuse_reply_attr(req, &st, cache_class_seconds(attr.attr_class));
}

/* The kernel asks only without default_permissions. Then only the user we run as gets here, and we can read everything
 * that we show. */
static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct fs *fs = fs_of(req);
	struct tree_attr attr;
	int rc = tree_getattr(fs->tree, ino, &attr);
	if (rc) {
		reply_error(req, rc);
		return;
	}
	unsigned some = attr.mode | attr.mode >> 3 | attr.mode >> 6;
	unsigned allowed = (some & W_OK) | R_OK | (S_ISREG(attr.mode) ? some & X_OK : X_OK);
	if (mask & W_OK && fs->read_only)
		rc = -EROFS;
	else if ((unsigned)mask & ~allowed & (R_OK | W_OK | X_OK))
		rc = -EACCES;
	reply_error(req, rc);
}

/* The kernel does not check the mode of a link, so we do. */
static bool caller_may_read_link(fuse_req_t req, node_t node)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	if (who->uid == 0 || who->uid == geteuid())
		return true;
	gid_t gid;
	mode_t mode = tree_link_mode(fs_of(req)->tree, node, &gid);
	if ((mode & 0044) == 0044)
		return true;
	return mode & (caller_in_group(req, gid) ? 0040 : 0004);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct buf target CLEANUP_BUF = BUF_INIT;
	int rc = caller_may_read_link(req, ino) ? tree_readlink(fs_of(req)->tree, ino, &target) : -EACCES;
	const char *text = rc ? NULL : buf_cstr(&target);
	if (text)
		fuse_reply_readlink(req, text);
	else
		reply_error(req, rc ? rc : -ENOMEM);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs source;
	int rc = resolver_statvfs(catalog_resolver(fs_of(req)->catalog), &source);
	if (rc == -EINTR) {
		reply_error(req, rc);
		return;
	}
	/* The mount stays when its source is gone or does not answer: report a full disk of size 0. */
	if (rc < 0)
		source = (struct statvfs){.f_bsize = 4096, .f_frsize = 4096};
	struct statvfs st = {
	    .f_bsize = source.f_bsize,
	    .f_frsize = source.f_frsize,
	    .f_blocks = source.f_blocks,
	    .f_bfree = source.f_bfree,
	    .f_bavail = source.f_bavail,
	    .f_namemax = NAME_MAX,
	};
	fuse_reply_statfs(req, &st);
}

/* --- directories ----------------------------------------------------------- */

/* Cookies of the tree come after "." and "..". */
enum { COOKIE_SELF = 1, COOKIE_PARENT = 2 };

struct listing {
	fuse_req_t req;
	node_t dir;
	char *p;
	size_t n, cap;
	bool plus;
	struct buf noted; /* node_t: directories to pass to listings_drop_stale without locks */
};

/* Returns non-zero if the name did not fit. */
static int listing_add_name(struct listing *l, const char *name, uint64_t cookie, const struct fuse_entry_param *e)
{
	size_t room = l->cap - l->n;
	size_t n = l->plus ? fuse_add_direntry_plus(l->req, l->p + l->n, room, name, e, (off_t)cookie)
	                   : fuse_add_direntry(l->req, l->p + l->n, room, name, &e->attr, (off_t)cookie);
	if (n > room)
		return 1;
	l->n += n;
	return 0;
}

/* Without an ino the kernel only lists the name, and looks it up when a process needs more. */
static struct fuse_entry_param entry_without_attr(uint64_t ino, mode_t type)
{
	return (struct fuse_entry_param){.attr = {.st_ino = ino, .st_mode = type}};
}

static int list_emit_entry(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                           const struct tree_attr *attr)
{
	struct listing *l = arg;
	char text[NAME_MAX + 1];
	if (name.n > NAME_MAX)
		return 0;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	if (attr && S_ISDIR(mode) && listings_is_tracked(fs_of(l->req), node))
		buf_add(&l->noted, &node, sizeof node);
	struct fuse_entry_param e = entry_without_attr(ino, mode);
	if (attr) {
		struct tree_attr settled = *attr;
		if (coherence_check_listed_attr(fs_of(l->req), &settled)) {
			e = coherence_entry(&settled);
			log_entry("listed", l->dir, text, &settled);
		}
	}
	return listing_add_name(l, text, cookie + COOKIE_PARENT, &e);
}

static int list_directory(struct listing *l, struct tree *tree, uint64_t cookie)
{
	node_t dir = l->dir;
	struct fuse_entry_param self = entry_without_attr(tree_ino(tree, dir), S_IFDIR),
				parent = entry_without_attr(tree_ino(tree, tree_parent(tree, dir)), S_IFDIR);
	if (cookie < COOKIE_SELF && listing_add_name(l, ".", COOKIE_SELF, &self))
		return 0;
	if (cookie < COOKIE_PARENT && listing_add_name(l, "..", COOKIE_PARENT, &parent))
		return 0;
	return tree_list(tree, dir, cookie < COOKIE_PARENT ? 0 : cookie - COOKIE_PARENT,
	                 l->plus ? TREE_ATTRS : TREE_NAMES, list_emit_entry, l);
}

static void reply_listing(fuse_req_t req, node_t dir, size_t size, off_t off, bool plus)
{
	struct fs *fs = fs_of(req);
	struct listing l = {.req = req, .dir = dir, .cap = size < LISTING_MAX ? size : LISTING_MAX, .plus = plus};
	char *p CLEANUP_FREE = l.p = malloc(l.cap + 1);
	int rc = p ? 0 : -ENOMEM;
	if (!rc && off == 0) {
		struct tree_attr attr;
		rc = tree_getattr(fs->tree, dir, &attr);
		if (!rc)
			rc = S_ISDIR(attr.mode) ? listings_begin(fs, &attr) : -ENOTDIR;
	}
	if (!rc)
		rc = list_directory(&l, fs->tree, (uint64_t)off);
	for (size_t i = 0; i < l.noted.n; i += sizeof(node_t)) {
		node_t node;
		memcpy(&node, l.noted.p + i, sizeof node);
		listings_drop_stale(fs, NULL, node, NULL);
	}
	buf_release(&l.noted);
	/* Return the names found before the error; the next call returns the error. */
	if (rc < 0 && l.n == 0)
		reply_error(req, rc);
	else
		fuse_reply_buf(req, p, l.n);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	reply_listing(req, ino, size, off, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	reply_listing(req, ino, size, off, true);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct tree_attr attr;
	fi->fh = 0;
	if (fs->no_opendir) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
	/* Invalidating the attributes drops the listing, so the attributes must be noted. */
	if (tree_getattr(fs->tree, ino, &attr) == 0) {
		leases_grant(fs, &attr);
		fi->cache_readdir = fi->keep_cache =
		    attr.attr_class >= TREE_WATCHED && !tree_is_listing_volatile(fs->tree, ino);
		log_debug("list %" PRIu64 " (inode %" PRIu64 "): %s (%s)", ino, attr.ino,
		          fi->keep_cache ? "kept" : "not kept", attr.why);
	}
	fuse_reply_open(req, fi);
}

/* --- files ----------------------------------------------------------------- */

/* Reads are answered from the current state, so a reader of a text that changes in its middle would get a mixture.
 * While its session grows, such a text is pinned for each open file. It bypasses the page cache, which belongs to the
 * node and not to the open file. */
static int open_pinned(struct fs *fs, node_t node, uint64_t *ret)
{
	struct handle handle = {.pinned = NULL};
	int rc = tree_pin(fs->tree, node, &handle.pinned);
	if (rc < 0)
		return rc;
	*ret = handles_add(&fs->handles, &handle);
	if (*ret == 0)
		tree_unpin(handle.pinned);
	return *ret ? 0 : -ENOMEM;
}

static int op_open_file(struct fs *fs, node_t node, struct fuse_file_info *fi)
{
	struct tree_attr attr;
	enum tree_change change = tree_text_change(node);
	/* The kernel has valid attributes, or asks for them before it reads, so they are not computed here. */
	if (change == TREE_NEVER || tree_is_quiet(fs->tree, node, FILE_LIVE_SECONDS)) {
		fi->noflush = fi->keep_cache = 1;
		return 0;
	}
	int rc = tree_getattr(fs->tree, node, &attr);
	if (rc)
		return rc;
	if (!S_ISREG(attr.mode))
		return S_ISDIR(attr.mode) ? -EISDIR : -ELOOP;
	fi->noflush = 1;
	/* While one process gets a new size, another can read the old last page, with only zeros after the old end. So
	 * a growing file bypasses the page cache. */
	bool is_young = attr.mtime.tv_sec > clock_ago(FILE_LIVE_SECONDS);
	/* The time of such a file does not show its age, but its class does. */
	if (change == TREE_RESTAMPED)
		is_young = attr.attr_class < TREE_WATCHED;
	/* With a version, the size and time do not show each change. */
	fi->direct_io = is_young || change == TREE_UNTIMED || attr.version;
	fi->keep_cache = !fi->direct_io;
	return fi->direct_io && change >= TREE_REWRITTEN ? open_pinned(fs, node, &fi->fh) : 0;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	bool to_write = fi->flags & (O_ACCMODE | O_TRUNC);
	if (to_write && fs->read_only) {
		reply_error(req, -EROFS);
		return;
	}
	if (fs->no_open) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
	fi->fh = 0;
	int rc = to_write || tree_is_scratch(ino) ? op_open_write(req, ino, fi) : op_open_file(fs, ino, fi);
	if (rc) {
		reply_error(req, rc);
		return;
	}
	uint64_t number = fi->fh;
	/* The reply was not delivered: the open was interrupted, and no RELEASE will come. */
	if (fuse_reply_open(req, fi) == -ENOENT)
		handles_close(fs, number, false);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *h = handles_get(&fs->handles, fi->fh);
	struct buf out CLEANUP_BUF = BUF_INIT;
	int rc = -EBADF;
	if (h)
		rc = h->pinned ? tree_pinned_read(h->pinned, (uint64_t)off, size, &out)
		               : tree_handle_read(fs->tree, h->writing, (uint64_t)off, size, &out);
	else if (!fi->fh)
		rc = tree_read(fs->tree, ino, (uint64_t)off, size, &out);
	if (rc < 0)
		reply_error(req, rc);
	else
		fuse_reply_buf(req, out.p, out.n);
	fs_handle_put(fs, h);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	uint64_t before = tree_commit_count(fs->tree);
	handles_close(fs, fi->fh, true);
	follow_notify_write(fs, ino, before);
	fuse_reply_err(req, 0);
}

/* There are no handlers for extended attributes and fallocate(2): after the first ENOSYS the kernel does not ask again.
 * It answers fallocate(2) with EOPNOTSUPP, so that posix_fallocate(3) writes the bytes instead. */
const struct fuse_lowlevel_ops fs_operations = {
    .init = op_init,
    .lookup = op_lookup,
    .forget = op_forget,
    .getattr = op_getattr,
    .access = op_access,
    .readlink = op_readlink,
    .statfs = op_statfs,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .open = op_open,
    .read = op_read,
    .release = op_release,
    .flush = op_flush,
    .fsync = op_fsync,
    .fsyncdir = op_fsync,
    .setattr = op_setattr,
    .mknod = op_mknod,
    .mkdir = op_mkdir,
    .unlink = op_unlink,
    .rmdir = op_rmdir,
    .symlink = op_symlink,
    .rename = op_rename,
    .link = op_link,
    .create = op_create,
    .write = op_write,
};

int fs_open(const struct fs_options *o, struct fs **ret)
{
	struct fs *fs = calloc(1, sizeof *fs);
	if (!fs)
		return -ENOMEM;
	fs->tree = o->tree;
	fs->catalog = o->catalog;
	fs->read_only = o->read_only;
	fs->refuse_own = o->refuse_own;
	lock_init(&fs->handles.lock, LOCK_HANDLES);
	coherence_init(&fs->coherence);
	*ret = fs;
	return 0;
}

void fs_attach(struct fs *fs, struct fuse_session *session)
{
	fs->session = session;
}

void fs_close(struct fs *fs)
{
	if (!fs)
		return;
	handles_release(fs, &fs->handles);
	coherence_release(&fs->coherence);
	free(fs);
}
