/* SPDX-License-Identifier: MIT */
/* html/index.html: its rows, and how they show odd numbers. */
#include "cases.h"
#include "sessionfs/find/pages.h"

#include <math.h>

static int link_to(void *arg, const struct fact *f, struct buf *out)
{
	buf_adds(out, f->stem);
	return 0;
}

static const char *page(const struct session_facts *of, size_t n, struct buf *out)
{
	struct fact *v = calloc(n + 1, sizeof *v);
	assert_non_null(v);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct fact){.project = "p", .stem = "s", .facts = &of[i], .counted = of[i].usage};
	struct fact_list list = {.n = n, .v = v};
	buf_reset(out);
	assert_int_equal(index_page(&list, link_to, NULL, out), 0);
	free(v);
	return buf_cstr(out);
}

static struct session_facts with_cost(double cost)
{
	return (struct session_facts){
	    .created = NAN, .modified = NAN, .has_usage = true, .usage = {.cost = cost, .total = cost}};
}

/* Each amount is short, and each cell that the script sorts by is a number. */
CASE(extreme_costs_are_shortened)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	const struct session_facts of[] = {with_cost(1.5), with_cost(1e308), with_cost(INFINITY), with_cost(NAN)};
	const char *html = page(of, 4, &out);
	assert_non_null(strstr(html, "data-v=\"1.5\">$1.50</td>"));
	assert_non_null(strstr(html, "data-v=\"1e+308\">$1e+308</td>"));
	assert_non_null(strstr(html, ">All 4 sessions, 1e+296T tokens, $1e+308</output>"));
	static const char *const none[] = {"$0.00", "inf<", "nan<", ">null", "\"null"};
	for (size_t i = 0; i < COUNT(none); i++)
		assert_null(strstr(html, none[i]));
}

/* Tokens are short, with the full number next to them; a cost of zero is not shown. */
CASE(numbers_are_abbreviated)
{
	static const struct {
		double tokens, cost;
		const char *cells;
	} cases[] = {
	    {56640000, 12.345,
	     " data-v=\"56640000\" title=\"56640000\">56.6M</td><td class=\"right\" data-v=\"12.345\">$12.35<"},
	    {999, 0.0123, " data-v=\"999\">999</td><td class=\"right\" data-v=\"0.0123\">$0.0123<"},
	    {1000, 0, " data-v=\"1000\" title=\"1000\">1.0k</td><td class=\"right\" data-v=\"0\"><"},
	    {999949, 0, " title=\"999949\">999.9k</td>"},
	    {999950, 0, " title=\"999950\">1.0M</td>"},
	    {1e15, 1e12, ">1000.0T</td><td class=\"right\" data-v=\"1000000000000\">$1000000000000<"},
	};
	struct buf out CLEANUP_BUF = BUF_INIT;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct session_facts of = with_cost(cases[i].cost);
		of.usage.total = cases[i].tokens;
		assert_non_null(strstr(page(&of, 1, &out), cases[i].cells));
	}
}

/* A fork's row has its own usage, and its total on hover. The rows add up to the total. */
CASE(an_entry_counts_once)
{
	static const struct {
		double all, counted;
		const char *cells;
	} cases[] = {
	    {1500, 1500, "data-v=\"1500\" title=\"1500\">1.5k</td><td class=\"right\" data-v=\"1500\">$1500.00</td>"},
	    {1500, 0.005,
	     "data-v=\"0.005\" title=\"1500 including entries counted in other sessions\">0</td>"
	     "<td class=\"right\" data-v=\"0.005\" title=\"$1500.00 including entries counted in other "
	     "sessions\">$0.0050</td>"},
	    {0.5, 0, "data-v=\"0\" title=\"$0.50 including entries counted in other sessions\"></td>"},
	    {0.1 + 0.2, 0.3, "<td class=\"right\" data-v=\"0.3\">$0.30</td>"},
	};
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct session_facts of[4];
	struct fact v[4];
	for (size_t i = 0; i < 4; i++) {
		of[i] = with_cost(cases[i].all);
		v[i] = (struct fact){.project = "p",
		                     .stem = "s",
		                     .facts = &of[i],
		                     .counted = {.cost = cases[i].counted, .total = cases[i].counted}};
	}
	struct fact_list list = {.n = 4, .v = v};
	assert_int_equal(index_page(&list, link_to, NULL, &out), 0);
	for (size_t i = 0; i < 4; i++)
		assert_non_null(strstr(buf_cstr(&out), cases[i].cells));
	assert_non_null(strstr(buf_cstr(&out), ">All 4 sessions, 1.5k tokens, $1500.31</output>"));
	assert_non_null(strstr(buf_cstr(&out), " title=\"Each entry counts once, as in usage.tsv\">Cost</th>"));
}

static size_t most_rows(const char *html, size_t *ret_groups)
{
	size_t most = 0;
	*ret_groups = 0;
	for (const char *body = html; (body = strstr(body, "<tbody>")); body++) {
		const char *end = strstr(body, "</tbody>");
		size_t rows = 0;
		for (const char *row = body; (row = strstr(row, "<tr>")) && row < end; row++)
			rows++;
		most = rows > most ? rows : most;
		++*ret_groups;
	}
	return most;
}

CASE(rows_are_grouped)
{
	static const struct {
		size_t n, groups, most;
	} cases[] = {{0, 1, 0}, {1, 1, 1}, {100, 1, 100}, {101, 2, 100}, {250, 3, 100}};
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct session_facts of[250];
	for (size_t i = 0; i < 250; i++)
		of[i] = with_cost(1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t groups;
		assert_int_equal(most_rows(page(of, cases[i].n, &out), &groups), cases[i].most);
		assert_int_equal(groups, cases[i].groups);
	}
}

CASE(index_cells_are_on_one_line)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct session_facts of = with_cost(1);
	of.model = SPAN_LIT("a\x1b<\xc2\x85\u2028b");
	assert_non_null(strstr(page(&of, 1, &out), "<td>a &lt;  b</td>"));
}

RUN_CASES(NULL, NULL)
