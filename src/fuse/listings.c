/* SPDX-License-Identifier: MIT */
/* If OPENDIR fails with ENOSYS, the kernel keeps every listing (I7) and reads it again only when the directory's mtime
 * has changed. That saves two requests for each directory and use: of 31,000 names, a first find sends 9,600 requests
 * instead of 19,000, and a second one 4,900 instead of 14,300, with -o ro 300 instead of 9,700. But the mtime misses
 * these changes:
 *
 * - The names depend on other files, or on none. A session that is removed, or copied in with an old date, need not
 *   change the mtime of its project; a fork changes nothing in its parent session, nor does a refused write. So
 *   directories down to those in a session are noted with tree_listing_serial when they are listed.
 * - The session's file changed just before the listing was made: the next change can have the same mtime.
 * - In a writable mount some names come and go without changing the mtime (tree_is_listing_volatile). The kernel asks
 *   for the attributes of such a directory each time.
 *
 * Before the kernel uses a kept listing it asks for the attributes, unless its own are still valid. So before each
 * answer with attributes whose listing is possibly outdated, we make the kernel drop the listing. We repeat this until
 * the directory is listed again, since a reply on its way could bring the old listing back: with every other answer if
 * the kernel has to accept the mode (I9).
 *
 * The kernel ignores attributes if any thread invalidated the node after the kernel asked for them: it uses the old
 * owner and mode once more. So an answer drops nothing (I9) if owner or mode have changed since they were last given,
 * or if the caller cannot read the node: the kernel then asks for the attributes again before a read. Nor do two
 * answers in a row to users whom the mode can keep out.
 *
 * This notification is sent while a request is being answered. In the kernel it takes only page locks, which no request
 * for attributes or names holds. None of our locks is held. */
#include "fs_impl.h"

#include "sessionfs/base/log.h"

#include <inttypes.h>
#include <sys/stat.h>

#define TIMESTAMP_COARSEST_S 2 /* the coarsest timestamp of a file system */
/* projects/PROJECT/STEM/entries/ID: the names in it depend only on the session's file. */
#define SESSION_OWNED_DEPTH 5

/* The epoch of a cell is a tree_listing_serial, or one of these. */
enum { EPOCH_OUTDATED = 0 };
#define EPOCH_CURRENT UINT64_MAX

/* Returns the cell of the directory, or the free cell for it. There is always a free cell. */
static struct listing_state *listings_find(const struct listings *l, node_t dir)
{
	size_t i = (size_t)hash_word(dir) & (l->cap - 1);
	while (l->cells[i].dir && l->cells[i].dir != dir)
		i = (i + 1) & (l->cap - 1);
	return &l->cells[i];
}

/* Makes room. Drops current directories, which need no cell: otherwise every directory ever listed would stay. */
static bool listings_grow(struct listings *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->cap; i++)
		n += l->cells[i].dir && l->cells[i].epoch != EPOCH_CURRENT;
	struct listings more = {.cap = l->cap ? l->cap : 64};
	if (n > l->cap / 4)
		more.cap *= 2;
	more.cells = calloc(more.cap, sizeof *more.cells);
	if (!more.cells)
		return false;
	for (size_t i = 0; i < l->cap; i++) {
		if (l->cells[i].dir && l->cells[i].epoch != EPOCH_CURRENT)
			*listings_find(&more, l->cells[i].dir) = l->cells[i];
	}
	free(l->cells);
	l->cells = more.cells;
	l->cap = more.cap;
	l->n = n;
	return true;
}

/* Updates the cell of the directory, and adds one unless the directory is current. Returns false if out of memory. */
static bool listings_track(struct listings *l, const struct tree_attr *a, uint64_t epoch)
{
	struct listing_state *s = l->cap ? listings_find(l, a->node) : NULL;
	if (s && s->dir) {
		s->epoch = epoch;
		return true;
	}
	if (epoch == EPOCH_CURRENT)
		return true;
	if (l->n >= l->cap / 2 && !listings_grow(l))
		return false;
	*listings_find(l, a->node) = (struct listing_state){a->node, epoch, {a->mode, a->uid, a->gid}, false};
	l->n++;
	return true;
}

bool listings_are_uncached(struct fs *fs, node_t dir)
{
	return fs->no_opendir && !fs->read_only && tree_is_dir(dir) && tree_is_listing_volatile(fs->tree, dir);
}

int listings_begin(struct fs *fs, const struct tree_attr *attr)
{
	struct listings *l = &fs->coherence.listings;
	if (!fs->no_opendir)
		return 0;
	unsigned depth = 0;
	for (node_t at = attr->node; at != NODE_ROOT && depth < SESSION_OWNED_DEPTH; at = tree_parent(fs->tree, at))
		depth++;
	uint64_t epoch = EPOCH_CURRENT;
	if (attr->mtime.tv_sec > clock_ago(TIMESTAMP_COARSEST_S) || listings_are_uncached(fs, attr->node))
		epoch = EPOCH_OUTDATED;
	else if (depth < SESSION_OWNED_DEPTH)
		epoch = tree_listing_serial(fs->tree, attr->node);
	log_debug("list %" PRIu64 " (inode %" PRIu64 "): cached %s (I7)", attr->node, attr->ino,
	          epoch == EPOCH_CURRENT    ? "while its time is the same"
	          : epoch == EPOCH_OUTDATED ? "until its attributes are requested"
	                                    : "while its time and the names in it are the same");
	lock_acquire(&l->lock);
	bool done = listings_track(l, attr, epoch);
	lock_release(&l->lock);
	return done ? 0 : -ENOMEM;
}

/* Returns a copy of the directory's cell. Records the owner and mode of the attributes `a` (NULL: none) to be given;
 * *ret_known: the kernel has the same already. */
static struct listing_state listings_update_owner(struct listings *l, node_t node, const struct tree_attr *a,
                                                  bool *ret_known)
{
	LOCKED(&l->lock);
	struct listing_state *s = l->cap ? listings_find(l, node) : NULL;
	*ret_known = true;
	if (!s || !s->dir)
		return (struct listing_state){.epoch = EPOCH_CURRENT};
	*ret_known = !a || sent_owner_update(&s->sent_owner, a);
	return *s;
}

bool listings_is_tracked(struct fs *fs, node_t node)
{
	bool known;
	return fs->no_opendir &&
	       listings_update_owner(&fs->coherence.listings, node, NULL, &known).epoch != EPOCH_CURRENT;
}

void listings_drop_stale(struct fs *fs, fuse_req_t req, node_t node, struct tree_attr *a)
{
	struct listings *l = &fs->coherence.listings;
	bool known;
	if (!fs->no_opendir || !fs->session)
		return;
	const struct listing_state s = listings_update_owner(l, node, a, &known);
	if (s.epoch == EPOCH_CURRENT || (s.epoch != EPOCH_OUTDATED && s.epoch == tree_listing_serial(fs->tree, node)))
		return;
	/* Any mode lets root in. */
	bool is_checked = a && fuse_req_ctx(req)->uid != 0;
	bool drops = !a || (known && caller_may_read(req, a) && !(is_checked && s.was_dropped));
	if (is_checked) {
		LOCKED(&l->lock);
		struct listing_state *now = listings_find(l, node);
		if (now->dir)
			now->was_dropped = drops;
	}
	if (drops) {
		log_debug("drop listing %" PRIu64 " (I7)", node);
		fuse_lowlevel_notify_inval_inode(fs->session, node, 0, 0);
	} else {
		limit_attr(a, TREE_UNCACHED, "I9: the kernel must accept them");
	}
}
