/* SPDX-License-Identifier: MIT */
/* rows: declarations shared by the files with the rows of the table. */
#ifndef SESSIONFS_TREE_ROWS_H
#define SESSIONFS_TREE_ROWS_H

#include "write_impl.h"

#define ROWS(array)                                                                                                    \
	{                                                                                                              \
		.v = (array), .n = sizeof(array) / sizeof *(array)                                                     \
	}

/* root.c */

/* html.c: appends the path of a session's page below html/. Returns 0, or -ESTALE if the session was removed. */
int html_append_page_path(struct tree *t, const struct slot_info *s, struct buf *out);
/* Appends the path to a session's directory; `up` leads to projects/. */
int append_session_path(struct ctx *c, const char *up, const struct slot_info *s, struct buf *out);
bool project_name_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name);
extern const struct kind_rows rows_projects, rows_project, rows_sessions;

/* The number of a group or query is in the slot, entry and part of its node. */
#define NODE_NUMBER_BITS (NODE_SLOT_BITS + NODE_ENTRY_BITS - 1 + NODE_PART_BITS)

static inline struct node node_of_number(unsigned kind, uint64_t number)
{
	return (struct node){.kind = kind,
	                     .slot = (uint32_t)(number >> (NODE_ENTRY_BITS - 1 + NODE_PART_BITS)),
	                     .entry = (uint32_t)(number >> NODE_PART_BITS) & (NODE_ENTRIES - 1),
	                     .part = (uint32_t)number & (NODE_PARTS - 1)};
}

static inline uint64_t node_number(struct node n)
{
	return ((uint64_t)n.slot << (NODE_ENTRY_BITS - 1) | n.entry) << NODE_PART_BITS | n.part;
}

/* groups.c, search.c, html.c */
extern const struct kind_rows rows_by_date, rows_day, rows_by_project, rows_titles, rows_search, rows_query, rows_html,
    rows_html_project, rows_all_labels, rows_labelled;
/* A link to an entry from two directories below the root. */
int hit_show(struct ctx *c, struct buf *out);

/* readme.c */
int readme_show(struct ctx *c, struct buf *out);

/* session.c */

/* Appends the n lines of text in byte order. */
int append_sorted_lines(struct span text, size_t n, struct buf *out);
/* Appends up to n bytes of the session file. */
int session_add_bytes(struct ctx *c, uint64_t off, size_t n, struct buf *out);
/* True if the session, or the branch, has such a view. */
bool context_exists(struct ctx *c);
int context_tsv_show(struct ctx *c, struct buf *out);
bool transcript_exists(struct ctx *c);
bool chat_exists(struct ctx *c);
bool position_exists(struct ctx *c);
/* True if the file has any contents: renders and caches it to find out. */
bool view_file_exists(struct ctx *c);

/* entry.c */

/* Appends the path to an entry's directory; `up` leads to entries/. */
void append_entry_path(struct ctx *c, const char *up, uint32_t i, struct buf *out);
/* Appends the entry's name as a line. */
void append_entry_name_line(struct ctx *c, uint32_t i, struct buf *out);
/* list_emit_child for entry i, under the name that `called` appends. */
int entry_list_child(struct ctx *dir, const struct lister *l, uint32_t i,
                     void (*called)(struct ctx *, uint32_t, struct buf *), struct buf *name);
extern const struct kind_rows rows_entries, rows_entry;

/* parts.c */

/* True if the entry has any. */
bool tool_calls_exist(struct ctx *c);
bool images_exist(struct ctx *c);
/* Returns the number at the beginning of a name; 0 if it is missing or more than UINT32_MAX. */
uint32_t name_leading_number(struct span name);
/* Appends the name of call n of an entry other than c's. */
int call_append_name_of(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out);
extern const struct kind_rows rows_tool_calls, rows_call, rows_images;

/* branch.c */
extern const struct kind_rows rows_branches, rows_branch;

/* label.c */
bool label_dir_exists(struct ctx *c);
extern const struct kind_rows rows_labels;

#endif
