/* Names that come, go and move: links in labels/, the leaf, editors' side files.
 *
 * What is removed or renamed away is often about to be made anew: then nothing is
 * appended, the name is gone for a moment and comes back by itself if nobody makes it. */
#include "sessionfs/base/name.h"
#include "write_impl.h"

#include <errno.h>
#include <sys/stat.h>

/* A link under one of these names in labels/ waits for its real name: what begins
 * with a dot, and GNU ln's CuXXXXXX. */
static bool is_temporary(struct span name)
{
	if (name.n > 0 && name.p[0] == '.')
		return true;
	if (name.n != 8 || memcmp(name.p, "Cu", 2) != 0)
		return false;
	for (size_t i = 2; i < 8; i++) {
		char c = name.p[i];
		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
			return false;
	}
	return true;
}

#define NO_ENTRY_OF_IT "the target is no entry of this session"

/* The entry of this session that a link's target names. */
static int target_entry(struct tree *t, node_t dir, const char *target, uint32_t *ret)
{
	struct tree_attr a = {0};
	struct slot_info slot;
	size_t n = t->mountpoint ? strlen(t->mountpoint) : 0;
	node_t from = dir;
	if (target[0] == '/') {
		if (n == 0 || strncmp(target, t->mountpoint, n) != 0 || target[n] != '/')
			return -EINVAL;
		from = NODE_ROOT;
		target += n;
	}
	int rc = tree_resolve_from(t, from, target, true, &a);
	struct node n_dir = node_unpack(dir), e = node_unpack(a.node);
	if (rc == 0 && e.kind == K_ENTRY && e.slot == n_dir.slot) {
		*ret = e.entry;
		return 0;
	}
	/* In a session that has moved meanwhile no target is wrong: the caller looks for it again. */
	if (catalog_slot(t->catalog, n_dir.slot, &slot) < 0)
		return -ESTALE;
	return rc == -ENOENT ? -ENOENT : -EINVAL;
}

/* --- labels/ ------------------------------------------------------------------------ */

/* The text of the label that a link shows. */
static int label_text(struct tree *t, struct node link, struct buf *out)
{
	struct session *s;
	int rc = catalog_get(t->catalog, link.slot, &s);
	if (rc < 0)
		return rc;
	if (link.entry >= session_count(s) || !session_label(s, link.entry, out))
		rc = -ENOENT;
	catalog_put(t->catalog, s);
	return rc < 0 ? rc : buf_err(out);
}

/* The text that the name stands for: that of the label which has the name now, `old`, or the name decoded. */
static int name_text(struct tree *t, struct span name, const struct node *old, struct buf *out, const char **why)
{
	int rc = old ? label_text(t, *old, out) : 0;
	if (rc < 0)
		return rc;
	if (!old && !name_decode(name, out)) {
		*why = "a name as labels/ would show it is needed: % is written %25";
		return -EINVAL;
	}
	return buf_err(out) ? buf_err(out) : value_label(buf_span(out), why);
}

/* The label with this name, if there is one. */
static int find_label(struct tree *t, node_t dir, struct span name, struct node *old, bool *ret_found)
{
	struct tree_attr a;
	int rc = tree_lookup(t, dir, name, &a);
	*ret_found = rc == 0;
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	*old = node_unpack(a.node);
	return old->kind == K_LABEL_LINK ? 0 : -EPERM;
}

/* Puts label `name` on the entry that `target` names, which *entry says then, or on *entry without one; what has the
 * name now loses it. */
static int label_set(struct tree *t, node_t dir, struct span name, const char *target, uint32_t *entry)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct node old = {0};
	struct edit_label both[2];
	const char *why = NULL;
	size_t n = 0;
	bool found;
	int rc = find_label(t, dir, name, &old, &found);
	if (rc == 0)
		rc = name_text(t, name, found ? &old : NULL, &text, &why);
	if (rc == 0 && target) {
		rc = target_entry(t, dir, target, entry);
		why = rc == -ENOENT || rc == -EINVAL ? NO_ENTRY_OF_IT : NULL;
	}
	if (rc < 0)
		return why ? commit_refused_in(t, dir, name, rc, why) : rc;
	if (found && old.entry != *entry)
		both[n++] = (struct edit_label){.entry = old.entry};
	both[n++] = (struct edit_label){.entry = *entry, .text = buf_span(&text)};
	return commit_labels(t, dir, name, both, n);
}

/* --- symlink -------------------------------------------------------------------------- */

static int scratch_link(struct tree *t, node_t dir, struct span name, const char *target, const struct tree_caller *who)
{
	struct scratch_attr a;
	return scratch_create(t->scratch, dir, name, S_IFLNK | 0777, who->uid, who->gid, target, &a);
}

static int leaf_set(struct tree *t, node_t dir, const char *target)
{
	uint32_t entry;
	struct node d = node_unpack(dir);
	int rc = target_entry(t, dir, target, &entry);
	if (rc == -ENOENT || rc == -EINVAL)
		return commit_refused_in(t, dir, SPAN_LIT("leaf"), rc, NO_ENTRY_OF_IT);
	if (rc == 0)
		rc = commit_leaf(t, d.slot, entry);
	if (rc == 0)
		state_show(t, (struct node){.kind = K_LEAF, .slot = d.slot});
	return rc;
}

/* A link that stands for a record. */
struct link {
	struct slot_info was; /* its session, before it was written */
	enum kind_id kind;
	uint32_t entry;
};

/* This directory of the session as the file is now: the first write to an old file replaces it, and its slot. */
static node_t dir_now(struct tree *t, node_t dir, const struct slot_info *was)
{
	struct slot_info now;
	struct node n = node_unpack(dir);
	if (catalog_slot_by_stem(t->catalog, was->project, span_of(was->stem), &now))
		n.slot = now.slot;
	return node_pack(n);
}

/* A link that was written is there, whatever becomes of looking at it again: then it is shown as it was made, for
 * now. */
static void show_written(struct tree *t, node_t dir, struct span name, const char *target, const struct link *made,
                         struct tree_attr *ret)
{
	dir = dir_now(t, dir, &made->was);
	if (tree_lookup(t, dir, name, ret) == 0)
		return;
	struct node n = {.kind = made->kind, .slot = node_unpack(dir).slot, .entry = made->entry};
	/* Several have this label now, and none of them this name. */
	if (tree_getattr(t, node_pack(n), ret) == 0)
		return;
	*ret = (struct tree_attr){.node = node_pack(n),
	                          .mode = S_IFLNK | 0777,
	                          .size = strlen(target),
	                          .uid = made->was.st.st_uid,
	                          .gid = made->was.st.st_gid,
	                          .mtime = made->was.st.st_mtim};
}

int tree_symlink(struct tree *t, node_t dir, struct span name, const char *target, const struct tree_caller *who,
                 struct tree_attr *ret)
{
	unsigned kind = node_unpack(dir).kind;
	struct link made = {0};
	int rc = tree_writable_dir(t, dir);
	if (rc == 0)
		rc = catalog_slot(t->catalog, node_unpack(dir).slot, &made.was);
	if (rc < 0)
		return rc;
	if (tree_lookup(t, dir, name, ret) == 0)
		return -EEXIST;
	if (kind == K_LABELS && !is_temporary(name)) {
		made.kind = K_LABEL_LINK;
		rc = label_set(t, dir, name, target, &made.entry);
	} else if (kind == K_SESSION && span_is(name, "leaf")) {
		made.kind = K_LEAF;
		rc = leaf_set(t, dir, target);
	} else if (kind == K_ENTRY && !(name.n > 1 && memcmp(name.p, ".#", 2) == 0)) {
		/* `ln -s` onto a link to this directory lands here: an error, not a stray link. */
		rc = -EPERM;
	} else {
		struct node control;
		rc = tree_writable_name(dir, name, &control) ? -EPERM : scratch_link(t, dir, name, target, who);
	}
	if (rc < 0)
		return rc;
	if (!made.kind)
		return tree_lookup(t, dir_now(t, dir, &made.was), name, ret);
	show_written(t, dir, name, target, &made, ret);
	return 0;
}

/* --- unlink ------------------------------------------------------------------------- */

/* Whether the name is there by what the session file says, and not because somebody is making it. */
static bool is_stored(struct tree *t, struct node n)
{
	struct ctx c CLEANUP_CTX = {0};
	return ctx_open(&c, t, n, SCOPE_MOUNT) == 0 && (!c.kind->has || c.kind->has(&c));
}

static int unlink_written(struct tree *t, node_t dir, struct span name, struct node n)
{
	const struct edit_label none = {.entry = n.entry};
	if (!is_stored(t, n)) {
		state_forget(t, n);
		return 0;
	}
	switch (n.kind) {
	case K_LABEL:
	case K_LABEL_LINK:
		return commit_labels(t, dir, name, &none, 1);
	case K_NAME:
		return commit_value(t, n, (struct span){NULL, 0}, (struct span){"\n", 1}, false);
	case K_LABELS_TSV:
	case K_LEAF:
		state_hide(t, n);
		return 0;
	default:
		return -EPERM;
	}
}

/* Whether a name must stay for now: who was refused one removal is refused all. */
static int keep(struct tree *t, node_t dir, struct span name, struct node n, const struct tree_caller *who)
{
	bool tell = false;
	const char *why = state_keeps(t, who->pid, n, node_unpack(dir).slot, &tell);
	if (!why)
		return 0;
	return tell ? commit_refused_in(t, dir, name, -EPERM, why) : -EPERM;
}

static int unlink_name(struct tree *t, node_t dir, struct span name, const struct tree_caller *who)
{
	struct tree_attr a;
	int rc = tree_writable_dir(t, dir);
	if (rc == 0)
		rc = tree_lookup(t, dir, name, &a);
	if (rc < 0)
		return rc;
	if (S_ISDIR(a.mode))
		return -EISDIR;
	struct node n = node_unpack(a.node);
	rc = keep(t, dir, name, n, who);
	if (rc < 0)
		return rc;
	return n.kind == K_SCRATCH ? scratch_unlink(t->scratch, dir, name) : unlink_written(t, dir, name, n);
}

int tree_unlink(struct tree *t, node_t dir, struct span name, const struct tree_caller *who)
{
	int rc = unlink_name(t, dir, name, who);
	if (rc == -EPERM || rc == -EACCES)
		state_warn(t, who->pid);
	return rc;
}

int tree_rmdir(struct tree *t, const struct tree_caller *who)
{
	if (t->read_only)
		return -EROFS;
	state_warn(t, who->pid);
	return -EPERM;
}

/* --- rename -------------------------------------------------------------------------- */

static int whole_scratch(struct tree *t, uint64_t id, struct buf *out)
{
	int rc = scratch_read(t->scratch, id, 0, SIZE_MAX, out);
	return rc < 0 ? rc : buf_err(out);
}

/* The verdict of a rename must not be EINVAL: mv reads that as "into itself". */
static int rename_errno(int rc)
{
	return rc == -EINVAL || rc == -EXDEV ? -EPERM : rc;
}

/* A scratch file becomes the value of a writable name; on refusal it stays. */
static int rename_over(struct tree *t, uint64_t id, struct node to)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	int rc = whole_scratch(t, id, &text);
	if (rc == 0)
		rc = commit_value(t, to, (struct span){NULL, 0}, buf_span(&text), false);
	if (rc < 0)
		return rename_errno(rc);
	state_show(t, to);
	scratch_retire(t->scratch, id);
	return 0;
}

/* A scratch link gets its real name. */
static int rename_link(struct tree *t, uint64_t id, node_t dir, struct span to_name)
{
	struct buf target CLEANUP_BUF = BUF_INIT;
	int rc = whole_scratch(t, id, &target);
	const char *to = buf_cstr(&target);
	if (rc < 0 || !to)
		return rc < 0 ? rc : -ENOMEM;
	uint32_t entry;
	rc = node_unpack(dir).kind == K_LABELS ? label_set(t, dir, to_name, to, &entry) : leaf_set(t, dir, to);
	if (rc < 0)
		return rename_errno(rc);
	scratch_retire(t->scratch, id);
	return 0;
}

static int rename_scratch(struct tree *t, const struct tree_attr *from, node_t dir, struct span name, node_t to_dir,
                          struct span to_name)
{
	struct node to;
	struct tree_attr old;
	uint64_t id = scratch_id(from->node);
	bool link = S_ISLNK(from->mode);
	unsigned kind = node_unpack(to_dir).kind;
	if (link && ((kind == K_LABELS && !is_temporary(to_name)) || (kind == K_SESSION && span_is(to_name, "leaf"))))
		return rename_link(t, id, to_dir, to_name);
	if (tree_writable_name(to_dir, to_name, &to))
		return link || !tree_kinds[to.kind].value ? -EPERM : rename_over(t, id, to);
	int rc = tree_lookup(t, to_dir, to_name, &old);
	if (rc == 0 && !tree_is_scratch(old.node))
		return -EPERM;
	return scratch_rename(t->scratch, dir, name, to_dir, to_name);
}

/* A writable file renamed to a side name: a copy of its text stays there, the name is gone until it is made anew. */
static int rename_away(struct tree *t, const struct tree_attr *from, node_t to_dir, struct span to_name)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct scratch_attr copy;
	struct tree_attr old;
	struct node n = node_unpack(from->node), to;
	if (tree_writable_name(to_dir, to_name, &to))
		return -EPERM;
	int rc = tree_lookup(t, to_dir, to_name, &old);
	if (rc == 0 && !tree_is_scratch(old.node))
		return -EPERM;
	if (rc == 0)
		scratch_unlink(t->scratch, to_dir, to_name);
	rc = tree_read(t, from->node, 0, value_limit(tree_kinds[n.kind].value) + 1, &text);
	if (rc == 0)
		rc = scratch_create(t->scratch, to_dir, to_name, from->mode, from->uid, from->gid, NULL, &copy);
	if (rc < 0)
		return rc;
	rc = scratch_write(t->scratch, copy.id, buf_span(&text), 0);
	if (rc < 0) {
		scratch_unlink(t->scratch, to_dir, to_name);
		return rc;
	}
	state_hide(t, n);
	return 0;
}

static int rename_label(struct tree *t, struct node from, node_t dir, node_t to_dir, struct span to_name)
{
	struct tree_attr old;
	if (to_dir != dir || is_temporary(to_name))
		return -EPERM;
	int rc = tree_lookup(t, dir, to_name, &old);
	if (rc == 0 && node_unpack(old.node).entry == from.entry)
		return 0;
	return rename_errno(label_set(t, dir, to_name, NULL, &from.entry));
}

int tree_rename(struct tree *t, node_t dir, struct span name, node_t to_dir, struct span to_name, bool no_replace)
{
	struct tree_attr from, old;
	int rc = tree_writable_dir(t, dir);
	if (rc == 0)
		rc = tree_writable_dir(t, to_dir);
	if (rc == 0)
		rc = tree_lookup(t, dir, name, &from);
	if (rc < 0)
		return rc;
	if (no_replace && tree_lookup(t, to_dir, to_name, &old) == 0)
		return -EEXIST;
	struct node n = node_unpack(from.node);
	if (n.kind == K_SCRATCH)
		return rename_scratch(t, &from, dir, name, to_dir, to_name);
	if (n.kind == K_LABEL_LINK)
		return rename_label(t, n, dir, to_dir, to_name);
	if (tree_kinds[n.kind].value)
		return rename_away(t, &from, to_dir, to_name);
	return -EPERM;
}
