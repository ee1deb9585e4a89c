/* SPDX-License-Identifier: MIT */
/* --search: the results of a query, without a mount, for people or for programs. */
#include "sessionfs/cmd/cli.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/base/terminal.h"
#include "sessionfs/json/json.h"

#include <errno.h>

struct search_printer {
	const struct cli_search *how;
	FILE *out;
	const struct query *query;
	const char *stem; /* of the previous line */
	size_t lines, sessions;
	struct buf text;
};

static void search_add_root(const struct search_printer *p, struct buf *out)
{
	const char *root = p->how->root;
	if (!root)
		return;
	buf_adds(out, root);
	if (*root && root[strlen(root) - 1] != '/')
		buf_addc(out, '/');
}

/* ---- lines ---- */

static void search_add_sanitized(struct span text, struct buf *out)
{
	size_t start = out->n;
	buf_addspan(out, text);
	terminal_sanitize(out, start);
}

/* Uses grep's colours. */
static void search_add_part(struct search_printer *p, const char *colour, struct span text)
{
	buf_adds(&p->text, colour);
	search_add_sanitized(text, &p->text);
	buf_adds(&p->text, COLOUR_END);
}

static void search_add_marked(struct search_printer *p, struct span text)
{
	struct span mark;
	size_t at = 0;
	while (query_next_match(p->query, text, at, &mark)) {
		size_t begin = (size_t)(mark.p - text.p);
		search_add_sanitized((struct span){text.p + at, begin - at}, &p->text);
		search_add_part(p, COLOUR_BOLD_RED, mark);
		at = begin + mark.n;
	}
	search_add_sanitized((struct span){text.p + at, text.n - at}, &p->text);
}

static int search_print_line(void *arg, const struct found_list *of, const struct hit *hit)
{
	struct search_printer *p = arg;
	struct buf path CLEANUP_BUF = BUF_INIT;
	char number[24];
	int n = snprintf(number, sizeof number, "%ju", (uintmax_t)hit->line);
	p->sessions += p->stem != of->stem;
	p->stem = of->stem;
	p->lines++;
	buf_reset(&p->text);
	search_add_root(p, &path);
	buf_addf(&path, "projects/%s/%s/", of->project, of->stem);
	buf_addspan(&path, hit->path);
	if (p->how->style != CLI_SEARCH_COLOURED) {
		buf_addspan(&p->text, buf_span(&path));
		buf_addf(&p->text, ":%s:", number);
		buf_addspan(&p->text, hit->text);
	} else {
		search_add_part(p, COLOUR_MAGENTA, buf_span(&path));
		search_add_part(p, COLOUR_CYAN, SPAN_LIT(":"));
		search_add_part(p, COLOUR_GREEN, (struct span){number, (size_t)n});
		search_add_part(p, COLOUR_CYAN, SPAN_LIT(":"));
		search_add_marked(p, hit->text);
	}
	buf_addc(&p->text, '\n');
	int rc = buf_err(&path) ? buf_err(&path) : buf_err(&p->text);
	return rc < 0 ? rc : cli_put(p->out, buf_span(&p->text));
}

/* ---- entries ---- */

/* In a cell, `\` and one of `escaped` is an escape. */
static void search_add_json(const struct search_printer *p, const struct span cells[], struct span title,
                            struct buf *out)
{
	static const char *const names[] = {"time", "project", "stem", "entry", "what", "path", "line", "text"};
	static const char escaped[] = "tn0", meant[] = {'\t', '\n', '\0'};
	struct buf plain CLEANUP_BUF = BUF_INIT;
	buf_addc(out, '{');
	for (int i = 0; i < ROW_CELLS; i++) {
		if (cells[i].n == 0 && i != ROW_TEXT)
			continue;
		buf_addf(out, "%s\"%s\":", out->n > 1 ? "," : "", names[i]);
		buf_reset(&plain);
		if (i == ROW_PATH)
			search_add_root(p, &plain);
		for (const char *c = cells[i].p, *end = c + cells[i].n; c < end; c++) {
			const char *at = *c == '\\' && c + 1 < end ? memchr(escaped, *++c, sizeof meant) : NULL;
			buf_addc(&plain, at ? meant[at - escaped] : *c);
		}
		if (i == ROW_LINE)
			buf_addspan(out, buf_span(&plain));
		else
			json_quote(buf_span(&plain), out);
	}
	buf_adds(out, ",\"title\":");
	json_quote(title, out);
	buf_adds(out, "}\n");
	out->err = buf_err(&plain) ? buf_err(&plain) : out->err;
}

static int search_print_entries(struct search_printer *p, const struct answer *h)
{
	size_t n = answer_count(h) < p->how->entries ? answer_count(h) : p->how->entries;
	bool json = p->how->style == CLI_SEARCH_JSON;
	int rc = json || n == 0 ? 0 : cli_put(p->out, SPAN_LIT(ROWS_HEADING));
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct span cells[ROW_CELLS], row = answer_entry_text(h, FOUND_ROWS, i);
		buf_reset(&p->text);
		answer_split_row(row, cells);
		if (json) {
			search_add_json(p, cells, answer_at(h, i).title, &p->text);
		} else {
			size_t before = (size_t)(cells[ROW_PATH].p - row.p);
			buf_add(&p->text, row.p, before);
			if (cells[ROW_PATH].n > 0)
				search_add_root(p, &p->text);
			buf_add(&p->text, row.p + before, row.n - before);
		}
		rc = buf_err(&p->text) ? buf_err(&p->text) : cli_put(p->out, buf_span(&p->text));
	}
	return rc;
}

/* ---- all ---- */

int cli_search(struct tree *t, const struct cli_search *how, FILE *out, FILE *messages, struct buf *why)
{
	struct searches *s = tree_get_searches(t);
	struct search_printer p = {.how = how, .out = out, .text = BUF_INIT};
	const struct answer *h;
	struct query *q;
	uint64_t number;
	int rc = query_parse(span_of(how->text), clock_ms(CLOCK_REALTIME), &q, why);
	if (rc < 0)
		return rc;
	p.query = q;
	rc = searches_get_number(s, span_of(how->text), &number);
	struct progress shown;
	progress_init(&shown, stderr, PROGRESS_DELAY_MS, false);
	const struct cancel *outer = cancel_set(&(struct cancel){.progress = &shown});
	rc = rc < 0 ? rc : searches_get(s, number, &h);
	if (rc == 0)
		rc = answer_add_hints(s, h, why);
	progress_clear();
	cancel_set(outer);
	if (rc == 0) {
		bool is_table = how->style == CLI_SEARCH_ENTRIES || how->style == CLI_SEARCH_JSON;
		bool any = answer_size(h, is_table ? FOUND_ROWS : FOUND_HITS) > 0;
		/* The lines of hits.txt, uncounted. */
		bool is_whole = how->style == CLI_SEARCH_PLAIN && !messages && !how->root && how->lines == HIT_LINES &&
		                how->entries >= SEARCH_ENTRIES_MAX;
		if (is_table) {
			rc = search_print_entries(&p, h);
		} else if (is_whole) {
			rc = answer_text(h, FOUND_HITS, &p.text);
			rc = rc < 0 ? rc : cli_put(out, buf_span(&p.text));
		} else {
			rc = answer_each_best_line(s, h, how->lines, how->entries, search_print_line, &p);
		}
		fflush(out);
		if (rc == 0 && messages)
			fprintf(messages, "%zu %s in %zu %s%s\n", p.lines, p.lines == 1 ? "line" : "lines", p.sessions,
			        p.sessions == 1 ? "session" : "sessions",
			        answer_count(h) == SEARCH_ENTRIES_MAX || p.lines + HIT_LINES > SEARCH_ENTRIES_MAX
			            ? "; there can be more"
			            : "");
		rc = rc < 0 ? rc : answer_missed_error(h);
		rc = rc < 0 ? rc : any && (is_table || is_whole || p.lines > 0);
		answer_put(h);
	}
	query_put(q);
	buf_release(&p.text);
	return rc;
}
