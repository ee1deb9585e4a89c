/* What the kernel was given to keep because it will be told of changes.
 *
 * Of most of what follows a session file the tree knows what to tell (tree_stale_session): here it is only noted that
 * something was given out at all. The rest (TREE_TTL_QUIET: the many directories and links of a session's
 * entries) is noted node by node, and while a session grows it is not given out for long, so a burst
 * of appends costs this once. So are files whose contents can change without their attributes.
 *
 * A promise that cannot be kept, because there is no room to note it, is not made. */
#include "fs_impl.h"

#define NODES_MAX ((size_t)1 << 18)

struct quiet_slot {
	bool given;       /* something that tree_stale_session tells */
	int64_t until_ms; /* the latest promise ends */
	node_t *nodes;
	size_t n, cap;
};

/* --- the list, under the lock ------------------------------------------------ */

static struct quiet_slot *slot_at(struct quiet *q, uint32_t slot)
{
	size_t before = q->n;
	if (!vec_grow(&q->slots, &q->n, (size_t)slot + 1, sizeof *q->slots))
		return NULL;
	memset(q->slots + before, 0, (q->n - before) * sizeof *q->slots);
	return &q->slots[slot];
}

static void drop_nodes(struct quiet *q, struct quiet_slot *s)
{
	q->nodes -= s->n;
	free(s->nodes);
	s->nodes = NULL;
	s->n = s->cap = 0;
}

/* Not for each node that finds no room. */
static void drop_ended(struct quiet *q)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC_COARSE);
	if (now - q->dropped_ms < 1000)
		return;
	q->dropped_ms = now;
	for (size_t i = 0; i < q->n; i++)
		if (q->slots[i].n && q->slots[i].until_ms < now)
			drop_nodes(q, &q->slots[i]);
}

static int node_cmp(const void *a, const void *b)
{
	node_t x = *(const node_t *)a, y = *(const node_t *)b;
	return (x > y) - (x < y);
}

/* The kernel asks for a node again and again: each is needed once. */
static void compact(struct quiet *q, struct quiet_slot *s)
{
	size_t n = 0;
	qsort(s->nodes, s->n, sizeof *s->nodes, node_cmp);
	for (size_t i = 0; i < s->n; i++)
		if (n == 0 || s->nodes[n - 1] != s->nodes[i])
			s->nodes[n++] = s->nodes[i];
	q->nodes -= s->n - n;
	s->n = n;
}

static bool add_node(struct quiet *q, struct quiet_slot *s, node_t node)
{
	if (s->n == s->cap) {
		if (s->n > 0)
			compact(q, s);
		/* With less room than that it would be full again too soon. */
		if (s->cap - s->n <= s->cap / 4 && !vec_grow(&s->nodes, &s->cap, s->cap + 1, sizeof *s->nodes) &&
		    s->n == s->cap)
			return false;
	}
	s->nodes[s->n++] = node;
	q->nodes++;
	return true;
}

/* --- promises ------------------------------------------------------------------ */

static bool promise(struct quiet *q, const struct tree_attr *a)
{
	if (!tree_is_of_session(a->node)) {
		q->given_above = true;
		return true;
	}
	struct quiet_slot *s = slot_at(q, node_unpack(a->node).slot);
	if (!s)
		return false;
	if (a->attr_ttl != TREE_TTL_QUIET && !tree_is_restamped(a->node)) {
		s->given = true;
		return true;
	}
	if (q->nodes >= NODES_MAX)
		drop_ended(q);
	if (q->nodes >= NODES_MAX || !add_node(q, s, a->node))
		return false;
	s->until_ms = clock_ms(CLOCK_MONOTONIC_COARSE) + (int64_t)(TREE_TTL_QUIET * 1000) + 1000;
	return true;
}

static void settle(struct fs *fs, struct tree_attr *a)
{
	struct quiet *q = &fs->quiet;
	if ((a->attr_ttl == 0 || a->attr_ttl == TREE_TTL_FIXED) && !tree_is_restamped(a->node))
		return;
	lock_take(&q->lock);
	bool kept = q->kept && promise(q, a);
	lock_give(&q->lock);
	if (kept)
		return;
	double live = fs->read_only ? TREE_TTL_LIVE : 0;
	if (a->entry_ttl == a->attr_ttl)
		a->entry_ttl = live;
	a->attr_ttl = live;
}

static double at_most(double ttl, double limit)
{
	return ttl < limit ? ttl : limit;
}

void quiet_settle(struct fs *fs, struct tree_attr *a)
{
	settle(fs, a);
	if (listings_is_volatile(fs, a->node))
		a->attr_ttl = 0;
	struct node n = node_unpack(a->node);
	if (!fs->idle || n.slot != 0 || n.entry != 0)
		return;
	/* The root and the names in it: fs_idle.c must hear of whoever comes from outside. */
	a->entry_ttl = at_most(a->entry_ttl, TREE_TTL_LIVE);
	a->attr_ttl = at_most(a->attr_ttl, TREE_TTL_LIVE);
}

bool quiet_take(struct fs *fs, uint32_t slot, node_t **ret, size_t *ret_n)
{
	struct quiet *q = &fs->quiet;
	bool given = false;
	*ret = NULL;
	*ret_n = 0;
	LOCKED(&q->lock);
	if (slot < q->n) {
		struct quiet_slot *s = &q->slots[slot];
		given = s->given;
		*ret = s->nodes;
		*ret_n = s->n;
		q->nodes -= s->n;
		*s = (struct quiet_slot){.until_ms = s->until_ms};
	}
	return given;
}

bool quiet_is_promised(struct fs *fs, uint32_t slot)
{
	struct quiet *q = &fs->quiet;
	LOCKED(&q->lock);
	return slot < q->n && q->slots[slot].until_ms > clock_ms(CLOCK_MONOTONIC_COARSE);
}

bool quiet_take_above(struct fs *fs)
{
	LOCKED(&fs->quiet.lock);
	bool given = fs->quiet.given_above;
	fs->quiet.given_above = false;
	return given;
}

void quiet_init(struct quiet *q)
{
	*q = (struct quiet){0};
	lock_init(&q->lock, LOCK_QUIET);
}

void quiet_keep(struct fs *fs, bool kept)
{
	LOCKED(&fs->quiet.lock);
	fs->quiet.kept = kept;
}

void quiet_release(struct quiet *q)
{
	for (size_t i = 0; i < q->n; i++)
		free(q->slots[i].nodes);
	free(q->slots);
	lock_destroy(&q->lock);
}
