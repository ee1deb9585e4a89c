/* SPDX-License-Identifier: MIT */
/* Which entries stand in several sessions, as a fork has those of its parent, and for which of them they count: the one
 * that was begun first (sessionfs(5), usage.tsv). */
#include "find_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/node.h"

#include <errno.h>

/* Open addressing, linear probing, at most three quarters full. A cell is the upper bits of a mark's hash and a slot,
 * and one more; 0: unused. Where these bits are the same by chance, two sessions are compared in vain. */
#define OWNER ((uint64_t)NODE_SLOTS * 2 - 1)
/* So many marks more than there are may be those of sessions that are gone. */
#define SPARE LIMIT(100000, 16)

/* A session that shares entries, in the order in which they count: oldest first. */
struct sharer {
	struct rank rank;
	uint32_t i;
};

void doubles_release(struct doubles *d)
{
	free(d->cells);
	vec_release(&d->shares);
	*d = (struct doubles){.lock = d->lock};
}

size_t doubles_memory(const struct doubles *d)
{
	return (d->cells ? sizeof *d->cells << d->bits : 0) + d->shares.cap;
}

/* The cell of a hash, or the unused one where it belongs. */
static uint64_t *doubles_cell(const struct doubles *d, uint64_t hash)
{
	size_t at = (size_t)(hash >> (64 - d->bits)), last = ((size_t)1 << d->bits) - 1;
	while (d->cells[at] && (d->cells[at] ^ hash) > OWNER)
		at = at == last ? 0 : at + 1;
	return &d->cells[at];
}

static bool doubles_reserve(struct doubles *d, uint32_t slot, size_t more)
{
	struct doubles next = *d;
	if (!d->cells)
		hash_key_draw(&next.secret);
	for (next.bits = d->cells ? d->bits : 6; d->n + more > ((size_t)3 << next.bits) / 4;)
		next.bits++;
	if (!d->cells || next.bits > d->bits) {
		next.cells = calloc((size_t)1 << next.bits, sizeof *next.cells);
		if (!next.cells)
			return false;
		for (size_t i = 0; d->cells && i < (size_t)1 << d->bits; i++)
			if (d->cells[i])
				*doubles_cell(&next, d->cells[i]) = d->cells[i];
		free(d->cells);
		*d = next;
	}
	size_t unknown = slot < d->shares.n ? 0 : slot + 1 - d->shares.n;
	if (unknown && !vec_reserve(&d->shares, unknown))
		return false;
	for (; unknown; unknown--)
		d->shares.v[d->shares.n++] = false;
	return true;
}

int doubles_note(struct doubles *d, uint32_t slot, uint64_t *marks, size_t n, bool repeats)
{
	LOCKED(d->lock);
	if (!doubles_reserve(d, slot, n))
		return -ENOMEM;
	d->shares.v[slot] |= repeats;
	for (size_t i = 0; i < n; i++) {
		uint64_t mark = marks[i] & ~MARK_FLAGS,
			 hash = hash_mix(mark ^ d->secret.seed, d->secret.factor) & ~OWNER;
		if (!mark)
			continue;
		uint64_t *cell = doubles_cell(d, hash), owner = *cell & OWNER;
		if (!owner) {
			*cell = hash | (slot + 1);
			d->n++;
		} else if (owner != slot + 1) {
			d->shares.v[slot] = d->shares.v[owner - 1] = true;
			marks[i] |= MARK_LEFT_OUT;
		}
	}
	d->settled &= !d->shares.v[slot];
	return 0;
}

static int sharer_cmp(const void *pa, const void *pb)
{
	return rank_cmp(((const struct sharer *)pa)->rank, ((const struct sharer *)pb)->rank);
}

/* Marks what was seen in the sessions before, or before in this one; `keys` has room for what is new. Returns whether
 * `uses` is as it has to be then, or a negative errno. */
static int mark_doubles(struct kept *k, struct map *first, uint64_t **keys)
{
	bool right = true;
	for (size_t i = 0; i < k->n_marks; i++) {
		uint64_t *mark = &k->marks[i];
		struct span key = {(const char *)*keys, sizeof **keys};
		**keys = *mark & ~MARK_FLAGS;
		bool seen = **keys && map_get(first, 0, key) != MAP_NONE;
		if (**keys && !seen && map_put(first, 0, key, 0) < 0)
			return -ENOMEM;
		*keys += **keys && !seen;
		*mark = (*mark & ~MARK_DOUBLE) | (seen ? MARK_DOUBLE : 0);
		right = right && seen == !!(*mark & MARK_LEFT_OUT);
	}
	return right;
}

/* Notes all again, without those of sessions that are gone. */
static int note_anew(struct doubles *d, struct kept *const *kept, size_t n, uint64_t *room)
{
	int rc = 0;
	doubles_release(d);
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (!kept[i] || !kept[i]->n_marks)
			continue;
		memcpy(room, kept[i]->marks, kept[i]->n_marks * sizeof *room);
		rc = doubles_note(d, kept[i]->slot, room, kept[i]->n_marks, kept[i]->repeats);
	}
	return rc;
}

int doubles_find(struct doubles *d, struct kept *const *kept, const struct slot_state *states, size_t n,
                 uint32_t *wanted, size_t *ret_n)
{
	struct map first CLEANUP(map_release) = {0};
	size_t sharing = 0, all = 0;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		all += kept[i] ? kept[i]->n_marks : 0;
	struct sharer *v CLEANUP_FREE = calloc(n + 1, sizeof *v);
	uint64_t *keys CLEANUP_FREE = malloc((all + 1) * sizeof *keys), *key = keys;
	int rc = v && keys ? 0 : -ENOMEM;
	if (rc == 0 && d->n > all * 2 + SPARE)
		rc = note_anew(d, kept, n, keys);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		if (kept[i] && kept[i]->n_marks && d->shares.v[kept[i]->slot])
			v[sharing++] = (struct sharer){{-kept[i]->of.created, states[i].file}, i};
	if (rc < 0 || (d->settled && sharing == d->sharing))
		return rc;
	d->settled = false;
	d->sharing = sharing;
	qsort(v, sharing, sizeof *v, sharer_cmp);
	for (size_t i = 0; i < sharing && rc == 0; i++) {
		rc = mark_doubles(kept[v[i].i], &first, &key);
		if (rc == 0)
			wanted[(*ret_n)++] = v[i].i;
		rc = rc < 0 ? rc : cancel_check();
	}
	return rc;
}
