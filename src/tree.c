/* The engine that walks the table of kinds.
 *
 * Every operation opens a ctx for a node id: the id is unpacked, checked against
 * what is there now, and as much is fetched as the kind's scope asks for. Lookup
 * and listing use the same rows: a fixed name exists if its row's `has` says so,
 * a family's names come from `list` and are found again by `match`.
 *
 * Sizes: a row either knows its size without producing, or the contents are made
 * once and kept in the cache, from where the reads that follow are served. */
#include "sessionfs/stop.h"
#include "tree_impl.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

/* Editors' side files are few and small; past this they are refused. */
#define SCRATCH_FILES 1024
#define SCRATCH_BYTES ((size_t)64 << 20)

int tree_open(const struct tree_options *o, struct tree **ret)
{
	struct tree *t = malloc(sizeof *t);
	if (!t)
		return -ENOMEM;
	*t = (struct tree){
	    .catalog = o->catalog,
	    .cache = o->cache,
	    .read_only = o->read_only,
	    .is_private = o->is_private,
	    .uid = geteuid(),
	};
	int rc = scratch_open(SCRATCH_FILES, SCRATCH_BYTES, &t->scratch);
	if (rc < 0) {
		free(t);
		return rc;
	}
	lock_init(&t->state_lock, LOCK_STATE);
	lines_init(&t->lines);
	spare_init(&t->spare);
	*ret = t;
	return 0;
}

void tree_set_mountpoint(struct tree *t, const char *mountpoint)
{
	t->mountpoint = mountpoint;
}

void tree_close(struct tree *t)
{
	if (!t)
		return;
	scratch_close(t->scratch);
	state_close(t);
	lines_release(&t->lines);
	spare_release(&t->spare);
	free(t);
}

/* --- ctx ----------------------------------------------------------------- */

void ctx_close(struct ctx *c)
{
	if (!c->tree)
		return;
	lines_give(&c->tree->lines, c->loaded_slot, c->loaded, &c->line, &c->record, &c->marks);
	if (c->session)
		catalog_put(c->tree->catalog, c->session);
	c->session = NULL;
}

bool kind_has_entry(unsigned k)
{
	return k == K_LABEL_LINK || (k >= K_BRANCH && k <= K_LABEL);
}

int ctx_load(struct ctx *c, uint32_t i)
{
	if (c->loaded == i)
		return 0;
	struct lines *lines = &c->tree->lines;
	lines_give(lines, c->loaded_slot, c->loaded, &c->line, &c->record, &c->marks);
	c->loaded = NO_ENTRY;
	c->loaded_slot = c->node.slot;
	bool kept = lines_take(lines, c->loaded_slot, i, &c->line, &c->record, &c->marks);
	int rc = kept ? 0 : session_load(c->session, i, &c->line, &c->record);
	if (rc == 0)
		c->loaded = i;
	return rc;
}

/* Brings the ctx to at least `scope`. */
static int ctx_reach(struct ctx *c, enum scope scope)
{
	struct tree *t = c->tree;
	if (scope >= SCOPE_PROJECT && c->scope < SCOPE_PROJECT) {
		if (scope == SCOPE_PROJECT && !catalog_project(t->catalog, c->node.slot, &c->project))
			return -ESTALE;
		c->scope = SCOPE_PROJECT;
	}
	if (scope >= SCOPE_SLOT && c->scope < SCOPE_SLOT) {
		int rc = catalog_slot(t->catalog, c->node.slot, &c->slot);
		if (rc < 0)
			return rc;
		c->scope = SCOPE_SLOT;
	}
	if (scope >= SCOPE_INDEX && c->scope < SCOPE_INDEX) {
		int rc = catalog_get(t->catalog, c->node.slot, &c->session);
		if (rc < 0)
			return rc;
		/* The file may have grown since the slot was looked at: one ctx, one time. */
		c->slot.st = *session_stat(c->session);
		c->scope = SCOPE_INDEX;
		if (kind_has_entry(c->node.kind) && c->node.entry >= session_count(c->session))
			return -ESTALE;
	}
	if (scope >= SCOPE_RECORD) {
		int rc = ctx_load(c, c->node.entry);
		if (rc < 0)
			return rc;
		c->scope = SCOPE_RECORD;
	}
	return 0;
}

static int ctx_init(struct ctx *c, struct tree *t, struct node n)
{
	*c = (struct ctx){.tree = t, .node = n, .line = LINE_INIT, .loaded = NO_ENTRY};
	if (n.kind == K_NONE && n.part == 1)
		c->node = (struct node){.kind = K_ROOT};
	if (c->node.kind == K_NONE || c->node.kind >= K_COUNT)
		return -ESTALE;
	c->kind = &tree_kinds[c->node.kind];
	return 0;
}

int ctx_open(struct ctx *c, struct tree *t, struct node n, enum scope scope)
{
	int rc = ctx_init(c, t, n);
	return rc < 0 ? rc : ctx_reach(c, scope > c->kind->scope ? scope : c->kind->scope);
}

/* Turns the ctx to a child of the same session, or of the same mount. */
static int ctx_turn(struct ctx *c, struct node n)
{
	c->node = n;
	c->kind = &tree_kinds[n.kind];
	if (c->kind->scope == SCOPE_RECORD || c->scope == SCOPE_RECORD)
		c->scope = c->scope > SCOPE_INDEX ? SCOPE_INDEX : c->scope;
	return ctx_reach(c, c->kind->scope);
}

static node_t ctx_id(const struct ctx *c)
{
	return c->node.kind == K_ROOT ? NODE_ROOT : node_pack(c->node);
}

/* --- attributes ------------------------------------------------------------ */

static struct timespec time_of(int64_t ms, struct timespec fallback)
{
	if (ms == NO_TIME)
		return fallback;
	int64_t s = ms / 1000, rest = ms % 1000;
	if (rest < 0) {
		s--;
		rest += 1000;
	}
	return (struct timespec){.tv_sec = s, .tv_nsec = rest * 1000000};
}

static struct timespec record_stamp(struct ctx *c, uint32_t i)
{
	struct timespec fallback = c->slot.st.st_mtim;
	return i == NO_ENTRY ? fallback : time_of(session_entry(c->session, i)->time, fallback);
}

static struct timespec ctx_mtime(struct ctx *c)
{
	switch (c->kind->stamp) {
	case STAMP_ALL:
		return catalog_mtime(c->tree->catalog);
	case STAMP_PROJECT:
		return c->project.mtime;
	case STAMP_ENTRY:
		return record_stamp(c, c->node.entry);
	case STAMP_LABEL:
		return record_stamp(c, session_label_record(c->session, c->node.entry));
	case STAMP_BRANCH:
		return record_stamp(c, session_branch_record(c->session, c->node.entry));
	case STAMP_SESSION:
		break;
	}
	return c->slot.st.st_mtim;
}

/* Where something can be written: names in these directories. */
static bool is_writable_dir(unsigned kind)
{
	return kind == K_SESSION || kind == K_ENTRY || kind == K_LABELS;
}

/* Entries that pi cannot address take neither label nor branch. */
bool ctx_is_writable(const struct ctx *c)
{
	unsigned k = c->node.kind;
	if (c->tree->read_only || !(c->kind->value || is_writable_dir(k)))
		return false;
	bool of_entry = k == K_ENTRY || c->kind->parent == K_ENTRY;
	return !of_entry || session_entry(c->session, c->node.entry)->flags & ENTRY_ADDRESSED;
}

/* What follows a session file is kept for long from so many seconds after its last change on: then no answer about the
 * time before is on its way to the kernel any more, and the next change cannot have the same mtime. */
#define TOLD_AFTER 2
/* A session that nobody has touched for an hour is not expected to grow in the next minute. */
#define QUIET_AFTER 3600

static bool is_older(const struct tree_attr *a, time_t seconds)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - a->mtime.tv_sec > seconds;
}

/* Whether every change of what the kind shows is noted. */
static bool is_told(const struct ctx *c)
{
	if (c->kind->stamp == STAMP_PROJECT)
		return c->project.told;
	return c->kind->scope >= SCOPE_SLOT ? c->slot.told : catalog_is_told(c->tree->catalog);
}

/* In a mount that can be written, what was written reads back at once. */
static double live_ttl(const struct tree *t)
{
	return t->read_only ? TREE_TTL_LIVE : 0;
}

/* On the path of a branch the metadata at its end go when the branch does; what stands above them stays. */
static enum keep keep_of(const struct ctx *c)
{
	bool may_go =
	    c->node.kind == K_PATH_LINK && !(session_entry(c->session, c->node.entry)->flags & ENTRY_CONVERSATION);
	return may_go ? KEEP_LIVE : c->kind->keep;
}

static void set_ttl(const struct ctx *c, struct tree_attr *a)
{
	enum keep keep = keep_of(c);
	double told = live_ttl(c->tree), quiet = told;
	/* The names of what can be written come and go with the tools that write. */
	bool writable = !c->tree->read_only && (c->kind->value || c->node.kind == K_LEAF);
	if (keep == KEEP_FIXED) {
		a->entry_ttl = a->attr_ttl = TREE_TTL_FIXED;
		return;
	}
	if (!writable && is_told(c) && is_older(a, TOLD_AFTER))
		told = TREE_TTL_TOLD;
	if (c->slot.told && is_older(a, QUIET_AFTER))
		quiet = TREE_TTL_QUIET;
	a->attr_ttl = keep == KEEP_LIVE ? live_ttl(c->tree) : keep == KEEP_QUIET ? quiet : told;
	a->entry_ttl = keep == KEEP_NAME ? TREE_TTL_FIXED : a->attr_ttl;
}

/* What one entry says never changes in a generation; all else is as of a serial. */
static uint64_t view_serial(const struct ctx *c)
{
	if (c->kind->untimed)
		return state_serial(c->tree);
	return c->session && c->kind->keep != KEEP_FIXED ? session_serial(c->session) : 0;
}

static int ctx_size(struct ctx *c, uint64_t *ret)
{
	if (c->kind->type == S_IFDIR) {
		*ret = 0;
		return 0;
	}
	if (c->kind->size)
		return c->kind->size(c, ret);
	if (c->kind->type == S_IFLNK) {
		struct buf target CLEANUP_BUF = BUF_INIT;
		int rc = c->kind->show(c, &target);
		*ret = target.n;
		return rc < 0 ? rc : buf_err(&target);
	}
	if (cache_size(c->tree->cache, ctx_id(c), view_serial(c), ret))
		return 0;
	int err;
	const struct view *v = ctx_view(c, &err);
	if (!v)
		return err;
	*ret = v->size;
	cache_release(c->tree->cache, v);
	return 0;
}

/* Whether the size is known without making the contents. */
static bool is_cheap(const struct kind *k)
{
	return k->type != S_IFREG || k->size;
}

static int ctx_attr(struct ctx *c, struct tree_attr *ret)
{
	uint64_t size;
	int rc = ctx_size(c, &size);
	if (rc < 0)
		return rc;
	struct tree_attr a = {
	    .node = ctx_id(c),
	    .size = size,
	    .mtime = ctx_mtime(c),
	};
	ctx_own(c, &a);
	set_ttl(c, &a);
	*ret = a;
	return 0;
}

/* --- scratch files --------------------------------------------------------------------- */

bool tree_is_scratch(node_t node)
{
	return node_unpack(node).kind == K_SCRATCH;
}

static void scratch_fill(const struct scratch_attr *s, struct tree_attr *ret)
{
	*ret = (struct tree_attr){
	    .node = (node_t)K_SCRATCH << (64 - NODE_KIND_BITS) | s->id,
	    .mode = s->mode,
	    .size = s->size,
	    .uid = s->uid,
	    .gid = s->gid,
	    .mtime = s->mtime,
	};
}

static int scratch_find(struct tree *t, node_t dir, struct span name, struct tree_attr *ret)
{
	struct scratch_attr s;
	int rc = scratch_lookup(t->scratch, dir, name, &s);
	if (rc == 0)
		scratch_fill(&s, ret);
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
		scratch_fill(&s, &a);
		if (emit(arg, buf_span(&name), COOKIE_SCRATCH + s.id, a.node, a.mode & S_IFMT, &a))
			break;
	}
	return buf_err(&name);
}

/* A writable name that was made a moment ago and holds nothing yet. */
static int fresh_attr(struct ctx *c, struct tree_attr *ret)
{
	*ret = (struct tree_attr){
	    .node = ctx_id(c),
	    .mtime = c->slot.st.st_mtim,
	};
	ctx_own(c, ret);
	return 0;
}

static int get_attr(struct tree *t, node_t node, struct tree_attr *ret)
{
	struct ctx c CLEANUP_CTX = {0};
	struct scratch_attr s;
	if (tree_is_scratch(node)) {
		int rc = scratch_getattr(t->scratch, scratch_id(node), &s);
		if (rc == 0)
			scratch_fill(&s, ret);
		return rc;
	}
	int rc = ctx_open(&c, t, node_unpack(node), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (c.kind->has && !c.kind->has(&c))
		return state_is_fresh(t, c.node) ? fresh_attr(&c, ret) : -ESTALE;
	return ctx_attr(&c, ret);
}

int tree_getattr(struct tree *t, node_t node, struct tree_attr *ret)
{
	int faults = fault_begin();
	int rc = get_attr(t, node, ret);
	if (tree_moved(t, rc, &node)) {
		rc = get_attr(t, node, ret);
		ret->attr_ttl = ret->entry_ttl = 0;
	}
	return fault_end(faults, rc);
}

/* --- names ----------------------------------------------------------------- */

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
		return state_is_fresh(c->tree, c->node) ? fresh_attr(c, ret) : -ENOENT;
	return state_is_hidden(c->tree, c->node) ? -ENOENT : ctx_attr(c, ret);
}

static int lookup_shown(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	struct ctx c CLEANUP_CTX = {0};
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
		if (rc == -ESTALE)
			rc = -ENOENT;
		return rc < 0 ? rc : ctx_attr(&c, ret);
	}
	return -ENOENT;
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
	if (tree_moved(t, rc, &parent))
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
	if (is_writable_dir(kind) && !t->read_only)
		return 0;
	/* Several sessions can bring a project, and none of them the first: its name is not told each time. */
	if (kind == K_PROJECTS)
		return TREE_TTL_LIVE;
	if (kind == K_PROJECT || kind == K_SESSIONS || kind == K_ROOT)
		return catalog_is_told(t->catalog) ? TREE_TTL_TOLD : TREE_TTL_LIVE;
	return live_ttl(t);
}

int tree_writable_dir(struct tree *t, node_t dir)
{
	struct ctx c CLEANUP_CTX = {0};
	if (t->read_only)
		return -EROFS;
	if (!is_writable_dir(node_unpack(dir).kind))
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
	return is_writable_dir(node_unpack(dir).kind) ? list_scratch(t, dir, cookie, emit, arg) : 0;
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
	if (counted.n == 0 && tree_moved(t, rc, &dir))
		rc = list_all(t, dir, cookie, want, emit, arg);
	return fault_end(faults, rc);
}

/* --- contents ---------------------------------------------------------------- */

const struct view *ctx_view(struct ctx *c, int *ret_err)
{
	struct cache *cache = c->tree->cache;
	const struct view *kept = cache_get(cache, ctx_id(c), view_serial(c));
	if (kept)
		return kept;
	struct view made = {.bytes = BUF_INIT};
	int rc, faults = fault_begin();
	if (c->kind->view) {
		rc = c->kind->view(c, &made);
	} else {
		rc = c->kind->show(c, &made.bytes);
		made.size = made.bytes.n;
	}
	if (rc == 0)
		rc = buf_err(&made.bytes);
	rc = fault_end(faults, rc);
	if (rc < 0) {
		buf_release(&made.bytes);
		free(made.ends);
		free(made.entries);
		*ret_err = rc;
		return NULL;
	}
	kept = cache_put(cache, ctx_id(c), view_serial(c), &made);
	if (!kept)
		*ret_err = -ENOMEM;
	return kept;
}

static void add_slice(struct buf *out, struct span s, uint64_t off, size_t n)
{
	if (off >= s.n)
		return;
	size_t left = s.n - (size_t)off;
	buf_add(out, s.p + off, n < left ? n : left);
}

/* A file read in one go is made for this read alone; the rest is kept for the reads that follow. */
static int read_whole(struct ctx *c, size_t n, struct buf *out, bool *ret_done)
{
	uint64_t size;
	int rc = c->kind->size(c, &size);
	*ret_done = rc < 0 || size <= n;
	return rc < 0 || size > n ? rc : c->kind->show(c, out);
}

/* What is kept of an entry is served without a look at its line, which can be long. 1 if it was, 0, or a negative
 * errno. */
static int read_kept(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	if (c->kind->scope != SCOPE_RECORD)
		return 0;
	int rc = ctx_reach(c, SCOPE_INDEX);
	if (rc < 0)
		return rc;
	const struct view *kept = cache_get(c->tree->cache, ctx_id(c), view_serial(c));
	if (!kept)
		return 0;
	add_slice(out, buf_span(&kept->bytes), off, n);
	cache_release(c->tree->cache, kept);
	return buf_err(out) ? buf_err(out) : 1;
}

int ctx_read(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	int rc = 0;
	if (c->kind->has && !c->kind->has(c))
		return state_is_fresh(c->tree, c->node) ? 0 : -ESTALE;
	if (c->kind->part) {
		rc = c->kind->part(c, off, n, out);
		return rc < 0 ? rc : buf_err(out);
	}
	if (off == 0 && c->kind->size) {
		bool done;
		rc = read_whole(c, n, out, &done);
		if (done)
			return rc < 0 ? rc : buf_err(out);
	}
	const struct view *v = ctx_view(c, &rc);
	if (!v)
		return rc;
	if (v->bytes.n < v->size)
		rc = view_read(c, v, view_prefix(c), off, n, out);
	else
		add_slice(out, buf_span(&v->bytes), off, n);
	cache_release(c->tree->cache, v);
	return rc < 0 ? rc : buf_err(out);
}

static int read_at(struct tree *t, node_t node, uint64_t off, size_t n, struct buf *out)
{
	struct ctx c CLEANUP_CTX = {0};
	if (tree_is_scratch(node))
		return scratch_read(t->scratch, scratch_id(node), off, n, out);
	int rc = ctx_init(&c, t, node_unpack(node));
	if (rc < 0)
		return rc;
	if (c.kind->type != S_IFREG)
		return c.kind->type == S_IFDIR ? -EISDIR : -EINVAL;
	rc = read_kept(&c, off, n, out);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = ctx_reach(&c, c.kind->scope);
	return rc < 0 ? rc : ctx_read(&c, off, n, out);
}

int tree_read(struct tree *t, node_t node, uint64_t off, size_t n, struct buf *out)
{
	int faults = fault_begin();
	int rc = read_at(t, node, off, n, out);
	/* Who has read the beginning of what was there before must not get the rest of something else. */
	if (off == 0 && tree_moved(t, rc, &node)) {
		buf_reset(out);
		rc = read_at(t, node, off, n, out);
	}
	return fault_end(faults, rc);
}

static int read_link(struct tree *t, node_t node, struct buf *out)
{
	struct ctx c CLEANUP_CTX = {0};
	if (tree_is_scratch(node))
		return scratch_read(t->scratch, scratch_id(node), 0, SIZE_MAX, out);
	int rc = ctx_open(&c, t, node_unpack(node), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (c.kind->type != S_IFLNK)
		return -EINVAL;
	if (c.kind->has && !c.kind->has(&c))
		return -ESTALE;
	rc = c.kind->show(&c, out);
	return rc < 0 ? rc : buf_err(out);
}

int tree_readlink(struct tree *t, node_t node, struct buf *out)
{
	int faults = fault_begin();
	int rc = read_link(t, node, out);
	if (tree_moved(t, rc, &node)) {
		buf_reset(out);
		rc = read_link(t, node, out);
	}
	return fault_end(faults, rc);
}

node_t tree_parent(struct tree *t, node_t dir)
{
	struct node n = node_unpack(dir);
	if (dir == NODE_ROOT || n.kind == K_NONE || n.kind >= K_COUNT)
		return NODE_ROOT;
	enum kind_id up = tree_kinds[n.kind].parent;
	struct node p = {.kind = up, .slot = n.slot, .entry = n.entry};
	if (up == K_ROOT)
		return NODE_ROOT;
	if (up == K_PROJECT) {
		struct slot_info info;
		if (catalog_slot(t->catalog, n.slot, &info) < 0)
			return NODE_ROOT;
		p.slot = info.project;
	}
	if (up == K_PROJECTS || up == K_SESSIONS)
		p.slot = 0;
	if (up == K_SESSION || up == K_ENTRIES || up == K_BRANCHES)
		p.entry = 0;
	return node_pack(p);
}

bool tree_is_listing_volatile(struct tree *t, node_t dir)
{
	struct node n = node_unpack(dir);
	/* A session's `errors` comes with a write that changes nothing else. */
	return n.kind == K_SESSION || state_is_in(t, n);
}

bool tree_is_of_session(node_t node)
{
	struct node n = node_unpack(node);
	return node != NODE_ROOT && n.kind < K_COUNT && tree_kinds[n.kind].scope >= SCOPE_SLOT;
}

bool tree_is_dir(node_t node)
{
	struct node n = node_unpack(node);
	return node == NODE_ROOT || (n.kind < K_COUNT && tree_kinds[n.kind].type == S_IFDIR);
}

bool tree_is_fixed(node_t node)
{
	struct node n = node_unpack(node);
	return n.kind < K_COUNT && tree_kinds[n.kind].type == S_IFREG && tree_kinds[n.kind].keep == KEEP_FIXED;
}

/* The time is that of the record that says it, and a record may say anything of its time. */
bool tree_is_restamped(node_t node)
{
	struct node n = node_unpack(node);
	return n.kind < K_COUNT &&
	       (tree_kinds[n.kind].stamp == STAMP_LABEL || tree_kinds[n.kind].stamp == STAMP_BRANCH);
}

bool tree_is_untimed(node_t node)
{
	struct node n = node_unpack(node);
	return n.kind < K_COUNT && tree_kinds[n.kind].untimed;
}

bool tree_is_rewritten(node_t node)
{
	struct node n = node_unpack(node);
	return n.kind < K_COUNT && tree_kinds[n.kind].rewritten;
}
