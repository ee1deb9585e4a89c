/* tree: the names of the mount. One table of kinds describes it (see kinds.c); lookup, listing,
 * attributes and contents walk that table. Thread-safe: locks are taken inside and none is held on return. */
#ifndef SESSIONFS_TREE_H
#define SESSIONFS_TREE_H

#include "sessionfs/tree/cache.h"
#include "sessionfs/catalog/catalog.h"

struct tree;

struct tree_options {
	struct catalog *catalog; /* not owned */
	struct cache *cache;     /* not owned */
	bool read_only;
	bool is_private; /* by the modes only the user that we run as, and root, gets in */
};

int tree_open(const struct tree_options *o, struct tree **ret);
void tree_close(struct tree *t);
/* Where it is mounted (a real path, not owned), for absolute link targets; before threads start. */
void tree_set_mountpoint(struct tree *t, const char *mountpoint);

/* What a kernel may keep of a name, or of attributes. For how long is for the caller to say. */
enum tree_class {
	TREE_ASKED,   /* nothing: it can change at any moment, and must be seen to */
	TREE_LIVE,    /* for a moment: it follows a session file */
	TREE_WATCHED, /* until tree_invalidate_* says otherwise: every change of that file is noted */
	TREE_LEASE,   /* as TREE_WATCHED, but one of many: it is for the caller to know which were given out */
	TREE_FIXED,   /* for good: it cannot change while its session is the same */
};

struct tree_attr {
	node_t node;
	mode_t mode; /* type and permissions */
	uint64_t size;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	enum tree_class name_class, attr_class;
};

/* 0; -ENOENT; -ESTALE for a parent whose session was replaced; -ENOTDIR; or another negative errno. */
int tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret);
int tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
/* What may be kept of this name's not being there. */
enum tree_class tree_missing_class(struct tree *t, node_t dir, struct span name);

/* What a kernel may have kept and must ask for again: with a name, that name in the directory `node`, and what is
 * below it; without, the attributes of `node` (and with them its contents or listing). */
typedef void (*tree_tell)(void *arg, node_t node, struct span name);
/* The session's file changed: a fixed number of nodes, the watched ones. No lock is held in `tell`. */
void tree_invalidate_session(struct tree *t, uint32_t slot, tree_tell tell, void *arg);
/* ... of what is above it: its project and the root. */
void tree_invalidate_above(struct tree *t, uint32_t project, tree_tell tell, void *arg);
/* A session came to this place or went from it; `died` is the slot it had, or NO_SLOT. */
void tree_invalidate_names(struct tree *t, const struct slot_info *s, uint32_t died, tree_tell tell, void *arg);
/* The first entry whose name, or that of one behind it, may have led to another before, since this was asked last;
 * NO_ENTRY if there is none. Then tree_invalidate_all drops every name of the session's entries and branches, and those
 * from this entry on also where somebody uses them. Has the index grow. */
uint32_t tree_take_renamed(struct tree *t, uint32_t slot);
void tree_invalidate_all(struct tree *t, uint32_t slot, uint32_t from, tree_tell tell, void *arg);

/* One name of a directory. `cookie` continues after it. `attr` is NULL when the attributes were not wanted or
 * would have to be produced; node and mode (type bits) are always there. Return non-zero to stop (this name did not
 * fit). */
typedef int (*tree_emit)(void *arg, struct span name, uint64_t cookie, node_t node, mode_t mode,
                         const struct tree_attr *attr);
/* What comes with the names: nothing, the attributes of directories, or those of all. */
enum tree_want { TREE_NAMES, TREE_DIRS, TREE_ATTRS };
/* Names after `cookie` (0: from the start), "." and ".." not among them. */
int tree_list(struct tree *t, node_t dir, uint64_t cookie, enum tree_want want, tree_emit emit, void *arg);

/* Appends the link's target. */
int tree_readlink(struct tree *t, node_t node, struct buf *out);
/* A link's mode says nothing, and one above all sessions tells the name of a session to whoever finds it: which classes
 * of the user that we run as and of *ret_gid may list that name (0444 at most; 0444 for all other links). */
mode_t tree_link_mode(struct tree *t, node_t node, gid_t *ret_gid);

/* Appends up to n bytes at off. 0 or a negative errno; short only at the end of the file. */
int tree_read(struct tree *t, node_t node, uint64_t off, size_t n, struct buf *out);

/* Appends the contents as they are at one moment, up to `most` bytes. Of a file that growth only adds to, *count is how
 * many entries its session had then; nothing is ever added to other texts: TREE_PIN_WHOLE. */
int tree_pin(struct tree *t, node_t node, size_t most, struct buf *out, uint32_t *count);
#define TREE_PIN_WHOLE UINT32_MAX
/* Appends what such a file has more since: of the entries that came after the first *count, those on its path.
 * Renews *count. 0 or a negative errno, and nothing appended. */
int tree_pin_more(struct tree *t, node_t node, uint32_t *count, struct buf *out);

/* The parent directory, for "..": exact for every directory. */
node_t tree_parent(struct tree *t, node_t dir);

/* Resolves a path from the root, component by component; the last component's links are not followed
 * unless `follow`. For --cat, --ls, --tree. */
int tree_resolve(struct tree *t, const char *path, bool follow, struct tree_attr *ret);

/* True if the file's content is a text that changes in the middle as its session grows: readers of a live
 * session are better served with bytes pinned at open. */
bool tree_is_rewritten(node_t node);

/* True if the file's content can change and not show in its attributes: nothing of it can be kept by the kernel. */
bool tree_is_untimed(node_t node);

bool tree_is_dir(node_t node);

/* True if names in this directory of a tree that can be written come and go although its attributes stay the same, and
 * not through it either. */
bool tree_is_listing_volatile(struct tree *t, node_t dir);

/* True for the root and the names in it. */
bool tree_is_top(node_t node);

/* False for what is above all sessions: the root, a project, their links. */
bool tree_is_of_session(node_t node);

/* True for a file that cannot change while its session is the same. */
bool tree_is_fixed(node_t node);

/* True if the file's text can become another one of the same size and time: neither tells that it changed. */
bool tree_is_restamped(node_t node);

/* True for editors' side files. */
bool tree_is_scratch(node_t node);

#endif
