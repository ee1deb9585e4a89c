/* SPDX-License-Identifier: MIT */
/* query: a parsed search. The text of a query is words: an entry matches if its text in all.txt contains all of them,
 * each within one line, ignoring case. With `in:session` it needs one of them, and the texts of its session contain
 * all. Phrases are in quotes, `-` negates, and filters (`role:`, `after:` ...) restrict the matches. Source of the
 * rules: sessionfs(5), "Search".
 *
 * A query is immutable and reference-counted: any number of threads can use it. */
#ifndef SESSIONFS_QUERY_H
#define SESSIONFS_QUERY_H

#include "sessionfs/base/buf.h"

#include <stdint.h>

struct query;

/* Max number of different terms in a query. */
#define QUERY_TERMS 256
/* Characters of the beginning of an id that name it. */
#define QUERY_ID_MIN 8

/* The kinds of text that `what:` names: text.md, text.md of a result or of a bashExecution, thinking.md, the arguments
 * of a call, error, a label, a name. */
enum query_what { WHAT_SAID, WHAT_OUTPUT, WHAT_THINKING, WHAT_CALL, WHAT_ERROR, WHAT_LABEL, WHAT_NAME, WHATS };

/* Parses a query, the decoded text of its name. `now` (ms since 1970) is the origin of `after:7d`; days begin in the
 * time zone of the process. Returns 0, -ENOMEM, or -EINVAL if the text is invalid or has too many terms: then the
 * reason and the remedy are appended to `why` (or NULL), in one line. */
int query_parse(struct span text, int64_t now, struct query **ret, struct buf *why);
struct query *query_get(struct query *q);
void query_put(struct query *q);
/* Returns the bytes of memory in use; 0 for NULL. */
size_t query_memory(const struct query *q);

/* Returns whether the text still means this query `now`: it does not if it has a day relative to another day. */
bool query_is_current(const struct query *q, int64_t now);

/* The texts that filters compare with a whole session: its names in projects/, the id in its header, `title` without
 * its newline, and its state (or empty). */
struct query_session {
	struct span project, stem, sid, title, state;
};
/* Returns false if no entry of this session can match. */
bool query_may_match_session(const struct query *q, const struct query_session *s);

/* Returns whether the verdict on an entry stays the same whatever is appended to its session, in which an entry matches
 * or not. Returns false if the query filters by label, title or state, or if in:session can still find a word. */
bool query_verdict_is_final(const struct query *q, bool has_match);

/* Finds the next part of the line, from byte `from` on, that matches a word of the query; the longest of several at one
 * place. Returns false if no word matches. */
bool query_next_match(const struct query *q, struct span line, size_t from, struct span *ret);

#endif
