/* SPDX-License-Identifier: MIT */
/* pieces: what producers share. producer.h says what functions of its kind do. */
#ifndef SESSIONFS_RENDER_PIECES_H
#define SESSIONFS_RENDER_PIECES_H

#include "sessionfs/render/producer.h"
#include "sessionfs/session/part.h"

/* front.c. The entries of the path (uint32_t) as items: transcripts. */
int path_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n);
int path_items_newer(const struct render_target *p, uint32_t first, uint32_t last, struct render_totals *t, void **ret,
                     size_t *ret_n);
/* The messages that the model is sent (struct context_item) as items. */
int context_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n);

/* The front matter of the Markdown views. */
int front_matter_add(const struct render_target *p, const struct render_totals *t, struct buf *out);
/* The same, but reads the whole path for its usage, instead of taking that of the segments. */
int front_matter_add_path(const struct render_target *p, const struct render_totals *t, struct buf *out);

/* tree.c. All entries, session_count() of them, in the order of pi's /tree: depth first, of siblings the one that
 * leads to the leaf first, the others by time. So an entry stands right behind its parent, or begins a branch. Entries
 * that are each other's ancestors come last. The caller frees *ret. 0 or a negative errno. */
int order_entries(const struct session *s, uint32_t **ret);

/* The rows of tree.txt. */
struct tree_row {
	uint32_t entry;
	uint32_t level; /* how far it stands to the right of the active branch, which is at 0 */
	bool is_active; /* on the way from the root to the leaf */
	bool is_leaf;   /* where tree.txt says so */
};
/* In their order. The caller frees *ret. 0 or a negative errno. */
int tree_rows(const struct session *s, struct tree_row **ret, size_t *ret_n);

/* chat.c: what its lines say. */
/* Whether chat.md has a heading, a line or a mark for entry i, the record of which is r. */
bool chat_has_entry(const struct session *s, uint32_t i, const struct record *r);
/* Appends the line of an error that says most, shortened. */
void chat_reason(struct span clean, struct buf *out);
/* How long a call took, ms: as its result (r is its record) says it, else from its entry (or NO_ENTRY) to the result's.
 * NAN: it is not known. */
double chat_took(const struct session *s, uint32_t caller, uint32_t result, const struct record *r);
/* Appends a time after a dot; nothing if it is NAN. */
void chat_duration(double ms, struct buf *out);
/* Appends how a nested call ended: its error, and how long it took. 0 or a negative errno. */
int chat_nested_end(const struct part_call *call, struct buf *out);

#endif
