/* SPDX-License-Identifier: MIT */
/* An answer: the hits of all sessions in order, up to a limit. The sizes of all lines are known, so any range of
 * hits.txt is made from only the entries that it touches. */
#include "find_impl.h"
#include "search_impl.h"

#include "sessionfs/base/limits.h"
#include "sessionfs/base/utf8.h"

#include <errno.h>
#include <stdio.h>

/* A link shows so many characters of the title. */
#define TITLE_CHARACTERS 60
/* The lines of an entry that are longer than this are kept for the next read. */
#define PIECE_LONG ((uint64_t)LIMIT(256 << 10, 64))

struct answer {
	atomic_uint refs;
	uint64_t version;
	_Atomic int missed; /* as of the last request */
	struct query *query;
	struct session_hits **v;
	uint64_t *ends; /* where the lines of each session end in hits.txt */
	size_t *counts; /* the number of entries up to each session */
	size_t n;
	size_t count; /* of entries, at most SEARCH_MOST */
};

/* ---- making ---- */

static int by_rank(const void *a, const void *b)
{
	const struct session_hits *x = *(struct session_hits *const *)a, *y = *(struct session_hits *const *)b;
	return rank_cmp((struct rank){x->modified, x->file}, (struct rank){y->modified, y->file});
}

static void answer_free(struct answer *h)
{
	for (size_t i = 0; i < h->n; i++)
		session_hits_put(h->v[i]);
	query_put(h->query);
	free(h->v);
	free(h->ends);
	free(h->counts);
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
	return sizeof *h + h->n * (sizeof *h->v + sizeof *h->ends + sizeof *h->counts);
}

static struct answer *answer_new(const struct search *a)
{
	struct answer *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	atomic_store(&h->refs, 1);
	atomic_store(&h->missed, a->missed);
	h->query = query_get(a->query);
	h->v = calloc(a->n + 1, sizeof *h->v);
	for (size_t i = 0; h->v && i < a->n; i++)
		if (a->rows[i].state == ROW_FOUND && a->rows[i].hits->found.n > 0)
			h->v[h->n++] = session_hits_get(a->rows[i].hits);
	h->ends = calloc(h->n + 1, sizeof *h->ends);
	h->counts = calloc(h->n + 1, sizeof *h->counts);
	if (h->v && h->ends && h->counts)
		return h;
	answer_free(h);
	return NULL;
}

/* Counts the bytes of the first `lines` lines. */
struct head {
	uint64_t lines, bytes;
};

static int count_line(void *arg, const struct hit *hit)
{
	struct head *head = arg;
	char number[24];
	if (head->lines == 0)
		return 1;
	head->lines--;
	head->bytes +=
	    hit->path.n + hit->text.n + (size_t)snprintf(number, sizeof number, ":%ju:\n", (uintmax_t)hit->line);
	return 0;
}

/* How many bytes the first lines of an entry take. */
static int measure(struct searches *s, const struct search *a, const struct session_hits *f, uint32_t entry,
                   uint64_t lines, uint64_t *ret)
{
	struct buf prefix CLEANUP_BUF = BUF_INIT;
	struct head head = {.lines = lines};
	struct matcher *m;
	struct session *x;
	int rc = catalog_get(s->catalog, f->slot, &x);
	if (rc < 0)
		return rc;
	rc = matcher_open(a->query, &m);
	if (rc == 0) {
		rc = match_hits(m, x, entry, count_line, &head);
		matcher_close(m);
	}
	catalog_put(s->catalog, x);
	if (rc >= 0)
		rc = session_hits_prefix(f, &prefix);
	*ret = head.bytes + lines * prefix.n;
	return rc < 0 ? rc : 0;
}

/* How many bytes of a session fit into the answer, which has so many lines already. */
static int truncated_bytes(struct searches *s, const struct search *a, const struct session_hits *f, uint64_t lines,
                           uint64_t *ret)
{
	struct buf prefix CLEANUP_BUF = BUF_INIT;
	const struct found *e = f->found.v;
	uint64_t bytes = 0, some = 0;
	int rc = session_hits_prefix(f, &prefix);
	for (; lines + e->lines <= SEARCH_MOST; e++) {
		lines += e->lines;
		bytes += e->bytes + e->lines * prefix.n;
	}
	if (rc == 0 && lines < SEARCH_MOST)
		rc = measure(s, a, f, e->entry, SEARCH_MOST - lines, &some);
	*ret = bytes + some;
	return rc;
}

static int add_up(struct searches *s, const struct search *a, struct answer *h)
{
	uint64_t end = 0, lines = 0;
	size_t count = 0;
	int rc = 0;
	for (size_t i = 0; i < h->n && rc == 0; i++) {
		const struct session_hits *f = h->v[i];
		uint64_t bytes = lines < SEARCH_MOST ? f->bytes : 0;
		if (lines < SEARCH_MOST && lines + f->lines > SEARCH_MOST)
			rc = truncated_bytes(s, a, f, lines, &bytes);
		lines += f->lines;
		h->ends[i] = end += bytes;
		h->counts[i] = count += f->found.n;
	}
	h->count = count < SEARCH_MOST ? count : SEARCH_MOST;
	return rc;
}

int answer_make(struct searches *s, struct search *a, struct answer **ret)
{
	struct answer *h = answer_new(a);
	if (!h)
		return -ENOMEM;
	qsort(h->v, h->n, sizeof *h->v, by_rank);
	if (a->answer && h->n == a->answer->n && (h->n == 0 || memcmp(h->v, a->answer->v, h->n * sizeof *h->v) == 0)) {
		atomic_store(&a->answer->missed, a->missed);
		answer_free(h);
		*ret = answer_get(a->answer);
		return 0;
	}
	int rc = add_up(s, a, h);
	if (rc < 0) {
		answer_free(h);
		return rc;
	}
	h->version = atomic_fetch_add(&s->version, 1) + 1;
	*ret = h;
	return 0;
}

/* ---- asking ---- */

uint64_t answer_version(const struct answer *h)
{
	return h->version;
}

int answer_missed(const struct answer *h)
{
	return atomic_load(&h->missed);
}

uint64_t answer_size(const struct answer *h)
{
	return h->n ? h->ends[h->n - 1] : 0;
}

size_t answer_count(const struct answer *h)
{
	return h->count;
}

struct answer_entry answer_at(const struct answer *h, size_t i)
{
	size_t lo = 0, hi = h->n - 1;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (h->counts[mid] > i)
			hi = mid;
		else
			lo = mid + 1;
	}
	const struct session_hits *f = h->v[lo];
	size_t before = lo ? h->counts[lo - 1] : 0;
	struct span title = utf8_first((struct span){f->title.p, f->title.n - 1}, TITLE_CHARACTERS);
	return (struct answer_entry){f->slot, f->found.v[i - before].entry, title};
}

/* ---- reading ---- */

/* Appends up to n bytes of s from `off` on. */
static void answer_add_slice(struct buf *out, struct span s, uint64_t off, uint64_t n)
{
	if (off >= s.n)
		return;
	uint64_t left = s.n - off;
	buf_add(out, s.p + off, (size_t)(n < left ? n : left));
}

/* Takes the lines that the last read of this entry left: a long entry is read in many pieces. */
static bool answer_take_last(struct searches *s, const struct answer *h, const struct session_hits *f, uint32_t entry,
                             struct buf *ret)
{
	LOCKED(&s->lock);
	struct made_last *l = &s->last;
	if (l->version != h->version || l->slot != f->slot || l->entry != entry)
		return false;
	*ret = l->text;
	l->text = (struct buf)BUF_INIT;
	l->version = 0;
	atomic_fetch_sub(&s->keeper.used, buf_memory(ret));
	return true;
}

static void give_last(struct searches *s, const struct answer *h, const struct session_hits *f, uint32_t entry,
                      struct buf *text)
{
	lock_acquire(&s->lock);
	struct buf before = s->last.text;
	atomic_fetch_add(&s->keeper.used, buf_memory(text) - buf_memory(&before));
	s->last = (struct made_last){f->slot, entry, h->version, *text};
	lock_release(&s->lock);
	*text = before;
	buf_release(text);
}

/* Makes the lines of entries of one session again, for a read. */
struct again {
	struct searches *s;
	const struct answer *h;
	const struct session_hits *f;
	const struct query *query;
	struct session *session; /* opened when the first is made */
	struct matcher *matcher;
	struct buf prefix;
};

static void answer_again_release(struct again *g)
{
	if (g->matcher)
		matcher_close(g->matcher);
	if (g->session)
		catalog_put(g->s->catalog, g->session);
	buf_release(&g->prefix);
}

static int again_begin(struct again *g)
{
	if (g->session)
		return 0;
	int rc = catalog_get(g->s->catalog, g->f->slot, &g->session);
	if (rc < 0)
		g->session = NULL;
	return rc < 0 ? rc : matcher_open(g->query, &g->matcher);
}

/* Appends up to n bytes from `off` on of the lines of an entry, which are `size` bytes. */
static int read_entry(struct again *g, uint32_t entry, uint64_t size, uint64_t off, uint64_t n, struct buf *out)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	int rc = 0;
	if (size <= PIECE_LONG || !answer_take_last(g->s, g->h, g->f, entry, &made)) {
		rc = again_begin(g);
		if (rc == 0)
			rc = match_lines(g->matcher, g->session, entry, buf_span(&g->prefix), &made);
	}
	if (rc == 0 && made.n != size)
		rc = buf_err(&made) ? buf_err(&made) : -ESTALE;
	if (rc < 0)
		return rc;
	answer_add_slice(out, buf_span(&made), off, n);
	if (size > PIECE_LONG)
		give_last(g->s, g->h, g->f, entry, &made);
	return 0;
}

/* Appends up to n bytes from `off` on of the lines of a session. */
static int answer_read_session(struct searches *s, const struct answer *h, const struct session_hits *f, uint64_t off,
                               uint64_t n, struct buf *out)
{
	struct again g CLEANUP(answer_again_release) = {.s = s, .h = h, .f = f, .query = h->query, .prefix = BUF_INIT};
	if (f->text.n == f->bytes) {
		answer_add_slice(out, buf_span(&f->text), off, n);
		return 0;
	}
	int rc = session_hits_prefix(f, &g.prefix);
	uint64_t begin = 0;
	for (size_t i = 0; rc == 0 && n > 0 && i < f->found.n; i++) {
		const struct found *e = &f->found.v[i];
		uint64_t size = e->bytes + e->lines * g.prefix.n;
		if (off < begin + size) {
			size_t before = out->n;
			rc = read_entry(&g, e->entry, size, off - begin, n, out);
			n -= out->n - before;
			off += out->n - before;
		}
		begin += size;
	}
	return rc;
}

int answer_read(struct searches *s, const struct answer *h, uint64_t off, size_t n, struct buf *out)
{
	uint64_t end = off + n < answer_size(h) ? off + n : answer_size(h), begin = 0;
	int rc = 0;
	for (size_t i = 0; i < h->n && rc == 0 && off < end; i++) {
		uint64_t to = h->ends[i] < end ? h->ends[i] : end;
		if (off < to) {
			rc = answer_read_session(s, h, h->v[i], off - begin, to - off, out);
			off = to;
		}
		begin = h->ends[i];
	}
	return rc < 0 ? rc : buf_err(out);
}

/* ---- line by line ---- */

struct each {
	int (*fn)(void *arg, const struct answer_line *line);
	void *arg;
	struct answer_line line;
	uint64_t left; /* lines */
};

static int each_line(void *arg, const struct hit *hit)
{
	struct each *e = arg;
	if (e->left == 0)
		return 0;
	e->left--;
	e->line.hit = hit;
	return e->fn(e->arg, &e->line);
}

static int each_of(struct searches *s, const struct answer *h, const struct session_hits *f, struct each *e)
{
	struct again g CLEANUP(answer_again_release) = {.s = s, .f = f, .query = h->query, .prefix = BUF_INIT};
	int rc = again_begin(&g);
	e->line = (struct answer_line){.project = f->project, .stem = f->stem, .session = g.session};
	for (size_t i = 0; rc == 0 && e->left > 0 && i < f->found.n; i++) {
		e->line.entry = f->found.v[i].entry;
		if (f->found.v[i].lines > 0)
			rc = match_hits(g.matcher, g.session, e->line.entry, each_line, e);
	}
	return rc;
}

int answer_each(struct searches *s, const struct answer *h, int (*fn)(void *arg, const struct answer_line *line),
                void *arg)
{
	struct each e = {.fn = fn, .arg = arg, .left = SEARCH_MOST};
	int rc = 0;
	for (size_t i = 0; i < h->n && rc == 0 && e.left > 0; i++)
		if (h->v[i]->lines > 0)
			rc = each_of(s, h, h->v[i], &e);
	return rc;
}
