/* SPDX-License-Identifier: MIT */
/* render: the session's small generated files; those with a piece for each entry are in producer.h. A session
 * (locked for reading by the caller) in, bytes in a buf out; they never lock, open files or know node ids. Each returns
 * 0 or a negative errno; what `out` held before stays in front. Formats: sessionfs(5). */
#ifndef SESSIONFS_RENDER_H
#define SESSIONFS_RENDER_H

#include "sessionfs/session/context.h"
#include "sessionfs/session/session.h"

/* json.c */
/* `file`: the session file's path relative to the source, for info.json. */
int render_info_json(const struct session *s, const char *file, struct buf *out);
int render_header_json(const struct session *s, struct buf *out);

/* txt.c; one-line files end in a newline */
int render_title(const struct session *s, struct buf *out);
int render_name(const struct session *s, struct buf *out); /* nothing if there is none */
int render_cwd(const struct session *s, struct buf *out);  /* nothing if there is none */
/* A script for sh that goes on with the session: pi with this path, in the session's working directory. */
int render_resume(const struct session *s, struct span path, struct buf *out);
int render_problems(const struct session *s, struct buf *out);
/* The beginning of the heading of labels.tsv. The only number behind it is that of the last line of the session file
 * from which the table was made. */
#define RENDER_LABELS_HEADING "# ID\tLABEL\tTEXT"
/* A label (exact bytes) as a cell of labels.tsv. */
void render_add_label_cell(struct span label, struct buf *out);
int render_labels_tsv(const struct session *s, struct buf *out);
/* What its third column says of entry i, as two cells: the role or type, and the text. */
int render_add_label_cells(const struct session *s, uint32_t i, struct buf *out);
/* The first user message with text (its text blocks joined by a space), as clean text; nothing if there is none. */
int render_first_message(const struct session *s, struct buf *out);

/* text.c. From `start` on: each control character (control_size) becomes a space. */
void text_flatten_from(struct buf *out, size_t start);
/* Appends a text as the cell of a table: TAB, newline, NUL and backslash as \t, \n, \0 and \\. */
void text_add_cell(struct span text, struct buf *out);

/* tree.c. One row for each conversation entry: its ID, the lines that lead to it, its text. A row more than 64
 * levels deep shows the innermost 64, after the number of the others in parentheses. */
int render_tree_txt(const struct session *s, struct buf *out);
/* The same for a terminal: with colours, and nothing in it but these is a command to the terminal. */
int render_tree_coloured(const struct session *s, struct buf *out);
/* Whether it has any row. The first one is rarely far from the beginning. */
bool render_tree_exists(const struct session *s);

/* Sums of doubles are wrong in the last digits, so costs are shown with this many decimals. */
#define RENDER_COST_DECIMALS 9
/* Fewer where only people look: in the front matter of Markdown. */
#define RENDER_FRONT_DECIMALS 4

/* What is said of a whole session. Times are in ms since 1970, NAN if there is none. */
/* new Date(v).getTime() */
double json_to_ms(struct json_value v);
/* When the session was begun, and changed last. */
double render_created(const struct session *s);
double render_modified(const struct session *s);
/* Appends "provider/model" of what the usage was for, "unknown" without. */
void render_usage_model(const struct record *r, enum json_decode how, struct buf *out);

/* Whether a transcript has any segments with text. */
bool render_transcript_exists(const struct session *s, uint32_t at);

/* Whether chat.md has anything but its title. */
bool render_chat_exists(const struct session *s, uint32_t at);

/* Whether one of the first entries says something that all.txt has. False: only its contents can tell. */
bool render_all_exists(const struct session *s);

#endif
