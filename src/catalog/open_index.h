/* SPDX-License-Identifier: MIT */
/* open_index: an index that is open or being opened. The catalog's lock guards it. open.c opens them. */
#ifndef SESSIONFS_OPEN_INDEX_H
#define SESSIONFS_OPEN_INDEX_H

#include "catalog_impl.h"

/* The state of the file when its index was opened or grown, taken without the lock. */
struct index_snapshot {
	struct fingerprints trace;
	struct timespec mtime, ctime;
	off_t size;
	size_t memory; /* of the index */
};

/* Its states, all in the list by last use:
 *
 *	opening --> open (session) <--> grown
 *	   |          |    |
 *	   |          |    +--no references: evicted (leaves its trace), and no more in the list
 *	   |          +--its slot died--> forgotten, until its last reference
 *	   +--err: forgotten at once
 *
 * While it is opening, it has no session and a reference. Then it has a session or an error, never both. One without
 * references is open, and its slot's. */
struct open_index {
	struct session *session; /* NULL while it is being opened, or after that failed */
	struct open_index *newer, *older;
	struct index_snapshot as_of;
	uint64_t used_at; /* budget_clock */
	uint32_t slot;
	unsigned refs;
	int err;
	bool opening;
};

static inline bool open_index_is_forgotten(const struct catalog *c, const struct open_index *x)
{
	return c->slots[x->slot].index != x;
}

/* Adds an index at the head of the list by last use, or removes it. */
void open_index_link_newest(struct open_indexes *o, struct open_index *x);
void open_index_unlink(struct open_indexes *o, struct open_index *x);
void open_index_set_memory(struct catalog *c, struct open_index *x, size_t memory);
struct open_index *open_index_of(const struct open_indexes *o, const struct session *s); /* NULL: none */
/* Drops a reference. The last one closes a forgotten index. */
void open_index_put(struct catalog *c, struct open_index *x);
/* Detaches the surplus indexes, to be closed without the lock (open_index_close_all). */
struct open_index *open_indexes_detach_surplus(struct catalog *c);
void open_index_close_all(struct open_index *x); /* and those after it in `older` */

#endif
