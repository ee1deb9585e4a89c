/* SPDX-License-Identifier: MIT */
/* Which entries stand in several sessions, as a fork has those of its parent, and for which of them they count: the one
 * that was begun first (sessionfs(5), usage.tsv). */
#include "find_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/map.h"

#include <errno.h>

/* Open addressing, linear probing, at most three quarters full. Where half of a hash is the same by chance, two sessions
 * are compared in vain. */
struct doubles_cell {
	uint32_t half;
	uint32_t owner; /* a slot, and one more; 0: unused */
};

/* A session that shares entries, in the order in which they count: oldest first. */
struct sharer {
	struct rank rank;
	uint32_t i;
};

void doubles_release(struct doubles *d)
{
	free(d->cells);
	vec_release(&d->shares);
	*d = (struct doubles){0};
}

size_t doubles_memory(const struct doubles *d)
{
	return d->cap * sizeof *d->cells + d->shares.cap;
}

/* Notes the marks of a session, for which there is room, and who shares them. */
static void doubles_note(struct doubles *d, struct kept *k)
{
	k->noted = true;
	d->shares.v[k->slot] |= k->repeats;
	for (size_t i = 0; i < k->n_marks; i++) {
		uint64_t mark = k->marks[i] & ~MARK_DOUBLE, hash = hash_mix(mark ^ d->secret.seed, d->secret.factor);
		size_t at = (size_t)hash & (d->cap - 1);
		if (!mark)
			continue;
		while (d->cells[at].owner && d->cells[at].half != hash >> 32)
			at = (at + 1) & (d->cap - 1);
		if (!d->cells[at].owner) {
			d->cells[at] = (struct doubles_cell){(uint32_t)(hash >> 32), k->slot + 1};
			d->n++;
		} else if (d->cells[at].owner != k->slot + 1) {
			d->shares.v[k->slot] = d->shares.v[d->cells[at].owner - 1] = true;
		}
	}
}

/* Notes the sessions that were not noted yet. Marks of what is gone stay until there is no room. *ret_news: some of the
 * new ones share entries. */
static int note_all(struct doubles *d, struct kept *const *kept, const struct slot_state *states, size_t n,
                    bool *ret_news)
{
	size_t all = 0, more = 0, slots = n ? (size_t)states[n - 1].slot + 1 : 0;
	for (size_t i = 0; i < n; i++) {
		all += kept[i] ? kept[i]->n_marks : 0;
		more += kept[i] && !kept[i]->noted ? kept[i]->n_marks : 0;
	}
	bool anew = !d->cells || d->n + more > d->cap / 4 * 3;
	if (anew) {
		doubles_release(d);
		hash_key_draw(&d->secret);
		for (d->cap = 64; d->cap < all * 2;)
			d->cap *= 2;
		d->cells = calloc(d->cap, sizeof *d->cells);
	}
	if (d->shares.n < slots) {
		if (!vec_reserve(&d->shares, slots - d->shares.n))
			return -ENOMEM;
		memset(d->shares.v + d->shares.n, 0, slots - d->shares.n);
		d->shares.n = slots;
	}
	for (size_t i = 0; i < n && d->cells; i++) {
		if (!kept[i] || (kept[i]->noted && !anew))
			continue;
		doubles_note(d, kept[i]);
		*ret_news |= d->shares.v[kept[i]->slot];
	}
	return d->cells ? cancel_check() : -ENOMEM;
}

static int sharer_cmp(const void *pa, const void *pb)
{
	return rank_cmp(((const struct sharer *)pa)->rank, ((const struct sharer *)pb)->rank);
}

int doubles_find(struct doubles *d, struct kept *const *kept, const struct slot_state *states, size_t n,
                 uint32_t *wanted, size_t *ret_n)
{
	struct map first CLEANUP(map_release) = {0};
	bool news = !d->settled;
	size_t sharing = 0;
	d->settled = false;
	*ret_n = 0;
	int rc = note_all(d, kept, states, n, &news);
	struct sharer *v CLEANUP_FREE = rc == 0 ? calloc(n + 1, sizeof *v) : NULL;
	if (!v)
		return rc < 0 ? rc : -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (kept[i] && d->shares.v[kept[i]->slot])
			v[sharing++] = (struct sharer){{-kept[i]->of.created, states[i].file}, i};
	if (!news && sharing == d->sharing)
		return 0;
	d->sharing = sharing;
	qsort(v, sharing, sizeof *v, sharer_cmp);
	for (size_t i = 0; i < sharing && rc == 0; i++) {
		struct kept *k = kept[v[i].i];
		uint64_t without = 0;
		for (size_t m = 0; m < k->n_marks && rc == 0; m++) {
			struct span mark = {(const char *)&k->marks[m], sizeof k->marks[m]};
			k->marks[m] &= ~MARK_DOUBLE;
			if (!k->marks[m])
				continue;
			if (map_get(&first, 0, mark) == MAP_NONE) {
				rc = map_put(&first, 0, mark, 0);
			} else {
				k->marks[m] |= MARK_DOUBLE;
				without = kept_without(without, m);
			}
		}
		if (without != k->without)
			wanted[(*ret_n)++] = v[i].i;
		rc = rc < 0 ? rc : cancel_check();
	}
	return rc;
}
