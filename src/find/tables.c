/* SPDX-License-Identifier: MIT */
/* The tables of all sessions, as text. */
#include "find_impl.h"
#include "sessionfs/find/tables.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/counters.h"
#include "sessionfs/catalog/header.h"
#include "sessionfs/render/files.h"

#include <errno.h>
#include <math.h>

#define SESSIONS_HEADING                                                                                               \
	"id\tproject\tstem\tcreated\tmodified\tentries\tmessages\ttokens\tcost\tmodel\tstate\tparent\tbytes\ttitle\t"  \
	"active\tcostWithSubagents\n"
#define PROBLEMS_HEADING "file\tproject\tstem\tline\toffset\treason\n"
#define LABELS_HEADING "label\tproject\tstem\tentry\ttime\trole\ttext\n"
#define USAGE_HEADING "day\tproject\tmodel\tmessages\tinput\toutput\tcacheRead\tcacheWrite\ttokens\tcost\n"

/* Appends a cell with text from a session, which can contain any character. Names stay exact, since they lead to
 * files. */
static void tables_add_text_cell(struct span text, struct buf *out)
{
	size_t start = out->n;
	text_add_cell(text, out);
	text_flatten_from(out, start);
}

void tables_add_location(const struct fact *f, struct buf *out)
{
	text_add_cell(span_of(f->project), out);
	buf_addc(out, '\t');
	text_add_cell(span_of(f->stem), out);
	buf_addc(out, '\t');
}

static void tables_add_cost(double cost, struct buf *out)
{
	number_add(number_round(cost, RENDER_COST_DECIMALS), out);
}

/* Appends the heading, and the rows of each session. Returns 0, a negative errno, or the errno of a session that `add`
 * left out. */
static int tables_add(const struct fact_list *list, const char *heading,
                      int (*add)(struct catalog *c, const struct fact *f, struct buf *out), struct buf *out)
{
	int rc = facts_list_error(list), missed = 0;
	buf_adds(out, heading);
	for (size_t i = 0; i < list->n && rc >= 0; i++) {
		rc = add(list->catalog, &list->v[i], out);
		missed = rc > 0 ? rc : missed;
	}
	return rc < 0 ? rc : buf_err(out) ? buf_err(out) : missed;
}

/* --- sessions.tsv ---------------------------------------------------------------- */

/* Appends the path of the session `parent`, as in a file of that name. */
static void tables_add_parent(struct catalog *c, uint32_t parent, struct buf *out)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	struct slot_info s;
	struct project_info p;
	if (parent == NO_SLOT || catalog_slot(c, parent, &s) < 0 || !catalog_project(c, s.project, &p))
		return;
	buf_addf(&path, "projects/%s/%s", p.name, s.stem);
	text_add_cell(buf_span(&path), out);
	out->err = buf_err(&path) ? buf_err(&path) : out->err;
}

static int tables_add_session(struct catalog *c, const struct fact *f, struct buf *out)
{
	const struct session_facts *of = f->facts;
	tables_add_text_cell(of->id, out);
	buf_addc(out, '\t');
	tables_add_location(f, out);
	number_add_time(of->created, out);
	buf_addc(out, '\t');
	number_add_time(of->modified, out);
	buf_addf(out, "\t%u\t%u\t", of->entries, of->messages);
	if (of->has_usage)
		number_add(of->usage.total, out);
	buf_addc(out, '\t');
	if (of->has_usage)
		tables_add_cost(of->usage.cost, out);
	buf_addc(out, '\t');
	tables_add_text_cell(of->model, out);
	buf_addf(out, "\t%s\t", of->state ? of->state : "");
	tables_add_parent(c, f->parent, out);
	buf_addf(out, "\t%llu\t", (unsigned long long)of->bytes);
	tables_add_text_cell(of->title, out);
	buf_addc(out, '\t');
	if (!isnan(of->active))
		number_add(of->active, out);
	buf_addc(out, '\t');
	if (of->has_usage || f->has_subagents)
		tables_add_cost(f->cost_with_subagents, out);
	buf_addc(out, '\n');
	return cancel_check();
}

int table_sessions(const struct fact_list *list, struct buf *out)
{
	return tables_add(list, SESSIONS_HEADING, tables_add_session, out);
}

/* --- usage.tsv ------------------------------------------------------------------- */

/* The sum of all usage with the same first cells. */
struct usage_row {
	struct span cells; /* day, project and model, separated by TAB */
	uint64_t messages;
	struct usage sum;
};

/* The three cells are compared one after the other: nothing after a TAB takes precedence over the cell before it. */
static int tables_row_cmp(const void *pa, const void *pb)
{
	struct span a = ((const struct usage_row *)pa)->cells, b = ((const struct usage_row *)pb)->cells;
	for (size_t i = 0; i < a.n && i < b.n; i++) {
		int x = a.p[i] == '\t' ? -1 : (unsigned char)a.p[i], y = b.p[i] == '\t' ? -1 : (unsigned char)b.p[i];
		if (x != y)
			return x - y;
	}
	return (a.n > b.n) - (a.n < b.n);
}

static void tables_add_key(const struct fact *f, const struct fact_usage *use, struct buf *out)
{
	char day[DATE_NAME];
	date_name(use->date, day);
	buf_adds(out, day);
	buf_addc(out, '\t');
	text_add_cell(span_of(f->project), out);
	buf_addc(out, '\t');
	tables_add_text_cell(use->model, out);
}

static int usage_rows_add_session(const struct fact *f, struct buf *key, struct counters *rows)
{
	for (size_t i = 0; i < f->facts->n_usage; i++) {
		const struct fact_usage *use = &f->facts->usage_rows[i];
		if (!fact_use_counts(f, use))
			continue;
		buf_reset(key);
		tables_add_key(f, use, key);
		struct usage_row *row = counters_get(rows, buf_span(key));
		if (!row || buf_err(key))
			return -ENOMEM;
		row->messages += use->entries;
		usage_add(&row->sum, use->sum);
	}
	return cancel_check();
}

static void tables_add_row(const struct usage_row *row, struct buf *out)
{
	const double numbers[] = {row->sum.input, row->sum.output, row->sum.cache_read, row->sum.cache_write,
	                          row->sum.total};
	buf_addspan(out, row->cells);
	buf_addf(out, "\t%llu", (unsigned long long)row->messages);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		buf_addc(out, '\t');
		number_add(numbers[i], out);
	}
	buf_addc(out, '\t');
	tables_add_cost(row->sum.cost, out);
	buf_addc(out, '\n');
}

int table_usage(const struct fact_list *list, struct buf *out)
{
	struct counters rows CLEANUP(counters_release) = COUNTERS_INIT(struct usage_row);
	struct buf key CLEANUP_BUF = BUF_INIT;
	int rc = facts_list_error(list);
	for (size_t i = 0; i < list->n && rc == 0; i++)
		rc = usage_rows_add_session(&list->v[i], &key, &rows);
	struct usage_row *sorted CLEANUP_FREE = rc == 0 ? calloc(rows.n + 1, sizeof *sorted) : NULL;
	if (!sorted)
		return rc < 0 ? rc : -ENOMEM;
	for (size_t i = 0; i < rows.n; i++) {
		sorted[i] = *(const struct usage_row *)counters_value(&rows, i);
		sorted[i].cells = counters_name(&rows, i);
	}
	qsort(sorted, rows.n, sizeof *sorted, tables_row_cmp);
	buf_adds(out, USAGE_HEADING);
	for (size_t i = 0; i < rows.n; i++)
		tables_add_row(&sorted[i], out);
	return buf_err(out);
}

/* --- problems.tsv ---------------------------------------------------------------- */

static int tables_add_problems(struct catalog *c, const struct fact *f, struct buf *out)
{
	struct session *s = NULL;
	size_t start = out->n;
	int before = deferred_begin(), rc = f->facts->has_problems ? catalog_session_get(c, f->slot, &s) : -ESTALE;
	size_t n = s ? session_problem_count(s) : 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct problem p = session_problem(s, i);
		text_add_cell(span_of(f->file), out);
		buf_addc(out, '\t');
		tables_add_location(f, out);
		buf_addf(out, "%u\t%llu\t", p.line, (unsigned long long)p.offset);
		session_problem_add_reason(s, &p, out);
		buf_addc(out, '\n');
		rc = cancel_check();
	}
	if (s)
		catalog_session_put(c, s);
	rc = deferred_end(before, rc);
	if (rc < 0)
		out->n = start;
	if (error_is_about_file(rc))
		catalog_log_unreadable(c, f->slot, rc);
	/* One that is gone makes the next table another. */
	return error_is_about_file(rc) ? -rc : rc == -ESTALE ? 0 : rc;
}

static int tables_add_rejected_file(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	struct buf *out = arg;
	(void)slot;
	reason = err ? resolver_error_text(err) : reason;
	/* Directories that cannot be read are reported here, too. */
	if (reason && header_name(file, NULL) != NAME_OTHER) {
		text_add_cell(span_of(file), out);
		buf_addf(out, "\t\t\t\t\t%s\n", reason);
	}
	return cancel_check();
}

int table_problems(const struct fact_list *list, struct buf *out)
{
	int missed = tables_add(list, PROBLEMS_HEADING, tables_add_problems, out);
	int rc = missed < 0 ? missed : catalog_each_file(list->catalog, tables_add_rejected_file, out);
	return rc < 0 ? rc : buf_err(out) ? buf_err(out) : missed;
}

/* --- files.tsv ------------------------------------------------------------------- */

static int tables_add_files(struct catalog *c, const struct fact *f, struct buf *out)
{
	struct span rest = f->facts->files, row;
	(void)c;
	while (span_line(&rest, &row)) {
		tables_add_location(f, out);
		buf_addspan(out, row);
		buf_addc(out, '\n');
	}
	return cancel_check();
}

int table_files(const struct fact_list *list, struct buf *out)
{
	return tables_add(list, "project\tstem\t" FILES_HEADING, tables_add_files, out);
}

/* --- labels.tsv ------------------------------------------------------------------ */

struct labelled_row {
	const struct fact *fact;
	const struct fact_label *label;
};

/* Rows with equal labels keep their order: the labels of a session are in one block, by entry. */
static int labelled_cmp(const void *pa, const void *pb)
{
	const struct labelled_row *a = pa, *b = pb;
	int d = span_compare(a->label->text, b->label->text);
	if (d == 0)
		d = (a->fact > b->fact) - (a->fact < b->fact);
	return d ? d : (a->label > b->label) - (a->label < b->label);
}

int table_labels(const struct fact_list *list, struct buf *out)
{
	size_t most = 1, n = 0;
	int rc = facts_list_error(list);
	for (size_t i = 0; i < list->n; i++)
		most += list->v[i].facts->n_labels;
	struct labelled_row *all CLEANUP_FREE = calloc(most, sizeof *all);
	if (rc == 0 && !all)
		rc = -ENOMEM;
	for (size_t i = 0; i < list->n && rc == 0; i++)
		for (size_t k = 0; k < list->v[i].facts->n_labels; k++)
			all[n++] = (struct labelled_row){&list->v[i], &list->v[i].facts->labels[k]};
	if (rc == 0)
		qsort(all, n, sizeof *all, labelled_cmp);
	buf_adds(out, LABELS_HEADING);
	for (size_t i = 0; i < n && rc == 0; i++) {
		render_add_label_cell(all[i].label->text, out);
		buf_addc(out, '\t');
		tables_add_location(all[i].fact, out);
		buf_addspan(out, all[i].label->row);
		buf_addc(out, '\n');
		rc = cancel_check();
	}
	return rc < 0 ? rc : buf_err(out);
}
