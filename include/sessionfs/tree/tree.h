/* SPDX-License-Identifier: MIT */
/* tree: the names of the mount. A table of kinds describes it (kinds.c lists its rows); lookup, listing, attributes and
 * contents walk that table. Thread-safe: locks are acquired inside and none is held on return. */
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
	bool is_private; /* the modes let in only the user that we run as, and root */
	bool coloured;   /* tree.txt is for a terminal */
};

int tree_open(const struct tree_options *o, struct tree **ret);
void tree_close(struct tree *t);
/* Sets where it is mounted (a real path, not owned), for absolute link targets. Call before threads start. */
void tree_set_mountpoint(struct tree *t, const char *mountpoint);

/* What finds entries in all sessions; the tree's. */
struct searches *tree_get_searches(struct tree *t);

/* What a kernel may keep of a name, or of attributes. The caller decides for how long. */
enum tree_class {
	TREE_UNCACHED, /* nothing: it can change at any moment, and the change must be seen */
	TREE_LIVE,     /* for a moment: it follows a session file */
	TREE_WATCHED,  /* until tree_invalidate_* names it: every change of the file is noticed */
	TREE_LEASE,    /* as TREE_WATCHED, but one of many: the caller must note which were given out */
	TREE_FIXED,    /* forever: it cannot change while its session is the same */
};

struct tree_attr {
	node_t node;
	mode_t mode; /* type and permissions */
	uint64_t size;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	uint64_t version; /* of a file that is untimed: differs when its contents do; else 0 */
	enum tree_class name_class, attr_class;
	const char *why; /* what decided attr_class: a rule of src/fuse/coherence.h and a word on it */
};

/* 0; -ENOENT; -ESTALE for a parent whose session was replaced; -ENOTDIR; or another negative errno. */
int tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret);
/* Whether the file is made of all sessions to find its size. tree_lookup does not do that: it says 0, and tree_getattr
 * the size. The kernel asks for one name of a directory after the other, so all names beside it would wait. */
bool tree_is_table(node_t node);
int tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
/* The kernel has so many names more for the node, and so many fewer. While it has any, what the node stands for is not
 * forgotten. */
void tree_lookup_count(struct tree *t, node_t node, uint64_t more, uint64_t fewer);
/* Whether the attributes of this file are watched or leased, and its session file has not changed for so many seconds.
 * False if that cannot be said without making or reading anything. */
bool tree_is_quiet(struct tree *t, node_t node, time_t seconds);
/* How the absence of this name may be kept. */
enum tree_class tree_negative_class(struct tree *t, node_t dir, struct span name);

/* Names what a kernel may have cached and must ask for again. With a name: that name in the directory `node`, and all
 * below it. Without: the attributes of `node`, and with them its contents or listing. */
typedef void (*tree_invalidate_fn)(void *arg, node_t node, struct span name);
/* After a change of the session's file: names the watched nodes, whose number is fixed. No lock is held in `tell`. */
void tree_invalidate_session(struct tree *t, uint32_t slot, tree_invalidate_fn tell, void *arg);
/* The same for what is above the session: its project and the root. */
void tree_invalidate_above(struct tree *t, uint32_t project, tree_invalidate_fn tell, void *arg);
/* After a session came to this place or went from it; `died` is the slot of the one that went, or NO_SLOT. */
void tree_invalidate_names(struct tree *t, const struct slot_info *s, uint32_t died, tree_invalidate_fn tell,
                           void *arg);
/* The first entry from which on names may have led to other entries since the last call; NO_ENTRY if there is none. If
 * there is one, tree_invalidate_entry_names drops every name of the session's entries and branches, and those from this
 * entry on even if they are in use. Makes the index grow. */
uint32_t tree_fetch_renamed(struct tree *t, uint32_t slot);
void tree_invalidate_entry_names(struct tree *t, uint32_t slot, uint32_t from, tree_invalidate_fn tell, void *arg);

/* Receives one name of a directory. A listing from `cookie` continues after it. `attr` is NULL if the attributes were
 * not wanted or would have to be produced; node and mode (type bits) are always set. Return non-zero to stop (this name
 * did not fit). */
typedef int (*tree_emit)(void *arg, struct span name, uint64_t cookie, node_t node, mode_t mode,
                         const struct tree_attr *attr);
/* Which attributes come with the names: none, those of directories, or all. */
enum tree_want { TREE_NAMES, TREE_DIRS, TREE_ATTRS };
/* Lists the names after `cookie` (0: from the start), without "." and "..". */
int tree_list(struct tree *t, node_t dir, uint64_t cookie, enum tree_want want, tree_emit emit, void *arg);

/* Appends the link's target. */
int tree_readlink(struct tree *t, node_t node, struct buf *out);
/* Who may read a link. A link's own mode protects nothing, and a link above all sessions reveals the name of a session.
 * For such a link: the read bits (at most 0444) of those who may list that name, where the owner is the user that we
 * run as and the group *ret_gid. 0444 for all other links. */
mode_t tree_link_mode(struct tree *t, node_t node, gid_t *ret_gid);

/* Appends up to n bytes at off. 0 or a negative errno; short only at the end of the file. */
int tree_read(struct tree *t, node_t node, uint64_t off, size_t n, struct buf *out);

/* Appends the contents as of one moment, up to `most` bytes. If growth only adds to the file, *count is the number of
 * entries that its session had then. Otherwise *count is TREE_SNAPSHOT_WHOLE: tree_snapshot_append_new adds nothing. */
int tree_snapshot(struct tree *t, node_t node, size_t most, struct buf *out, uint32_t *count);
#define TREE_SNAPSHOT_WHOLE UINT32_MAX
/* Appends what such a file has gained since: of the entries after the first *count, those on its path. Updates *count.
 * 0, or a negative errno with nothing appended. */
int tree_snapshot_append_new(struct tree *t, node_t node, uint32_t *count, struct buf *out);

/* Contents that stay as they are as long as they are held, whatever the file shows meanwhile. Any thread may read them.
 */
struct tree_pinned;
/* Whether the contents of this file can be held. */
bool tree_can_pin(node_t node);
/* Holds the contents as of now: *ret_size bytes. 0 or a negative errno. */
int tree_pin(struct tree *t, node_t node, struct tree_pinned **ret, uint64_t *ret_size);
/* Appends up to n bytes at off. 0 or a negative errno. */
int tree_pinned_read(const struct tree_pinned *h, uint64_t off, size_t n, struct buf *out);
void tree_pinned_release(struct tree_pinned *h);

/* The parent directory, for "..". Exact for every directory. */
node_t tree_parent(struct tree *t, node_t dir);

/* Resolves a path from the root, component by component; the last component's links are not followed
 * unless `follow`. For --cat, --ls, --tree. */
int tree_resolve(struct tree *t, const char *path, bool follow, struct tree_attr *ret);
/* The same from a directory; of a table as tree_lookup. */
int tree_resolve_from(struct tree *t, node_t from, const char *path, bool follow, struct tree_attr *ret);

/* True if the file's text changes in the middle as its session grows. Readers of a live session should get it as it was
 * at open. */
bool tree_is_rewritten(node_t node);

/* True if the file's content can change without its attributes. The kernel must keep nothing of it. */
bool tree_mtime_is_unreliable(node_t node);

bool tree_is_dir(node_t node);

/* For a writable tree: true if names in this directory come and go without a change of its attributes, and without an
 * operation on the directory. */
bool tree_is_listing_volatile(struct tree *t, node_t dir);

/* While this number stays the same and is not 0, the names in a directory above the entries of a session follow from
 * its attributes. */
uint64_t tree_listing_serial(struct tree *t, node_t dir);

/* False for what is above all sessions: the root, projects and their links. */
bool tree_is_of_session(node_t node);

/* True for a file that cannot change while its session is the same. */
bool tree_is_fixed(node_t node);

/* True if the file's text can change while its size and time stay the same. */
bool tree_mtime_is_from_record(node_t node);

/* True for editors' side files. */
bool tree_is_scratch(node_t node);

#endif
