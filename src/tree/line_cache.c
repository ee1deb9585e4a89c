/* SPDX-License-Identifier: MIT */
/* The lines used last. A program that reads an entry's files sends requests for each of them, and all are made from the
 * same line: so the line is read and parsed once. An entry never changes in a generation, so a line is valid as long as
 * its slot.
 *
 * A line has one user at a time: it is in the pool or belongs to one ctx. */
#include "tree_impl.h"

/* A line that takes more memory than this is not cached. */
#define LINE_LONG (16 * 1024 * 1024)

enum { LINE_CACHE_LONG = LINE_CACHE_SIZE - 1 };

void line_cache_init(struct line_cache *l)
{
	*l = (struct line_cache){0};
	lock_init(&l->lock, LOCK_LINES);
}

void line_cache_destroy(struct line_cache *l)
{
	for (size_t i = 0; i < LINE_CACHE_SIZE; i++) {
		line_release(&l->lines[i].line);
		free(l->lines[i].marks.v);
	}
	lock_destroy(&l->lock);
}

/* Returns the line of this entry, or NULL. */
static struct cached_line *line_cache_find(struct line_cache *l, uint32_t slot, uint32_t entry)
{
	for (size_t i = 0; i < LINE_CACHE_SIZE; i++) {
		struct cached_line *k = &l->lines[i];
		if (k->entry == entry && k->slot == slot && k->line.bytes.n)
			return k;
	}
	return NULL;
}

/* Returns the short line that was put first. */
static struct cached_line *line_cache_oldest(struct line_cache *l)
{
	struct cached_line *oldest = &l->lines[0];
	for (size_t i = 0; i < LINE_CACHE_LONG; i++)
		if (l->lines[i].released_at < oldest->released_at)
			oldest = &l->lines[i];
	return oldest;
}

bool line_cache_get(struct line_cache *l, uint32_t slot, uint32_t entry, struct line *line, struct record *record,
                    struct block_marks *marks)
{
	LOCKED(&l->lock);
	struct cached_line *k = line_cache_find(l, slot, entry);
	bool found = k;
	k = found ? k : line_cache_oldest(l);
	*line = k->line;
	*marks = k->marks;
	if (found)
		*record = k->record;
	else
		marks->n = 0;
	k->line = (struct line)LINE_INIT;
	k->marks = (struct block_marks){0};
	k->released_at = 0;
	return found;
}

void line_cache_put(struct line_cache *l, uint32_t slot, uint32_t entry, struct line *line, const struct record *record,
                    struct block_marks *marks)
{
	size_t cap = buf_memory(&line->bytes) + line->deep.cap;
	struct block_marks old_marks = *marks;
	*marks = (struct block_marks){0};
	if (cap > (entry == NO_ENTRY ? LINE_SHORT : LINE_LONG))
		line_release(line);
	if (!line->bytes.p) {
		free(old_marks.v);
		return;
	}
	if (entry == NO_ENTRY)
		buf_reset(&line->bytes);
	lock_acquire(&l->lock);
	struct cached_line *k = entry == NO_ENTRY ? NULL : line_cache_find(l, slot, entry);
	if (!k)
		k = cap > LINE_SHORT ? &l->lines[LINE_CACHE_LONG] : line_cache_oldest(l);
	struct line old = k->line;
	struct block_iter *old_v = k->marks.v;
	k->line = *line;
	k->marks = old_marks;
	k->slot = slot;
	k->entry = entry;
	k->released_at = ++l->clock;
	if (entry != NO_ENTRY)
		k->record = *record;
	lock_release(&l->lock);
	*line = old;
	line_release(line);
	free(old_v);
}
