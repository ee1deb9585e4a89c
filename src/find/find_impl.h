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
	uint64_t *marks;           /* of each entry with usage, in file order: usage_mark.hash, and MARK_... */
	size_t n_marks;
	bool repeats; /* an id may stand in it twice */
	struct fact_use uses[];
};
/* Set in a mark: `uses` is without the entry, since it counts for another session or was there before. */
#define MARK_LEFT_OUT (UINT64_C(1) << 63)
/* It should be. Only the thread that makes a list looks at this one. */
#define MARK_DOUBLE (UINT64_C(1) << 62)
#define MARK_FLAGS (MARK_LEFT_OUT | MARK_DOUBLE)

/* The order of sessions.tsv: newest first, then by path. */
struct rank {
	double modified;
	const char *file;
};
int rank_cmp(struct rank a, struct rank b);

/* kept.c */

/* A time that info.json shows, in whole ms as there; NAN if it shows none. */
double fact_time(double ms);
/* The rows of files.tsv are kept while those of all sessions fit. */
struct files_room {
	_Atomic size_t used;
	size_t most;
};
struct doubles;
/* Reads a session. Its `uses` is without the entries that are MARK_DOUBLE in `before`, or (NULL) that doubles_note
 * found in others. 0 or a negative errno; -ESTALE if it is gone. Release with kept_release. */
int kept_make(struct catalog *c, uint32_t slot, const struct kept *before, struct doubles *d, struct files_room *room,
              struct kept **ret);
void kept_release(struct kept *k);
/* Whether the facts are those of the file as it is now. */
bool kept_is_of(const struct kept *k, const struct slot_state *now);

/* doubles.c: entries that stand in several sessions. A table has the mark of each entry with usage, and the session
 * that it was first seen in. So a session that comes or grows is compared with all others at the cost of its own
 * entries; who counts an entry is asked among those only that ever had one in common. All zero but the lock is empty.
 */
struct doubles {
	struct lock *lock; /* guards the rest while sessions are read; else one thread uses it */
	uint64_t *cells;
	unsigned bits; /* 1 << bits cells */
	size_t n;
	struct hash_key secret;
	VEC(bool) shares; /* by slot: it has, or had, an entry in common with another */
	size_t sharing;   /* how many there were the last time */
	bool settled;     /* the last list was right, and nothing that shares has come since */
	bool stale;       /* too much is of sessions that are gone: it is time to begin anew */
};
void doubles_release(struct doubles *d);
size_t doubles_memory(const struct doubles *d);
/* Notes the marks of a session, and sets MARK_LEFT_OUT in those that were first seen in another. 0 or -ENOMEM. */
int doubles_note(struct doubles *d, uint32_t slot, uint64_t *marks, size_t n, bool repeats);
/* Finds which entries of n sessions count elsewhere (MARK_DOUBLE), and writes to `wanted` the sessions that have to be
 * made again for that. Some of `kept` may be NULL. 0 or a negative errno. */
int doubles_find(struct doubles *d, struct kept *const *kept, const struct slot_state *states, size_t n,
                 uint32_t *wanted, size_t *ret_n);

/* groups.c: the groups of a list, made when they are first asked for */
struct groups *groups_make(const struct fact_list *list, enum group_key key); /* NULL without memory */
void groups_free(struct groups *g);

#endif
