/* The last few lines that were looked at. Who walks through an entry's files asks for one after the other, each in a
 * request of its own, and all of them follow from the same line: it is read and taken apart once. What
 * an entry says never changes in a generation, so a line is good for as long as its slot.
 *
 * A line is lent out whole: it is in the pool or with one ctx, never shared. */
#include "tree_impl.h"

/* A longer line is not kept, so that what is kept stays small. */
#define LINE_MAX_KEPT (256 * 1024)

void lines_init(struct lines *l)
{
	*l = (struct lines){0};
	lock_init(&l->lock, LOCK_LINES);
}

void lines_release(struct lines *l)
{
	for (size_t i = 0; i < LINES_KEPT; i++)
		line_release(&l->kept[i].line);
	lock_destroy(&l->lock);
}

/* The line of this entry, or else the one that was given back first, for its memory. */
static struct kept_line *pick(struct lines *l, uint32_t slot, uint32_t entry)
{
	struct kept_line *oldest = &l->kept[0];
	for (size_t i = 0; i < LINES_KEPT; i++) {
		struct kept_line *k = &l->kept[i];
		if (k->entry == entry && k->slot == slot && k->line.bytes.n)
			return k;
		if (k->given < oldest->given)
			oldest = k;
	}
	return oldest;
}

bool lines_take(struct lines *l, uint32_t slot, uint32_t entry, struct line *line, struct record *record)
{
	lock_take(&l->lock);
	struct kept_line *k = pick(l, slot, entry);
	bool found = k->entry == entry && k->slot == slot && k->line.bytes.n;
	if (found)
		*record = k->record;
	*line = k->line;
	k->line = (struct line)LINE_INIT;
	k->given = 0;
	lock_give(&l->lock);
	return found;
}

void lines_give(struct lines *l, uint32_t slot, uint32_t entry, struct line *line, const struct record *record)
{
	if (line->bytes.cap > LINE_MAX_KEPT || line->deep.cap > LINE_MAX_KEPT)
		line_release(line);
	if (!line->bytes.p)
		return;
	if (entry == NO_ENTRY)
		buf_reset(&line->bytes);
	lock_take(&l->lock);
	struct kept_line *k = pick(l, slot, entry);
	struct line old = k->line;
	k->line = *line;
	k->slot = slot;
	k->entry = entry;
	k->given = ++l->clock;
	if (entry != NO_ENTRY)
		k->record = *record;
	lock_give(&l->lock);
	*line = old;
	line_release(line);
}
