/* SPDX-License-Identifier: MIT */
/* Views that a producer renders in segments (producer.h).
 *
 * The segments of a list are rendered in slices, each by several threads into memory that is used again, and appended
 * to the body of the view. When the session has grown, the body of its previous view is extended if the producer
 * supports that: then the cost depends on the appended entries, not on the size of the session. Readers of the previous
 * view share that body, and see its old length. */
#include "sessionfs/base/clock.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/limits.h"
#include "tree_impl.h"

#include <errno.h>

/* Segments needed for a further run, which can get a thread of its own. */
#define RUN_ITEMS_MIN 256
/* The maximum memory that a run leaves to the next one. */
#define RUN_BUFFER_KEEP_MAX ((size_t)LIMIT(2 << 20, 64))
/* A slice ends after this many bytes of lines. This limits the memory that its runs use. */
#define SLICE_BYTES ((uint64_t)LIMIT(16 << 20, 4096))

/* Segments to render, and the result. */
struct run {
	const struct render_target *target;
	const struct producer *producer;
	const char *items;
	size_t n;
	bool is_first;        /* the first of the view */
	struct usage *usages; /* one for each segment */
	struct run_buffer buffer;
};

#define RUN_BUFFER_INIT                                                                                                \
	{                                                                                                              \
		BUF_INIT, READER_INIT                                                                                  \
	}

static void run_buffer_release(struct run_buffer *m)
{
	buf_release(&m->bytes);
	reader_release(&m->reader);
}

void run_buffers_init(struct run_buffers *s)
{
	for (size_t k = 0; k < RUNS_MAX; k++)
		s->runs[k] = (struct run_buffer)RUN_BUFFER_INIT;
	lock_init(&s->lock, LOCK_RUNS);
}

void run_buffers_release(struct run_buffers *s)
{
	for (size_t k = 0; k < RUNS_MAX; k++)
		run_buffer_release(&s->runs[k]);
	lock_destroy(&s->lock);
}

static void run_buffer_swap(struct run_buffer *a, struct run_buffer *b)
{
	struct run_buffer other = *a;
	*a = *b;
	*b = other;
}

/* Keeps the larger one of two returned buffers. */
static void run_buffers_put(struct run_buffers *s, size_t k, struct run_buffer *m)
{
	buf_reset(&m->bytes);
	reader_reset(&m->reader);
	if (m->bytes.cap > RUN_BUFFER_KEEP_MAX)
		buf_release(&m->bytes);
	lock_acquire(&s->lock);
	if (m->bytes.cap >= s->runs[k].bytes.cap)
		run_buffer_swap(&s->runs[k], m);
	lock_release(&s->lock);
	run_buffer_release(m);
}

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

static uint32_t item_entry_number(const void *item)
{
	return *(const uint32_t *)item;
}

static int run_render(void *arg, size_t k)
{
	struct run *r = (struct run *)arg + k;
	size_t each = r->producer->item_size;
	int rc = 0;
	for (size_t i = 0; i < r->n && rc == 0; i++)
		rc = r->producer->segment(r->target, r->items + i * each, r->is_first && i == 0, &r->buffer.reader,
		                          &r->usages[i], &r->buffer.bytes);
	return rc;
}

/* A body that is being extended: the result replaces its state once the whole view is rendered. */
struct growth {
	struct body *body;
	size_t from, to; /* bytes: at the beginning, and now */
	struct render_totals totals;
	size_t n;
	uint32_t last;
};

/* Appends the bytes of the runs. Returns -ESTALE if another thread has extended the body. */
static int growth_append(struct growth *g, struct run *runs, size_t n)
{
	struct buf *bytes = &g->body->bytes;
	LOCKED(&g->body->lock);
	if (bytes->n != g->to)
		return -ESTALE;
	if (bytes->n == 0 && n == 1 && runs->buffer.bytes.file) {
		struct buf empty = *bytes;
		*bytes = runs->buffer.bytes;
		runs->buffer.bytes = empty;
	} else {
		for (size_t k = 0; k < n; k++)
			buf_addspan(bytes, buf_span(&runs[k].buffer.bytes));
	}
	g->to = bytes->n;
	return buf_err(bytes);
}

/* Renders one slice. Adds usage in the order of the list, so that the sum does not depend on the number of threads, or
 * on the steps in which the session grew. */
static int slice_render(struct ctx *c, const struct render_target *p, const char *items, size_t count, struct growth *g)
{
	struct run runs[RUNS_MAX] = {0};
	const struct producer *producer = c->kind->make.producer;
	size_t n = count / RUN_ITEMS_MIN;
	n = n < 1 ? 1 : n < RUNS_MAX ? n : RUNS_MAX;
	struct usage *usages CLEANUP_FREE = calloc(count, sizeof *usages);
	if (!usages)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		size_t from = count * k / n;
		runs[k] = (struct run){
		    .target = p,
		    .producer = producer,
		    .items = items + from * producer->item_size,
		    .n = count * (k + 1) / n - from,
		    .is_first = g->n == 0 && k == 0,
		    .usages = usages + from,
		    .buffer = RUN_BUFFER_INIT,
		};
	}
	/* Reused memory causes no page faults: a cold find takes a tenth less. */
	lock_acquire(&c->tree->run_scratch.lock);
	for (size_t k = 0; k < n; k++)
		run_buffer_swap(&c->tree->run_scratch.runs[k], &runs[k].buffer);
	lock_release(&c->tree->run_scratch.lock);
	int rc = parallel_for(n, run_render, runs);
	for (size_t i = 0; i < count; i++)
		usage_add(&g->totals.usage, usages[i]);
	if (rc == 0)
		rc = growth_append(g, runs, n);
	for (size_t k = 0; k < n; k++)
		run_buffers_put(&c->tree->run_scratch, k, &runs[k].buffer);
	g->n += count;
	g->last = item_entry_number(items + (count - 1) * producer->item_size);
	return rc;
}

/* Renders the segments of n items. */
static int growth_render(struct ctx *c, const struct render_target *p, const char *items, size_t n, struct growth *g)
{
	size_t each = c->kind->make.producer->item_size, to;
	int rc = 0;
	for (size_t from = 0; from < n && rc == 0; from = to) {
		uint64_t bytes = 0;
		for (to = from; to < n && bytes < SLICE_BYTES; to++)
			bytes += session_entry(p->session, item_entry_number(items + to * each))->length;
		rc = slice_render(c, p, items + from * each, to - from, g);
	}
	return rc;
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

/* Extends the body of the previous view. Returns 1; 0 if the segments must all be rendered; or a negative errno. */
static int growth_continue(struct ctx *c, const struct render_target *p, struct growth *g)
{
	const struct producer *producer = c->kind->make.producer;
	void *items CLEANUP_FREE = NULL;
	uint32_t entries;
	size_t n = 0;
	lock_acquire(&g->body->lock);
	/* Only one thread extends a body: another one that comes meanwhile renders its own. */
	bool is_valid = body_is_valid(producer, p->session, g->body) && g->body->bytes.n == g->body->size;
	g->from = g->to = g->body->size;
	g->totals = g->body->totals;
	g->n = g->body->n;
	g->last = g->body->last;
	entries = g->body->entries;
	lock_release(&g->body->lock);
	if (!is_valid)
		return 0;
	if (entries == session_count(p->session))
		return 1;
	if (producer->list_appended(p, entries, g->last, &g->totals, &items, &n) < 0 || n == 0)
		return 0;
	int rc = growth_render(c, p, items, n, g);
	return rc == 0 ? 1 : rc == -ESTALE && g->to == g->from ? 0 : rc;
}

/* Sets the state of the body, unless another thread has extended it. After an error, removes what was appended. */
static void growth_end(struct growth *g, const struct session *s, int rc)
{
	struct body *b = g->body;
	LOCKED(&b->lock);
	if (rc < 0) {
		b->bytes.n = g->to > g->from ? g->from : b->bytes.n;
		b->bytes.err = 0;
	} else if (b->bytes.n == g->to) {
		b->size = g->to;
		b->totals = g->totals;
		b->n = g->n;
		b->last = g->last;
		b->entries = session_count(s);
		b->relinks = session_relink_count(s);
	}
}

int view_render(struct ctx *c, struct view *ret)
{
	const struct producer *producer = c->kind->make.producer;
	struct growth g = {.body = cache_get_body(c->tree->cache, ctx_id(c))};
	struct render_target p;
	void *items CLEANUP_FREE = NULL;
	size_t n;
	int rc = ctx_render_target(c, &p);
	ret->body = g.body;
	if (rc == 0 && g.body)
		rc = growth_continue(c, &p, &g);
	if (rc == 0) {
		body_put(ret->body);
		ret->body = body_new();
		g = (struct growth){.body = ret->body, .totals = TOTALS_INIT};
		rc = g.body ? producer->list(&p, &g.totals, &items, &n) : -ENOMEM;
		rc = rc < 0 ? rc : growth_render(c, &p, items, n, &g);
	}
	if (rc >= 0)
		rc = producer->front ? producer->front(&p, &g.totals, &ret->bytes) : 0;
	if (rc == 0 && producer->back)
		rc = producer->back(&p, &g.totals, g.n, &ret->back);
	rc = rc < 0 ? rc : buf_err(&ret->bytes) ? buf_err(&ret->bytes) : buf_err(&ret->back);
	ret->body_n = g.to;
	if (g.body)
		growth_end(&g, p.session, rc);
	return rc;
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
	int deferred = deferred_push(), rc = deferred_pop(deferred, pinned_renew(h));
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
	struct reader reader CLEANUP_READER = READER_INIT;
	struct render_totals totals = TOTALS_INIT;
	struct render_target p;
	void *items CLEANUP_FREE = NULL;
	size_t n = 0, before = h->tail.n;
	int rc = ctx_open(&c, h->tree, tree_node(h->node), SCOPE_INDEX);
	if (rc < 0 || session_count(c.session) <= h->entries)
		return rc;
	const struct producer *producer = c.kind->make.producer;
	rc = ctx_render_target(&c, &p);
	rc = rc < 0 ? rc : producer->list_appended(&p, h->entries, NO_ENTRY, &totals, &items, &n);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = producer->segment(&p, (char *)items + i * producer->item_size, false, &reader, NULL, &h->tail);
	if (rc == 0)
		h->entries = session_count(c.session);
	else
		h->tail.n = before;
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
	int deferred = deferred_push();
	/* Errors are ignored: the session can be gone, and its text is still pinned. */
	if (off == 0 && h->at_end && h->entries != NO_ENTRY)
		pinned_renew(h);
	if (off >= pinned_size(h) && h->entries != NO_ENTRY && pinned_extend(h) < 0)
		h->tail.err = 0;
	deferred_pop(deferred, 0);
	uint64_t size = h->view ? view_size(h->view) : 0;
	size_t before = out->n;
	if (h->view)
		view_read(h->view, off, n, out);
	append_slice(out, buf_span(&h->tail), off > size ? off - size : 0, n - (out->n - before));
	h->at_end = off + (out->n - before) >= pinned_size(h);
	return buf_err(out);
}
