/* SPDX-License-Identifier: MIT */
/* labels/: links to the entries that have labels. */
#include "sessionfs/base/name.h"
#include "rows.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* --- labels/ ------------------------------------------------------------------
 *
 * Names depend on each other (two entries with one text are both listed with
 * their ids), so they are made all at once: `bytes` holds the names one after the
 * other, `ends` where each ends, and after them a permutation by name. */

static int label_order_cmp(const void *a, const void *b, void *arg)
{
	const struct view *v = arg;
	uint32_t i, k;
	memcpy(&i, a, sizeof i);
	memcpy(&k, b, sizeof k);
	int d = span_compare(view_name(v, i), view_name(v, k));
	return d ? d : (i > k) - (i < k);
}

/* The permutation comes after the names, at any alignment. */
static uint32_t label_order_at(const struct view *v, size_t i)
{
	uint32_t k;
	uint64_t names = v->n ? v->ends[v->n - 1] : 0;
	memcpy(&k, v->bytes.p + names + i * sizeof k, sizeof k);
	return k;
}

static ssize_t view_label_find(const struct view *v, struct span name)
{
	size_t lo = 0, hi = v->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = span_compare(view_name(v, label_order_at(v, mid)), name);
		if (d == 0)
			return (ssize_t)label_order_at(v, mid);
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

/* Appends the name for the label text of entry e: plain, with ~ID, with ~ID~LINE, or with %~LINE~ before that. Another
 * label can be equal to each but the last: no text is encoded as that. */
static void add_label_name(struct ctx *c, uint32_t e, int suffixes, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT, suffix CLEANUP_BUF = BUF_INIT;
	char prefix[16] = "";
	if (suffixes > 0) {
		buf_addc(&suffix, '~');
		session_entry_name(c->session, e, &suffix);
	}
	if (suffixes > 1)
		buf_addf(&suffix, "~%u", session_entry(c->session, e)->line);
	if (suffixes > 2)
		snprintf(prefix, sizeof prefix, "%%~%u~", session_entry(c->session, e)->line);
	session_label(c->session, e, &text);
	const char *s = buf_cstr(&suffix);
	name_encode(prefix, buf_span(&text), s ? s : "", out);
	if (!out->err)
		out->err = buf_err(&text) ? buf_err(&text) : buf_err(&suffix);
}

/* ~ID, ~LINE, %~LINE~ */
#define LABEL_SUFFIXES_MAX 3

/* Appends the names with `suffixes[i]` each and sorts the permutation. */
static int label_layout_names(struct ctx *c, struct view *v, const unsigned char *suffixes, uint32_t *order)
{
	v->bytes.n = 0;
	for (size_t i = 0; i < v->n; i++) {
		add_label_name(c, view_entry(v, i), suffixes[i], &v->bytes);
		v->ends[i] = v->bytes.n;
		order[i] = (uint32_t)i;
	}
	int rc = buf_err(&v->bytes);
	if (rc == 0)
		qsort_r(order, v->n, sizeof *order, label_order_cmp, v);
	return rc;
}

/* Among equal names: a label whose plain text equals another's name with its id keeps the name, and the other gets a
 * longer suffix; otherwise all do. */
static bool label_use_longer_suffix(const uint32_t *group, size_t n, unsigned char *suffixes)
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
		if ((least < most && *s == least) || *s == LABEL_SUFFIXES_MAX)
			continue;
		(*s)++;
		any = true;
	}
	return any;
}

/* Gives names that occur more than once their next suffix. Returns true if there were any. */
static bool label_extend_equal(const struct view *v, const uint32_t *order, unsigned char *suffixes)
{
	bool any = false;
	for (size_t i = 0; i < v->n; i++) {
		size_t k = i + 1;
		while (k < v->n && span_eq(view_name(v, order[i]), view_name(v, order[k])))
			k++;
		if (k - i > 1)
			any |= label_use_longer_suffix(order + i, k - i, suffixes);
		i = k - 1;
	}
	return any;
}

static int label_names_build(struct ctx *c, void *arg, struct view *v)
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
	while (v->n < n && (e = session_nth_labelled(c->session, v->n)) != NO_ENTRY)
		entries[v->n++] = e;
	int rc = 0;
	for (int round = 0; round <= LABEL_SUFFIXES_MAX; round++) {
		rc = label_layout_names(c, v, suffixes, order);
		if (rc < 0 || !label_extend_equal(v, order, suffixes))
			break;
	}
	buf_add(&v->bytes, order, v->n * sizeof *order);
	return rc < 0 ? rc : buf_err(&v->bytes);
}

static const struct view *view_labels(struct ctx *c, int *ret_err)
{
	node_t id = node_pack((struct node){.kind = KIND_LABEL_VIEW, .slot = c->node.slot});
	return ctx_get_view(c, id, session_serial(c->session), label_names_build, NULL, ret_err);
}

static int label_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
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
		if (list_emit_child(dir, l, n, view_name(v, i), COOKIE_DYNAMIC + 1 + (uint64_t)view_entry(v, i)))
			break;
	}
	cache_release(dir->tree->cache, v);
	return 0;
}

static int label_match(struct ctx *dir, struct span name, struct node *ret)
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

bool label_dir_exists(struct ctx *c)
{
	return session_label_record(c->session, c->node.entry) != NO_ENTRY;
}

static int label_link_show(struct ctx *c, struct buf *out)
{
	append_entry_path(c, "../entries/", c->node.entry, out);
	return 0;
}

static const struct kind in_labels[] = {
    {NULL, .doc = "an entry (a link)", .from = &from_branch, .make = LINK(label_link_show), .has = label_dir_exists,
     .names = {"LABEL", label_list, label_match, NULL}, .write = &writable_label_link, .keeps = CACHE_NOTHING},
};
const struct kind_rows rows_labels = ROWS(in_labels);
