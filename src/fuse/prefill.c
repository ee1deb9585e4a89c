/* Contents that the kernel is given ahead of the open (I9).
 *
 * Whoever opens a file of an entry reads it, mostly. Given the pages before it is opened, the kernel does not ask for
 * them; and it does not take them for having been read, after which it would ask for the attributes once more, since
 * the access time could be another.
 *
 * To give a page waits for whoever reads it, who can be waiting for an answer of ours: there must be another thread to
 * give it, so only one of several does this at any time, and none at the end. Nothing is lost by not giving. */
#include "fs_impl.h"

#include <stdlib.h>

enum { MOST_GIVEN = 64 * 1024, CELLS = 1 << 17 }; /* bytes of a file; 1 MiB of notes */

int prefill_start(struct fs *fs)
{
	fs->coherence.prefill.given = calloc(CELLS, sizeof *fs->coherence.prefill.given);
	return fs->coherence.prefill.given ? 0 : -ENOMEM;
}

/* True if it was not noted. The one that is noted in its place is forgotten, and will be given again. */
static bool note(struct prefill *p, node_t node)
{
	node_t *cell = &p->given[hash_word(node) % CELLS];
	bool noted = *cell == node;
	*cell = node;
	return !noted;
}

static void give(struct fs *fs, node_t node)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	if (tree_read(fs->tree, node, 0, MOST_GIVEN + 1, &text) < 0 || text.n == 0 || text.n > MOST_GIVEN)
		return;
	struct fuse_bufvec pages = FUSE_BUFVEC_INIT(text.n);
	pages.buf[0].mem = text.p;
	fuse_lowlevel_notify_store(fs->session, node, 0, &pages, 0);
}

void prefill_give(struct fs *fs, node_t node)
{
	struct prefill *p = &fs->coherence.prefill;
	if (!p->given || fuse_session_exited(fs->session) || !lock_try(&p->lock))
		return;
	if (note(p, node))
		give(fs, node);
	lock_give(&p->lock);
}
