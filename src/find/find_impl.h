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
struct cached_facts {
	_Atomic unsigned refs;
	uint32_t slot;
	off_t size;
	struct timespec mtime, ctime;
	size_t memory;
	struct session_facts facts;
	struct fact_label *labels; /* `of` has them, too */
	uint64_t *marks;           /* of each entry with usage, in file order: usage_mark.hash, and MARK_... */
	size_t n_marks;
	bool may_repeat_ids; /* an id may stand in it twice */
	struct fact_usage usage_rows[];
};
/* Set in a mark: `uses` is without the entry, since it counts for another session or was there before. */
#define MARK_EXCLUDED (UINT64_C(1) << 63)
/* It should be. Only the thread that makes a list looks at this one. */
#define MARK_DUPLICATE (UINT64_C(1) << 62)
#define MARK_FLAGS (MARK_EXCLUDED | MARK_DUPLICATE)

/* The order of sessions.tsv: newest first, then by path. */
struct session_rank {
	double modified;
	const char *file;
};
int session_rank_cmp(struct session_rank a, struct session_rank b);

/* kept.c */

/* A time that info.json shows, in whole ms as there; NAN if it shows none. */
double info_time_ms(double ms);
/* The rows of files.tsv are kept while those of all sessions fit. */
struct file_rows_budget {
	_Atomic size_t used;
	size_t max;
};
struct duplicate_table;
/* Reads a session. Its `uses` is without the entries that are MARK_DUPLICATE in `before`, or (NULL) that
 * duplicates_add_session found in others. 0 or a negative errno; -ESTALE if it is gone. Release with
 * cached_facts_release. */
int cached_facts_read(struct catalog *c, uint32_t slot, const struct cached_facts *before, struct duplicate_table *d,
                      struct file_rows_budget *room, struct cached_facts **ret);
void cached_facts_release(struct cached_facts *k);
/* Whether the facts are those of the file as it is now. */
bool cached_facts_match(const struct cached_facts *k, const struct slot_state *now);

/* doubles.c: entries that stand in several sessions. A table has the mark of each entry with usage, and the session
 * that it was first seen in. So a session that comes or grows is compared with all others at the cost of its own
 * entries; who counts an entry is asked among those only that ever had one in common. All zero but the lock is empty.
 */
struct duplicate_table {
	struct lock *lock; /* guards the rest while sessions are read; else one thread uses it */
	uint64_t *cells;
	unsigned bits; /* 1 << bits cells */
	size_t n;
	struct hash_key secret;
	VEC(bool) is_shared; /* by slot: it has, or had, an entry in common with another */
	size_t shared_count; /* how many there were the last time */
	bool is_current;     /* the last list was right, and nothing that shares has come since */
	bool is_stale;       /* too much is of sessions that are gone: it is time to begin anew */
};
void duplicates_release(struct duplicate_table *d);
size_t duplicates_memory(const struct duplicate_table *d);
/* Notes the marks of a session, and sets MARK_EXCLUDED in those that were first seen in another. 0 or -ENOMEM. */
int duplicates_add_session(struct duplicate_table *d, uint32_t slot, uint64_t *marks, size_t n, bool repeats);
/* Finds which entries of n sessions count elsewhere (MARK_DUPLICATE), and writes to `wanted` the sessions that have to
 * be made again for that. Some of `kept` may be NULL. 0 or a negative errno. */
int duplicates_find(struct duplicate_table *d, struct cached_facts *const *kept, const struct slot_state *states,
                    size_t n, uint32_t *wanted, size_t *ret_n);

/* groups.c: the groups of a list, made when they are first asked for */
struct groups *groups_make(const struct fact_list *list, enum group_key key); /* NULL without memory */
void groups_free(struct groups *g);

#endif
