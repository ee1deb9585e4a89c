/* Lists that are kept: the path of a branch, the names of labels/. */
#include "sessionfs/base/name.h"
#include "tree_impl.h"

#include <errno.h>
#include <limits.h>

static int make_path(struct ctx *c, void *at, struct view *ret)
{
	uint32_t *path = NULL;
	int rc = session_path(c->session, *(uint32_t *)at, &path, &ret->n);
	ret->items = path;
	ret->item = sizeof *path;
	return rc;
}

const struct view *view_path(struct ctx *c, uint32_t at, int *ret_err)
{
	node_t id = node_pack((struct node){.kind = KIND_PATH_VIEW, .slot = c->node.slot, .entry = at});
	return view_get(c, id, session_serial(c->session), make_path, &at, ret_err);
}

/* --- labels/ ------------------------------------------------------------------
 *
 * Names depend on each other (two entries with one text are both listed with
 * their ids), so they are made all at once: `bytes` holds the names one after the
 * other, `ends` where each ends, and after them a permutation by name. */

struct span view_name(const struct view *v, size_t i)
{
	uint64_t begin = i ? v->ends[i - 1] : 0;
	return (struct span){v->bytes.p + begin, (size_t)(v->ends[i] - begin)};
}

static int span_cmp(struct span a, struct span b)
{
	int d = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
	return d ? d : (a.n > b.n) - (a.n < b.n);
}

static int order_cmp(const void *a, const void *b, void *arg)
{
	const struct view *v = arg;
	uint32_t i, k;
	memcpy(&i, a, sizeof i);
	memcpy(&k, b, sizeof k);
	int d = span_cmp(view_name(v, i), view_name(v, k));
	return d ? d : (i > k) - (i < k);
}

/* The permutation lies behind the names, at any alignment. */
static uint32_t order_at(const struct view *v, size_t i)
{
	uint32_t k;
	uint64_t names = v->n ? v->ends[v->n - 1] : 0;
	memcpy(&k, v->bytes.p + names + i * sizeof k, sizeof k);
	return k;
}

ssize_t view_label_find(const struct view *v, struct span name)
{
	size_t lo = 0, hi = v->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = span_cmp(view_name(v, order_at(v, mid)), name);
		if (d == 0)
			return order_at(v, mid);
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

/* Appends the name for the label text of entry e: plain, with ~ID, or with ~ID~LINE. */
static void add_label_name(struct ctx *c, uint32_t e, int suffixes, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT, suffix CLEANUP_BUF = BUF_INIT;
	if (suffixes > 0) {
		buf_addc(&suffix, '~');
		session_entry_name(c->session, e, &suffix);
	}
	if (suffixes > 1)
		buf_addf(&suffix, "~%u", session_entry(c->session, e)->line);
	session_label(c->session, e, &text);
	const char *s = buf_cstr(&suffix);
	name_encode("", buf_span(&text), s ? s : "", out);
	if (!out->err)
		out->err = buf_err(&text) ? buf_err(&text) : buf_err(&suffix);
}

/* ~ID, ~LINE */
#define MOST_SUFFIXES 2

/* Lays the names out with `suffixes[i]` each and sorts the permutation. */
static int lay_out_labels(struct ctx *c, struct view *v, const unsigned char *suffixes, uint32_t *order)
{
	v->bytes.n = 0;
	for (size_t i = 0; i < v->n; i++) {
		add_label_name(c, view_entry(v, i), suffixes[i], &v->bytes);
		v->ends[i] = v->bytes.n;
		order[i] = (uint32_t)i;
	}
	int rc = buf_err(&v->bytes);
	if (rc == 0)
		qsort_r(order, v->n, sizeof *order, order_cmp, v);
	return rc;
}

/* Among equal names: a label whose plain text equals another's name with its id
 * keeps the name, and the other gets a longer suffix; otherwise all do. */
static bool step_aside(const uint32_t *group, size_t n, unsigned char *suffixes)
{
	unsigned char least = UCHAR_MAX, most = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char s = suffixes[group[i]];
		least = s < least ? s : least;
		most = s > most ? s : most;
	}
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		unsigned char *s = &suffixes[group[i]];
		if ((least < most && *s == least) || *s == MOST_SUFFIXES)
			continue;
		(*s)++;
		any = true;
	}
	return any;
}

/* Gives names that occur more than once their next suffix. True if there were any. */
static bool mark_equal(const struct view *v, const uint32_t *order, unsigned char *suffixes)
{
	bool any = false;
	for (size_t i = 0; i < v->n; i++) {
		size_t k = i + 1;
		while (k < v->n && span_eq(view_name(v, order[i]), view_name(v, order[k])))
			k++;
		if (k - i > 1)
			any |= step_aside(order + i, k - i, suffixes);
		i = k - 1;
	}
	return any;
}

static int make_labels(struct ctx *c, void *arg, struct view *v)
{
	(void)arg;
	size_t n = session_label_count(c->session);
	uint32_t *order CLEANUP_FREE = calloc(n + 1, sizeof *order);
	unsigned char *suffixes CLEANUP_FREE = calloc(n + 1, 1);
	uint32_t *entries = v->items = calloc(n + 1, sizeof *entries);
	v->ends = calloc(n + 1, sizeof *v->ends);
	v->item = sizeof *entries;
	if (!order || !suffixes || !entries || !v->ends)
		return -ENOMEM;
	uint32_t e;
	while (v->n < n && (e = session_labelled(c->session, v->n)) != NO_ENTRY)
		entries[v->n++] = e;
	int rc = 0;
	for (int round = 0; round <= MOST_SUFFIXES; round++) {
		rc = lay_out_labels(c, v, suffixes, order);
		if (rc < 0 || !mark_equal(v, order, suffixes))
			break;
	}
	buf_add(&v->bytes, order, v->n * sizeof *order);
	return rc < 0 ? rc : buf_err(&v->bytes);
}

const struct view *view_labels(struct ctx *c, int *ret_err)
{
	node_t id = node_pack((struct node){.kind = KIND_LABEL_VIEW, .slot = c->node.slot});
	return view_get(c, id, session_serial(c->session), make_labels, NULL, ret_err);
}
