/* SPDX-License-Identifier: MIT */
/* render_text: shared by the text views: text that fits on one line of a file, and the rows of tree.txt. */
#ifndef SESSIONFS_RENDER_TEXT_H
#define SESSIONFS_RENDER_TEXT_H

#include "sessionfs/render/render.h"

/* Appends exact bytes (as session_label gives them) as valid UTF-8 without NUL, as JSON_CLEAN would have it. */
void text_add_clean(struct span exact, struct buf *out);

/* From `start` on: what is not well-formed UTF-8 becomes U+FFFD. */
void text_clean_from(struct buf *out, size_t start);

/* From `start` on: white space at both ends goes, by the rules of JavaScript's trim(). */
void text_trim_from(struct buf *out, size_t start);
/* From `start` on: cut to so many UTF-16 units, between characters. True if something was cut. */
bool text_truncate_from(struct buf *out, size_t start, size_t units);

/* From `start` on, which must be valid UTF-8: shortens more characters than that to that many, the last one being an
 * ellipsis. */
void text_shorten_from(struct buf *out, size_t start, size_t characters);

/* Appends a value on one line: a string decoded, anything else as its JSON text, nothing for an absent value or null.
 */
void text_add_inline(struct json_value v, struct buf *out);
/* Appends exact bytes, clean and on one line. */
void text_add_inline_exact(struct span exact, struct buf *out);

/* Appends at least the first `units` UTF-16 units of a string, without decoding all of a long one; not cut exactly. Any
 * other value as text_add_inline does. */
void text_add_prefix(struct json_value v, size_t units, struct buf *out);
/* Appends the first `units` of the text of a content of r (the text blocks with `between` in between), on one line and
 * trimmed. */
void text_add_content(const struct record *r, struct json_value content, const char *between, size_t units,
                      struct buf *out);

/* envelope.c. How many bytes at the beginning of a user message a program put before the words, as sessionfs(5) lists
 * them under `title`, with the white space behind. Looks at the first 64 KiB. */
size_t envelope_size(struct span text);
/* What follows, trimmed, without what a program put at the end; nothing if all of it is a program's. */
struct span text_words(struct span text);
/* The bytes of the skill that pi put before the words, as its parseSkillBlock() finds it, and the skill's name; 0:
 * there is none. */
size_t text_skill(struct span text, struct span *ret_name);

/* To the nearest whole number, halves up, as Math.round(). */
double js_round(double x);

/* Appends the kind of the entry: the role of a message, else the type; on one line. */
void text_add_role(const struct record *r, struct buf *out);

/* Reads what rows are made of. The rows of a message's tool calls are made once and kept, because their results may
 * stand anywhere below it, mixed with those of other messages. */
struct row_source {
	const struct session *s;
	struct reader reader;
	uint32_t *calls; /* by entry: where its calls begin in `ends`, plus one; 0: not read yet. NULL: none was read */
	struct buf texts; /* of the calls that have a result, one after the other */
	uint64_t *ends;   /* of each call in `texts` */
	size_t n_ends, cap_ends;
	size_t kind; /* how many bytes at the beginning of the row made last say what it is; SIZE_MAX: all of them. The
	                others were said by somebody */
};
void row_source_init(struct row_source *src, const struct session *s);
void row_source_release(struct row_source *src);

/* Appends the text of a record's row as pi's /tree shows it, but for a toolResult's, for which this is only its name.
 */
void text_add_row(const struct record *r, struct buf *out);
/* Appends the row's text as pi's /tree shows it. 0 or a negative errno. */
int row_add_text(struct row_source *src, uint32_t i, struct buf *out);
/* Appends the role or type (of a long one the beginning), `between`, and at most so many characters of the text. */
int row_add_summary(struct row_source *src, uint32_t i, const char *between, size_t characters, struct buf *out);

#endif
