/* SPDX-License-Identifier: MIT */
/* Handles: writable files open for writing, and scratch files.
 *
 * A writable file is staged: readers see the last committed text until a flush, an fsync or the release commits. */
#include "sessionfs/base/process.h"
#include "write_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static struct tree_handle *tree_handle_new(struct node n)
{
	struct tree_handle *h = calloc(1, sizeof *h);
	if (h) {
		lock_rw_init(&h->lock, LOCK_HANDLE);
		h->node = n;
	}
	return h;
}

static void tree_handle_free(struct tree *t, struct tree_handle *h)
{
	lock_acquire(&t->state_lock);
	for (struct tree_handle **at = &t->handles; *at; at = &(*at)->next)
		if (*at == h) {
			*at = h->next;
			break;
		}
	lock_release(&t->state_lock);
	stage_release(&h->stage);
	buf_release(&h->entry);
	lock_rw_destroy(&h->lock);
	free(h);
}

/* The caller has the only reference to the handle, or its lock. */
static void handle_add_user(struct tree_handle *h, const struct tree_caller *who)
{
	size_t i = 0;
	while (i < HANDLE_USERS_MAX && h->users[i] != 0 && h->users[i] != who->pid)
		i++;
	if (i < HANDLE_USERS_MAX)
		h->users[i] = who->pid;
}

/* True if this close commits the text. Each close of each descriptor is a flush, so a text from several processes that
 * share a file, such as a shell and its commands, would be committed in pieces: the last close commits. Processes that
 * never used the handle are unknown. If the file is open twice, it is unknown to which open a descriptor belongs. In
 * doubt, a written text is committed, but a truncation alone only at the release: its text can follow. */
static bool handle_close_commits(struct tree *t, const struct tree_handle *h, const struct tree_caller *who)
{
	bool alone = true, open = false;
	lock_acquire(&t->state_lock);
	for (const struct tree_handle *o = t->handles; o && alone; o = o->next)
		alone = o == h || node_pack(o->node) != node_pack(h->node);
	lock_release(&t->state_lock);
	uint64_t ino = tree_ino(t, node_pack(h->node));
	for (size_t i = 0; i < HANDLE_USERS_MAX && h->users[i] != 0 && !open; i++)
		open = process_writes(h->users[i], ino);
	return h->stage.was_written ? !open || !alone : !open && process_shows_files(who->pid);
}

static int open_scratch(struct tree *t, uint64_t id, bool truncate, struct tree_handle **ret)
{
	int rc = scratch_ref(t->scratch, id);
	if (rc < 0)
		return rc;
	struct tree_handle *h = tree_handle_new(node_unpack(scratch_node(id)));
	if (!h) {
		scratch_unref(t->scratch, id);
		return -ENOMEM;
	}
	h->scratch = id;
	if (truncate)
		scratch_resize(t->scratch, id, 0);
	*ret = h;
	return 0;
}

int tree_writable_text(struct tree *t, struct node n, struct buf *out)
{
	struct ctx c CLEANUP_CTX = {0};
	int deferred = deferred_begin();
	int rc = ctx_open(&c, t, n, SCOPE_MOUNT);
	bool exists = rc == 0 && ctx_name_exists(&c);
	if (exists && out)
		rc = ctx_show(&c, out);
	rc = deferred_end(deferred, rc == 0 && out ? buf_err(out) : rc);
	return rc < 0 ? rc : exists;
}

static int open_staged(struct tree *t, struct node n, bool truncate, const struct tree_caller *who,
                       struct tree_handle **ret)
{
	struct buf now CLEANUP_BUF = BUF_INIT;
	const char *why = NULL;
	int rc = commit_allowed(t, n.slot, &why);
	if (rc == -EACCES || rc == -EPERM)
		return commit_refuse(t, n, (struct span){NULL, 0}, rc, why);
	if (rc == 0 && !truncate)
		rc = tree_writable_text(t, n, &now);
	if (rc < 0)
		return rc;
	struct tree_handle *h = tree_handle_new(n);
	if (!h)
		return -ENOMEM;
	rc = commit_entry(t, n, &h->entry);
	if (rc == 0)
		rc = stage_init(&h->stage, kind_writable(n)->form, buf_span(&now), truncate);
	if (rc < 0) {
		tree_handle_free(t, h);
		return rc;
	}
	handle_add_user(h, who);
	LOCKED(&t->state_lock);
	h->next = t->handles;
	t->handles = h;
	*ret = h;
	return 0;
}

int tree_open_write(struct tree *t, node_t node, bool truncate, const struct tree_caller *who, struct tree_handle **ret)
{
	struct node n = tree_node(node);
	if (node_is_scratch(n))
		return open_scratch(t, scratch_id(node), truncate, ret);
	if (t->read_only)
		return -EROFS;
	if (!kind_of(n))
		return -EPERM;
	if (!kind_writable(n) || !kind_writable(n)->form)
		return commit_refuse_name(t, n, "this name cannot be written");
	int rc = open_staged(t, n, truncate, who, ret);
	if (rc < 0 || !truncate || (*ret)->stage.form->clear_error)
		return rc;
	/* As after a write: shells do not check the close that clears the value. */
	rc = commit_check_space(t, n, buf_span(&(*ret)->entry), (struct span){NULL, 0}, 0);
	if (rc < 0) {
		state_block_removals(t, who->pid, node_pack(n));
		tree_handle_free(t, *ret);
	}
	return rc;
}

static int create_writable(struct tree *t, struct node n, bool truncate, const struct tree_caller *who,
                           struct tree_handle **ret)
{
	struct tree_handle *h;
	int rc = open_staged(t, n, true, who, &h);
	if (rc < 0)
		return rc;
	/* A file that is created and closed without a write sets no value, unless it is an invalid one. */
	h->stage.dirty = truncate && h->stage.form->clear_error;
	h->is_new = true;
	*ret = h;
	return 0;
}

int tree_create(struct tree *t, node_t dir, struct span name, mode_t mode, bool exclusive, bool truncate,
                const struct tree_caller *who, struct tree_handle **ret, struct tree_attr *ret_attr)
{
	struct scratch_attr made;
	struct node control;
	struct tree_attr a;
	struct tree_handle *h = NULL;
	node_t home;
	const char *why = REFUSE_NO_NAMES;
	int rc = commit_dir_allowed(t, dir, &why);
	if (rc < 0)
		return commit_refuse_denied(t, dir, name, rc, why);
	rc = tree_lookup(t, dir, name, &a);
	if (rc == 0 && exclusive)
		return -EEXIST;
	if (rc == 0)
		rc = tree_open_write(t, a.node, truncate, who, &h);
	else if (rc == -ENOENT && tree_writable_name(dir, name, &control))
		rc = kind_writable(control)->form
		         ? create_writable(t, control, truncate, who, &h)
		         : commit_refuse(t, control, (struct span){NULL, 0}, -EPERM, "this name is a link");
	else if (rc == -ENOENT) {
		rc = commit_side_name(t, dir, name, S_IFREG, &home);
		if (rc < 0)
			return rc;
		rc = scratch_create(t->scratch, home, name, S_IFREG | mode, who->uid, who->gid, SPAN_LIT(""), false,
		                    &made);
		rc = rc < 0 ? commit_refuse_denied(t, dir, name, rc, REFUSE_NO_ROOM)
		            : open_scratch(t, made.id, false, &h);
	}
	if (rc < 0)
		return rc;
	rc = tree_lookup(t, dir, name, ret_attr);
	if (rc < 0)
		tree_release_uncommitted(t, h);
	else
		*ret = h;
	return rc;
}

/* --- the life of a stage --------------------------------------------------------------- */

static int commit_handle(struct tree *t, struct tree_handle *h, bool sync)
{
	int rc;
	if (h->removed && h->stage.was_written)
		rc = commit_refuse(t, h->node, buf_span(&h->entry), -EIO, "the file was removed before it was written");
	else if (h->removed)
		rc = 0;
	else
		rc = commit_value(t, h->node, buf_span(&h->entry), buf_span(&h->stage.bytes), sync);
	if (rc != -EINTR)
		stage_finish(&h->stage, rc);
	if (rc < 0)
		return rc;
	state_set_written(t, h->node);
	h->is_new = false;
	return 0;
}

/* After a refusal, a tool may clean up: it must not remove the old value. */
static int block_removals_on_error(struct tree *t, const struct tree_handle *h, int rc, const struct tree_caller *who)
{
	if (rc < 0)
		state_block_removals(t, who->pid, node_pack(h->node));
	return rc;
}

static int write_staged(struct tree *t, struct tree_handle *h, struct span bytes, uint64_t off)
{
	bool whole;
	const char *why = NULL;
	int rc = stage_write(&h->stage, bytes, off, &whole, &why);
	if (rc < 0)
		return why ? commit_refuse(t, h->node, buf_span(&h->entry), rc, why) : rc;
	/* Shells check the error of a write but not of a close: so a line that looks whole is checked now as far as
	 * possible. The flush appends it, since a second line can follow. */
	if (whole)
		rc = commit_check(t, h->node, buf_span(&h->entry), bytes);
	/* Only the complete table shows how much space it needs. */
	if (rc == 0 && !h->stage.form->is_table)
		rc = commit_check_space(t, h->node, buf_span(&h->entry), buf_span(&h->stage.bytes), h->stage.json_size);
	if (rc < 0)
		stage_finish(&h->stage, rc);
	return rc;
}

/* Reports why a scratch file was not changed, if it was not: once for each open file. Returns rc. */
static int scratch_refuse(struct tree *t, uint64_t id, struct tree_handle *h, int rc)
{
	const char *why = rc == -EIO ? "not written: the file was renamed to a name of the session" : REFUSE_NO_ROOM;
	struct scratch_attr a;
	if (rc < 0 && !(h && atomic_exchange(&h->is_refused, true)) && scratch_getattr(t->scratch, id, &a) == 0)
		commit_refuse(t, tree_node(scratch_dir_of(t, a.dir)), (struct span){NULL, 0}, rc, why);
	return rc;
}

int tree_write(struct tree *t, struct tree_handle *h, struct span bytes, uint64_t off, const struct tree_caller *who)
{
	if (h->scratch)
		return scratch_refuse(t, h->scratch, h, scratch_write(t->scratch, h->scratch, bytes, off));
	int rc = lock_rw_acquire(&h->lock, true);
	if (rc < 0)
		return rc;
	handle_add_user(h, who);
	rc = block_removals_on_error(t, h, write_staged(t, h, bytes, off == TREE_END ? h->stage.bytes.n : off), who);
	lock_rw_release(&h->lock);
	return rc;
}

int tree_handle_read(struct tree *t, struct tree_handle *h, uint64_t off, size_t n, struct buf *out)
{
	if (h->scratch)
		return scratch_read(t->scratch, h->scratch, off, n, out);
	int rc = lock_rw_acquire(&h->lock, false);
	if (rc < 0)
		return rc;
	buf_add_slice(out, buf_span(&h->stage.bytes), off, n);
	lock_rw_release(&h->lock);
	return buf_err(out);
}

static int handle_flush(struct tree *t, struct tree_handle *h, bool is_close, const struct tree_caller *who)
{
	int rc = lock_rw_acquire(&h->lock, true);
	if (rc < 0)
		return rc;
	handle_add_user(h, who);
	rc = h->stage.error;
	if (rc == 0 && h->stage.dirty && (!is_close || handle_close_commits(t, h, who)))
		rc = block_removals_on_error(t, h, commit_handle(t, h, !is_close || h->synced), who);
	else if (rc == 0 && !is_close)
		rc = commit_sync(t, h->node, buf_span(&h->entry));
	/* A program repeats an interrupted fsync, but not a close: no part of the text must be committed later. */
	if (rc == -EINTR && is_close)
		stage_finish(&h->stage, -EIO);
	lock_rw_release(&h->lock);
	return rc;
}

int tree_flush(struct tree *t, struct tree_handle *h, const struct tree_caller *who)
{
	return h->scratch ? 0 : handle_flush(t, h, true, who);
}

int tree_sync(struct tree *t, node_t node)
{
	struct node n = tree_node(node);
	const struct kind *k = kind_of(n);
	return k && k->from->scope >= SCOPE_SLOT ? commit_sync(t, n, (struct span){NULL, 0}) : 0;
}

void tree_handle_sync(struct tree *t, struct tree_handle *h)
{
	h->synced = true;
	if (h->scratch)
		scratch_sync(t->scratch, h->scratch);
}

int tree_fsync(struct tree *t, struct tree_handle *h, const struct tree_caller *who)
{
	if (h->scratch) {
		struct scratch_attr a;
		scratch_sync(t->scratch, h->scratch);
		int rc = scratch_getattr(t->scratch, h->scratch, &a);
		return rc < 0 ? rc : tree_sync(t, scratch_dir_of(t, a.dir));
	}
	return handle_flush(t, h, false, who);
}

void tree_release(struct tree *t, struct tree_handle *h)
{
	if (!h->scratch && h->stage.dirty && !h->stage.error)
		commit_handle(t, h, h->synced);
	tree_release_uncommitted(t, h);
}

void tree_release_uncommitted(struct tree *t, struct tree_handle *h)
{
	if (h->scratch) {
		scratch_unref(t->scratch, h->scratch);
		catalog_wake(t->catalog);
	}
	tree_handle_free(t, h);
}

/* --- attributes ---------------------------------------------------------------------- */

static int setattr_size(struct tree *t, node_t node, struct tree_handle *h, uint64_t size)
{
	struct node n = tree_node(node);
	struct tree_handle *own = NULL;
	const char *why = NULL;
	if (node_is_scratch(n))
		return scratch_refuse(t, scratch_id(node), h, scratch_resize(t->scratch, scratch_id(node), size));
	int rc = h ? 0 : tree_open_write(t, node, false, &(struct tree_caller){0}, &own);
	if (rc < 0)
		return rc;
	h = h ? h : own;
	rc = lock_rw_acquire(&h->lock, true);
	if (rc == 0) {
		rc = stage_resize(&h->stage, size, &why);
		if (rc < 0 && why)
			commit_refuse(t, h->node, buf_span(&h->entry), rc, why);
		/* truncate(2) has no close that could commit. */
		if (rc == 0 && own && h->stage.dirty)
			rc = commit_handle(t, h, false);
		lock_rw_release(&h->lock);
	}
	if (own)
		tree_release_uncommitted(t, own);
	return rc;
}

static int setattr_scratch(struct tree *t, node_t node, const struct tree_setattr *change)
{
	struct scratch_attr a;
	int rc = scratch_getattr(t->scratch, scratch_id(node), &a);
	if (rc < 0)
		return rc;
	if (change->mode)
		a.mode = change->attr.mode;
	if (change->uid)
		a.uid = change->attr.uid;
	if (change->gid)
		a.gid = change->attr.gid;
	if (change->atime)
		a.atime = change->attr.atime;
	if (change->mtime)
		a.mtime = change->attr.mtime;
	return scratch_setattr(t->scratch, a.id, &a);
}

/* True if the handle belongs to this file: the request names both. */
static bool handle_is_of_node(const struct tree_handle *h, node_t node)
{
	return tree_is_scratch(node) ? h->scratch == scratch_id(node) : !h->scratch && node_pack(h->node) == node;
}

int tree_setattr(struct tree *t, node_t node, struct tree_handle *h, const struct tree_setattr *change,
                 struct tree_attr *ret)
{
	struct node n = tree_node(node);
	struct tree_attr before;
	if (t->read_only)
		return -EROFS;
	if (h && !handle_is_of_node(h, node))
		return -EBADF;
	/* Setting times and modes of writable names succeeds without effect: tools set them on what they write. */
	if (!node_is_scratch(n) && !kind_writable(n))
		return kind_of(n) ? commit_refuse_name(t, n, "this name cannot be changed") : -EPERM;
	int rc = tree_getattr(t, node, &before);
	if (rc == 0 && change->size)
		rc = setattr_size(t, node, h, change->attr.size);
	if (rc == 0 && node_is_scratch(n))
		rc = setattr_scratch(t, node, change);
	if (rc < 0)
		return rc;
	rc = tree_handle_attr(t, node, h, ret);
	if (rc == 0 || !change->size)
		return rc;
	/* A truncation to nothing removes the value, and with it the file: still a success. */
	*ret = before;
	ret->size = change->attr.size;
	return 0;
}

int tree_handle_attr(struct tree *t, node_t node, struct tree_handle *h, struct tree_attr *ret)
{
	if (h && !handle_is_of_node(h, node))
		return -EBADF;
	int rc = tree_getattr(t, node, ret);
	if (rc < 0 || !h || h->scratch)
		return rc;
	rc = lock_rw_acquire(&h->lock, false);
	if (rc < 0)
		return rc;
	if (h->stage.dirty)
		ret->size = h->stage.bytes.n;
	lock_rw_release(&h->lock);
	return 0;
}
