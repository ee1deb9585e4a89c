/* SPDX-License-Identifier: MIT */
/* The fewest changes between two texts. Among the ways to make them, the changes are as late as possible.
 *
 * Common lines at both ends are removed first, without allocation, then lines of one text only. Of the others, each row
 * of the table of longest common subsequences is computed from the row above it, 64 cells at a time (Hyyrö). Each
 * ROWS_STEP-th row is kept, and on the way back the rows between two of them are computed again. */
#include "diff.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/map.h"

#include <errno.h>
#include <stdlib.h>

/* Of more lines, all between the first and the last change count as changed. This bounds the time to about a second. */
enum { LINES_MAX = 1 << 18 };
/* A line is dense if it is in more than one of DENSE words of a row. */
enum { CONTEXT = 3, ROWS_STEP = 256, DENSE = 16 };

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
	diff_line *fn;
	void *arg;
	struct span context[CONTEXT]; /* the unchanged lines before the next change, the n-th in n % CONTEXT */
	size_t n_context;             /* since the last change */
	bool begun;                   /* a change was shown */
};

static void hunks_add_context(struct hunks *h, struct span line)
{
	h->context[h->n_context++ % CONTEXT] = line;
	if (h->begun && h->n_context <= CONTEXT)
		h->fn(h->arg, ' ', line, 0);
}

/* Returns how many lines of the context were shown after the previous change. */
static size_t hunks_shown(const struct hunks *h)
{
	return !h->begun ? 0 : h->n_context < CONTEXT ? h->n_context : CONTEXT;
}

/* Shows the context before the change: the buffered lines, except those shown after the previous change. */
static void hunks_add_change(struct hunks *h, char sign, struct span line)
{
	size_t shown = hunks_shown(h), first = h->n_context > shown + CONTEXT ? h->n_context - CONTEXT : shown;

	if (first > shown)
		h->fn(h->arg, '@', (struct span){NULL, 0}, first - shown);
	for (size_t i = first; i < h->n_context; i++)
		h->fn(h->arg, ' ', h->context[i % CONTEXT], 0);
	h->n_context = 0;
	h->begun = true;
	h->fn(h->arg, sign, line, 0);
}

/* --- the fewest changes ----------------------------------------------------- */

struct lcs_line {
	uint32_t same;           /* the first line with this text; only that one has the next three */
	uint32_t last;           /* 1 + the last column with this text, or 0 */
	uint32_t n_columns;      /* how many columns have this text */
	const uint64_t *columns; /* the bits of these columns, if they are many; or NULL */
	bool common;             /* unchanged */
};

/* The old lines that are in the new text are rows, the new lines that are in the old text are columns. A bit of a row
 * is 0 if the first lines up to this row and column have a longer common subsequence than up to the column before. */
struct lcs {
	struct lcs_line *lines; /* the old ones, then the new ones */
	uint32_t *rows, *columns;
	uint32_t *before; /* by column: 1 + the column before it with the same text, or 0 */
	size_t n_rows, n_columns, words;
	uint64_t *same, *block; /* the columns of a line, some rows; each row has `words` */
};

static struct lcs_line *lcs_first(const struct lcs *t, uint32_t line)
{
	return &t->lines[t->lines[line].same];
}

/* Finds the lines that are the same, the rows and the columns. */
static int lcs_fill(struct lcs *t, struct diff_lines old_lines, size_t n_old, struct diff_lines new_lines, size_t n_new)
{
	struct map first CLEANUP(map_release) = {0};
	struct span text;

	t->rows = (uint32_t *)(t->lines + n_old + n_new);
	t->columns = t->rows + n_old;
	t->before = t->columns + n_new;
	for (uint32_t i = 0; i < n_old + n_new; i++) {
		diff_lines_pop_first(i < n_old ? &old_lines : &new_lines, &text);
		uint32_t same = map_get(&first, 0, text);
		if (same == MAP_NONE && map_put(&first, 0, text, i) < 0)
			return -ENOMEM;
		t->lines[i].same = same == MAP_NONE ? i : same;
		struct lcs_line *l = lcs_first(t, i);
		if (i < n_old || same >= n_old)
			continue;
		t->before[t->n_columns] = l->last;
		t->columns[t->n_columns++] = i;
		l->last = (uint32_t)t->n_columns;
		l->n_columns++;
	}
	for (uint32_t i = 0; i < n_old; i++)
		if (lcs_first(t, i)->last)
			t->rows[t->n_rows++] = i;
	t->words = (t->n_columns + 63) / 64;
	return 0;
}

/* Sets the bits of the columns with the text of a line. */
static const uint64_t *lcs_set_columns(const struct lcs *t, const struct lcs_line *l, uint64_t *to)
{
	memset(to, 0, t->words * sizeof *to);
	for (uint32_t j = l->last; j; j = t->before[j - 1])
		to[(j - 1) / 64] |= UINT64_C(1) << (j - 1) % 64;
	return to;
}

/* Computes up to ROWS_STEP rows from row i on; `above` is the row before. Returns how many, or -EINTR. */
static int lcs_fill_block(const struct lcs *t, size_t i, const uint64_t *above)
{
	uint64_t *to = memcpy(t->block, above, t->words * sizeof *above);
	int n = 0, rc = 0;

	for (; rc == 0 && n < ROWS_STEP && i < t->n_rows; n++, i++) {
		const struct lcs_line *l = lcs_first(t, t->rows[i]);
		const uint64_t *same = l->columns ? l->columns : lcs_set_columns(t, l, t->same);
		uint64_t carry = 0;
		above = to;
		to += t->words;
		for (size_t w = 0; w < t->words; w++) {
			uint64_t sum = above[w] + (above[w] & same[w]), next = sum + carry;
			carry = sum < above[w] || next < sum;
			to[w] = next | (above[w] & ~same[w]);
		}
		rc = cancel_check();
	}
	return rc < 0 ? rc : n;
}

/* Goes back through a block of n rows that begins at row i, from column j on. Returns the column that it reaches. */
static size_t lcs_mark_block(struct lcs *t, size_t i, int n, size_t j)
{
	const uint64_t *bits = t->block + (size_t)n * t->words;

	while (n > 0) {
		if (j > 0 && bits[(j - 1) / 64] >> (j - 1) % 64 & 1) {
			j--;
			continue;
		}
		n--;
		bits -= t->words;
		if (j == 0 || !(bits[(j - 1) / 64] >> (j - 1) % 64 & 1))
			continue;
		j--;
		t->lines[t->rows[i + (size_t)n]].common = t->lines[t->columns[j]].common = true;
	}
	return j;
}

static int lcs_mark(struct lcs *t)
{
	size_t n_kept = t->n_rows / ROWS_STEP + 1, dense = 0, j = t->n_columns;
	struct buf memory CLEANUP_BUF = BUF_INIT;
	int n = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		dense += t->lines[t->rows[i]].n_columns > t->words / DENSE;
	t->same = (void *)buf_reserve(&memory, (dense + n_kept + ROWS_STEP + 2) * t->words * sizeof *t->same);
	if (!t->same)
		return buf_err(&memory);
	for (size_t i = 0; i < t->n_rows; i++)
		if (t->lines[t->rows[i]].n_columns > t->words / DENSE) {
			t->lines[t->rows[i]].columns = lcs_set_columns(t, &t->lines[t->rows[i]], t->same);
			t->same += t->words;
		}
	t->block = t->same + t->words;
	uint64_t *kept = memset(t->block + (ROWS_STEP + 1) * t->words, 0xff, t->words * sizeof *kept);
	for (size_t k = 0; k + 1 < n_kept && n >= 0; k++) {
		n = lcs_fill_block(t, k * ROWS_STEP, kept + k * t->words);
		memcpy(kept + (k + 1) * t->words, t->block + ROWS_STEP * t->words, t->words * sizeof *kept);
	}
	for (size_t k = n_kept; k-- > 0 && n >= 0;) {
		n = lcs_fill_block(t, k * ROWS_STEP, kept + k * t->words);
		j = lcs_mark_block(t, k * ROWS_STEP, n, j);
	}
	return n < 0 ? n : 0;
}

static size_t lines_count(struct diff_lines l)
{
	struct span line;
	size_t n = 0;

	while (diff_lines_pop_first(&l, &line))
		n++;
	return n;
}

static void lcs_release(struct lcs *t)
{
	free(t->lines);
}

static int diff_add_middle(struct hunks *h, struct diff_lines text[2])
{
	struct lcs t CLEANUP(lcs_release) = {.lines = NULL};
	size_t n[2] = {lines_count(text[0]), lines_count(text[1])};
	struct span line;
	int rc = 0;

	if (n[0] && n[1] && n[0] + n[1] <= LINES_MAX) {
		t.lines = calloc(n[0] + n[1], sizeof *t.lines + 2 * sizeof *t.rows);
		rc = t.lines ? lcs_fill(&t, text[0], n[0], text[1], n[1]) : -ENOMEM;
		rc = rc == 0 && t.n_rows ? lcs_mark(&t) : rc;
	}
	for (size_t i = 0, j = 0; rc == 0 && (i < n[0] || j < n[1]);) {
		bool removed = i < n[0] && !(t.lines && t.lines[i].common);
		bool added = !removed && j < n[1] && !(t.lines && t.lines[n[0] + j].common);
		i += !added && diff_lines_pop_first(&text[0], &line);
		j += !removed && diff_lines_pop_first(&text[1], &line);
		if (removed || added)
			hunks_add_change(h, removed ? '-' : '+', line);
		else
			hunks_add_context(h, line);
	}
	return rc;
}

static bool text_ends_line(struct span text)
{
	return text.n == 0 || text.p[text.n - 1] == '\n';
}

int diff_texts(struct span old_text, struct span new_text, diff_line *fn, void *arg)
{
	bool ended = text_ends_line(old_text) && text_ends_line(new_text);
	struct diff_lines text[2] = {diff_lines_init(old_text, ended), diff_lines_init(new_text, ended)};
	struct hunks h = {.fn = fn, .arg = arg};
	struct span line, last;

	while (diff_lines_pop_equal(diff_lines_pop_first, &text[0], &text[1], &line))
		hunks_add_context(&h, line);
	struct diff_lines same = {NULL, NULL};
	while (diff_lines_pop_equal(diff_lines_pop_last, &text[0], &text[1], &last))
		same = (struct diff_lines){last.p, same.p ? same.end : last.p + last.n};
	int rc = text[0].p || text[1].p ? diff_add_middle(&h, text) : 0;
	while (diff_lines_pop_first(&same, &line))
		hunks_add_context(&h, line);
	fn(arg, '@', (struct span){NULL, 0}, h.n_context - hunks_shown(&h));
	return rc;
}
