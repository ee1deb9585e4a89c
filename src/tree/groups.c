/* SPDX-License-Identifier: MIT */
/* Directories of links to sessions or to entries by a key, such as by-date/. A key has a row at the root, its rows
 * here, and a key in src/find/groups.c. */
#include "sessionfs/base/name.h"
#include "rows.h"

#include <errno.h>

_Static_assert(GROUP_NUMBER_BITS <= NODE_NUMBER_BITS, "a node has a group's number");

/* Returns the current groups of the key of c's row; NULL and *ret_err if they cannot be made. */
static const struct groups *ctx_all_groups(struct ctx *c, int *ret_err)
{
	*ret_err = ctx_load_facts(c);
	const struct groups *all = *ret_err == 0 ? facts_groups(c->facts, c->kind->make.key) : NULL;
	if (*ret_err == 0 && !all)
		*ret_err = -ENOMEM;
	return all;
}

/* A missing name can belong to a session that could not be read. */
static int not_found_or_error(const struct ctx *c)
{
	return c->facts->error ? c->facts->error : -ENOENT;
}

/* Returns the group of c's node, or NULL and *ret_err. */
static const struct group *ctx_find_group(struct ctx *c, const struct groups **ret_all, int *ret_err)
{
	const struct groups *all = *ret_all = ctx_all_groups(c, ret_err);
	const struct group *g = all ? groups_find(all, node_number(c->node)) : NULL;
	if (all && !g)
		*ret_err = not_found_or_error(c);
	return g;
}

static bool group_exists(struct ctx *c)
{
	int rc;
	const struct groups *all;
	const struct group *g = ctx_find_group(c, &all, &rc);
	deferred_set(g || rc == -ENOENT ? 0 : rc);
	return g;
}

struct timespec group_mtime(struct ctx *c)
{
	int rc;
	const struct groups *all;
	const struct group *g = ctx_find_group(c, &all, &rc);
	return g ? g->mtime : (struct timespec){0};
}

uint64_t group_key(struct ctx *c)
{
	int rc;
	const struct groups *all;
	const struct group *g = ctx_find_group(c, &all, &rc);
	return g ? name_hash64(g->name) : 0;
}

static int group_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc;
	const struct groups *all = ctx_all_groups(dir, &rc);
	for (size_t i = 0; all && i < all->n && rc == 0; i++) {
		const struct group *g = &all->groups[i];
		if (g->number >= cookie)
			rc = list_emit_child(dir, l, node_of_number(0, g->number), g->name,
			                     COOKIE_DYNAMIC + g->number + 1);
	}
	return rc == 0 ? dir->facts->error : rc < 0 ? rc : 0;
}

static int group_match(struct ctx *dir, struct span name, struct node *ret)
{
	int rc;
	const struct groups *all = ctx_all_groups(dir, &rc);
	const struct group *g = all ? groups_find_name(all, name) : NULL;
	if (!g)
		return all ? not_found_or_error(dir) : rc;
	*ret = node_of_number(ret->kind, g->number);
	return 0;
}

static uint64_t group_link_cookie(const struct ctx *dir, const struct group_link *link)
{
	return ((uint64_t)dir->facts->v[link->fact].slot << NODE_ENTRY_BITS | link->entry) + 1;
}

/* Lists the links of one session from *i on, up to `end`: the ctx of the first serves all of them. Moves *i after
 * them. */
static int group_list_links(const struct ctx *dir, const struct groups *all, size_t *i, size_t end,
                            const struct lister *l)
{
	struct ctx c CLEANUP_CTX = {0};
	uint32_t fact = all->v[*i].fact;
	struct node n = {.kind = kind_id(l->dynamic), .slot = dir->facts->v[fact].slot, .entry = all->v[*i].entry};
	int rc = ctx_init(&c, dir->tree, n);
	if (rc == 0)
		rc = ctx_resolve(&c, l->want == TREE_ATTRS ? l->dynamic->from->scope : SCOPE_SLOT);
	for (; *i < end && all->v[*i].fact == fact; ++*i) {
		n.entry = all->v[*i].entry;
		if (rc == 0)
			rc = list_emit_child(&c, l, n, all->v[*i].name,
			                     COOKIE_DYNAMIC + group_link_cookie(dir, &all->v[*i]));
	}
	/* The next listing omits a link that disappeared just now. */
	return rc == -ESTALE || rc == -ENOENT ? 0 : rc;
}

static int group_link_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc;
	const struct groups *all;
	const struct group *g = ctx_find_group(dir, &all, &rc);
	if (!g)
		return rc == -ENOENT ? -ESTALE : rc;
	/* The first link after the cookie. */
	size_t i = g->first, end = g->first + g->n, hi = end;
	while (i < hi) {
		size_t mid = i + (hi - i) / 2;
		if (group_link_cookie(dir, &all->v[mid]) <= cookie)
			i = mid + 1;
		else
			hi = mid;
	}
	while (i < end && rc == 0)
		rc = group_list_links(dir, all, &i, end, l);
	return rc == 0 ? dir->facts->error : rc < 0 ? rc : 0;
}

static int group_link_match(struct ctx *dir, struct span name, struct node *ret)
{
	int rc;
	const struct groups *all;
	const struct group *g = ctx_find_group(dir, &all, &rc);
	if (!g)
		return rc;
	const struct group_link *link = groups_find_link(all, g, name);
	if (!link)
		return not_found_or_error(dir);
	*ret = (struct node){.kind = ret->kind, .slot = dir->facts->v[link->fact].slot, .entry = link->entry};
	return 0;
}

static int group_link_show(struct ctx *c, struct buf *out)
{
	return append_session_path(c, "../../projects/", &c->slot, out);
}

static const struct kind in_by_date[] = {
    {NULL, .doc = "sessions that started on this day", .from = &from_all, .make = GROUP(day, BY_DATE),
     .has = group_exists, .names = {"DAY", group_list, group_match, NULL}, .time = MTIME_GROUP},
};
const struct kind_rows rows_by_date = ROWS(in_by_date);

static const struct kind in_day[] = {
    {NULL, .doc = "a session (a link)", .from = &from_file, .make = LINK(group_link_show), .flags = FROM_ALL_SESSIONS,
     .names = {"TIME TITLE", group_link_list, group_link_match, NULL}},
};
const struct kind_rows rows_day = ROWS(in_day);

static const struct kind in_by_project[] = {
    {NULL, .doc = "sessions of one project", .from = &from_all, .make = GROUP(titles, BY_PROJECT), .has = group_exists,
     .names = {"PROJECT", group_list, group_match, NULL}, .time = MTIME_GROUP},
};
const struct kind_rows rows_by_project = ROWS(in_by_project);

static const struct kind in_titles[] = {
    {NULL, .doc = "a session (a link)", .from = &from_file, .make = LINK(group_link_show), .flags = FROM_ALL_SESSIONS,
     .names = {"DAY TIME TITLE", group_link_list, group_link_match, NULL}},
};
const struct kind_rows rows_titles = ROWS(in_titles);

static const struct kind in_all_labels[] = {
    {NULL, .doc = "entries with this label, in all sessions", .from = &from_all, .make = GROUP(labelled, BY_LABEL),
     .has = group_exists, .names = {"LABEL", group_list, group_match, NULL}, .time = MTIME_GROUP},
};
const struct kind_rows rows_all_labels = ROWS(in_all_labels);

static const struct kind in_labelled[] = {
    {NULL, .doc = "an entry (a link)", .from = &from_branch, .make = LINK(hit_show), .has = label_dir_exists,
     .flags = FROM_ALL_SESSIONS, .names = {"NNNN WHAT TEXT", group_link_list, group_link_match, NULL}},
};
const struct kind_rows rows_labelled = ROWS(in_labelled);
