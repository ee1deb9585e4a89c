/* SPDX-License-Identifier: MIT */
/* budget: bytes of memory that several keepers share.
 *
 * Each keeper counts its bytes in `used` and knows when it used each of its things last (budget_clock). When all of
 * them together exceed the budget, the keeper of the least recently used thing evicts it, and so on. A keeper with a
 * small share is left alone: one keeper's things that are in use must not cost the others everything.
 *
 * Keepers join and leave while there is only one thread. Everything else is thread-safe. */
#ifndef SESSIONFS_BUDGET_H
#define SESSIONFS_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget_client {
	_Atomic size_t used; /* bytes */
	/* When the thing that would be evicted next was last used. BUDGET_NOTHING: there is nothing to evict. */
	uint64_t (*oldest)(void *arg);
	/* Evicts it. */
	void (*evict)(void *arg);
	void *arg;
	struct budget_client *next; /* the budget's */
};

#define BUDGET_NOTHING UINT64_MAX
/* A keeper that uses no more than this fraction of the limit (a quarter) is not asked to evict. */
#define BUDGET_OWN 4

struct budget {
	size_t limit;
	struct budget_client *clients;
	_Atomic size_t evicted; /* bytes evicted since free memory last went back to the system */
	_Atomic size_t reserved;
};

#define BUDGET_INIT(bytes)                                                                                             \
	{                                                                                                              \
		.limit = (bytes)                                                                                       \
	}

/* *k is the caller's and stays where it is until it leaves. */
void budget_register(struct budget *b, struct budget_client *k);
void budget_unregister(struct budget *b, struct budget_client *k);

/* The time that ages are compared by: nanoseconds, never 0. */
uint64_t budget_clock(void);
size_t budget_used(const struct budget *b);

/* Counts memory that the caller is about to use while it makes something, until budget_unreserve; keepers evict to make
 * room for it. If the claims of others leave no room, the call waits. 0, -EINTR (cancel_check) or -EAGAIN
 * (cancel_wait_begin); nothing is claimed on an error. Keepers are called as by budget_enforce. */
int budget_reserve(struct budget *b, size_t bytes);
void budget_unreserve(struct budget *b, size_t bytes);

/* Has keepers evict until the total is within the limit or nothing is left to evict. The caller holds no lock that the
 * keepers acquire. */
void budget_enforce(struct budget *b);

#endif
