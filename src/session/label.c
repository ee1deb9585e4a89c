/* SPDX-License-Identifier: MIT */
/* Labels, context edits and the display name. A scan only notes a record. Its target is looked up on first use, because
 * it can be in a later line, or its id can move to one. */
#include "sessionfs/base/space.h"
#include "session_impl.h"

uint32_t label_target(const struct session *s, struct id_ref r)
{
	if (!r.key || !s->format->has_ids)
		return NO_ENTRY;
	struct key key = arena_get(&s->labels.keys, r.key);
	return id_table_find(s, &key);
}

/* Merges n new records, sorted by target, into the labels, which must have room for them. For each target the last
 * record counts; if it clears, the label is removed. Merges from the end, so that labels before the first target stay
 * in place. */
static void labels_merge(const struct session *s, labels_t *to, const struct label *fresh, size_t n)
{
	size_t i = to->n, end = i + n, at = end;

	for (size_t k = n; k-- > 0;) {
		if (k + 1 < n && fresh[k + 1].target == fresh[k].target)
			continue;
		while (i > 0 && to->v[i - 1].target > fresh[k].target)
			to->v[--at] = to->v[--i];
		if (i > 0 && to->v[i - 1].target == fresh[k].target)
			i--;
		const struct entry *e = session_entry_at(s, fresh[k].record);
		if (e->type == RECORD_CONTEXT_EDIT || e->flags & ENTRY_SETS_LABEL)
			to->v[--at] = fresh[k];
	}
	if (end > at)
		memmove(to->v + i, to->v + at, (end - at) * sizeof *to->v);
	to->n = i + (end - at);
}

/* Continues where the last call ended, so that a new label costs the same however many there are. Starts again if the
 * target of an earlier record may have changed. */
static int labels_update(const struct session *s)
{
	struct derived *d = s->derived;
	size_t n = 0, from = d->label_records;
	CLEANUP_FREE struct label *fresh = malloc((s->labels.list.n - from) * sizeof *fresh + 1);
	bool settled = true;

	if (!from)
		d->labels.n = 0;
	if (!fresh || !vec_reserve(&d->labels, s->labels.list.n - from))
		return -ENOMEM;
	for (size_t k = from; k < s->labels.list.n; k++) {
		if (session_entry_at(s, s->labels.list.v[k].entry)->type == RECORD_CONTEXT_EDIT)
			continue;
		uint32_t target = label_target(s, s->labels.list.v[k]);
		if (target != NO_ENTRY)
			fresh[n++] = (struct label){target, s->labels.list.v[k].entry};
		else
			settled = false;
	}
	if (n)
		qsort(fresh, n, sizeof *fresh, two_numbers_cmp);
	labels_merge(s, &d->labels, fresh, n);
	d->label_records = settled ? s->labels.list.n : 0;
	d->labels_resolved = n + (from ? d->labels_resolved : 0);
	return 0;
}

static size_t labels_ensure(const struct session *s)
{
	if (!s->labels.list.n || derive_once(s, &s->derived->labels_at, labels_update) < 0)
		return 0;
	return s->derived->labels.n;
}

static uint32_t labels_find(const labels_t *of, uint32_t i)
{
	const struct label *l = of->n ? bsearch(&i, of->v, of->n, sizeof *l, leading_number_cmp) : NULL;

	return l ? l->record : NO_ENTRY;
}

uint32_t session_label_record(const struct session *s, uint32_t i)
{
	return labels_ensure(s) ? labels_find(&s->derived->labels, i) : NO_ENTRY;
}

/* Walks up from the leaf, to the leaf of the last call if the branch only grew. The edit nearest to the leaf counts. */
static int edits_update(const struct session *s)
{
	struct derived *d = s->derived;
	size_t n = 0;
	uint32_t ring = NO_ENTRY, leaf = session_leaf(s), i = has_flag(s, leaf, ENTRY_NULL_ID) ? NO_ENTRY : leaf;
	CLEANUP_FREE struct label *fresh = malloc(s->labels.list.n * sizeof *fresh + 1);
	CLEANUP_FREE uint32_t *walked = malloc(s->labels.list.n * sizeof *walked + 1);
	bool settled = i != NO_ENTRY;

	if (!fresh || !walked || !vec_reserve(&d->edits, s->labels.list.n))
		return -ENOMEM;
	for (; i != NO_ENTRY && (size_t)i + 1 != d->edits_end; i = session_walk_parent(s, i, &ring)) {
		if (session_entry_at(s, i)->type != RECORD_CONTEXT_EDIT)
			continue;
		const struct id_ref *r = bsearch(&i, s->labels.list.v, s->labels.list.n, sizeof *r, leading_number_cmp);
		uint32_t target = r ? label_target(s, *r) : NO_ENTRY;
		if (target != NO_ENTRY)
			fresh[n] = (struct label){target, UINT32_MAX - (uint32_t)n}, walked[n++] = i;
		else
			settled = false;
	}
	if (i == NO_ENTRY)
		d->edits.n = 0;
	if (n)
		qsort(fresh, n, sizeof *fresh, two_numbers_cmp);
	for (size_t k = 0; k < n; k++)
		fresh[k].record = walked[UINT32_MAX - fresh[k].record];
	labels_merge(s, &d->edits, fresh, n);
	d->edits_end = settled ? (size_t)leaf + 1 : 0;
	return 0;
}

uint32_t session_edit_record(const struct session *s, uint32_t i)
{
	bool any = session_has_edits(s) && derive_once(s, &s->derived->edits_at, edits_update) == 0;

	return any ? labels_find(&s->derived->edits, i) : NO_ENTRY;
}

int session_label_text(const struct session *s, uint32_t record, struct buf *out)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	struct record r;
	int rc = session_load(s, record, &l, &r);

	if (rc < 0)
		return rc;
	add_exact_text(r.label, out);
	return buf_err(out);
}

bool session_label(const struct session *s, uint32_t i, struct buf *out)
{
	uint32_t record = session_label_record(s, i);

	return record != NO_ENTRY && session_label_text(s, record, out) == 0;
}

int session_label_changes(const struct session *s, uint32_t after, uint32_t upto, struct label_change **ret,
                          size_t *ret_n)
{
	size_t n = 0;
	struct label_change *v = malloc(s->labels.list.n * sizeof *v + 1);

	if (!v)
		return -ENOMEM;
	for (size_t k = 0; k < s->labels.list.n; k++) {
		uint32_t record = s->labels.list.v[k].entry, line = session_entry_at(s, record)->line;
		uint32_t target = line > after && line <= upto ? label_target(s, s->labels.list.v[k]) : NO_ENTRY;
		if (target != NO_ENTRY && session_entry_at(s, record)->type == RECORD_LABEL)
			v[n++] = (struct label_change){target, record, has_flag(s, record, ENTRY_SETS_LABEL)};
	}
	qsort(v, n, sizeof *v, two_numbers_cmp);
	*ret = v;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) /* keeps the last change of each entry */
		if (i + 1 == n || v[i + 1].entry != v[i].entry)
			v[(*ret_n)++] = v[i];
	return 0;
}

const struct label_change *session_label_change_find(const struct label_change *v, size_t n, uint32_t entry)
{
	return n ? bsearch(&entry, v, n, sizeof *v, leading_number_cmp) : NULL;
}

uint32_t session_line_count(const struct session *s)
{
	return s->extent.lines;
}

uint32_t session_nth_labelled(const struct session *s, size_t n)
{
	return n < labels_ensure(s) ? s->derived->labels.v[n].target : NO_ENTRY;
}

size_t session_label_count(const struct session *s)
{
	return labels_ensure(s);
}

uint32_t session_name_record(const struct session *s)
{
	return s->extent.newest_info;
}

uint64_t session_label_serial(const struct session *s)
{
	labels_ensure(s);
	return s->derived->labels_resolved +
	       (s->extent.newest_info == NO_ENTRY ? 0 : (uint64_t)s->extent.newest_info + 1);
}

bool session_name(const struct session *s, struct buf *out)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct record r;

	if (s->extent.newest_info == NO_ENTRY || session_load(s, s->extent.newest_info, &l, &r) < 0 ||
	    r.name.kind != JSON_STRING)
		return false;
	json_decode(r.name.text, JSON_READ, &text);
	struct span name = space_trim(buf_span(&text));
	buf_addspan(out, name);
	return name.n > 0;
}

uint32_t session_branch_record(const struct session *s, uint32_t i)
{
	for (uint32_t c = session_entry_at(s, i)->child; c != NO_ENTRY; c = session_entry_at(s, c)->sibling)
		if (session_entry_at(s, c)->type == RECORD_BRANCH_SUMMARY && has_flag(s, c, ENTRY_SUMMARY))
			return c;
	return NO_ENTRY;
}
