/* SPDX-License-Identifier: MIT */
/* budget: bytes of memory that several clients share.
 *
 * Each client counts its bytes in `used` and knows when it last used each of its objects (budget_clock). When the
 * clients together exceed the budget, the client with the least recently used object evicts it, and so on. A client
 * with a small share never evicts: objects that one client uses must not cost the others everything.
 *
 * Clients register and unregister while there is only one thread. Everything else is thread-safe. */
#ifndef SESSIONFS_BUDGET_H
#define SESSIONFS_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget_client {
	_Atomic size_t used; /* bytes */
	/* When the next object to evict was last used; BUDGET_NOTHING without one. */
	uint64_t (*oldest)(void *arg);
	/* Evicts that object. */
	void (*evict)(void *arg);
	void *arg;
	struct budget_client *next; /* owned by the budget */
};

#define BUDGET_NOTHING UINT64_MAX
/* A client that uses at most this fraction of the limit (a quarter) never evicts. */
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

/* The caller owns *k, which must not move until it is unregistered. */
void budget_register(struct budget *b, struct budget_client *k);
void budget_unregister(struct budget *b, struct budget_client *k);

/* Returns the time that ages are compared by, in nanoseconds; never 0. */
uint64_t budget_clock(void);
size_t budget_used(const struct budget *b);

/* Counts memory that the caller is about to use, until budget_unreserve; clients evict to make room for it. Waits while
 * the reservations of others leave no room. Returns 0, -EINTR (cancel_check) or -EAGAIN (cancel_wait_begin); an error
 * reserves nothing. Calls clients as budget_enforce does. */
int budget_reserve(struct budget *b, size_t bytes);
void budget_unreserve(struct budget *b, size_t bytes);

/* Returns the bytes that malloc uses for n; 0 for 0. */
static inline size_t budget_heap_size(size_t n)
{
	return n == 0 ? 0 : n <= 24 ? 32 : (n + 8 + 15) / 16 * 16;
}

/* Evicts until the total is within the limit or nothing is left to evict. The caller must not hold a lock that the
 * clients acquire. */
void budget_enforce(struct budget *b);

#endif
