/* SPDX-License-Identifier: MIT */
/* pieces: shared by the producers. producer.h has the rules for functions of a producer. */
#ifndef SESSIONFS_RENDER_PIECES_H
#define SESSIONFS_RENDER_PIECES_H

#include "sessionfs/render/producer.h"
#include "sessionfs/session/part.h"

/* front.c. List the entries of the path (uint32_t): transcripts. */
int path_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n);
int path_items_newer(const struct render_target *p, uint32_t first, uint32_t last, struct render_totals *t, void **ret,
                     size_t *ret_n);
/* Lists the messages that the model gets (struct context_item). */
int context_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n);

/* json.c. Reads a message of the context as the model is sent it: role and msg of *ret are the message's, whatever its
 * entry is. *ret_replaced: the content is not the stored one. *ret points into `reader`, and into its scratch[0].
 * Returns 0 or a negative errno. */
int context_read_message(const struct session *s, const struct context_item *item, struct reader *reader,
                         struct record *ret, bool *ret_replaced);

/* Appends the front matter of the Markdown views. */
int front_matter_add(const struct render_target *p, const struct render_totals *t, struct buf *out);
/* The same, but reads the whole path for its usage, instead of using the sum of the segments. */
int front_matter_add_path(const struct render_target *p, const struct render_totals *t, struct buf *out);

/* tree.c. Returns all entries, session_count() of them, in the order of pi's /tree: depth first; among siblings first
 * the one that leads to the leaf, then the others by time. So an entry comes directly after its parent, or begins a
 * branch. Entries on a cycle come last. The caller frees *ret. Returns 0 or a negative errno. */
int order_entries(const struct session *s, uint32_t **ret);

/* The rows of tree.txt. */
struct tree_row {
	uint32_t entry;
	uint32_t level; /* how far it is indented from the active branch, which is at 0 */
	bool is_active; /* on the path from the root to the leaf */
	bool is_leaf;   /* marked as the leaf in tree.txt */
};
/* Returns the rows in their order. The caller frees *ret. Returns 0 or a negative errno. */
int tree_rows(const struct session *s, struct tree_row **ret, size_t *ret_n);

/* chat.c: the parts of its lines. */
/* Returns whether chat.md has a heading, a line or a mark for entry i, whose record is r. */
bool chat_has_entry(const struct session *s, uint32_t i, const struct record *r);
/* Appends the most informative line of an error, shortened. */
void chat_reason(struct span clean, struct buf *out);
/* Appends a dot and how long a call took: as its result says (r is its record), else the time from its entry (or
 * NO_ENTRY) to the result's. Appends nothing if that is unknown. */
void chat_duration(const struct session *s, uint32_t caller, uint32_t result, const struct record *r, struct buf *out);
/* Appends how a nested call ended: its error and its duration. */
void chat_nested_end(const struct part_call *call, struct buf *out);

#endif
