/* render: producers of the session's and branches' generated files. A session
 * (locked for reading by the caller) and a place in it in, bytes in a buf out;
 * they never lock, open files or know node ids. Each returns 0 or a negative
 * errno; what `out` held before stays in front. Formats: sessionfs(5). */
#ifndef SESSIONFS_RENDER_H
#define SESSIONFS_RENDER_H

#include "sessionfs/session/context.h"
#include "sessionfs/session/session.h"

/* render_json.c */
int render_context_json(const struct session *s, uint32_t at, struct buf *out);
/* `file`: the session file's path relative to the source, for info.json. */
int render_info_json(const struct session *s, const char *file, struct buf *out);
int render_header_json(const struct session *s, struct buf *out);

/* render_txt.c; one-line files end in a newline */
int render_title(const struct session *s, struct buf *out);
int render_name(const struct session *s, struct buf *out); /* nothing if there is none */
int render_cwd(const struct session *s, struct buf *out);  /* nothing if there is none */
int render_problems(const struct session *s, struct buf *out);
/* How the heading of labels.tsv begins. The only number behind it is that of the line of the session file that the
 * table is as of. */
#define RENDER_LABELS_HEADING "# ID\tLABEL\tTEXT"
/* A label (exact bytes) as a cell of labels.tsv. */
void render_label_cell(struct span label, struct buf *out);
int render_labels_tsv(const struct session *s, struct buf *out);
/* The first user message with text (its text blocks joined by a space), as clean text; nothing if there is none. */
int render_first_message(const struct session *s, struct buf *out);
/* One line that describes entry i, what tree.txt shows of it ("user: ...", "[bash: ls]"), no newline. */
int render_entry_line(const struct session *s, uint32_t i, struct buf *out);

/* render_tree.c. One row for each conversation entry: its ID, the lines that lead to it, its text. A row more than 64
 * levels deep shows the innermost 64, after the number of the others in parentheses. */
int render_tree_txt(const struct session *s, struct buf *out);

/* render_md.c. `prefix` leads from the file's directory to the session's: "" for the session's own files, "../../" for
 * those in branches/ID; links to images begin with it. */

/* What part_usage says of some entries, added up in doubles as JavaScript would. Where totalTokens is absent or 0, as
 * older versions of pi and some providers leave it, the four are added up instead. */
struct render_usage {
	double input, output, cache_read, cache_write, total, cost;
};
/* Sums of doubles are off in the last digits: costs are shown with so many decimals. */
#define RENDER_COST_DECIMALS 9
void render_usage_add(struct render_usage *u, const struct record *r);

/* Both views begin with front matter. Whether anything follows it (context.md: context_any_sent): else there is none.
 */
bool render_transcript_has(const struct session *s, uint32_t at);

int render_context_md(const struct session *s, uint32_t at, const char *prefix, struct buf *out);
/* transcript.md is a front matter and one segment an entry of session_path(s, at): the file is their concatenation,
 * so that any part of it can be made alone. A segment depends on its entry, its label and its ancestors only; it is
 * empty for ENTRY_NO_MESSAGE. `usage` of a segment (or NULL): the entry's usage is added to it in passing. The front
 * takes the sum over the whole path; with NULL it reads every entry of the path for it. */
int render_transcript_front(const struct session *s, uint32_t at, const uint32_t *path, size_t n,
                            const struct render_usage *usage, struct buf *out);
/* The same for whoever has gone along the path already. */
int render_transcript_front_of(const struct session *s, uint32_t at, const struct context *settings,
                               const struct render_usage *usage, struct buf *out);
int render_transcript_segment(const struct session *s, uint32_t i, struct reader *reader, struct render_usage *usage,
                              const char *prefix, struct buf *out);

#endif
