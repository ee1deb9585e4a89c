/* SPDX-License-Identifier: MIT */
/* query: what is looked for. The text of a query is words: an entry matches if all of them occur in what all.txt says
 * of it, each inside one line, ignoring case. A phrase stands in quotes, `-` negates, and filters (`role:`, `after:`
 * and the like) narrow what matches. Source of the rules: sessionfs(5), "Search".
 *
 * A query is immutable, and its references are counted: any number of threads may use it. */
#ifndef SESSIONFS_QUERY_H
#define SESSIONFS_QUERY_H

#include "sessionfs/base/buf.h"

#include <stdint.h>

struct query;

/* Of different terms a query may have so many. */
#define QUERY_TERMS 256

/* Parses a query, the decoded text of its name. `now` (ms since 1970) is what `after:7d` counts from; days begin and
 * end in the time zone of the process. 0, -EINVAL for a text that is no query or has too many terms, or -ENOMEM. */
int query_parse(struct span text, int64_t now, struct query **ret);
/* The same; with -EINVAL it appends to `why` (or NULL) what is wrong, in one line. */
int query_parse_why(struct span text, int64_t now, struct query **ret, struct buf *why);
struct query *query_get(struct query *q);
void query_put(struct query *q);

/* When (ms since 1970) the same text may mean another query, since it names days relative to now; INT64_MAX: never. */
int64_t query_expires(const struct query *q);

/* What is asked of a session as a whole, as text: its names under projects/, the id in its header, `title` without its
 * newline, and its state (empty: none). */
struct query_session {
	struct span project, stem, sid, title, state;
};
/* False if no entry of this session can match. */
bool query_may_match_session(const struct query *q, const struct query_session *s);

/* Whether an entry that matches, or does not, stays so whatever is appended to its session. False if labels, the
 * title or the state are asked for. */
bool query_verdict_is_final(const struct query *q);

/* The next part of the line, from byte `from` on, that a word of the query takes; of several there the longest. False
 * if there is none. */
bool query_next_match(const struct query *q, struct span line, size_t from, struct span *ret);

#endif
