/* SPDX-License-Identifier: MIT */
/* usage.svg: usage, summed by bar and model. */
#include "cases.h"

#include "sessionfs/base/date.h"
#include "sessionfs/find/pages.h"

#include <math.h>

static struct fact_usage use(const char *day, const char *model, double cost, double tokens)
{
	struct tm tm = {0};
	bool dated = day && sscanf(day, "%d-%d-%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) == 3;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	date_t date = dated ? (date_t)(timegm(&tm) / 86400) : NO_DATE;
	return (struct fact_usage){
	    .date = date, .entries = 1, .model = span_of(model), .sum = {.cost = cost, .total = tokens}};
}

/* Renders the plot of one session with this usage. */
static const char *plot(const struct fact_usage *uses, size_t n, bool alone, struct buf *out)
{
	struct session_facts of = {.n_usage = n, .usage_rows = uses};
	struct fact fact = {.facts = &of};
	struct fact_list list = {.n = 1, .v = &fact};
	buf_reset(out);
	assert_int_equal(plot_usage(&list, alone, out), 0);
	assert_non_null(buf_cstr(out));
	return buf_cstr(out);
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;
	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

CASE(bars_are_summed_and_stacked)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	const struct fact_usage uses[] = {
	    use("2026-03-01", "p/a", 0.1, 5), use("2026-03-01", "p/a", 0.2, 5), use("2026-03-01", "p/b", 2, 5),
	    use("2026-03-04", "p/b", 1, 5),   use("2026-03-05", "p/c", 0, 500),
	};

	const char *svg = plot(uses, 5, true, &out);
	assert_non_null(strstr(svg, "Cost by day and model: $3.30<"));
	assert_non_null(strstr(svg, ">Sum from "));
	assert_non_null(strstr(svg, "<title>2026-03-01 \u00b7 p/a \u00b7 $0.3</title>"));
	assert_non_null(strstr(svg, "<title>2026-03-01 \u00b7 p/b \u00b7 $2</title>"));
	assert_non_null(strstr(svg, "<title>2026-03-04 \u00b7 p/b \u00b7 $1</title>"));
	assert_int_equal(count(svg, "<title>"), 3);
	assert_non_null(strstr(svg, ">p/b \u00b7 $3.00<"));
	assert_null(strstr(svg, "p/c"));
	assert_non_null(strstr(svg, "<style>"));
	assert_null(strstr(plot(uses, 5, false, &out), "<style>"));
}

/* Rounded as in the table of index.html: to the cent, halves up. A result that counts for a subagent is in no bar. */
CASE(amounts_match_the_table)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct fact_usage uses[] = {use("2026-03-01", "p/a", 0.1, 5), use("2026-03-01", "p/b", 0.025, 5),
	                            use("2026-03-02", "p/c", 7, 5)};
	uses[2].of_results = true;
	const char *svg = plot(uses, 2, true, &out);
	assert_non_null(strstr(svg, "Cost by day and model: $0.13<"));
	assert_non_null(strstr(svg, ">p/b \u00b7 $0.0250<"));
	uses[0].sum.cost = 0.09996;
	assert_non_null(strstr(plot(uses, 1, true, &out), "Cost by day and model: $0.1000<"));
	assert_non_null(strstr(plot(uses, 3, true, &out), "p/c"));
	struct session_facts of = {.n_usage = 3, .usage_rows = uses};
	struct fact fact = {.facts = &of, .has_subagents = true};
	struct fact_list list = {.n = 1, .v = &fact};
	buf_reset(&out);
	assert_int_equal(plot_usage(&list, true, &out), 0);
	assert_null(strstr(buf_cstr(&out), "p/c"));
	uses[1] = use("2026-03-01", "p/b", 1e308, 5);
	assert_non_null(strstr(plot(uses, 2, true, &out), "Cost by day and model: $1e+308<"));
}

CASE(tokens_are_plotted_without_cost)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	const struct fact_usage uses[] = {use("2026-03-01", "p/a", 0, 1234567), use("2026-03-02", "p/a", 0, 1)};

	const char *svg = plot(uses, 2, true, &out);
	assert_non_null(strstr(svg, "Tokens by day and model: 1.2M<"));
	assert_non_null(strstr(svg, "<title>2026-03-01 \u00b7 p/a \u00b7 1234567 tokens</title>"));
	assert_non_null(strstr(plot(NULL, 0, true, &out), "No usage yet"));
}

/* A file shows the last twelve months; a page adds all time, folded, if there is more. */
CASE(last_twelve_months_are_plotted)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	const struct fact_usage uses[] = {use("2025-04-09", "p/old", 7, 1), use("2025-04-10", "p/a", 1, 1),
	                                  use("2026-04-10", "p/a", 2, 1)};

	const char *svg = plot(uses, 3, true, &out);
	assert_non_null(strstr(svg, "Cost by day and model: $3.00<"));
	assert_null(strstr(svg, "p/old"));
	svg = plot(uses, 3, false, &out);
	assert_int_equal(count(svg, "<svg class"), 2);
	const char *all = strstr(svg, "<details><summary>All since 2025-04-09</summary>");
	assert_non_null(all);
	assert_true(strstr(svg, "Cost by day and model: $3.00<") < all);
	assert_non_null(strstr(all, "Cost by week and model: $10.00<"));
	assert_null(strstr(plot(&uses[1], 2, false, &out), "<details>"));
	/* The last usage counts, with a cost or without. */
	for (int paid = 0; paid < 2; paid++) {
		const struct fact_usage last[] = {use("2025-04-09", "p/old", 7, 7),
		                                  use("2026-04-10", "p/a", paid, !paid)};
		assert_null(strstr(plot(last, 2, true, &out), "p/old"));
	}
}

/* The bars of all time are weeks, months or years, and never many. */
CASE(long_ranges_are_binned)
{
	static const struct {
		const char *first, *last, *unit, *bar;
	} cases[] = {
	    {"2025-04-10", "2026-04-10", "day", "2026-04-10"},
	    {"2025-04-10", "2026-04-11", "week", "2026-04-06"},
	    {"2016-02-29", "2026-04-12", "month", "2026-04"},
	    {"1970-01-01", "2026-04-12", "year", "2026"},
	    {"1500-01-01", "2090-04-12", "ten years", "2090"},
	    {"-271821-04-20", "275760-09-13", "10000 years", "270000"},
	};
	struct buf out CLEANUP_BUF = BUF_INIT;

	/* A 32-bit time_t cannot hold the last two dates. */
	const size_t n = sizeof cases / sizeof *cases - (sizeof(time_t) == 8 ? 0 : 2);
	for (size_t i = 0; i < n; i++) {
		char text[64];
		const struct fact_usage uses[] = {use(cases[i].first, "p/a", 1, 1), use(cases[i].last, "p/a", 2, 1)};
		const char *svg = plot(uses, 2, false, &out);
		if (i > 0)
			svg = strstr(svg, "<details>");
		assert_non_null(svg);
		snprintf(text, sizeof text, "by %s and", cases[i].unit);
		assert_non_null(strstr(svg, text));
		snprintf(text, sizeof text, "<title>%s \u00b7 p/a \u00b7 $2</title>", cases[i].bar);
		assert_non_null(strstr(svg, text));
		assert_true(out.n < 40000);
	}
}

CASE(top_models_have_colours)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct fact_usage uses[20];
	char names[20][8];

	for (int i = 0; i < 20; i++) {
		snprintf(names[i], sizeof names[i], "p/m%02d", i);
		uses[i] = use("2026-03-01", names[i], i + 1, 1);
	}
	const char *svg = plot(uses, 8, true, &out);
	assert_null(strstr(svg, "other"));
	svg = plot(uses, 20, true, &out);
	assert_int_equal(count(svg, "<title>"), 8);
	assert_non_null(strstr(svg, ">p/m19 \u00b7 $20.00<"));
	assert_non_null(strstr(svg, ">other \u00b7 $91.00<"));
	assert_null(strstr(svg, "p/m12"));
}

CASE(extreme_values_and_names_are_escaped)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	const struct fact_usage uses[] = {
	    use("2026-03-01", "</title><script>\"'&\x01\uffff", 1, 1),
	    use("2026-03-01", "nan", NAN, NAN),
	    use("2026-03-01", "inf", INFINITY, INFINITY),
	    use("2026-03-01", "minus", -5, -5),
	    use("2026-03-02", "much", 1e308, 1e308),
	    use("2026-03-02", "much", 1e308, 1e308),
	    use(NULL, "never", 7, 7),
	    use("2026-03-03", "tiny", 5e-324, 1),
	};

	const char *svg = plot(uses, 8, true, &out);
	assert_null(strstr(svg, "<script"));
	assert_non_null(strstr(svg, "&lt;/title&gt;&lt;script&gt;&quot;&#39;&amp; \xef\xbf\xbd"));
	assert_null(strstr(svg, "nan"));
	assert_null(strstr(svg, "\"inf"));
	assert_null(strstr(svg, "minus"));
	assert_true(out.n < 20000);
	svg = plot(&uses[7], 1, true, &out);
	assert_null(strstr(svg, "nan"));
}

/* No text drawn as `class` leaves the picture, 72 pixels left and 728 right of its bars: characters are at most 8
 * pixels wide. Where positions are shares of the width, that is 716 pixels. */
static void texts_fit(const char *svg, const char *class, bool to_the_left)
{
	for (const char *at = svg; (at = strstr(at, class)); at++) {
		char *unit;
		double x = strtod(strstr(at, " x=\"") + 4, &unit);
		x = 72 + (*unit == '%' ? x * 7.16 : x);
		const char *text = strchr(at, '>') + 1;
		double wide = 8.0 * (double)strcspn(text, "<");
		assert_true(to_the_left ? x - wide >= 0 : x + wide <= 800);
	}
}

CASE(axis_labels_fit_in_svg)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	for (int days = 1; days <= 800; days += days < 60 ? 1 : 37) {
		struct fact_usage uses[] = {use("2026-02-09", "p/a", 1, 1), use("2026-02-09", "p/a", 2, 1)};
		uses[1].date += days - 1;
		texts_fit(plot(uses, 2, true, &out), "<text class=\"at", false);
	}
	for (double cost = 1e-3; cost <= 1e15; cost *= 7) {
		const struct fact_usage uses[] = {use("2026-02-09", "p/a", cost, 1)};
		texts_fit(plot(uses, 1, true, &out), "<text class=\"tick\"", true);
	}
}

RUN_CASES(NULL, NULL)
