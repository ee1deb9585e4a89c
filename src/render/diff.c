/* SPDX-License-Identifier: MIT */
/* The fewest changes between two texts. Among the ways to make them, the changes are as late as possible.
 *
 * Common lines at both ends are removed first, without allocation. If most others are in one text only, or unique, each
 * pair of equal lines is visited once (Hunt and Szymanski): a permutation costs as much as sorting. Otherwise each row
 * of the table of longest common subsequences is computed from the row above it, 64 cells at a time (Hyyrö). Each
 * ROWS_STEP-th row is kept, and on the way back the rows between two of them are computed again. */
#include "diff.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/hash.h"

/* Beyond these limits all lines between the first and the last change count as changed. The first bounds memory, the
 * others the time, to seconds. */
enum { LINES_MAX = 1 << 21, PAIRS_MAX = 1 << 25, WORDS_MAX = 1 << 28 };
enum { CONTEXT = 3, ROWS_STEP = 256, DENSE = 16, WORDS_PER_PAIR = 16 };

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
	struct span text;
	uint32_t same;         /* the first line with this text; only that one has the next ones */
	uint32_t n_old, n_new; /* how many lines are the same */
	uint32_t dense;        /* 1 + the place of its columns in `dense`, or 0 */
	bool common;           /* unchanged */
};

/* A bit of a row of the table is 0 if the first lines up to this row and column have a longer common subsequence than
 * up to the column before. */
struct lcs {
	struct buf memory[3];
	struct lcs_line *lines; /* the old ones, then the new ones */
	uint32_t *last;         /* 1 + the last new line that is the same; of a new line the one before it; 0: none */
	uint32_t n[2];
	uint64_t pairs;                 /* how many old and new lines are the same */
	size_t words;                   /* of a row */
	uint64_t *dense, *same, *block; /* columns of lines that have many, the columns of one line, some rows */
};

static void lcs_release(struct lcs *t)
{
	for (size_t i = 0; i < 3; i++)
		buf_release(&t->memory[i]);
}

/* Returns n zero bytes, backed by a file if they are many; or NULL. */
static void *lcs_alloc(struct buf *b, size_t n)
{
	buf_reset(b);
	char *p = buf_reserve(b, n);

	return p ? memset(p, 0, n) : NULL;
}

/* Finds the lines that are the same. The hash has a secret, so that no text can make it slow. */
static int lcs_fill(struct lcs *t, struct diff_lines text[2])
{
	uint32_t total = t->n[0] + t->n[1], mask = 1;
	struct hash_key key;

	hash_key_draw(&key);
	while (mask < 2 * total)
		mask = 2 * mask + 1;
	t->lines = lcs_alloc(&t->memory[0], total * (sizeof *t->lines + sizeof *t->last));
	uint32_t *slots = lcs_alloc(&t->memory[1], ((size_t)mask + 1) * sizeof *slots);
	if (!t->lines || !slots)
		return buf_err(&t->memory[t->lines != NULL]);
	t->last = (uint32_t *)(t->lines + total);
	for (uint32_t i = 0; i < total; i++) {
		bool is_new = i >= t->n[0];
		struct lcs_line *l = &t->lines[i];
		diff_lines_pop_first(&text[is_new], &l->text);
		uint32_t at = (uint32_t)hash_bytes(&key, 0, l->text.p, l->text.n) & mask;
		while (slots[at] && !span_eq(t->lines[slots[at] - 1].text, l->text))
			at = (at + 1) & mask;
		slots[at] = slots[at] ? slots[at] : i + 1;
		l->same = slots[at] - 1;
		struct lcs_line *first = &t->lines[l->same];
		first->n_old += !is_new;
		first->n_new += is_new;
		t->pairs += is_new ? first->n_old : 0;
		t->last[i] = is_new ? t->last[l->same] : 0;
		t->last[l->same] = is_new ? i + 1 : 0;
	}
	return 0;
}

/* The end of a common subsequence: the first end for its length. */
struct lcs_pair {
	uint32_t old_line, new_line;
	uint32_t before; /* 1 + the pair before it */
};

static int lcs_mark_by_pairs(struct lcs *t)
{
	struct buf *pairs = &t->memory[1];
	const struct lcs_pair *v = NULL;
	uint32_t *ends = lcs_alloc(&t->memory[2], t->n[0] * sizeof *ends); /* 1 + a pair, by length */
	uint32_t n = 0, length = 0;
	int rc = buf_err(&t->memory[2]);

	buf_reset(pairs);
	for (uint32_t i = 0; rc == 0 && i < t->n[0]; i++) {
		for (uint32_t j = t->last[t->lines[i].same]; j && !buf_err(pairs); j = t->last[j - 1]) {
			uint32_t low = 0, high = length;
			while (low < high) {
				uint32_t middle = low + (high - low) / 2;
				if (v[ends[middle] - 1].new_line < j - 1)
					low = middle + 1;
				else
					high = middle;
			}
			if (low < length && v[ends[low] - 1].new_line == j - 1)
				continue;
			buf_add(pairs, &(struct lcs_pair){i, j - 1, low ? ends[low - 1] : 0}, sizeof *v);
			v = (const struct lcs_pair *)pairs->p;
			ends[low] = ++n;
			length += low == length;
		}
		rc = buf_err(pairs) ? buf_err(pairs) : cancel_check();
	}
	for (uint32_t at = rc == 0 && length ? ends[length - 1] : 0; at; at = v[at - 1].before)
		t->lines[v[at - 1].old_line].common = t->lines[v[at - 1].new_line].common = true;
	return rc;
}

/* Computes up to ROWS_STEP rows below `above`, the row above old line i. Returns how many, or -EINTR. */
static int lcs_fill_block(const struct lcs *t, uint32_t i, const uint64_t *above)
{
	uint64_t *to = memcpy(t->block, above, t->words * sizeof *above);
	int n = 0, rc = 0;

	for (; rc == 0 && n < ROWS_STEP && i < t->n[0]; n++, i++) {
		uint32_t first = t->lines[i].same, dense = t->lines[first].dense;
		const uint64_t *same = dense ? t->dense + (dense - 1) * t->words : t->same;
		uint64_t carry = 0;
		if (!dense)
			memset(t->same, 0, t->words * sizeof *t->same);
		for (uint32_t j = dense ? 0 : t->last[first]; j; j = t->last[j - 1])
			t->same[(j - 1 - t->n[0]) / 64] |= UINT64_C(1) << (j - 1 - t->n[0]) % 64;
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

/* Goes back through a block of n rows that begins at old line i, from column j on. Returns the column that it reaches.
 */
static size_t lcs_mark_block(struct lcs *t, uint32_t i, int n, size_t j)
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
		t->lines[i + (uint32_t)n].common = t->lines[t->n[0] + j].common = true;
	}
	return j;
}

static int lcs_mark_by_rows(struct lcs *t)
{
	uint32_t n_kept = t->n[0] / ROWS_STEP + 1, dense = 0;
	size_t j = t->n[1];
	int n = 0;

	for (uint32_t i = 0; i < t->n[0]; i++)
		if (t->lines[i].n_new > t->words / DENSE)
			t->lines[i].dense = ++dense;
	t->dense = lcs_alloc(&t->memory[1], (dense + n_kept + ROWS_STEP + 2) * t->words * sizeof *t->dense);
	if (!t->dense)
		return buf_err(&t->memory[1]);
	t->same = t->dense + dense * t->words;
	t->block = t->same + t->words;
	uint64_t *kept = memset(t->block + (ROWS_STEP + 1) * t->words, 0xff, t->words * sizeof *kept);
	for (uint32_t k = 0; k < t->n[1]; k++) {
		dense = t->lines[t->lines[t->n[0] + k].same].dense;
		if (dense)
			t->dense[(dense - 1) * t->words + k / 64] |= UINT64_C(1) << k % 64;
	}
	for (uint32_t k = 0; k + 1 < n_kept && n >= 0; k++) {
		n = lcs_fill_block(t, k * ROWS_STEP, kept + k * t->words);
		memcpy(kept + (k + 1) * t->words, t->block + ROWS_STEP * t->words, t->words * sizeof *kept);
	}
	for (uint32_t k = n_kept; k-- > 0 && n >= 0;) {
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

static int diff_add_middle(struct hunks *h, struct diff_lines text[2])
{
	struct lcs t CLEANUP(lcs_release) = {.lines = NULL};
	size_t n[2] = {lines_count(text[0]), lines_count(text[1])};
	struct span line;
	int rc = 0;

	if (n[0] && n[1] && n[0] + n[1] <= LINES_MAX) {
		t = (struct lcs){.n = {(uint32_t)n[0], (uint32_t)n[1]}, .words = (n[1] + 63) / 64};
		rc = lcs_fill(&t, (struct diff_lines[2]){text[0], text[1]});
		if (rc == 0 && t.pairs <= PAIRS_MAX && t.pairs * WORDS_PER_PAIR <= (uint64_t)n[0] * t.words)
			rc = lcs_mark_by_pairs(&t);
		else if (rc == 0 && (uint64_t)n[0] * t.words <= WORDS_MAX)
			rc = lcs_mark_by_rows(&t);
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
