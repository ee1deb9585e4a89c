/* SPDX-License-Identifier: MIT */
/* Usually parents precede their children, and then each new entry is linked in constant time. Three things break this:
 * a parent in a later line, a later line that takes over an id with all its children, and an orphan whose parent
 * arrives. Then everything is linked again from `parent` alone, parents first, whatever their order in the file. Cycles
 * arise only in this way, and are found there. */
#include "session_impl.h"

bool id_refs_add(struct id_refs *r, uint32_t entry, const struct key *key)
{
	uint32_t at = 0;

	if (!vec_reserve(&r->list, 1))
		return false;
	if (key) {
		at = arena_add(&r->keys, key);
		if (!at)
			return false;
	}
	r->list.v[r->list.n++] = (struct id_ref){entry, at};
	return true;
}

void id_refs_release(struct id_refs *r)
{
	vec_release(&r->list);
	vec_release(&r->keys);
	*r = (struct id_refs){0};
}

/* Records in the nearest conversation entry above i that i is below it. i's parent must be linked first. */
static void link_mark_ancestor(struct session *s, uint32_t i)
{
	struct entry *e = session_entry_at(s, i);
	uint32_t above = e->parent;

	if (above != NO_ENTRY && !has_flag(s, above, ENTRY_CONVERSATION))
		above = session_entry_at(s, above)->nearest;
	e->flags |= ENTRY_LINKED;
	if (e->flags & ENTRY_CONVERSATION) {
		if (above != NO_ENTRY && above != i)
			session_entry_at(s, above)->flags |= ENTRY_HAS_BELOW;
		return;
	}
	e->nearest = above;
	if (above == NO_ENTRY)
		return;
	uint32_t newest = session_entry_at(s, above)->nearest;
	if (newest == NO_ENTRY || newest < i)
		session_entry_at(s, above)->nearest = i;
}

static void add_child(struct session *s, uint32_t i)
{
	struct entry *e = session_entry_at(s, i);

	if (e->parent == NO_ENTRY)
		return;
	e->sibling = session_entry_at(s, e->parent)->child;
	session_entry_at(s, e->parent)->child = i;
}

/* Links the ring of n entries, each the parent of the previous one. It begins below a conversation entry, if there is
 * one: all others then have it above them. */
static void link_cycle(struct session *s, const uint32_t *ring, size_t n)
{
	size_t start = n - 1;

	for (size_t k = 0; k < n; k++) {
		session_entry_at(s, ring[k])->flags |= ENTRY_CYCLE;
		if (has_flag(s, ring[k], ENTRY_CONVERSATION))
			start = k + n - 1;
	}
	for (size_t k = 0; k < n; k++)
		link_mark_ancestor(s, ring[(start + n - k) % n]);
}

/* Links i after all its ancestors. The stack has room for all entries. */
static void link_ancestors(struct session *s, uint32_t i, uint32_t *stack)
{
	size_t n = 0;

	while (i != NO_ENTRY && !has_flag(s, i, ENTRY_LINKED | ENTRY_OPEN)) {
		session_entry_at(s, i)->flags |= ENTRY_OPEN;
		stack[n++] = i;
		i = session_entry_at(s, i)->parent;
	}
	if (i != NO_ENTRY && !has_flag(s, i, ENTRY_LINKED)) {
		size_t first = n;
		while (stack[--first] != i)
			;
		link_cycle(s, stack + first, n - first);
		n = first;
	}
	while (n)
		link_mark_ancestor(s, stack[--n]);
}

static void link_all_again(struct session *s, uint32_t *stack)
{
	const unsigned made_here = ENTRY_HAS_BELOW | ENTRY_CYCLE | ENTRY_LINKED | ENTRY_OPEN;

	for (uint32_t i = 0; i < s->extent.entry_count; i++) {
		struct entry *e = session_entry_at(s, i);
		e->flags &= (uint16_t)~made_here;
		e->child = e->sibling = e->nearest = NO_ENTRY;
		if (e->parent == NO_ENTRY || has_flag(s, e->parent, ENTRY_ADDRESSED))
			continue;
		struct key key = entry_key(s, e->parent);
		e->parent = id_table_find(s, &key);
	}
	for (uint32_t i = 0; i < s->extent.entry_count; i++)
		add_child(s, i);
	for (uint32_t i = 0; i < s->extent.entry_count; i++)
		link_ancestors(s, i, stack);
}

/* Looks up the parents named in `refs` and keeps the rest as orphans, which must have room. Returns true if a parent
 * comes after its child, or the child was linked already. */
static bool link_parents(struct session *s, const struct id_refs *refs, uint32_t from)
{
	bool late = false;

	for (size_t k = 0; k < refs->list.n; k++) {
		struct entry *e = session_entry_at(s, refs->list.v[k].entry);
		struct key key = arena_get(&refs->keys, refs->list.v[k].key);
		uint32_t parent = id_table_find(s, &key);
		if (parent == NO_ENTRY) {
			e->flags |= ENTRY_ORPHAN;
			id_refs_add(&s->orphans, refs->list.v[k].entry, &key);
			continue;
		}
		e->parent = parent;
		e->flags &= (uint16_t)~ENTRY_ORPHAN;
		if (key_is_falsy(&key))
			e->flags |= ENTRY_WALK_ENDS;
		late |= parent > refs->list.v[k].entry || refs->list.v[k].entry < from;
	}
	return late;
}

/* Finds the parents of new entries and of orphans. Allocates all memory before it changes anything. */
static int find_all_parents(struct session *s, uint32_t from, const struct id_refs *pending, bool *ret_late)
{
	struct id_refs waiting = s->orphans, room = {0};

	if (id_table_reserve(s) < 0)
		return -ENOMEM;
	if (waiting.list.n || pending->list.n) {
		if (!vec_reserve(&room.list, waiting.list.n + pending->list.n) ||
		    !vec_reserve(&room.keys, waiting.keys.n + pending->keys.n + 1)) {
			id_refs_release(&room);
			return -ENOMEM;
		}
	}
	id_table_add_missing(s, ret_late);
	s->orphans = room;
	*ret_late |= link_parents(s, &waiting, from);
	*ret_late |= link_parents(s, pending, from);
	id_refs_release(&waiting);
	if (!s->orphans.list.n)
		id_refs_release(&s->orphans);
	return 0;
}

int session_link(struct session *s, uint32_t from, const struct id_refs *pending)
{
	bool late = false;

	if (s->format->has_ids) {
		int rc = find_all_parents(s, from, pending, &late);
		if (rc < 0)
			return rc;
	}
	if (late) {
		CLEANUP_FREE uint32_t *stack = malloc((size_t)s->extent.entry_count * sizeof *stack + 1);
		if (!stack)
			return -ENOMEM;
		link_all_again(s, stack);
		s->relinks++;
		s->derived->edits_end = 0;
		/* An entry with an unusual id can get another name. */
		uint32_t renamed = s->odd_seeds.n ? 0 : from;
		if (renamed < atomic_load(&s->renamed))
			atomic_store(&s->renamed, renamed);
	} else {
		for (uint32_t i = from; i < s->extent.entry_count; i++) {
			add_child(s, i);
			link_mark_ancestor(s, i);
		}
	}
	return !s->format->has_ids ? 0 : names_update(s, late ? 0 : from);
}

/* --- children ------------------------------------------------------------------- */

struct sibling {
	int64_t time; /* its own, or without one the latest before it in the file */
	uint32_t entry;
};

static int sibling_cmp(const void *pa, const void *pb)
{
	const struct sibling *a = pa, *b = pb;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->entry > b->entry) - (a->entry < b->entry);
}

/* Usually true. */
static bool siblings_are_sorted(const struct session *s, const uint32_t *v, size_t n)
{
	int64_t latest = INT64_MIN;
	for (size_t i = 0; i < n; i++) {
		int64_t t = session_entry(s, v[i])->time;
		if (t != NO_TIME && t < latest)
			return false;
		latest = t == NO_TIME ? latest : t;
	}
	return true;
}

int session_sort_siblings(const struct session *s, uint32_t *v, size_t n)
{
	if (siblings_are_sorted(s, v, n))
		return 0;
	struct sibling *siblings CLEANUP_FREE = malloc(n * sizeof *siblings);
	int64_t latest = INT64_MIN;
	if (!siblings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int64_t t = session_entry(s, v[i])->time;
		siblings[i] = (struct sibling){t == NO_TIME ? latest : t, v[i]};
		if (t != NO_TIME && t > latest)
			latest = t;
	}
	qsort(siblings, n, sizeof *siblings, sibling_cmp);
	for (size_t i = 0; i < n; i++)
		v[i] = siblings[i].entry;
	return 0;
}

int session_children(const struct session *s, uint32_t i, uint32_t **ret, size_t *ret_n)
{
	uint32_t first = session_entry(s, i)->child;
	size_t n = 0, at;
	for (uint32_t k = first; k != NO_ENTRY; k = session_entry(s, k)->sibling)
		n++;
	uint32_t *v = malloc((n + 1) * sizeof *v);
	if (!v)
		return -ENOMEM;
	at = n;
	for (uint32_t k = first; k != NO_ENTRY; k = session_entry(s, k)->sibling)
		v[--at] = k;
	int rc = session_sort_siblings(s, v, n);
	if (rc < 0) {
		free(v);
		return rc;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}
