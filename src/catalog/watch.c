/* SPDX-License-Identifier: MIT */
/* Inotify watches on the source and its directories, and the changes recorded for catalog_wait.
 *
 * The next call of the catalog reads the events; in a request that only reads, its first call (catalog_set_reading).
 * The kernel queues them before the write that caused them returns, so a caller always sees earlier writes. Events also
 * wake the thread in catalog_wait, which reads them if no other call does.
 *
 * A directory gets its watch before its names are read, so no change is missed in between. Some have none: their file
 * system can change without this kernel, watches ran out, the same directory has two names, or a link leads to it, and
 * can lead elsewhere without an event. Those are polled, like a file with another hard link. */
#include "catalog_impl.h"

#include "sessionfs/base/limits.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/sys.h"

#include <fcntl.h>
#include <stdio.h>

#define INOTIFY_MASK                                                                                                   \
	(IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | \
	 IN_EXCL_UNLINK | IN_ONLYDIR)
#define CHANGES_MAX ((size_t)LIMIT(1 << 16, 2))
/* The kernel has a limit, too: /proc/sys/fs/inotify/max_user_watches. */
#define WATCHES_MAX LIMIT(SIZE_MAX, (size_t)16)

int watching_init(struct watching *w, const struct catalog_options *o)
{
	*w = (struct watching){.inotify = -1, .wake = {-1, -1}, .polls = o->poll};
	if (!o->watch)
		return 0;
	if (pipe2(w->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	if (o->poll)
		return 0;
	w->inotify = sys_inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	w->polls = w->inotify < 0;
	if (w->polls && errno != ENOSYS) /* a system without it has nothing to mend */
		log_warning("inotify: %s: polling instead, which is slower%s", strerror(errno),
		            errno == EMFILE ? "; to raise the limit: sysctl fs.inotify.max_user_instances=1024" : "");
	return 0;
}

void watching_release(struct watching *w)
{
	cleanup_close(&w->inotify);
	cleanup_close(&w->wake[0]);
	cleanup_close(&w->wake[1]);
	free(w->by_wd);
	vec_release(&w->pending);
	free(w->changes);
}

/* ---- changes ---- */

void watch_wake(const struct watching *w)
{
	if (w->wake[1] >= 0 && write(w->wake[1], "", 1) < 0)
		return; /* the pipe is full, so it wakes anyway */
}

void watch_overflow(struct watching *w)
{
	w->lost = true;
	watch_wake(w);
}

void watch_add_change(struct catalog *c, uint32_t file, uint32_t died, bool names)
{
	struct watching *w = &c->watching;
	if (!watching_is_on(w) || (died == NONE && !names && c->files[file].noted))
		return;
	c->files[file].noted = true;
	if (w->lost)
		return;
	if (w->n >= CHANGES_MAX || !vec_grow(&w->changes, &w->changes_cap, w->n + 1, sizeof *w->changes)) {
		watch_overflow(w);
		return;
	}
	if (w->n == 0)
		watch_wake(w);
	w->changes[w->n++] = (struct catalog_change){file, died, names};
}

/* ---- marks ---- */

void mark_dir_stale(struct catalog *c, uint32_t dir)
{
	c->tick++;
	if (dir_is_flat(c, dir))
		c->flat.marked = c->tick;
	for (uint32_t d = dir; d != NONE; d = c->dirs[d].parent)
		c->dirs[d].tree.marked = c->tick;
}

void pending_add(struct catalog *c, struct place p)
{
	struct watching *w = &c->watching;
	if (!watching_is_on(w))
		return;
	if (!vec_reserve(&w->pending, 1)) {
		watch_overflow(w);
		return;
	}
	w->pending.v[w->pending.n++] = p;
	if (w->pending.n == 1)
		watch_wake(w); /* whichever thread read the event */
}

/* A place is added to the pending ones only by its first mark. */
static void mark(struct catalog *c, struct place p, struct scan_state *s)
{
	bool is_pending = scan_state_is_marked(s);
	s->marked = c->tick;
	if (!is_pending)
		pending_add(c, p);
}

void mark_file_stale(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	mark_dir_stale(c, f->dir);
	mark(c, (struct place){f->dir, file}, &f->scanned);
}

void mark_names_stale(struct catalog *c, uint32_t dir)
{
	mark_dir_stale(c, dir);
	c->dirs[dir].trusted = false;
	mark(c, (struct place){dir, NONE}, &c->dirs[dir].scanned);
}

void mark_files_stale(struct catalog *c, uint32_t dir)
{
	const struct dir *d = &c->dirs[dir];
	mark_names_stale(c, dir);
	for (size_t i = 0; i < d->files.n; i++)
		if (c->files[d->files.v[i]].state != FILE_GONE)
			mark_file_stale(c, d->files.v[i]);
}

uint32_t dir_next(const struct catalog *c, uint32_t root, uint32_t dir)
{
	if (c->dirs[dir].child != NONE)
		return c->dirs[dir].child;
	while (dir != root && c->dirs[dir].sibling == NONE)
		dir = c->dirs[dir].parent;
	return dir == root ? NONE : c->dirs[dir].sibling;
}

void mark_tree_stale(struct catalog *c, uint32_t dir)
{
	for (uint32_t d = dir; d != NONE; d = dir_next(c, dir, d))
		mark_files_stale(c, d);
}

/* ---- which directories have a watch ---- */

/* Adds `n` to the trees that have the directory, if inotify does not report its every change. */
static void count_unwatched(struct catalog *c, uint32_t dir, uint32_t n)
{
	const struct dir *d = &c->dirs[dir];
	if (d->gone || (d->wd && !d->linked))
		return;
	c->flat.unwatched += dir_is_flat(c, dir) ? n : 0;
	for (; dir != NONE; dir = c->dirs[dir].parent)
		c->dirs[dir].tree.unwatched += n;
}

static void dir_set_watch(struct catalog *c, uint32_t dir, int wd, bool linked)
{
	struct dir *d = &c->dirs[dir];
	count_unwatched(c, dir, UINT32_MAX);
	d->wd = wd;
	d->linked = linked;
	count_unwatched(c, dir, 1);
}

void dir_set_gone(struct catalog *c, uint32_t dir, bool gone)
{
	struct dir *d = &c->dirs[dir];
	watch_drop(c, dir);
	count_unwatched(c, dir, UINT32_MAX);
	d->gone = gone;
	d->scanned.marked = 0; /* it is not pending while it is gone */
	count_unwatched(c, dir, 1);
	mark_names_stale(c, dir);
}

uint32_t watch_dir_of(const struct watching *w, int wd)
{
	return wd > 0 && (size_t)wd < w->cap ? w->by_wd[wd] : NONE;
}

static bool watch_table_put(struct watching *w, int wd, uint32_t dir)
{
	size_t before = w->cap;
	if (!vec_grow(&w->by_wd, &w->cap, (size_t)wd + 1, sizeof *w->by_wd))
		return false;
	for (size_t i = before; i < w->cap; i++)
		w->by_wd[i] = NONE;
	w->by_wd[wd] = dir;
	return true;
}

void watch_removed(struct catalog *c, uint32_t dir)
{
	c->watching.by_wd[c->dirs[dir].wd] = NONE;
	c->watching.count--;
	dir_set_watch(c, dir, 0, c->dirs[dir].linked);
}

void watch_drop(struct catalog *c, uint32_t dir)
{
	if (c->dirs[dir].wd == 0)
		return;
	sys_inotify_rm_watch(c->watching.inotify, c->dirs[dir].wd);
	watch_removed(c, dir);
}

void watch_drop_below(struct catalog *c, uint32_t dir)
{
	for (uint32_t d = dir; d != NONE; d = dir_next(c, dir, d))
		watch_drop(c, d);
	mark_tree_stale(c, dir);
}

/* Without a watch, changes show later. The user should know. */
static void log_unwatched(struct catalog *c, uint32_t dir, int err)
{
	const char *name = c->dirs[dir].name[0] ? c->dirs[dir].name : c->source;
	if (!log_once(&c->logged, err == ENOSPC ? LOGGED_NO_WATCHES : LOGGED_UNWATCHED,
	              err == ENOSPC ? "" : c->dirs[dir].name))
		return;
	if (err != ENOSPC)
		log_info("%s: cannot watch: %s: polling instead", name, strerror(err));
	else
		log_warning("%s: no inotify watches left: polling instead, which is slower; to "
		            "raise the limit: "
		            "sysctl fs.inotify.max_user_watches=1048576",
		            name);
}

void watch_dir(struct catalog *c, uint32_t dir, const struct resolved *at)
{
	struct watching *w = &c->watching;
	struct dir *d = &c->dirs[dir];
	char path[32];
	/* A process that has a removed directory open keeps its watch alive. */
	if (at->linked || d->watched_dev != at->st.st_dev || d->watched_ino != at->st.st_ino)
		watch_drop(c, dir);
	if (w->inotify < 0 || d->wd || d->gone || at->linked)
		return;
	/* Watch the open directory; its path may lead elsewhere by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", at->fd);
	errno = ENOSPC;
	int wd = w->count < WATCHES_MAX ? sys_inotify_add_watch(w->inotify, path, INOTIFY_MASK) : -1;
	/* A directory with two names has one watch, and its events do not say which name was used. */
	if (wd < 0 || watch_dir_of(w, wd) != NONE || !watch_table_put(w, wd, dir)) {
		if (wd < 0)
			log_unwatched(c, dir, errno);
		return;
	}
	w->count++;
	d->watched_dev = at->st.st_dev;
	d->watched_ino = at->st.st_ino;
	log_forget(&c->logged, LOGGED_UNWATCHED, d->name);
	uint64_t marked = d->scanned.marked;
	/* Earlier results, here and deeper, could be outdated: another directory could have got the path. The names are
	 * read after this. */
	mark_tree_stale(c, dir);
	d->scanned.marked = marked;
	dir_set_watch(c, dir, wd, d->linked);
}

void watch_hard_link(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	if (f->linked)
		return;
	f->linked = true;
	dir_set_watch(c, f->dir, c->dirs[f->dir].wd, true);
}

void catalog_wake(struct catalog *c)
{
	watch_wake(&c->watching);
}
