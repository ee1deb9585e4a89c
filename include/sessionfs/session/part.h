/* SPDX-License-Identifier: MIT */
/* part: the contents of one entry, as the files of entries/ID/. Pure: a record in, bytes out. A function with a size_t
 * result returns how many bytes it appends; 0: the file does not exist. With NULL for `out` it only counts them. */
#ifndef SESSIONFS_PART_H
#define SESSIONFS_PART_H

#include "sessionfs/session/record.h"

/* type and role, each with a newline. role: messages only (hookMessage as custom in old files). */
size_t part_type(const struct record *r, struct buf *out);
size_t part_role(const struct record *r, struct buf *out);
/* provider/model plus newline: assistant messages and model changes. */
size_t part_model(const struct record *r, struct buf *out);

/* text.md and thinking.md by the rules in sessionfs(5), ending in a newline. */
size_t part_text(const struct record *r, struct buf *out);
size_t part_thinking(const struct record *r, struct buf *out);

/* error: the error's text by the rules in sessionfs(5), ending in a newline. */
bool part_has_error(const struct record *r);
size_t part_error(const struct record *r, struct buf *out);

/* usage.json: the entry's or its message's usage as stored, plus a newline. */
struct json_value part_usage(const struct record *r); /* kind JSON_NONE: no file */

/* Image blocks, counted from 1, including those with no bytes. */
struct part_image {
	unsigned n;
	const char *type, *ext; /* part_image_type, and the name's extension */
	struct json_value data;
	size_t size;            /* decoded bytes; 0: no file */
	struct block_iter rest; /* where the next call continues; all zero before the first */
};
/* Returns the type of a picture, in which no browser runs a script, or NULL. */
const char *part_image_type(struct json_value mime_type);
/* Decodes only the first bytes. Types whose data has no signature here are refused. */
enum content_problem part_image_problem(const struct block *b);
/* Parses an image block. */
void part_image_of(const struct block *b, struct part_image *ret);
/* Sets *ret to the image block after `ret->n` (set it to 0 to begin); false after the last one. */
bool part_image_next(const struct record *r, struct part_image *ret);
/* Appends the decoded bytes, base64 decoded as Node's Buffer.from(..., "base64") does. */
void part_image(const struct part_image *img, struct buf *out);

/* How a nested call, one made by a tool, ended. For other calls, see their results. */
enum nested { NESTED_NOT, NESTED_OPEN, NESTED_DONE, NESTED_FAILED };
/* Tool calls, counted from 1. */
struct part_call {
	unsigned n;
	enum nested nested;
	struct json_value id, name, arguments;
	struct json_value error, duration; /* of a nested call */
	struct block_iter rest;            /* as above */
};
/* Parses a tool call's block. */
void part_call_of(const struct block *b, bool nested, struct part_call *ret);
/* Goes to the next call, as part_image_next. An assistant's message has its calls; a toolResult has its tool's calls:
 * nestedCalls. */
bool part_call_next(const struct record *r, struct part_call *ret);
/* Begins a walk over the calls of r: each BLOCK_TOOL_CALL is one. */
void part_calls_begin(const struct record *r, struct block_iter *ret);
/* Appends the error of a nested call that failed, ending in a newline; nothing for other calls. */
void part_call_error(const struct part_call *c, struct buf *out);
/* Appends the call's directory below tool-calls/, N-NAME; and the NAME alone. */
void part_call_component(const struct part_call *c, struct buf *out);
void part_call_name(const struct part_call *c, struct buf *out);
/* arguments.json: pretty-printed, plus a newline. */
void part_arguments(const struct part_call *c, struct buf *out);

/* Returns the content that has the blocks: the message's, or a custom_message's own. */
struct json_value part_content(const struct record *r);
/* Returns the summary, of a message or of the record, if its type has one. */
struct json_value part_summary(const struct record *r);
/* Returns the role of an entry's message; a summary or custom_message has the role that pi gives it as a message. */
enum record_role part_role_as(enum record_type type, enum record_role role);

#endif
