/* Sizes that the kernel was told, where it opens files without asking (I8).
 *
 * There all that is read goes through its page cache, and it takes in a new size before it drops the pages of before:
 * who reads in between gets the old last page, and zeros behind what was its end. So pages are dropped before a new
 * size is told. The kernel does not believe an answer that it asked for before it was told so; it asks once more.
 *
 * To drop pages waits for whoever reads them, who can be waiting for an answer of ours: there must be another thread to
 * give it. Only one at a time drops, and those who have waited for a moment go on without; so does the last one that
 * answers at the end. */
#include "fs_impl.h"

#include <stdlib.h>
#include <sys/stat.h>

/* If a file changed longer ago than this, the thread that follows changes has dropped its pages. */
enum { YOUNG_SECONDS = 5 };
enum { CELLS = 1 << 12, WAIT_NS = 10 * 1000 * 1000 };

int sizes_start(struct fs *fs)
{
	fs->coherence.sizes.told = calloc(CELLS, sizeof *fs->coherence.sizes.told);
	return fs->coherence.sizes.told ? 0 : -ENOMEM;
}

/* Notes the size, unless pages must be dropped before and were not: then it is false. The one that was noted in its
 * place is forgotten. */
static bool note(struct sizes *s, const struct tree_attr *a, bool dropped)
{
	LOCKED(&s->lock);
	struct size_told *told = &s->told[hash_word(a->node) % CELLS];
	bool differs = told->node == a->node ? told->size != a->size : is_younger(a->mtime, YOUNG_SECONDS);
	if (dropped || !differs)
		*told = (struct size_told){a->node, a->size};
	return dropped || !differs;
}

bool sizes_may_be_told(struct fs *fs, const struct tree_attr *a)
{
	return !fs->coherence.sizes.told || !S_ISREG(a->mode) || tree_is_fixed(a->node) ||
	       note(&fs->coherence.sizes, a, false);
}

void sizes_tell(struct fs *fs, const struct tree_attr *a)
{
	struct sizes *s = &fs->coherence.sizes;
	if (sizes_may_be_told(fs, a) || fuse_session_exited(fs->session) || !lock_try_for(&s->dropping, WAIT_NS))
		return;
	if (!note(s, a, false)) {
		fuse_lowlevel_notify_inval_inode(fs->session, a->node, 0, 0);
		/* Not earlier: a thread that finds the note tells the size at once. */
		note(s, a, true);
	}
	lock_give(&s->dropping);
}
