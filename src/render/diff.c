/* SPDX-License-Identifier: MIT */
/* Common lines at both ends are removed first, without allocation. For the rest, a table of the longest common
 * subsequences finds the fewest changes. It costs old lines times new lines, at most a few milliseconds; beyond that
 * limit all old lines are removed and all new ones added, which is usually accurate for such edits. */
#include "diff.h"

#include "sessionfs/base/cleanup.h"

enum { CONTEXT = 3, LCS_CELLS_MAX = 1 << 20, LCS_BYTES_MAX = 1 << 24 };

/* --- lines ------------------------------------------------------------------ */

/* The remaining lines of a text; p is NULL after the last one. */
struct diff_lines {
	const char *p, *end;
};

static struct diff_lines diff_lines_init(struct span text, bool ended)
{
	if (text.n == 0)
		return (struct diff_lines){NULL, NULL};
	return (struct diff_lines){text.p, text.p + text.n - (ended ? 1 : 0)};
}

static bool diff_lines_pop_first(struct diff_lines *l, struct span *ret)
{
	if (!l->p)
		return false;
	const char *eol = memchr(l->p, '\n', (size_t)(l->end - l->p));
	*ret = (struct span){l->p, (size_t)((eol ? eol : l->end) - l->p)};
	l->p = eol ? eol + 1 : NULL;
	return true;
}

static bool diff_lines_pop_last(struct diff_lines *l, struct span *ret)
{
	if (!l->p)
		return false;
	const char *eol = memrchr(l->p, '\n', (size_t)(l->end - l->p));
	const char *begin = eol ? eol + 1 : l->p;
	*ret = (struct span){begin, (size_t)(l->end - begin)};
	l->end = eol;
	if (!eol)
		l->p = NULL;
	return true;
}

/* Removes a line from both if it is the same. */
static bool diff_lines_pop_equal(bool (*take)(struct diff_lines *, struct span *), struct diff_lines *a,
                                 struct diff_lines *b, struct span *ret)
{
	struct diff_lines rest_a = *a, rest_b = *b;
	struct span other;

	if (!take(&rest_a, ret) || !take(&rest_b, &other) || !span_eq(*ret, other))
		return false;
	*a = rest_a;
	*b = rest_b;
	return true;
}

/* --- hunks ------------------------------------------------------------------ */

struct hunks {
	struct diff *d;
	struct span context[CONTEXT]; /* the unchanged lines before the next change, the n-th in n % CONTEXT */
	size_t n_context;             /* since the last change */
	bool begun;                   /* a line of this pair of texts was shown */
};

static void hunks_add_line(struct hunks *h, char sign, struct span line)
{
	struct buf *out = h->d->out;

	h->begun = true;
	if (!out)
		return;
	buf_addc(out, sign);
	buf_addspan(out, line);
	buf_addc(out, '\n');
}

static void hunks_add_context(struct hunks *h, struct span line)
{
	h->context[h->n_context++ % CONTEXT] = line;
	if (h->begun && h->n_context <= CONTEXT)
		hunks_add_line(h, ' ', line);
}

/* Shows the context before the change: the buffered lines, except those shown after the previous change. */
static void hunks_add_change(struct hunks *h, char sign, struct span line)
{
	size_t shown = !h->begun ? 0 : h->n_context < CONTEXT ? h->n_context : CONTEXT;
	size_t first = h->n_context > shown + CONTEXT ? h->n_context - CONTEXT : shown;

	if (h->d->out && (h->begun ? first > shown : h->d->has_hunks))
		buf_adds(h->d->out, "@@\n");
	for (size_t i = first; i < h->n_context; i++)
		hunks_add_line(h, ' ', h->context[i % CONTEXT]);
	h->n_context = 0;
	hunks_add_line(h, sign, line);
	if (sign == '+')
		h->d->added++;
	else
		h->d->removed++;
}

static void hunks_add_lines(struct hunks *h, char sign, struct diff_lines l)
{
	struct span line;

	while (diff_lines_pop_first(&l, &line))
		hunks_add_change(h, sign, line);
}

/* --- the fewest changes ----------------------------------------------------- */

struct diff_line {
	struct span text;
	bool changed; /* not in the other text at this point */
};

struct lcs {
	struct diff_line *old_lines, *new_lines;
	uint16_t *common; /* [i * (columns + 1) + j]: of the first i old lines and the first j new lines */
	size_t rows, columns;
};

static void lcs_release(struct lcs *t)
{
	free(t->old_lines);
	free(t->new_lines);
	free(t->common);
}

static size_t lines_count(struct diff_lines l)
{
	struct span line;
	size_t n = 0;

	while (diff_lines_pop_first(&l, &line))
		n++;
	return n;
}

static void lcs_fill(struct lcs *t, struct diff_lines old_lines, struct diff_lines new_lines)
{
	size_t width = t->columns + 1;

	for (size_t j = 0; diff_lines_pop_first(&new_lines, &t->new_lines[j].text); j++)
		;
	for (size_t i = 0; diff_lines_pop_first(&old_lines, &t->old_lines[i].text); i++) {
		const uint16_t *above = t->common + i * width;
		uint16_t *row = t->common + (i + 1) * width;
		for (size_t j = 0; j < t->columns; j++)
			if (span_eq(t->old_lines[i].text, t->new_lines[j].text))
				row[j + 1] = above[j] + 1;
			else
				row[j + 1] = row[j] > above[j + 1] ? row[j] : above[j + 1];
	}
}

/* Goes back from the end, and follows common lines only where no change is possible: changes are as late as possible.
 */
static void lcs_mark(struct lcs *t)
{
	size_t width = t->columns + 1;

	for (size_t i = t->rows, j = t->columns; i + j > 0;) {
		const uint16_t *cell = t->common + i * width + j;
		if (j > 0 && cell[-1] == *cell)
			t->new_lines[--j].changed = true;
		else if (i > 0 && *(cell - width) == *cell)
			t->old_lines[--i].changed = true;
		else
			i--, j--;
	}
}

static void lcs_add_marked(struct hunks *h, const struct lcs *t)
{
	for (size_t i = 0, j = 0; i < t->rows || j < t->columns;) {
		if (i < t->rows && t->old_lines[i].changed)
			hunks_add_change(h, '-', t->old_lines[i++].text);
		else if (j < t->columns && t->new_lines[j].changed)
			hunks_add_change(h, '+', t->new_lines[j++].text);
		else
			hunks_add_context(h, t->old_lines[i++].text), j++;
	}
}

static int diff_add_middle(struct hunks *h, struct diff_lines old_lines, struct diff_lines new_lines)
{
	struct lcs t CLEANUP(lcs_release) = {.rows = lines_count(old_lines), .columns = lines_count(new_lines)};
	size_t cells = t.rows * t.columns;

	h->d->cells += cells;
	if (!h->d->out && h->d->cells > DIFF_COUNT_CELLS_MAX)
		return 0;
	/* Each old line is compared with each new one. */
	if (cells == 0 || cells > LCS_CELLS_MAX || (size_t)(old_lines.end - old_lines.p) * t.columns > LCS_BYTES_MAX) {
		hunks_add_lines(h, '-', old_lines);
		hunks_add_lines(h, '+', new_lines);
		return 0;
	}
	t.old_lines = calloc(t.rows, sizeof *t.old_lines);
	t.new_lines = calloc(t.columns, sizeof *t.new_lines);
	t.common = calloc((t.rows + 1) * (t.columns + 1), sizeof *t.common);
	if (!t.old_lines || !t.new_lines || !t.common)
		return -ENOMEM;
	lcs_fill(&t, old_lines, new_lines);
	lcs_mark(&t);
	lcs_add_marked(h, &t);
	return 0;
}

static bool text_ends_line(struct span text)
{
	return text.n == 0 || text.p[text.n - 1] == '\n';
}

int diff_add(struct diff *d, struct span old_text, struct span new_text)
{
	bool ended = text_ends_line(old_text) && text_ends_line(new_text);
	struct diff_lines a = diff_lines_init(old_text, ended), b = diff_lines_init(new_text, ended);
	struct hunks h = {.d = d};
	struct span line, last;

	while (diff_lines_pop_equal(diff_lines_pop_first, &a, &b, &line))
		hunks_add_context(&h, line);
	struct diff_lines same = {NULL, NULL};
	while (diff_lines_pop_equal(diff_lines_pop_last, &a, &b, &last))
		same = (struct diff_lines){last.p, same.p ? same.end : last.p + last.n};
	int rc = a.p || b.p ? diff_add_middle(&h, a, b) : 0;
	for (int i = 0; i < CONTEXT && h.begun && diff_lines_pop_first(&same, &line); i++)
		hunks_add_context(&h, line);
	d->has_hunks |= h.begun;
	return rc < 0 ? rc : d->out ? buf_err(d->out) : 0;
}
