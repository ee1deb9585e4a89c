/* tree_write_impl: what the files of the writing half share. */
#ifndef SESSIONFS_TREE_WRITE_IMPL_H
#define SESSIONFS_TREE_WRITE_IMPL_H

#include "sessionfs/write/edit.h"
#include "sessionfs/write/scratch.h"
#include "sessionfs/write/stage.h"
#include "sessionfs/tree/write.h"
#include "sessionfs/write/value.h"
#include "tree_impl.h"

/* tree/writable.c: one row for each name that can be written. What it reads back as is its kind's `show`. */
struct writable {
	/* Files: what their text is, and the change that a value of it means (*one is memory for a label). */
	const struct value_form *form;
	struct edit (*edit)(uint32_t entry, struct span value, struct edit_label *one);
	/* Links: sets what `name` in `dir` leads to, which is *ret_entry then. */
	int (*link)(struct tree *t, node_t dir, struct span name, const char *target, uint32_t *ret_entry);
	/* Links that can be renamed in their directory. */
	int (*rename)(struct tree *t, struct node n, node_t dir, struct span to_name);
	/* Removes what the session file says is there; NULL: that is refused. */
	int (*unlink)(struct tree *t, node_t dir, struct span name, struct node n);
};

extern const struct writable writable_label, writable_name, writable_summary, writable_labels_tsv, writable_leaf,
    writable_label_link;

/* The row of the file that can be written, or the link; NULL: it can not. */
const struct writable *writable_of(struct node n);
/* The row of the link that has this name in `dir`, or would have it, and its kind; NULL: a link there is a side file.
 */
const struct writable *writable_link(node_t dir, struct span name, struct node *ret);

/* commit.c: from a value to an append. Refusals are noted with their reason. */

/* Adds the name of the entry that the writable file `n` belongs to, if it belongs to one: the entry is found by it in
 * another file that comes into the session's place. 0 or a negative errno. */
int commit_entry(struct tree *t, struct node n, struct buf *out);
/* Takes a whole text as the value of the writable file `n`. `entry`: its entry as commit_entry named it, which may be
 * long ago; empty: nobody asked. */
int commit_value(struct tree *t, struct node n, struct span entry, struct span text, bool sync);
/* Whether commit_value would take it, without the append: what can be known before. */
int commit_check(struct tree *t, struct node n, struct span text);
/* Whether there is room on the disk, and the right to write, for a text that begins like this and takes so many bytes
 * as a string of JSON. */
int commit_room(struct tree *t, struct node n, struct span text, size_t quoted);
/* Notes that the writable file `n` refused a text, and why (NULL: what rc says). Returns rc. */
int commit_refused(struct tree *t, struct node n, int rc, const char *why);
/* The same of a name in a directory, whatever it is. */
int commit_refused_in(struct tree *t, node_t dir, struct span name, int rc, const char *why);
/* Sets and clears labels, all with one append. The name is what a refusal is told of. */
int commit_labels(struct tree *t, node_t dir, struct span name, const struct edit_label *labels, size_t n);
/* Moves the leaf, which is node n, to the entry. */
int commit_leaf(struct tree *t, struct node n, uint32_t entry);
int commit_sync(struct tree *t, uint32_t slot);
/* Whether this mount and the session file take writes: 0, -EROFS, -EACCES, -ESTALE. */
int commit_allowed(struct tree *t, uint32_t slot);

/* state.c: what is true of writable names for a moment */

/* A name that was renamed or removed to be made anew: gone until it is, ten seconds at most. */
void state_hide(struct tree *t, struct node n);
void state_show(struct tree *t, struct node n);
/* A name that was created and not yet written: an empty file while it is open. *ret is for those that follow. */
int state_fresh(struct tree *t, struct node n, uint64_t *ret);
void state_settled(struct tree *t, struct node n, uint64_t made);
/* Whether it was not removed meanwhile. */
bool state_is_made(struct tree *t, struct node n, uint64_t made);
/* It is removed before it was written. */
void state_forget(struct tree *t, struct node n);
/* Notes why something was refused: for the log and `errors`. */
void state_refuse(struct tree *t, struct node n, const char *what, int rc, const char *why);

/* A recursive removal that was refused most names must not remove the few others, and a program that cleans up after a
 * refused write must not remove the old value. So for ten seconds such a process may remove nothing. */

/* A removal was refused to the process of this thread. */
void state_warn(struct tree *t, pid_t thread);
/* A write of the name was refused to it. */
void state_spoilt(struct tree *t, pid_t thread, struct node n);
/* The name was written. */
void state_mended(struct tree *t, struct node n);
/* Why the process of this thread may not remove the name now; NULL: it may. *ret_tell: the `errors` of the session in
 * `slot` does not say so yet: it says it once, and not of each name. */
const char *state_keeps(struct tree *t, pid_t thread, struct node n, uint32_t slot, bool *ret_tell);

/* A label was saved from the labels.tsv as of this line; empty: cleared. */
void state_saved(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label);
/* Whether it is this one that was saved last from that table. What is long ago may be forgotten. */
bool state_is_saved(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label);

#endif
