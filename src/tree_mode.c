/* Owner and mode of what is shown. What the file and the directories above it grant to whom is in rights.h; here it is
 * cut down to what a name can be used for. */
#include "tree_impl.h"

#include <sys/stat.h>

/* What stands above all sessions, and is the mounting user's and of the group of the directory it shows. */
static bool is_shared(const struct kind *k)
{
	return k->stamp == STAMP_ALL || k->stamp == STAMP_PROJECT;
}

uid_t ctx_uid(const struct ctx *c)
{
	return is_shared(c->kind) ? c->tree->uid : c->slot.st.st_uid;
}

/* Above the sessions the directory's that is shown: whom that lets in by its group would be one of the others else. */
gid_t ctx_gid(const struct ctx *c)
{
	if (!is_shared(c->kind))
		return c->slot.st.st_gid;
	return c->kind->stamp == STAMP_PROJECT ? c->project.gid : catalog_gid(c->tree->catalog);
}

static mode_t shared_mode(const struct ctx *c)
{
	const struct tree *t = c->tree;
	gid_t gid = ctx_gid(c);
	mode_t mode = c->kind->stamp == STAMP_PROJECT ? c->project.mode : catalog_mode(t->catalog, gid);
	if (c->kind->type != S_IFDIR)
		return S_IFREG | (mode & 0111) << 2;
	if (c->kind->gathers)
		mode &= catalog_names_mode(t->catalog, t->uid, gid) | 0111;
	if (t->is_private)
		mode &= 0700;
	return S_IFDIR | mode;
}

static mode_t session_mode(const struct ctx *c)
{
	const struct slot_info *s = &c->slot;
	mode_t r = s->mode & 0444, w = ctx_is_writable(c) ? s->mode & 0222 : 0;
	if (c->kind->gathers)
		r &= catalog_names_mode(c->tree->catalog, s->st.st_uid, s->st.st_gid);
	return c->kind->type == S_IFDIR ? S_IFDIR | r | r >> 2 | w : S_IFREG | r | w;
}

mode_t ctx_mode(const struct ctx *c)
{
	if (c->kind->type == S_IFLNK)
		return S_IFLNK | 0777;
	return is_shared(c->kind) ? shared_mode(c) : session_mode(c);
}

mode_t tree_link_mode(struct tree *t, node_t node, gid_t *ret_gid)
{
	struct ctx c CLEANUP_CTX = {0};
	struct project_info p;
	*ret_gid = (gid_t)-1;
	if (tree_is_scratch(node) || ctx_open(&c, t, node_unpack(node), SCOPE_MOUNT) < 0)
		return 0444;
	if (!is_shared(&tree_kinds[c.kind->parent]) || (c.kind->has && !c.kind->has(&c)))
		return 0444;
	if (!catalog_project(t->catalog, c.slot.project, &p))
		return 0;
	*ret_gid = p.gid;
	return p.mode & catalog_mode(t->catalog, p.gid) & 0444;
}
