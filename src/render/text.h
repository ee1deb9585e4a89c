/* SPDX-License-Identifier: MIT */
/* text: shared by the text views: one-line texts, and the rows of tree.txt. */
#ifndef SESSIONFS_RENDER_TEXT_H
#define SESSIONFS_RENDER_TEXT_H

#include "sessionfs/render/render.h"

/* Appends exact bytes (as session_label gives them) as valid UTF-8 without NUL, as for JSON_CLEAN. */
void text_add_clean(struct span exact, struct buf *out);

/* Replaces invalid UTF-8 from `start` on with U+FFFD. */
void text_clean_from(struct buf *out, size_t start);

/* The thread makes a page: text_flatten_from drops commands to a terminal, too. */
extern _Thread_local bool text_is_for_page;

/* Trims the text from `start` on, by the rules of JavaScript's trim(). */
void text_trim_from(struct buf *out, size_t start);
/* Puts the text from `start` on on one line, trimmed. */
void text_make_line_from(struct buf *out, size_t start);
/* Cuts the text from `start` on to at most `units` UTF-16 units, between characters. Returns true if it was longer. */
bool text_truncate_from(struct buf *out, size_t start, size_t units);

/* Puts the text from `start` on, which must be valid UTF-8, on one line, trims it and shortens it to at most
 * `characters`, the last one an ellipsis. */
void text_shorten_from(struct buf *out, size_t start, size_t characters);

/* Appends a value on one line: a string decoded, any other value as its JSON text, nothing if it is absent or null. */
void text_add_inline(struct json_value v, struct buf *out);
/* Appends exact bytes, clean and on one line. */
void text_add_inline_exact(struct span exact, struct buf *out);

/* Appends at least the first `units` UTF-16 units of a string, without decoding all of a long one; the cut is not
 * exact. Appends any other value as text_add_inline does. */
void text_add_prefix(struct json_value v, size_t units, struct buf *out);
/* Appends the first `units` of the text of r's content (its text blocks joined by `between`), on one line and trimmed.
 */
void text_add_content(const struct record *r, struct json_value content, const char *between, size_t units,
                      struct buf *out);

/* Appends the text blocks of a message, joined by `between`; of each at least the first 128 KiB. */
void text_add_blocks(const struct record *r, const char *between, enum json_decode how, struct buf *out);

/* Returns the sections and tools of a system message as a JSON string in `own`; absent if it has none. */
struct json_value text_of_system(struct json_value message, struct buf *own);

/* envelope.c: a text, without what programs put around a user's words, as sessionfs(5) lists under "The user's words",
 * and without an assistant's directives. The spans are parts of the text; `words` is all of it if nothing would be
 * left. */
struct user_text {
	struct span before, after;
	struct span skill, skill_text; /* the name of a skill, and what pi put before the words */
	struct span words;             /* empty if only the skill was called */
	enum words_kind kind;
};
void text_split(enum record_role role, struct span text, struct user_text *ret);
/* Appends "N lines of metadata" between two texts for what is before or after the words; nothing if that is blank. */
void text_add_metadata(const char *begin, struct span part, const char *end, struct buf *out);

/* Appends the kind of the entry: the role of a message, else the type; on one line. */
void text_add_role(const struct record *r, struct buf *out);

/* Reads the texts of rows. Caches the rows of a message's tool calls, because their results can be anywhere below it,
 * mixed with results of other messages. */
struct row_source {
	const struct session *s;
	struct reader reader;
	uint32_t *calls;  /* by entry: its first index in `ends`, plus one; 0: not read. NULL: none was read */
	struct buf texts; /* the calls that have a result, one after the other */
	uint64_t *ends;   /* of each call in `texts` */
	size_t n_ends, cap_ends;
	size_t kind; /* the size of the last row's beginning that names its kind; SIZE_MAX: the whole row. The rest is
	                session text */
};
void row_source_init(struct row_source *src, const struct session *s);
void row_source_release(struct row_source *src);

/* Appends the text of a record's row in a page, as pi's /tree shows it, without an assistant's directives; for a
 * toolResult, only its name. */
void text_add_row(const struct record *r, struct buf *out);
/* Appends the row's text: of a toolResult the summary of its call, of others as pi's /tree shows them. Returns 0 or a
 * negative errno. */
int row_add_text(struct row_source *src, uint32_t i, struct buf *out);
/* Appends the role or type (shortened), `between`, and at most `characters` characters of the text. */
int row_add_summary(struct row_source *src, uint32_t i, const char *between, size_t characters, struct buf *out);

#endif
