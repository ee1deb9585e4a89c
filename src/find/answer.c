/* SPDX-License-Identifier: MIT */
/* An answer: the hits of all sessions in order, up to a limit. All sizes are known, so any range of hits.txt and
 * entries.tsv is rendered from only the entries in it. */
#include "find_impl.h"
#include "search_impl.h"

#include <errno.h>

/* Sums up to the end of one session: entries, entries whose lines are in hits.txt, and sizes of the texts. */
struct answer_part {
	size_t count, fits;
	uint64_t ends[FOUND_TEXTS];
};

struct answer {
	atomic_uint refs;
	uint64_t version;
	_Atomic int error; /* as of the last update */
	struct query *query;
	struct session_hits **v;
	struct answer_part *parts; /* of each session */
	size_t n;
};

/* ---- making ---- */

static int answer_rank_cmp(const void *a, const void *b)
{
	const struct session_hits *x = *(struct session_hits *const *)a, *y = *(struct session_hits *const *)b;
	return session_rank_cmp((struct session_rank){x->modified, x->file},
	                        (struct session_rank){y->modified, y->file});
}

static void answer_free(struct answer *h)
{
	for (size_t i = 0; i < h->n; i++)
		session_hits_put(h->v[i]);
	query_put(h->query);
	free(h->v);
	free(h->parts);
	free(h);
}

struct answer *answer_get(struct answer *h)
{
	atomic_fetch_add(&h->refs, 1);
	return h;
}

void answer_put(const struct answer *h)
{
	struct answer *own = (struct answer *)h;
	if (own && atomic_fetch_sub(&own->refs, 1) == 1)
		answer_free(own);
}

size_t answer_memory(const struct answer *h)
{
	return sizeof *h + h->n * (sizeof *h->v + sizeof *h->parts);
}

static struct answer *answer_new(const struct search *a)
{
	struct answer *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	atomic_store(&h->refs, 1);
	atomic_store(&h->error, a->error);
	h->query = query_get(a->query);
	h->v = calloc(a->n + 1, sizeof *h->v);
	for (size_t i = 0; h->v && i < a->n; i++)
		if (a->rows[i].state == ROW_FOUND && a->rows[i].hits->found.n > 0)
			h->v[h->n++] = session_hits_get(a->rows[i].hits);
	h->parts = calloc(h->n + 1, sizeof *h->parts);
	if (h->v && h->parts)
		return h;
	answer_free(h);
	return NULL;
}

/* An answer has the first SEARCH_ENTRIES_MAX entries; hits.txt has the first of them whose lines fit. */
static void answer_sum_sizes(struct answer *h)
{
	struct answer_part sum = {.ends[FOUND_ROWS] = strlen(ROWS_HEADING)};
	uint64_t lines = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct found_list *f = &h->v[i]->found;
		size_t n = f->n < SEARCH_ENTRIES_MAX - sum.count ? f->n : SEARCH_ENTRIES_MAX - sum.count, fit = n;
		while (fit > 0 && lines + f->v[fit - 1].lines > SEARCH_ENTRIES_MAX)
			fit--;
		if (sum.fits < sum.count)
			fit = 0; /* no entry follows the first that does not fit */
		sum.count += n;
		sum.fits += fit;
		lines += found_entry_begin(f, fit).lines;
		sum.ends[FOUND_HITS] += found_entry_begin(f, fit).ends[FOUND_HITS];
		sum.ends[FOUND_ROWS] += found_entry_begin(f, n).ends[FOUND_ROWS];
		h->parts[i] = sum;
	}
}

int answer_make(struct searches *s, struct search *a, struct answer **ret)
{
	struct answer *h = answer_new(a);
	if (!h)
		return -ENOMEM;
	qsort(h->v, h->n, sizeof *h->v, answer_rank_cmp);
	if (a->answer && h->n == a->answer->n && (h->n == 0 || memcmp(h->v, a->answer->v, h->n * sizeof *h->v) == 0)) {
		atomic_store(&a->answer->error, a->error);
		answer_free(h);
		*ret = answer_get(a->answer);
		return 0;
	}
	answer_sum_sizes(h);
	h->version = atomic_fetch_add(&s->version, 1) + 1;
	*ret = h;
	return 0;
}

/* ---- asking ---- */

uint64_t answer_version(const struct answer *h)
{
	return h->version;
}

int answer_missed_error(const struct answer *h)
{
	return atomic_load(&h->error);
}

uint64_t answer_size(const struct answer *h, enum found_text text)
{
	return h->n ? h->parts[h->n - 1].ends[text] : 0;
}

size_t answer_count(const struct answer *h)
{
	return h->n ? h->parts[h->n - 1].count : 0;
}

/* Returns the hits of the session of entry number i. Sets *ret to its index among them. */
static const struct session_hits *answer_find(const struct answer *h, size_t i, size_t *ret)
{
	size_t lo = 0, hi = h->n - 1;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (h->parts[mid].count > i)
			hi = mid;
		else
			lo = mid + 1;
	}
	*ret = i - (lo ? h->parts[lo - 1].count : 0);
	return h->v[lo];
}

struct answer_entry answer_at(const struct answer *h, size_t i)
{
	size_t k;
	const struct session_hits *f = answer_find(h, i, &k);
	return (struct answer_entry){f->slot, f->found.v[k].entry, {f->title.p, f->title.n - 1}};
}

/* ---- reading ---- */

/* Renders the entries of one session again, for a read. */
struct answer_rereader {
	struct searches *s;
	const struct session_hits *f;
	const struct query *query;
	struct session *session; /* opened for the first entry */
	struct matcher *matcher;
};

static void answer_reread_release(struct answer_rereader *g)
{
	if (g->matcher)
		matcher_close(g->matcher);
	if (g->session)
		catalog_session_put(g->s->catalog, g->session);
}

static int answer_reread_begin(struct answer_rereader *g)
{
	if (g->session)
		return 0;
	int rc = catalog_session_get(g->s->catalog, g->f->slot, &g->session);
	if (rc < 0)
		g->session = NULL;
	return rc < 0 ? rc : matcher_open(g->query, &g->matcher);
}

/* Appends up to n bytes, from `off` on, of a text that begins at `begin`. */
static void answer_add_slice(struct span s, uint64_t begin, uint64_t off, uint64_t n, struct buf *out)
{
	size_t skip = (size_t)(off - begin), left = skip < s.n ? s.n - skip : 0;
	buf_add(out, s.p + skip, left < n ? left : (size_t)n);
}

/* Appends n bytes, from `off` on, of the text of a session. */
static int answer_read_session(struct answer_rereader *g, enum found_text text, uint64_t off, uint64_t n,
                               struct buf *out)
{
	const struct found_list *f = &g->f->found;
	if (!f->texts_dropped) {
		answer_add_slice(buf_span(&f->texts[text]), 0, off, n, out);
		return 0;
	}
	int rc = 0;
	size_t want = out->n + (size_t)n;
	for (size_t i = 0; rc == 0 && out->n < want && i < f->n; i++) {
		struct found_list made CLEANUP(found_release) = {0};
		uint32_t begin = found_entry_begin(f, i).ends[text], end = f->v[i].ends[text], lines;
		if (off >= end)
			continue;
		rc = answer_reread_begin(g);
		rc = rc < 0 ? rc : match_show(g->matcher, g->session, f->v[i].entry, f, made.texts, &lines);
		if (rc == 0 && made.texts[text].n != end - begin)
			rc = -ESTALE;
		if (rc == 0)
			answer_add_slice(buf_span(&made.texts[text]), begin, off, want - out->n, out);
		off = end;
	}
	return rc;
}

int answer_read(struct searches *s, const struct answer *h, enum found_text text, uint64_t off, size_t n,
                struct buf *out)
{
	uint64_t size = answer_size(h, text), end = off + n < size ? off + n : size, begin = 0;
	int rc = 0;
	if (text == FOUND_ROWS) {
		begin = strlen(ROWS_HEADING);
		if (off < end && off < begin) {
			answer_add_slice(SPAN_LIT(ROWS_HEADING), 0, off, end - off, out);
			off = begin;
		}
	}
	for (size_t i = 0; i < h->n && rc == 0 && off < end; i++) {
		uint64_t to = h->parts[i].ends[text] < end ? h->parts[i].ends[text] : end;
		if (off < to) {
			struct answer_rereader g CLEANUP(answer_reread_release) = {
			    .s = s, .f = h->v[i], .query = h->query};
			rc = answer_read_session(&g, text, off - begin, to - off, out);
			off = to;
		}
		begin = h->parts[i].ends[text];
	}
	return rc < 0 ? rc : buf_err(out);
}

int answer_text(struct searches *s, const struct answer *h, enum found_text text, size_t i, struct buf *out)
{
	size_t k;
	struct answer_rereader g CLEANUP(answer_reread_release) = {
	    .s = s, .f = answer_find(h, i, &k), .query = h->query};
	uint32_t begin = found_entry_begin(&g.f->found, k).ends[text];
	int rc = answer_read_session(&g, text, begin, g.f->found.v[k].ends[text] - begin, out);
	return rc < 0 ? rc : buf_err(out);
}

void answer_split_row(struct span row, struct span ret[ROW_CELLS])
{
	const char *p = row.p, *end = row.p + row.n;
	for (int i = 0; i < ROW_CELLS; i++) {
		const char *stop = p < end ? memchr(p, i + 1 < ROW_CELLS ? '\t' : '\n', (size_t)(end - p)) : NULL;
		ret[i] = (struct span){p, (size_t)((stop ? stop : end) - p)};
		p = stop ? stop + 1 : end;
	}
}

/* ---- line by line ---- */

struct answer_each_arg {
	int (*fn)(void *arg, const struct answer_line *line);
	void *arg;
	struct answer_line line;
};

static int answer_each_line(void *arg, const struct hit *hit)
{
	struct answer_each_arg *e = arg;
	e->line.hit = hit;
	return e->fn(e->arg, &e->line);
}

int answer_each_best_line(struct searches *s, const struct answer *h, size_t lines, size_t entries,
                          int (*fn)(void *arg, const struct answer_line *line), void *arg)
{
	struct answer_each_arg e = {.fn = fn, .arg = arg};
	size_t begin = 0;
	int rc = 0;
	for (size_t i = 0; i < h->n && rc == 0 && begin < entries; i++) {
		const struct found_list *f = &h->v[i]->found;
		struct answer_rereader g CLEANUP(answer_reread_release) = {.s = s, .f = h->v[i], .query = h->query};
		size_t end = lines == HIT_LINES ? h->parts[i].fits : h->parts[i].count;
		e.line.project = f->project;
		e.line.stem = f->stem;
		end = end < entries ? end : entries;
		for (size_t k = 0; rc == 0 && begin + k < end; k++) {
			if (f->v[k].lines == found_entry_begin(f, k).lines)
				continue;
			rc = answer_reread_begin(&g);
			if (rc == 0)
				rc = match_each_hit_line(g.matcher, g.session, f->v[k].entry, lines, answer_each_line,
				                         &e);
		}
		begin = h->parts[i].count;
	}
	return rc;
}
