/* SPDX-License-Identifier: MIT */
/* The table is readable without its script. Where the text of a cell does not sort correctly, data-v has a value that
 * does. Rows are in groups, so that a browser lays out only the visible ones. */
#include "sessionfs/find/pages.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/cancel.h"
#include "find_impl.h"
#include "sessionfs/render/html.h"

#include <errno.h>
#include <math.h>

enum { GROUP = 100 };
enum { CHANGED = 2 }; /* the column that sorts a list of facts */
enum { TOKENS = 5, COST = 6 };
/* Smaller amounts are hidden, as in the page of a session. */
#define AMOUNT_SHOWN_MIN 0.00005

static const struct {
	const char *name;
	bool is_number; /* largest first */
} columns[] = {
    {"Title", false}, {"Project", false}, {"Changed", true}, {"Started", true}, {"Messages", true},
    {"Tokens", true}, {"Cost", true},     {"Model", false},  {"State", false},
};

static void index_add_text_cell(struct span text, struct buf *out)
{
	buf_adds(out, "<td>");
	size_t start = out->n;
	html_add_text(text, out);
	text_flatten_from(out, start);
	buf_adds(out, "</td>");
}

static void index_add_time_cell(double ms, struct buf *out)
{
	buf_adds(out, "<td");
	if (!isnan(ms)) {
		buf_adds(out, " data-v=\"");
		number_add(ms, out);
		buf_addc(out, '"');
	}
	buf_addc(out, '>');
	html_time(ms, out);
	buf_adds(out, "</td>");
}

/* Appends nothing if the cost is 0. */
static void index_add_amount(double value, struct buf *out)
{
	if (value >= AMOUNT_SHOWN_MIN)
		html_dollars(value, PLOT_FINE_AMOUNT, out);
}

/* Appends the counted value; the tooltip has the exact number of tokens and the session's total. A value that is not a
 * number (null in the tables) counts as absent. */
static void index_add_number_cell(bool has, double counted, double all, void (*add)(double value, struct buf *out),
                                  struct buf *out)
{
	void (*add_exactly)(double value, struct buf *out) = add == html_add_count ? number_add : add;
	bool has_more = isfinite(all) && fabs(all - counted) >= AMOUNT_SHOWN_MIN;
	buf_adds(out, "<td class=\"right\"");
	if (has && isfinite(counted)) {
		counted = number_round(counted, RENDER_COST_DECIMALS);
		buf_adds(out, " data-v=\"");
		number_add(counted, out);
		buf_addc(out, '"');
		if ((add == html_add_count && counted >= 1000) || has_more) {
			buf_adds(out, " title=\"");
			add_exactly(has_more ? all : counted, out);
			buf_adds(out, has_more ? " including entries counted in other sessions\"" : "\"");
		}
		buf_addc(out, '>');
		add(counted, out);
	} else {
		buf_addc(out, '>');
	}
	buf_adds(out, "</td>");
}

/* Links to sessions, and the list by slot. */
struct index_links {
	int (*link)(void *arg, const struct fact *f, struct buf *out);
	void *arg;
	const struct fact **by_slot;
	size_t n;
};

static int index_slot_cmp(const void *pa, const void *pb)
{
	const struct fact *a = *(const struct fact *const *)pa, *b = *(const struct fact *const *)pb;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

static int index_add_link(const struct index_links *l, const struct fact *f, struct buf *out)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	int rc = l->link(l->arg, f, &path);
	buf_adds(out, "<a href=\"");
	html_add_url(buf_span(&path), out);
	buf_adds(out, "\">");
	html_add_text(html_title(f->facts->title), out);
	buf_adds(out, "</a>");
	return rc;
}

/* Appends a link to the session that this one was forked from, or that started it. */
static int index_add_parent(const struct index_links *l, const struct fact *f, struct buf *out)
{
	const struct fact key = {.slot = f->parent}, *wanted = &key;
	const struct fact **parent = bsearch(&wanted, l->by_slot, l->n, sizeof *l->by_slot, index_slot_cmp);
	if (!parent)
		return 0;
	buf_adds(out, f->is_started ? " <small>subagent of " : " <small>fork of ");
	int rc = index_add_link(l, *parent, out);
	buf_adds(out, "</small>");
	return rc;
}

static int index_add_session(const struct fact *f, int64_t now, const struct index_links *l, struct buf *out)
{
	const struct session_facts *of = f->facts;

	buf_adds(out, !fact_is_by_person(f) ? "<tr class=\"started\"><th scope=\"row\">" : "<tr><th scope=\"row\">");
	int rc = index_add_link(l, f, out);
	if (rc == 0)
		rc = index_add_parent(l, f, out);
	if (rc < 0)
		return rc;
	buf_adds(out, "</th>");
	index_add_text_cell(span_of(f->project), out);
	index_add_time_cell(of->modified, out);
	index_add_time_cell(of->created, out);
	index_add_number_cell(true, of->messages, of->messages, number_add, out);
	index_add_number_cell(of->has_usage, f->counted.total, of->usage.total, html_add_count, out);
	index_add_number_cell(of->has_usage, f->counted.cost, of->usage.cost, index_add_amount, out);
	index_add_text_cell(of->model, out);
	buf_adds(out, "<td>");
	html_state(of->state, (int64_t)f->mtime.tv_sec * 1000 + f->mtime.tv_nsec / 1000000, now, out);
	buf_adds(out, "</td></tr>\n");
	return cancel_check();
}

/* The sums include automatic sessions, shown or not. The script writes the same about the rows that match. */
static void index_add_sums(const struct fact_list *list, size_t started, struct buf *out)
{
	struct number_sum all_tokens = {0}, all_cost = {0};

	for (size_t i = 0; i < list->n; i++) {
		number_sum_add(&all_tokens, number_round(list->v[i].counted.total, RENDER_COST_DECIMALS));
		number_sum_add(&all_cost, number_round(list->v[i].counted.cost, RENDER_COST_DECIMALS));
	}
	double tokens = number_sum_value(all_tokens), cost = number_sum_value(all_cost);
	buf_addf(out, "%s%zu session%s", list->n > 1 ? "All " : "", list->n, list->n == 1 ? "" : "s");
	if (started > 0)
		buf_addf(out, ", %zu automatic", started);
	if (tokens > 0 && isfinite(tokens)) {
		buf_adds(out, ", ");
		html_add_count(tokens, out);
		buf_adds(out, " tokens");
	}
	if (cost >= AMOUNT_SHOWN_MIN && isfinite(cost)) {
		buf_adds(out, ", ");
		index_add_amount(cost, out);
	}
}

static void index_add_head(const struct fact_list *list, struct buf *out)
{
	size_t started = 0;
	for (size_t i = 0; i < list->n; i++)
		started += !fact_is_by_person(&list->v[i]);
	buf_adds(
	    out,
	    "<p id=\"find\"><label for=\"filter\" hidden>Filter</label> <input id=\"filter\" type=\"search\" "
	    "placeholder=\"Title, project or model\" autocomplete=\"off\" hidden> "
	    "<label hidden>State <select id=\"state\"><option value=\"\">Any</option>"
	    "<option value=\"done\">Done</option><option value=\"working\">Working</option>"
	    "<option value=\"abandoned\">Abandoned</option>"
	    "<option value=\"failed\">Failed</option><option value=\"stopped\">Stopped</option></select></label> ");
	if (started > 0)
		buf_adds(out,
		         "<label title=\"Subagents, and sessions in which a program wrote every message of the user\">"
		         "<input id=\"started\" type=\"checkbox\" autocomplete=\"off\"> Automatic</label> ");
	buf_adds(out, "<output id=\"count\" for=\"filter\">");
	index_add_sums(list, started, out);
	buf_adds(out, "</output>");
	if (list->n > 0) {
		buf_adds(out, " <small>Times: <span id=\"zone\">");
		html_zone((double)list->v[0].mtime.tv_sec * 1000, out);
		buf_adds(out, "</span></small>");
	}
	buf_adds(out, "</p>\n");
	buf_adds(out, "<table id=\"list\">\n<thead><tr>");
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		buf_addf(out, "<th scope=\"col\"%s%s%s>%s</th>",
		         columns[i].is_number ? " class=\"right\" data-n=\"\"" : "",
		         i == CHANGED ? " aria-sort=\"descending\"" : "",
		         i == TOKENS || i == COST ? " title=\"Each entry counts once, as in usage.tsv\"" : "",
		         columns[i].name);
	buf_adds(out, "</tr></thead>\n<tbody>\n");
}

int index_page(const struct fact_list *list, int (*link)(void *arg, const struct fact *f, struct buf *out), void *arg,
               struct buf *out)
{
	int64_t now = clock_ms(CLOCK_REALTIME);
	const struct fact **by_slot CLEANUP_FREE = calloc(list->n + 1, sizeof *by_slot);
	const struct index_links links = {link, arg, by_slot, list->n};

	if (!by_slot)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++)
		by_slot[i] = &list->v[i];
	qsort(by_slot, list->n, sizeof *by_slot, index_slot_cmp);
	html_begin(SPAN_LIT("Sessions"), &html_index, out);
	buf_adds(out, "<a class=\"skip\" href=\"#list\">To the table</a>\n<header><h1>Sessions</h1>\n");
	hits_add_field((struct span){NULL, 0}, out);
	buf_adds(out, "</header>\n<main>\n");
	int rc = plot_usage(list, false, out);
	index_add_head(list, out);
	for (size_t i = 0; i < list->n && rc == 0; i++) {
		if (i > 0 && i % GROUP == 0)
			buf_adds(out, "</tbody>\n<tbody>\n");
		rc = index_add_session(&list->v[i], now, &links, out);
	}
	buf_adds(out, "</tbody>\n</table>\n</main>\n");
	html_end(&html_index, out);
	return rc < 0 ? rc : buf_err(out);
}
