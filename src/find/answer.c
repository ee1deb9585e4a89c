/* SPDX-License-Identifier: MIT */
/* An answer: the hits of all sessions in order, up to a limit, with their texts. */
#include "search_impl.h"

#include <errno.h>

/* Sums up to the end of one session: entries, and entries whose lines are in hits.txt. */
struct answer_part {
	size_t count, fits;
};

struct answer {
	atomic_uint refs;
	uint64_t version;
	_Atomic int error; /* as of the last update */
	struct query *query;
	struct buf text; /* of the query */
	struct session_hits **v;
	struct answer_part *parts; /* of each session */
	size_t n;
};

/* ---- making ---- */

static int answer_rank_cmp(const void *a, const void *b)
{
	const struct session_hits *x = *(struct session_hits *const *)a, *y = *(struct session_hits *const *)b;
	return session_rank_cmp(x->rank, y->rank);
}

static void answer_free(struct answer *h)
{
	for (size_t i = 0; i < h->n; i++)
		session_hits_put(h->v[i]);
	query_put(h->query);
	buf_release(&h->text);
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
	return budget_heap_size(sizeof *h) + budget_heap_size(h->text.cap) +
	       budget_heap_size((h->n + 1) * sizeof *h->v) + budget_heap_size((h->n + 1) * sizeof *h->parts);
}

static struct answer *answer_new(const struct search *a)
{
	struct answer *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	atomic_store(&h->refs, 1);
	atomic_store(&h->error, a->error);
	h->query = a->query ? query_get(a->query) : NULL;
	buf_addspan(&h->text, buf_span(&a->text));
	h->v = calloc(a->n + 1, sizeof *h->v);
	for (size_t i = 0; h->v && i < a->n; i++)
		if (a->rows[i].state == ROW_FOUND && a->rows[i].hits->found.n > 0)
			h->v[h->n++] = session_hits_get(a->rows[i].hits);
	h->parts = calloc(h->n + 1, sizeof *h->parts);
	if (h->v && h->parts && !buf_err(&h->text))
		return h;
	answer_free(h);
	return NULL;
}

/* An answer has the first SEARCH_ENTRIES_MAX entries; hits.txt has the first of them whose lines fit. */
static void answer_sum_counts(struct answer *h)
{
	struct answer_part sum = {0};
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
	answer_sum_counts(h);
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

/* Returns what the answer has of a text of session i. */
static struct span answer_session_text(const struct answer *h, size_t i, enum found_text text)
{
	struct answer_part before = i ? h->parts[i - 1] : (struct answer_part){0};
	size_t n = text == FOUND_HITS ? h->parts[i].fits - before.fits : h->parts[i].count - before.count;
	return (struct span){h->v[i]->found.texts[text].p, found_entry_begin(&h->v[i]->found, n).ends[text]};
}

uint64_t answer_size(const struct answer *h, enum found_text text)
{
	uint64_t size = text == FOUND_ROWS && h->n ? strlen(ROWS_HEADING) : 0;
	for (size_t i = 0; i < h->n; i++)
		size += answer_session_text(h, i, text).n;
	return size;
}

int answer_text(const struct answer *h, enum found_text text, struct buf *out)
{
	if (text == FOUND_ROWS && h->n)
		buf_adds(out, ROWS_HEADING);
	for (size_t i = 0; i < h->n; i++)
		buf_addspan(out, answer_session_text(h, i, text));
	return buf_err(out);
}

struct span answer_query_text(const struct answer *h)
{
	return buf_span(&h->text);
}

const struct query *answer_query(const struct answer *h)
{
	return h->query;
}

size_t answer_hits_count(const struct answer *h)
{
	return h->n ? h->parts[h->n - 1].fits : 0;
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
	return (struct answer_entry){f->slot, f->found.v[k].entry, {f->title.p, f->title.n - 1}, f->created};
}

struct span answer_entry_text(const struct answer *h, enum found_text text, size_t i)
{
	size_t k;
	const struct found_list *f = &answer_find(h, i, &k)->found;
	uint32_t begin = found_entry_begin(f, k).ends[text];
	return (struct span){f->texts[text].p + begin, f->v[k].ends[text] - begin};
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

/* Finds the lines of the entries of session f before number `end`. */
static int answer_each_session_line(struct searches *s, struct matcher *m, const struct session_hits *f, size_t end,
                                    size_t lines, hit_fn *fn, void *arg)
{
	const struct found_list *found = &f->found;
	struct session *x;
	if (found_entry_begin(found, end).lines == 0)
		return 0;
	int rc = catalog_session_get(s->catalog, f->slot, &x);
	if (rc < 0)
		return rc;
	for (size_t k = 0; rc == 0 && k < end; k++)
		if (found->v[k].lines > found_entry_begin(found, k).lines)
			rc = match_each_hit_line(m, x, found, found->v[k].entry, lines, fn, arg);
	catalog_session_put(s->catalog, x);
	return rc;
}

int answer_each_best_line(struct searches *s, const struct answer *h, size_t lines, size_t entries, hit_fn *fn,
                          void *arg)
{
	struct answer_part before = {0};
	struct matcher *m;
	int rc = matcher_open(h->query, &m);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < h->n && rc == 0 && before.count < entries; before = h->parts[i++]) {
		size_t n = lines == HIT_LINES ? h->parts[i].fits - before.fits : h->parts[i].count - before.count;
		size_t left = entries - before.count;
		rc = answer_each_session_line(s, m, h->v[i], n < left ? n : left, lines, fn, arg);
	}
	matcher_close(m);
	return rc;
}
