/* SPDX-License-Identifier: MIT */
/* tree: the names of the mount. A table of kinds describes it (kinds.c lists its rows); lookup, listing, attributes and
 * contents use that table. Thread-safe: functions acquire locks inside and hold none on return. */
#ifndef SESSIONFS_TREE_H
#define SESSIONFS_TREE_H

#include "sessionfs/tree/cache.h"
#include "sessionfs/catalog/catalog.h"
#include "sessionfs/find/search.h"

struct tree;

struct tree_options {
	struct catalog *catalog; /* not owned */
	struct cache *cache;     /* not owned */
	bool read_only;
	bool is_private; /* only our user and root have access */
	bool coloured;   /* tree.txt is for a terminal */
};

int tree_open(const struct tree_options *o, struct tree **ret);
void tree_close(struct tree *t);
/* Sets the mountpoint (a real path, not owned), for absolute link targets. Call before threads start. */
void tree_set_mountpoint(struct tree *t, const char *mountpoint);

/* Returns the search of all sessions, owned by the tree. */
struct searches *tree_get_searches(struct tree *t);

/* What a kernel may cache of a name, or of attributes. The caller decides for how long. */
enum tree_class {
	TREE_UNCACHED, /* nothing: it can change at any moment, and readers must see the change */
	TREE_LIVE,     /* briefly: it follows a session file */
	TREE_WATCHED,  /* until tree_invalidate_* names it: every change of the file is noticed */
	TREE_LEASE,    /* as TREE_WATCHED, but one of many: the caller must record which it gave out */
	TREE_FIXED,    /* forever: it cannot change while its session is the same */
};

struct tree_attr {
	node_t node;
	uint64_t ino; /* see tree_ino */
	mode_t mode;  /* type and permissions */
	uint64_t size;
	uid_t uid;
	gid_t gid;
	struct timespec mtime, atime; /* atime 0: as mtime */
	uint64_t version;             /* of a file with an unreliable mtime: changes with its contents; else 0 */
	enum tree_class name_class, attr_class;
	const char *why; /* reason for attr_class: a rule of src/fuse/coherence.h and a word on it */
};

/* Returns 0, -ENOENT, -ESTALE for a parent whose session was replaced, -ENOTDIR, or another negative errno. */
int tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret);
/* True if only rendering the file from all sessions gives its size. tree_lookup returns size 0 for it, tree_getattr its
 * size. The kernel looks up the names of a directory one by one, so a slow lookup would delay all the others. */
bool tree_is_table(node_t node);
int tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
/* Adjusts the kernel's lookup count of the node. While it is not 0, the node's query is kept. */
void tree_lookup_count(struct tree *t, node_t node, uint64_t more, uint64_t fewer);
/* True if the attributes of this file are watched or leased, and its session file has not changed for this many
 * seconds. False if finding out would require rendering or reading anything. */
bool tree_is_quiet(struct tree *t, node_t node, time_t seconds);
/* Returns how long the kernel may cache that this name does not exist. */
enum tree_class tree_negative_class(struct tree *t, node_t dir, struct span name);

/* Receives what the kernel must invalidate. With a name: that name in the directory `node`, and everything below it.
 * Without: the attributes of `node`, and with them its contents or listing. */
typedef void (*tree_invalidate_fn)(void *arg, node_t node, struct span name);
/* After a change of the session's file: reports the watched nodes, a fixed number. Calls `tell` without any lock. */
void tree_invalidate_session(uint32_t slot, tree_invalidate_fn tell, void *arg);
/* The same for the names above the session: its project and the root. */
void tree_invalidate_above(uint32_t project, tree_invalidate_fn tell, void *arg);
/* After a session was added at this place or removed from it; `died` is the slot of the removed session, or NO_SLOT. */
void tree_invalidate_names(struct tree *t, const struct slot_info *s, uint32_t died, tree_invalidate_fn tell,
                           void *arg);
/* Returns the first entry from which on names may lead to other entries since the last call, or NO_ENTRY. If it is an
 * entry, tree_invalidate_entry_names drops every name of the session's entries and branches, and the names from this
 * entry on even if they are in use. Extends the index. */
uint32_t tree_fetch_renamed(struct tree *t, uint32_t slot);
void tree_invalidate_entry_names(struct tree *t, uint32_t slot, uint32_t from, tree_invalidate_fn tell, void *arg);

/* Receives one name of a directory. A listing from `cookie` continues after it. `attr` is NULL if the caller did not
 * ask for attributes or if they require rendering; node, ino and mode (type bits) are always set. Return non-zero to
 * stop (this name did not fit). */
typedef int (*tree_emit)(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                         const struct tree_attr *attr);
/* Whether names come with attributes. */
enum tree_want { TREE_NAMES, TREE_ATTRS };
/* Lists the names after `cookie` (0: from the start), without "." and "..". */
int tree_list(struct tree *t, node_t dir, uint64_t cookie, enum tree_want want, tree_emit emit, void *arg);

/* Appends the target of the link. */
int tree_readlink(struct tree *t, node_t node, struct buf *out);
/* Returns who may read a link. A link's own mode protects nothing, and a link above all sessions reveals the name of a
 * session. For such a link, returns the read bits (at most 0444) of the users who may list that name: the owner is our
 * user, the group *ret_gid. Returns 0444 for all other links. */
mode_t tree_link_mode(struct tree *t, node_t node, gid_t *ret_gid);

/* Appends up to n bytes at off; fewer only at the end of the file. Returns 0 or a negative errno, or a positive errno
 * if the file is made from all sessions, and lacks some that could not be read. */
int tree_read(struct tree *t, node_t node, uint64_t off, size_t n, struct buf *out);

/* The text of a file for one reader: as of its open, whatever the file shows meanwhile. Any thread can read it.
 *
 * If the file only grows at its end, a reader that continues at the end (tail -f) gets the new segments after the old
 * text, and a reader that starts again after it reached the end gets the current text. */
struct tree_pinned;
/* Pins the current text of a file that changes as TREE_REWRITTEN or more. Returns 0 or a negative errno. */
int tree_pin(struct tree *t, node_t node, struct tree_pinned **ret);
void tree_unpin(struct tree_pinned *h);
uint64_t tree_pinned_size(struct tree_pinned *h);
/* Appends up to n bytes at off. Returns 0 or a negative errno. */
int tree_pinned_read(struct tree_pinned *h, uint64_t off, size_t n, struct buf *out);

/* Returns the parent directory, for "..". Exact for every directory. */
node_t tree_parent(struct tree *t, node_t dir);

/* Returns the inode number of a node, the same in every mount, so that backup programs recognise files: a hash of the
 * name in the table and of the session's path below the source. */
uint64_t tree_ino(struct tree *t, node_t node);

/* Resolves a path from the root, component by component. Follows a link as the last component only if `follow`. For
 * --cat, --ls, --tree. */
int tree_resolve(struct tree *t, const char *path, bool follow, struct tree_attr *ret);
/* The same from a directory; for a table, the size is 0 as in tree_lookup. */
int tree_resolve_from(struct tree *t, node_t from, const char *path, bool follow, struct tree_attr *ret);

/* How the text of a file changes while its session is the same. Each value includes those before it. */
enum tree_change {
	TREE_NEVER,
	TREE_APPENDED,  /* at its end */
	TREE_REWRITTEN, /* also in the middle: readers of a live session should pin it */
	TREE_RESTAMPED, /* perhaps with the same size and time: a record gives the time, and it can give any */
	TREE_UNTIMED,   /* without its time or version: the kernel must cache nothing of it */
};
/* Nodes that are not files of the table are TREE_APPENDED. */
enum tree_change tree_text_change(node_t node);

bool tree_is_dir(node_t node);

/* For a writable tree: true if names in this directory appear and disappear without a change of its attributes, and
 * without an operation on the directory. */
bool tree_is_listing_volatile(struct tree *t, node_t dir);

/* While this number is the same and not 0, the attributes of a directory determine its names. For directories above the
 * entries of a session. */
uint64_t tree_listing_serial(struct tree *t, node_t dir);

/* False for names above all sessions: the root, projects and their links. */
bool tree_is_of_session(node_t node);

/* True for editors' scratch files. */
bool tree_is_scratch(node_t node);

#endif
