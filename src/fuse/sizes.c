/* SPDX-License-Identifier: MIT */
/* The sizes that the kernel was given, if it opens files without asking (I8).
 *
 * Opening a file is then no request: of 31,000 names, a second grep -r sends 700 requests instead of 45,000. But
 * every read goes through the kernel's page cache, and the kernel applies a new size before it drops the old
 * pages. A read in between gets the old last page, with zeros after the old end. So pages are dropped before a new size
 * is given out. That holds for files that can have grown, or whose contents changed while size and time stayed the
 * same. The kernel ignores an answer to a request it made before the drop; it asks once more.
 *
 * Dropping pages waits for their readers, which can be waiting for an answer of ours: another thread must be free to
 * give it. Only one thread at a time drops pages. Others wait briefly for their turn and then continue without
 * dropping. At the end of the mount no pages are dropped. */
#include "fs_impl.h"

#include "sessionfs/base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* If a file changed longer ago than this, the thread that follows has dropped its pages. */
enum { SIZES_YOUNG_SECONDS = 5 };
enum { SIZES_CELLS = LIMIT(1 << 12, 2), SIZES_WAIT_NS = 10 * 1000 * 1000 };

int sizes_enable(struct fs *fs)
{
	fs->coherence.sizes.sent = calloc(SIZES_CELLS, sizeof *fs->coherence.sizes.sent);
	return fs->coherence.sizes.sent ? 0 : -ENOMEM;
}

static struct sent_size *sent_size_cell(struct sizes *s, node_t node)
{
	return tree_is_table(node) ? &s->tables[node_unpack(node).kind] : &s->sent[hash_word(node) % SIZES_CELLS];
}

/* Records the size, and the version of an untimed file, and returns true. If pages must be dropped first and `dropped`
 * is false, only returns false. A new note replaces another node's in the same cell. */
static bool sizes_record(struct sizes *s, const struct tree_attr *a, bool dropped)
{
	LOCKED(&s->lock);
	struct sent_size *sent = sent_size_cell(s, a->node);
	bool differs = a->version || a->mtime.tv_sec > clock_ago(SIZES_YOUNG_SECONDS);
	/* The kernel must accept a new size of a table: nothing asks for it again before the table is mapped. */
	if (tree_is_table(a->node))
		differs = sent->size == a->size && sent->version != a->version;
	else if (sent->node == a->node)
		differs = sent->size != a->size || sent->version != a->version;
	else if (tree_text_change(a->node) == TREE_RESTAMPED)
		differs = a->attr_class < TREE_WATCHED;
	if (dropped || !differs)
		*sent = (struct sent_size){a->node, a->size, a->version, {a->mode, a->uid, a->gid}};
	return dropped || !differs;
}

/* Returns true if the kernel must accept the attributes (I9). Sets the size that the kernel has, which fits its
 * pages. */
static bool attr_must_be_accepted(struct sizes *s, fuse_req_t req, struct tree_attr *a)
{
	bool may_read = caller_may_read(req, a);
	LOCKED(&s->lock);
	struct sent_size *sent = sent_size_cell(s, a->node);
	if (sent->node != a->node)
		return !may_read;
	if (sent_owner_update(&sent->owner, a) && may_read)
		return false;
	a->size = sent->size;
	return true;
}

bool sizes_are_current(struct fs *fs, const struct tree_attr *a)
{
	struct sizes *s = &fs->coherence.sizes;
	return (!s->sent && !tree_is_table(a->node)) || !S_ISREG(a->mode) || tree_text_change(a->node) == TREE_NEVER ||
	       sizes_record(s, a, !s->sent);
}

void sizes_recall(struct fs *fs, struct tree_attr *a)
{
	struct sizes *s = &fs->coherence.sizes;
	LOCKED(&s->lock);
	a->size = sent_size_cell(s, a->node)->size;
}

void sizes_drop_stale_pages(struct fs *fs, fuse_req_t req, struct tree_attr *a)
{
	struct sizes *s = &fs->coherence.sizes;
	if (sizes_are_current(fs, a) || fuse_session_exited(fs->session))
		return;
	if (attr_must_be_accepted(s, req, a)) {
		limit_attr(a, TREE_UNCACHED, "I9: the kernel must accept them");
		return;
	}
	if (!lock_try_for(&s->drop_lock, SIZES_WAIT_NS))
		return;
	if (!sizes_record(s, a, false)) {
		log_debug("drop pages %" PRIu64 " (I8)", a->node);
		fuse_lowlevel_notify_inval_inode(fs->session, a->node, 0, 0);
		/* Not earlier: a thread that finds the note gives out the size at once. */
		sizes_record(s, a, true);
	}
	lock_release(&s->drop_lock);
}
