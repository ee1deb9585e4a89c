/* SPDX-License-Identifier: MIT */
/* search: the cached answers of queries over all sessions.
 *
 * A query has a number, which callers use to ask again. The first request makes the answer on all cores: the raw bytes
 * of each file are scanned first, and only a session that may match gets an index. Answers are cached within the
 * budget. While no session file has changed, the next request reads nothing; then it reads changed files only, and of a
 * file that grew, only the new part.
 *
 * Thread-safe. The caller must not hold a lock. */
#ifndef SESSIONFS_FIND_SEARCH_H
#define SESSIONFS_FIND_SEARCH_H

#include "sessionfs/catalog/catalog.h"
#include "sessionfs/find/match.h"

struct searches;
struct facts;

/* The catalog, the facts and the catalog's budget must outlive it. Returns 0 or a negative errno. */
int searches_open(struct catalog *c, struct facts *f, struct budget *b, struct searches **ret);
void searches_close(struct searches *s);

/* Max number of known queries, not counting those for which the kernel has names. The least recently used one is
 * evicted. */
#define SEARCH_QUERIES 1024
/* The bits of a number. Equal texts have equal numbers as long as `searches` lives, even after eviction. */
#define SEARCH_NUMBER_BITS 44

/* Gets the number of a query; any text has one. Returns 0 or a negative errno. */
int searches_get_number(struct searches *s, struct span text, uint64_t *ret);

/* Returns whether the query still exists. Counts as a use of it. */
bool searches_has_number(struct searches *s, uint64_t number);

/* Returns a hash of the query's text, the same in every process; 0 if it does not exist. */
uint64_t searches_key(struct searches *s, uint64_t number);

/* Adjusts the kernel's lookup count of the query. */
void searches_lookup_count(struct searches *s, uint64_t number, uint64_t more, uint64_t fewer);

/* Max number of entries in an answer, and of lines in hits.txt. */
#define SEARCH_ENTRIES_MAX 10000

/* The result of a query as of one moment. Immutable. */
struct answer;

/* Gets the answer as of now; release with answer_put. Returns 0; -ESTALE if the query no longer exists; -EINTR
 * (cancel_check), -EAGAIN (cancel_wait_begin), or another negative errno. */
int searches_get(struct searches *s, uint64_t number, const struct answer **ret);
void answer_put(const struct answer *h);

/* Differs between different answers. */
uint64_t answer_version(const struct answer *h);
/* Returns why sessions are missing from it; 0 if none is. */
int answer_missed_error(const struct answer *h);
/* hits.txt or entries.tsv. answer_size returns its size, 0 if it has no line. answer_text appends it, and returns 0 or
 * a negative errno. */
uint64_t answer_size(const struct answer *h, enum found_text text);
int answer_text(const struct answer *h, enum found_text text, struct buf *out);

/* The query, as given and parsed (NULL: it is invalid); they live as long as the answer. */
struct span answer_query_text(const struct answer *h);
const struct query *answer_query(const struct answer *h);
/* hints.c: if the answer has no entry, appends lines: why the query is invalid, or what it may have meant. Returns 0 or
 * a negative errno. */
int answer_add_hints(struct searches *s, const struct answer *h, struct buf *out);
/* Returns how many entries, the first ones, have their lines in hits.txt. */
size_t answer_hits_count(const struct answer *h);

/* Calls fn for the best lines of the first entries, in order. `lines` limits the lines per entry (HIT_LINES: as in
 * hits.txt). Stops at the first negative result of fn, and returns it. Returns 0 or a negative errno. */
int answer_each_best_line(struct searches *s, const struct answer *h, size_t lines, size_t entries, hit_fn *fn,
                          void *arg);

/* The matching entries, in order. */
struct answer_entry {
	uint32_t slot, entry;
	struct span title; /* of the session; lives as long as the answer */
	double created;    /* the session, ms since 1970, or NAN */
};
size_t answer_count(const struct answer *h);
struct answer_entry answer_at(const struct answer *h, size_t i);
/* Returns a text of entry number i: FOUND_ROWS its row, FOUND_NAMES the WHAT TEXT of its link. It lives as long as the
 * answer. */
struct span answer_entry_text(const struct answer *h, enum found_text text, size_t i);
/* The cells of a row, still escaped. */
#define ROWS_HEADING "time\tproject\tstem\tentry\twhat\tpath\tline\ttext\n"
enum { ROW_PATH = 5, ROW_LINE, ROW_TEXT, ROW_CELLS };
void answer_split_row(struct span row, struct span ret[ROW_CELLS]);

#endif
