/* SPDX-License-Identifier: MIT */
/* The parts of a query. Private to find. */
#ifndef SESSIONFS_QUERY_IMPL_H
#define SESSIONFS_QUERY_IMPL_H

#include "sessionfs/base/buf.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/query.h"

#include <stdatomic.h>

/* A term is of the kind whose filter it begins with: no filter begins with another one, so their order means nothing.
 * But words come first in a query. */
enum term_kind {
	TERM_WORD,  /* or a phrase */
	TERM_WHOLE, /* the same, as a whole word */
	TERM_ROLE,
	TERM_TYPE,
	TERM_TOOL,
	TERM_MODEL,
	TERM_LABEL,
	TERM_TITLE,
	TERM_FILE,
	TERM_PROJECT,
	TERM_SESSION,
	TERM_STATE,
	TERM_AFTER,
	TERM_BEFORE,
	TERM_WHAT,
	TERM_IS,
	TERM_KINDS
};

/* A filter: what it begins with, and its values if it has no others. */
struct filter {
	const char *name;
	const char *const *values;
	unsigned n;
	bool is_exact; /* compares whole values */
	bool is_day;
	bool can_change; /* later entries can change its verdict */
};
extern const struct filter query_filters[TERM_KINDS];
/* The values of is: */
enum query_mark { MARK_ERROR, MARK_SECRET, MARKS };

struct term {
	enum term_kind kind;
	bool negated;
	unsigned value;   /* its number among the values of the filter */
	struct span text; /* folded; a day as YYYY-MM-DD */
	size_t begin;     /* offset of the text in the query's bytes */
	int64_t day;      /* start of the day, ms since 1970 */
};

struct query {
	atomic_uint refs;
	VEC(struct term) terms; /* words first; by kind, negated, text; without duplicates */
	struct buf bytes;       /* of their texts */
	int64_t expires;
	unsigned what;  /* 1 << kind for each kind of text that `what:` names; 0: all */
	unsigned marks; /* 1 << each of is:, unless negated */
};

/* Returns whether the term is a word that all.txt must contain, or must not. */
static inline bool term_is_word(const struct term *t)
{
	return t->kind == TERM_WORD || t->kind == TERM_WHOLE;
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
