/* SPDX-License-Identifier: MIT */
/* Shared by the files of record. */
#ifndef SESSIONFS_RECORD_IMPL_H
#define SESSIONFS_RECORD_IMPL_H

#include "sessionfs/session/record.h"

/* Returns whether a string, often a key, equals `name`. */
static inline bool key_is(struct json_value key, const char *name, size_t n)
{
	if (__builtin_expect(key.escaped, false))
		return json_key_is(key, name);
	return key.text.n == n && memcmp(key.text.p, name, n) == 0;
}

static inline bool is_text(struct json_value v, const char *text, size_t n)
{
	return v.kind == JSON_STRING && key_is(v, text, n);
}

/* The fields of a message that tell how it ended. */
struct ending {
	struct json_value stop_reason, is_error, cancelled, exit_code;
};

static inline bool exit_code_failed(struct json_value exit_code)
{
	double code;

	return json_double(exit_code, &code) && code != 0;
}

/* Returns true for a toolResult with isError, an answer that ended in an error, was aborted or reached the output
 * limit, and a command that was cancelled or whose exit code is not 0. (A cancelled one can have a code, too.) */
static inline bool record_failed(enum record_role role, const struct ending *e)
{
	switch (role) {
	case ROLE_TOOL_RESULT:
		return json_is_truthy(e->is_error);
	case ROLE_ASSISTANT:
		return is_text(e->stop_reason, "error", 5) || is_text(e->stop_reason, "aborted", 7) ||
		       is_text(e->stop_reason, "length", 6);
	case ROLE_BASH_EXECUTION:
		return json_is_truthy(e->cancelled) || exit_code_failed(e->exit_code);
	default:
		return false;
	}
}

/* Returns true for a toolResult whose details report an error, as OpenClaw writes. */
static inline bool details_say_failed(enum record_role role, struct json_value details)
{
	return role == ROLE_TOOL_RESULT && details.kind == JSON_OBJECT &&
	       is_text(json_get(details, "status"), "error", 5);
}

/* Reads the block at the cursor. Returns false if it is malformed. Other values than objects have no fields. */
bool block_read(struct json *j, struct block *ret);

/* The members of a usage that count: input, output, cacheRead, cacheWrite, totalTokens, cost. */
extern const struct span usage_names[USAGE_FIELDS];

/* Returns OTHER for unknown names. */
enum record_type record_type_of(struct json_value v);
enum record_role record_role_of(struct json_value v);

/* part_base64.c: writes the decoded bytes to `to`, or only counts them if it is NULL. Returns their number. */
size_t base64_decode(struct span text, char *to);

#endif
