/* SPDX-License-Identifier: MIT */
/* find_impl: what the files of this folder share. */
#ifndef SESSIONFS_FIND_IMPL_H
#define SESSIONFS_FIND_IMPL_H

#include "sessionfs/base/hash.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/groups.h"

#include <stdatomic.h>

/* The facts of one session, and the version of its file that they describe. What they point to follows in the same
 * block. */
struct kept {
	_Atomic unsigned refs;
	uint32_t slot;
	off_t size;
	struct timespec mtime, ctime;
	size_t memory;
	struct session_facts of;
	struct fact_label *labels; /* `of` has them, too */
	/* Of each entry with usage, in file order. Only the thread that makes a list looks at these three. */
	uint64_t *marks; /* use_mark.hash */
	size_t n_marks;
	bool noted; /* struct doubles has them */
	uint64_t without; /* a hash of the entries that `uses` is without */
	bool repeats; /* an id may stand in it twice */
	struct fact_use uses[];
};
/* Set in a mark: the entry counts for another session, or was there before. */
#define MARK_DOUBLE (UINT64_C(1) << 63)

static inline uint64_t kept_without(uint64_t before, size_t mark)
{
	return hash_word(before + mark + 1);
}

/* The order of sessions.tsv: newest first, then by path. */
struct rank {
	double modified;
	const char *file;
};
int rank_cmp(struct rank a, struct rank b);

/* kept.c */

/* A time that info.json shows, in whole ms as there; NAN if it shows none. */
double fact_time(double ms);
/* Reads a session; its use is without the entries that are MARK_DOUBLE in `before` (NULL: with all). 0 or a negative
 * errno; -ESTALE if it is gone. Release with kept_release. */
int kept_make(struct catalog *c, uint32_t slot, const struct kept *before, struct kept **ret);
void kept_release(struct kept *k);
/* Whether the facts are those of the file as it is now. */
bool kept_is_of(const struct kept *k, const struct slot_state *now);

/* doubles.c: entries that stand in several sessions. A table has the mark of each entry with usage, and a session that has
 * it. So a session that comes or grows is compared with all others at the cost of its own entries; who counts an entry
 * is asked among those only that ever had one in common. All zero is empty; one thread at a time uses it. */
struct doubles {
	struct doubles_cell *cells;
	size_t cap, n;
	struct hash_key secret;
	VEC(bool) shares; /* by slot: it has, or had, an entry in common with another */
	size_t sharing;   /* how many there were the last time */
	bool settled;     /* the last list was right; set when it is published */
};
void doubles_release(struct doubles *d);
size_t doubles_memory(const struct doubles *d);
/* Finds which entries of n sessions count elsewhere (MARK_DOUBLE), and writes to `wanted` the sessions that have to be
 * made again for that. Some of `kept` may be NULL. 0 or a negative errno. */
int doubles_find(struct doubles *d, struct kept *const *kept, const struct slot_state *states, size_t n,
                 uint32_t *wanted, size_t *ret_n);

/* groups.c: the groups of a list, made when they are first asked for */
struct groups *groups_make(const struct fact_list *list, enum group_key key); /* NULL without memory */
void groups_free(struct groups *g);

#endif
