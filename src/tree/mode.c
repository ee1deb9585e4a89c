/* SPDX-License-Identifier: MIT */
/* Owner and mode of each name. The file and the directories above it grant rights to each class (rights.h); this code
 * reduces them to the possible uses of the name. */
#include "tree_impl.h"

#include <sys/stat.h>

/* Names above all sessions belong to the mounting user. */
static bool kind_spans_sessions(const struct kind *k)
{
	return kind_mtime_source(k) == MTIME_ALL || kind_mtime_source(k) == MTIME_PROJECT ||
	       kind_mtime_source(k) == MTIME_GROUP;
}

/* The group of the source directory: otherwise members with access by its group would count as others. */
static void attr_set_shared_owner(const struct ctx *c, struct tree_attr *a)
{
	const struct tree *t = c->tree;
	mode_t mode = c->project.mode & (c->project.names_mode | 0111);
	a->uid = t->uid;
	a->gid = c->project.gid;
	if (kind_mtime_source(c->kind) != MTIME_PROJECT)
		mode = catalog_root_mode(t->catalog, NULL, &a->gid);
	if (c->kind->flags & LISTS_ALL_PROJECTS)
		mode &= catalog_list_all_mode(t->catalog, a->uid, a->gid) | 0111;
	if (t->is_private || kind_is_owner_only(c->kind))
		mode &= 0700;
	a->mode = c->kind->make.type == S_IFDIR ? S_IFDIR | mode : S_IFREG | (mode_t)((mode & 0111) << 2);
}

void ctx_set_owner_and_mode(const struct ctx *c, struct tree_attr *a)
{
	const struct slot_info *s = &c->slot;
	mode_t type = c->kind->make.type;
	if (c->kind->flags & LIVE_STATUS) {
		a->uid = c->tree->uid;
		a->gid = getegid();
		a->mode = type | 0400;
	} else if (kind_spans_sessions(c->kind)) {
		attr_set_shared_owner(c, a);
	} else if (kind_is_owner_only(c->kind)) {
		a->uid = c->tree->uid;
		a->gid = s->st.st_gid;
		a->mode = type | (s->mode & 0444 ? 0400 : 0);
	} else {
		mode_t r = s->mode & 0444, w = ctx_is_writable(c) ? s->mode & 0222 : 0;
		if (c->kind->flags & LISTS_ALL_PROJECTS)
			r &= catalog_list_all_mode(c->tree->catalog, s->st.st_uid, s->st.st_gid);
		a->uid = s->st.st_uid;
		a->gid = s->st.st_gid;
		a->mode = type | r | w | (type == S_IFDIR || (c->kind->flags & EXECUTABLE) ? r >> 2 : 0);
	}
	if (type == S_IFLNK)
		a->mode = S_IFLNK | 0777;
	/* So that an owner can remove a copy with these modes. Requests decide which names can be created. */
	else if (type == S_IFDIR)
		a->mode |= (a->mode & 0400) >> 1;
}

mode_t tree_link_mode(struct tree *t, node_t node, gid_t *ret_gid)
{
	struct ctx c CLEANUP_CTX = {0};
	struct project_info p;
	*ret_gid = (gid_t)-1;
	if (tree_is_scratch(node) || ctx_open(&c, t, tree_node(node), SCOPE_MOUNT) < 0)
		return 0444;
	const struct kind *dir = kind_above(c.kind);
	if (!dir || !kind_spans_sessions(dir) || kind_spans_sessions(c.kind) || !ctx_name_exists(&c))
		return 0444;
	if (kind_is_owner_only(dir) || !catalog_project(t->catalog, c.slot.project, &p))
		return 0;
	return p.mode & catalog_root_mode(t->catalog, &p.gid, ret_gid) & 0444;
}
