/* SPDX-License-Identifier: MIT */
/* held: an index that is open or being opened. The catalog's lock guards it. open.c opens them. */
#ifndef SESSIONFS_HELD_H
#define SESSIONFS_HELD_H

#include "catalog_impl.h"

struct held {
	struct session *session; /* NULL while it is being opened, or could not be */
	struct held *newer, *older;
	struct trace trace;
	struct timespec mtime, ctime; /* of the file as indexed, like `size` */
	off_t size;
	size_t memory;
	uint64_t used_at; /* budget_now */
	uint32_t slot;
	unsigned refs;
	int err;
	bool opening;
	bool forgotten; /* its slot died or has another index: closed with the last reference */
	bool replaced;  /* by another index of the slot */
	bool partial;   /* taking the file in was interrupted */
	bool copying;   /* a thread is making the index that replaces this one */
};

/* Puts an index at the head of the list by last use, or takes it out. */
void held_link_newest(struct open_indexes *o, struct held *h);
void held_unlink(struct open_indexes *o, struct held *h);
void held_set_memory(struct catalog *c, struct held *h, size_t memory);
struct held *held_of(const struct open_indexes *o, const struct session *s); /* NULL: none */
/* Takes an index out of the list and its slot. Nobody may hold it. */
void held_remove(struct catalog *c, struct held *h);
/* Gives a reference back. The last one closes a forgotten index. */
void held_put(struct catalog *c, struct held *h);
void held_close(struct held *h);
/* Takes out the surplus indexes, to be closed without the lock (held_close_all). */
struct held *held_take_surplus(struct catalog *c);
void held_close_all(struct held *h);

#endif
