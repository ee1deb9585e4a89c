/* SPDX-License-Identifier: MIT */
/* search: what queries find in all sessions, kept.
 *
 * A query has a number, by which it is asked again. Its answer is made when it is first asked for, by all processors:
 * the raw bytes of each file are looked at first, and only a session that may match gets an index. The answer is kept,
 * within the budget. Asked again it reads nothing while no session file has changed; then it looks at the files that
 * have, and of a file that grew at what is new.
 *
 * Thread-safe. No lock may be held by the caller. */
#ifndef SESSIONFS_FIND_SEARCH_H
#define SESSIONFS_FIND_SEARCH_H

#include "sessionfs/catalog/catalog.h"
#include "sessionfs/find/match.h"

struct searches;
struct facts;

/* The catalog, the facts and the catalog's budget outlive it. 0 or a negative errno. */
int searches_open(struct catalog *c, struct facts *f, struct budget *b, struct searches **ret);
void searches_close(struct searches *s);

/* So many queries are known, besides those that the kernel has names for; then the one asked least recently is
 * forgotten. */
#define SEARCH_QUERIES 1024
/* The bits of a number. The same text has the same number as long as `searches` lives, also when it was forgotten
 * meanwhile. */
#define SEARCH_NUMBER_BITS 44

/* The number of a query. 0; -EINVAL if it cannot be parsed, and `why` (or NULL) says why (query_parse_why); -ENOMEM. */
int searches_get_number(struct searches *s, struct span text, uint64_t *ret, struct buf *why);

/* Whether there is still a query of this number. It counts as asked. */
bool searches_has_number(struct searches *s, uint64_t number);

/* The kernel has so many names more for the query, and so many fewer. */
void searches_lookup_count(struct searches *s, uint64_t number, uint64_t more, uint64_t fewer);

/* The most that an answer has of each. */
#define SEARCH_ENTRIES_MAX 10000

/* What a query found, as of one moment; never changes. */
struct answer;

/* The answer as of now. Release with answer_put. 0; -ESTALE if there is no query of this number (any more); -EINTR
 * (cancel_check), -EAGAIN (cancel_wait_begin), or another negative errno: then it is not known. */
int searches_get(struct searches *s, uint64_t number, const struct answer **ret);
void answer_put(const struct answer *h);

/* Differs between answers that are not the same. */
uint64_t answer_version(const struct answer *h);
/* Why it lacks sessions that could not be read; 0 if it lacks none. */
int answer_missed_error(const struct answer *h);
/* hits.txt or entries.tsv: its size (0: it has no line), and up to n bytes of it from `off` on, appended. -ESTALE if a
 * session was replaced meanwhile. */
uint64_t answer_size(const struct answer *h, enum found_text text);
int answer_read(struct searches *s, const struct answer *h, enum found_text text, uint64_t off, size_t n,
                struct buf *out);

/* A line, and where it is from. */
struct answer_line {
	const char *project, *stem;
	const struct hit *hit;
};
/* Calls fn for the best lines of each of the first entries, so many at most of both (HIT_LINES: those of hits.txt), in
 * order, until it returns other than 0: this is returned then. 0 or a negative errno. */
int answer_each_best_line(struct searches *s, const struct answer *h, size_t lines, size_t entries,
                          int (*fn)(void *arg, const struct answer_line *line), void *arg);

/* The entries that match, in order. */
struct answer_entry {
	uint32_t slot, entry;
	struct span title; /* of the session; valid as long as the answer */
};
size_t answer_count(const struct answer *h);
struct answer_entry answer_at(const struct answer *h, size_t i);
/* Appends what one of the texts says of entry number i: FOUND_ROWS its row, FOUND_NAMES the WHAT TEXT of its link. */
int answer_text(struct searches *s, const struct answer *h, enum found_text text, size_t i, struct buf *out);
/* The cells of a row, as they stand there. */
#define ROWS_HEADING "time\tproject\tstem\tentry\twhat\tpath\tline\ttext\n"
enum { ROW_PATH = 5, ROW_LINE, ROW_TEXT, ROW_CELLS };
void answer_split_row(struct span row, struct span ret[ROW_CELLS]);

#endif
