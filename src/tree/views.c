/* SPDX-License-Identifier: MIT */
/* Views that a producer renders in segments (producer.h).
 *
 * When the session has grown, the body of its previous view is extended if the producer supports that: then the cost
 * depends on the appended entries, not on the size of the session. Readers of the previous view share that body, and
 * see its old length. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/hash.h"
#include "tree_impl.h"

#include <errno.h>

/* --- the target ----------------------------------------------------------------- */

static int ctx_make_related(struct ctx *c)
{
	buf_reset(&c->related);
	int rc = c->kind->make.related(c, &c->related);
	return rc < 0 ? rc : buf_cstr(&c->related) ? 0 : -ENOMEM;
}

uint64_t ctx_related_serial(struct ctx *c)
{
	static const struct hash_key key = {.factor = UINT64_C(0x9e3779b97f4a7c15)};
	/* Contents that cannot be made get a new number each time. */
	return ctx_make_related(c) < 0 ? budget_clock() : hash_bytes(&key, 0, c->related.p, c->related.n);
}

static int ctx_render_target(struct ctx *c, struct render_target *ret)
{
	*ret = (struct render_target){.session = c->session,
	                              .leaf = ctx_conversation_end(c),
	                              .prefix = c->kind->from->scope >= SCOPE_ENTRY ? "../../" : "",
	                              .with_subagents = c->subagents_serial ? &c->with_subagents : NULL,
	                              .now = clock_ms(CLOCK_REALTIME)};
	int rc = c->kind->make.related ? ctx_make_related(c) : 0;
	if (rc < 0)
		return rc;
	ret->related_pages = c->kind->make.related ? c->related.p : NULL;
	if (!c->kind->make.to_session)
		return 0;
	buf_reset(&c->to_session);
	rc = c->kind->make.to_session(c, &c->to_session);
	ret->prefix = buf_cstr(&c->to_session);
	return rc < 0 ? rc : ret->prefix ? 0 : -ENOMEM;
}

/* --- rendering ----------------------------------------------------------------- */

/* Segments to append to a body, and its state after them. */
struct growth {
	struct body *body;
	size_t size; /* of the body: before the segments, then with them */
	struct buf bytes;
	struct render_totals totals;
	size_t n;
	uint32_t last;
};

/* Renders the segments of n items. Adds usage in the order of the list, so that the sum does not depend on the steps in
 * which the session grew. */
static int growth_render(struct ctx *c, const struct render_target *p, const char *items, size_t n, struct growth *g)
{
	const struct producer *producer = c->kind->make.producer;
	struct reader reader CLEANUP_READER = READER_INIT;
	int deferred = deferred_begin(), rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		const char *item = items + i * producer->item_size;
		struct usage usage = {0};
		rc = producer->segment(p, item, g->n == 0, &reader, &usage, &g->bytes);
		rc = rc < 0 ? rc : cancel_check();
		usage_add(&g->totals.usage, usage);
		memcpy(&g->last, item, sizeof g->last); /* an item begins with its entry */
		g->n++;
	}
	return deferred_end(deferred, rc < 0 ? rc : buf_err(&g->bytes));
}

/* Appends the segments. Returns -ESTALE if another thread has extended the body. */
static int growth_append(struct growth *g, const struct session *s)
{
	struct body *b = g->body;
	LOCKED(&b->lock);
	if (b->bytes.n != g->size)
		return g->bytes.n > 0 ? -ESTALE : 0;
	if (g->size == 0) {
		struct buf empty = b->bytes;
		b->bytes = g->bytes;
		g->bytes = empty;
	} else {
		buf_addspan(&b->bytes, buf_span(&g->bytes));
	}
	int err = buf_err(&b->bytes);
	b->bytes.err = 0;
	if (err)
		return err;
	g->size = b->bytes.n;
	b->totals = g->totals;
	b->n = g->n;
	b->last = g->last;
	b->entries = session_count(s);
	b->relinks = session_relink_count(s);
	return 0;
}

/* True if rendering the segments again would give the same bytes. */
static bool body_is_valid(const struct producer *producer, const struct session *s, const struct body *b)
{
	uint32_t n = session_count(s);
	if (!producer->list_appended || b->n == 0 || b->entries > n || b->relinks != session_relink_count(s))
		return false;
	for (uint32_t i = b->entries; producer->has_labels && i < n; i++) {
		const struct entry *e = session_entry(s, i);
		/* On another branch there are other edits. */
		if (e->type == RECORD_LABEL || e->type == RECORD_CONTEXT_EDIT ||
		    (session_has_edits(s) && e->parent + 1 != i))
			return false;
	}
	return true;
}

/* Extends the body of the previous view. Returns -ESTALE if the segments must all be rendered. */
static int growth_continue(struct ctx *c, const struct render_target *p, struct growth *g)
{
	const struct producer *producer = c->kind->make.producer;
	void *items CLEANUP_FREE = NULL;
	size_t n = 0;
	if (!g->body)
		return -ESTALE;
	lock_acquire(&g->body->lock);
	bool is_valid = body_is_valid(producer, p->session, g->body);
	uint32_t entries = g->body->entries;
	g->size = g->body->bytes.n;
	g->totals = g->body->totals;
	g->n = g->body->n;
	g->last = g->body->last;
	lock_release(&g->body->lock);
	if (!is_valid)
		return -ESTALE;
	if (entries == session_count(p->session))
		return 0;
	if (producer->list_appended(p, entries, g->last, &g->totals, &items, &n) < 0 || n == 0)
		return -ESTALE;
	int rc = growth_render(c, p, items, n, g);
	return rc < 0 ? rc : growth_append(g, p->session);
}

static int growth_start(struct ctx *c, const struct render_target *p, struct growth *g)
{
	void *items CLEANUP_FREE = NULL;
	size_t n;
	body_put(g->body);
	buf_release(&g->bytes);
	*g = (struct growth){.body = body_new(), .bytes = BUF_INIT, .totals = TOTALS_INIT};
	int rc = g->body ? c->kind->make.producer->list(p, &g->totals, &items, &n) : -ENOMEM;
	rc = rc < 0 ? rc : growth_render(c, p, items, n, g);
	return rc < 0 ? rc : growth_append(g, p->session);
}

int view_render(struct ctx *c, struct view *ret)
{
	const struct producer *producer = c->kind->make.producer;
	struct growth g = {.bytes = BUF_INIT};
	struct render_target p;
	int rc = ctx_render_target(c, &p);
	if (rc < 0)
		return rc;
	g.body = cache_get_body(c->tree->cache, ctx_id(c));
	rc = growth_continue(c, &p, &g);
	if (rc == -ESTALE)
		rc = growth_start(c, &p, &g);
	ret->body = g.body;
	ret->body_n = g.size;
	buf_release(&g.bytes);
	if (rc == 0 && producer->front)
		rc = producer->front(&p, &g.totals, &ret->bytes);
	if (rc == 0 && producer->back)
		rc = producer->back(&p, &g.totals, g.n, &ret->back);
	return rc < 0 ? rc : buf_err(&ret->bytes) ? buf_err(&ret->bytes) : buf_err(&ret->back);
}

/* --- for one reader ------------------------------------------------------------ */

/* A text as of its open, and for a file that only grows at its end the segments of later entries. */
struct tree_pinned {
	struct lock lock; /* guards the rest */
	struct tree *tree;
	node_t node;
	const struct view *view; /* NULL: empty */
	struct buf tail;
	uint32_t
	    entries; /* of the session, when the tail was last extended; NO_ENTRY: the file does not grow at its end */
	bool at_end; /* the last read reached the end */
};

/* Pins the current text. After an error, keeps the one before. */
static int pinned_renew(struct tree_pinned *h)
{
	struct ctx c CLEANUP_CTX = {0};
	const struct view *view = NULL;
	int rc = ctx_open(&c, h->tree, tree_node(h->node), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (ctx_name_exists(&c))
		view = ctx_view(&c, &rc);
	else if (!state_is_created(h->tree, c.node))
		rc = -ESTALE;
	if (rc < 0)
		return rc;
	cache_release(h->tree->cache, h->view);
	h->view = view;
	buf_reset(&h->tail);
	const struct producer *producer = c.kind->make.producer;
	bool grows = producer && producer->list_appended && (!producer->back || producer->back_is_transient);
	h->entries = grows ? session_count(c.session) : NO_ENTRY;
	return 0;
}

int tree_pin(struct tree *t, node_t node, struct tree_pinned **ret)
{
	struct tree_pinned *h = malloc(sizeof *h);
	if (!h)
		return -ENOMEM;
	*h = (struct tree_pinned){.tree = t, .node = node};
	lock_init(&h->lock, LOCK_HANDLE);
	int deferred = deferred_begin(), rc = deferred_end(deferred, pinned_renew(h));
	if (rc < 0)
		tree_unpin(h);
	else
		*ret = h;
	return rc;
}

void tree_unpin(struct tree_pinned *h)
{
	if (!h)
		return;
	cache_release(h->tree->cache, h->view);
	buf_release(&h->tail);
	lock_destroy(&h->lock);
	free(h);
}

/* Appends what was said since. After an error, appends nothing. */
static int pinned_extend(struct tree_pinned *h)
{
	struct ctx c CLEANUP_CTX = {0};
	struct growth g = {.bytes = BUF_INIT, .totals = TOTALS_INIT, .n = 1};
	struct render_target p;
	void *items CLEANUP_FREE = NULL;
	size_t n = 0;
	int rc = ctx_open(&c, h->tree, tree_node(h->node), SCOPE_INDEX);
	if (rc < 0 || session_count(c.session) <= h->entries)
		return rc;
	const struct producer *producer = c.kind->make.producer;
	rc = ctx_render_target(&c, &p);
	rc = rc < 0 ? rc : producer->list_appended(&p, h->entries, NO_ENTRY, &g.totals, &items, &n);
	rc = rc < 0 ? rc : growth_render(&c, &p, items, n, &g);
	if (rc == 0)
		buf_addspan(&h->tail, buf_span(&g.bytes));
	rc = rc < 0 ? rc : buf_err(&h->tail);
	if (rc == 0)
		h->entries = session_count(c.session);
	buf_release(&g.bytes);
	return rc;
}

static uint64_t pinned_size(const struct tree_pinned *h)
{
	return (h->view ? view_size(h->view) : 0) + h->tail.n;
}

uint64_t tree_pinned_size(struct tree_pinned *h)
{
	LOCKED(&h->lock);
	return pinned_size(h);
}

int tree_pinned_read(struct tree_pinned *h, uint64_t off, size_t n, struct buf *out)
{
	LOCKED(&h->lock);
	int deferred = deferred_begin();
	/* Errors are ignored: the session can be gone, and its text is still pinned. */
	if (off == 0 && h->at_end && h->entries != NO_ENTRY)
		pinned_renew(h);
	if (off >= pinned_size(h) && h->entries != NO_ENTRY && pinned_extend(h) < 0)
		h->tail.err = 0;
	deferred_end(deferred, 0);
	uint64_t size = h->view ? view_size(h->view) : 0;
	size_t before = out->n;
	if (h->view)
		view_read(h->view, off, n, out);
	buf_add_slice(out, buf_span(&h->tail), off > size ? off - size : 0, n - (out->n - before));
	h->at_end = off + (out->n - before) >= pinned_size(h);
	return buf_err(out);
}
