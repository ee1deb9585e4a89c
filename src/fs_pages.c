/* Contents that the kernel is given with the open.
 *
 * Whoever opens a file of an entry reads it, mostly. Given the pages before it is opened, the kernel does not ask for
 * them; and it does not take them for having been read, after which it would ask for the attributes once more, since
 * the access time could be another.
 *
 * To give a page waits for whoever reads it, who can be waiting for an answer of ours: there must be another thread to
 * give it, so only one of several does this at any time. Nothing is lost by not giving. */
#include "fs_impl.h"

#include <stdlib.h>

enum { SIZE_MAX_GIVEN = 64 * 1024, CELLS_LOG2 = 17 };

int pages_start(struct fs *fs)
{
	fs->pages.given = calloc((size_t)1 << CELLS_LOG2, sizeof *fs->pages.given);
	return fs->pages.given ? 0 : -ENOMEM;
}

void pages_init(struct pages *p)
{
	pthread_mutex_init(&p->lock, NULL);
}

void pages_release(struct pages *p)
{
	free((void *)p->given);
	pthread_mutex_destroy(&p->lock);
}

/* True if it was not noted. One that is noted in its place is forgotten, and will be given again. */
static bool note(struct pages *p, node_t node)
{
	_Atomic(node_t) *cell = &p->given[node * 0x9E3779B97F4A7C15U >> (64 - CELLS_LOG2)];
	if (atomic_load_explicit(cell, memory_order_relaxed) == node)
		return false;
	atomic_store_explicit(cell, node, memory_order_relaxed);
	return true;
}

static void give(struct fs *fs, node_t node)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	if (tree_read(fs->tree, node, 0, SIZE_MAX_GIVEN + 1, &text) < 0 || text.n == 0 || text.n > SIZE_MAX_GIVEN)
		return;
	struct fuse_bufvec pages = FUSE_BUFVEC_INIT(text.n);
	pages.buf[0].mem = text.p;
	fuse_lowlevel_notify_store(fs->session, node, 0, &pages, 0);
}

void pages_give(struct fs *fs, node_t node)
{
	struct pages *p = &fs->pages;
	if (!p->given || pthread_mutex_trylock(&p->lock) != 0)
		return;
	if (note(p, node))
		give(fs, node);
	pthread_mutex_unlock(&p->lock);
}
