/* SPDX-License-Identifier: MIT */
/* Finds entries that several sessions contain, as a fork contains its parent's, and the session for which they count:
 * the one created first (sessionfs(5), usage.tsv). */
#include "find_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/node.h"

#include <errno.h>
#include <math.h>

/* Cells with linear probing (hash_cells_for). A cell holds the upper bits of a mark's hash and,
 * below, slot + 1; 0 if unused. If these bits are equal by chance, two sessions are compared needlessly. */
#define OWNER_MASK ((uint64_t)NODE_SLOTS * 2 - 1)

void duplicates_release(struct duplicate_table *d)
{
	free(d->cells);
	vec_release(&d->is_shared);
	*d = (struct duplicate_table){.lock = d->lock};
}

size_t duplicates_memory(const struct duplicate_table *d)
{
	return d->cap * sizeof *d->cells + d->is_shared.cap;
}

static uint64_t owner_bits(const struct duplicate_table *d)
{
	return d->lock ? OWNER_MASK : 1;
}

/* Returns the cell of a hash, or the unused cell for it. */
static uint64_t *duplicates_cell(const struct duplicate_table *d, uint64_t hash)
{
	size_t at = hash_cell((uint32_t)(hash >> 32), d->cap);
	while (d->cells[at] && (d->cells[at] ^ hash) > owner_bits(d))
		at = at + 1 == d->cap ? 0 : at + 1;
	return &d->cells[at];
}

uint64_t duplicates_set_owner(struct duplicate_table *d, uint64_t mark, uint64_t owner)
{
	uint64_t hash = hash_mix(mark ^ d->secret.seed, d->secret.factor) & ~owner_bits(d);
	uint64_t *cell = duplicates_cell(d, hash), before = *cell & owner_bits(d);
	if (!before) {
		*cell = hash | owner;
		d->n++;
	}
	return before;
}

bool duplicates_reserve(struct duplicate_table *d, size_t more)
{
	struct duplicate_table next = {.lock = d->lock, .cap = hash_cells_for(d->cap, d->n + more)};
	if (next.cap == d->cap)
		return true;
	next.cells = calloc(next.cap, sizeof *next.cells);
	if (!next.cells)
		return false;
	if (!d->cells)
		hash_key_draw(&d->secret);
	for (size_t i = 0; i < d->cap; i++)
		if (d->cells[i])
			*duplicates_cell(&next, d->cells[i]) = d->cells[i];
	free(d->cells);
	/* Not *d as a whole: other threads read `lock` without it. */
	d->cells = next.cells;
	d->cap = next.cap;
	return true;
}

int duplicates_add_session(struct duplicate_table *d, uint32_t slot, uint64_t *marks, size_t n, bool repeats)
{
	LOCKED(d->lock);
	if (!duplicates_reserve(d, n))
		return -ENOMEM;
	if (d->is_shared.n <= slot) {
		size_t more = slot + 1 - d->is_shared.n;
		if (!vec_reserve(&d->is_shared, more))
			return -ENOMEM;
		memset(d->is_shared.v + d->is_shared.n, false, more);
		d->is_shared.n += more;
	}
	d->is_shared.v[slot] |= repeats;
	for (size_t i = 0; i < n; i++) {
		uint64_t owner = marks[i] ? duplicates_set_owner(d, marks[i], slot + 1) : 0;
		if (owner && owner != slot + 1) {
			d->is_shared.v[slot] = d->is_shared.v[owner - 1] = true;
			marks[i] |= MARK_EXCLUDED;
		}
	}
	d->is_current &= !d->is_shared.v[slot];
	return 0;
}

/* Sets MARK_DUPLICATE on entries seen before, in this session or an earlier one. Returns whether `usage_rows` already
 * excludes exactly these, or a negative errno. */
static int mark_duplicates(struct cached_facts *k, struct duplicate_table *seen)
{
	bool right = true;
	if (!duplicates_reserve(seen, k->n_marks))
		return -ENOMEM;
	for (size_t i = 0; i < k->n_marks; i++) {
		uint64_t mark = k->marks[i] & ~MARK_FLAGS, left_out = k->marks[i] & MARK_EXCLUDED;
		bool is_double = mark && duplicates_set_owner(seen, mark, 1);
		k->marks[i] = mark | left_out | (is_double ? MARK_DUPLICATE : 0);
		right = right && is_double == !!left_out;
	}
	return right;
}

int session_rank_cmp(struct session_rank a, struct session_rank b)
{
	if (isnan(a.modified) != isnan(b.modified))
		return isnan(a.modified) ? 1 : -1;
	if (a.modified != b.modified && !isnan(a.modified))
		return a.modified > b.modified ? -1 : 1;
	return strcmp(a.file, b.file);
}

/* Sessions in the order in which they count: oldest first. */
struct usage_sharers {
	struct cached_facts *const *cached;
	const struct slot_state *states;
};

static int session_age_cmp(const void *pa, const void *pb, void *arg)
{
	const struct usage_sharers *of = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	return session_rank_cmp((struct session_rank){-of->cached[a]->facts.created, of->states[a].file},
	                        (struct session_rank){-of->cached[b]->facts.created, of->states[b].file});
}

int duplicates_find(struct duplicate_table *d, struct cached_facts *const *kept, const struct slot_state *states,
                    size_t n, uint32_t *wanted, size_t *ret_n)
{
	struct duplicate_table seen CLEANUP(duplicates_release) = {0};
	size_t sharing = 0;
	int rc = 0;
	*ret_n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (kept[i] && (d->all_shared || d->is_shared.v[kept[i]->slot]))
			wanted[sharing++] = i;
	if (d->is_current && sharing == d->shared_count)
		return 0;
	d->shared_count = sharing;
	qsort_r(wanted, sharing, sizeof *wanted, session_age_cmp, &(struct usage_sharers){kept, states});
	for (size_t i = 0; i < sharing && rc == 0; i++) {
		rc = mark_duplicates(kept[wanted[i]], &seen);
		if (rc == 0)
			wanted[(*ret_n)++] = wanted[i];
		rc = rc < 0 ? rc : cancel_check();
	}
	d->is_current = rc == 0 && *ret_n == 0;
	return rc;
}
