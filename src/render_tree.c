/* The tree as pi's /tree draws it, for trees of any shape.
 *
 * First all entries are put in the order of the drawing, by a depth-first walk
 * with a stack of its own: the child that leads to the leaf first, the others by
 * time. Then the rows among them, the conversation entries, are drawn. Metadata
 * is bridged: a row hangs on the nearest row above it.
 *
 * As in pi a chain stays at one indent: rows move right where it branches, and
 * once more after that. A row costs at most LEVELS steps to draw however deep it
 * stands: a deeper row begins with the number of levels that are not drawn. */
#include "sessionfs/render.h"

#include "render_text.h"

#define LEVELS 64
#define NAME_WIDTH 8

enum {
	REACHED = 1 << 0,   /* was on the stack */
	TO_LEAF = 1 << 1,   /* the leaf, or above it in the tree */
	ACTIVE = 1 << 2,    /* on the walk from the leaf to the root */
	BRANCHED = 1 << 3,  /* one of several: its own child moves right */
	CONNECTED = 1 << 4, /* drawn with a connector */
	LAST = 1 << 5,      /* the last of its siblings */
};

struct spot {
	uint32_t above; /* nearest row above it, or NO_ENTRY */
	uint32_t below; /* rows whose `above` it is */
	uint32_t indent;
	uint32_t gutter; /* nearest row above it that is drawn with a connector, or NO_ENTRY */
	uint8_t flags;
};

struct key {
	int64_t time;
	uint32_t entry;
};

struct drawing {
	const struct session *s;
	uint32_t n;
	struct spot *spots; /* by entry */
	uint32_t *stack, *rows;
	size_t n_stack, n_rows;
	uint32_t n_roots; /* rows with none above */
	uint32_t leaf_row;
	struct key *keys;
	size_t cap_keys;
	struct row_source src;
	struct buf *out;
};

static void drawing_release(struct drawing *d)
{
	free(d->spots);
	free(d->stack);
	free(d->rows);
	free(d->keys);
	row_source_release(&d->src);
}

static bool is_row(const struct drawing *d, uint32_t i)
{
	unsigned flags = session_entry(d->s, i)->flags;
	return (flags & ENTRY_CONVERSATION) && !(flags & ENTRY_NO_MESSAGE);
}

/* --- order ------------------------------------------------------------------ */

static int key_compare(const void *pa, const void *pb)
{
	const struct key *a = pa, *b = pb;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* Orders the siblings stack[base...], which stand newest first, by time, earliest on top. One without a time stays
 * behind the sibling before it in the file. */
static int sort_siblings(struct drawing *d, size_t base)
{
	size_t n = d->n_stack - base;
	uint32_t *newest = d->stack + base;
	bool sorted = true;

	for (size_t i = 0; i < n && sorted; i++) {
		int64_t t = session_entry(d->s, newest[i])->time;
		sorted = t != NO_TIME && (i == 0 || t <= session_entry(d->s, newest[i - 1])->time);
	}
	if (sorted)
		return 0;
	if (n > d->cap_keys) {
		struct key *keys = realloc(d->keys, n * sizeof *keys);
		if (!keys)
			return -ENOMEM;
		d->keys = keys;
		d->cap_keys = n;
	}
	int64_t latest = INT64_MIN;
	for (size_t i = 0; i < n; i++) {
		uint32_t entry = newest[n - 1 - i];
		int64_t t = session_entry(d->s, entry)->time;
		d->keys[i] = (struct key){t == NO_TIME ? latest : t, entry};
		if (d->keys[i].time > latest)
			latest = d->keys[i].time;
	}
	qsort(d->keys, n, sizeof *d->keys, key_compare);
	for (size_t i = 0; i < n; i++)
		newest[n - 1 - i] = d->keys[i].entry;
	return 0;
}

/* Of the siblings stack[base...] the one that leads to the leaf goes to the top. */
static void put_leaf_first(struct drawing *d, size_t base)
{
	for (size_t i = base; i < d->n_stack; i++) {
		uint32_t entry = d->stack[i];
		if (!(d->spots[entry].flags & TO_LEAF))
			continue;
		memmove(d->stack + i, d->stack + i + 1, (d->n_stack - i - 1) * sizeof *d->stack);
		d->stack[d->n_stack - 1] = entry;
		return;
	}
}

static void push(struct drawing *d, uint32_t entry, uint32_t above)
{
	struct spot *spot = &d->spots[entry];

	if (spot->flags & REACHED)
		return;
	spot->flags |= REACHED;
	spot->above = above;
	d->stack[d->n_stack++] = entry;
}

/* Takes everything below what is on the stack, as rows in the order of the drawing. */
static int walk_down(struct drawing *d)
{
	while (d->n_stack > 0) {
		uint32_t entry = d->stack[--d->n_stack];
		bool row = is_row(d, entry);
		uint32_t above = row ? entry : d->spots[entry].above;
		if (row)
			d->rows[d->n_rows++] = entry;

		size_t base = d->n_stack;
		uint32_t child = session_entry(d->s, entry)->child;
		for (; child != NO_ENTRY; child = session_entry(d->s, child)->sibling)
			push(d, child, above);
		int rc = sort_siblings(d, base);
		if (rc < 0)
			return rc;
		put_leaf_first(d, base);
	}
	return 0;
}

/* The first entry, in the file, of the cycle that i's ancestors end in. */
static uint32_t cycle_of(const struct drawing *d, uint32_t i)
{
	uint32_t slow = i, fast = i;
	do {
		slow = session_entry(d->s, slow)->parent;
		fast = session_entry(d->s, session_entry(d->s, fast)->parent)->parent;
	} while (slow != fast);
	uint32_t first = slow;
	for (uint32_t at = session_entry(d->s, slow)->parent; at != slow; at = session_entry(d->s, at)->parent)
		if (at < first)
			first = at;
	return first;
}

static int find_rows(struct drawing *d)
{
	for (uint32_t i = d->n; i-- > 0;)
		if (session_entry(d->s, i)->parent == NO_ENTRY)
			push(d, i, NO_ENTRY);
	put_leaf_first(d, 0);
	int rc = walk_down(d);

	/* What no root reaches hangs on a cycle, which is entered at its first entry. */
	for (uint32_t i = 0; i < d->n && rc == 0; i++) {
		if (d->spots[i].flags & REACHED)
			continue;
		push(d, cycle_of(d, i), NO_ENTRY);
		rc = walk_down(d);
	}
	return rc;
}

/* --- drawing ---------------------------------------------------------------- */

static int mark_leaf(struct drawing *d)
{
	uint32_t leaf = session_leaf(d->s);

	for (uint32_t i = leaf; i != NO_ENTRY && !(d->spots[i].flags & TO_LEAF); i = session_entry(d->s, i)->parent)
		d->spots[i].flags |= TO_LEAF;
	if (leaf == NO_ENTRY)
		return 0;

	CLEANUP_FREE uint32_t *path = NULL;
	size_t n = 0;
	int rc = session_path(d->s, leaf, &path, &n);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		d->spots[path[i]].flags |= ACTIVE;
	return 0;
}

/* Where `<- leaf` stands. */
static uint32_t find_leaf_row(const struct drawing *d)
{
	uint32_t i = session_position(d->s);
	return i == NO_ENTRY || is_row(d, i) ? i : d->spots[i].above;
}

/* Of each row: how far right it stands and what lines lead to it. */
static void arrange(struct drawing *d)
{
	for (size_t k = 0; k < d->n_rows; k++) {
		uint32_t above = d->spots[d->rows[k]].above;
		if (above == NO_ENTRY)
			d->n_roots++;
		else
			d->spots[above].below++;
	}
	for (size_t k = 0; k < d->n_rows; k++) {
		struct spot *spot = &d->spots[d->rows[k]];
		if (spot->above == NO_ENTRY) {
			spot->gutter = NO_ENTRY;
			spot->indent = d->n_roots > 1;
			spot->flags |= d->n_roots > 1 ? BRANCHED : 0;
			continue;
		}
		const struct spot *above = &d->spots[spot->above];
		bool branches = above->below > 1;
		bool after_branch = (above->flags & BRANCHED) && above->indent > 0;
		spot->indent = above->indent + (branches || after_branch);
		spot->flags |= branches ? BRANCHED | CONNECTED : 0;
		spot->gutter = above->flags & CONNECTED ? spot->above : above->gutter;
	}
}

/* The last of siblings is the first that is met from the end. */
static void mark_last(struct drawing *d)
{
	for (size_t k = d->n_rows; k-- > 0;) {
		uint32_t above = d->spots[d->rows[k]].above;
		if (above == NO_ENTRY || d->spots[above].below == 0)
			continue;
		d->spots[above].below = 0;
		d->spots[d->rows[k]].flags |= LAST;
	}
}

static uint32_t level_of(const struct drawing *d, const struct spot *spot)
{
	return d->n_roots > 1 ? spot->indent - 1 : spot->indent;
}

static void draw_lines(const struct drawing *d, const struct spot *spot)
{
	const char *cells[LEVELS];
	uint32_t levels = level_of(d, spot);
	uint32_t hidden = levels > LEVELS ? levels - LEVELS : 0;

	for (uint32_t i = hidden; i < levels; i++)
		cells[i - hidden] = "   ";
	if (spot->flags & CONNECTED)
		cells[levels - 1 - hidden] = spot->flags & LAST ? "└─ " : "├─ ";
	for (uint32_t i = spot->gutter; i != NO_ENTRY; i = d->spots[i].gutter) {
		uint32_t level = level_of(d, &d->spots[i]) - 1;
		if (level < hidden)
			break;
		if (!(d->spots[i].flags & LAST))
			cells[level - hidden] = "│  ";
	}
	if (hidden)
		buf_addf(d->out, "(%u) ", hidden);
	for (uint32_t i = hidden; i < levels; i++)
		buf_adds(d->out, cells[i - hidden]);
}

static void draw_label(const struct drawing *d, uint32_t entry)
{
	struct buf label CLEANUP_BUF = BUF_INIT;

	if (!session_label(d->s, entry, &label) || buf_err(&label))
		return;
	buf_addc(d->out, '[');
	text_inline_exact(buf_span(&label), d->out);
	buf_adds(d->out, "] ");
}

static int draw_row(struct drawing *d, uint32_t entry)
{
	const struct spot *spot = &d->spots[entry];
	size_t start = d->out->n;

	session_entry_name(d->s, entry, d->out);
	while (d->out->n - start < NAME_WIDTH && !buf_err(d->out))
		buf_addc(d->out, ' ');
	buf_adds(d->out, "  ");
	draw_lines(d, spot);
	if (spot->flags & ACTIVE)
		buf_adds(d->out, "• ");
	draw_label(d, entry);
	int rc = row_text(&d->src, entry, d->out);
	if (rc < 0)
		return rc;
	buf_adds(d->out, entry == d->leaf_row ? "  <- leaf\n" : "\n");
	return 0;
}

int render_tree_txt(const struct session *s, struct buf *out)
{
	struct drawing d CLEANUP(drawing_release) = {.s = s, .n = session_count(s), .out = out};

	row_source_init(&d.src, s);
	if (d.n == 0)
		return buf_err(out);
	d.spots = calloc(d.n, sizeof *d.spots);
	d.stack = malloc(d.n * sizeof *d.stack);
	d.rows = malloc(d.n * sizeof *d.rows);
	if (!d.spots || !d.stack || !d.rows)
		return -ENOMEM;
	int rc = mark_leaf(&d);
	if (rc == 0)
		rc = find_rows(&d);
	if (rc < 0)
		return rc;
	d.leaf_row = find_leaf_row(&d);
	arrange(&d);
	mark_last(&d);
	for (size_t k = 0; k < d.n_rows; k++) {
		rc = draw_row(&d, d.rows[k]);
		if (rc < 0)
			return rc;
	}
	return buf_err(out);
}
