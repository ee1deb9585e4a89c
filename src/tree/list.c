/* SPDX-License-Identifier: MIT */
/* Lookup and listing of names. A fixed name exists if its row's `has` returns true; its row's `list` lists dynamic
 * names and `match` finds them. Editors' scratch files come last. */
#include "sessionfs/base/cancel.h"
#include "tree_impl.h"

#include <errno.h>
#include <sys/stat.h>

/* Scratch files have the last cookies of a directory. */
#define COOKIE_SCRATCH ((uint64_t)1 << 60)

static int list_scratch(struct tree *t, node_t dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct scratch_attr s;
	struct tree_attr a;
	uint64_t after = cookie < COOKIE_SCRATCH ? 0 : cookie - COOKIE_SCRATCH;
	node_t home;
	int rc = scratch_home(t, dir, &home);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	while (scratch_next(t->scratch, home, after, &name, &s)) {
		after = s.id;
		tree_scratch_attr(&s, &a);
		/* A label set since then can have the name of a link that waits for its own. */
		if (S_ISLNK(s.mode) && tree_lookup(t, dir, buf_span(&name), &a) == 0 && !tree_is_scratch(a.node))
			continue;
		*l->emitted = true;
		if (l->emit(l->arg, buf_span(&name), COOKIE_SCRATCH + s.id, a.node, a.ino, a.mode & S_IFMT, &a))
			break;
	}
	return buf_err(&name);
}

/* Returns the node of the fixed name k in `dir`. */
static struct node child_node(struct node dir, const struct kind *k)
{
	return (struct node){.kind = kind_id(k), .slot = dir.slot, .entry = dir.entry, .part = dir.part};
}

/* Returns the row of the fixed name in a directory, or of its dynamic names. */
static const struct kind *find_kind_by_name(struct node dir, struct span name)
{
	const struct kind *dynamic = NULL;
	const struct kind_rows *rows = kind_rows_of_dir(dir);
	for (const struct kind *k = rows->v; k < rows->v + rows->n; k++) {
		if (!k->name)
			dynamic = k;
		else if (span_is(name, k->name))
			return k;
	}
	return dynamic;
}

/* Dynamic names that come from a session's index need the index of their directory. */
static int dynamic_names_resolve(struct ctx *dir, const struct kind *k)
{
	return k->from->scope >= SCOPE_INDEX && dir->kind->from->scope >= SCOPE_SLOT ? ctx_resolve(dir, SCOPE_INDEX)
	                                                                             : 0;
}

/* Sets *ret_again if the file of the name was replaced before it could be read. */
static int tree_lookup_dynamic(struct ctx *c, const struct kind *k, struct span name, struct tree_attr *ret,
                               bool *ret_again)
{
	struct node dir = c->node, child = child_node(dir, k);
	int rc = dynamic_names_resolve(c, k);
	if (rc == 0)
		rc = k->names.match(c, name, &child);
	if (rc < 0)
		return rc;
	if (child.slot != dir.slot)
		c->scope = SCOPE_MOUNT;
	rc = ctx_switch_node(c, child);
	*ret_again = rc == -ESTALE;
	if (rc == -ESTALE)
		rc = -ENOENT;
	return rc < 0 ? rc : ctx_attr(c, true, ret);
}

static int tree_lookup_once(struct tree *t, node_t parent, struct span name, struct tree_attr *ret, bool *ret_again)
{
	struct ctx c CLEANUP_CTX = {0};
	*ret_again = false;
	int rc = ctx_open(&c, t, tree_node(parent), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (c.kind->make.type != S_IFDIR)
		return -ENOTDIR;
	const struct kind *k = find_kind_by_name(c.node, name);
	if (!k)
		return -ENOENT;
	if (!k->name)
		return tree_lookup_dynamic(&c, k, name, ret, ret_again);
	rc = ctx_switch_node(&c, child_node(c.node, k));
	if (rc < 0)
		return rc;
	if (!ctx_name_exists(&c))
		return state_is_created(t, c.node) ? ctx_created_attr(&c, ret) : -ENOENT;
	return state_is_hidden(t, c.node) ? -ENOENT : ctx_attr(&c, true, ret);
}

/* The max number of attempts of a lookup whose file keeps being replaced. */
#define LOOKUP_TRIES_MAX 16

static int list_lookup_retry(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	struct scratch_attr s;
	node_t home;
	bool again;
	int rc, tries = 0;
	if (name.n > NAME_MAX)
		return -ENAMETOOLONG;
	do
		rc = tree_lookup_once(t, parent, name, ret, &again);
	while (again && ++tries < LOOKUP_TRIES_MAX && cancel_check() == 0);
	if (rc != -ENOENT)
		return rc;
	rc = scratch_home(t, parent, &home);
	if (rc == 0)
		rc = scratch_lookup(t->scratch, home, name, &s);
	if (rc == 0)
		tree_scratch_attr(&s, ret);
	return rc;
}

int tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	int deferred = deferred_begin(), rc;
	do
		rc = list_lookup_retry(t, parent, name, ret);
	while (tree_retarget_node(t, &rc, &parent));
	return deferred_end(deferred, rc);
}

enum tree_class tree_negative_class(struct tree *t, node_t dir, struct span name)
{
	struct node n = tree_node(dir);
	const struct kind *k = kind_of(n), *row = find_kind_by_name(n, name);
	/* Tools look for .gitignore and the like in every directory. No dynamic name is like that. If a process creates
	 * one, it does so through the mount, and the kernel sees that. */
	if (!k || !row || (!row->name && name.n > 0 && name.p[0] == '.'))
		return TREE_FIXED;
	if (kind_shows_all_sessions(k))
		return TREE_UNCACHED;
	if ((k->flags & NOTIFY_CREATE) && catalog_is_watched(t->catalog))
		return TREE_WATCHED;
	return k->from->scope < SCOPE_SLOT ? TREE_LIVE : tree_unwatched_class(t);
}

bool tree_writable_name(node_t dir, struct span name, struct node *ret)
{
	struct node d = tree_node(dir);
	const struct kind *k = find_kind_by_name(d, name);
	if (!k || !k->name || !k->write)
		return false;
	*ret = child_node(d, k);
	return true;
}

static int list_emit_one(struct ctx *c, const struct lister *l, struct span name, uint64_t cookie)
{
	struct tree_attr attr;
	int rc = cancel_check();
	if (rc < 0)
		return rc;
	bool known = l->want == TREE_ATTRS && kind_size_is_cheap(c->kind) && ctx_attr(c, true, &attr) == 0;
	*l->emitted = true;
	*l->stopped =
	    l->emit(l->arg, name, cookie, ctx_id(c), ctx_ino(c), c->kind->make.type, known ? &attr : NULL) != 0;
	return *l->stopped;
}

int list_emit_child(struct ctx *dir, const struct lister *l, struct node child, struct span name, uint64_t cookie)
{
	struct node here = dir->node;
	const struct kind *kind = dir->kind;
	child.kind = kind_id(l->dynamic);
	dir->node = child;
	dir->kind = l->dynamic;
	int rc = list_emit_one(dir, l, name, cookie);
	dir->node = here;
	dir->kind = kind;
	return rc;
}

/* Names that cannot be removed come first: so a recursive removal fails before it has removed anything (sessionfs(5),
 * "Writing"). A cookie is the row's index plus one; in the second half this is added. */
#define COOKIE_REMOVABLE ((uint64_t)1 << NODE_KIND_BITS)
_Static_assert(2 * COOKIE_REMOVABLE <= COOKIE_DYNAMIC, "fixed names have smaller cookies than dynamic names");

/* Lists one half of the fixed names, after the cookie. If checking whether a name exists fails, the listing ends before
 * it with the error, so that the caller asks again. Otherwise the name would be missing as long as the kernel caches
 * the listing. Other sessions that cannot be read end no listing of this one: its names that depend on them can be
 * missing, and a lookup of such a name fails. */
static int list_fixed_names(struct ctx *c, struct node dir, bool removable, uint64_t cookie, const struct lister *l)
{
	const struct kind_rows *rows = kind_rows_of_dir(dir);
	int rc = 0;
	for (const struct kind *k = rows->v; rc == 0 && k < rows->v + rows->n; k++) {
		uint64_t own = (uint64_t)(k - rows->v) + 1 + (removable ? COOKIE_REMOVABLE : 0);
		/* The next call finds the error again that hides such a name. */
		bool is_listed = own <= cookie, is_checked = k->has && k->from->scope < SCOPE_SLOT;
		if (!k->name || k->flags & LIVE_STATUS || kind_is_removable(k) != removable ||
		    (is_listed && !is_checked))
			continue;
		rc = ctx_switch_node(c, child_node(dir, k));
		if (rc < 0)
			break;
		int before = deferred_begin();
		bool has = ctx_name_exists(c);
		int deferred = deferred_end(before, 0);
		deferred_set(k->flags & LISTS_ALL_PROJECTS && error_is_of_source(deferred) ? 0 : deferred);
		if (!has)
			rc = k->from->scope >= SCOPE_INDEX ? deferred : 0;
		else if (!is_listed && !state_is_hidden(c->tree, c->node))
			rc = list_emit_one(c, l, span_of(k->name), own);
	}
	return rc;
}

static int list_table_names(struct tree *t, node_t dir_id, uint64_t cookie, struct lister *l)
{
	struct ctx c CLEANUP_CTX = {0};
	int rc = ctx_open(&c, t, tree_node(dir_id), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (c.kind->make.type != S_IFDIR)
		return -ENOTDIR;
	struct node dir = c.node;
	rc = list_fixed_names(&c, dir, false, cookie, l);
	if (rc == 0)
		rc = list_fixed_names(&c, dir, true, cookie, l);
	l->dynamic = rc == 0 ? find_kind_by_name(dir, (struct span){NULL, 0}) : NULL;
	if (!l->dynamic)
		return rc;
	c.node = dir;
	c.kind = kind_of(dir);
	rc = dynamic_names_resolve(&c, l->dynamic);
	return rc < 0 ? rc : l->dynamic->names.list(&c, cookie < COOKIE_DYNAMIC ? 0 : cookie - COOKIE_DYNAMIC, l);
}

int tree_list(struct tree *t, node_t dir, uint64_t cookie, enum tree_want want, tree_emit emit, void *arg)
{
	int deferred = deferred_begin();
	bool stopped = false, emitted = false;
	struct lister l = {emit, arg, want, &stopped, &emitted, NULL};
	int rc;
	/* The caller gets the names listed so far, and continues after them. */
	do {
		rc = cookie < COOKIE_SCRATCH ? list_table_names(t, dir, cookie, &l) : 0;
		if (rc >= 0)
			rc = stopped ? 0 : list_scratch(t, dir, cookie, &l);
	} while (!emitted && tree_retarget_node(t, &rc, &dir));
	return deferred_end(deferred, rc);
}
