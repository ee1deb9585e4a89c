/* SPDX-License-Identifier: MIT */
/* The parts of a query. Private to find. */
#ifndef SESSIONFS_QUERY_IMPL_H
#define SESSIONFS_QUERY_IMPL_H

#include "sessionfs/base/buf.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/query.h"

#include <stdatomic.h>

struct matcher;
struct query_parser;
struct record;
struct term;

enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_UNKNOWN };

/* A filter: a row of query_filters. A function that is NULL decides nothing. */
struct filter {
	const char *name; /* what its terms begin with */
	/* Checks the value as written, and can replace the text of the term. Returns at least 0, or a negative errno.
	 */
	int (*parse)(struct query_parser *s, struct span value, struct term *t);
	bool is_exact;                                                    /* compares whole values */
	bool can_change;                                                  /* later records can change its verdict */
	bool (*session)(const struct query_session *s, struct span text); /* decides for a whole session */
	struct span (*needle)(struct span text);                  /* what the line of a match contains as text */
	enum verdict (*index)(struct matcher *m);                 /* decides m->term by the index */
	size_t (*value)(const struct record *r, struct buf *out); /* appends the value that it compares */
	int (*values)(struct matcher *m);                         /* or several, as match_read_values */
};
/* The rows, until one without a name. A term has the number of its row; their order means nothing, but for words. */
enum { TERM_WORD, /* or a phrase */ TERM_WHOLE /* the same, as a whole word */ };
extern const struct filter query_filters[];
/* The values of is: */
enum query_mark { MARK_ERROR, MARK_SECRET, MARKS };

struct term {
	unsigned kind; /* its row in query_filters */
	bool negated;
	struct span text; /* folded; a day as YYYY-MM-DD */
	size_t begin;     /* offset of the text in the query's bytes */
	int64_t day;      /* start of the day, ms since 1970 */
};

struct query {
	atomic_uint refs;
	VEC(struct term) terms;  /* words first; by kind, negated, text; without duplicates */
	struct buf bytes;        /* of their texts */
	int64_t begins, expires; /* the times at which the text means this query */
	unsigned what;           /* 1 << kind for each kind of text that `what:` names; 0: all */
	unsigned marks;          /* 1 << each of is:, unless negated */
	bool in_session;         /* an entry needs only one of the words, and its session all */
};

/* The state of the parser. */
struct query_parser {
	struct span rest;
	struct query *q;
	int64_t now;
	struct buf *why; /* or NULL */
};
/* Appends the reason, and the part of the text it concerns, on one line. Returns -EINVAL. */
int query_fail(const struct query_parser *s, const char *why, struct span what);

/* Returns whether the term is a word that all.txt must contain, or must not. */
static inline bool term_is_word(const struct term *t)
{
	return t->kind <= TERM_WHOLE;
}

/* Returns whether the query searches texts of this kind. */
static inline bool query_searches(const struct query *q, enum query_what kind)
{
	return q->what == 0 || (q->what >> kind & 1);
}

/* Returns whether the query is one word, and so can be an id. */
bool query_is_word(const struct query *q);
/* Returns whether the query is one word that is this id, or at least the first QUERY_ID_MIN characters of it. */
bool query_names_id(const struct query *q, struct span id);
/* Returns whether the query is one word that can be the name of an entry and nowhere in the file: ~LINE, ID~2 and, in a
 * file without ids, 8 hex digits. */
bool query_may_name_computed(const struct query *q, bool has_ids);

/* Returns whether `text`, which is not folded, contains the folded text `part`. False if out of memory. */
bool text_contains(struct span text, struct span part);
/* Returns whether the text folds to `folded`. */
bool text_equals(struct span text, struct span folded);

#endif
