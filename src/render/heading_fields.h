/* SPDX-License-Identifier: MIT */
/* facts: the metadata shown in the heading of an entry (model, exit code, target, ...), as a list. */
#ifndef SESSIONFS_RENDER_FACTS_H
#define SESSIONFS_RENDER_FACTS_H

#include "sessionfs/session/record.h"

enum heading_field_kind {
	HEADING_TEXT,   /* `before` and a value, either of which may be missing */
	HEADING_EXIT,   /* the same; the value is a number */
	HEADING_TOKENS, /* how many there were before a compaction */
	HEADING_MODEL,
	HEADING_ENTRY, /* `before`, then the id of another entry */
	HEADING_CALL,  /* of a result: the call that it answers */
};
struct heading_field {
	enum heading_field_kind kind;
	const char *before;
	struct json_value v, provider;
	bool continues; /* it is about the same as the one before it */
};

#define HEADING_FIELDS_MAX 4
/* In their order. Returns how many there are. */
unsigned heading_fields_of_record(const struct record *r, struct heading_field ret[HEADING_FIELDS_MAX]);

#endif
