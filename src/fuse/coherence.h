/* SPDX-License-Identifier: MIT */
/* coherence: keeps the kernel's caches of the mount correct.
 *
 * The kernel answers from its caches without asking us. The tree gives each node and each name a class (enum
 * tree_class). This module turns the class into seconds, notes what it gives out, and notifies the kernel when that is
 * no longer valid. To invalidate a node means to make the kernel drop what it has cached of it. The rules:
 *
 * - I1. Only cache_class_seconds turns a class into seconds; a name and the attributes of its node have a class each.
 * - I2. A node is watched or leased only while a thread follows the catalog and notes (leases.c) what must be
 *   invalidated; otherwise it is live, or uncached in a writable mount.
 * - I3. The watched nodes of a session share one note; each leased node has its own, and so has each file whose
 *   contents can change while its size and time stay the same.
 * - I4. Pages are dropped only by threads that no reader can be waiting for: the thread that follows, or one of several
 *   (I8).
 * - I5. If a write changed anything or was refused, the kernel is notified before the write is answered; the thread
 *   that follows sends all other notifications, and it alone invalidates names, because that waits for lookups.
 * - I6. Each notification is repeated a second later, and nothing younger than two seconds is watched or younger than a
 *   minute leased, because an answer from before a change can reach the kernel after the notification.
 * - I7. If names of a directory can change while its time stays the same, each answer with its attributes drops the
 *   listing first (listings.c); if they can change unnoticed, the attributes are uncached.
 * - I8. If the kernel opens files without asking (-o ro), a new size is given out only after the file's pages are
 *   dropped (sizes.c).
 * - I9. An answer drops no listing or pages if the kernel must accept its owner and mode (listings.c).
 * - I10. A missing name has a class, too, which is uncached if a write could create the name.
 *
 * With -d each answer is logged with what the kernel may keep of it and the rule that decided that, and so is each
 * notification. To find out why a listing is outdated, search the log for the directory's inode number (`ls -id`): its
 * last `list` line shows the number of its node, and how long the listing was kept. Without a `drop` line of that node
 * after it, no change was noticed.
 *
 * Order: make the note, then answer; drop the listing or the pages, then answer; remove the note, then notify. No lock
 * is held during a notification, except the one that lets one thread at a time drop pages. */
#ifndef SESSIONFS_COHERENCE_H
#define SESSIONFS_COHERENCE_H

#include "sessionfs/fuse/fuse_compat.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/tree/tree.h"

#include <pthread.h>
#include <stdatomic.h>

struct fs;

/* The owner and mode that the kernel was last given for a node (I9). */
struct sent_owner {
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/* Records the owner and mode of `a`. Returns false if they differed. */
static inline bool sent_owner_update(struct sent_owner *o, const struct tree_attr *a)
{
	bool same = o->mode == a->mode && o->uid == a->uid && o->gid == a->gid;
	*o = (struct sent_owner){a->mode, a->uid, a->gid};
	return same;
}

/* Returns how long the kernel may keep a node or name of this class (I1). The minute limits the harm of a missed
 * change. */
static inline double cache_class_seconds(enum tree_class class)
{
	static const double seconds[] = {[TREE_UNCACHED] = 0,
	                                 [TREE_LIVE] = 0.5,
	                                 [TREE_WATCHED] = LIMIT(60, 1),
	                                 [TREE_LEASE] = LIMIT(60, 1),
	                                 [TREE_FIXED] = 86400};
	return seconds[class];
}

/* Limits the class of the attributes, because of this rule. */
static inline void limit_attr(struct tree_attr *a, enum tree_class most, const char *why)
{
	if (a->attr_class < most)
		return;
	a->attr_class = most;
	a->why = why;
}

/* leases.c */
struct leases {
	struct lock lock;
	bool is_enabled;          /* a thread notifies the kernel of changes */
	struct lease_slot *slots; /* by number */
	size_t n, nodes;
	bool granted_above; /* a lease above the sessions was given out */
	int64_t dropped_ms; /* when expired leases were last dropped */
};

/* Call before attributes go to the kernel: notes what they let it keep, or lets it keep less (I2, I3). The caller can
 * hold any lock of the tree. */
void leases_grant(struct fs *fs, struct tree_attr *a);
void leases_set_enabled(struct fs *fs, bool kept);
/* Removes the notes of a session. The caller frees *ret, the leased nodes. Returns true if watched nodes of the session
 * were given out, too. */
bool leases_revoke(struct fs *fs, uint32_t slot, node_t **ret, size_t *ret_n);
/* Removes the note above all sessions. Returns true if there was one. */
bool leases_revoke_above(struct fs *fs);
/* Returns whether a lease on a single node can still be running, even if its note was removed. */
bool leases_may_be_active(struct fs *fs, uint32_t slot);
void leases_release(struct leases *l);

/* listings.c: directories whose cached listing can be outdated while their time stays the same */
struct listings {
	struct lock lock;
	struct listing_state *cells; /* hashed by `dir`, open addressing; cap: 0 or a power of two */
	size_t n, cap;
};

struct listing_state {
	node_t dir; /* 0: free */
	uint64_t epoch;
	struct sent_owner sent_owner;
	bool was_dropped; /* the last answer to a user whom the mode can keep out dropped the listing */
};

/* Call before listing a directory with these attributes from its beginning. Returns 0 or -ENOMEM. */
int listings_begin(struct fs *fs, const struct tree_attr *attr);
/* Returns whether names in this directory can change unnoticed (I7). */
bool listings_are_uncached(struct fs *fs, node_t dir);
/* Call before attributes of the node go to the kernel: drops a listing that is possibly outdated. The caller holds no
 * lock. If the kernel must accept the attributes (I9), limits their class instead; `req` asks for them. */
void listings_drop_stale(struct fs *fs, fuse_req_t req, node_t node, struct tree_attr *a);
/* Returns whether listings_drop_stale might drop a listing. The caller can hold any lock. */
bool listings_is_tracked(struct fs *fs, node_t node);

/* sizes.c: the sizes that the kernel was given */
struct sizes {
	struct lock lock;      /* guards the notes */
	struct lock drop_lock; /* its holder drops pages */
	struct sent_size {
		node_t node;
		uint64_t size, version;
		struct sent_owner owner;
	} * sent;                                     /* hashed by node; NULL: notes only `tables` */
	struct sent_size tables[1 << NODE_KIND_BITS]; /* by kind */
};

/* Starts noting sizes: the kernel may open files without asking. Requires several threads. Returns 0 or -ENOMEM. */
int sizes_enable(struct fs *fs);
/* Call before an answer with these attributes: drops the pages of a file whose size has changed. The caller holds no
 * lock. If the kernel must accept the rest of them (I9), it is given the size it has. */
void sizes_drop_stale_pages(struct fs *fs, fuse_req_t req, struct tree_attr *a);
/* Returns false if sizes_drop_stale_pages must drop pages before these attributes are given out. The caller can hold
 * any lock. */
bool sizes_are_current(struct fs *fs, const struct tree_attr *a);

/* For the answer to a LOOKUP of a table: sets the size that the kernel has. */
void sizes_recall(struct fs *fs, struct tree_attr *a);

/* follow.c: the thread that follows changes */
struct follow {
	pthread_t thread;
	bool running;
	atomic_bool stop;
	struct recheck *recheck; /* used only by the thread, as are the fields below */
	size_t n, cap;
	uint32_t *places; /* by slot: its place in `recheck`, from 1; 0: none */
	size_t slots;
	bool forks_pending; /* forks may have changed since the last report */
	int64_t forks_ms;   /* no report before this time */
};

void follow_start(struct fs *fs);
/* Invalidates what depends on the node's session if a write changed anything or was refused since tree_commit_count
 * returned `before` (I5). */
void follow_notify_write(struct fs *fs, node_t node, uint64_t before);

struct coherence {
	struct leases leases;
	struct listings listings;
	struct sizes sizes;
	struct follow follow;
};

/* coherence.c */
void coherence_init(struct coherence *c);
void coherence_release(struct coherence *c);
/* Call before answering a request for the node `asked` with attributes. Limits their class, and drops cached listings
 * and pages that contradict them. The caller holds no lock. */
void coherence_check_attr(struct fs *fs, fuse_req_t req, node_t asked, struct tree_attr *a);
/* As coherence_check_attr, but the caller can hold locks. Returns false if the attributes cannot be given. The caller
 * calls listings_drop_stale later, without locks. */
bool coherence_check_listed_attr(struct fs *fs, struct tree_attr *a);
/* For the log: how long the kernel may keep this answer. */
const char *cache_class_name(enum tree_class class);
void log_entry(const char *request, node_t dir, const char *name, const struct tree_attr *a);
void log_attr(const char *request, const struct tree_attr *a);
struct stat attr_to_stat(const struct tree_attr *a);
struct fuse_entry_param coherence_entry(const struct tree_attr *a);

#endif
