/* rows: the order in which a session's tree is drawn. */
#ifndef SESSIONFS_RENDER_ROWS_H
#define SESSIONFS_RENDER_ROWS_H

#include "sessionfs/session/session.h"

/* tree.c. All entries, session_count() of them, in the order of pi's /tree: depth first, of siblings the one that
 * leads to the leaf first, the others by time. So an entry stands right behind its parent, or begins a branch. Entries
 * that are each other's ancestors come last. The caller frees *ret. 0 or a negative errno. */
int order_entries(const struct session *s, uint32_t **ret);

/* The rows of tree.txt. */
struct tree_row {
	uint32_t entry;
	uint32_t level; /* how far it stands to the right */
	bool is_active; /* on the way from the root to the leaf */
	bool is_leaf;   /* where tree.txt says so */
};
/* In their order. The caller frees *ret. 0 or a negative errno. */
int tree_rows(const struct session *s, struct tree_row **ret, size_t *ret_n);

#endif
