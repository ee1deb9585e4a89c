/* SPDX-License-Identifier: MIT */
/* search_impl: shared by search.c (known queries), gather.c (searching) and answer.c (results). */
#ifndef SESSIONFS_FIND_SEARCH_IMPL_H
#define SESSIONFS_FIND_SEARCH_IMPL_H

#include "sessionfs/base/clock.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/facts.h"
#include "sessionfs/find/match.h"
#include "sessionfs/find/search.h"

#include "find_impl.h"

#include <stdatomic.h>

/* The hits of a query in one version of a session file. Immutable; answers share it. */
struct session_hits {
	atomic_uint refs;
	uint32_t slot;
	uint32_t entries, relinks; /* of the index at that time */
	uint64_t marks;            /* of the index at that time; changes with labels and names */
	struct session_rank rank;
	struct found_list found;
	bool lacks_copies; /* copies of entries of sessions before it were dropped */
	bool undated;      /* an entry without a time counted as old as the file: valid for this mtime only */
	struct buf title;  /* with its newline */
	double created;    /* as in info.json, or NAN */
};

/* copies.c */

/* Returns hits of the same version of the session, but without entries; NULL if out of memory. */
struct session_hits *session_hits_new(const struct session_hits *of);
struct session_hits *session_hits_get(struct session_hits *f);
void session_hits_put(struct session_hits *f);
size_t session_hits_memory(const struct session_hits *f);

/* Appends entry number i of a list, with its texts. Returns 0 or a negative errno. */
int found_list_add_entry(struct found_list *to, const struct found_list *from, size_t i);
/* Replaces the hits by hits without entries that `seen` has, and adds the others to it. Returns 0 or -ENOMEM. */
int session_hits_drop_copies(struct session_hits **hits, struct duplicate_table *seen);
/* Returns whether f has all entries of `before`, earlier hits of the same session. */
bool session_hits_include(const struct session_hits *f, const struct session_hits *before);

/* How far the search of one session has come. */
enum row_state {
	ROW_NEW,  /* not searched, but the bytes before `scanned_bytes` contain no match; `hits` are of an older file */
	ROW_NONE, /* the file contains no match */
	ROW_MAYBE, /* the line at `scanned_bytes`, or one after it, may match; `hits` as before */
	ROW_GROWN, /* the file grew: `hits` can be valid for the old part */
	ROW_FOUND, /* `hits` is complete */
};
struct search_row {
	uint32_t slot;
	enum row_state state;
	struct timespec mtime, ctime; /* of the file that was searched, like `size` */
	uint64_t size;
	uint64_t scanned_bytes;
	size_t words;       /* in:session: how many the file can have; `scanned_bytes` is about the next one */
	bool is_unreadable; /* the file cannot be read now */
	bool is_ranked;     /* the rank is known, not only its file */
	struct session_rank rank;
	struct session_hits *hits;
};

/* Lists by last use: those with an answer, and those that the kernel has no names for. */
enum search_list { SEARCH_ANSWERED, SEARCH_UNNAMED, SEARCH_LISTS };
struct search_link {
	struct search *before, *after;
	bool is_in;
};

/* A query that is known. */
struct search {
	struct search *next; /* in its cell */
	struct search_link links[SEARCH_LISTS];
	uint64_t number;
	uint64_t names; /* how many names the kernel has for it */
	struct buf text;
	/* Parsed when an answer is first needed: many queries are only looked up. NULL with an answer: invalid. */
	struct query *query;
	struct search_row *rows; /* by slot; used only by the thread that set `busy` */
	size_t n;
	atomic_bool lost_hits;  /* hits are gone: sessions that lack copies must be searched again */
	int error;              /* why some session could not be read; or 0 */
	struct answer *answer;  /* or NULL */
	uint64_t serial;        /* catalog_serial when the answer was begun */
	uint64_t answers_begun; /* how many answers were begun */
	uint64_t used_at;       /* budget_clock */
	size_t memory;
	unsigned users;
	bool is_updating; /* a thread is making an answer */
};

struct searches {
	struct catalog *catalog;
	struct facts *facts;
	struct budget *budget;
	struct budget_client client;
	struct lock lock; /* guards what follows */
	pthread_cond_t answered;
	struct search *cells[SEARCH_QUERIES]; /* by number */
	struct {
		struct search *first, *last;
	} lists[SEARCH_LISTS];
	size_t n, named; /* all, and those that the kernel has names for */
	struct hash_key secret;
	_Atomic uint64_t version; /* of the newest answer */
};

/* gather.c: updates the rows. After an error, earlier hits are kept. */
int search_update_rows(struct searches *s, struct search *a);

/* answer.c: makes the answer from the rows. */
int answer_make(struct searches *s, struct search *a, struct answer **ret);
struct answer *answer_get(struct answer *h);
size_t answer_memory(const struct answer *h);

#endif
