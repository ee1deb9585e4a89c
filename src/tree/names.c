/* SPDX-License-Identifier: MIT */
/* Names that can be created, removed and renamed: links in labels/, the leaf, editors' scratch files.
 *
 * Tools often remove or rename a name and create it again at once. So a removal appends nothing: the name disappears
 * briefly, and comes back unless it is created again. */
#include "write_impl.h"

#include <errno.h>
#include <sys/stat.h>

/* --- symlink -------------------------------------------------------------------------- */

/* A link that is written as a record. */
struct link {
	struct slot_info before; /* its session, before it was written */
	struct node node;
};

/* A written link exists. If its lookup fails now, returns its attributes at creation. */
static void attr_of_new_link(struct tree *t, node_t dir, struct span name, const char *target, const struct link *made,
                             struct tree_attr *ret)
{
	if (tree_lookup(t, dir, name, ret) == 0)
		return;
	/* Several entries have this label now, and no link has exactly this name. */
	if (tree_getattr(t, node_pack(made->node), ret) == 0)
		return;
	*ret = (struct tree_attr){.node = node_pack(made->node),
	                          .ino = tree_ino(t, node_pack(made->node)),
	                          .mode = S_IFLNK | 0777,
	                          .size = strlen(target),
	                          .uid = made->before.st.st_uid,
	                          .gid = made->before.st.st_gid,
	                          .mtime = made->before.st.st_mtim,
	                          .why = "I2: can be written"};
}

int tree_symlink(struct tree *t, node_t dir, struct span name, const char *target, const struct tree_caller *who,
                 struct tree_attr *ret)
{
	struct link made = {0};
	struct scratch_attr a;
	struct node control;
	node_t home;
	uint32_t entry = NO_ENTRY;
	const char *why = REFUSE_NO_NAMES;
	int rc = commit_dir_allowed(t, dir, &why);
	if (rc == 0)
		rc = catalog_slot(t->catalog, tree_node(dir).slot, &made.before);
	if (rc < 0)
		return commit_refuse_denied(t, dir, name, rc, why);
	rc = tree_lookup(t, dir, name, ret);
	if (rc != -ENOENT)
		return rc < 0 ? rc : -EEXIST;
	const struct writable *w = writable_link(dir, name, &made.node);
	if (w) {
		rc = w->link(t, dir, name, target, &entry);
		if (kind_of(made.node)->from->scope >= SCOPE_ENTRY)
			made.node.entry = entry;
		if (rc == 0)
			attr_of_new_link(t, dir, name, target, &made, ret);
		return rc;
	}
	bool is_emacs_lock = name.n > 1 && memcmp(name.p, ".#", 2) == 0;
	if (tree_writable_name(dir, name, &control) ||
	    ((kind_of(tree_node(dir))->flags & LINK_TARGET_DIR) && !is_emacs_lock))
		return commit_refuse_in(t, dir, name, -EPERM, "links cannot be created here (ln -n replaces one)");
	rc = commit_side_name(t, dir, name, S_IFLNK, &home);
	if (rc < 0)
		return rc;
	rc = scratch_create(t->scratch, home, name, S_IFLNK | 0777, who->uid, who->gid, span_of(target), false, &a);
	if (rc < 0)
		return commit_refuse_denied(t, dir, name, rc, REFUSE_NO_ROOM);
	catalog_wake(t->catalog);
	return tree_lookup(t, dir, name, ret);
}

/* --- unlink ------------------------------------------------------------------------- */

#define REFUSE_NO_REMOVAL "this name cannot be removed"

static int unlink_value(struct tree *t, node_t dir, struct span name, struct node n)
{
	const struct writable *w = kind_writable(n);
	int stored = tree_writable_text(t, n, NULL);
	/* Then it exists only because a process is creating it. */
	if (stored == 0)
		state_drop_created(t, n);
	if (stored <= 0)
		return stored;
	return w && w->unlink ? w->unlink(t, dir, name, n) : commit_refuse_in(t, dir, name, -EPERM, REFUSE_NO_REMOVAL);
}

/* Returns 0, or an error if the name must stay for now: after one refused removal, all removals of the process fail. */
static int check_removal_block(struct tree *t, node_t dir, struct span name, struct node n,
                               const struct tree_caller *who)
{
	bool tell = false;
	const char *why = state_removal_is_blocked(t, who->pid, n, dir, &tell);
	if (!why)
		return 0;
	return tell ? commit_refuse_in(t, dir, name, -EPERM, why) : -EPERM;
}

/* Refuses a removal. A process that removes many names gets only the first reason. */
static int removal_refuse(struct tree *t, node_t dir, struct span name, int err, const char *why,
                          const struct tree_caller *who)
{
	int rc = check_removal_block(t, dir, name, (struct node){0}, who);
	return rc < 0 ? rc : commit_refuse_denied(t, dir, name, err, why);
}

static int tree_unlink_once(struct tree *t, node_t dir, struct span name, const struct tree_caller *who)
{
	struct tree_attr a;
	const char *why = REFUSE_NO_REMOVAL;
	int rc = commit_dir_allowed(t, dir, &why);
	if (rc < 0)
		return removal_refuse(t, dir, name, rc, why, who);
	rc = tree_lookup(t, dir, name, &a);
	if (rc < 0)
		return rc;
	if (S_ISDIR(a.mode))
		return -EISDIR;
	struct node n = tree_node(a.node);
	rc = check_removal_block(t, dir, name, n, who);
	if (rc < 0)
		return rc;
	return node_is_scratch(n) ? scratch_unlink(t->scratch, scratch_id(a.node)) : unlink_value(t, dir, name, n);
}

int tree_unlink(struct tree *t, node_t dir, struct span name, const struct tree_caller *who)
{
	int rc = tree_unlink_once(t, dir, name, who);
	if (rc == -EPERM || rc == -EACCES)
		state_block_removals(t, who->pid, 0);
	return rc;
}

int tree_rmdir(struct tree *t, node_t dir, struct span name, const struct tree_caller *who)
{
	if (t->read_only)
		return -EROFS;
	int rc = removal_refuse(t, dir, name, -EPERM, REFUSE_NO_REMOVAL, who);
	state_block_removals(t, who->pid, 0);
	return rc;
}

int tree_refuse_create(struct tree *t, node_t dir, struct span name)
{
	return t->read_only ? -EROFS : commit_refuse_denied(t, dir, name, -EPERM, REFUSE_NO_NAMES);
}

int64_t tree_report_leftovers(struct tree *t, int64_t now_ms)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	int64_t next_ms = INT64_MAX;
	node_t home;
	while (scratch_next_leftover(t->scratch, now_ms, &next_ms, &home, &name))
		commit_refuse_in(t, scratch_dir_of(t, home), buf_span(&name), 0, "only in memory; lost at the unmount");
	return next_ms;
}

/* --- rename -------------------------------------------------------------------------- */

/* A rename must not fail with EINVAL: mv reads that as "a directory cannot be moved into itself". */
static int rename_errno(int rc)
{
	return rc == -EINVAL || rc == -EXDEV ? -EPERM : rc;
}

/* A scratch file becomes the value of a writable name; after a refusal it stays. */
static int rename_to_value(struct tree *t, uint64_t id, struct node to)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct scratch_attr a;
	int rc = scratch_getattr(t->scratch, id, &a);
	if (rc == 0)
		rc = scratch_read(t->scratch, id, 0, SIZE_MAX, &text);
	if (rc == 0)
		rc = commit_value(t, to, (struct span){NULL, 0}, buf_span(&text), a.synced);
	if (rc < 0)
		return rename_errno(rc);
	state_set_written(t, to);
	scratch_detach(t->scratch, id);
	return 0;
}

/* A scratch link gets its real name. */
static int rename_link(struct tree *t, uint64_t id, const struct writable *w, node_t dir, struct span to_name)
{
	struct buf target CLEANUP_BUF = BUF_INIT;
	int rc = scratch_read(t->scratch, id, 0, SIZE_MAX, &target);
	const char *to = buf_cstr(&target);
	if (rc < 0 || !to)
		return rc < 0 ? rc : -ENOMEM;
	uint32_t entry;
	rc = w->link(t, dir, to_name, to, &entry);
	if (rc < 0)
		return rename_errno(rc);
	scratch_detach(t->scratch, id);
	return 0;
}

/* Returns 0 if a rename can give this name to a scratch file of this type. */
static int check_rename_target(struct tree *t, node_t dir, struct span name, mode_t type, node_t *ret_home)
{
	struct tree_attr old;
	struct node to;
	if (tree_writable_name(dir, name, &to))
		return commit_refuse_in(t, dir, name, -EPERM, "this name cannot be replaced by a rename");
	if (tree_lookup(t, dir, name, &old) == 0 && !tree_is_scratch(old.node))
		return commit_refuse_name(t, tree_node(old.node), "this name cannot be replaced by a rename");
	return commit_side_name(t, dir, name, type, ret_home);
}

static int rename_scratch(struct tree *t, const struct tree_attr *from, node_t to_dir, struct span to_name)
{
	struct node to;
	node_t home;
	uint64_t id = scratch_id(from->node);
	bool link = S_ISLNK(from->mode);
	const struct writable *w = link ? writable_link(to_dir, to_name, &to) : NULL;
	if (w)
		return rename_link(t, id, w, to_dir, to_name);
	if (!link && tree_writable_name(to_dir, to_name, &to) && kind_writable(to)->form)
		return rename_to_value(t, id, to);
	int rc = check_rename_target(t, to_dir, to_name, from->mode & S_IFMT, &home);
	return rc < 0 ? rc : scratch_rename(t->scratch, id, home, to_name);
}

/* Renames a writable file to a scratch name: a copy of its text stays there, and its own name disappears until it is
 * created again. */
static int rename_to_scratch(struct tree *t, const struct tree_attr *from, node_t to_dir, struct span to_name)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct scratch_attr copy;
	struct node n = tree_node(from->node);
	node_t home;
	int rc = check_rename_target(t, to_dir, to_name, S_IFREG, &home);
	if (rc == 0)
		rc = tree_read(t, from->node, 0, SIZE_MAX, &text);
	if (rc < 0)
		return rc;
	rc = scratch_create(t->scratch, home, to_name, from->mode, from->uid, from->gid, buf_span(&text), true, &copy);
	if (rc < 0)
		return commit_refuse_denied(t, to_dir, to_name, rc, REFUSE_NO_ROOM);
	catalog_wake(t->catalog);
	state_hide(t, n);
	return 0;
}

int tree_rename(struct tree *t, node_t dir, struct span name, node_t to_dir, struct span to_name, bool no_replace)
{
	struct tree_attr from, old;
	const char *why = REFUSE_NO_NAMES;
	int rc = commit_dir_allowed(t, dir, &why);
	if (rc < 0)
		return commit_refuse_denied(t, dir, name, rc, why);
	rc = commit_dir_allowed(t, to_dir, &why);
	if (rc < 0)
		return commit_refuse_denied(t, to_dir, to_name, rc, why);
	rc = tree_lookup(t, dir, name, &from);
	if (rc < 0)
		return rc;
	if (no_replace && (rc = tree_lookup(t, to_dir, to_name, &old)) != -ENOENT)
		return rc < 0 ? rc : -EEXIST;
	struct node n = tree_node(from.node);
	if (node_is_scratch(n))
		return rename_scratch(t, &from, to_dir, to_name);
	const struct writable *w = kind_writable(n);
	if (w && w->rename && to_dir == dir)
		return rename_errno(w->rename(t, n, dir, to_name));
	return w && w->form ? rename_to_scratch(t, &from, to_dir, to_name)
	                    : commit_refuse_name(t, n, "this name cannot be renamed");
}
