/* SPDX-License-Identifier: MIT */
/* labels.tsv, read back. All or nothing: the first invalid line refuses the table.
 *
 * Three states meet: the labels as of the line in the heading, the table, and the current labels. A row equal to the
 * state at that line changes nothing, and the current label stays. But if saving this same table has changed the label
 * since, the table can change it back.
 *
 * A cell that equals the one shown is unchanged, whatever the stored bytes: so saving the file keeps bytes that cannot
 * be shown (a lone surrogate). */
#include "sessionfs/write/edit.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/render/render.h"
#include "sessionfs/write/value.h"

#include <errno.h>

/* The labels that a range of records set, sorted by entry. */
struct labels {
	struct label_change *v;
	size_t n;
};

struct label_table {
	const struct session *s;
	struct edits_from_table *table;
	struct labels then, since; /* up to the line in the heading, and after it */
	struct buf *text;          /* the labels' texts, joined */
	struct buf *why;
	struct edit_label *labels; /* text.p is an offset into `text` until the end */
	size_t n, cap;
	unsigned char *seen; /* one bit per entry: it has a row */
	unsigned line;
};

static int label_table_fail(struct label_table *t, const char *reason)
{
	buf_reset(t->why);
	buf_addf(t->why, "line %u: %s", t->line, reason);
	return -EINVAL;
}

static int label_table_add_change(struct label_table *t, uint32_t entry, size_t begin)
{
	if (!vec_grow(&t->labels, &t->cap, t->n + 1, sizeof *t->labels))
		return -ENOMEM;
	t->labels[t->n++] = (struct edit_label){
	    .entry = entry,
	    .text = {(const char *)begin, t->text->n - begin},
	};
	return 0;
}

static int label_table_unescape(struct label_table *t, struct span cell)
{
	for (size_t i = 0; i < cell.n; i++) {
		char c = cell.p[i];
		if (c != '\\') {
			buf_addc(t->text, c);
			continue;
		}
		char next = i + 1 < cell.n ? cell.p[++i] : ' ';
		static const char escapes[] = {'t', 'n', 'r', '0', '\\'}, meant[] = {'\t', '\n', '\r', '\0', '\\'};
		const char *at = memchr(escapes, next, sizeof escapes);
		if (!at)
			return label_table_fail(t, "unknown escape; use \\t, \\n, \\r, \\0 or \\\\");
		buf_addc(t->text, meant[at - escapes]);
	}
	return 0;
}

/* Returns whether a cell equals the one shown after this change. Without a change (NULL), or if it clears, the cell was
 * empty. */
static bool label_table_cell_is_current(struct label_table *t, const struct label_change *change, struct span cell)
{
	if (!change || !change->is_set)
		return cell.n == 0;
	struct buf label CLEANUP_BUF = BUF_INIT, shown CLEANUP_BUF = BUF_INIT;
	if (session_label_text(t->s, change->record, &label) < 0)
		return false;
	render_add_label_cell(buf_span(&label), &shown);
	return span_eq(buf_span(&shown), cell);
}

/* Returns whether others, not this table, have changed the entry's label since the table was read. */
static bool label_changed_by_others(struct label_table *t, const struct label_change *since)
{
	struct buf label CLEANUP_BUF = BUF_INIT;
	if (since->is_set && session_label_text(t->s, since->record, &label) < 0)
		return true;
	struct edits_from_table *e = t->table;
	return !e->is_saved_here || !e->is_saved_here(e->arg, e->line, since->entry, buf_span(&label));
}

/* Returns whether the cell leaves the entry's label unchanged. */
static bool cell_keeps_label(struct label_table *t, uint32_t entry, struct span cell)
{
	const struct label_change *then = session_label_change_find(t->then.v, t->then.n, entry),
				  *since = session_label_change_find(t->since.v, t->since.n, entry);
	if (label_table_cell_is_current(t, since ? since : then, cell))
		return true;
	return since && label_table_cell_is_current(t, then, cell) && label_changed_by_others(t, since);
}

static int label_table_apply_cell(struct label_table *t, uint32_t entry, struct span cell)
{
	if (cell_keeps_label(t, entry, cell))
		return 0;
	size_t begin = t->text->n;
	int bad_escape = label_table_unescape(t, cell);
	if (bad_escape < 0)
		return bad_escape;
	struct span label = {t->text->p + begin, t->text->n - begin};
	struct buf value CLEANUP_BUF = BUF_INIT;
	const char *why = NULL;
	if (label.n > form_label.limit)
		return label_table_fail(t, "the label is longer than 4096 bytes");
	int rc = value_parse(&form_label, label, &value, &why);
	/* White space clears a label, as in its file. Without a label this changes nothing. */
	if (rc == 0 && value.n == 0) {
		t->text->n = begin;
		if (cell_keeps_label(t, entry, (struct span){NULL, 0}))
			return 0;
	} else if (rc == 0) {
		rc = value_check_label(label, &why);
	}
	return rc < 0 ? label_table_fail(t, why ? why : strerror(-rc)) : label_table_add_change(t, entry, begin);
}

static int label_table_apply_row(struct label_table *t, struct span row)
{
	if (span_only(row, SPAN_LIT(" \t")))
		return 0;
	/* This is a heading even if an entry has an unusual id like it. */
	if (t->line == 1 && span_begins(row, SPAN_LIT(RENDER_LABELS_HEADING)))
		return 0;
	const char *tab = memchr(row.p, '\t', row.n);
	struct span id = {row.p, tab ? (size_t)(tab - row.p) : row.n};
	/* An id can begin with # too: a line that names an entry is not a comment. */
	if (row.p[0] == '#' && session_entry_by_name(t->s, id) == NO_ENTRY)
		return 0;
	if (!tab)
		return label_table_fail(t, "no TAB after the id");
	struct span cell = {tab + 1, row.n - id.n - 1};
	const char *end = memchr(cell.p, '\t', cell.n);
	if (end)
		cell.n = (size_t)(end - cell.p);
	uint32_t i = session_entry_by_name(t->s, id);
	if (i == NO_ENTRY || !(session_entry(t->s, i)->flags & ENTRY_ADDRESSED))
		return label_table_fail(t, "no entry has this id");
	if (t->seen[i / 8] & 1u << i % 8)
		return label_table_fail(t, "this id already has a row");
	t->seen[i / 8] = (unsigned char)(t->seen[i / 8] | 1u << i % 8);
	return label_table_apply_cell(t, i, cell);
}

/* Parses the number in a text that has exactly one. */
static bool single_number(struct span s, uint32_t *ret)
{
	uint64_t n = 0;
	size_t i = 0;
	while (i < s.n && !char_is_digit(s.p[i]))
		i++;
	if (i == s.n)
		return false;
	for (; i < s.n && char_is_digit(s.p[i]); i++)
		n = n > UINT32_MAX ? n : n * 10 + (uint64_t)(s.p[i] - '0');
	while (i < s.n && !char_is_digit(s.p[i]))
		i++;
	*ret = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	return i == s.n;
}

/* Finds the line in the first heading, or without a heading the current line. */
static int label_table_find_line(struct label_table *t)
{
	struct span rest = t->table->text, row;
	uint32_t now = session_line_count(t->s);
	for (unsigned line = 1; span_line(&rest, &row); line++) {
		if (span_begins(row, SPAN_LIT("# ID")) && single_number(row, &t->table->line)) {
			t->line = line;
			return t->table->line > now ? label_table_fail(t, "the session file does not have that line")
			                            : 0;
		}
	}
	t->table->line = now;
	return 0;
}

static int label_table_parse(struct label_table *t)
{
	struct span rest = t->table->text, row;
	t->seen = calloc(session_count(t->s) / 8 + 1, 1);
	int rc = t->seen ? label_table_find_line(t) : -ENOMEM;
	if (rc == 0)
		rc = session_label_changes(t->s, 0, t->table->line, &t->then.v, &t->then.n);
	if (rc == 0)
		rc = session_label_changes(t->s, t->table->line, UINT32_MAX, &t->since.v, &t->since.n);
	for (t->line = 1; rc == 0 && span_line(&rest, &row); t->line++)
		rc = label_table_apply_row(t, row);
	/* A missing row of an entry with a label clears it, unless others have set that label since the table was read:
	 * then the table could not have a row for it. */
	uint32_t e;
	for (size_t i = 0; rc == 0 && (e = session_nth_labelled(t->s, i)) != NO_ENTRY; i++) {
		const struct label_change *then = session_label_change_find(t->then.v, t->then.n, e),
					  *since = session_label_change_find(t->since.v, t->since.n, e);
		bool is_news = since && !(then && then->is_set) && label_changed_by_others(t, since);
		if (!(t->seen[e / 8] & 1u << e % 8) && !is_news)
			rc = label_table_add_change(t, e, t->text->n);
	}
	return rc < 0 ? rc : buf_err(t->text);
}

int edits_from_table(const struct session *s, struct edits_from_table *table, struct buf *text,
                     struct edit_label **ret_labels, size_t *ret_n, struct buf *why)
{
	struct label_table t = {.s = s, .table = table, .text = text, .why = why};
	int deferred = deferred_begin();
	int rc = deferred_end(deferred, label_table_parse(&t));
	free(t.seen);
	free(t.then.v);
	free(t.since.v);
	if (rc < 0) {
		free(t.labels);
		return rc;
	}
	/* The text does not move after this. */
	for (size_t i = 0; i < t.n; i++)
		t.labels[i].text.p = text->p + (size_t)t.labels[i].text.p;
	*ret_labels = t.labels;
	*ret_n = t.n;
	return 0;
}
