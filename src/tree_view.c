/* Views that are more than a producer's bytes: transcripts made of segments, the
 * path of a branch, the names of labels/.
 *
 * A transcript can be larger than memory should hold. The first look at one
 * makes every segment once and notes where each ends; the bytes are kept along
 * if they fit in a share of the cache. Otherwise a read makes again just the
 * segments it touches. */
#include "sessionfs/name.h"
#include "sessionfs/render.h"
#include "tree_impl.h"

#include <errno.h>
#include <limits.h>

/* A view may take this share of the cache with its bytes. */
#define BYTES_SHARE 4

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

/* Makes the segments after the front matter: where each ends, counted from the
 * end of the front matter, their sum of usage, and, while they are fewer bytes than
 * `limit`, the bytes. */
static int make_segments(struct ctx *c, const char *prefix, size_t limit, struct view *v, struct render_usage *usage,
                         bool *ret_kept)
{
	bool kept = true;
	uint64_t before = 0;
	c->loaded = NO_ENTRY;
	for (size_t i = 1; i < v->segments; i++) {
		int rc = render_transcript_segment(c->session, v->entries[i], &c->line, usage, prefix, &v->bytes);
		if (rc < 0)
			return rc;
		v->ends[i] = before + v->bytes.n;
		kept = kept && v->bytes.n <= limit;
		if (kept)
			continue;
		before += v->bytes.n;
		v->bytes.n = 0;
	}
	*ret_kept = kept;
	return buf_err(&v->bytes);
}

int view_transcript(struct ctx *c, uint32_t at, const char *prefix, struct view *ret)
{
	struct buf front CLEANUP_BUF = BUF_INIT;
	struct render_usage usage = {0};
	bool kept;
	int rc = view_of_path(c, at, ret);
	if (rc == 0)
		rc = make_segments(c, prefix, cache_budget(c->tree->cache) / BYTES_SHARE, ret, &usage, &kept);
	if (rc == 0)
		rc = render_transcript_front(c->session, at, ret->entries + 1, ret->segments - 1, &usage, &front);
	if (rc == 0)
		rc = buf_err(&front);
	if (rc < 0)
		return rc;
	ret->ends[0] = 0;
	for (size_t i = 0; i < ret->segments; i++)
		ret->ends[i] += front.n;
	ret->size = ret->ends[ret->segments - 1];
	if (!kept) {
		/* The front matter is kept with the ends: to make it again would read the whole path. */
		buf_release(&ret->bytes);
		ret->bytes = front;
		front = (struct buf)BUF_INIT;
		return 0;
	}
	if (buf_reserve(&ret->bytes, front.n)) {
		memmove(ret->bytes.p + front.n, ret->bytes.p, ret->bytes.n);
		memcpy(ret->bytes.p, front.p, front.n);
		ret->bytes.n += front.n;
	}
	free(ret->ends);
	free(ret->entries);
	ret->ends = NULL;
	ret->entries = NULL;
	ret->segments = 0;
	return buf_err(&ret->bytes);
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
	size_t want = out->n + n;
	c->loaded = NO_ENTRY;
	for (size_t i = segment_at(v, off); i < v->segments && out->n < want; i++) {
		uint64_t begin = i ? v->ends[i - 1] : 0;
		struct span made = buf_span(&v->bytes);
		if (i > 0) {
			piece.n = 0;
			int rc = render_transcript_segment(c->session, v->entries[i], &c->line, NULL, prefix, &piece);
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

const struct view *view_path(struct ctx *c, uint32_t at, int *ret_err)
{
	struct cache *cache = c->tree->cache;
	node_t id = node_pack((struct node){.kind = K_PATH_VIEW, .slot = c->node.slot, .entry = at});
	uint64_t serial = session_serial(c->session);
	const struct view *kept = cache_get(cache, id, serial);
	if (kept)
		return kept;
	struct view v = {.bytes = BUF_INIT};
	size_t n;
	int rc = session_path(c->session, at, &v.entries, &n);
	if (rc < 0) {
		*ret_err = rc;
		return NULL;
	}
	v.segments = n;
	kept = cache_put(cache, id, serial, &v);
	if (!kept)
		*ret_err = -ENOMEM;
	return kept;
}

/* --- labels/ ------------------------------------------------------------------
 *
 * Names depend on each other (two entries with one text are both listed with
 * their ids), so they are made all at once: `bytes` holds the names one after the
 * other, `ends` where each ends, and after them a permutation by name. */

struct span view_label_name(const struct view *v, size_t i)
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
	int d = span_cmp(view_label_name(v, i), view_label_name(v, k));
	return d ? d : (i > k) - (i < k);
}

/* The permutation lies behind the names, at any alignment. */
static uint32_t order_at(const struct view *v, size_t i)
{
	uint32_t k;
	uint64_t names = v->segments ? v->ends[v->segments - 1] : 0;
	memcpy(&k, v->bytes.p + names + i * sizeof k, sizeof k);
	return k;
}

ssize_t view_label_find(const struct view *v, struct span name)
{
	size_t lo = 0, hi = v->segments;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = span_cmp(view_label_name(v, order_at(v, mid)), name);
		if (d == 0)
			return order_at(v, mid);
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

/* Appends the name for label text of entry e: plain, with ~ID, or with ~ID~LINE. */
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
	for (size_t i = 0; i < v->segments; i++) {
		add_label_name(c, v->entries[i], suffixes[i], &v->bytes);
		v->ends[i] = v->bytes.n;
		order[i] = (uint32_t)i;
	}
	int rc = buf_err(&v->bytes);
	if (rc == 0)
		qsort_r(order, v->segments, sizeof *order, order_cmp, v);
	return rc;
}

/* Among equal names: a label whose plain text reads like another's name with its
 * id keeps it, and the other steps aside; else all do. */
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

/* Names that occur more than once get their next suffix. Says whether there were any. */
static bool mark_equal(const struct view *v, const uint32_t *order, unsigned char *suffixes)
{
	bool any = false;
	for (size_t i = 0; i < v->segments; i++) {
		size_t k = i + 1;
		while (k < v->segments && span_eq(view_label_name(v, order[i]), view_label_name(v, order[k])))
			k++;
		if (k - i > 1)
			any |= step_aside(order + i, k - i, suffixes);
		i = k - 1;
	}
	return any;
}

static int make_labels(struct ctx *c, struct view *v)
{
	size_t n = session_label_count(c->session);
	uint32_t *order CLEANUP_FREE = calloc(n + 1, sizeof *order);
	unsigned char *suffixes CLEANUP_FREE = calloc(n + 1, 1);
	v->entries = calloc(n + 1, sizeof *v->entries);
	v->ends = calloc(n + 1, sizeof *v->ends);
	if (!order || !suffixes || !v->entries || !v->ends)
		return -ENOMEM;
	uint32_t e;
	while (v->segments < n && (e = session_labelled(c->session, v->segments)) != NO_ENTRY)
		v->entries[v->segments++] = e;
	int rc = 0;
	for (int round = 0; round <= MOST_SUFFIXES; round++) {
		rc = lay_out_labels(c, v, suffixes, order);
		if (rc < 0 || !mark_equal(v, order, suffixes))
			break;
	}
	buf_add(&v->bytes, order, v->segments * sizeof *order);
	return rc < 0 ? rc : buf_err(&v->bytes);
}

const struct view *view_labels(struct ctx *c, int *ret_err)
{
	struct cache *cache = c->tree->cache;
	node_t id = node_pack((struct node){.kind = K_LABEL_VIEW, .slot = c->node.slot});
	uint64_t serial = session_serial(c->session);
	const struct view *kept = cache_get(cache, id, serial);
	if (kept)
		return kept;
	struct view v = {.bytes = BUF_INIT};
	int rc = make_labels(c, &v);
	if (rc < 0) {
		buf_release(&v.bytes);
		free(v.entries);
		free(v.ends);
		*ret_err = rc;
		return NULL;
	}
	kept = cache_put(cache, id, serial, &v);
	if (!kept)
		*ret_err = -ENOMEM;
	return kept;
}
