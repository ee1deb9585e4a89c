/* SPDX-License-Identifier: MIT */
/* Passes over the facts find the time range, its models, and the height of its bars. Horizontally, bars are percentages
 * of their area, so that a page can widen it while texts keep their size. */
#include "find_impl.h"
#include "sessionfs/find/pages.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/counters.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/render/html.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

/* Pixels, of a picture of this width, which a file of its own has; in a page, a style sets the width. */
enum {
	WIDTH = 800,
	LEFT = 72,
	RIGHT = 12,
	AREA = WIDTH - LEFT - RIGHT, /* 100 % in a page */
	TOP = 52,
	HEIGHT = 180,
	BELOW = 34,
	ROW = 22,
	END = 8,
	LABEL = 84,
	BAR_WIDTH_MAX = 36
};
/* The number of models with their own colour; all others share the last one. */
enum { COLOURS = 8, NAMED = COLOURS - 1 };
enum { BARS_MAX = 366, BARS_MIN = 14, MODEL_CHARACTERS = 34, TICKS = 5 };
/* Larger amounts are abbreviated: in full they do not fit next to the axis. */
#define AMOUNT_LONG 1e6
/* Bars are clamped to these limits: a file can contain any cost. */
#define VALUE_MIN 1e-9
#define VALUE_MAX 1e15

/* The time span of one bar, in days or in months. */
struct bar_unit {
	const char *name;
	int days, months;
};

static const struct bar_unit units[] = {
    {"day", 1, 0},         {"week", 7, 0},         {"month", 0, 1},          {"year", 0, 12},
    {"ten years", 0, 120}, {"100 years", 0, 1200}, {"1000 years", 0, 12000}, {"10000 years", 0, 120000},
};

struct plot_model {
	double cost, tokens;
	unsigned colour;
};

struct plot {
	const struct fact_list *list;
	struct counters models;
	bool by_tokens;
	date_t from; /* earlier days are left out */
	date_t first, last;
	const struct bar_unit *unit;
	int64_t first_bar;
	unsigned bars, colours;
	struct span names[COLOURS]; /* of the models; the last one can be "other" */
	double sums[COLOURS];
	struct number_sum total; /* of the rounded sums of sessions, as in index.html */
	double (*v)[COLOURS];    /* by bar */
};

static void plot_release(struct plot *p)
{
	counters_release(&p->models);
	free(p->v);
}

/* --- what to show ------------------------------------------------------------------ */

static double plot_clamp(double x)
{
	return x >= VALUE_MIN && isfinite(x) ? x < VALUE_MAX ? x : VALUE_MAX : 0;
}

static double amount_of(const struct plot *p, const struct fact_usage *use)
{
	return p->by_tokens ? use->sum.total : use->sum.cost;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Weeks begin on Monday; 1970-01-01 was a Thursday. */
static int64_t day_bar(const struct bar_unit *u, date_t day)
{
	struct tm tm = {0};
	time_t t = (time_t)day * 24 * 60 * 60;
	if (u->days)
		return floor_div((int64_t)day + (u->days > 1 ? 3 : 0), u->days);
	gmtime_r(&t, &tm);
	return floor_div(((int64_t)tm.tm_year + 1900) * 12 + tm.tm_mon, u->months);
}

static bool plot_shows_use(const struct plot *p, const struct fact *f, const struct fact_usage *use)
{
	return use->date != NO_DATE && use->date >= p->from && fact_use_counts(f, use);
}

static int plot_add_models(struct plot *p)
{
	for (size_t i = 0; i < p->list->n; i++) {
		const struct session_facts *of = p->list->v[i].facts;
		for (size_t k = 0; k < of->n_usage; k++) {
			if (!plot_shows_use(p, &p->list->v[i], &of->usage_rows[k]))
				continue;
			struct plot_model *m = counters_get(&p->models, of->usage_rows[k].model);
			if (!m)
				return -ENOMEM;
			m->cost += plot_clamp(of->usage_rows[k].sum.cost);
			m->tokens += plot_clamp(of->usage_rows[k].sum.total);
			p->by_tokens = p->by_tokens && m->cost <= 0;
		}
		int rc = cancel_check();
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void plot_add_days(struct plot *p)
{
	for (size_t i = 0; i < p->list->n; i++) {
		const struct session_facts *of = p->list->v[i].facts;
		for (size_t k = 0; k < of->n_usage; k++) {
			date_t day = of->usage_rows[k].date;
			if (!plot_shows_use(p, &p->list->v[i], &of->usage_rows[k]) ||
			    plot_clamp(amount_of(p, &of->usage_rows[k])) <= 0)
				continue;
			if (p->first == NO_DATE || day < p->first)
				p->first = day;
			if (p->last == NO_DATE || day > p->last)
				p->last = day;
		}
	}
}

static void plot_choose_unit(struct plot *p)
{
	for (p->unit = units;; p->unit++) {
		p->first_bar = day_bar(p->unit, p->first);
		int64_t bars = day_bar(p->unit, p->last) - p->first_bar + 1;
		p->bars = bars <= BARS_MAX ? (unsigned)bars : 0;
		if (p->bars || p->unit == &units[sizeof units / sizeof *units - 1])
			return;
	}
}

/* The rank of a model: by value, then by name. */
struct model_rank {
	double value;
	struct span name;
	struct plot_model *model;
};

static int plot_rank_cmp(const void *pa, const void *pb)
{
	const struct model_rank *a = pa, *b = pb;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return span_compare(a->name, b->name);
}

/* The models with the most usage have a colour each; a single other model has the last one. */
static int plot_choose_colours(struct plot *p)
{
	size_t n = 0;
	struct model_rank *ranks CLEANUP_FREE = calloc(p->models.n + 1, sizeof *ranks);
	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < p->models.n; i++) {
		struct span name = counters_name(&p->models, i);
		struct plot_model *m = counters_get(&p->models, name);
		double value = p->by_tokens ? m->tokens : m->cost;
		m->colour = NAMED;
		if (value > 0)
			ranks[n++] = (struct model_rank){value, name, m};
	}
	qsort(ranks, n, sizeof *ranks, plot_rank_cmp);
	p->colours = n < COLOURS ? (unsigned)n : COLOURS;
	for (size_t i = 0; i < n; i++) {
		unsigned colour = i < NAMED ? (unsigned)i : NAMED;
		ranks[i].model->colour = colour;
		p->names[colour] = i > NAMED ? SPAN_LIT("other") : ranks[i].name;
	}
	return 0;
}

static int plot_sum_bars(struct plot *p)
{
	p->v = calloc(p->bars, sizeof *p->v);
	if (!p->v)
		return -ENOMEM;
	for (size_t i = 0; i < p->list->n; i++) {
		const struct session_facts *of = p->list->v[i].facts;
		double sum = 0;
		for (size_t k = 0; k < of->n_usage; k++) {
			const struct fact_usage *use = &of->usage_rows[k];
			double amount = amount_of(p, use), value = plot_clamp(amount);
			if (!plot_shows_use(p, &p->list->v[i], use) || value <= 0)
				continue;
			const struct plot_model *m = counters_get(&p->models, use->model);
			if (!m)
				return -ENOMEM;
			p->v[day_bar(p->unit, use->date) - p->first_bar][m->colour] += value;
			p->sums[m->colour] += amount;
			sum += amount;
		}
		number_sum_add(&p->total, number_round(sum, RENDER_COST_DECIMALS));
	}
	return cancel_check();
}

/* --- text ------------------------------------------------------------------------- */

/* Appends a name on one line, in characters that XML allows. */
static void plot_add_name(struct span name, size_t characters, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct span first = utf8_first(name, characters);

	buf_addspan(&text, first);
	text_flatten_from(&text, 0);
	for (size_t i = 0; i + 2 < text.n; i++)
		if (memcmp(text.p + i, "\xef\xbf", 2) == 0 && (unsigned char)text.p[i + 2] >= 0xbe)
			text.p[i + 2] = '\xbd';
	html_add_text(buf_span(&text), out);
	buf_adds(out, first.n < name.n ? "\u2026" : "");
}

static void plot_add_short(double value, struct buf *out)
{
	static const char *const steps[] = {"", "k", "M", "G", "T"};
	size_t i = 0;
	for (; value >= 1000 && i + 1 < sizeof steps / sizeof *steps; i++)
		value /= 1000;
	number_add(number_round(value, value < 100 ? 1 : 0), out);
	buf_adds(out, steps[i]);
}

/* Appends an amount as in the table of index.html. */
static void plot_add_amount(const struct plot *p, double value, struct buf *out)
{
	if (p->by_tokens)
		html_add_count(value, out);
	else
		html_dollars(value, PLOT_FINE_AMOUNT, out);
}

static void plot_add_bar_name(const struct plot *p, int64_t bar, struct buf *out)
{
	char day[DATE_NAME];
	if (p->unit->days) {
		date_name((date_t)(bar * p->unit->days - (p->unit->days > 1 ? 3 : 0)), day);
		buf_adds(out, day);
		return;
	}
	int64_t month = bar * p->unit->months, year = floor_div(month, 12);
	buf_addf(out, "%04lld", (long long)year);
	if (p->unit->months < 12)
		buf_addf(out, "-%02d", (int)(month - year * 12) + 1);
}

/* --- the picture ------------------------------------------------------------------- */

static void plot_add_begin(unsigned height, const char *what, bool alone, struct buf *out)
{
	buf_addf(out, "<svg class=\"plot\" height=\"%u\" role=\"img\" aria-label=\"%s\"", height, what);
	if (!alone) {
		buf_adds(out, ">\n");
		return;
	}
	buf_addf(out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" viewBox=\"%d 0 %d %u\">\n<style>", WIDTH,
	         -LEFT, WIDTH, height);
	buf_adds(out, html_plot_style);
	buf_addf(out, "</style>\n<rect class=\"paper\" x=\"%d\" width=\"%d\" height=\"%u\"/>\n", -LEFT, WIDTH, height);
}

/* Returns the smallest of 1, 2, 5, 10, ... that needs at most TICKS ticks. */
static double tick_step(double most)
{
	static const double steps[] = {1, 2, 5};
	double power = 1;
	while (most / power < 1)
		power /= 10;
	for (;; power *= 10)
		for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
			if (most <= steps[i] * power * TICKS)
				return steps[i] * power;
}

static double bar_highest(const struct plot *p)
{
	double most = 0;
	for (unsigned b = 0; b < p->bars; b++) {
		double sum = 0;
		for (unsigned c = 0; c < p->colours; c++)
			sum += p->v[b][c];
		most = sum > most ? sum : most;
	}
	return most;
}

static void plot_add_ticks(const struct plot *p, double step, double top, struct buf *out)
{
	for (unsigned i = 0; i * step <= top * 1.000001; i++) {
		double y = TOP + HEIGHT - HEIGHT * (i * step / top);
		buf_addf(out, "<text class=\"tick\" x=\"-8\" y=\"%.1f\">", y + 4);
		if (p->by_tokens) {
			plot_add_short(i * step, out);
		} else {
			buf_addc(out, '$');
			if (top >= AMOUNT_LONG)
				plot_add_short(i * step, out);
			else
				number_add(number_round(i * step, RENDER_COST_DECIMALS), out);
		}
		buf_adds(out, "</text>\n");
	}
}

static void plot_add_bar(const struct plot *p, unsigned b, double x, double width, double top, struct buf *out)
{
	double below = 0;
	for (unsigned c = 0; c < p->colours; c++) {
		double value = p->v[b][c];
		if (value <= 0)
			continue;
		double low = HEIGHT * (below / top), high = HEIGHT * ((below + value) / top);
		below += value;
		buf_addf(out, "<rect class=\"c%u\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"><title>", c,
		         x * 100 / AREA, HEIGHT - high, width * 100 / AREA, high - low);
		plot_add_bar_name(p, p->first_bar + b, out);
		buf_adds(out, " \u00b7 ");
		plot_add_name(p->names[c], MODEL_CHARACTERS, out);
		buf_adds(out, p->by_tokens ? " \u00b7 " : " \u00b7 $");
		number_add(number_round(value, RENDER_COST_DECIMALS), out);
		buf_adds(out, p->by_tokens ? " tokens</title></rect>\n" : "</title></rect>\n");
	}
}

/* Every third label also fits in a narrow page, unless it is at the right end; the others can be hidden. */
static void plot_add_bars_and_labels(const struct plot *p, double top, struct buf *out)
{
	unsigned places = p->bars > BARS_MIN ? p->bars : BARS_MIN;
	double each = (double)AREA / places, width = each * 0.8 < BAR_WIDTH_MAX ? each * 0.8 : BAR_WIDTH_MAX;
	unsigned every = (unsigned)(LABEL / each) + 1;
	for (unsigned b = 0; b < p->bars; b++) {
		double at = b * each;
		plot_add_bar(p, b, at + (each - width) / 2, width, top, out);
		if (b % every != 0 || at + LABEL > AREA)
			continue;
		bool is_spare = b / every % 3 != 0 || at > AREA * 0.7;
		buf_addf(out, "<text class=\"at%s\" x=\"%.2f%%\" y=\"%d\">", is_spare ? " spare" : "", at * 100 / AREA,
		         HEIGHT + 18);
		plot_add_bar_name(p, p->first_bar + b, out);
		buf_adds(out, "</text>\n");
	}
}

static void plot_add_legend(const struct plot *p, struct buf *out)
{
	for (unsigned c = 0; c < p->colours; c++) {
		unsigned y = c * ROW;
		buf_addf(out, "<rect class=\"c%u\" y=\"%u\" width=\"12\" height=\"12\"/><text x=\"20\" y=\"%u\">", c, y,
		         y + 11);
		plot_add_name(p->names[c], MODEL_CHARACTERS, out);
		buf_adds(out, " \u00b7 ");
		plot_add_amount(p, number_round(p->sums[c], RENDER_COST_DECIMALS), out);
		buf_adds(out, "</text>\n");
	}
}

static void plot_add_head(const struct plot *p, const char *what, struct buf *out)
{
	char first[DATE_NAME], last[DATE_NAME];

	buf_addf(out, "<text class=\"head\" x=\"%d\" y=\"18\">%s: ", -LEFT, what);
	plot_add_amount(p, number_sum_value(p->total), out);
	date_name(p->first, first);
	date_name(p->last, last);
	buf_addf(out, "</text><text class=\"at\" x=\"%d\" y=\"36\">Sum from %s to %s</text>\n", -LEFT, first, last);
}

static void plot_add_svg(const struct plot *p, bool alone, struct buf *out)
{
	double step = tick_step(bar_highest(p)), top = step;
	while (top < bar_highest(p))
		top += step;
	char what[64];
	snprintf(what, sizeof what, "%s by %s and model", p->by_tokens ? "Tokens" : "Cost", p->unit->name);
	plot_add_begin(TOP + HEIGHT + BELOW + p->colours * ROW + END, what, alone, out);
	plot_add_head(p, what, out);
	plot_add_ticks(p, step, top, out);
	buf_addf(out, "<svg y=\"%d\" width=\"%s\" height=\"%d\">\n", TOP, alone ? "716" : "100%", HEIGHT + BELOW);
	for (unsigned i = 0; i * step <= top * 1.000001; i++)
		buf_addf(out, "<rect class=\"grid\" y=\"%.1f\" width=\"100%%\" height=\"1\"/>",
		         HEIGHT - HEIGHT * (i * step / top));
	buf_addc(out, '\n');
	plot_add_bars_and_labels(p, top, out);
	buf_addf(out, "</svg>\n<g class=\"legend\" transform=\"translate(0 %d)\">\n", TOP + HEIGHT + BELOW);
	plot_add_legend(p, out);
	buf_adds(out, "</g>\n</svg>\n");
}

/* Appends a picture of the days from `from` on. */
static int plot_add(const struct fact_list *list, date_t from, bool alone, struct buf *out)
{
	struct plot p CLEANUP(plot_release) = {.list = list,
	                                       .models = COUNTERS_INIT(struct plot_model),
	                                       .by_tokens = true,
	                                       .from = from,
	                                       .first = NO_DATE,
	                                       .last = NO_DATE};
	int rc = plot_add_models(&p);

	if (rc < 0)
		return rc;
	plot_add_days(&p);
	if (p.first == NO_DATE) {
		plot_add_begin(TOP, "No usage yet", alone, out);
		buf_addf(out, "<text class=\"head\" x=\"%d\" y=\"18\">No usage yet</text>\n</svg>\n", -LEFT);
		return buf_err(out);
	}
	plot_choose_unit(&p);
	rc = plot_choose_colours(&p);
	if (rc == 0)
		rc = plot_sum_bars(&p);
	if (rc == 0)
		plot_add_svg(&p, alone, out);
	return rc < 0 ? rc : buf_err(out);
}

int plot_usage(const struct fact_list *list, bool alone, struct buf *out)
{
	struct plot any = {.list = list, .from = NO_DATE, .first = NO_DATE, .last = NO_DATE};
	char day[DATE_NAME];
	int rc = facts_list_error(list);

	if (rc < 0)
		return rc;
	for (int i = 0; i < 2; i++) { /* by cost, then by tokens */
		any.by_tokens = i > 0;
		plot_add_days(&any);
	}
	date_t from = any.last == NO_DATE ? NO_DATE : any.last - BARS_MAX + 1;
	rc = plot_add(list, from, alone, out);
	if (rc < 0 || alone || any.first >= from)
		return rc;
	date_name(any.first, day);
	buf_addf(out, "<details><summary>All since %s</summary>\n", day);
	rc = plot_add(list, any.first, false, out);
	buf_adds(out, "</details>\n");
	return rc < 0 ? rc : buf_err(out);
}
