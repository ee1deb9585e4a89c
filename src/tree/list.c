/* Looking a name up, and listing them. A fixed name exists if its row's `has` says so; a family's names come from its
 * `list` and are found again by its `match`. Editors' side files come last. */
#include "sessionfs/base/stop.h"
#include "tree_impl.h"

#include <errno.h>
#include <sys/stat.h>

static int scratch_find(struct tree *t, node_t dir, struct span name, struct tree_attr *ret)
{
	struct scratch_attr s;
	int rc = scratch_lookup(t->scratch, dir, name, &s);
	if (rc == 0)
		tree_scratch_attr(&s, ret);
	return rc;
}

/* Scratch files have the last cookies of a directory. */
#define COOKIE_SCRATCH ((uint64_t)1 << 40)

static int list_scratch(struct tree *t, node_t dir, uint64_t cookie, tree_emit emit, void *arg)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct scratch_attr s;
	struct tree_attr a;
	uint64_t after = cookie < COOKIE_SCRATCH ? 0 : cookie - COOKIE_SCRATCH;
	while (scratch_next(t->scratch, dir, after, &name, &s)) {
		after = s.id;
		tree_scratch_attr(&s, &a);
		if (emit(arg, buf_span(&name), COOKIE_SCRATCH + s.id, a.node, a.mode & S_IFMT, &a))
			break;
	}
	return buf_err(&name);
}

/* The node that the fixed name k has below `dir`. */
static struct node child_of(struct node dir, unsigned k)
{
	return (struct node){.kind = k, .slot = dir.slot, .entry = dir.entry, .part = dir.part};
}

static int lookup_fixed(struct ctx *c, struct node dir, unsigned k, struct tree_attr *ret)
{
	int rc = ctx_turn(c, child_of(dir, k));
	if (rc < 0)
		return rc;
	if (c->kind->has && !c->kind->has(c))
		return state_is_fresh(c->tree, c->node) ? ctx_fresh_attr(c, ret) : -ENOENT;
	return state_is_hidden(c->tree, c->node) ? -ENOENT : ctx_attr(c, ret);
}

/* *ret_again: what the name led to was replaced before it could be looked at. */
static int lookup_once(struct tree *t, node_t parent, struct span name, struct tree_attr *ret, bool *ret_again)
{
	struct ctx c CLEANUP_CTX = {0};
	*ret_again = false;
	int rc = ctx_open(&c, t, node_unpack(parent), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (c.kind->type != S_IFDIR)
		return -ENOTDIR;
	struct node dir = c.node;
	for (unsigned k = K_ROOT + 1; k < K_COUNT; k++) {
		const struct kind *row = &tree_kinds[k];
		if (row->parent == dir.kind && row->name && span_is(name, row->name))
			return lookup_fixed(&c, dir, k, ret);
	}
	for (unsigned k = K_ROOT + 1; k < K_COUNT; k++) {
		const struct kind *row = &tree_kinds[k];
		if (row->parent != dir.kind || row->name)
			continue;
		if (row->scope >= SCOPE_INDEX && (rc = ctx_reach(&c, row->scope)) < 0)
			return rc;
		struct node child = child_of(dir, k);
		rc = row->match(&c, name, &child);
		if (rc < 0)
			return rc;
		if (child.slot != dir.slot)
			c.scope = SCOPE_MOUNT;
		rc = ctx_turn(&c, child);
		*ret_again = rc == -ESTALE;
		if (rc == -ESTALE)
			rc = -ENOENT;
		return rc < 0 ? rc : ctx_attr(&c, ret);
	}
	return -ENOENT;
}

/* How often what is at a name may be replaced while it is looked up. */
#define MOST_TRIES 16

static int lookup_shown(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	bool again;
	int rc, tries = 0;
	do
		rc = lookup_once(t, parent, name, ret, &again);
	while (again && ++tries < MOST_TRIES && stop_check() == 0);
	return rc;
}

static int look_up(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	if (name.n > NAME_MAX)
		return -ENAMETOOLONG;
	int rc = lookup_shown(t, parent, name, ret);
	return rc == -ENOENT ? scratch_find(t, parent, name, ret) : rc;
}

int tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	int faults = fault_begin();
	int rc = look_up(t, parent, name, ret);
	while (tree_moved(t, &rc, &parent))
		rc = look_up(t, parent, name, ret);
	return fault_end(faults, rc);
}

/* Whether the name could come to be in such a directory by what session files say. None of theirs begins with a dot. */
static bool is_possible(unsigned dir, struct span name)
{
	bool hidden = name.n > 0 && name.p[0] == '.';
	for (unsigned k = K_ROOT + 1; k < K_COUNT; k++) {
		const struct kind *row = &tree_kinds[k];
		if (row->parent == dir && (row->name ? span_is(name, row->name) : !hidden))
			return true;
	}
	return false;
}

double tree_missing_ttl(struct tree *t, node_t dir, struct span name)
{
	unsigned kind = dir == NODE_ROOT ? K_ROOT : node_unpack(dir).kind;
	/* Tools look for .gitignore and the like in every directory. Who makes one does so through the mount, which the
	 * kernel sees. */
	if (!is_possible(kind, name))
		return TREE_TTL_FIXED;
	if (kind_is_writable_dir(kind) && !t->read_only)
		return 0;
	/* Several sessions can bring a project, and none of them the first: its name is not told each time. */
	if (kind == K_PROJECTS)
		return TREE_TTL_LIVE;
	if (kind == K_PROJECT || kind == K_SESSIONS || kind == K_ROOT)
		return catalog_is_told(t->catalog) ? TREE_TTL_TOLD : TREE_TTL_LIVE;
	return tree_live_ttl(t);
}

int tree_writable_dir(struct tree *t, node_t dir)
{
	struct ctx c CLEANUP_CTX = {0};
	if (t->read_only)
		return -EROFS;
	if (!kind_is_writable_dir(node_unpack(dir).kind))
		return -EPERM;
	int rc = ctx_open(&c, t, node_unpack(dir), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (!ctx_is_writable(&c))
		return -EPERM;
	return c.slot.st.st_mode & 0222 ? 0 : -EACCES;
}

bool tree_writable_name(node_t dir, struct span name, struct node *ret)
{
	struct node d = node_unpack(dir);
	for (unsigned k = K_ROOT + 1; k < K_COUNT; k++) {
		const struct kind *row = &tree_kinds[k];
		bool writable = row->value || k == K_LEAF;
		if (row->parent != d.kind || !row->name || !writable || !span_is(name, row->name))
			continue;
		*ret = child_of(d, k);
		return true;
	}
	return false;
}

/* Whether the size is known without making the contents. */
static bool is_cheap(const struct kind *k)
{
	return k->type != S_IFREG || k->size;
}

static int list_one(struct ctx *c, const struct lister *l, struct span name, uint64_t cookie)
{
	struct tree_attr attr;
	int rc = stop_check();
	if (rc < 0)
		return rc;
	bool wanted = l->want == TREE_ATTRS || (l->want == TREE_DIRS && c->kind->type == S_IFDIR);
	bool known = wanted && is_cheap(c->kind) && ctx_attr(c, &attr) == 0;
	*l->stopped = l->emit(l->arg, name, cookie, ctx_id(c), c->kind->type, known ? &attr : NULL) != 0;
	return *l->stopped;
}

int list_child(struct ctx *dir, const struct lister *l, enum kind_id k, struct node child, struct span name,
               uint64_t cookie)
{
	struct node here = dir->node;
	const struct kind *kind = dir->kind;
	child.kind = k;
	dir->node = child;
	dir->kind = &tree_kinds[k];
	int rc = list_one(dir, l, name, cookie);
	dir->node = here;
	dir->kind = kind;
	return rc;
}

static int list_fixed(struct ctx *c, struct node dir, unsigned k, const struct lister *l)
{
	int rc = ctx_turn(c, child_of(dir, k));
	if (rc < 0)
		return rc;
	if ((c->kind->has && !c->kind->has(c)) || state_is_hidden(c->tree, c->node))
		return 0;
	return list_one(c, l, span_of(c->kind->name), k + 1u);
}

_Static_assert(K_COUNT < COOKIE_FAMILY, "the cookies of fixed names come before those of families");

static int list_shown(struct tree *t, node_t dir_id, uint64_t cookie, const struct lister *l)
{
	struct ctx c CLEANUP_CTX = {0};
	int rc = ctx_open(&c, t, node_unpack(dir_id), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (c.kind->type != S_IFDIR)
		return -ENOTDIR;
	struct node dir = c.node;
	/* The cookie of the fixed name k is k + 1. */
	unsigned first = cookie == 0 ? K_ROOT + 1 : cookie < COOKIE_FAMILY ? (unsigned)cookie : K_COUNT;
	for (unsigned k = first; k < K_COUNT; k++) {
		if (tree_kinds[k].parent != dir.kind || !tree_kinds[k].name)
			continue;
		rc = list_fixed(&c, dir, k, l);
		if (rc)
			return rc;
	}
	for (unsigned k = K_ROOT + 1; k < K_COUNT; k++) {
		const struct kind *row = &tree_kinds[k];
		if (row->parent != dir.kind || row->name)
			continue;
		c.node = dir;
		c.kind = &tree_kinds[dir.kind];
		if (row->scope >= SCOPE_INDEX && (rc = ctx_reach(&c, row->scope)) < 0)
			return rc;
		return row->list(&c, cookie < COOKIE_FAMILY ? 0 : cookie - COOKIE_FAMILY, l);
	}
	return 0;
}

static int list_all(struct tree *t, node_t dir, uint64_t cookie, enum tree_want want, tree_emit emit, void *arg)
{
	bool stopped = false;
	const struct lister l = {emit, arg, want, &stopped};
	if (cookie < COOKIE_SCRATCH) {
		int rc = list_shown(t, dir, cookie, &l);
		if (rc < 0 || stopped)
			return rc < 0 ? rc : 0;
	}
	return kind_is_writable_dir(node_unpack(dir).kind) ? list_scratch(t, dir, cookie, emit, arg) : 0;
}

struct counted {
	tree_emit emit;
	void *arg;
	size_t n;
};

static int count_name(void *arg, struct span name, uint64_t cookie, node_t node, mode_t mode,
                      const struct tree_attr *attr)
{
	struct counted *c = arg;
	c->n++;
	return c->emit(c->arg, name, cookie, node, mode, attr);
}

int tree_list(struct tree *t, node_t dir, uint64_t cookie, enum tree_want want, tree_emit emit, void *arg)
{
	int faults = fault_begin();
	struct counted counted = {emit, arg, 0};
	int rc = list_all(t, dir, cookie, want, count_name, &counted);
	/* What was listed already goes to the caller, who goes on behind it. */
	while (counted.n == 0 && tree_moved(t, &rc, &dir))
		rc = list_all(t, dir, cookie, want, count_name, &counted);
	return fault_end(faults, rc);
}
