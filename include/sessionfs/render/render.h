/* SPDX-License-Identifier: MIT */
/* render: the session's small generated files; producer.h has those with a segment for each entry. A session (locked
 * for reading by the caller) in, bytes in a buf out. Functions never lock, open files or know node ids; they append to
 * `out` and return 0 or a negative errno. Formats: sessionfs(5). */
#ifndef SESSIONFS_RENDER_H
#define SESSIONFS_RENDER_H

#include "sessionfs/session/context.h"
#include "sessionfs/session/session.h"

/* json.c */
/* `file`: the path of the session file relative to the source. `with_subagents`: its usage with theirs; NULL: it has
 * none. */
int render_info_json(const struct session *s, const char *file, const struct usage *with_subagents, struct buf *out);
int render_header_json(const struct session *s, struct buf *out);

/* tokens.c. Appends context.tsv as of entry `at`. Adds the tokens to `parts` (size_t; or NULL) by name: a role, a tool
 * or `thinking`, after a byte that tells tools from others. A part has the tokens by which it raises its message's. */
struct counters;
int render_context_tsv(const struct session *s, uint32_t at, struct counters *parts, struct buf *out);

/* one_line.c; one-line files end in a newline */
int render_title(const struct session *s, struct buf *out);
int render_name(const struct session *s, struct buf *out); /* nothing without one */
int render_cwd(const struct session *s, struct buf *out);  /* nothing without one */
/* Appends a shell script that resumes the session: pi with this path, in the session's working directory.
 * If the session is working, the script asks on a terminal if its file changed in the minute before it runs. */
int render_resume(const struct session *s, struct span path, struct buf *out);
int render_problems(const struct session *s, struct buf *out);
/* The beginning of the heading of labels.tsv. After it comes one number: the last line of the session file that was
 * read for the table. */
#define RENDER_LABELS_HEADING "# ID\tLABEL\tTEXT"
/* A label (exact bytes) as a cell of labels.tsv. */
void render_add_label_cell(struct span label, struct buf *out);
int render_labels_tsv(const struct session *s, struct buf *out);
/* Appends the text of entry i in its third column as two cells: the role or type, and the text. */
int render_add_label_cells(const struct session *s, uint32_t i, struct buf *out);
/* Appends the first user message with text (its text blocks joined by a space), as clean text; nothing if none has
 * text. */
int render_first_message(const struct session *s, struct buf *out);
/* envelope.c. Whose words a user message has: a skill without words counts as words; NONE: only metadata, or nothing.
 */
enum words_kind { WORDS_NONE, WORDS_OF_PROGRAM, WORDS_OF_USER };
/* Appends the words of a user message; the message if it has none. Its text blocks are joined by `between`. */
enum words_kind render_add_words(const struct record *r, const char *between, enum json_decode how, struct buf *out);
/* Returns 1 if the session has user messages and programs wrote all of them (heartbeats, reminders), else 0. */
int render_is_automatic(const struct session *s);

/* text.c. Replaces each control character (control_size) from `start` on with a space. */
void text_flatten_from(struct buf *out, size_t start);
/* For a page, drops commands to a terminal from `start` on: sequences (CSI, OSC), the part of a line before a CR, which
 * a terminal overwrites, and with `controls` other control characters, except TAB and newline. */
void text_drop_commands_from(struct buf *out, size_t start, bool controls);
/* Appends a text as the cell of a table: TAB, newline, NUL and backslash as \t, \n, \0 and \\. */
void text_add_cell(struct span text, struct buf *out);
/* Appends a duration: 1.5 h, 12 min. */
void text_add_duration(double ms, struct buf *out);

/* tree.c. Appends one row for each conversation entry: its ID, the connecting lines, its text. A row more than 64
 * levels deep shows the innermost 64, after the number of the others in parentheses. */
int render_tree_txt(const struct session *s, struct buf *out);
/* The same for a terminal: with colours, and without any other terminal command. */
int render_tree_coloured(const struct session *s, struct buf *out);
/* Returns whether it has rows. The first row is rarely far from the beginning. */
bool render_tree_exists(const struct session *s);

/* The last digits of sums of doubles are wrong, so costs are shown with this many decimals. */
#define RENDER_COST_DECIMALS 9
/* Fewer for people: in the front matter of Markdown. */
#define RENDER_FRONT_DECIMALS 4

/* Returns whether a transcript has segments with text. */
bool render_transcript_exists(const struct session *s, uint32_t at);

/* Returns whether chat.md has more than its title. */
bool render_chat_exists(const struct session *s, uint32_t at);

/* Returns whether one of the first entries has text in all.txt. False: only its contents can tell. */
bool render_all_exists(const struct session *s);

#endif
