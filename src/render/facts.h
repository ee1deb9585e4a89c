/* SPDX-License-Identifier: MIT */
/* facts: the metadata shown in the heading of an entry (model, exit code, target, ...), as a list. */
#ifndef SESSIONFS_RENDER_FACTS_H
#define SESSIONFS_RENDER_FACTS_H

#include "sessionfs/session/record.h"

enum fact_of {
	FACT_TEXT,   /* `before` and a value, either of which may be missing */
	FACT_EXIT,   /* the same; the value is a number */
	FACT_TOKENS, /* how many there were before a compaction */
	FACT_MODEL,
	FACT_ENTRY, /* `before`, then the id of another entry */
	FACT_CALL,  /* of a result: the call that it answers */
};
struct fact {
	enum fact_of of;
	const char *before;
	struct json_value v, provider;
	bool goes_on; /* it is about the same as the one before it */
};

#define FACTS_MOST 4
/* In their order. Returns how many there are. */
unsigned facts_of(const struct record *r, struct fact ret[FACTS_MOST]);

#endif
