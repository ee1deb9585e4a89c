/* What a kernel must ask for again after a change, by the table: the kinds that are kept because somebody tells
 * (KEEP_TOLD, KEEP_NAME). There are as many of them in a session as the table has rows, however many entries it has. */
#include "tree_impl.h"

static void tell_node(struct node n, tree_tell tell, void *arg)
{
	tell(arg, node_pack(n), (struct span){NULL, 0});
}

static void tell_name(unsigned dir, uint32_t slot, const char *name, tree_tell tell, void *arg)
{
	if (name)
		tell(arg, node_pack((struct node){.kind = dir, .slot = slot}), span_of(name));
}

static bool is_told(const struct kind *k)
{
	return k->keep == KEEP_TOLD || k->keep == KEEP_NAME;
}

/* The session's directory, the names in it, and links to it. */
static void tell_session(uint32_t slot, tree_tell tell, void *arg)
{
	for (unsigned k = K_ROOT + 1; k < K_COUNT; k++) {
		const struct kind *row = &tree_kinds[k];
		bool of_session = row->parent == K_SESSION || k == K_SESSION || k == K_SESSION_LINK || k == K_CURRENT;
		if (of_session && (is_told(row) || row->parent == K_SESSION))
			tell_node((struct node){.kind = k, .slot = slot}, tell, arg);
	}
}

/* What shows the newest session's time, or leads to it. */
static void tell_above(uint32_t project, tree_tell tell, void *arg)
{
	tell(arg, NODE_ROOT, (struct span){NULL, 0});
	for (unsigned k = K_ROOT + 1; k < K_COUNT; k++)
		if (tree_kinds[k].parent == K_ROOT)
			tell_node((struct node){.kind = k}, tell, arg);
	if (project == NO_SLOT)
		return;
	tell_node((struct node){.kind = K_PROJECT, .slot = project}, tell, arg);
	tell_node((struct node){.kind = K_PROJECT_LATEST, .slot = project}, tell, arg);
}

void tree_stale_session(struct tree *t, uint32_t slot, tree_tell tell, void *arg)
{
	(void)t;
	tell_session(slot, tell, arg);
}

bool tree_take_renamed(struct tree *t, uint32_t slot)
{
	struct session *s;
	if (catalog_get(t->catalog, slot, &s) < 0)
		return false;
	bool renamed = session_take_renamed(s);
	catalog_put(t->catalog, s);
	return renamed;
}

void tree_stale_all(struct tree *t, uint32_t slot, tree_tell tell, void *arg)
{
	(void)t;
	tell_name(K_SESSION, slot, tree_kinds[K_ENTRIES].name, tell, arg);
	tell_name(K_SESSION, slot, tree_kinds[K_BRANCHES].name, tell, arg);
}

void tree_stale_above(struct tree *t, uint32_t project, tree_tell tell, void *arg)
{
	(void)t;
	tell_above(project, tell, arg);
}

/* Whether the project has come with this session, or gone with it. */
static bool is_project_new(struct tree *t, const struct slot_info *s, const char **ret_name)
{
	struct project_info p;
	struct slot_info first, second;
	uint64_t cookie = 0;
	bool found = catalog_project(t->catalog, s->project, &p);
	*ret_name = p.name;
	return !found || !catalog_slot_next(t->catalog, s->project, &cookie, &first) ||
	       !catalog_slot_next(t->catalog, s->project, &cookie, &second);
}

void tree_stale_names(struct tree *t, const struct slot_info *s, uint32_t died, tree_tell tell, void *arg)
{
	const char *project = NULL;
	if (died != NO_SLOT)
		tell_session(died, tell, arg);
	if (s->project != NO_SLOT) {
		if (is_project_new(t, s, &project))
			tell_name(K_PROJECTS, 0, project, tell, arg);
		tell_name(K_PROJECT, s->project, s->stem, tell, arg);
		tell_name(K_PROJECT, s->project, tree_kinds[K_PROJECT_LATEST].name, tell, arg);
	}
	tell_name(K_SESSIONS, 0, s->sid, tell, arg);
	tell(arg, NODE_ROOT, span_of(tree_kinds[K_LATEST].name));
	uint32_t parent = s->slot == NO_SLOT ? NO_SLOT : catalog_parent(t->catalog, s->slot);
	if (parent != NO_SLOT)
		tell_session(parent, tell, arg);
	tell_above(s->project, tell, arg);
}
