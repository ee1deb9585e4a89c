/* search_impl: what the keeper of searches (search.c), its work (gather.c) and its answers (answer.c) share. */
#ifndef SESSIONFS_FIND_SEARCH_IMPL_H
#define SESSIONFS_FIND_SEARCH_IMPL_H

#include "sessionfs/base/clock.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/facts.h"
#include "sessionfs/find/match.h"
#include "sessionfs/find/search.h"

#include <stdatomic.h>

/* What a query found in one session, as its file was then. Never changes; answers share it. */
struct session_hits {
	atomic_uint refs;
	uint32_t slot;
	uint32_t entries, relinks;         /* of its index then */
	uint64_t marks;                    /* the same: where a label or name stands follows from them */
	double modified;                   /* as sessions.tsv says it; ms */
	const char *project, *stem, *file; /* the catalog's */
	struct found_list found;
	bool undated;          /* what is found holds for this time of the file alone */
	uint64_t lines, bytes; /* of all of them; as they stand in hits.txt */
	struct buf title;      /* with its newline */
	struct buf text;       /* the lines themselves, where they are few; else empty */
};

struct session_hits *session_hits_get(struct session_hits *f);
void session_hits_put(struct session_hits *f);
size_t session_hits_memory(const struct session_hits *f);

/* What is known of one session. */
enum row_state {
	ROW_NEW,   /* nothing, but that there is nothing in the bytes before `scanned` */
	ROW_NONE,  /* nothing in the whole of it */
	ROW_MAYBE, /* there may be something from the line on in which `scanned` is */
	ROW_GROWN, /* `hits` is right as far as it goes */
	ROW_FOUND, /* all: `hits` */
};
struct row {
	uint32_t slot;
	enum row_state state;
	struct timespec mtime, ctime; /* of its file then, as `size` */
	uint64_t size;
	uint64_t scanned; /* bytes */
	double modified;  /* with `is_ranked` */
	bool is_lacking;  /* it cannot be read now */
	bool is_ranked;   /* it is known when it was modified */
	const char *file; /* the catalog's */
	struct session_hits *hits;
};

/* A query that is known. */
struct search {
	struct search *next; /* in its cell */
	uint64_t number;
	uint64_t names; /* that the kernel has for it */
	struct buf text;
	struct query *query; /* NULL until there is an answer to make: many have only names */
	struct row *rows;    /* by slot; only who is `busy` uses them */
	size_t n;
	int missed;            /* why some of the sessions could not be read; or 0 */
	struct answer *answer; /* or NULL */
	uint64_t serial;       /* catalog_serial when they were made */
	uint64_t begun;        /* how often making them was begun */
	uint64_t used_at;      /* budget_now */
	size_t memory;
	unsigned users;
	bool busy; /* a thread is making them */
};

struct searches {
	struct catalog *catalog;
	struct facts *facts;
	struct budget *budget;
	struct keeper keeper;
	struct lock lock; /* guards what follows */
	pthread_cond_t made;
	struct search *cells[SEARCH_QUERIES]; /* by number */
	size_t n, named;                      /* all, and those that the kernel has names for */
	struct hash_key secret;
	_Atomic uint64_t version; /* of the newest answer */
	struct made_last {        /* the lines of an entry that are read in pieces */
		uint32_t slot, entry;
		uint64_t version; /* 0: none */
		struct buf text;
	} last;
};

/* gather.c: brings the rows up to date. What it had found before an error stays. */
int gather(struct searches *s, struct search *a);

/* What the lines of a session begin with. */
int session_hits_prefix(const struct session_hits *f, struct buf *out);

/* answer.c: the answer that the rows give. */
int answer_make(struct searches *s, struct search *a, struct answer **ret);
struct answer *answer_get(struct answer *h);
size_t answer_memory(const struct answer *h);

#endif
