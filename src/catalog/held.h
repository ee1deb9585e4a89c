/* held: an index that is open, or on its way. The catalog's lock guards it; how one comes to be open says open.c. */
#ifndef SESSIONFS_HELD_H
#define SESSIONFS_HELD_H

#include "catalog_impl.h"

struct held {
	struct session *session; /* NULL while it is being opened, or could not be */
	struct held *newer, *older, *chain;
	struct trace trace;
	struct timespec mtime, ctime; /* of the file, and its size, as the index knows them */
	off_t size;
	int64_t looked;
	size_t memory;
	uint64_t used_at; /* budget_now */
	uint32_t slot;
	unsigned refs;
	int err;
	bool opening;
	bool forgotten; /* its slot died, or has another index: goes with the last reference */
	bool replaced;  /* by another index of the slot */
	bool copying;   /* somebody is at work on that one */
};

/* Puts it at the head of the list by last use, or takes it out of the list. */
void held_link_newest(struct open_indexes *o, struct held *h);
void held_unlink(struct open_indexes *o, struct held *h);
void held_set_memory(struct catalog *c, struct held *h, size_t memory);
/* Has held_of find the index, whose session is known now. */
void held_chain_push(struct open_indexes *o, struct held *h);
struct held *held_of(struct open_indexes *o, const struct session *s); /* NULL: none */
/* Takes an index out of everything. Nobody may hold it. */
void held_remove(struct catalog *c, struct held *h);
/* Gives a reference back; with the last one a useless index goes. */
void held_put(struct catalog *c, struct held *h);
void held_close(struct held *h);
/* Takes out what is too many, to be closed without the lock. */
struct held *held_take_surplus(struct catalog *c);
void held_close_all(struct held *h);

#endif
