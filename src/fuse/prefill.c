/* SPDX-License-Identifier: MIT */
/* Contents that the kernel is given before an open is answered (I9).
 *
 * A process that opens a file of an entry usually reads it. If the kernel has the pages before the open, it does not
 * ask for them. It also saves a request for the attributes, which the kernel sends after a read because the access time
 * can have changed.
 *
 * Storing a page waits for its readers, which can be waiting for an answer of ours: another thread must be free to give
 * it. So only one of several threads stores pages at a time, and none does at the end of the mount. Storing nothing is
 * always safe. */
#include "fs_impl.h"

#include <stdlib.h>

enum {
	PREFILL_SIZE_MAX = LIMIT(64 * 1024, 64),
	PREFILL_CELLS = LIMIT(1 << 17, 2)
}; /* bytes of a file; cells, 1 MiB in all */

int prefill_start(struct fs *fs)
{
	fs->coherence.prefill.prefilled = calloc(PREFILL_CELLS, sizeof *fs->coherence.prefill.prefilled);
	return fs->coherence.prefill.prefilled ? 0 : -ENOMEM;
}

/* A note replaces another node's in the same cell; that node's pages will be stored again. */
void prefill_store_pages(struct fs *fs, node_t node)
{
	struct prefill *p = &fs->coherence.prefill;
	if (!p->prefilled || fuse_session_exited(fs->session) || !lock_try(&p->lock))
		return;
	node_t *cell = &p->prefilled[hash_word(node) % PREFILL_CELLS];
	struct buf text CLEANUP_BUF = BUF_INIT;
	if (*cell != node && tree_read(fs->tree, node, 0, PREFILL_SIZE_MAX + 1, &text) == 0 && text.n > 0 &&
	    text.n <= PREFILL_SIZE_MAX) {
		struct fuse_bufvec pages = FUSE_BUFVEC_INIT(text.n);
		pages.buf[0].mem = text.p;
		fuse_lowlevel_notify_store(fs->session, node, 0, &pages, 0);
	}
	*cell = node;
	lock_release(&p->lock);
}
