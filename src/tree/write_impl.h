/* SPDX-License-Identifier: MIT */
/* tree_write_impl: declarations shared by the files of the writing half. */
#ifndef SESSIONFS_TREE_WRITE_IMPL_H
#define SESSIONFS_TREE_WRITE_IMPL_H

#include "sessionfs/write/edit.h"
#include "sessionfs/write/scratch.h"
#include "sessionfs/write/stage.h"
#include "sessionfs/tree/write.h"
#include "sessionfs/write/value.h"
#include "tree_impl.h"

/* write.c: an open file. The maximum number of recorded users: */
#define HANDLE_USERS_MAX 8
struct tree_handle {
	struct tree_handle *next; /* next one open for writing; under state_lock */
	struct rwlock lock;       /* a commit holds it, and can wait for other programs */
	struct node node;
	uint64_t scratch;             /* the scratch file's id; 0: a writable file */
	_Atomic bool is_refused;      /* the refusal of a write to the scratch file was reported */
	_Atomic bool synced;          /* its commits sync the session file to disk */
	_Atomic bool is_new, removed; /* created through this handle and not committed yet; removed since then */
	struct stage stage;
	struct buf entry;              /* name of the entry it belongs to */
	pid_t users[HANDLE_USERS_MAX]; /* threads that have opened, written or closed it; 0: none */
};

/* writable.c: one row for each writable name. Its kind's `show` reads the value back. */
struct writable {
	/* Files: the form of the text, and the change that a value causes. */
	const struct value_form *form;
	edit_records *records;
	/* Links: points `name` in `dir` to `target`; sets *ret_entry to the target's entry. */
	int (*link)(struct tree *t, node_t dir, struct span name, const char *target, uint32_t *ret_entry);
	/* Links that can be renamed within their directory. */
	int (*rename)(struct tree *t, struct node n, node_t dir, struct span to_name);
	/* Removes a name that the session file has; NULL: removal is refused. */
	int (*unlink)(struct tree *t, node_t dir, struct span name, struct node n);
};

extern const struct writable writable_label, writable_name, writable_summary, writable_context, writable_labels_tsv,
    writable_leaf, writable_label_link;

/* Returns the row of a writable file or link; NULL if it is not writable. */
const struct writable *kind_writable(struct node n);
/* Returns the row of the link that has, or would have, this name in `dir`, and sets *ret to its node. NULL: such a link
 * is a scratch file. */
const struct writable *writable_link(node_t dir, struct span name, struct node *ret);

/* write.c: returns 1 if the session file has the writable name, 0 if not, or a negative errno. Appends its text, unless
 * `out` is NULL. */
int tree_writable_text(struct tree *t, struct node n, struct buf *out);

/* commit.c: turns a value into an append. Refusals are recorded with their reason. */

/* Appends the name of the entry that the writable file `n` belongs to, if any. If another file takes the session's
 * place, this name finds the entry in it. Returns 0 or a negative errno. */
int commit_entry(struct tree *t, struct node n, struct buf *out);
/* Commits a whole text as the value of the writable file `n`. `entry`: the result of commit_entry, perhaps long ago;
 * empty if it was not called. */
int commit_value(struct tree *t, struct node n, struct span entry, struct span text, bool sync);
/* Returns 0 if commit_value would accept the text, as far as that is known without an append. */
int commit_check(struct tree *t, struct node n, struct span entry, struct span text);
/* Returns 0 if the disk has room, and the file permits writing, for a text that begins with `text` and takes `quoted`
 * bytes as a JSON string. */
int commit_check_space(struct tree *t, struct node n, struct span entry, struct span text, size_t quoted);
/* Records that `n` refused a change, and why (NULL: the reason follows from rc). `entry` as above. Returns rc. */
int commit_refuse(struct tree *t, struct node n, struct span entry, int rc, const char *why);
/* Refuses a change of a name that is not writable: adds what to write instead to `why`. Returns -EPERM. */
int commit_refuse_name(struct tree *t, struct node n, const char *why);
/* The same as commit_refuse for any name in a directory. */
int commit_refuse_in(struct tree *t, node_t dir, struct span name, int rc, const char *why);
/* The same, but only if rc means a lasting refusal; `why` is for names that can never be changed. */
int commit_refuse_denied(struct tree *t, node_t dir, struct span name, int rc, const char *why);
/* Refuses a scratch file with a fixed name of the tree, since the program means that name, and a regular one (`type`:
 * S_IFREG or S_IFLNK) in a directory of links, with -EPERM. Sets *ret_home. */
int commit_side_name(struct tree *t, node_t dir, struct span name, mode_t type, node_t *ret_home);
/* Editors' scratch files are few and small; more are refused. */
#define SCRATCH_FILES 1024
#define SCRATCH_BYTES ((size_t)64 << 20)
#define REFUSE_NO_ROOM "only 1024 files of editors, of 64 MiB in total, are kept"
/* The reason in most directories. */
#define REFUSE_NO_NAMES "names cannot be created or moved here"
/* Returns the slot at the place of this one now: it can be another file. */
int commit_slot(struct tree *t, uint32_t slot, struct slot_info *ret);
/* Sets and clears labels, all with one append; updates their entries if another file took the place. Reports a refusal
 * under `name` in `dir`. */
int commit_labels(struct tree *t, node_t dir, struct span name, struct edit_label *labels, size_t n);
/* Makes a change of the entry that has no value: n is the name that it changes. */
int commit_change(struct tree *t, struct node n, edit_records *records, uint32_t entry);
/* Syncs the file of n's session to disk. Reports a refusal under `n`; `entry` as above. */
int commit_sync(struct tree *t, struct node n, struct span entry);
/* Returns 0 if this mount and the session file accept writes, or -EROFS, -EACCES, -ESTALE, ...; -EPERM for a file that
 * sessionfs never writes: then sets *why. */
int commit_allowed(struct tree *t, uint32_t slot, const char **why);
/* The same for names in a directory; -EPERM, too, if it takes no new names. */
int commit_dir_allowed(struct tree *t, node_t dir, const char **why);

/* state.c: short-lived states of writable names */

/* Hides a name that was renamed or removed to be created again: until then, for at most ten seconds. */
void state_hide(struct tree *t, struct node n);
/* The name was written: it is not hidden, and the processes whose writes of it failed can remove it. */
void state_set_written(struct tree *t, struct node n);
/* Drops a created name that was removed before it was written. */
void state_drop_created(struct tree *t, struct node n);
/* Writes the reason of a refusal to the log and to `errors`. */
void state_add_refusal(struct tree *t, struct node n, const char *what, int rc, const char *why);

/* Returns the session file that was last synced to disk, as it was then. Nothing is known of other files. */
struct stat state_synced(struct tree *t);
void state_note_synced(struct tree *t, const struct stat *synced);

/* If most removals of a recursive removal were refused, it must not remove the few other names. A program that cleans
 * up after a refused write must not remove the old value. So for ten seconds such a process must not remove names. */

/* A write of the name `spoilt` by the process of this thread was refused; 0: a removal. */
void state_block_removals(struct tree *t, pid_t thread, node_t spoilt);
/* Returns why the process of this thread must not remove the name now, or NULL. Sets *ret_tell if the caller must
 * report this in the `errors` of the session of `dir`, which reports it once, not for each name. */
const char *state_removal_is_blocked(struct tree *t, pid_t thread, struct node n, node_t dir, bool *ret_tell);

/* Records that a label was saved from the labels.tsv of this line; empty: it was cleared. */
void state_add_saved_label(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label);
/* True if this label is the one last saved from that table. Old ones can be dropped. */
bool state_label_is_saved(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label);

#endif
