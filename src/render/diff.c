/* SPDX-License-Identifier: MIT */
/* What both texts begin and end with goes first, without any memory. For what is left Myers' greedy algorithm looks
 * for the fewest changes ("An O(ND) difference algorithm and its variations", 1986). It costs lines times changes, so
 * it has a budget; beyond that all old lines go and all new ones come, which is what such an edit mostly is. */
#include "diff.h"

#include "sessionfs/base/map.h"
#include "sessionfs/base/vec.h"

#include <errno.h>

enum { CONTEXT = 3, MOST_LINES = 1 << 14, STEPS = 1 << 16, STEPS_PER_LINE = 32 };

/* --- lines ------------------------------------------------------------------ */

/* The lines of a text that are left; p is NULL behind the last one. */
struct lines {
	const char *p, *end;
};

static struct lines lines_of(struct span text, bool ended)
{
	if (text.n == 0)
		return (struct lines){NULL, NULL};
	return (struct lines){text.p, text.p + text.n - (ended ? 1 : 0)};
}

static bool take_first(struct lines *l, struct span *ret)
{
	if (!l->p)
		return false;
	const char *eol = memchr(l->p, '\n', (size_t)(l->end - l->p));
	*ret = (struct span){l->p, (size_t)((eol ? eol : l->end) - l->p)};
	l->p = eol ? eol + 1 : NULL;
	return true;
}

static bool take_last(struct lines *l, struct span *ret)
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

/* Takes a line from both if it is the same. */
static bool take_same(bool (*take)(struct lines *, struct span *), struct lines *a, struct lines *b, struct span *ret)
{
	struct lines rest_a = *a, rest_b = *b;
	struct span other;

	if (!take(&rest_a, ret) || !take(&rest_b, &other) || !span_eq(*ret, other))
		return false;
	*a = rest_a;
	*b = rest_b;
	return true;
}

/* --- what is shown ---------------------------------------------------------- */

struct hunks {
	struct diff *d;
	struct span held[CONTEXT]; /* the unchanged lines before the next change, the n-th in n % CONTEXT */
	size_t n_held;             /* since the last change */
	bool begun;                /* a line of this pair of texts is shown */
};

static void show(struct hunks *h, char sign, struct span line)
{
	struct buf *out = h->d->out;

	h->begun = true;
	if (!out)
		return;
	buf_addc(out, sign);
	buf_addspan(out, line);
	buf_addc(out, '\n');
}

static void add_same(struct hunks *h, struct span line)
{
	h->held[h->n_held++ % CONTEXT] = line;
	if (h->begun && h->n_held <= CONTEXT)
		show(h, ' ', line);
}

/* Shows the context before the change: the lines held, except those already shown after the previous change. */
static void add_change(struct hunks *h, char sign, struct span line)
{
	size_t shown = !h->begun ? 0 : h->n_held < CONTEXT ? h->n_held : CONTEXT;
	size_t first = h->n_held > shown + CONTEXT ? h->n_held - CONTEXT : shown;

	if (h->d->out && (h->begun ? first > shown : h->d->any))
		buf_adds(h->d->out, "@@\n");
	for (size_t i = first; i < h->n_held; i++)
		show(h, ' ', h->held[i % CONTEXT]);
	h->n_held = 0;
	show(h, sign, line);
	if (sign == '+')
		h->d->added++;
	else
		h->d->removed++;
}

static void add_all(struct hunks *h, char sign, struct lines l)
{
	struct span line;

	while (take_first(&l, &line))
		add_change(h, sign, line);
}

/* --- the fewest changes ----------------------------------------------------- */

/* One of the two texts. A line that the other one does not have is changed; the others are compared. */
struct side {
	VEC(struct span) lines;
	bool *changed;
	uint32_t *numbers; /* of the lines compared; equal ones have the same */
	uint32_t *at;      /* which lines they are */
	int32_t n;
};

struct myers {
	struct side a, b;   /* the old lines and the new ones */
	struct map seen;    /* the old lines' numbers */
	bool *common;       /* by number: the new lines have it, too */
	VEC(int32_t) reach; /* after d changes: how far the path on each diagonal -d, -d + 2, ..., d came in a */
	size_t steps;       /* left */
};

static void side_release(struct side *s)
{
	vec_release(&s->lines);
	free(s->changed);
	free(s->numbers);
	free(s->at);
}

static void myers_release(struct myers *m)
{
	side_release(&m->a);
	side_release(&m->b);
	map_release(&m->seen);
	free(m->common);
	vec_release(&m->reach);
}

/* 1; 0 if there are too many. */
static int side_fill(struct side *s, struct lines l)
{
	struct span line;

	while (take_first(&l, &line)) {
		if (s->lines.n == MOST_LINES)
			return 0;
		if (!vec_reserve(&s->lines, 1))
			return -ENOMEM;
		s->lines.v[s->lines.n++] = line;
	}
	s->changed = calloc(s->lines.n, sizeof *s->changed);
	s->numbers = calloc(s->lines.n, sizeof *s->numbers);
	s->at = calloc(s->lines.n, sizeof *s->at);
	return s->changed && s->numbers && s->at ? 1 : -ENOMEM;
}

static int number_lines(struct myers *m)
{
	struct side *a = &m->a, *b = &m->b;

	for (size_t i = 0; i < a->lines.n; i++) {
		a->numbers[i] = map_get(&m->seen, 0, a->lines.v[i]);
		if (a->numbers[i] != MAP_NONE)
			continue;
		a->numbers[i] = (uint32_t)m->seen.n;
		if (map_put(&m->seen, 0, a->lines.v[i], a->numbers[i]) < 0)
			return -ENOMEM;
	}
	m->common = calloc(m->seen.n, sizeof *m->common);
	if (!m->common)
		return -ENOMEM;
	for (size_t i = 0; i < b->lines.n; i++) {
		b->numbers[i] = map_get(&m->seen, 0, b->lines.v[i]);
		if (b->numbers[i] != MAP_NONE)
			m->common[b->numbers[i]] = true;
	}
	return 0;
}

/* Leaves the lines that both have. */
static void side_keep(struct side *s, const bool *common)
{
	for (uint32_t i = 0; i < s->lines.n; i++) {
		s->changed[i] = s->numbers[i] == MAP_NONE || !common[s->numbers[i]];
		if (s->changed[i])
			continue;
		s->numbers[s->n] = s->numbers[i];
		s->at[s->n++] = i;
	}
}

/* Where the reaches after d changes begin. */
static size_t row_of(int32_t d)
{
	return (size_t)d * ((size_t)d + 1) / 2;
}

/* Where the best path enters the n-th of its diagonals with its d-th change: behind a line of b that was inserted, or
 * one of a that was deleted. `before` are the reaches before that change. */
static inline int32_t diff_enter(const int32_t *before, int32_t d, int32_t n, bool *ret_inserted)
{
	*ret_inserted = n == 0 || (n < d && before[n - 1] < before[n]);
	return *ret_inserted ? before[n] : before[n - 1] + 1;
}

/* One more change: 1 if some path reaches the end, 0 if none does. */
static int advance(struct myers *m, int32_t d)
{
	const uint32_t *a = m->a.numbers, *b = m->b.numbers;
	int32_t n_a = m->a.n, n_b = m->b.n;
	size_t cost = 0;
	bool inserted;

	if (!vec_reserve(&m->reach, (size_t)d + 1))
		return -ENOMEM;
	int32_t *row = m->reach.v + row_of(d);
	const int32_t *before = d ? row - d : NULL;
	m->reach.n += (size_t)d + 1;
	for (int32_t n = 0, k = -d; n <= d; n++, k += 2) {
		int32_t x = d ? diff_enter(before, d, n, &inserted) : 0, begin = x;
		while (x < n_a && x - k < n_b && a[x] == b[x - k])
			x++;
		row[n] = x;
		if (x >= n_a && x - k >= n_b)
			return 1;
		cost += (size_t)(x - begin) + 1;
	}
	m->steps -= cost < m->steps ? cost : m->steps;
	return 0;
}

/* Goes back from the end along the path of d changes. */
static void note_changes(struct myers *m, int32_t d)
{
	int32_t k = m->a.n - m->b.n;
	bool inserted;

	for (; d > 0; d--) {
		int32_t x = diff_enter(m->reach.v + row_of(d - 1), d, (k + d) / 2, &inserted);
		if (inserted)
			m->b.changed[m->b.at[x - k - 1]] = true;
		else
			m->a.changed[m->a.at[x - 1]] = true;
		k += inserted ? 1 : -1;
	}
}

/* 1 if all changes are noted, 0 if that would take too long. */
static int find_changes(struct myers *m)
{
	int rc = number_lines(m);

	if (rc < 0)
		return rc;
	side_keep(&m->a, m->common);
	side_keep(&m->b, m->common);
	m->steps = STEPS + STEPS_PER_LINE * (size_t)(m->a.n + m->b.n);
	for (int32_t d = 0; m->steps > 0; d++) {
		rc = advance(m, d);
		if (rc > 0)
			note_changes(m, d);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static void diff_add_changes(struct hunks *h, const struct myers *m)
{
	const struct side *a = &m->a, *b = &m->b;

	for (size_t i = 0, j = 0; i < a->lines.n || j < b->lines.n;) {
		if (i < a->lines.n && a->changed[i])
			add_change(h, '-', a->lines.v[i++]);
		else if (j < b->lines.n && b->changed[j])
			add_change(h, '+', b->lines.v[j++]);
		else
			add_same(h, a->lines.v[i++]), j++;
	}
}

static int add_middle(struct hunks *h, struct lines a, struct lines b)
{
	struct myers m CLEANUP(myers_release) = {.steps = 0};
	int rc = a.p && b.p;

	if (rc > 0)
		rc = side_fill(&m.a, a);
	if (rc > 0)
		rc = side_fill(&m.b, b);
	if (rc > 0)
		rc = find_changes(&m);
	if (rc > 0)
		diff_add_changes(h, &m);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	add_all(h, '-', a);
	add_all(h, '+', b);
	return 0;
}

static bool ends_line(struct span text)
{
	return text.n == 0 || text.p[text.n - 1] == '\n';
}

int diff_add(struct diff *d, struct span old_text, struct span new_text)
{
	bool ended = ends_line(old_text) && ends_line(new_text);
	struct lines a = lines_of(old_text, ended), b = lines_of(new_text, ended);
	struct hunks h = {.d = d};
	struct span line, last;

	while (take_same(take_first, &a, &b, &line))
		add_same(&h, line);
	struct lines same = {NULL, NULL};
	while (take_same(take_last, &a, &b, &last))
		same = (struct lines){last.p, same.p ? same.end : last.p + last.n};
	int rc = a.p || b.p ? add_middle(&h, a, b) : 0;
	for (int i = 0; i < CONTEXT && h.begun && take_first(&same, &line); i++)
		add_same(&h, line);
	d->any |= h.begun;
	return rc < 0 ? rc : d->out ? buf_err(d->out) : 0;
}
