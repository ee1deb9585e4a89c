/* Labels and the display name. A label record is only noted when it is read;
 * what it points at is looked up when somebody asks, because it may stand in a
 * later line, or its id may move to one. */
#include "session_impl.h"

uint32_t label_target(const struct session *s, struct ref r)
{
	if (!r.key || s->linear)
		return NO_ENTRY;
	struct key key = arena_get(&s->labels.keys, r.key);
	return table_find(s, &key);
}

static int by_target(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->target != y->target)
		return x->target < y->target ? -1 : 1;
	return (x->record > y->record) - (x->record < y->record);
}

/* The last record of each target, unless it clears. */
static int make_labels(const struct session *s)
{
	__typeof__(&s->derived->labels) to = &s->derived->labels;
	size_t kept = 0;

	to->n = 0;
	if (!vec_reserve(to, s->labels.list.n))
		return -ENOMEM;
	for (size_t k = 0; k < s->labels.list.n; k++) {
		uint32_t target = label_target(s, s->labels.list.v[k]);
		if (target != NO_ENTRY)
			to->v[to->n++] = (struct label){target, s->labels.list.v[k].entry};
	}
	if (to->n)
		qsort(to->v, to->n, sizeof *to->v, by_target);
	for (size_t k = 0; k < to->n; k++)
		if ((k + 1 == to->n || to->v[k + 1].target != to->v[k].target) &&
		    has_flag(s, to->v[k].record, ENTRY_SETS_LABEL))
			to->v[kept++] = to->v[k];
	to->n = kept;
	return 0;
}

static size_t labels_need(const struct session *s)
{
	if (!s->labels.list.n || derive(s, &s->derived->labels_at, make_labels) < 0)
		return 0;
	return s->derived->labels.n;
}

uint32_t session_label_record(const struct session *s, uint32_t i)
{
	size_t low = 0, n = labels_need(s), high = n;
	const struct label *v = s->derived->labels.v;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (v[middle].target < i)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && v[low].target == i ? v[low].record : NO_ENTRY;
}

bool session_label(const struct session *s, uint32_t i, struct buf *out)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	struct record r;
	uint32_t record = session_label_record(s, i);

	if (record == NO_ENTRY || session_load(s, record, &l, &r) < 0)
		return false;
	if (r.label.kind == JSON_STRING)
		json_decode(r.label.text, JSON_EXACT, out);
	else
		buf_addspan(out, json_raw(r.label));
	return true;
}

uint32_t session_labelled(const struct session *s, size_t n)
{
	return n < labels_need(s) ? s->derived->labels.v[n].target : NO_ENTRY;
}

size_t session_label_count(const struct session *s)
{
	return labels_need(s);
}

bool session_name(const struct session *s, struct buf *out)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct record r;

	if (s->at.info == NO_ENTRY || session_load(s, s->at.info, &l, &r) < 0 || r.name.kind != JSON_STRING)
		return false;
	json_decode(r.name.text, JSON_EXACT, &text);
	struct span name = record_trim(buf_span(&text));
	buf_addspan(out, name);
	return name.n > 0;
}

uint32_t session_branch_record(const struct session *s, uint32_t i)
{
	for (uint32_t c = entry_at(s, i)->child; c != NO_ENTRY; c = entry_at(s, c)->sibling)
		if (entry_at(s, c)->type == RECORD_BRANCH_SUMMARY && has_flag(s, c, ENTRY_SUMMARY))
			return c;
	return NO_ENTRY;
}
