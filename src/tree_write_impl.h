/* tree_write_impl: what the files of the writing half share. */
#ifndef SESSIONFS_TREE_WRITE_IMPL_H
#define SESSIONFS_TREE_WRITE_IMPL_H

#include "sessionfs/edit.h"
#include "sessionfs/scratch.h"
#include "sessionfs/stage.h"
#include "sessionfs/tree_write.h"
#include "sessionfs/value.h"
#include "tree_impl.h"

/* tree_commit.c: from a value to an append. Refusals are noted with their reason. */

/* Takes a whole text as the value of the writable file `n`. */
int commit_value(struct tree *t, struct node n, struct span text, bool sync);
/* Whether commit_value would take it, without the append: what can be known before. */
int commit_check(struct tree *t, struct node n, struct span text);
/* Notes that the writable file `n` refused a text, and why (NULL: what rc says). Returns rc. */
int commit_refused(struct tree *t, struct node n, int rc, const char *why);
/* Sets and clears labels, all with one append. `what` names them in a refusal. */
int commit_labels(struct tree *t, uint32_t slot, const struct edit_label *labels, size_t n, const char *what);
int commit_leaf(struct tree *t, uint32_t slot, uint32_t entry);
int commit_sync(struct tree *t, uint32_t slot);
/* Whether this mount and the session file take writes: 0, -EROFS, -EACCES, -ESTALE. */
int commit_allowed(struct tree *t, uint32_t slot);

/* tree_state.c: what is true of writable names for a moment */

/* A name that was renamed or removed to be made anew: gone until it is, ten seconds at most. */
void state_hide(struct tree *t, struct node n);
void state_show(struct tree *t, struct node n);
/* A name that was created and not yet written: an empty file while it is open. */
int state_fresh(struct tree *t, struct node n);
void state_settled(struct tree *t, struct node n);
/* Notes why a write was refused: for the log, `errors` and state_refused_lately. */
void state_refuse(struct tree *t, struct node n, const char *what, int rc, const char *why);
/* Whether a write of this name was refused within the last second: an unlink that follows is the tool's cleaning up. */
bool state_refused_lately(struct tree *t, struct node n);

#endif
