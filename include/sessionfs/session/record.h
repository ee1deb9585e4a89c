/* SPDX-License-Identifier: MIT */
/* record: one line of a session file as a typed view. Unknown types, roles and fields are tolerated. Nothing is copied:
 * all values point into the line. */
#ifndef SESSIONFS_RECORD_H
#define SESSIONFS_RECORD_H

#include "sessionfs/json/json.h"

struct format;

enum record_type {
	RECORD_OTHER, /* unknown type, or not an object */
	RECORD_SESSION,
	RECORD_MESSAGE,
	RECORD_COMPACTION,
	RECORD_BRANCH_SUMMARY,
	RECORD_CUSTOM_MESSAGE,
	RECORD_LABEL,
	RECORD_SESSION_INFO,
	RECORD_CUSTOM,
	RECORD_MODEL_CHANGE,
	RECORD_THINKING_LEVEL_CHANGE,
	RECORD_USAGE,
	RECORD_CONTEXT_EDIT,
};

enum record_role {
	ROLE_NONE, /* not a message */
	ROLE_OTHER,
	ROLE_SYSTEM,
	ROLE_USER,
	ROLE_ASSISTANT,
	ROLE_TOOL_RESULT,
	ROLE_BASH_EXECUTION,
	ROLE_CUSTOM,
	ROLE_BRANCH_SUMMARY,
	ROLE_COMPACTION_SUMMARY,
};

/* clang-format off */
/* The fields we read: C name, JSON name. A new field is one row here. */
#define RECORD_FIELDS(X) \
	X(type_, "type") X(id, "id") X(parent_id, "parentId") X(timestamp, "timestamp") \
	X(version, "version") X(cwd, "cwd") X(parent_session, "parentSession") X(branched_from, "branchedFrom") \
	X(message, "message") X(provider, "provider") X(model, "model") X(model_id, "modelId") \
	X(thinking_level, "thinkingLevel") X(usage, "usage") X(usage_kind, "kind") \
	X(summary, "summary") X(first_kept_entry_id, "firstKeptEntryId") \
	X(first_kept_entry_index, "firstKeptEntryIndex") X(tokens_before, "tokensBefore") \
	X(system_message, "systemMessage") X(from_id, "fromId") X(details, "details") \
	X(custom_type, "customType") X(content, "content") X(display, "display") \
	X(target_id, "targetId") X(replacement, "replacement") X(label, "label") X(name, "name")

/* The fields that the index needs. */
#define HEAD_FIELDS(X) \
	X(id, "id") X(parent_id, "parentId") X(timestamp, "timestamp") X(target_id, "targetId") X(label, "label") \
	X(summary, "summary") X(provider, "provider") X(model, "model") X(usage, "usage") \
	X(content, "content") X(replacement, "replacement")

#define MESSAGE_FIELDS(X) \
	X(role, "role") X(content, "content") X(timestamp, "timestamp") \
	X(provider, "provider") X(model, "model") X(usage, "usage") X(stop_reason, "stopReason") \
	X(error_message, "errorMessage") X(diagnostics, "diagnostics") \
	X(tool_call_id, "toolCallId") X(tool_name, "toolName") X(is_error, "isError") X(details, "details") \
	X(command, "command") X(output, "output") X(exit_code, "exitCode") X(cancelled, "cancelled") \
	X(truncated, "truncated") X(full_output_path, "fullOutputPath") \
	X(exclude_from_context, "excludeFromContext") X(custom_type, "customType") X(display, "display") \
	X(summary, "summary") X(tokens_before, "tokensBefore") \
	X(nested_calls, "nestedCalls") X(duration, "durationMs")

#define BLOCK_FIELDS(X) \
	X(type_, "type") X(text, "text") X(thinking, "thinking") X(data, "data") X(mime_type, "mimeType") \
	X(id, "id") X(name, "name") X(arguments, "arguments") X(redacted, "redacted") \
	X(status, "status") X(error, "error") X(duration, "durationMs")
/* clang-format on */

#define RECORD_MEMBER(c, json) struct json_value c;

struct blocks;

struct record {
	struct span line; /* the JSON text without surrounding white space and without CR */
	enum json_kind kind;
	enum record_type type;
	enum record_role role; /* in an old format, the old name of custom is ROLE_CUSTOM */
	RECORD_FIELDS(RECORD_MEMBER)
	struct {
		MESSAGE_FIELDS(RECORD_MEMBER)
	} msg;
	const struct blocks *blocks; /* of msg.content, or NULL */
};

enum block_type { BLOCK_OTHER, BLOCK_TEXT, BLOCK_THINKING, BLOCK_IMAGE, BLOCK_TOOL_CALL };

struct block {
	enum block_type type;
	unsigned n; /* its number among those with this type, from 1 */
	BLOCK_FIELDS(RECORD_MEMBER)
};

/* Why a provider refuses content, if pi sends it. */
enum content_problem {
	CONTENT_FINE,
	CONTENT_EMPTY,         /* nothing but blank texts */
	CONTENT_NO_PICTURE,    /* the data of a picture is not of its type */
	CONTENT_LARGE_PICTURE, /* more than 5 MiB decoded, the limit of Anthropic's API */
};

/* The blocks of a message's content, if they fit. */
struct blocks {
	unsigned n;
	struct block v[8];
};

/* Walks the blocks of a content value. A string is one text block. */
struct block_iter {
	struct json j;
	bool live;
	bool nested; /* each object is a BLOCK_TOOL_CALL; other values are not */
	struct json_value string;
	const struct blocks *known;         /* or NULL: each call parses one */
	unsigned next;                      /* in `known` */
	unsigned seen[BLOCK_TOOL_CALL + 1]; /* by type */
};

/* Views `line`, which can be any bytes. Returns false if it is not valid JSON, or is null, false, 0 or "" (which pi
 * skips). A valid line that is not an object has kind != JSON_OBJECT and no fields. If a key occurs twice, the last
 * value counts, as in JSON.parse. `format` is the file's; NULL: the newest. */
bool record_parse(struct span line, const struct format *format, struct buf *deep, struct record *ret);

/* The same, but also keeps the blocks of the message's content. If they fit, ret->blocks is `blocks`, which must live
 * as long as *ret is used. */
bool record_parse_blocks(struct span line, const struct format *format, struct buf *deep, struct record *ret,
                         struct blocks *blocks);

#define USAGE_FIELDS 6

/* The parts of a line that the index needs, read in the same pass that validates it. An absent value has only its kind
 * set. */
struct record_head {
	enum json_kind kind;  /* JSON_NONE: malformed */
	bool falsy;           /* null, false, 0, "": pi skips it */
	bool message_missing; /* a message entry whose `message` is absent or null */
	bool old_custom;      /* the role is the old name of custom: in old formats, ROLE_CUSTOM */
	bool has_error;       /* as part_has_error */
	bool partial;         /* an assistant's message with stopReason deferred or length */
	bool no_text;         /* an assistant's message that ended normally without text other than white space */
	enum record_type type;
	enum record_role role;
	HEAD_FIELDS(RECORD_MEMBER)
	struct json_value tool_call_id, nested_calls, duration; /* of a message */
	struct json_value message_time;                         /* message.timestamp */
	struct {
		struct json_value provider, model, usage;
	} msg; /* of `message`, for any type */
	struct json_value
	    numbers[USAGE_FIELDS];    /* of msg.usage: input, output, cacheRead, cacheWrite, totalTokens, cost */
	bool has_content;             /* message.content exists */
	bool has_file_call;           /* a call has a file_action */
	bool details_failed;          /* a tool result whose details report an error, as OpenClaw writes */
	unsigned calls;               /* toolCall blocks seen (counting from 1) */
	unsigned images;              /* image blocks */
	enum content_problem problem; /* of a message, a custom_message, or a context_edit's replacement */
};

/* Reads the head of a line. on_call (or NULL) is called for each toolCall block of an assistant's message, in order,
 * with its `id` value (kind JSON_NONE if absent). It can also be called for blocks that do not count: only the last
 * `calls` calls do. */
void record_head(struct span line, struct buf *deep, struct record_head *ret,
                 void (*on_call)(void *arg, struct json_value id), void *arg);

void block_iter_init(struct block_iter *it, struct json_value content);
/* The same, but reuses the blocks of r if they are those in this content. */
void block_iter_init_of(struct block_iter *it, const struct record *r, struct json_value content);
bool block_next(struct block_iter *it, struct block *ret);
/* The same for the calls made by a tool: `nested` is a nestedCalls. */
void block_iter_init_nested(struct block_iter *it, struct json_value nested);

/* The action of a tool with this name on the file that its arguments name. Compares pi's names without case, `_` and a
 * final `file`. */
enum file_action { FILE_NONE, FILE_READ, FILE_WRITE, FILE_EDIT };
enum file_action file_action_of(struct json_value tool_name);
const char *file_action_name(enum file_action a);

/* Returns the fixed name: "message", "toolResult", ... NULL for OTHER and NONE. */
const char *record_type_name(enum record_type t);
const char *record_role_name(enum record_role r);

/* Conversation entries: message, custom_message, compaction, branch_summary. */
static inline bool record_is_conversation(enum record_type t)
{
	return t >= RECORD_MESSAGE && t <= RECORD_CUSTOM_MESSAGE;
}

#define NO_TIME INT64_MIN

/* Returns milliseconds since 1970 as `new Date(v).getTime()` does: numbers unchanged, strings in the form of
 * toISOString, with any number of digits after the second and perhaps an offset. Returns NO_TIME for other values, or
 * out of JavaScript's range. */
int64_t record_time(struct json_value v);
/* Returns new Date(v).getTime(): as record_time, 0 for null and false, 1 for true; NAN for other values. */
double record_date(struct json_value v);

#endif
