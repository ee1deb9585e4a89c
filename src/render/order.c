/* The order in which a tree of any shape is drawn, by a walk with a stack of its own. */
#include "rows.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/stop.h"

#include <errno.h>
#include <stdlib.h>

enum {
	REACHED = 1 << 0, /* was on the stack */
	TO_LEAF = 1 << 1, /* the leaf, or above it in the tree */
};

#define STEP 4096 /* entries between two calls of stop_check */

struct walk {
	const struct session *s;
	uint32_t n;
	uint8_t *flags;    /* by entry */
	uint32_t *entries; /* the stack grows down from its end: an entry is on the stack before it is put in order */
	size_t n_stack, n_done;
};

static void order_release(struct walk *w)
{
	free(w->flags);
	free(w->entries);
}

static uint32_t *stack_top(const struct walk *w)
{
	return w->entries + w->n - w->n_stack;
}

/* Among the siblings pushed since `base`, moves the one that leads to the leaf to the top. */
static void put_leaf_first(struct walk *w, size_t base)
{
	uint32_t *v = stack_top(w);

	for (size_t i = 0; i < w->n_stack - base; i++) {
		uint32_t entry = v[i];
		if (!(w->flags[entry] & TO_LEAF))
			continue;
		memmove(v + 1, v, i * sizeof *v);
		v[0] = entry;
		return;
	}
}

static void push(struct walk *w, uint32_t entry)
{
	if (w->flags[entry] & REACHED)
		return;
	w->flags[entry] |= REACHED;
	w->n_stack++;
	*stack_top(w) = entry;
}

/* Puts everything on the stack and below it in order. */
static int walk_down(struct walk *w)
{
	int rc = 0;
	while (rc == 0 && w->n_stack > 0) {
		uint32_t entry = *stack_top(w);
		w->n_stack--;
		w->entries[w->n_done++] = entry;

		size_t base = w->n_stack;
		uint32_t child = session_entry(w->s, entry)->child;
		for (; child != NO_ENTRY; child = session_entry(w->s, child)->sibling)
			push(w, child);
		rc = session_sort_siblings(w->s, stack_top(w), w->n_stack - base);
		put_leaf_first(w, base);
		if (rc == 0 && w->n_done % STEP == 0)
			rc = stop_check();
	}
	return rc;
}

/* The first entry, in the file, of the cycle that i's ancestors end in. */
static uint32_t cycle_of(const struct walk *w, uint32_t i)
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

static int order_walk(struct walk *w)
{
	for (uint32_t i = session_leaf(w->s); i != NO_ENTRY && !(w->flags[i] & TO_LEAF);
	     i = session_entry(w->s, i)->parent)
		w->flags[i] |= TO_LEAF;
	for (uint32_t i = w->n; i-- > 0;)
		if (session_entry(w->s, i)->parent == NO_ENTRY)
			push(w, i);
	put_leaf_first(w, 0);
	int rc = walk_down(w);

	/* Entries that no root reaches hang on a cycle: enter it at its first entry. */
	for (uint32_t i = 0; i < w->n && rc == 0; i++) {
		if (w->flags[i] & REACHED)
			continue;
		push(w, cycle_of(w, i));
		rc = walk_down(w);
	}
	return rc;
}

int order_entries(const struct session *s, uint32_t **ret)
{
	struct walk w CLEANUP(order_release) = {.s = s, .n = session_count(s)};

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
