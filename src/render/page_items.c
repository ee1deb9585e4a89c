/* What stands where in a page: the rows of the tree, the entries of the current branch, and each other branch. Each
 * entry stands in the branch in which it is met first, in the order of the tree; so each is there once, whatever the
 * tree looks like. */
#include "page.h"

#include "rows.h"
#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* A page shows the pictures of its entries in place until these have come to so many bytes of the session file.
 * Entries that are too short for one do not count. */
#define PICTURES_MOST ((uint64_t)48 << 20)
#define PICTURE_LEAST 4096
/* So many entries are laid out by a browser only if they are looked at: with fewer it is busy with the parts, with more
 * with what is in them. */
#define PART_ENTRIES 16

struct items {
	const struct session *s;
	struct page_item *v;
	size_t n, cap;
	size_t opened;     /* the first item of the branch at hand */
	uint64_t pictures; /* bytes of entries that may have some */
};

/* There is room for all. */
static void add_entry(struct items *a, uint32_t entry)
{
	uint32_t length = session_entry(a->s, entry)->length;
	struct page_item *item = &a->v[a->n];
	*item = (struct page_item){.entry = entry, .next = NO_ENTRY};
	if ((a->n - a->opened) % PART_ENTRIES == 0) {
		item->flags |= ITEM_PART;
		if (a->n > a->opened)
			item[-1].flags |= ITEM_PART_ENDS;
	}
	a->pictures += length >= PICTURE_LEAST ? length : 0;
	item->flags |= a->pictures > PICTURES_MOST ? ITEM_NO_PICTURES : 0u;
	a->n++;
}

static int add_rows(struct items *a)
{
	struct tree_row *rows CLEANUP_FREE = NULL;
	size_t n;
	int rc = tree_rows(a->s, &rows, &n);
	if (rc < 0)
		return rc;
	if (!vec_grow(&a->v, &a->cap, n + session_count(a->s), sizeof *a->v))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		a->v[a->n++] = (struct page_item){
		    .entry = rows[i].entry,
		    .number = rows[i].level,
		    .next = NO_ENTRY,
		    .flags = ITEM_ROW | (rows[i].is_active ? ITEM_ACTIVE : 0u) | (rows[i].is_leaf ? ITEM_LEAF : 0u),
		};
	return 0;
}

/* `more`: flags of its last item. */
static void close_branch(struct items *a, unsigned more)
{
	if (a->n == a->opened)
		return;
	a->v[a->opened].number = (uint32_t)(a->n - a->opened);
	a->v[a->n - 1].flags |= ITEM_PART_ENDS | more;
}

static int add_current(struct items *a, uint32_t at, uint8_t *shown)
{
	uint32_t *path CLEANUP_FREE = NULL;
	size_t n = 0;
	int rc = at == NO_ENTRY ? 0 : session_path(a->s, at, &path, &n);
	for (size_t i = 0; i < n && rc == 0; i++) {
		add_entry(a, path[i]);
		shown[path[i]] = true;
		a->v[a->n - 1].next = i + 1 < n ? path[i + 1] : NO_ENTRY;
	}
	close_branch(a, 0);
	a->opened = a->n;
	return rc;
}

/* An entry whose parent was not the one before begins a branch. */
static int add_others(struct items *a, const uint8_t *shown)
{
	uint32_t *order CLEANUP_FREE = NULL;
	uint32_t before = NO_ENTRY;
	int rc = order_entries(a->s, &order);
	if (rc < 0)
		return rc;
	for (uint32_t k = 0; k < session_count(a->s); k++) {
		uint32_t entry = order[k], parent = session_entry(a->s, entry)->parent;
		if (shown[entry])
			continue;
		bool opens = before == NO_ENTRY || parent != before;
		if (opens) {
			close_branch(a, ITEM_CLOSES);
			a->opened = a->n;
		} else {
			a->v[a->n - 1].next = entry;
		}
		add_entry(a, entry);
		a->v[a->n - 1].flags |= opens ? ITEM_OPENS : 0u;
		before = entry;
	}
	close_branch(a, ITEM_CLOSES);
	return 0;
}

static void items_release(struct items *a)
{
	free(a->v);
}

int page_items(const struct place *p, struct totals *t, void **ret, size_t *ret_n)
{
	struct items a CLEANUP(items_release) = {.s = p->session};
	uint8_t *shown CLEANUP_FREE = calloc((size_t)session_count(p->session) + 1, 1);
	if (!shown)
		return -ENOMEM;
	int rc = add_rows(&a);
	if (rc < 0)
		return rc;
	size_t first = a.opened = a.n;
	rc = add_current(&a, p->at, shown);
	if (rc == 0)
		rc = add_others(&a, shown);
	if (rc < 0)
		return rc;
	if (a.n > first)
		a.v[first].flags |= ITEM_FIRST;
	for (size_t i = first; i < a.n && !(a.v[i].flags & ITEM_OPENS); i++)
		context_settings(p->session, &a.v[i].entry, 1, &t->model, &t->thinking);
	*ret = a.v;
	*ret_n = a.n;
	a.v = NULL;
	return 0;
}
