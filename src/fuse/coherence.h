/* coherence: what the kernel keeps of the mount, and how it is kept true.
 *
 * The kernel answers from what it keeps without asking us. The tree says of each node what may be kept of it (enum
 * tree_class); here that becomes seconds, what was given out is noted, and the kernel is told when it is not true any
 * more. These rules hold:
 *
 *  I1. A class is turned into seconds at one place (seconds_of): asked 0, live 0.5, watched and lease 60, fixed a
 *      day. A name has a class of its own.
 *  I2. Watched or leased is only what somebody will tell of: while a thread follows the catalog, and after a note was
 *      made (leases.c). Everything else is live, or asked in a mount that can be written. The minute bounds what a
 *      missing note can do.
 *  I3. A session's watched nodes have one note together, since the table says which they are; each leased node has its
 *      own. So has a file whose contents can change while size and time stay: the kernel cannot see that by itself.
 *      What was not given out is not told.
 *  I4. A node is told by its attributes: that waits for nobody, and with another size or time the kernel drops the
 *      pages by itself. Directories are told whole, for their listings. Pages are told only where nobody waits for
 *      our answer: by the thread that follows, or by one of several (I8).
 *  I5. A writer has the kernel told before its own call is answered, if it changed anything. All other changes are told
 *      by the thread that follows, and names by nobody else: that waits for lookups in their directory.
 *  I6. An answer made before a change can arrive after it was told. So a change is told once more a second later, with
 *      contents (two changes within a tick of the clock show one time). Likewise, the tree watches nothing younger
 *      than two seconds, and leases nothing younger than a minute.
 *  I7. The kernel keeps every listing (OPENDIR is ENOSYS) while the directory's time is the same. Where names can come
 *      and go without that time, it is told to drop the listing before it is told attributes, until it lists again
 *      (listings.c). If they can do so unnoticed, the attributes are asked for each time.
 *  I8. Where the kernel opens files without asking (-o ro), the pages of a file that may have grown are dropped before
 *      its new size is told (sizes.c). Elsewhere what grows is read past the page cache, and a text that changes in its
 *      middle from a snapshot made for the open (snapshot.c).
 *  I9. Contents are given ahead of an open only if they are fixed (prefill.c).
 * I10. A name that is not there has a class, too. What could be written into being is asked for.
 * I11. Where idle mounts are unmounted, the root and the names in it are live at most: whoever comes from outside must
 *      be heard.
 * I12. Listings bring attributes along, those of files only while somebody looks files up: each costs the kernel a
 *      kilobyte (readdirplus.c).
 *
 * Order: note, then answer; drop a listing or pages, then answer with attributes; take the note off, then tell. No lock
 * of ours is held while the kernel is told, but for those that have one thread at a time drop or give pages. */
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

/* Of so many listings one is a probe; so many that nobody used are enough. */
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
