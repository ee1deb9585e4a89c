/* What inotify tells of the source and its directories, and the notes for whoever waits for changes.
 *
 * Events are taken in by whoever calls the catalog next: the kernel queues them before
 * the write that caused them returns, so a caller never sees less than what was written before. The thread in
 * catalog_wait is woken by them too and takes them in when nobody else does.
 *
 * Each directory has a watch before its names are read, so that nothing falls between. Where there is none (the file
 * system is one where others change files behind this kernel's back, watches ran out, the same
 * directory is there twice) the directory is looked at by the clock, as is a file that has another name somewhere. */
#include "catalog_impl.h"

#include "sessionfs/base/log.h"
#include "sessionfs/file/store.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#define MASK                                                                                                           \
	(IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | \
	 IN_EXCL_UNLINK | IN_ONLYDIR)
#define COMES_OR_GOES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define CHANGES_MAX ((size_t)1 << 16)

int watching_init(struct watching *w, const struct catalog_options *o)
{
	*w = (struct watching){.inotify = -1, .wake = -1, .blind = 1, .on = o->watch};
	if (!o->watch)
		return 0;
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake < 0)
		return -errno;
	if (o->poll)
		return 0;
	w->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->inotify < 0)
		log_warning("inotify: %s: changes are looked for instead", strerror(errno));
	return 0;
}

void watching_release(struct watching *w)
{
	cleanup_close(&w->inotify);
	cleanup_close(&w->wake);
	free(w->by_wd);
	free(w->changes);
}

/* ---- notes ---- */

static void wake(const struct watching *w)
{
	const uint64_t one = 1;
	if (w->wake >= 0 && write(w->wake, &one, sizeof one) < 0)
		return; /* it is full, so it wakes anyway */
}

void watch_note(struct catalog *c, uint32_t file, uint32_t died, bool came)
{
	struct watching *w = &c->watching;
	if (!w->on || w->lost || (died == NONE && !came && c->files[file].noted))
		return;
	if (w->n >= CHANGES_MAX || !vec_grow(&w->changes, &w->room, w->n + 1, sizeof *w->changes)) {
		w->lost = true;
		wake(w);
		return;
	}
	if (w->n == 0)
		wake(w);
	c->files[file].noted = true;
	w->changes[w->n++] = (struct catalog_change){file, died, came};
}

/* ---- which directories are told of ---- */

static void set_told(struct catalog *c, uint32_t dir, bool told, bool linked)
{
	struct dir *d = &c->dirs[dir];
	bool was_blind = !d->told || d->linked, blind = !told || linked;
	d->told = told;
	d->linked = linked;
	c->watching.blind += (size_t)blind - (size_t)was_blind;
}

static uint32_t dir_of(const struct watching *w, int wd)
{
	return wd > 0 && (size_t)wd < w->cap ? w->by_wd[wd] : NONE;
}

static bool remember(struct watching *w, int wd, uint32_t dir)
{
	size_t before = w->cap;
	if (!vec_grow(&w->by_wd, &w->cap, (size_t)wd + 1, sizeof *w->by_wd))
		return false;
	for (size_t i = before; i < w->cap; i++)
		w->by_wd[i] = NONE;
	w->by_wd[wd] = dir;
	return true;
}

static void unwatch(struct catalog *c, uint32_t dir)
{
	struct dir *d = &c->dirs[dir];
	if (d->wd > 0) {
		inotify_rm_watch(c->watching.inotify, d->wd);
		c->watching.by_wd[d->wd] = NONE;
	}
	d->wd = 0;
	set_told(c, dir, false, d->linked);
}

/* That there are no more is for everybody to know: what changes is seen later from then on. */
static void say_unwatched(struct catalog *c, uint32_t dir, int err)
{
	const char *name = c->dirs[dir].name[0] ? c->dirs[dir].name : c->source;
	if (err != ENOSPC) {
		log_info("%s: no watch: %s: changes are looked for instead", name, strerror(err));
		return;
	}
	if (!c->watching.said)
		log_warning("%s: no inotify watches are left: changes are looked for instead, which takes longer; to "
		            "have more: "
		            "sysctl fs.inotify.max_user_watches=1048576",
		            name);
	c->watching.said = true;
}

void watch_dir(struct catalog *c, uint32_t dir, int fd)
{
	struct watching *w = &c->watching;
	struct dir *d = &c->dirs[dir];
	char path[32];
	if (w->inotify < 0 || d->wd > 0)
		return;
	/* What is open, not what its path leads to by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int wd = inotify_add_watch(w->inotify, path, MASK);
	/* One that is there under two names has one watch, and nobody could tell under which name it was changed. */
	if (wd < 0 || dir_of(w, wd) != NONE || !remember(w, wd, dir)) {
		if (wd < 0 && !d->unwatched)
			say_unwatched(c, dir, errno);
		d->unwatched = true;
		return;
	}
	d->wd = wd;
	d->unwatched = false;
	d->st = (struct stat){0}; /* names read before the watch was there may have changed since */
	set_told(c, dir, true, d->linked);
}

void watch_failed(struct catalog *c, uint32_t dir, int err)
{
	unwatch(c, dir);
	/* The source tells when it comes back. */
	if (dir != 0 && (err == -ENOENT || err == -ENOTDIR))
		set_told(c, dir, c->dirs[0].told, c->dirs[dir].linked);
}

void watch_linked(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	if (f->linked)
		return;
	f->linked = true;
	set_told(c, f->dir, c->dirs[f->dir].told, true);
}

/* ---- events ---- */

static void look_into(struct catalog *c, uint32_t dir)
{
	c->dirs[dir].looked = 0;
	c->dirs[dir].st = (struct stat){0};
	c->refreshed_at = c->loaded_at = 0;
}

/* Events were lost, or somebody wants it all looked at: nothing that was known counts. */
static void look_at_all(struct catalog *c)
{
	for (uint32_t i = 0; i < c->dir_count; i++) {
		look_into(c, i);
		c->dirs[i].statted = c->dirs[i].headed = 0;
	}
	for (uint32_t i = 0; i < c->file_count; i++)
		c->files[i].checked = 0;
	c->statted_at = c->newest_at = 0;
}

static void dir_event(struct catalog *c, const struct inotify_event *e)
{
	look_into(c, 0);
	uint32_t dir = map_get(&c->dir_names, 0, span_of(e->name));
	if (dir == NONE)
		return;
	look_into(c, dir);
	if (e->mask & (IN_DELETE | IN_MOVED_FROM))
		unwatch(c, dir);
}

static void file_event(struct catalog *c, uint32_t dir, const struct inotify_event *e, int64_t now)
{
	if (c->dirs[dir].looked == 0)
		return; /* all names are about to be read */
	uint32_t file = file_for(c, dir, e->name);
	if (file != NONE)
		scan_touched(c, file, now);
}

static void take_event(struct catalog *c, const struct inotify_event *e, int64_t now)
{
	if (e->mask & IN_Q_OVERFLOW) {
		log_debug("inotify: events were lost; looking at everything");
		c->watching.lost = true;
		look_at_all(c);
		return;
	}
	uint32_t dir = dir_of(&c->watching, e->wd);
	if (dir == NONE)
		return;
	if (e->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		if (e->mask & (IN_IGNORED | IN_UNMOUNT)) {
			c->watching.by_wd[e->wd] = NONE;
			c->dirs[dir].wd = 0;
		}
		unwatch(c, dir);
		look_into(c, dir);
	} else if (e->len == 0) {
		/* Its own rights changed: what is kept of all that is below must be told of, whoever came first. */
		look_into(c, dir);
		wake(&c->watching);
	} else if (file_is_candidate(e->name) && !(e->mask & IN_ISDIR)) {
		file_event(c, dir, e, now);
	} else if (c->tidy && store_is_temporary(e->name)) {
		c->dirs[dir].untidy = true;
	} else if (dir == 0 && e->mask & COMES_OR_GOES) {
		dir_event(c, e);
	}
}

void catalog_tidy(struct catalog *c, uint32_t slot)
{
	int64_t now = catalog_enter(c);
	uint32_t file = slot < c->slot_count ? c->slots[slot].file : NONE;
	if (file != NONE && c->dirs[c->files[file].dir].untidy) {
		uint32_t dir = c->files[file].dir;
		c->dirs[dir].untidy = false;
		look_into(c, dir);
		scan_dir(c, dir, now);
	}
	lock_give(&c->lock);
}

void watch_drain(struct catalog *c)
{
	union {
		struct inotify_event event;
		char bytes[16384];
	} some;
	int64_t now = catalog_now();
	ssize_t n;

	c->watching.draining = true;
	while (c->watching.inotify >= 0 && (n = read(c->watching.inotify, &some, sizeof some)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const struct inotify_event *)(some.bytes + at);
			take_event(c, e, now);
			at += (ssize_t)(sizeof *e + e->len);
		}
	}
	c->watching.draining = false;
}

int64_t catalog_enter(struct catalog *c)
{
	lock_take(&c->lock);
	c->begin = catalog_now();
	c->call = ++c->calls;
	c->missed = c->doubt = 0;
	c->may_wait = c->may_repeat = false;
	watch_drain(c);
	return catalog_now();
}

bool catalog_is_told(struct catalog *c)
{
	catalog_enter(c);
	bool told = c->watching.blind == 0 && c->dirs[0].told;
	lock_give(&c->lock);
	return told;
}

uint64_t catalog_epoch(struct catalog *c)
{
	struct call call = {0};
	uint64_t epoch = 0;

	while (call_round(c, &call)) {
		scan_refresh(c, call.now);
		epoch = c->epoch;
	}
	return epoch;
}

/* ---- waiting ---- */

static void look_now(struct catalog *c, int64_t now)
{
	scan_refresh(c, now);
	for (uint32_t i = 0; i < c->dir_count; i++)
		scan_files(c, i, now);
}

static ssize_t take_changes(struct watching *w, struct catalog *c, struct catalog_change **ret)
{
	size_t n = w->n;
	for (size_t i = 0; i < n; i++)
		c->files[w->changes[i].place].noted = false;
	*ret = w->changes;
	w->changes = NULL;
	w->n = w->room = 0;
	return (ssize_t)n;
}

ssize_t catalog_wait(struct catalog *c, int timeout_ms, bool look, struct catalog_change **ret)
{
	struct watching *w = &c->watching;
	struct pollfd fds[] = {{.fd = w->inotify, .events = POLLIN}, {.fd = w->wake, .events = POLLIN}};
	uint64_t count;

	if (!w->on)
		return -EINVAL;
	if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	int64_t now = catalog_enter(c);
	if (look && !w->lost)
		look_at_all(c);
	if (look || w->lost)
		look_now(c, now);
	else if (c->refreshed_at == 0 && c->dirs[0].scan > 0)
		scan_refresh(c, now); /* a directory came or went */
	if (w->lost) {
		/* Which of them changed is not known, so all did. */
		w->lost = false;
		for (uint32_t i = 0; i < c->file_count; i++)
			watch_note(c, i, NONE, true);
	}
	if (read(w->wake, &count, sizeof count) < 0)
		count = 0;
	ssize_t n = take_changes(w, c, ret);
	lock_give(&c->lock);
	return n;
}

void catalog_wake(struct catalog *c)
{
	wake(&c->watching);
}

static bool get_at(struct catalog *c, uint32_t place, int64_t now, struct slot_info *ret)
{
	*ret = (struct slot_info){.slot = NO_SLOT, .project = NO_SLOT, .place = place};
	if (place >= c->file_count)
		return false;
	scan_header(c, place, now);
	const struct file *f = &c->files[place];
	if (f->state == FILE_SESSION && f->slot == NONE && f->project != NONE)
		catalog_load_project(c, f->project, now);
	if (c->named_all && c->files[place].slot != NONE && !c->files[place].sid_name)
		names_sids(c);
	f = &c->files[place];
	ret->project = f->project;
	ret->stem = f->stem;
	ret->sid = f->sid_name;
	ret->file = f->path;
	return f->slot != NONE && slot_get(c, f->slot, now, ret) == 0;
}

bool catalog_at(struct catalog *c, uint32_t place, struct slot_info *ret)
{
	struct call call = {0};
	bool found = false;

	while (call_round(c, &call))
		found = get_at(c, place, call.now, ret);
	return found;
}
