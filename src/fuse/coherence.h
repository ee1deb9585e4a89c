/* coherence: what the kernel keeps of the mount, and how that is kept true.
 *
 * The kernel answers from its caches without asking us. The tree gives each node and each name a class (enum
 * tree_class). This module turns the class into seconds, notes what it gives out, and tells the kernel when that is no
 * longer true. To tell a node means to invalidate what the kernel keeps of it. The rules:
 *
 *  I1. Seconds stand at one place (seconds_of): asked 0, live 0.5, watched and leased 60, fixed a day. A name and the
 *      attributes of its node have a class each.
 *  I2. A node is watched or leased only if somebody will tell it: a thread follows the catalog, and a note was made
 *      (leases.c). Otherwise it is live, or asked in a mount that can be written. The minute limits what a missed
 *      change can do.
 *  I3. All watched nodes of a session share one note, since the table says which they are. Each leased node has its
 *      own. So has a file whose contents can change while its size and time stay: the kernel cannot see that. Without
 *      a note nothing is told, but for I6.
 *  I4. A file is told by its attributes, a directory with its listing. That waits for nobody, and the kernel drops
 *      pages by itself when it sees another size or time. Pages are dropped only by threads that no reader can be
 *      waiting for: the one that follows, or one of several (I8).
 *  I5. A write is told before it is answered, if it changed anything. The thread that follows tells everything else.
 *      Only that thread tells names: that waits for lookups in their directory.
 *  I6. An answer made before a change can reach the kernel after the change was told. So each change is told again a
 *      second later, with a note or without, and with contents: two changes in one tick of the clock show one time.
 *      For the same reason nothing younger than two seconds is watched, and nothing younger than a minute leased.
 *  I7. The kernel keeps every listing (OPENDIR is ENOSYS) while the directory's time stays the same. If names can
 *      change without that time, each answer with its attributes drops the listing first, until the directory is
 *      listed again (listings.c). If names can change unnoticed, the attributes are asked.
 *  I8. If the kernel opens files without asking (-o ro), the pages of a file that may have grown are dropped before its
 *      new size is told; a single thread cannot, and goes without (sizes.c). Otherwise what grows is read past the
 *      page cache, and a text that changes in its middle comes from a snapshot made for the open (snapshot.c).
 *  I9. Only fixed contents are given to the kernel ahead of an open (prefill.c).
 * I10. A name that is not there has a class, too. It is asked if a write could make it.
 * I11. If an idle mount is to be unmounted, the root and the names in it are live at most: whoever comes from outside
 *      must be noticed.
 * I12. Listings bring attributes along, those of files only while somebody looks files up: each costs the kernel a
 *      kilobyte (readdirplus.c).
 *
 * Order: make the note, then answer; drop the listing or the pages, then answer; take the note off, then tell. No lock
 * is held while the kernel is told, except the two that let one thread at a time drop or give pages. */
#ifndef SESSIONFS_COHERENCE_H
#define SESSIONFS_COHERENCE_H

#include "sessionfs/fuse/fuse_compat.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/tree/tree.h"

#include <pthread.h>
#include <stdatomic.h>

struct fs;

/* How long it may be kept (I1). */
static inline double seconds_of(enum tree_class class)
{
	static const double seconds[] = {
	    [TREE_ASKED] = 0, [TREE_LIVE] = 0.5, [TREE_WATCHED] = 60, [TREE_LEASE] = 60, [TREE_FIXED] = 86400};
	return seconds[class];
}

/* leases.c */
struct leases {
	struct lock lock;
	bool kept;                /* somebody tells */
	struct lease_slot *slots; /* by number */
	size_t n, nodes;
	bool above;         /* something above the sessions was given out */
	int64_t dropped_ms; /* when leases that had ended were dropped last */
};

/* Before attributes go to the kernel: notes what they let it keep, or lets it keep less (I2, I3). Any lock of the
 * tree's may be held. */
void leases_note(struct fs *fs, struct tree_attr *a);
void leases_keep(struct fs *fs, bool kept);
/* Takes the notes of a session off. The nodes noted one by one are the caller's to free; true if its watched ones were
 * given out, too. */
bool leases_take(struct fs *fs, uint32_t slot, node_t **ret, size_t *ret_n);
/* The same for what is above all sessions. */
bool leases_take_above(struct fs *fs);
/* Whether the kernel may still keep what was noted one by one, taken or not. */
bool leases_are_out(struct fs *fs, uint32_t slot);
void leases_release(struct leases *l);

/* listings.c: directories whose listing the kernel may have kept although their time would not tell of a change */
struct listings {
	struct lock lock;
	struct listing_state *cells; /* hashed by `dir`, open addressing; cap is 0 or a power of two */
	size_t n, cap;
};

struct listing_state {
	node_t dir; /* 0: free */
	uint64_t epoch;
};

/* A directory with these attributes is about to be listed from its beginning. 0 or -ENOMEM. */
int listings_begin(struct fs *fs, const struct tree_attr *attr);
/* Whether names in this directory can change unnoticed (I7). */
bool listings_are_asked(struct fs *fs, node_t dir);
/* Before attributes of the node go to the kernel: drops a listing that may be outdated. No lock may be held. */
void listings_check(struct fs *fs, node_t node);
/* Whether that could have anything to do. Any lock may be held. */
bool listings_is_noted(struct fs *fs, node_t node);
void listings_release(struct listings *l);

/* sizes.c: sizes that the kernel was told */
struct sizes {
	struct lock lock;     /* of the notes */
	struct lock dropping; /* who has it drops pages */
	struct size_told {
		node_t node;
		uint64_t size;
	} * told; /* hashed; NULL: nothing is noted */
};

/* From now on; there must be several threads, and no opens that are answered. 0 or -ENOMEM. */
int sizes_start(struct fs *fs);
/* Before an answer with these attributes: drops the pages of a file that has another size now. No lock may be held. */
void sizes_tell(struct fs *fs, const struct tree_attr *a);
/* False if that must be done first. Any lock may be held. */
bool sizes_may_be_told(struct fs *fs, const struct tree_attr *a);

/* prefill.c */
struct prefill {
	struct lock lock; /* who has it gives */
	node_t *given;    /* hashed; NULL: nothing is given */
};

/* From now on; there must be several threads. 0 or -ENOMEM. */
int prefill_start(struct fs *fs);
/* Before the answer to the open of a fixed file. */
void prefill_give(struct fs *fs, node_t node);

/* readdirplus.c: what a listing brings along besides the names */
enum plus { PLUS_ALL, PLUS_PROBE, PLUS_DIRS }; /* attributes of all; of all but one file; of directories */

/* One in so many listings is a probe; after so many unused ones the attributes are left out. */
enum { PLUS_PROBE_EVERY = 64, PLUS_UNUSED_MAX = 1024 };

struct readdirplus {
	struct lock lock;
	unsigned listings; /* since the last probe */
	unsigned unused;   /* probes in a row */
	bool probed;       /* and nothing is known of it yet */
};

/* For a listing, or the next piece of one. After PLUS_PROBE: readdirplus_probed, if there was a file. */
enum plus readdirplus_begin(struct readdirplus *p, bool first);
void readdirplus_probed(struct readdirplus *p);
/* Somebody looked up a file. */
void readdirplus_used(struct readdirplus *p);

/* follow.c: the thread that follows changes */
struct follow {
	pthread_t thread;
	bool running;
	atomic_bool stop;
	struct recheck *recheck; /* the thread's own */
	size_t n, cap;
};

void follow_start(struct fs *fs);
void follow_stop(struct fs *fs);
/* If anything was written since tree_commits said `before`: what follows the node's session is asked for again from now
 * on (I5). */
void follow_written(struct fs *fs, node_t node, uint64_t before);

struct coherence {
	struct leases leases;
	struct listings listings;
	struct sizes sizes;
	struct prefill prefill;
	struct readdirplus plus;
	struct follow follow;
};

/* coherence.c */
void coherence_init(struct coherence *c);
void coherence_release(struct coherence *c);
/* Before attributes go to the kernel as those of the node that it `asked` for: limits what may be kept of them, and has
 * dropped what they would not go with. No lock may be held. */
void coherence_settle(struct fs *fs, node_t asked, struct tree_attr *a);
/* The same where locks may be held: false if the attributes cannot be given. Later, without locks: listings_check. */
bool coherence_settle_listed(struct fs *fs, struct tree_attr *a);
struct stat stat_of(const struct tree_attr *a);
struct fuse_entry_param entry_of(const struct tree_attr *a);

/* Younger than this, or from the future. */
static inline bool is_younger(struct timespec t, time_t seconds)
{
	return clock_now(CLOCK_REALTIME).tv_sec - t.tv_sec < seconds;
}

#endif
