/* Sizes that the kernel was told, where it opens files without asking.
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
#include <time.h>

/* Of a file that changed longer ago than this the thread that follows changes has dropped the pages. */
enum { YOUNG_SECONDS = 5 };
enum { CELLS_LOG2 = 12, WAIT_NS = 10 * 1000 * 1000 };

int sizes_start(struct fs *fs)
{
	fs->sizes.told = calloc((size_t)1 << CELLS_LOG2, sizeof *fs->sizes.told);
	return fs->sizes.told ? 0 : -ENOMEM;
}

void sizes_init(struct sizes *s)
{
	*s = (struct sizes){.told = NULL};
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->dropping, NULL);
}

void sizes_release(struct sizes *s)
{
	free(s->told);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->dropping);
}

/* Notes the size, unless pages must be dropped before and were not: then it is false. The one that was noted in its
 * place is forgotten. */
static bool note(struct sizes *s, const struct tree_attr *a, bool dropped)
{
	pthread_mutex_lock(&s->lock);
	struct size_told *told = &s->told[fs_cell(a->node, CELLS_LOG2)];
	bool differs = told->node == a->node ? told->size != a->size : fs_is_younger(a->mtime, YOUNG_SECONDS);
	if (dropped || !differs)
		*told = (struct size_told){a->node, a->size};
	pthread_mutex_unlock(&s->lock);
	return dropped || !differs;
}

bool sizes_may_be_told(struct fs *fs, const struct tree_attr *a)
{
	return !fs->sizes.told || !S_ISREG(a->mode) || tree_is_fixed(a->node) || note(&fs->sizes, a, false);
}

static bool wait_for_turn(struct sizes *s)
{
	const struct timespec until = fs_in(CLOCK_REALTIME, WAIT_NS);
	return pthread_mutex_timedlock(&s->dropping, &until) == 0;
}

void sizes_tell(struct fs *fs, const struct tree_attr *a)
{
	struct sizes *s = &fs->sizes;
	if (sizes_may_be_told(fs, a) || fuse_session_exited(fs->session) || !wait_for_turn(s))
		return;
	if (!note(s, a, false)) {
		fuse_lowlevel_notify_inval_inode(fs->session, a->node, 0, 0);
		/* Not before: who finds it here tells it at once. */
		note(s, a, true);
	}
	pthread_mutex_unlock(&s->dropping);
}
