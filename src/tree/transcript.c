/* Transcripts.
 *
 * A transcript can be larger than memory should hold. The first look at one makes
 * every segment once and notes where each ends; the bytes are kept along if they
 * fit in a share of the cache. Otherwise a read makes again just the segments
 * it touches.
 *
 * A segment depends on nothing but its entry and its ancestors, so those of a long
 * path are made by several threads, each a run of them.
 *
 * When the session has grown, the view made before is gone on with: what was appended costs what it is, not what the
 * session is. */
#include "sessionfs/render/render.h"
#include "sessionfs/base/stop.h"
#include "tree_impl.h"

#include <errno.h>

/* A view may take this share of the cache with its bytes. */
#define BYTES_SHARE 4
/* A thread is worth its start from so many segments on. */
#define RUN_LEAST 256
/* More than this is not left to the next one. */
#define SPARE_BYTES ((size_t)2 << 20)
/* A longer segment is not made again for each read. */
#define SEGMENT_LONG ((uint64_t)256 << 10)

/* A run of segments, [from, to), and what came of them. */
struct run {
	const struct session *session;
	const struct view *view;
	const char *prefix;
	size_t from, to, limit;
	struct render_usage *usages; /* one a segment of the view */
	struct buf bytes;            /* empty once they were more than the limit */
	uint64_t size;
	bool kept;
	int rc;
	const struct stop *stop; /* what the thread works for */
	pthread_t thread;
	bool started;
};

void spare_init(struct spare *s)
{
	*s = (struct spare){.runs = {BUF_INIT}};
	lock_init(&s->lock, LOCK_SPARE);
}

void spare_release(struct spare *s)
{
	for (size_t k = 0; k < RUNS_MOST; k++)
		buf_release(&s->runs[k]);
	lock_destroy(&s->lock);
}

/* Memory that was used before costs no page faults. */
static struct buf spare_take(struct spare *s, size_t k)
{
	LOCKED(&s->lock);
	struct buf b = s->runs[k];
	s->runs[k] = (struct buf)BUF_INIT;
	return b;
}

static void spare_give(struct spare *s, size_t k, struct buf *b)
{
	buf_reset(b);
	lock_take(&s->lock);
	if (b->cap <= SPARE_BYTES && b->cap > s->runs[k].cap) {
		struct buf other = s->runs[k];
		s->runs[k] = *b;
		*b = other;
	}
	lock_give(&s->lock);
	buf_release(b);
}

/* Segment 0 is the front matter; segment i the path's entry i - 1. */
static int view_of_path(struct ctx *c, uint32_t at, struct view *v)
{
	uint32_t *path CLEANUP_FREE = NULL;
	size_t n = 0;
	if (at != NO_ENTRY) {
		int rc = session_path(c->session, at, &path, &n);
		if (rc < 0)
			return rc;
	}
	v->entries = malloc((n + 1) * sizeof *v->entries);
	v->ends = malloc((n + 1) * sizeof *v->ends);
	if (!v->entries || !v->ends)
		return -ENOMEM;
	v->entries[0] = NO_ENTRY;
	if (n > 0)
		memcpy(v->entries + 1, path, n * sizeof *path);
	v->segments = v->room = n + 1;
	return 0;
}

/* Room for what a run will be: its text is seldom longer than its lines. */
static void reserve_run(struct run *r)
{
	uint64_t lines = 0;
	for (size_t i = r->from; i < r->to; i++)
		lines += session_entry(r->session, r->view->entries[i])->length;
	buf_reserve(&r->bytes, lines < r->limit ? (size_t)lines : r->limit);
}

/* Makes the segments of a run: where each ends, counted from the beginning of the run, what each used, and the bytes
 * while they are within the limit. */
static void *make_run(void *arg)
{
	struct run *r = arg;
	stop_set(r->stop);
	struct reader reader CLEANUP_READER = READER_INIT;
	uint64_t before = 0;
	r->kept = true;
	reserve_run(r);
	for (size_t i = r->from; i < r->to; i++) {
		r->rc = render_transcript_segment(r->session, r->view->entries[i], &reader, &r->usages[i], r->prefix,
		                                  &r->bytes);
		if (r->rc == 0)
			r->rc = buf_err(&r->bytes);
		if (r->rc == 0)
			r->rc = stop_check();
		if (r->rc < 0)
			return NULL;
		r->size = before + r->bytes.n;
		r->view->ends[i] = r->size;
		r->kept = r->kept && r->bytes.n <= r->limit;
		if (r->kept)
			continue;
		before += r->bytes.n;
		r->bytes.n = 0;
	}
	return NULL;
}

static size_t run_count(size_t segments)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = segments / RUN_LEAST;
	size_t most = cpus < 1 ? 1 : cpus > RUNS_MOST ? RUNS_MOST : (size_t)cpus;
	return n < 1 ? 1 : n < most ? n : most;
}

/* The first run is this thread's; one whose thread does not start is, too. */
static void make_runs(struct run *runs, size_t n)
{
	for (size_t i = 1; i < n; i++)
		runs[i].started = pthread_create(&runs[i].thread, NULL, make_run, &runs[i]) == 0;
	for (size_t i = 0; i < n; i++)
		if (!runs[i].started)
			make_run(&runs[i]);
	for (size_t i = 1; i < n; i++)
		if (runs[i].started)
			pthread_join(runs[i].thread, NULL);
}

static struct render_usage usage_of(const struct view_sums *s)
{
	const double *u = s->usage;
	return (struct render_usage){u[0], u[1], u[2], u[3], u[4], u[5]};
}

static void add_usage(struct view_sums *s, const struct render_usage *u)
{
	const double more[] = {u->input, u->output, u->cache_read, u->cache_write, u->total, u->cost};
	for (size_t i = 0; i < 6; i++)
		s->usage[i] += more[i];
}

/* What is to be known of the view to go on with it. Usage is added in the order of the path, so that the sum is the
 * same however many threads there were and in how many steps the path was gone. */
static void sum_up(const struct session *s, size_t from, const struct render_usage *each, struct view *v)
{
	struct context settings = {NULL, 0, v->sums.model, v->sums.thinking};
	for (size_t i = from; i < v->segments; i++)
		add_usage(&v->sums, &each[i - from]);
	context_settings(s, v->entries + from, v->segments - from, &settings);
	v->sums.model = settings.model;
	v->sums.thinking = settings.thinking;
	v->sums.entries = session_count(s);
	v->sums.relinks = session_relinks(s);
}

static int make_front(const struct session *s, uint32_t at, struct view *v)
{
	const struct context settings = {NULL, 0, v->sums.model, v->sums.thinking};
	const struct render_usage usage = usage_of(&v->sums);
	struct buf front CLEANUP_BUF = BUF_INIT;
	int rc = render_transcript_front_of(s, at, &settings, &usage, &front);
	if (rc < 0 || buf_err(&front))
		return rc < 0 ? rc : buf_err(&front);
	buf_release(&v->bytes);
	v->bytes = front;
	front = (struct buf)BUF_INIT;
	v->ends[0] = v->bytes.n;
	return 0;
}

static uint64_t end_of(const struct view *v, size_t i)
{
	return i ? v->ends[0] + v->ends[i] : v->ends[0];
}

/* Puts the runs behind the front matter. Without all bytes only that is kept, and where everything ends: to make it
 * again would read the whole path. */
static int join_runs(struct run *runs, size_t n, struct view *v)
{
	uint64_t before = 0;
	bool kept = true;
	for (size_t k = 0; k < n; k++) {
		for (size_t i = runs[k].from; i < runs[k].to; i++)
			v->ends[i] += before;
		before += runs[k].size;
		kept = kept && runs[k].kept;
	}
	v->size = v->bytes.n + before;
	if (!kept)
		return 0;
	buf_reserve(&v->bytes, (size_t)before);
	for (size_t k = 0; k < n; k++)
		buf_addspan(&v->bytes, buf_span(&runs[k].bytes));
	return buf_err(&v->bytes);
}

static int make_view(struct ctx *c, uint32_t at, const char *prefix, struct view *ret)
{
	struct run runs[RUNS_MOST] = {0};
	int rc = view_of_path(c, at, ret);
	if (rc < 0)
		return rc;
	struct render_usage *usages CLEANUP_FREE = calloc(ret->segments, sizeof *usages);
	if (!usages)
		return -ENOMEM;
	size_t n = run_count(ret->segments), made = ret->segments - 1;
	for (size_t k = 0; k < n; k++)
		runs[k] = (struct run){
		    .session = c->session,
		    .view = ret,
		    .prefix = prefix,
		    .from = 1 + made * k / n,
		    .to = 1 + made * (k + 1) / n,
		    .limit = cache_budget(c->tree->cache)->limit / BYTES_SHARE / n,
		    .usages = usages,
		    .stop = stop_get(),
		    .bytes = spare_take(&c->tree->spare, k),
		};
	make_runs(runs, n);
	for (size_t k = 0; k < n && rc == 0; k++)
		rc = runs[k].rc;
	ret->sums = (struct view_sums){.model = NO_ENTRY, .thinking = NO_ENTRY};
	sum_up(c->session, 1, usages + 1, ret);
	if (rc == 0)
		rc = make_front(c->session, at, ret);
	if (rc == 0)
		rc = join_runs(runs, n, ret);
	for (size_t k = 0; k < n; k++)
		spare_give(&c->tree->spare, k, &runs[k].bytes);
	return rc;
}

/* --- going on ------------------------------------------------------------------ */

/* Labels stand in segments that were made. */
static bool is_same_so_far(const struct session *s, const struct view *v)
{
	uint32_t n = session_count(s);
	if (v->segments < 2 || v->sums.entries > n || v->sums.relinks != session_relinks(s))
		return false;
	for (uint32_t i = v->sums.entries; i < n; i++)
		if (session_entry(s, i)->type == RECORD_LABEL)
			return false;
	return true;
}

/* How many entries the path to `at` has beyond the view's, all of them new; 0 if it does not go on from there. */
static size_t count_more(const struct session *s, const struct view *v, uint32_t at)
{
	uint32_t last = v->entries[v->segments - 1];
	size_t n = 0;
	for (uint32_t i = at; i != last; i = session_entry(s, i)->parent, n++)
		if (i == NO_ENTRY || i < v->sums.entries ||
		    session_entry(s, i)->flags & (ENTRY_WALK_ENDS | ENTRY_CYCLE))
			return 0;
	return n;
}

static int make_room(struct view *v, size_t more)
{
	size_t room = v->segments + more + v->segments / 8;
	if (v->segments + more <= v->room)
		return 0;
	uint64_t *ends = reallocarray(v->ends, room, sizeof *ends);
	v->ends = ends ? ends : v->ends;
	uint32_t *entries = ends ? reallocarray(v->entries, room, sizeof *entries) : NULL;
	if (!entries)
		return -ENOMEM;
	v->entries = entries;
	v->room = room;
	return 0;
}

/* Adds what the path to `at` has more. The bytes before are let go: who follows a transcript has read them. */
static int extend(struct ctx *c, uint32_t at, const char *prefix, struct view *v)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	struct buf piece CLEANUP_BUF = BUF_INIT;
	const struct session *s = c->session;
	size_t n = is_same_so_far(s, v) ? count_more(s, v, at) : 0, from = v->segments;
	struct render_usage *usages CLEANUP_FREE = n ? calloc(n, sizeof *usages) : NULL;
	if (!usages || make_room(v, n) < 0)
		return -ENOMEM;
	uint32_t i = at;
	for (size_t k = n; k > 0; k--, i = session_entry(s, i)->parent)
		v->entries[from + k - 1] = i;
	for (size_t k = 0; k < n; k++) {
		int rc = render_transcript_segment(s, v->entries[from + k], &reader, &usages[k], prefix, &piece);
		if (rc < 0 || buf_err(&piece))
			return rc < 0 ? rc : buf_err(&piece);
		v->ends[from + k] = (from > 1 ? v->ends[from - 1] : 0) + piece.n;
	}
	v->segments += n;
	sum_up(s, from, usages, v);
	int rc = make_front(s, at, v);
	v->size = end_of(v, v->segments - 1);
	return rc;
}

int view_transcript(struct ctx *c, uint32_t at, const char *prefix, struct view *ret)
{
	struct view before;
	if (cache_take(c->tree->cache, node_pack(c->node), &before)) {
		if (extend(c, at, prefix, &before) == 0) {
			*ret = before;
			return 0;
		}
		view_release(&before);
	}
	return make_view(c, at, prefix, ret);
}

const char *view_prefix(const struct ctx *c)
{
	return c->kind->scope >= SCOPE_ENTRY ? "../../" : "";
}

/* The first segment that ends after off. */
static size_t segment_at(const struct view *v, uint64_t off)
{
	size_t lo = 0, hi = v->segments;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (end_of(v, mid) > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Appends up to n bytes of a segment from `skip` on. */
static void add_some(struct span made, uint64_t skip, size_t n, struct buf *out)
{
	size_t left = made.n - (size_t)skip;
	buf_add(out, made.p + skip, left < n ? left : n);
}

/* A segment that is read in many pieces is made once and kept. */
static int read_long(struct ctx *c, uint32_t entry, const char *prefix, uint64_t size, uint64_t skip, size_t n,
                     struct buf *out)
{
	struct cache *cache = c->tree->cache;
	node_t id = node_pack(
	    (struct node){.kind = KIND_SEGMENT_VIEW, .slot = c->node.slot, .entry = entry, .part = *prefix != '\0'});
	const struct view *kept = cache_get(cache, id, session_serial(c->session));
	if (!kept) {
		struct reader reader CLEANUP_READER = READER_INIT;
		struct view made = {.bytes = BUF_INIT};
		int rc = render_transcript_segment(c->session, entry, &reader, NULL, prefix, &made.bytes);
		if (rc == 0)
			rc = buf_err(&made.bytes);
		if (rc < 0) {
			view_release(&made);
			return rc;
		}
		made.size = made.bytes.n;
		kept = cache_put(cache, id, session_serial(c->session), &made);
	}
	if (!kept)
		return -ENOMEM;
	bool same = kept->size == size;
	if (same)
		add_some(buf_span(&kept->bytes), skip, n, out);
	cache_release(cache, kept);
	return same ? 0 : -EIO;
}

int view_read(struct ctx *c, const struct view *v, const char *prefix, uint64_t off, size_t n, struct buf *out)
{
	struct buf piece CLEANUP_BUF = BUF_INIT;
	struct reader reader CLEANUP_READER = READER_INIT;
	size_t want = out->n + n;
	for (size_t i = segment_at(v, off); i < v->segments && out->n < want; i++) {
		uint64_t begin = i ? end_of(v, i - 1) : 0, skip = off > begin ? off - begin : 0;
		struct span made = {v->bytes.p, (size_t)v->ends[0]};
		int stop = stop_check();
		if (stop < 0)
			return stop;
		if (i > 0 && end_of(v, i) - begin > SEGMENT_LONG) {
			int rc = read_long(c, v->entries[i], prefix, end_of(v, i) - begin, skip, want - out->n, out);
			if (rc < 0)
				return rc;
			continue;
		}
		if (i > 0) {
			piece.n = 0;
			int rc = render_transcript_segment(c->session, v->entries[i], &reader, NULL, prefix, &piece);
			if (rc < 0 || buf_err(&piece))
				return rc < 0 ? rc : buf_err(&piece);
			made = buf_span(&piece);
		}
		if (begin + made.n != end_of(v, i))
			return -EIO;
		add_some(made, skip, want - out->n, out);
	}
	return 0;
}

/* --- for one reader ----------------------------------------------------------------- */

static bool is_transcript(const struct kind *k)
{
	return k && k->view;
}

static int pin(struct tree *t, node_t node, size_t most, struct buf *out, uint32_t *count)
{
	struct ctx c CLEANUP_CTX = {0};
	int rc = ctx_open(&c, t, tree_node(node), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	*count = is_transcript(c.kind) ? session_count(c.session) : TREE_PIN_WHOLE;
	return ctx_read(&c, 0, most, out);
}

int tree_pin(struct tree *t, node_t node, size_t most, struct buf *out, uint32_t *count)
{
	int faults = fault_begin();
	return fault_end(faults, pin(t, node, most, out, count));
}

/* The entries on the path to `at` from number `first` on, oldest first: how many, or a negative errno. A walk that
 * turns back in the file is not followed. */
static ssize_t newer_path(const struct session *s, uint32_t at, uint32_t first, uint32_t **ret)
{
	uint32_t count = session_count(s);
	size_t n = 0, room = count - first;
	uint32_t *path = malloc(room * sizeof *path);
	if (!path)
		return -ENOMEM;
	for (uint32_t i = at, below = count; i != NO_ENTRY && i >= first && i < below;) {
		path[room - ++n] = i;
		below = i;
		i = session_entry(s, i)->flags & ENTRY_WALK_ENDS ? NO_ENTRY : session_entry(s, i)->parent;
	}
	memmove(path, path + room - n, n * sizeof *path);
	*ret = path;
	return (ssize_t)n;
}

static int pin_more(struct tree *t, node_t node, uint32_t *count, struct buf *out)
{
	struct ctx c CLEANUP_CTX = {0};
	struct reader reader CLEANUP_READER = READER_INIT;
	uint32_t *path CLEANUP_FREE = NULL;
	struct node id = tree_node(node);
	if (!is_transcript(kind_of(id)) || *count == TREE_PIN_WHOLE)
		return 0;
	int rc = ctx_open(&c, t, id, SCOPE_INDEX);
	if (rc < 0 || session_count(c.session) <= *count)
		return rc;
	ssize_t n = newer_path(c.session, ctx_position(&c), *count, &path);
	size_t before = out->n;
	for (ssize_t i = 0; i < n && rc == 0; i++)
		rc = render_transcript_segment(c.session, path[i], &reader, NULL, view_prefix(&c), out);
	if (n < 0 || rc < 0 || buf_err(out)) {
		out->n = before;
		return n < 0 ? (int)n : rc < 0 ? rc : buf_err(out);
	}
	*count = session_count(c.session);
	return 0;
}

int tree_pin_more(struct tree *t, node_t node, uint32_t *count, struct buf *out)
{
	int faults = fault_begin();
	return fault_end(faults, pin_more(t, node, count, out));
}
