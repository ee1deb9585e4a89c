/* labels.tsv, read back. All or nothing: the first bad line refuses the table.
 *
 * A cell that reads as it was shown is unchanged, whatever the stored bytes: what
 * cannot be shown (a lone surrogate) is not lost by saving the file. */
#include "sessionfs/edit.h"
#include "sessionfs/fault.h"
#include "sessionfs/render.h"
#include "sessionfs/value.h"

#include <errno.h>

struct table {
	const struct session *s;
	struct buf *text; /* the labels' text, one after the other */
	struct buf *why;
	struct edit_label *labels; /* text.p is an offset into `text` until the end */
	size_t n, cap;
	unsigned char *seen; /* one bit an entry: it has a row */
	unsigned line;
	uint32_t next; /* the entry after that of the last row */
};

static int bad(struct table *t, const char *reason)
{
	buf_reset(t->why);
	buf_addf(t->why, "line %u: %s", t->line, reason);
	return -EINVAL;
}

static int add_change(struct table *t, uint32_t entry, size_t begin)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16;
		struct edit_label *p = realloc(t->labels, cap * sizeof *p);
		if (!p)
			return -ENOMEM;
		t->labels = p;
		t->cap = cap;
	}
	t->labels[t->n++] = (struct edit_label){
	    .entry = entry,
	    .text = {(const char *)begin, t->text->n - begin},
	};
	return 0;
}

static int unescape(struct table *t, struct span cell)
{
	for (size_t i = 0; i < cell.n; i++) {
		char c = cell.p[i];
		if (c != '\\') {
			buf_addc(t->text, c);
			continue;
		}
		char next = i + 1 < cell.n ? cell.p[++i] : ' ';
		if (next != 't' && next != 'n' && next != '0' && next != '\\')
			return bad(t, "a backslash stands for \\t, \\n, \\0 or \\\\ only");
		buf_addc(t->text, next == 't' ? '\t' : next == 'n' ? '\n' : next == '0' ? '\0' : '\\');
	}
	return 0;
}

static bool is_blank(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t')
			return false;
	return true;
}

static bool is_shown(struct table *t, uint32_t entry, struct span cell)
{
	if (session_label_record(t->s, entry) == NO_ENTRY)
		return cell.n == 0;
	struct buf label CLEANUP_BUF = BUF_INIT, shown CLEANUP_BUF = BUF_INIT;
	session_label(t->s, entry, &label);
	render_label_cell(buf_span(&label), &shown);
	return span_eq(buf_span(&shown), cell);
}

static int take_cell(struct table *t, uint32_t entry, struct span cell)
{
	if (is_shown(t, entry, cell))
		return 0;
	size_t begin = t->text->n;
	int bad_escape = unescape(t, cell);
	if (bad_escape < 0)
		return bad_escape;
	struct span label = {t->text->p + begin, t->text->n - begin};
	struct buf value CLEANUP_BUF = BUF_INIT;
	const char *why = NULL;
	if (label.n > value_limit(VALUE_LABEL))
		return bad(t, "the label is longer than 4096 bytes");
	int rc = value_parse(VALUE_LABEL, label, &value, &why);
	/* White space clears, as everywhere. */
	if (rc == 0 && value.n == 0)
		t->text->n = begin;
	else if (rc == 0)
		rc = value_label(label, &why);
	return rc < 0 ? bad(t, why ? why : strerror(-rc)) : add_change(t, entry, begin);
}

/* Whether the name of an entry with this id is the id itself, as it is of all ids that pi makes. */
static bool is_plain(struct span id)
{
	for (size_t i = 0; i < id.n; i++)
		if (!((id.p[i] >= '0' && id.p[i] <= '9') || (id.p[i] >= 'a' && id.p[i] <= 'z') || id.p[i] == '-'))
			return false;
	return id.n > 0;
}

/* The entry that a row names. Nearly always it is soon after that of the row before, which is seen without a look
 * at the table of all ids: a long table is saved for a few rows of it. */
static uint32_t find_entry(struct table *t, struct span name)
{
	enum { NEAR = 8 };
	uint32_t count = session_count(t->s);
	if (!is_plain(name))
		return session_entry_by_name(t->s, name);
	for (uint32_t i = t->next; i < count && i < t->next + NEAR; i++)
		if ((session_entry(t->s, i)->flags & (ENTRY_ADDRESSED | ENTRY_ODD_NAME)) == ENTRY_ADDRESSED &&
		    span_eq(session_entry_id(t->s, i), name))
			return i;
	return session_entry_by_name(t->s, name);
}

static int take_row(struct table *t, struct span row)
{
	if (is_blank(row))
		return 0;
	const char *tab = memchr(row.p, '\t', row.n);
	struct span id = {row.p, tab ? (size_t)(tab - row.p) : row.n};
	/* An id may begin with # too: what names an entry is no comment. */
	if (row.p[0] == '#' && session_entry_by_name(t->s, id) == NO_ENTRY)
		return 0;
	if (!tab)
		return bad(t, "no TAB after the id");
	struct span cell = {tab + 1, row.n - id.n - 1};
	const char *end = memchr(cell.p, '\t', cell.n);
	if (end)
		cell.n = (size_t)(end - cell.p);
	uint32_t i = find_entry(t, id);
	if (i == NO_ENTRY || !(session_entry(t->s, i)->flags & ENTRY_ADDRESSED))
		return bad(t, "no entry has this id");
	if (t->seen[i / 8] & 1u << i % 8)
		return bad(t, "this id has a row already");
	t->next = i + 1;
	t->seen[i / 8] = (unsigned char)(t->seen[i / 8] | 1u << i % 8);
	return take_cell(t, i, cell);
}

/* A missing row of an entry with a label clears it. */
static int clear_missing(struct table *t)
{
	uint32_t e;
	int rc = 0;
	for (size_t i = 0; rc == 0 && (e = session_labelled(t->s, i)) != NO_ENTRY; i++)
		if (!(t->seen[e / 8] & 1u << e % 8))
			rc = add_change(t, e, t->text->n);
	return rc;
}

static int take_rows(struct table *t, struct span table)
{
	int rc = 0;
	while (rc == 0 && table.n > 0) {
		const char *nl = memchr(table.p, '\n', table.n);
		struct span row = {table.p, nl ? (size_t)(nl - table.p) : table.n};
		size_t step = row.n + (nl != NULL);
		t->line++;
		rc = take_row(t, row);
		table.p += step;
		table.n -= step;
	}
	return rc;
}

int edit_table(const struct session *s, struct span table, struct buf *text, struct edit_label **ret_labels,
               size_t *ret_n, struct buf *why)
{
	struct table t = {.s = s, .text = text, .why = why};
	int faults = fault_begin();
	t.seen = calloc(session_count(s) / 8 + 1, 1);
	int rc = t.seen ? take_rows(&t, table) : -ENOMEM;
	if (rc == 0)
		rc = clear_missing(&t);
	if (rc == 0)
		rc = buf_err(text);
	rc = fault_end(faults, rc);
	free(t.seen);
	if (rc < 0) {
		free(t.labels);
		return rc;
	}
	/* The text does not move any more. */
	for (size_t i = 0; i < t.n; i++)
		t.labels[i].text.p = text->p + (size_t)t.labels[i].text.p;
	*ret_labels = t.labels;
	*ret_n = t.n;
	return 0;
}
