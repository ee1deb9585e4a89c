/* SPDX-License-Identifier: MIT */
/* rows: what the files with the rows of the table share. */
#ifndef SESSIONFS_TREE_ROWS_H
#define SESSIONFS_TREE_ROWS_H

#include "write_impl.h"

#define ROWS(array)                                                                                                    \
	{                                                                                                              \
		.v = (array), .n = sizeof(array) / sizeof *(array)                                                     \
	}

/* root.c */

/* Appends the way to a session's directory; `up` leads to projects/. */
int link_session(struct ctx *c, const char *up, const struct slot_info *s, struct buf *out);
bool project_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name);
extern const struct rows rows_projects, rows_project, rows_sessions;

/* groups.c, search.c, html.c */
extern const struct rows rows_by_date, rows_day, rows_by_project, rows_titles, rows_search, rows_query, rows_html,
    rows_html_project, rows_all_labels, rows_labelled;
/* A link to an entry from two directories below the root. */
int hit_show(struct ctx *c, struct buf *out);

/* readme.c */
int readme_show(struct ctx *c, struct buf *out);

/* session.c */

/* Appends the n lines of text in byte order. */
int add_sorted(struct span text, size_t n, struct buf *out);
/* Appends up to n bytes of the session file. */
int add_bytes(struct ctx *c, uint64_t off, size_t n, struct buf *out);
/* Whether the session, or the branch, has such a view. */
bool context_md_has(struct ctx *c);
bool transcript_has(struct ctx *c);
bool chat_has(struct ctx *c);
bool position_has(struct ctx *c);
/* Whether the file has any contents: it is made to know that, and kept. */
bool view_has(struct ctx *c);

/* entry.c */

/* Appends the way to an entry's directory; `up` leads to entries/. */
void link_entry(struct ctx *c, const char *up, uint32_t i, struct buf *out);
/* Appends the entry's name as a line. */
void add_entry_line(struct ctx *c, uint32_t i, struct buf *out);
/* list_child for entry i, with the name that `called` appends. */
int list_entry(struct ctx *dir, const struct lister *l, uint32_t i,
               void (*called)(struct ctx *, uint32_t, struct buf *), struct buf *name);
extern const struct rows rows_entries, rows_entry;

/* parts.c */

/* Whether an entry has any. */
bool tool_calls_has(struct ctx *c);
bool images_has(struct ctx *c);
/* Appends the name of call n of an entry other than c's. */
int call_name_of(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out);
extern const struct rows rows_tool_calls, rows_call, rows_images;

/* branch.c */
extern const struct rows rows_branches, rows_branch;

/* label.c */
bool label_has(struct ctx *c);
extern const struct rows rows_labels;

#endif
