/* SPDX-License-Identifier: MIT */
/* find_impl: shared by the files of this folder. */
#ifndef SESSIONFS_FIND_IMPL_H
#define SESSIONFS_FIND_IMPL_H

#include "sessionfs/base/hash.h"
#include "sessionfs/base/pool.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/groups.h"

#include <stdatomic.h>

/* The facts of one session, and the version of its file that they describe. The data they point to is in the same
 * block, and that in a pool, which the lists share. */
struct cached_facts {
	uint32_t slot;
	off_t size;
	struct timespec mtime, ctime;
	size_t memory;
	struct session_facts facts;
	struct fact_label *labels; /* the same as facts.labels */
	uint64_t *marks;           /* one for each entry with usage, in file order: usage_mark.hash and MARK_... */
	size_t n_marks;
	struct fact_usage usage_rows[];
};
/* Set in a mark: `usage_rows` excludes the entry, since it counts for another session or occurred before. */
#define MARK_EXCLUDED (UINT64_C(1) << 63)
/* Set if `usage_rows` must exclude it. Used only by the thread that makes a list. */
#define MARK_DUPLICATE (UINT64_C(1) << 62)
#define MARK_FLAGS (MARK_EXCLUDED | MARK_DUPLICATE)

/* The order of sessions.tsv: newest first, then by path. */
struct session_rank {
	double modified;  /* ms, as in sessions.tsv */
	const char *file; /* the catalog's */
};
int session_rank_cmp(struct session_rank a, struct session_rank b);

/* Compares slots, or structs that begin with one. */
static inline int leading_slot_cmp(const void *pa, const void *pb)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	return (a > b) - (a < b);
}

/* cached_facts.c */

/* Returns a time in whole ms as in info.json; NAN if info.json has none. */
double info_time_ms(double ms);
struct duplicate_table;
/* Reads the facts of a session. Its `usage_rows` exclude the entries with MARK_DUPLICATE in `before`, or, if that is
 * NULL, those that duplicates_add_session found in other sessions. Returns 0 or a negative errno; -ESTALE if the
 * session was removed. *ret is in the pool. */
int cached_facts_read(struct catalog *c, uint32_t slot, const struct cached_facts *before, struct duplicate_table *d,
                      bool usage_only, struct pool *pool, struct cached_facts **ret);
/* Returns whether the facts describe the current file. */
bool cached_facts_match(const struct cached_facts *k, const struct slot_state *now);

/* duplicates.c: entries that several sessions contain. A table has the mark of each entry with usage, and the session
 * in which it was first seen. So comparing a new or grown session with all others costs only its own entries. Only
 * sessions that ever shared an entry are compared to find the one that counts it. An empty table is all zero but the
 * lock. */
struct duplicate_table {
	struct lock *lock; /* guards the rest while sessions are read; else only one thread uses the table */
	uint64_t *cells;
	size_t cap, n; /* cells, and used ones */
	struct hash_key secret;
	bool all_shared;     /* as if is_shared were set for all */
	VEC(bool) is_shared; /* by slot: has or had an entry in common with another session */
	size_t shared_count; /* number of set ones at the last duplicates_find */
	bool is_current;     /* the last list was right, and no session that shares entries was added since */
};
void duplicates_release(struct duplicate_table *d);
/* Makes room for more marks. Returns false if out of memory. */
bool duplicates_reserve(struct duplicate_table *d, size_t more);
/* Returns the earlier owner of the mark; if 0, sets `owner`. A table without a lock belongs to one thread and only
 * records what was seen: the owner is always 1. There must be room. */
uint64_t duplicates_set_owner(struct duplicate_table *d, uint64_t mark, uint64_t owner);
size_t duplicates_memory(const struct duplicate_table *d);
/* Adds the marks of a session, and sets MARK_EXCLUDED in those first seen in another. Returns 0 or -ENOMEM. */
int duplicates_add_session(struct duplicate_table *d, uint32_t slot, uint64_t *marks, size_t n, bool repeats);
/* Sets MARK_DUPLICATE on the entries of n sessions that count elsewhere, and writes to `wanted` the sessions to read
 * again for that. `kept` can have NULL elements. Returns 0 or a negative errno. */
int duplicates_find(struct duplicate_table *d, struct cached_facts *const *kept, const struct slot_state *states,
                    size_t n, uint32_t *wanted, size_t *ret_n);

/* tables.c: appends the two cells that name the session's directory, each with a TAB after it. */
void tables_add_location(const struct fact *f, struct buf *out);

/* Smaller amounts, in dollars, have four decimals in the plot and in index.html. */
#define PLOT_FINE_AMOUNT 0.1
/* hits_page.c: appends a field for a query, also for index.html. */
void hits_add_field(struct span query, struct buf *out);

/* groups.c: the groups of a list, made at the first request */
struct groups *groups_make(const struct fact_list *list, enum group_key key); /* NULL if out of memory */
void groups_free(struct groups *g);

#endif
