/* SPDX-License-Identifier: MIT */
/* edit: a written value as records to append. Pure: an index in, lines out.
 *
 * Records are as pi writes them: key order, 8 hex digit ids that are not taken, ISO timestamps. The parent of labels,
 * names and context edits is the newest entry, which keeps the conversation on its branch. The parent of a branch, or
 * of a move of the leaf, is the entry they go to. Writing the value already shown makes no record. */
#ifndef SESSIONFS_EDIT_H
#define SESSIONFS_EDIT_H

#include "sessionfs/session/session.h"

struct edit_builder;
struct edit;

/* Appends the records of a change to the output. Only edit_make calls it. */
typedef int edit_records(struct edit_builder *w, const struct edit *e, bool again);

edit_records edit_labels; /* one or more labels set or cleared */
edit_records edit_name;   /* the session's name; empty clears */
edit_records edit_branch; /* a branch_summary with text at an entry */
edit_records edit_leaf;   /* a branch_summary without text: moves the leaf */
edit_records
    edit_context; /* a context_edit with this content, null, or (empty) the entry's own content; else -EINVAL */

struct edit_label {
	uint32_t entry;
	struct span text; /* exact bytes; empty clears */
};

struct edit {
	edit_records *records;
	const struct edit_label *labels; /* edit_labels */
	size_t n;
	struct span text;     /* edit_name, edit_branch, edit_context */
	uint32_t entry;       /* of edit_branch, edit_leaf, edit_context; else NO_ENTRY */
	const char **ret_why; /* of edit_context: set to the reason of -EINVAL (static text), else to NULL */
	/* The lines that edit_make appended in the previous attempt. They are in the file by now, but must not become a
	 * parent: their parent is not the newest entry any more. */
	struct span written;
};

/* Appends the lines to `out`, each with a newline; none if nothing would change. `again`: other lines were appended
 * meanwhile, so the records are written again, with the current parent. `now_ms`: the time for their timestamps.
 * Returns 0 or a negative errno: -EPERM for an entry that pi cannot address, or a file without ids; -ENOENT for a
 * missing entry. */
int edit_make(const struct session *s, const struct edit *e, bool again, int64_t now_ms, struct buf *out);

/* A labels.tsv being saved. Its heading names the last line of the session file that the table is made from. A row that
 * equals the table as of that line was not edited: the label keeps later changes by others. Without a heading the table
 * counts as made now. */
struct edits_from_table {
	struct span text; /* from value_parse */
	/* Returns whether an earlier save of this table set this label (empty: none) of the entry. NULL: none. */
	bool (*is_saved_here)(void *arg, uint32_t line, uint32_t entry, struct span label);
	void *arg;
	uint32_t line; /* set by edits_from_table: the line in the heading */
};

/* Reads the table into the labels that it changes. The caller frees *ret_labels and releases `text`, which they point
 * into. Returns -EINVAL with the reason in *why (formatted, with the line) for an invalid table. */
int edits_from_table(const struct session *s, struct edits_from_table *table, struct buf *text,
                     struct edit_label **ret_labels, size_t *ret_n, struct buf *why);

#endif
