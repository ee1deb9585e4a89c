/* Families: the names that come from the data. Each has a `list` that emits them
 * after a cookie and a `match` that finds one again; both go through one function
 * that makes the name, so that they cannot disagree.
 *
 * Cookies are numbers of the things themselves (slot, entry, call), never places
 * in a list, so that they stay valid while names come and go. */
#include "sessionfs/base/name.h"
#include "sessionfs/base/stop.h"
#include "sessionfs/base/vec.h"
#include "tree_impl.h"

#include <errno.h>
#include <stdio.h>

/* --- projects and sessions -------------------------------------------------------- */

int project_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct project_info p;
	int rc = 0;
	while (rc == 0 && catalog_project_next(dir->tree->catalog, &cookie, &p)) {
		dir->project = p;
		rc = list_child(dir, l, (struct node){.slot = p.project}, span_of(p.name), COOKIE_FAMILY + cookie);
	}
	return 0;
}

int project_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct project_info p;
	if (!catalog_project_by_name(dir->tree->catalog, name, &p))
		return -ENOENT;
	ret->slot = p.project;
	return 0;
}

int session_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc = 0;
	while (rc == 0 && catalog_slot_next(dir->tree->catalog, dir->node.slot, &cookie, &dir->slot))
		rc = list_child(dir, l, (struct node){.slot = dir->slot.slot}, span_of(dir->slot.stem),
		                COOKIE_FAMILY + cookie);
	return 0;
}

int session_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct slot_info s;
	if (!catalog_slot_by_stem(dir->tree->catalog, dir->node.slot, name, &s))
		return -ENOENT;
	ret->slot = s.slot;
	return 0;
}

int session_link_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc = 0;
	while (rc == 0 && catalog_slot_next(dir->tree->catalog, NO_SLOT, &cookie, &dir->slot))
		rc = list_child(dir, l, (struct node){.slot = dir->slot.slot}, span_of(dir->slot.sid),
		                COOKIE_FAMILY + cookie);
	return 0;
}

int session_link_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct slot_info s;
	if (!catalog_slot_by_sid(dir->tree->catalog, name, &s))
		return -ENOENT;
	ret->slot = s.slot;
	return 0;
}

/* --- names that come and go with a session --------------------------------------- */

bool session_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	*slot = s->project;
	buf_adds(name, s->stem ? s->stem : "");
	return s->project != NO_SLOT && s->stem;
}

bool session_link_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	(void)slot;
	buf_adds(name, s->sid ? s->sid : "");
	return s->sid != NULL;
}

/* A project appears with its first session, and goes with its last one. */
bool project_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	struct project_info p;
	struct slot_info first, second;
	uint64_t cookie = 0;
	(void)slot;
	if (s->project == NO_SLOT)
		return false;
	bool found = catalog_project(t->catalog, s->project, &p);
	buf_adds(name, p.name ? p.name : "");
	return p.name && (!found || !catalog_slot_next(t->catalog, s->project, &cookie, &first) ||
	                  !catalog_slot_next(t->catalog, s->project, &cookie, &second));
}

bool latest_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	(void)s;
	(void)slot;
	(void)name;
	return true;
}

bool project_latest_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	(void)name;
	*slot = s->project;
	return s->project != NO_SLOT;
}

/* --- entries --------------------------------------------------------------------------- */

static void entry_name(struct ctx *c, uint32_t i, struct buf *out)
{
	session_entry_name(c->session, i, out);
}

static int list_entry(struct ctx *dir, const struct lister *l, uint32_t i,
                      void (*called)(struct ctx *, uint32_t, struct buf *), struct buf *name)
{
	buf_reset(name);
	called(dir, i, name);
	if (buf_err(name))
		return buf_err(name);
	return list_child(dir, l, (struct node){.slot = dir->node.slot, .entry = i}, buf_span(name),
	                  COOKIE_FAMILY + 1 + (uint64_t)i);
}

int entry_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	uint32_t n = session_count(dir->session);
	for (uint64_t i = cookie; i < n; i++)
		if (list_entry(dir, l, (uint32_t)i, entry_name, &name))
			break;
	return buf_err(&name);
}

int entry_match(struct ctx *dir, struct span name, struct node *ret)
{
	uint32_t i = session_entry_by_name(dir->session, name);
	if (i == NO_ENTRY)
		return -ENOENT;
	ret->entry = i;
	return 0;
}

/* --- labels ---------------------------------------------------------------------------- */

int label_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc = 0;
	const struct view *v = view_labels(dir, &rc);
	if (!v)
		return rc;
	size_t lo = 0, hi = v->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (view_entry(v, mid) < cookie)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i < v->n; i++) {
		struct node n = {.slot = dir->node.slot, .entry = view_entry(v, i)};
		if (list_child(dir, l, n, view_name(v, i), COOKIE_FAMILY + 1 + (uint64_t)view_entry(v, i)))
			break;
	}
	cache_release(dir->tree->cache, v);
	return 0;
}

int label_match(struct ctx *dir, struct span name, struct node *ret)
{
	int rc = 0;
	const struct view *v = view_labels(dir, &rc);
	if (!v)
		return rc;
	ssize_t i = view_label_find(v, name);
	if (i >= 0)
		ret->entry = view_entry(v, (size_t)i);
	cache_release(dir->tree->cache, v);
	return i < 0 ? -ENOENT : 0;
}

/* --- branches ----------------------------------------------------------------------------- */

/* `current` is the name of a link, so an entry of that name gets the next free name. */
void branch_name(struct ctx *c, uint32_t i, struct buf *out)
{
	char other[32];
	size_t before = out->n;
	session_entry_name(c->session, i, out);
	if (!span_is((struct span){out->p + before, out->n - before}, "current"))
		return;
	unsigned n = 2;
	do
		snprintf(other, sizeof other, "current~%u", n++);
	while (session_entry_by_name(c->session, span_of(other)) != NO_ENTRY);
	out->n = before;
	buf_adds(out, other);
}

int branch_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	uint32_t n = session_count(dir->session);
	for (uint64_t i = cookie; i < n; i++)
		if (session_is_branch(dir->session, (uint32_t)i) && list_entry(dir, l, (uint32_t)i, branch_name, &name))
			break;
	return buf_err(&name);
}

int branch_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	uint32_t i = session_entry_by_name(dir->session, name);
	if (i == NO_ENTRY)
		i = session_entry_by_name(dir->session, SPAN_LIT("current"));
	if (i == NO_ENTRY)
		return -ENOENT;
	branch_name(dir, i, &made);
	if (!span_eq(buf_span(&made), name))
		return -ENOENT;
	ret->entry = i;
	return 0;
}

/* NNNN-KIND: the role of a message, else the type. */
static int path_name(struct ctx *c, size_t i, uint32_t entry, struct buf *out)
{
	char number[32];
	const struct entry *e = session_entry(c->session, entry);
	const char *word = e->type == RECORD_MESSAGE ? record_role_name(e->role) : record_type_name(e->type);
	snprintf(number, sizeof number, "%04zu-", i + 1);
	if (word) {
		name_encode(number, span_of(word), "", out);
		return buf_err(out);
	}
	struct buf text CLEANUP_BUF = BUF_INIT;
	int rc = ctx_load(c, entry);
	if (rc < 0)
		return rc;
	struct json_value v = c->record.type == RECORD_MESSAGE ? c->record.msg.role : c->record.type_;
	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_EXACT, &text);
	else
		buf_adds(&text, e->type == RECORD_MESSAGE ? "message" : "unknown");
	name_encode(number, buf_span(&text), "", out);
	return buf_err(&text) ? buf_err(&text) : buf_err(out);
}

int path_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	int rc = 0;
	const struct view *v = view_path(dir, session_branch_at(dir->session, dir->node.entry), &rc);
	if (!v)
		return rc;
	for (size_t i = (size_t)cookie; i < v->n; i++) {
		struct node n = {.slot = dir->node.slot, .entry = view_entry(v, i)};
		buf_reset(&name);
		rc = path_name(dir, i, view_entry(v, i), &name);
		if (rc < 0 || list_child(dir, l, n, buf_span(&name), COOKIE_FAMILY + 1 + (uint64_t)i))
			break;
	}
	cache_release(dir->tree->cache, v);
	return rc;
}

int path_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	uint64_t i = 0;
	size_t k = 0;
	while (k < name.n && name.p[k] >= '0' && name.p[k] <= '9' && i < NODE_ENTRIES)
		i = i * 10 + (uint64_t)(name.p[k++] - '0');
	if (i == 0)
		return -ENOENT;
	int rc = 0;
	const struct view *v = view_path(dir, session_branch_at(dir->session, dir->node.entry), &rc);
	if (!v)
		return rc;
	rc = i <= v->n ? path_name(dir, (size_t)i - 1, view_entry(v, i - 1), &made) : -ENOENT;
	if (rc == 0 && !span_eq(buf_span(&made), name))
		rc = -ENOENT;
	if (rc == 0)
		ret->entry = view_entry(v, i - 1);
	cache_release(dir->tree->cache, v);
	return rc;
}

/* --- tool calls and images --------------------------------------------------------------------- */

/* The calls or images from one mark to the next. */
enum { MARK = 128 };

/* The last mark that has at most n before it; {0} if there is none. */
static struct mark mark_before(const struct marks *m, enum marks_of of, unsigned n)
{
	size_t low = 0, high = m->of == of ? m->n : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->v[middle].n <= n)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? m->v[low - 1] : (struct mark){0};
}

/* Notes where a search continues behind the n-th. Without memory for that, it begins further up. */
static void mark_add(struct marks *m, enum marks_of of, unsigned n, const struct block_iter *rest)
{
	if (m->of != of)
		m->n = 0;
	m->of = of;
	if (n % MARK || (m->n && m->v[m->n - 1].n >= n))
		return;
	if (!vec_reserve(m, 1))
		return;
	m->v[m->n++] = (struct mark){n, *rest};
}

/* The call after call->n. At the beginning of a search only `n` need be set. */
static bool call_next(struct ctx *c, struct part_call *call)
{
	if (call->n && !call->rest.live) {
		unsigned n = call->n;
		struct mark mark = mark_before(&c->marks, MARKS_CALLS, n);
		*call = (struct part_call){.n = mark.n, .rest = mark.rest};
		while (call->n < n)
			if (!part_call_next(&c->record, call))
				return false;
	}
	bool found = part_call_next(&c->record, call) && call->n < node_parts(c->loaded);
	if (found)
		mark_add(&c->marks, MARKS_CALLS, call->n, &call->rest);
	return found;
}

bool call_find(struct ctx *c, uint32_t n, struct part_call *ret)
{
	struct part_call call = {.n = n ? mark_before(&c->marks, MARKS_CALLS, n - 1).n : 0};
	while (call.n < n && call_next(c, &call)) {
		if (call.n == n) {
			*ret = call;
			return true;
		}
	}
	return false;
}

static void call_name(struct ctx *c, uint32_t n, struct buf *out)
{
	struct part_call call;
	if (call_find(c, n, &call))
		part_call_component(&call, out);
}

/* Afterwards c views the record of the node's own entry again. */
static int make_call_names(struct ctx *c, void *entry, struct view *v)
{
	struct part_call call = {0};
	int rc = ctx_load(c, *(uint32_t *)entry);
	while (rc == 0 && call_next(c, &call)) {
		if (v->n == v->room && !vec_grow(&v->ends, &v->room, v->n + 1, sizeof *v->ends))
			return -ENOMEM;
		part_call_component(&call, &v->bytes);
		v->ends[v->n++] = v->bytes.n;
		rc = stop_check();
	}
	if (rc == 0)
		rc = ctx_load(c, c->node.entry);
	return rc < 0 ? rc : buf_err(&v->bytes);
}

static int call_name_kept(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out)
{
	node_t id = node_pack((struct node){.kind = KIND_CALL_VIEW, .slot = c->node.slot, .entry = entry});
	int rc = 0;
	const struct view *v = view_get(c, id, 0, make_call_names, &entry, &rc);
	if (!v)
		return rc;
	if (n <= v->n)
		buf_addspan(out, view_name(v, n - 1));
	cache_release(c->tree->cache, v);
	return 0;
}

/* The results of several messages can alternate. For a long message the names of its calls are kept, not its line:
 * otherwise the lines would evict each other, and be read again for every result. */
int call_name_of(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out)
{
	if (session_entry(c->session, entry)->length > LINE_SHORT && cache_budget(c->tree->cache)->limit)
		return call_name_kept(c, entry, n, out);
	int rc = ctx_load(c, entry);
	if (rc < 0)
		return rc;
	call_name(c, n, out);
	return ctx_load(c, c->node.entry);
}

int call_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct part_call call = {.n = (unsigned)cookie};
	int rc = 0;
	while (rc == 0 && call_next(dir, &call)) {
		struct node n = {.slot = dir->node.slot, .entry = dir->node.entry, .part = call.n};
		buf_reset(&name);
		part_call_component(&call, &name);
		if (list_child(dir, l, n, buf_span(&name), COOKIE_FAMILY + call.n))
			break;
		rc = stop_check();
	}
	return rc < 0 ? rc : buf_err(&name);
}

/* The number at the beginning of a name; 0 if there is none, or if it is too great for a part. */
static uint32_t number_of(struct span name)
{
	uint32_t n = 0;
	for (size_t i = 0; i < name.n && name.p[i] >= '0' && name.p[i] <= '9' && n < NODE_WIDE_PARTS; i++)
		n = n * 10 + (uint32_t)(name.p[i] - '0');
	return n < NODE_WIDE_PARTS ? n : 0;
}

int call_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	uint32_t n = number_of(name);
	if (n == 0)
		return -ENOENT;
	call_name(dir, n, &made);
	if (!span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : -ENOENT;
	ret->part = n;
	return 0;
}

/* As call_next. */
static bool image_next(struct ctx *c, struct part_image *image)
{
	if (image->n && !image->rest.live) {
		unsigned n = image->n;
		struct mark mark = mark_before(&c->marks, MARKS_IMAGES, n);
		*image = (struct part_image){.n = mark.n, .rest = mark.rest};
		while (image->n < n)
			if (!part_image_next(&c->record, image))
				return false;
	}
	bool found = part_image_next(&c->record, image) && image->n < node_parts(c->loaded);
	if (found)
		mark_add(&c->marks, MARKS_IMAGES, image->n, &image->rest);
	return found;
}

bool image_find(struct ctx *c, uint32_t n, struct part_image *ret)
{
	struct part_image image = {.n = n ? mark_before(&c->marks, MARKS_IMAGES, n - 1).n : 0};
	while (image.n < n)
		if (!image_next(c, &image))
			return false;
	*ret = image;
	return n > 0 && image.size > 0;
}

static void add_image_name(const struct part_image *image, struct buf *out)
{
	buf_addf(out, "%u.%s", image->n, image->ext);
}

int image_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct part_image image = {.n = (unsigned)cookie};
	int rc = 0;
	while (rc == 0 && image_next(dir, &image)) {
		rc = stop_check();
		if (image.size == 0)
			continue;
		struct node n = {.slot = dir->node.slot, .entry = dir->node.entry, .part = image.n};
		buf_reset(&name);
		add_image_name(&image, &name);
		if (list_child(dir, l, n, buf_span(&name), COOKIE_FAMILY + image.n))
			break;
	}
	return rc < 0 ? rc : buf_err(&name);
}

int image_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	struct part_image image;
	uint32_t n = number_of(name);
	if (!image_find(dir, n, &image))
		return -ENOENT;
	add_image_name(&image, &made);
	if (!span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : -ENOENT;
	ret->part = n;
	return 0;
}
