/* SPDX-License-Identifier: MIT */
/* Which names a kernel must ask for again after a change: the watched rows of the table. Their number depends on the
 * table, not on the number of entries. */
#include "tree_impl.h"

#include <sys/stat.h>

static void invalidate_by_node(struct node n, tree_invalidate_fn tell, void *arg)
{
	tell(arg, tree_id(n), (struct span){NULL, 0});
}

/* The session's directory, the names in it, and links to it: one node for each row. */
void tree_invalidate_session(uint32_t slot, tree_invalidate_fn tell, void *arg)
{
	for (const struct kind *k = NULL; (k = kind_next(k));)
		if (k->from->scope >= SCOPE_SLOT && k->from->scope < SCOPE_ENTRY &&
		    (kind_class(k) == TREE_WATCHED || k->name))
			invalidate_by_node((struct node){.kind = kind_id(k), .slot = slot}, tell, arg);
}

/* The nodes that show the time of the newest session, or link to it. */
void tree_invalidate_above(uint32_t project, tree_invalidate_fn tell, void *arg)
{
	invalidate_by_node(tree_node(NODE_ROOT), tell, arg);
	for (const struct kind *k = rows_root.v; k < rows_root.v + rows_root.n; k++)
		invalidate_by_node((struct node){.kind = kind_id(k)}, tell, arg);
	for (const struct kind *k = NULL; project != NO_SLOT && (k = kind_next(k));) {
		if (kind_mtime_source(k) != MTIME_PROJECT)
			continue;
		struct node dir = {.kind = kind_id(k), .slot = project};
		invalidate_by_node(dir, tell, arg);
		const struct kind_rows *rows = kind_rows_of_dir(dir);
		for (const struct kind *in = rows->v; in < rows->v + rows->n; in++)
			if (in->name)
				invalidate_by_node((struct node){.kind = kind_id(in), .slot = project}, tell, arg);
	}
}

uint32_t tree_fetch_renamed(struct tree *t, uint32_t slot)
{
	struct session *s;
	if (catalog_session_get(t->catalog, slot, &s) < 0)
		return NO_ENTRY;
	uint32_t from = session_fetch_renamed(s);
	catalog_session_put(t->catalog, s);
	return from;
}

/* Appends the names of the entries from this one on, each with a slash after it. */
static void add_entry_names(struct tree *t, uint32_t slot, uint32_t from, struct buf *out)
{
	struct session *s;
	if (catalog_session_get(t->catalog, slot, &s) < 0)
		return;
	for (uint32_t i = from; i < session_count(s); i++) {
		session_entry_name(s, i, out);
		buf_addc(out, '/');
	}
	catalog_session_put(t->catalog, s);
}

/* Directories named after entries are in one of the session's own directories. Invalidating that one drops everything
 * below it. But a directory in use comes back with the names in use below it, so names that lead to other entries now
 * are invalidated one by one. */
void tree_invalidate_entry_names(struct tree *t, uint32_t slot, uint32_t from, tree_invalidate_fn tell, void *arg)
{
	struct buf names CLEANUP_BUF = BUF_INIT;
	add_entry_names(t, slot, from, &names);
	for (const struct kind *dir = rows_session.v; dir < rows_session.v + rows_session.n; dir++) {
		struct node n = {.kind = kind_id(dir), .slot = slot};
		const struct kind_rows *in = kind_rows_of_dir(n);
		for (const struct kind *k = in->v; k < in->v + in->n; k++) {
			if (k->name || k->make.type != S_IFDIR)
				continue;
			const char *p = names.p, *end;
			for (; (end = p ? memchr(p, '/', (size_t)(names.p + names.n - p)) : NULL); p = end + 1)
				tell(arg, tree_id(n), (struct span){p, (size_t)(end - p)});
			tell(arg, tree_id(node_parent(t, n)), span_of(dir->name));
		}
	}
}

void tree_invalidate_names(struct tree *t, const struct slot_info *s, uint32_t died, tree_invalidate_fn tell, void *arg)
{
	if (died != NO_SLOT)
		tree_invalidate_session(died, tell, arg);
	for (const struct kind *k = NULL; (k = kind_next(k));) {
		struct buf name CLEANUP_BUF = BUF_INIT;
		if (!k->moves)
			continue;
		struct node dir = {.kind = kind_id(kind_above(k))};
		buf_adds(&name, k->name ? k->name : "");
		if (k->moves(t, s, &dir.slot, &name) && buf_cstr(&name))
			tell(arg, tree_id(dir), buf_span(&name));
	}
	tree_invalidate_above(s->project, tell, arg);
}
