/* SPDX-License-Identifier: MIT */
/* Notes of what the kernel may keep because it will be notified of changes (I2, I3).
 *
 * One note records that watched nodes of a session were given out. The many nodes that follow its file (TREE_LEASE) are
 * noted one by one, and so are files whose contents can change without their attributes. While a session grows none of
 * its nodes are leased, so a burst of appends invalidates the noted nodes only once. Without room for the note no lease
 * is given. */
#include "fs_impl.h"

#define LEASE_NODES_MAX ((size_t)LIMIT(1 << 18, 32))

/* The max duration of a lease, including the time until the answer arrives. */
#define LEASE_MS ((int64_t)(cache_class_seconds(TREE_LEASE) * 1000) + LIMIT(2000, 100))

struct lease_slot {
	bool watched;     /* a node that tree_invalidate_session reports was given out */
	int64_t until_ms; /* when the last lease ends */
	node_t *nodes;
	size_t n, cap;
};

/* --- the list, under the lock ------------------------------------------------ */

/* At most once a second: it is too slow to repeat for each node without room. */
static void leases_drop_expired(struct leases *l)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC_COARSE);
	if (now - l->dropped_ms < LIMIT(1000, 10))
		return;
	l->dropped_ms = now;
	for (struct lease_slot *s = l->slots; s < l->slots + l->n; s++) {
		if (s->until_ms >= now)
			continue;
		l->nodes -= s->n;
		cleanup_free(&s->nodes);
		s->n = s->cap = 0;
	}
}

static int lease_node_cmp(const void *a, const void *b)
{
	node_t x = *(const node_t *)a, y = *(const node_t *)b;
	return (x > y) - (x < y);
}

/* Drops duplicates: the kernel asks for a node again and again. */
static void leases_remove_duplicates(struct leases *l, struct lease_slot *s)
{
	size_t n = 0;
	qsort(s->nodes, s->n, sizeof *s->nodes, lease_node_cmp);
	for (size_t i = 0; i < s->n; i++)
		if (n == 0 || s->nodes[n - 1] != s->nodes[i])
			s->nodes[n++] = s->nodes[i];
	l->nodes -= s->n - n;
	s->n = n;
}

static bool leases_add_node(struct leases *l, struct lease_slot *s, node_t node)
{
	if (s->n == s->cap) {
		if (s->n > 0)
			leases_remove_duplicates(l, s);
		/* A list with a quarter or less free would soon be full again. */
		if (s->cap - s->n <= s->cap / 4 && !vec_grow(&s->nodes, &s->cap, s->cap + 1, sizeof *s->nodes) &&
		    s->n == s->cap)
			return false;
	}
	s->nodes[s->n++] = node;
	l->nodes++;
	return true;
}

/* --- notes ------------------------------------------------------------------------ */

static bool leases_record(struct leases *l, const struct tree_attr *a)
{
	LOCKED(&l->lock);
	if (!l->is_enabled)
		return false;
	if (!tree_is_of_session(a->node))
		return l->granted_above = true;
	uint32_t slot = node_unpack(a->node).slot;
	size_t before = l->n;
	if (!vec_grow(&l->slots, &l->n, (size_t)slot + 1, sizeof *l->slots))
		return false;
	memset(l->slots + before, 0, (l->n - before) * sizeof *l->slots);
	struct lease_slot *s = &l->slots[slot];
	if (a->attr_class != TREE_LEASE && tree_text_change(a->node) != TREE_RESTAMPED)
		return s->watched = true;
	if (l->nodes >= LEASE_NODES_MAX)
		leases_drop_expired(l);
	if (l->nodes >= LEASE_NODES_MAX || !leases_add_node(l, s, a->node))
		return false;
	s->until_ms = clock_ms(CLOCK_MONOTONIC_COARSE) + LEASE_MS;
	return true;
}

void leases_grant(struct fs *fs, struct tree_attr *a)
{
	bool kept = a->attr_class != TREE_UNCACHED && a->attr_class != TREE_FIXED;
	if ((!kept && tree_text_change(a->node) != TREE_RESTAMPED) || leases_record(&fs->coherence.leases, a))
		return;
	enum tree_class least = fs->read_only ? TREE_LIVE : TREE_UNCACHED;
	if (a->name_class == a->attr_class)
		a->name_class = least;
	a->attr_class = least;
	a->why = "I2: no note was made";
}

bool leases_revoke(struct fs *fs, uint32_t slot, node_t **ret, size_t *ret_n)
{
	struct leases *l = &fs->coherence.leases;
	*ret = NULL;
	*ret_n = 0;
	LOCKED(&l->lock);
	if (slot >= l->n)
		return false;
	struct lease_slot taken = l->slots[slot];
	*ret = taken.nodes;
	*ret_n = taken.n;
	l->nodes -= taken.n;
	l->slots[slot] = (struct lease_slot){.until_ms = taken.until_ms};
	return taken.watched;
}

bool leases_may_be_active(struct fs *fs, uint32_t slot)
{
	struct leases *l = &fs->coherence.leases;
	LOCKED(&l->lock);
	return slot < l->n && l->slots[slot].until_ms > clock_ms(CLOCK_MONOTONIC_COARSE);
}

bool leases_revoke_above(struct fs *fs)
{
	struct leases *l = &fs->coherence.leases;
	LOCKED(&l->lock);
	bool above = l->granted_above;
	l->granted_above = false;
	return above;
}

void leases_set_enabled(struct fs *fs, bool kept)
{
	LOCKED(&fs->coherence.leases.lock);
	fs->coherence.leases.is_enabled = kept;
}

void leases_release(struct leases *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->slots[i].nodes);
	free(l->slots);
}
