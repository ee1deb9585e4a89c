/* SPDX-License-Identifier: MIT */
/* heading_fields: the metadata in the heading of an entry (model, exit code, target, ...), as a list. */
#ifndef SESSIONFS_RENDER_FACTS_H
#define SESSIONFS_RENDER_FACTS_H

#include "sessionfs/session/record.h"

enum heading_field_kind {
	HEADING_TEXT,   /* `before` and a value; either can be missing */
	HEADING_EXIT,   /* the same, with a number */
	HEADING_TOKENS, /* tokens before a compaction */
	HEADING_MODEL,
	HEADING_ENTRY, /* `before`, then the id of another entry */
	HEADING_CALL,  /* the call that a result answers */
};
struct heading_field {
	enum heading_field_kind kind;
	const char *before;
	struct json_value v, provider;
	bool continues; /* it belongs to the field before it */
};

#define HEADING_FIELDS_MAX 4
/* Sets the fields in their order. Returns their number. */
unsigned heading_fields_of_record(const struct record *r, struct heading_field ret[HEADING_FIELDS_MAX]);

#endif
