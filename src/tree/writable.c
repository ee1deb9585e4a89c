/* SPDX-License-Identifier: MIT */
/* The rows of the writable names, with the few functions that each needs. */
#include "sessionfs/base/name.h"
#include "write_impl.h"

#include <errno.h>

/* A link under one of these names in labels/ waits for its final name: a name that begins with a dot, or GNU ln's
 * CuXXXXXX. */
static bool label_name_is_temporary(struct span name)
{
	if (name.n > 0 && name.p[0] == '.')
		return true;
	if (name.n != 8 || memcmp(name.p, "Cu", 2) != 0)
		return false;
	for (size_t i = 2; i < 8; i++)
		if (!char_is_alnum(name.p[i]))
			return false;
	return true;
}

/* --- what links lead to --- */

#define NO_ENTRY_OF_IT "the target is not an entry of this session; link to entries/ID"

/* Returns the entry of this session that a link's target names. */
static int link_target_entry(struct tree *t, node_t dir, const char *target, uint32_t *ret)
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
	struct node n_dir = tree_node(dir), e = tree_node(a.node);
	if (rc == 0 && kind_of(e) && (kind_of(e)->flags & LINK_TARGET_DIR) && e.slot == n_dir.slot) {
		*ret = e.entry;
		return 0;
	}
	/* The session has moved meanwhile: the target is still unknown, and the caller tries again. */
	if (catalog_slot(t->catalog, n_dir.slot, &slot) < 0)
		return -ESTALE;
	return rc == -ENOENT ? -ENOENT : -EINVAL;
}

/* --- labels/ ------------------------------------------------------------------------ */

/* Appends the text of the label that a link shows. */
static int label_link_text(struct tree *t, struct node link, struct buf *out)
{
	struct session *s;
	int rc = catalog_session_get(t->catalog, link.slot, &s);
	if (rc < 0)
		return rc;
	if (link.entry >= session_count(s) || !session_label(s, link.entry, out))
		rc = -ENOENT;
	catalog_session_put(t->catalog, s);
	return rc < 0 ? rc : buf_err(out);
}

/* Appends the label text for the name: the text of `old`, the label that has the name now, or the decoded name. */
static int label_text_for_name(struct tree *t, struct span name, const struct node *old, struct buf *out,
                               const char **why)
{
	int rc = old ? label_link_text(t, *old, out) : 0;
	if (rc < 0)
		return rc;
	if (!old && !name_decode(name, out)) {
		*why = "not a label name: write % as %25";
		return -EINVAL;
	}
	return buf_err(out) ? buf_err(out) : value_check_label(buf_span(out), why);
}

/* Finds the label with this name. */
static int find_label_by_name(struct tree *t, node_t dir, struct span name, struct node *old, bool *ret_found)
{
	struct tree_attr a;
	int rc = tree_lookup(t, dir, name, &a);
	*ret_found = rc == 0;
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	*old = tree_node(a.node);
	return kind_writable(*old) == &writable_label_link ? 0 : -EPERM;
}

/* Sets label `name` on the entry that `target` names, and *entry to that; without a target, on *entry. Clears the label
 * of the entry that has the name now. */
static int label_set(struct tree *t, node_t dir, struct span name, const char *target, uint32_t *entry)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct node old = {0};
	struct edit_label both[2];
	const char *why = NULL;
	size_t n = 0;
	bool found;
	int rc = find_label_by_name(t, dir, name, &old, &found);
	if (rc == 0)
		rc = label_text_for_name(t, name, found ? &old : NULL, &text, &why);
	if (rc == 0 && target) {
		rc = link_target_entry(t, dir, target, entry);
		why = rc == -ENOENT || rc == -EINVAL ? NO_ENTRY_OF_IT : NULL;
	}
	if (rc < 0)
		return why ? commit_refuse_in(t, dir, name, rc, why) : rc;
	if (found && old.entry != *entry)
		both[n++] = (struct edit_label){.entry = old.entry};
	both[n++] = (struct edit_label){.entry = *entry, .text = buf_span(&text)};
	return commit_labels(t, dir, name, both, n);
}

static int label_rename(struct tree *t, struct node from, node_t dir, struct span to_name)
{
	struct tree_attr old;
	if (label_name_is_temporary(to_name))
		return commit_refuse_in(t, dir, to_name, -EPERM,
		                        "names like this are reserved for temporary files of tools");
	int rc = tree_lookup(t, dir, to_name, &old);
	if (rc == 0 && tree_node(old.node).entry == from.entry)
		return 0;
	return label_set(t, dir, to_name, NULL, &from.entry);
}

/* --- leaf --- */

static int leaf_set(struct tree *t, node_t dir, struct span name, const char *target, uint32_t *ret_entry)
{
	struct node n;
	int rc = link_target_entry(t, dir, target, ret_entry);
	if (rc == -ENOENT || rc == -EINVAL)
		return commit_refuse_in(t, dir, name, rc, NO_ENTRY_OF_IT);
	tree_writable_name(dir, name, &n);
	if (rc == 0)
		rc = commit_change(t, n, edit_leaf, *ret_entry);
	if (rc == 0)
		state_set_written(t, n);
	return rc;
}

/* --- removal --- */

static int clear_label(struct tree *t, node_t dir, struct span name, struct node n)
{
	struct edit_label none = {.entry = n.entry};
	return commit_labels(t, dir, name, &none, 1);
}

static int clear_value(struct tree *t, node_t dir, struct span name, struct node n)
{
	(void)dir, (void)name;
	return commit_value(t, n, (struct span){NULL, 0}, (struct span){"\n", 1}, false);
}

static int restore_content(struct tree *t, node_t dir, struct span name, struct node n)
{
	(void)dir, (void)name;
	return commit_change(t, n, edit_context, n.entry);
}

/* Hides a name that always exists, briefly or until it is created again. */
static int hide_name(struct tree *t, node_t dir, struct span name, struct node n)
{
	(void)dir, (void)name;
	state_hide(t, n);
	return 0;
}

/* --- the rows --- */

const struct writable writable_label = {.form = &form_label, .records = edit_labels, .unlink = clear_label};
const struct writable writable_name = {.form = &form_name, .records = edit_name, .unlink = clear_value};
const struct writable writable_summary = {.form = &form_summary, .records = edit_branch};
const struct writable writable_context = {.form = &form_context, .records = edit_context, .unlink = restore_content};
const struct writable writable_labels_tsv = {.form = &form_table, .records = edit_labels, .unlink = hide_name};
const struct writable writable_leaf = {.link = leaf_set, .unlink = hide_name};
const struct writable writable_label_link = {.link = label_set, .rename = label_rename, .unlink = clear_label};

const struct writable *writable_link(node_t dir, struct span name, struct node *ret)
{
	struct node d = tree_node(dir);
	const struct kind_rows *rows = kind_rows_of_dir(d);
	for (const struct kind *k = rows->v; k < rows->v + rows->n; k++) {
		if (!k->write || !k->write->link || (k->name ? !span_is(name, k->name) : label_name_is_temporary(name)))
			continue;
		*ret = (struct node){.kind = kind_id(k), .slot = d.slot};
		return k->write;
	}
	return NULL;
}
