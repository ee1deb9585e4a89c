/* SPDX-License-Identifier: MIT */
/* The tree as pi's /tree draws it, for trees of any shape.
 *
 * First, a walk with its own stack puts all entries in drawing order. Then the rows are drawn: the conversation
 * entries, except answers that only call tools. Each row hangs on its nearest ancestor with a row.
 *
 * As in pi a chain keeps its indent: rows move right where it branches, and once more after that. Drawing a row costs
 * at most LEVELS steps at any depth: a deeper row begins with the number of omitted levels. */
#include "pieces.h"
#include "text.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/terminal.h"
#include "sessionfs/session/context.h"

#include <errno.h>
#include <stdlib.h>

#define TREE_STACK_LEVELS 64
#define NAME_WIDTH 8

enum {
	REACHED = 1 << 0,   /* visited, or on the stack */
	TO_LEAF = 1 << 1,   /* the leaf or an ancestor of it */
	ACTIVE = 1 << 2,    /* on the path from the leaf to the root */
	BRANCHED = 1 << 3,  /* one of several siblings: its child moves right */
	CONNECTED = 1 << 4, /* drawn with a connector */
	LAST = 1 << 5,      /* the last of its siblings */
	BELOW = 1 << 6,     /* it is `above` for a row */
	SEVERAL = 1 << 7,   /* it is `above` for several rows */
};

/* --- order ------------------------------------------------------------------ */

#define STEP 4096 /* entries between two calls of cancel_check */

struct order_walk {
	const struct session *s;
	uint32_t n;
	uint8_t *flags;    /* by entry */
	uint32_t *entries; /* the stack grows down from the end: an entry is on the stack before it gets its place */
	size_t n_stack, n_done;
};

static void order_walk_release(struct order_walk *w)
{
	free(w->flags);
	free(w->entries);
}

static uint32_t *walk_stack_top(const struct order_walk *w)
{
	return w->entries + w->n - w->n_stack;
}

/* Of the siblings pushed since `base`, moves the one that leads to the leaf to the top. */
static void walk_put_leaf_first(struct order_walk *w, size_t base)
{
	uint32_t *v = walk_stack_top(w);

	for (size_t i = 0; i < w->n_stack - base; i++) {
		uint32_t entry = v[i];
		if (!(w->flags[entry] & TO_LEAF))
			continue;
		memmove(v + 1, v, i * sizeof *v);
		v[0] = entry;
		return;
	}
}

static void walk_push(struct order_walk *w, uint32_t entry)
{
	if (w->flags[entry] & REACHED)
		return;
	w->flags[entry] |= REACHED;
	w->n_stack++;
	*walk_stack_top(w) = entry;
}

/* Puts the entries on the stack, and those below them, in order. */
static int walk_down(struct order_walk *w)
{
	int rc = 0;
	while (rc == 0 && w->n_stack > 0) {
		uint32_t entry = *walk_stack_top(w);
		w->n_stack--;
		w->entries[w->n_done++] = entry;

		size_t base = w->n_stack;
		uint32_t child = session_entry(w->s, entry)->child;
		for (; child != NO_ENTRY; child = session_entry(w->s, child)->sibling)
			walk_push(w, child);
		rc = session_sort_siblings(w->s, walk_stack_top(w), w->n_stack - base);
		walk_put_leaf_first(w, base);
		if (rc == 0 && w->n_done % STEP == 0)
			rc = cancel_check();
	}
	return rc;
}

/* Returns the first entry, in file order, of the cycle that i's ancestors end in. */
static uint32_t cycle_of(const struct order_walk *w, uint32_t i)
{
	uint32_t slow = i, fast = i;
	do {
		slow = session_entry(w->s, slow)->parent;
		fast = session_entry(w->s, session_entry(w->s, fast)->parent)->parent;
	} while (slow != fast);
	uint32_t first = slow;
	for (uint32_t at = session_entry(w->s, slow)->parent; at != slow; at = session_entry(w->s, at)->parent)
		if (at < first)
			first = at;
	return first;
}

static int order_walk(struct order_walk *w)
{
	for (uint32_t i = session_leaf(w->s); i != NO_ENTRY && !(w->flags[i] & TO_LEAF);
	     i = session_entry(w->s, i)->parent)
		w->flags[i] |= TO_LEAF;
	for (uint32_t i = w->n; i-- > 0;)
		if (session_entry(w->s, i)->parent == NO_ENTRY)
			walk_push(w, i);
	walk_put_leaf_first(w, 0);
	int rc = walk_down(w);

	/* Entries that no root reaches hang on a cycle: start at its first entry. */
	for (uint32_t i = 0; i < w->n && rc == 0; i++) {
		if (w->flags[i] & REACHED)
			continue;
		walk_push(w, cycle_of(w, i));
		rc = walk_down(w);
	}
	return rc;
}

int order_entries(const struct session *s, uint32_t **ret)
{
	struct order_walk w CLEANUP(order_walk_release) = {.s = s, .n = session_count(s)};

	w.flags = calloc((size_t)w.n + 1, sizeof *w.flags);
	w.entries = malloc(((size_t)w.n + 1) * sizeof *w.entries);
	if (!w.flags || !w.entries)
		return -ENOMEM;
	int rc = order_walk(&w);
	if (rc < 0)
		return rc;
	*ret = w.entries;
	w.entries = NULL;
	return 0;
}

/* --- state of a drawing ----------------------------------------------------- */

/* There can be millions, so it is small. */
struct row_layout {
	uint32_t above; /* nearest row above it, or NO_ENTRY */
	uint32_t indent;
	uint32_t gutter; /* nearest row above it that is drawn with a connector, or NO_ENTRY */
};

struct drawing {
	const struct session *s;
	uint32_t n;
	struct row_layout *spots; /* by entry */
	uint8_t *flags;           /* by entry */
	uint32_t *rows;
	size_t n_rows;
	uint32_t n_roots; /* rows without a row above */
	uint32_t position, leaf_row;
	struct row_source src;
	struct buf row, *out;
	bool coloured;
};

static void drawing_release(struct drawing *d)
{
	free(d->spots);
	free(d->flags);
	free(d->rows);
	row_source_release(&d->src);
	buf_release(&d->row);
}

static bool entry_has_row(const struct session *s, uint32_t i, uint32_t position)
{
	unsigned flags = session_entry(s, i)->flags;
	if (session_entry(s, i)->role != ROLE_ASSISTANT)
		flags &= ~(unsigned)ENTRY_NO_TEXT;
	if (!(flags & ENTRY_CONVERSATION) || (flags & ENTRY_NO_MESSAGE))
		return false;
	return !(flags & ENTRY_NO_TEXT) || i == position || session_label_record(s, i) != NO_ENTRY;
}

static bool entry_is_row(const struct drawing *d, uint32_t i)
{
	return entry_has_row(d->s, i, d->position);
}

bool render_tree_exists(const struct session *s)
{
	uint32_t position = session_current_position(s);
	for (uint32_t i = 0; i < session_count(s); i++)
		if (entry_has_row(s, i, position))
			return true;
	return false;
}

/* --- rows ------------------------------------------------------------------- */

/* Keeps in `rows`, which is in drawing order, only entries with a row. */
static void drawing_find_rows(struct drawing *d)
{
	for (uint32_t k = 0; k < d->n; k++) {
		uint32_t entry = d->rows[k];
		uint32_t parent = session_entry(d->s, entry)->parent;
		/* On a cycle the parent comes after the entry. */
		if (parent == NO_ENTRY || !(d->flags[parent] & REACHED))
			d->spots[entry].above = NO_ENTRY;
		else
			d->spots[entry].above = entry_is_row(d, parent) ? parent : d->spots[parent].above;
		d->flags[entry] |= REACHED;
		if (entry_is_row(d, entry))
			d->rows[d->n_rows++] = entry;
	}
}

/* --- drawing ---------------------------------------------------------------- */

static void drawing_count_below(struct drawing *d)
{
	for (size_t k = 0; k < d->n_rows; k++) {
		uint32_t above = d->spots[d->rows[k]].above;
		if (above == NO_ENTRY)
			d->n_roots++;
		else
			d->flags[above] |= d->flags[above] & BELOW ? SEVERAL : BELOW;
	}
}

/* Computes the indentation of each row, and its connecting lines. */
static void layout_rows(struct drawing *d)
{
	drawing_count_below(d);
	for (size_t k = 0; k < d->n_rows; k++) {
		struct row_layout *spot = &d->spots[d->rows[k]];
		uint8_t *flags = &d->flags[d->rows[k]];
		if (spot->above == NO_ENTRY) {
			spot->gutter = NO_ENTRY;
			spot->indent = d->n_roots > 1;
			*flags |= d->n_roots > 1 ? BRANCHED : 0;
			continue;
		}
		const struct row_layout *above = &d->spots[spot->above];
		uint8_t flags_above = d->flags[spot->above];
		bool branches = flags_above & SEVERAL;
		bool after_branch = (flags_above & BRANCHED) && above->indent > 0;
		spot->indent = above->indent + (branches || after_branch);
		*flags |= branches ? BRANCHED | CONNECTED : 0;
		spot->gutter = flags_above & CONNECTED ? spot->above : above->gutter;
	}
}

/* The last sibling is the first one from the end. */
static void mark_last_siblings(struct drawing *d)
{
	for (size_t k = d->n_rows; k-- > 0;) {
		uint32_t above = d->spots[d->rows[k]].above;
		if (above == NO_ENTRY || !(d->flags[above] & BELOW))
			continue;
		d->flags[above] &= (uint8_t)~BELOW;
		d->flags[d->rows[k]] |= LAST;
	}
}

static uint32_t row_level(const struct drawing *d, const struct row_layout *spot)
{
	return d->n_roots > 1 ? spot->indent - 1 : spot->indent;
}

/* The text between the two calls has this colour, and cannot contain a terminal command. */
static size_t colour_begin(const struct drawing *d, const char *how)
{
	if (d->coloured)
		buf_adds(d->out, how);
	return d->out->n;
}

static void colour_end(const struct drawing *d, size_t start)
{
	if (!d->coloured)
		return;
	terminal_sanitize(d->out, start);
	buf_adds(d->out, COLOUR_END);
}

static void draw_lines(const struct drawing *d, uint32_t entry)
{
	const struct row_layout *spot = &d->spots[entry];
	const char *cells[TREE_STACK_LEVELS];
	uint32_t levels = row_level(d, spot);
	uint32_t hidden = levels > TREE_STACK_LEVELS ? levels - TREE_STACK_LEVELS : 0;

	if (levels == 0)
		return;
	for (uint32_t i = hidden; i < levels; i++)
		cells[i - hidden] = "   ";
	if (d->flags[entry] & CONNECTED)
		cells[levels - 1 - hidden] = d->flags[entry] & LAST ? "└─ " : "├─ ";
	for (uint32_t i = spot->gutter; i != NO_ENTRY; i = d->spots[i].gutter) {
		uint32_t level = row_level(d, &d->spots[i]) - 1;
		if (level < hidden)
			break;
		if (!(d->flags[i] & LAST))
			cells[level - hidden] = "│  ";
	}
	size_t start = colour_begin(d, COLOUR_DIM);
	if (hidden)
		buf_addf(d->out, "(%u) ", hidden);
	for (uint32_t i = hidden; i < levels; i++)
		buf_adds(d->out, cells[i - hidden]);
	colour_end(d, start);
}

static void draw_label(const struct drawing *d, uint32_t entry)
{
	struct buf label CLEANUP_BUF = BUF_INIT;

	if (!session_label(d->s, entry, &label) || buf_err(&label))
		return;
	size_t start = colour_begin(d, COLOUR_MAGENTA);
	buf_addc(d->out, '[');
	text_add_inline_exact(buf_span(&label), d->out);
	buf_addc(d->out, ']');
	colour_end(d, start);
	buf_addc(d->out, ' ');
}

static void draw_mark(const struct drawing *d, const char *how, const char *mark)
{
	size_t start = colour_begin(d, how);
	buf_adds(d->out, mark);
	colour_end(d, start);
}

static void draw_name(const struct drawing *d, uint32_t entry)
{
	size_t start = colour_begin(d, COLOUR_YELLOW), end = d->out->n + NAME_WIDTH;

	session_entry_name(d->s, entry, d->out);
	while (d->out->n < end && !buf_err(d->out))
		buf_addc(d->out, ' ');
	colour_end(d, start);
	buf_adds(d->out, "  ");
}

static int draw_text(struct drawing *d, uint32_t entry)
{
	if (!d->coloured)
		return row_add_text(&d->src, entry, d->out);
	buf_reset(&d->row);
	int rc = row_add_text(&d->src, entry, &d->row);
	if (rc < 0)
		return rc;
	size_t kind = d->src.kind < d->row.n ? d->src.kind : d->row.n;
	unsigned role = session_entry(d->s, entry)->role;
	size_t start = colour_begin(d, role == ROLE_USER        ? COLOUR_BOLD_CYAN
	                               : role == ROLE_ASSISTANT ? COLOUR_GREEN
	                                                        : COLOUR_DIM);
	buf_add(d->out, d->row.p, kind);
	colour_end(d, start);
	start = d->out->n;
	buf_add(d->out, d->row.p + kind, d->row.n - kind);
	terminal_sanitize(d->out, start);
	return 0;
}

static int draw_row(struct drawing *d, uint32_t entry)
{
	draw_name(d, entry);
	draw_lines(d, entry);
	if (d->flags[entry] & ACTIVE)
		draw_mark(d, COLOUR_CYAN, "• ");
	draw_label(d, entry);
	if (session_entry(d->s, entry)->flags & ENTRY_FAILED)
		draw_mark(d, COLOUR_RED, "\u2717 ");
	if (context_edit_mark(d->s, entry))
		draw_mark(d, COLOUR_YELLOW, "\u270e ");
	int rc = draw_text(d, entry);
	if (rc < 0)
		return rc;
	if (entry == d->leaf_row) {
		buf_adds(d->out, "  ");
		draw_mark(d, COLOUR_BOLD, "<- leaf");
	}
	buf_addc(d->out, '\n');
	return 0;
}

/* Prepares the drawing. */
static int drawing_begin(struct drawing *d, const struct session *s)
{
	d->s = s;
	d->n = session_count(s);
	d->position = session_current_position(s);
	row_source_init(&d->src, s);
	if (d->n == 0)
		return 0;
	d->spots = calloc(d->n, sizeof *d->spots);
	d->flags = calloc(d->n, sizeof *d->flags);
	if (!d->spots || !d->flags)
		return -ENOMEM;
	int rc = order_entries(s, &d->rows);
	if (rc < 0)
		return rc;
	uint32_t ring = NO_ENTRY;
	for (uint32_t i = session_leaf(s); i != NO_ENTRY; i = session_walk_parent(s, i, &ring))
		d->flags[i] |= ACTIVE;
	drawing_find_rows(d);
	d->leaf_row = d->position;
	if (d->position != NO_ENTRY && !entry_is_row(d, d->position))
		d->leaf_row = d->spots[d->position].above;
	layout_rows(d);
	return 0;
}

static int draw_tree(const struct session *s, bool coloured, struct buf *out)
{
	struct drawing d CLEANUP(drawing_release) = {.row = BUF_INIT, .out = out, .coloured = coloured};

	int rc = drawing_begin(&d, s);
	if (rc == 0)
		mark_last_siblings(&d);
	for (size_t k = 0; k < d.n_rows && rc == 0; k++)
		rc = draw_row(&d, d.rows[k]);
	return rc < 0 ? rc : buf_err(out);
}

int tree_rows(const struct session *s, struct tree_row **ret, size_t *ret_n)
{
	struct drawing d CLEANUP(drawing_release) = {.row = BUF_INIT};

	int rc = drawing_begin(&d, s);
	if (rc < 0)
		return rc;
	struct tree_row *rows = malloc((d.n_rows + 1) * sizeof *rows);
	if (!rows)
		return -ENOMEM;
	uint32_t base = 0; /* the level where the current branch leaves the active one */
	for (size_t k = 0; k < d.n_rows; k++) {
		uint32_t entry = d.rows[k], above = d.spots[entry].above, level = row_level(&d, &d.spots[entry]);
		bool active = d.flags[entry] & ACTIVE;
		if (above == NO_ENTRY || d.flags[above] & ACTIVE)
			base = level;
		rows[k] = (struct tree_row){entry, active ? 0 : level - base + 1, active, entry == d.leaf_row};
	}
	*ret = rows;
	*ret_n = d.n_rows;
	return 0;
}

int render_tree_txt(const struct session *s, struct buf *out)
{
	return draw_tree(s, false, out);
}

int render_tree_coloured(const struct session *s, struct buf *out)
{
	return draw_tree(s, true, out);
}
