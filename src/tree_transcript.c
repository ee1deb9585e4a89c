/* Transcripts.
 *
 * A transcript can be larger than memory should hold. The first look at one makes
 * every segment once and notes where each ends; the bytes are kept along if they
 * fit in a share of the cache. Otherwise a read makes again just the segments
 * it touches.
 *
 * A segment depends on nothing but its entry and its ancestors, so those of a long
 * path are made by several threads, each a run of them. */
#include "sessionfs/render.h"
#include "tree_impl.h"

#include <errno.h>

/* A view may take this share of the cache with its bytes. */
#define BYTES_SHARE 4
/* A thread is worth its start from so many segments on. */
#define RUN_LEAST 256
#define RUNS_MOST 4

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
	pthread_t thread;
	bool started;
};

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
	v->segments = n + 1;
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
	struct reader reader CLEANUP_READER = READER_INIT;
	uint64_t before = 0;
	r->kept = true;
	reserve_run(r);
	for (size_t i = r->from; i < r->to; i++) {
		r->rc = render_transcript_segment(r->session, r->view->entries[i], &reader, &r->usages[i], r->prefix,
		                                  &r->bytes);
		if (r->rc == 0)
			r->rc = buf_err(&r->bytes);
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

/* In the order of the path, so that the sum is the same however many threads there were. */
static struct render_usage sum_usages(const struct render_usage *each, size_t n)
{
	struct render_usage sum = {0};
	for (size_t i = 1; i < n; i++) {
		sum.input += each[i].input;
		sum.output += each[i].output;
		sum.cache_read += each[i].cache_read;
		sum.cache_write += each[i].cache_write;
		sum.total += each[i].total;
		sum.cost += each[i].cost;
	}
	return sum;
}

/* Puts front matter and runs together. Without all bytes only the front matter is kept, and where everything ends:
 * to make the front matter again would read the whole path. */
static int join_runs(struct run *runs, size_t n, struct buf *front, struct view *v)
{
	uint64_t before = front->n;
	bool kept = true;
	v->ends[0] = front->n;
	for (size_t k = 0; k < n; k++) {
		for (size_t i = runs[k].from; i < runs[k].to; i++)
			v->ends[i] += before;
		before += runs[k].size;
		kept = kept && runs[k].kept;
	}
	v->size = before;
	v->bytes = *front;
	*front = (struct buf)BUF_INIT;
	if (!kept)
		return 0;
	buf_reserve(&v->bytes, (size_t)(v->size - v->bytes.n));
	for (size_t k = 0; k < n; k++)
		buf_addspan(&v->bytes, buf_span(&runs[k].bytes));
	free(v->ends);
	free(v->entries);
	v->ends = NULL;
	v->entries = NULL;
	v->segments = 0;
	return buf_err(&v->bytes);
}

int view_transcript(struct ctx *c, uint32_t at, const char *prefix, struct view *ret)
{
	struct buf front CLEANUP_BUF = BUF_INIT;
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
		    .limit = cache_budget(c->tree->cache) / BYTES_SHARE / n,
		    .usages = usages,
		};
	make_runs(runs, n);
	for (size_t k = 0; k < n && rc == 0; k++)
		rc = runs[k].rc;
	struct render_usage sum = sum_usages(usages, ret->segments);
	if (rc == 0)
		rc = render_transcript_front(c->session, at, ret->entries + 1, made, &sum, &front);
	if (rc == 0)
		rc = buf_err(&front);
	if (rc == 0)
		rc = join_runs(runs, n, &front, ret);
	for (size_t k = 0; k < n; k++)
		buf_release(&runs[k].bytes);
	return rc;
}

/* The first segment that ends after off. */
static size_t segment_at(const struct view *v, uint64_t off)
{
	size_t lo = 0, hi = v->segments;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (v->ends[mid] > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

int view_read(struct ctx *c, const struct view *v, const char *prefix, uint64_t off, size_t n, struct buf *out)
{
	struct buf piece CLEANUP_BUF = BUF_INIT;
	struct reader reader CLEANUP_READER = READER_INIT;
	size_t want = out->n + n;
	for (size_t i = segment_at(v, off); i < v->segments && out->n < want; i++) {
		uint64_t begin = i ? v->ends[i - 1] : 0;
		struct span made = buf_span(&v->bytes);
		if (i > 0) {
			piece.n = 0;
			int rc = render_transcript_segment(c->session, v->entries[i], &reader, NULL, prefix, &piece);
			if (rc < 0 || buf_err(&piece))
				return rc < 0 ? rc : buf_err(&piece);
			made = buf_span(&piece);
		}
		if (begin + made.n != v->ends[i])
			return -EIO;
		size_t skip = off > begin ? (size_t)(off - begin) : 0;
		size_t left = want - out->n;
		buf_add(out, made.p + skip, made.n - skip < left ? made.n - skip : left);
	}
	return 0;
}
