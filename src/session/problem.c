/* SPDX-License-Identifier: MIT */
/* Problems in the file. The scan records problems in a single line. Problems that depend on other entries are computed
 * on first use. */
#include "session_impl.h"

/* The max number kept: a file of nothing but bad lines must not fill the memory. */
enum { PROBLEMS_MAX = 1000000 };

/* Without a default: the compiler names a reason that has no text. */
static const char *reason_text(enum problem_reason reason)
{
	switch (reason) {
	case REASON_MALFORMED:
		return "malformed: not JSON";
	case REASON_TORN:
		return "the last line is incomplete";
	case REASON_FALSY:
		return "null, false, 0 or \"\": not an entry";
	case REASON_NO_OBJECT:
		return "not an object";
	case REASON_NO_ID:
		return "no usable id";
	case REASON_NO_PARENT_ID:
		return "no parentId: a root";
	case REASON_SELF_PARENT:
		return "its own parent: a root";
	case REASON_NO_MESSAGE:
		return "a message entry without a message";
	case REASON_TOO_LONG:
		return "longer than 512 MiB: not read";
	case REASON_TOO_MANY_PARTS:
		return "too many tool calls or images: the last ones are left out";
	case REASON_TOO_MANY:
		return "more than 8,388,608 entries: this and all later ones are left out";
	case REASON_DUPLICATE:
		return "its id is used again in a later line";
	case REASON_ORPHAN:
		return "unknown parent: a root";
	case REASON_CYCLE:
		return "it is its own ancestor";
	case REASON_LABEL:
		return "labels an unknown entry";
	case REASON_BAD_FIRST_KEPT:
		return "the first entry that the compaction keeps is missing";
	case REASON_AND_MORE:
		return "further problems are not listed";
	}
	return "";
}

bool problem_record_add(problem_records_t *f, uint64_t offset, uint32_t line, enum problem_reason reason)
{
	if (f->n > PROBLEMS_MAX)
		return true;
	if (!vec_reserve(f, 1))
		return false;
	f->v[f->n] = (struct problem_record){offset, line, f->n == PROBLEMS_MAX ? REASON_AND_MORE : reason};
	f->n++;
	return true;
}

/* Returns the entry at this index among the truthy lines of the file, with the header first. */
static uint32_t entry_by_index(const struct session *s, double index, bool *ret_is_header)
{
	uint32_t headers = 1;

	if (!(index >= 0 && index < UINT32_MAX) || index != (double)(uint32_t)index)
		return NO_ENTRY;
	*ret_is_header = index == 0;
	for (size_t k = 0; k < s->headers.n && s->headers.v[k] <= index; k++, headers++)
		*ret_is_header |= s->headers.v[k] == index;
	if (*ret_is_header || index - headers >= s->extent.entry_count)
		return NO_ENTRY;
	return (uint32_t)index - headers;
}

/* *ret_fine: the line it names exists, even if it keeps no entry. */
static uint32_t find_first_kept(const struct session *s, uint32_t i, const struct record *r, bool *ret_fine)
{
	bool is_header = false;
	double index;
	uint32_t kept;

	if (s->format->has_kept_index && json_double(r->first_kept_entry_index, &index)) {
		kept = entry_by_index(s, index, &is_header);
		*ret_fine = kept != NO_ENTRY || is_header;
		/* While pi migrates, later entries have no id yet. */
		return kept != NO_ENTRY && kept <= i && has_flag(s, kept, ENTRY_ADDRESSED) ? kept : NO_ENTRY;
	}
	kept = !s->format->has_ids ? NO_ENTRY : session_entry_by_id(s, r->first_kept_entry_id);
	*ret_fine = kept != NO_ENTRY;
	return kept;
}

uint32_t session_first_kept(const struct session *s, uint32_t i, const struct record *r)
{
	bool fine;

	return find_first_kept(s, i, r, &fine);
}

static bool add_entry_problems(const struct session *s, problem_records_t *to)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	bool ok = true;
	struct record r;

	for (uint32_t i = 0; ok && i < s->extent.entry_count; i++) {
		const struct entry *e = session_entry_at(s, i);
		if (!(e->flags & ENTRY_ADDRESSED) && e->id)
			ok = problem_record_add(to, e->offset, e->line, REASON_DUPLICATE);
		if (ok && e->flags & ENTRY_ORPHAN)
			ok = problem_record_add(to, e->offset, e->line, REASON_ORPHAN);
		if (ok && e->flags & ENTRY_CYCLE)
			ok = problem_record_add(to, e->offset, e->line, REASON_CYCLE);
		bool fine = true;
		if (ok && e->type == RECORD_COMPACTION && session_load(s, i, &l, &r) == 0)
			find_first_kept(s, i, &r, &fine);
		if (ok && !fine)
			ok = problem_record_add(to, e->offset, e->line, REASON_BAD_FIRST_KEPT);
	}
	return ok;
}

static bool add_label_problems(const struct session *s, problem_records_t *to)
{
	for (size_t k = 0; k < s->labels.list.n; k++) {
		const struct entry *e = session_entry_at(s, s->labels.list.v[k].entry);
		if (e->type == RECORD_LABEL && label_target(s, s->labels.list.v[k]) == NO_ENTRY &&
		    !problem_record_add(to, e->offset, e->line, REASON_LABEL))
			return false;
	}
	return true;
}

static int problem_line_cmp(const void *a, const void *b)
{
	const struct problem_record *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (int)x->reason - (int)y->reason;
}

static int find_all_problems(const struct session *s)
{
	problem_records_t *to = &s->derived->problems;

	to->n = 0;
	for (size_t k = 0; k < s->faults.n; k++)
		if (!problem_record_add(to, s->faults.v[k].offset, s->faults.v[k].line, s->faults.v[k].reason))
			return -ENOMEM;
	if (!add_entry_problems(s, to) || !add_label_problems(s, to))
		return -ENOMEM;
	if (s->extent.tail == TAIL_TORN &&
	    !problem_record_add(to, s->extent.whole_end, s->extent.lines + 1, s->extent.tail_problem))
		return -ENOMEM;
	if (to->n)
		qsort(to->v, to->n, sizeof *to->v, problem_line_cmp);
	return 0;
}

size_t session_problem_count(const struct session *s)
{
	return derive_once(s, &s->derived->problems_at, find_all_problems) < 0 ? 0 : s->derived->problems.n;
}

struct problem session_problem(const struct session *s, size_t n)
{
	const struct problem_record *f = &s->derived->problems.v[n];

	return (struct problem){f->line, f->offset, reason_text(f->reason)};
}
