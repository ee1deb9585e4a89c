/* SPDX-License-Identifier: MIT */
/* The engine that uses the table of kinds.
 *
 * Every operation opens a ctx for a node id: it unpacks the id, checks it against the current state, and fetches what
 * the kind's scope requires. This file has the ctx and the attributes; names are in list.c, contents in read.c.
 *
 * Sizes: a row either computes its size without rendering, or the contents are rendered once and cached (read.c). */
#include "sessionfs/base/name.h"
#include "sessionfs/find/search.h"
#include "rows.h"

#include <errno.h>
#include <sys/stat.h>

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
	    .coloured = o->coloured,
	    .uid = geteuid(),
	};
	int rc = scratch_open(SCRATCH_FILES, SCRATCH_BYTES, &t->scratch);
	if (rc == 0)
		rc = facts_open(t->catalog, cache_budget(t->cache), &t->facts);
	if (rc == 0)
		rc = searches_open(t->catalog, t->facts, cache_budget(t->cache), &t->searches);
	if (rc < 0) {
		facts_close(t->facts);
		scratch_close(t->scratch);
		free(t);
		return rc;
	}
	for (const struct kind *k = NULL; (k = kind_next(k));)
		t->kind_keys[kind_id(k)] = kind_key(k);
	lock_init(&t->state_lock, LOCK_STATE);
	hash_key_draw(&t->secret);
	line_cache_init(&t->lines);
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
	searches_close(t->searches);
	facts_close(t->facts);
	scratch_close(t->scratch);
	state_close(t);
	line_cache_destroy(&t->lines);
	free(t);
}

struct searches *tree_get_searches(struct tree *t)
{
	return t->searches;
}

/* --- ctx ----------------------------------------------------------------- */

void ctx_close(struct ctx *c)
{
	if (!c->tree)
		return;
	line_cache_put(&c->tree->lines, c->loaded_slot, c->loaded, &c->line, &c->record, &c->marks);
	if (c->session)
		catalog_session_put(c->tree->catalog, c->session);
	c->session = NULL;
	facts_release(c->facts);
	c->facts = NULL;
	buf_release(&c->to_session);
	buf_release(&c->related);
}

int ctx_load(struct ctx *c, uint32_t i)
{
	if (c->loaded == i)
		return 0;
	struct line_cache *lines = &c->tree->lines;
	line_cache_put(lines, c->loaded_slot, c->loaded, &c->line, &c->record, &c->marks);
	c->loaded = NO_ENTRY;
	c->loaded_slot = c->node.slot;
	bool kept = line_cache_get(lines, c->loaded_slot, i, &c->line, &c->record, &c->marks);
	int rc = kept ? 0 : session_load(c->session, i, &c->line, &c->record);
	if (rc == 0)
		c->loaded = i;
	return rc;
}

int ctx_resolve(struct ctx *c, enum scope scope)
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
		/* Now: it reads other indexes, and a thread holds one at a time. */
		uint32_t slot = c->node.slot;
		int rc = 0;
		if (c->kind->flags & SUMS_SUBAGENTS)
			rc = facts_sum_subagents(t->facts, NULL, slot, &c->with_subagents, &c->subagents_serial);
		rc = rc < 0 ? rc : catalog_session_get(t->catalog, slot, &c->session);
		if (rc < 0)
			return rc;
		/* The file may have grown since the slot was read: a ctx has one state. */
		c->slot.st = *session_stat(c->session);
		c->scope = SCOPE_INDEX;
	}
	if (scope >= SCOPE_ENTRY && c->scope < SCOPE_ENTRY) {
		if (c->node.entry >= session_count(c->session))
			return -ESTALE;
		c->scope = SCOPE_ENTRY;
	}
	if (scope >= SCOPE_RECORD) {
		int rc = ctx_load(c, c->node.entry);
		if (rc < 0)
			return rc;
		c->scope = SCOPE_RECORD;
	}
	return 0;
}

int ctx_init(struct ctx *c, struct tree *t, struct node n)
{
	*c = (struct ctx){.tree = t, .node = n, .line = LINE_INIT, .loaded = NO_ENTRY};
	c->kind = kind_of(n);
	return c->kind ? 0 : -ESTALE;
}

int ctx_open(struct ctx *c, struct tree *t, struct node n, enum scope scope)
{
	int rc = ctx_init(c, t, n);
	return rc < 0 ? rc : ctx_resolve(c, scope > c->kind->from->scope ? scope : c->kind->from->scope);
}

int ctx_switch_node(struct ctx *c, struct node n)
{
	c->node = n;
	c->kind = kind_of(n);
	c->record_size = 0;
	if (c->scope > SCOPE_INDEX)
		c->scope = SCOPE_INDEX;
	return ctx_resolve(c, c->kind->from->scope);
}

node_t ctx_id(const struct ctx *c)
{
	return tree_id(c->node);
}

/* A hash of the name of the session, project, group or query, and below it a number for the kind, entry and part. These
 * numbers differ: the factor is odd, and the kinds' ranges are far apart. */
uint64_t ctx_ino(struct ctx *c)
{
	enum scope scope = c->kind->from->scope;
	uint64_t owner = 0, place = c->tree->kind_keys[c->node.kind];
	if (scope >= SCOPE_SLOT) {
		owner = c->slot.key;
		place += (uint64_t)c->node.entry << NODE_WIDE_PART_BITS | c->node.part;
	} else if (scope == SCOPE_PROJECT) {
		owner = name_hash64(c->project.dir);
	} else if (scope == SCOPE_QUERY) {
		owner = searches_key(c->tree->searches, node_number(c->node));
	} else if (kind_mtime_source(c->kind) == MTIME_GROUP) {
		owner = group_key(c);
	}
	uint64_t ino = owner ^ place * UINT64_C(0x9e3779b97f4a7c15);
	return c->node.kind == KIND_ROOT ? NODE_ROOT : ino > NODE_ROOT ? ino : ino + 2;
}

uint32_t ctx_conversation_end(const struct ctx *c)
{
	return c->kind->from->scope < SCOPE_ENTRY ? session_leaf(c->session)
	                                          : session_branch_end(c->session, c->node.entry);
}

int ctx_load_facts(struct ctx *c)
{
	int rc = c->facts ? 0 : facts_get(c->tree->facts, &c->facts);
	c->missed = rc < 0 ? 0 : c->facts->error;
	return rc;
}

/* --- attributes ------------------------------------------------------------ */

static struct timespec ms_to_timespec(int64_t ms, struct timespec fallback)
{
	if (ms == NO_TIME)
		return fallback;
	int64_t s = ms / 1000, rest = ms % 1000;
	if (rest < 0) {
		s--;
		rest += 1000;
	}
	return (struct timespec){.tv_sec = (time_t)s, .tv_nsec = (long)rest * 1000000};
}

static struct timespec record_mtime(struct ctx *c, uint32_t i)
{
	struct timespec fallback = c->slot.st.st_mtim;
	return i == NO_ENTRY ? fallback : ms_to_timespec(session_entry(c->session, i)->time, fallback);
}

static struct timespec ctx_mtime(struct ctx *c)
{
	if (c->kind->flags & LIVE_STATUS)
		return clock_now(CLOCK_REALTIME);
	switch (kind_mtime_source(c->kind)) {
	case MTIME_ALL:
		return catalog_mtime(c->tree->catalog);
	case MTIME_PROJECT:
		return c->project.mtime;
	case MTIME_GROUP:
		return group_mtime(c);
	case MTIME_ENTRY:
		return record_mtime(c, c->node.entry);
	case MTIME_LABEL:
		return record_mtime(c, session_label_record(c->session, c->node.entry));
	case MTIME_BRANCH:
		return record_mtime(c, session_branch_record(c->session, c->node.entry));
	case MTIME_EDIT:
		return record_mtime(c, session_edit_record(c->session, c->node.entry));
	case MTIME_SESSION:
	case MTIME_AS_SOURCE:
		break;
	}
	return c->slot.st.st_mtim;
}

/* Entries that pi cannot address take no label, branch or edit. */
bool ctx_is_writable(const struct ctx *c)
{
	bool writable = (c->kind->write && c->kind->make.type == S_IFREG) || (c->kind->flags & ALLOWS_CREATE);
	if (c->tree->read_only || !writable)
		return false;
	return c->kind->from->scope < SCOPE_ENTRY || session_entry(c->session, c->node.entry)->flags & ENTRY_ADDRESSED;
}

/* Names that follow a session file are watched from this many seconds after its last change. By then no answer from
 * before the change is still on its way to the kernel, and the next change cannot have the same mtime. */
#define WATCHED_AFTER 2
/* The kernel's leases are recorded and invalidated one by one when the session grows: so a session that grows every few
 * seconds gets none. */
#define LEASE_AFTER 60

/* True if every change of the kind's contents is noticed. */
static bool ctx_is_watched(const struct ctx *c)
{
	const struct kind *k = c->kind;
	bool alone = k->from->scope >= SCOPE_SLOT && !(k->flags & LISTS_ALL_PROJECTS);
	if (kind_mtime_source(k) == MTIME_PROJECT)
		return c->project.watched;
	if (alone && !c->slot.watched)
		return false;
	/* The directory of a session has names that depend on other sessions. */
	const struct kind_rows *rows = k->from->scope == SCOPE_SLOT ? k->make.rows : NULL;
	for (size_t i = 0; rows && i < rows->n; i++)
		alone = alone && !((rows->v[i].flags & LISTS_ALL_PROJECTS) && rows->v[i].has);
	return alone || catalog_is_watched(c->tree->catalog);
}

enum tree_class tree_unwatched_class(const struct tree *t)
{
	return t->read_only ? TREE_LIVE : TREE_UNCACHED;
}

/* Also sets a->why. */
static enum tree_class ctx_cache_class(const struct ctx *c, struct tree_attr *a)
{
	const struct kind *k = c->kind;
	enum tree_class class = kind_class(k);
	bool leased = class == TREE_LEASE;
	/* Tools create and remove writable names as they write them. */
	bool writable = !c->tree->read_only && k->write;
	/* Names in a session change with its file, whatever time they show. */
	struct timespec changed = k->from->scope >= SCOPE_SLOT ? c->slot.st.st_mtim : a->mtime;
	a->why = "I1: cannot change";
	if (class == TREE_FIXED)
		return class;
	a->why = k->flags & LIVE_STATUS ? "I2: a live status" : "I2: depends on all sessions";
	if (kind_shows_all_sessions(k) || k->flags & LIVE_STATUS)
		return TREE_UNCACHED;
	if (class != TREE_WATCHED && !leased)
		a->why = "I2: a kind whose changes are not reported";
	else if (k->names.can_disappear && k->names.can_disappear(c))
		a->why = "I2: the name can disappear";
	else if (!leased && writable)
		a->why = "I2: can be written";
	else if (leased ? !c->slot.watched : !ctx_is_watched(c))
		a->why = "I2: changes can go unnoticed";
	else if (changed.tv_sec >= clock_ago(leased ? LEASE_AFTER : WATCHED_AFTER))
		a->why = "I6: changed recently";
	else if (c->subagents_serial)
		a->why = "I2: shows its subagents";
	else {
		a->why = "I2: changes are reported";
		return class;
	}
	return tree_unwatched_class(c->tree);
}

bool tree_is_quiet(struct tree *t, node_t node, time_t seconds)
{
	struct ctx c = {.tree = t, .node = tree_node(node)};
	const struct kind *k = c.kind = kind_of(c.node);
	struct slot_info subagent;
	uint64_t cookie = 0;
	if (!k || k->from->scope < SCOPE_SLOT || k->make.type != S_IFREG || k->names.can_disappear ||
	    kind_text_stability(k) == TREE_UNTIMED || catalog_slot(t->catalog, c.node.slot, &c.slot) < 0 ||
	    ((k->flags & SUMS_SUBAGENTS) && catalog_fork_next(t->catalog, c.node.slot, true, &cookie, &subagent)))
		return false;
	struct tree_attr a = {.mtime = c.slot.st.st_mtim};
	enum tree_class class = ctx_cache_class(&c, &a);
	return (class == TREE_WATCHED || class == TREE_LEASE) && a.mtime.tv_sec < clock_ago(seconds);
}

/* Measures the file made of the entry's line once. */
static uint64_t ctx_record_size(struct ctx *c)
{
	if (c->record_size == 0)
		c->record_size = c->kind->make.record(&c->record, NULL);
	return c->record_size;
}

bool ctx_name_exists(struct ctx *c)
{
	if (c->kind->has)
		return c->kind->has(c);
	return !c->kind->make.record || ctx_record_size(c) > 0;
}

int ctx_show(struct ctx *c, struct buf *out)
{
	const struct kind_ops *make = &c->kind->make;
	if (make->text)
		return make->text(c->session, out);
	if (make->table) {
		int rc = ctx_load_facts(c);
		rc = rc < 0 ? rc : make->table(c->facts, out);
		c->missed = rc > 0 ? -rc : c->missed;
		return rc < 0 ? rc : 0;
	}
	if (!make->record)
		return make->show(c, out);
	make->record(&c->record, out);
	return 0;
}

int ctx_get_size(struct ctx *c, uint64_t *ret)
{
	if (c->kind->make.type == S_IFDIR || c->kind->make.record) {
		*ret = c->kind->make.record ? ctx_record_size(c) : 0;
		return 0;
	}
	if (c->kind->make.size)
		return c->kind->make.size(c, ret);
	if (c->kind->make.type == S_IFLNK || (c->kind->flags & UNCACHED_TEXT)) {
		struct buf made CLEANUP_BUF = BUF_INIT;
		int rc = ctx_show(c, &made);
		*ret = made.n;
		return rc < 0 ? rc : buf_err(&made);
	}
	if (cache_size(c->tree->cache, ctx_id(c), view_serial(c), ret))
		return 0;
	int err;
	const struct view *v = ctx_view(c, &err);
	if (!v)
		return err;
	*ret = view_size(v);
	cache_release(c->tree->cache, v);
	return 0;
}

int ctx_attr(struct ctx *c, bool is_lookup, struct tree_attr *ret)
{
	struct tree_attr a = {.node = ctx_id(c), .ino = ctx_ino(c)};
	bool is_table = kind_is_table(c->kind), is_sized = !is_table || !is_lookup;
	int rc = is_sized ? ctx_get_size(c, &a.size) : 0;
	if (rc < 0)
		return rc;
	if (is_sized && c->kind->make.type == S_IFREG && (kind_shows_all_sessions(c->kind) || c->subagents_serial))
		a.version = view_serial(c);
	a.mtime = ctx_mtime(c);
	ctx_set_owner_and_mode(c, &a);
	a.attr_class = ctx_cache_class(c, &a);
	a.name_class = (c->kind->flags & PERMANENT) || is_table ? TREE_FIXED : a.attr_class;
	*ret = a;
	return 0;
}

/* --- scratch files --------------------------------------------------------------------- */

bool tree_is_scratch(node_t node)
{
	return node_is_scratch(node_unpack(node));
}

/* The number of the place is in the slot and part. */
int scratch_home(struct tree *t, node_t dir, node_t *ret)
{
	struct node n = tree_node(dir);
	const struct kind *k = kind_of(n);
	struct slot_info info;
	int rc = k && k->flags & ALLOWS_CREATE ? catalog_slot(t->catalog, n.slot, &info) : -ENOENT;
	if (rc < 0)
		return rc;
	n.slot = info.place % NODE_SLOTS;
	n.part = info.place / NODE_SLOTS;
	*ret = node_pack(n);
	return 0;
}

node_t scratch_dir_of(struct tree *t, node_t home)
{
	struct node n = node_unpack(home);
	struct slot_info info;
	catalog_session_at_place(t->catalog, n.part * NODE_SLOTS + n.slot, &info);
	n.slot = info.slot % NODE_SLOTS;
	n.part = 0;
	return node_pack(n);
}

void tree_scratch_attr(const struct scratch_attr *s, struct tree_attr *ret)
{
	*ret = (struct tree_attr){
	    .node = scratch_node(s->id),
	    .ino = scratch_node(s->id),
	    .mode = s->mode,
	    .size = s->size,
	    .uid = s->uid,
	    .gid = s->gid,
	    .mtime = s->mtime,
	    .atime = s->atime,
	    .why = "I2: can be written",
	};
}

int ctx_created_attr(struct ctx *c, struct tree_attr *ret)
{
	*ret = (struct tree_attr){
	    .node = ctx_id(c),
	    .ino = ctx_ino(c),
	    .mtime = c->slot.st.st_mtim,
	    .why = "I2: being written",
	};
	ctx_set_owner_and_mode(c, ret);
	return 0;
}

static int getattr_once(struct tree *t, node_t node, struct tree_attr *ret)
{
	struct ctx c CLEANUP_CTX = {0};
	struct scratch_attr s;
	if (tree_is_scratch(node)) {
		int rc = scratch_getattr(t->scratch, scratch_id(node), &s);
		if (rc == 0)
			tree_scratch_attr(&s, ret);
		return rc;
	}
	int rc = ctx_open(&c, t, tree_node(node), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (!ctx_name_exists(&c))
		return state_is_created(t, c.node) ? ctx_created_attr(&c, ret) : -ESTALE;
	return ctx_attr(&c, false, ret);
}

int tree_getattr(struct tree *t, node_t node, struct tree_attr *ret)
{
	int deferred = deferred_begin();
	int rc = getattr_once(t, node, ret);
	/* The descriptor of a file must not get the size of another text, for which `tail -F` would wait for ever. A
	 * path is looked up again after -ESTALE, but not if the kernel opens names from its cache. */
	const struct kind *k = kind_of(tree_node(node));
	bool is_descriptor = k && k->make.type == S_IFREG && !t->read_only;
	while (!is_descriptor && tree_retarget_node(t, &rc, &node)) {
		rc = getattr_once(t, node, ret);
		ret->name_class = ret->attr_class = TREE_UNCACHED;
		ret->why = "I2: moved";
	}
	return deferred_end(deferred, rc);
}

/* --- properties of an id ------------------------------------------------------ */

struct node node_parent(struct tree *t, struct node n)
{
	const struct kind *up = kind_of(n) ? kind_above(kind_of(n)) : NULL;
	if (!up)
		return tree_node(NODE_ROOT);
	enum scope scope = up->from->scope;
	struct node above = {.kind = kind_id(up)};
	struct slot_info info;
	bool has_project = kind_of(n)->from->scope <= SCOPE_PROJECT;
	if (scope >= SCOPE_SLOT || (scope == SCOPE_PROJECT && has_project))
		above.slot = n.slot;
	if (scope >= SCOPE_ENTRY)
		above.entry = n.entry;
	/* A numbered name has its part from the number, others from their directory. */
	if (scope >= SCOPE_RECORD && kind_of(n)->name)
		above.part = n.part;
	if (scope != SCOPE_PROJECT || has_project)
		return above;
	if (catalog_slot(t->catalog, n.slot, &info) < 0)
		return tree_node(NODE_ROOT);
	above.slot = info.project;
	return above;
}

node_t tree_parent(struct tree *t, node_t dir)
{
	return tree_id(node_parent(t, tree_node(dir)));
}

uint64_t tree_ino(struct tree *t, node_t node)
{
	struct ctx c CLEANUP_CTX = {0};
	if (tree_is_scratch(node) || ctx_init(&c, t, tree_node(node)) < 0)
		return node;
	enum scope scope = c.kind->from->scope;
	return ctx_resolve(&c, scope < SCOPE_SLOT ? scope : SCOPE_SLOT) < 0 ? node : ctx_ino(&c);
}

uint64_t tree_listing_serial(struct tree *t, node_t dir)
{
	const struct kind *k = kind_of(tree_node(dir));
	if (k && kind_shows_all_sessions(k))
		return catalog_serial(t->catalog);
	/* Both only increase. */
	return catalog_epoch(t->catalog) + state_serial(t) + 1;
}

bool tree_is_of_session(node_t node)
{
	const struct kind *k = kind_of(tree_node(node));
	return k && k->from->scope >= SCOPE_SLOT;
}

bool tree_is_dir(node_t node)
{
	const struct kind *k = kind_of(tree_node(node));
	return k && k->make.type == S_IFDIR;
}

bool tree_is_table(node_t node)
{
	const struct kind *k = kind_of(tree_node(node));
	return k && kind_is_table(k);
}

enum tree_change tree_text_change(node_t node)
{
	const struct kind *k = kind_of(tree_node(node));
	return k ? kind_text_stability(k) : TREE_APPENDED;
}
