/* SPDX-License-Identifier: MIT */
/* What a query is made of. Private to find. */
#ifndef SESSIONFS_QUERY_IMPL_H
#define SESSIONFS_QUERY_IMPL_H

#include "sessionfs/base/buf.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/query.h"

#include <stdatomic.h>

enum term_kind {
	TERM_WORD, /* or a phrase */
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
	TERM_IS,
};

struct term {
	enum term_kind kind;
	bool negated;
	struct span text; /* folded; of a day YYYY-MM-DD */
	size_t begin;     /* of the text in the query's bytes */
	int64_t day;      /* when it begins, ms since 1970 */
};

struct query {
	atomic_uint refs;
	VEC(struct term) terms; /* by kind, negated, text; no two are the same */
	struct buf bytes;       /* of their texts */
	int64_t expires;
};

/* Whether the folded text `part` occurs in `text`, which is not folded. False without memory. */
bool text_contains(struct span text, struct span part);
/* Whether the text folds to the same. */
bool text_equals(struct span text, struct span folded);

#endif
