/* SPDX-License-Identifier: MIT */
/* Views that a producer renders in segments (producer.h).
 *
 * A view can be too large for memory. The first use renders every segment once and records where each ends. The cache
 * also keeps the bytes if they fit in a share of it. Otherwise it keeps only front and back, and a read renders the
 * segments that it needs again.
 *
 * Several threads render the segments of a long list, each a run of them.
 *
 * When the session has grown, its previous view is extended if the producer supports that: then the cost depends on the
 * appended entries, not on the size of the session. */
#include "sessionfs/render/producer.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/limits.h"
#include "tree_impl.h"

#include <errno.h>

/* The maximum share of the cache for the bytes of one view. */
#define BYTES_SHARE 4
/* Segments needed for a further run, which can get a thread of its own. */
#define RUN_ITEMS_MIN 256
/* The maximum memory that a run leaves to the next one. */
#define RUN_BUFFER_KEEP_MAX ((size_t)LIMIT(2 << 20, 64))
/* A longer segment is cached, not rendered again for each read. */
#define SEGMENT_LONG ((uint64_t)LIMIT(256 << 10, 64))

/* `more` of a view of segments. The view's `ends` count from the end of the front. */
struct made_segments {
	struct render_totals totals;
	size_t front;              /* bytes */
	uint32_t entries, relinks; /* of the session at that time */
};

/* A run of segments, [from, to), and the result of rendering them. */
struct run {
	const struct producer *producer;
	const struct render_target *target;
	const struct view *view;
	size_t from, to, limit;
	struct usage *usages;     /* one for each segment */
	struct run_buffer buffer; /* its bytes are empty after they exceeded the limit */
	uint64_t size;
	bool is_kept;
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

/* --- where a view stands --------------------------------------------------------- */

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

static const void *view_item_at(const struct view *v, size_t i)
{
	return (const char *)v->items + i * v->item;
}

static uint32_t segment_entry(const struct view *v, size_t i)
{
	return *(const uint32_t *)view_item_at(v, i);
}

/* --- making -------------------------------------------------------------------- */

/* Renders the segments of a run: where each ends, counted from the beginning of the run, the usage of each, and the
 * bytes while they are within the limit. */
static int run_render(void *arg, size_t k)
{
	struct run *r = (struct run *)arg + k;
	struct buf *bytes = &r->buffer.bytes;
	uint64_t before = 0;
	int rc = 0;
	r->is_kept = true;
	/* The text is seldom longer than its lines. */
	uint64_t lines = 0;
	for (size_t i = r->from; i < r->to && lines < r->limit; i++)
		lines += session_entry(r->target->session, segment_entry(r->view, i))->length;
	buf_reserve(bytes, lines < r->limit ? (size_t)lines : r->limit);
	for (size_t i = r->from; i < r->to && rc == 0; i++) {
		rc = r->producer->segment(r->target, view_item_at(r->view, i), i == 0, &r->buffer.reader,
		                          &r->usages[i - r->from], bytes);
		r->size = before + bytes->n;
		r->view->ends[i] = r->size;
		r->is_kept = r->is_kept && bytes->n <= r->limit;
		if (r->is_kept)
			continue;
		before += bytes->n;
		bytes->n = 0;
	}
	return rc;
}

/* Adds front and back around the runs. Without all bytes of the segments, keeps only these two and where each segment
 * ends: rendering them again would read the whole path. */
static int segments_join(struct run *runs, size_t n, struct view *v)
{
	const struct producer *producer = runs->producer;
	struct made_segments *m = v->more;
	uint64_t before = runs->from ? v->ends[runs->from - 1] : 0;
	bool kept = runs->from == 0;
	buf_release(&v->bytes);
	int rc = producer->front ? producer->front(runs->target, &m->totals, &v->bytes) : 0;
	m->front = v->bytes.n;
	for (size_t k = 0; k < n; k++) {
		for (size_t i = runs[k].from; i < runs[k].to; i++)
			v->ends[i] += before;
		before += runs[k].size;
		kept = kept && runs[k].is_kept;
	}
	buf_reserve(&v->bytes, kept ? (size_t)before : 0);
	for (size_t k = 0; kept && k < n; k++)
		buf_addspan(&v->bytes, buf_span(&runs[k].buffer.bytes));
	if (rc == 0 && producer->back)
		rc = producer->back(runs->target, &m->totals, v->n, &v->bytes);
	v->size = v->bytes.n + (kept ? 0 : before);
	return rc;
}

/* Renders the segments from number `from` on, and front and back. Adds usage in the order of the list, so that the sum
 * does not depend on the number of threads, or on the steps in which the session grew. */
static int segments_render_from(struct ctx *c, const struct render_target *p, size_t from, struct view *v)
{
	struct run runs[RUNS_MAX] = {0};
	struct made_segments *m = v->more;
	size_t more = v->n - from, n = more / RUN_ITEMS_MIN;
	n = n < 1 ? 1 : n < RUNS_MAX ? n : RUNS_MAX;
	struct usage *usages CLEANUP_FREE = calloc(more + 1, sizeof *usages);
	if (!usages)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		runs[k] = (struct run){
		    .producer = c->kind->make.producer,
		    .target = p,
		    .view = v,
		    .from = from + more * k / n,
		    .to = from + more * (k + 1) / n,
		    .limit = from ? 0 : cache_budget(c->tree->cache)->limit / BYTES_SHARE / n,
		    .usages = usages + more * k / n,
		    .buffer = RUN_BUFFER_INIT,
		};
	/* Reused memory causes no page faults: a cold find takes a tenth less. */
	lock_acquire(&c->tree->run_scratch.lock);
	for (size_t k = 0; k < n; k++)
		run_buffer_swap(&c->tree->run_scratch.runs[k], &runs[k].buffer);
	lock_release(&c->tree->run_scratch.lock);
	int rc = parallel_for(n, run_render, runs);
	for (size_t i = 0; i < more; i++)
		usage_add(&m->totals.usage, usages[i]);
	m->entries = session_count(p->session);
	m->relinks = session_relink_count(p->session);
	if (rc == 0)
		rc = segments_join(runs, n, v);
	for (size_t k = 0; k < n; k++)
		run_buffers_put(&c->tree->run_scratch, k, &runs[k].buffer);
	return rc;
}

static int segments_render_all(struct ctx *c, const struct render_target *p, struct view *ret)
{
	struct made_segments *m = ret->more = calloc(1, sizeof *m);
	if (!m)
		return -ENOMEM;
	m->totals = (struct render_totals)TOTALS_INIT;
	ret->item = c->kind->make.producer->item_size;
	int rc = c->kind->make.producer->list(p, &m->totals, &ret->items, &ret->n);
	if (rc < 0)
		return rc;
	ret->cap = ret->n;
	ret->ends = malloc((ret->n + 1) * sizeof *ret->ends);
	return ret->ends ? segments_render_from(c, p, 0, ret) : -ENOMEM;
}

/* --- growth -------------------------------------------------------------------- */

/* True if rendering the segments again would give the same bytes. */
static bool segments_are_valid(const struct producer *producer, const struct session *s, const struct made_segments *m)
{
	uint32_t n = session_count(s);
	if (m->entries > n || m->relinks != session_relink_count(s))
		return false;
	for (uint32_t i = m->entries; producer->has_labels && i < n; i++)
		if (session_entry(s, i)->type == RECORD_LABEL)
			return false;
	return true;
}

/* Adds the new items of the list. Drops the bytes of the old ones: a reader that follows the file has read them. */
static bool segments_extend(struct ctx *c, const struct render_target *p, struct view *v)
{
	const struct producer *producer = c->kind->make.producer;
	struct made_segments *m = v->more;
	void *items CLEANUP_FREE = NULL;
	size_t n = 0, from = v->n, cap = v->cap;
	if (!producer->list_appended || from == 0 || !segments_are_valid(producer, p->session, m) ||
	    producer->list_appended(p, m->entries, segment_entry(v, from - 1), &m->totals, &items, &n) < 0 || n == 0 ||
	    (v->n + n > v->cap && (!vec_grow(&v->ends, &cap, v->n + n, sizeof *v->ends) ||
	                           !vec_grow(&v->items, &v->cap, v->n + n, v->item))))
		return false;
	memcpy((char *)v->items + from * v->item, items, n * v->item);
	v->n += n;
	return segments_render_from(c, p, from, v) == 0;
}

int segments_render(struct ctx *c, struct view *ret)
{
	struct render_target p;
	struct view before;
	int rc = ctx_render_target(c, &p);
	if (rc < 0)
		return rc;
	if (cache_detach(c->tree->cache, ctx_id(c), &before)) {
		if (segments_extend(c, &p, &before)) {
			*ret = before;
			return 0;
		}
		view_release(&before);
	}
	return segments_render_all(c, &p, ret);
}

/* --- reading ------------------------------------------------------------------- */

/* Returns where segment i begins; i == n is the back. */
static uint64_t segment_begin(const struct view *v, size_t i)
{
	const struct made_segments *m = v->more;
	return m->front + (i ? v->ends[i - 1] : 0);
}

/* Returns the first segment that ends after off, or n. */
static size_t segment_at(const struct view *v, uint64_t off)
{
	size_t lo = 0, hi = v->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (segment_begin(v, mid + 1) > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* A segment that is rendered again. */
struct segment_remake {
	struct render_target target;
	const struct view *view;
	size_t i;
	struct reader reader;
	struct view segment;
};

static void segment_remake_release(struct segment_remake *a)
{
	reader_release(&a->reader);
	view_release(&a->segment);
}

static int segment_render_again(struct ctx *c, void *arg, struct view *ret)
{
	struct segment_remake *a = arg;
	ret->bytes.n = 0;
	return c->kind->make.producer->segment(&a->target, view_item_at(a->view, a->i), a->i == 0, &a->reader, NULL,
	                                       &ret->bytes);
}

/* Appends up to n bytes of a segment from `skip` on. Caches a long segment. */
static int read_segment(struct ctx *c, struct segment_remake *a, uint64_t skip, size_t n, struct buf *out)
{
	uint64_t size = segment_begin(a->view, a->i + 1) - segment_begin(a->view, a->i);
	const struct view *kept = NULL;
	int rc = 0;
	/* A node's part has too few numbers for all segments. */
	node_t id = (node_t)KIND_SEGMENT_VIEW << (64 - NODE_KIND_BITS) |
	            hash_word(hash_word(ctx_id(c)) + a->i) >> NODE_KIND_BITS;
	if (size > SEGMENT_LONG)
		kept = ctx_get_view(c, id, session_serial(c->session), segment_render_again, a, &rc);
	else
		rc = segment_render_again(c, a, &a->segment);
	struct span made = buf_span(kept ? &kept->bytes : &a->segment.bytes);
	if (rc == 0 && made.n != size)
		rc = -EIO;
	if (rc == 0)
		append_slice(out, made, skip, n);
	cache_release(c->tree->cache, kept);
	return rc;
}

int segments_read(struct ctx *c, const struct view *v, uint64_t off, size_t n, struct buf *out)
{
	const struct made_segments *m = v->more;
	struct segment_remake a CLEANUP(segment_remake_release) = {.view = v, .reader = READER_INIT};
	size_t want = out->n + n;
	int rc = ctx_render_target(c, &a.target);
	if (rc < 0)
		return rc;
	append_slice(out, (struct span){v->bytes.p, m->front}, off, n);
	for (a.i = segment_at(v, off); a.i < v->n && out->n < want; a.i++) {
		uint64_t begin = segment_begin(v, a.i);
		rc = read_segment(c, &a, off > begin ? off - begin : 0, want - out->n, out);
		if (rc < 0)
			return rc;
	}
	uint64_t back = segment_begin(v, v->n);
	append_slice(out, (struct span){v->bytes.p + m->front, v->bytes.n - m->front}, off > back ? off - back : 0,
	             want - out->n);
	return 0;
}

/* --- for one reader ------------------------------------------------------------ */

static bool kind_is_append_only(const struct kind *k)
{
	return k && k->make.producer && k->make.producer->list_appended &&
	       (!k->make.producer->back || k->make.producer->back_is_transient);
}

int tree_snapshot(struct tree *t, node_t node, size_t most, struct buf *out, uint32_t *count)
{
	struct ctx c CLEANUP_CTX = {0};
	int deferred = deferred_push(), rc = ctx_open(&c, t, tree_node(node), SCOPE_MOUNT);
	if (rc == 0) {
		*count = kind_is_append_only(c.kind) ? session_count(c.session) : TREE_SNAPSHOT_WHOLE;
		rc = ctx_read(&c, 0, most, out);
	}
	return deferred_pop(deferred, rc);
}

static int snapshot_append_new(struct tree *t, node_t node, uint32_t *count, struct buf *out)
{
	struct ctx c CLEANUP_CTX = {0};
	struct reader reader CLEANUP_READER = READER_INIT;
	struct render_totals totals = TOTALS_INIT;
	void *items CLEANUP_FREE = NULL;
	struct node id = tree_node(node);
	size_t n = 0, before = out->n;
	if (!kind_is_append_only(kind_of(id)) || *count == TREE_SNAPSHOT_WHOLE)
		return 0;
	int rc = ctx_open(&c, t, id, SCOPE_INDEX);
	if (rc < 0 || session_count(c.session) <= *count)
		return rc;
	const struct producer *producer = c.kind->make.producer;
	struct render_target p;
	rc = ctx_render_target(&c, &p);
	if (rc < 0)
		return rc;
	rc = producer->list_appended(&p, *count, NO_ENTRY, &totals, &items, &n);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = producer->segment(&p, (char *)items + i * producer->item_size, false, &reader, NULL, out);
	if (rc < 0) {
		out->n = before;
		return rc;
	}
	*count = session_count(c.session);
	return 0;
}

int tree_snapshot_append_new(struct tree *t, node_t node, uint32_t *count, struct buf *out)
{
	int deferred = deferred_push();
	return deferred_pop(deferred, snapshot_append_new(t, node, count, out));
}
