/* SPDX-License-Identifier: MIT */
/* Problems in the file. The scan records problems in a single line. Problems that depend on other entries are computed
 * on first use. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/session/context.h"
#include "sessionfs/session/part.h"
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
	case REASON_NO_CALL:
		return "a provider refuses it: a result whose call is not sent before it";
	case REASON_NO_PICTURE:
		return "a provider refuses it: the data of a picture is not of its type";
	case REASON_LARGE_PICTURE:
		return "a provider refuses it: a picture larger than 5 MiB";
	case REASON_EMPTY:
		return "a provider refuses it: empty content";
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

static int add_entry_problems(const struct session *s, problem_records_t *to)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	struct record r;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < s->extent.entry_count; i++) {
		const struct entry *e = session_entry_at(s, i);
		bool fine = true;
		rc = e->type == RECORD_COMPACTION ? session_load(s, i, &l, &r) : cancel_check();
		if (rc == 0 && e->type == RECORD_COMPACTION)
			find_first_kept(s, i, &r, &fine);
		if ((!(e->flags & ENTRY_ADDRESSED) && e->id &&
		     !problem_record_add(to, e->offset, e->line, REASON_DUPLICATE)) ||
		    (e->flags & ENTRY_ORPHAN && !problem_record_add(to, e->offset, e->line, REASON_ORPHAN)) ||
		    (e->flags & ENTRY_CYCLE && !problem_record_add(to, e->offset, e->line, REASON_CYCLE)) ||
		    (!fine && !problem_record_add(to, e->offset, e->line, REASON_BAD_FIRST_KEPT)))
			return -ENOMEM;
	}
	return rc;
}

static int add_label_problems(const struct session *s, problem_records_t *to)
{
	for (size_t k = 0; k < s->labels.list.n; k++) {
		const struct entry *e = session_entry_at(s, s->labels.list.v[k].entry);
		if (e->type == RECORD_LABEL && label_target(s, s->labels.list.v[k]) == NO_ENTRY &&
		    !problem_record_add(to, e->offset, e->line, REASON_LABEL))
			return -ENOMEM;
		if (cancel_check() < 0)
			return -EINTR;
	}
	return 0;
}

/* Adds what a provider refuses on the branch in use. pi sends no picture of an assistant, and empty content only of a
 * user. */
static int add_refused(const struct session *s, problem_records_t *to)
{
	CLEANUP_CONTEXT struct context c = {0};
	CLEANUP(map_release) struct map calls = {0};
	int rc = context_build(s, session_leaf(s), &c);

	for (const struct context_item *item = c.items; rc == 0 && item < c.items + c.n; item++) {
		const struct entry *e = session_entry_at(s, item->entry);
		enum record_role role = part_role_as((enum record_type)e->type, (enum record_role)e->role);
		bool result = role == ROLE_TOOL_RESULT, user = role == ROLE_USER || role == ROLE_CUSTOM;
		unsigned content = session_entry_at(s, item->edit != NO_ENTRY ? item->edit : item->entry)->content;
		if (result && !call_ids_have(s, &calls, item->entry) &&
		    !problem_record_add(to, e->offset, item->entry, REASON_NO_CALL))
			return -ENOMEM;
		if (content && (user || (result && content != CONTENT_EMPTY)) &&
		    !problem_record_add(to, e->offset, item->entry, (enum problem_reason)(REASON_NO_CALL + content)))
			return -ENOMEM;
		rc = call_ids_add(s, item, &calls);
		rc = rc < 0 ? rc : cancel_check();
	}
	return rc;
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
	if (s->extent.tail == TAIL_TORN &&
	    !problem_record_add(to, s->extent.whole_end, s->extent.lines + 1, s->extent.tail_problem))
		return -ENOMEM;
	int rc = add_entry_problems(s, to);
	rc = rc < 0 ? rc : add_label_problems(s, to);
	rc = rc < 0 ? rc : add_refused(s, to);
	if (rc < 0)
		return rc;
	/* As the last one, wherever the first that is not listed is. */
	if (to->n > PROBLEMS_MAX)
		to->v[PROBLEMS_MAX] = (struct problem_record){s->extent.end, s->extent.lines, REASON_AND_MORE};
	if (to->n)
		qsort(to->v, to->n, sizeof *to->v, problem_line_cmp);
	return 0;
}

size_t session_problem_count(const struct session *s)
{
	/* What derives ids must not be called while problems are derived. */
	if (session_has_edits(s) && ids_ensure(s) < 0)
		return 0;
	return derive_once(s, &s->derived->problems_at, find_all_problems) < 0 ? 0 : s->derived->problems.n;
}

struct problem session_problem(const struct session *s, size_t n)
{
	const struct problem_record *f = &s->derived->problems.v[n];
	bool refused = f->reason >= REASON_NO_CALL && f->reason <= REASON_LARGE_PICTURE;
	uint32_t entry = refused ? f->line : NO_ENTRY;

	return (struct problem){refused ? session_entry_at(s, entry)->line : f->line, f->offset, reason_text(f->reason),
	                        entry};
}

void session_problem_add_reason(const struct session *s, const struct problem *p, struct buf *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-%";
	CLEANUP_BUF struct buf name = BUF_INIT;

	buf_adds(out, p->reason);
	/* A context edit names its target by the id. A user pastes the command into a shell. */
	if (p->refused == NO_ENTRY || !s->format->has_ids || !has_flag(s, p->refused, ENTRY_ADDRESSED))
		return;
	session_entry_name(s, p->refused, &name);
	const char *text = buf_cstr(&name);
	if (text && text[strspn(text, plain)] == '\0')
		buf_addf(out, "; leave it out: echo null > entries/%s/context.json", text);
}
