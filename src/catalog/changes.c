/* SPDX-License-Identifier: MIT */
/* Waits for changes and reports them. */
#include "catalog_impl.h"

#include <poll.h>

bool catalog_is_watched(struct catalog *c)
{
	LOCKED(&c->lock);
	inotify_drain(c);
	return c->dirs[0].tree.unwatched == 0 && c->dirs[0].wd;
}

uint64_t catalog_epoch(struct catalog *c)
{
	struct sync a = sync_begin(c, AGE_ANY);
	require(&a, OF_TREE, 0, NAMES);
	uint64_t epoch = c->epoch;
	sync_close(&a, 0);
	return epoch;
}

/* ---- waiting ---- */

static ssize_t changes_drain(struct watching *w, struct catalog *c, struct catalog_change **ret)
{
	size_t n = w->n;
	for (size_t i = 0; i < n; i++)
		c->files[w->changes[i].place].noted = false;
	*ret = w->changes;
	w->changes = NULL;
	w->n = w->changes_cap = 0;
	return (ssize_t)n;
}

/* Any file may have changed: reports all, except those that were gone before. */
static void changes_add_all(struct catalog *c)
{
	struct watching *w = &c->watching;
	size_t n = w->n + c->file_count;
	/* If out of memory, the next change tries again. */
	if (!vec_grow(&w->changes, &w->changes_cap, n, sizeof *w->changes))
		return;
	for (uint32_t i = 0; i < c->file_count; i++)
		if (c->files[i].state != FILE_GONE || c->files[i].noted)
			w->changes[w->n++] = (struct catalog_change){i, NONE, true};
	w->lost = false;
}

static bool place_is_stale(const struct catalog *c, struct place p)
{
	const struct scan_state *s = scan_state_of(c, p.dir, p.file);
	return (scan_state_is_marked(s) || s->began == 0) && (p.file != NONE || !c->dirs[p.dir].gone);
}

void catalog_status(struct catalog *c, struct catalog_status *ret)
{
	struct watching *w = &c->watching;
	struct sync a = sync_begin(c, AGE_ANY);
	if (!watching_is_on(w))
		require(&a, OF_TREE, 0, NAMES);
	*ret = (struct catalog_status){.scanning = c->dirs[0].scan == 0, .watches = w->count};
	bool is_idle = w->pending.n == 0;
	for (uint32_t i = 0; i < c->dir_count; i++) {
		const struct disk_scan *scan = c->dirs[i].scanned.scan;
		if (!place_is_stale(c, (struct place){i, NONE}) && !(scan && scan->phase != SCAN_RUNNING))
			continue;
		ret->scanning = true;
		if (is_idle)
			pending_add(c, (struct place){i, NONE});
	}
	for (size_t i = 0; i < c->file_count; i++)
		ret->sessions += file_may_be_session(&c->files[i]);
	ret->watched = !w->polls && (watching_is_on(w) ? c->dirs[0].tree.unwatched == 0 || ret->scanning
	                                               : !c->dirs[0].scanned.foreign);
	if (ret->scanning)
		watch_wake(w);
	sync_close(&a, 0);
}

/* Places that were marked again meanwhile wait for the next call. */
static void pending_clear(struct catalog *c)
{
	struct watching *w = &c->watching;
	size_t kept = 0;
	for (size_t i = 0; i < w->pending.n; i++) {
		struct place p = w->pending.v[i];
		if (!place_is_stale(c, p))
			continue;
		w->pending.v[kept++] = p;
		if (!scan_state_of(c, p.dir, p.file)->err)
			watch_wake(w);
	}
	w->pending.n = kept;
}

ssize_t catalog_wait(struct catalog *c, int timeout_ms, int output, bool scan, struct catalog_change **ret)
{
	struct watching *w = &c->watching;
	struct pollfd fds[] = {
	    {.fd = w->inotify, .events = POLLIN}, {.fd = w->wake[0], .events = POLLIN}, {.fd = output}};
	if (!watching_is_on(w))
		return -EINVAL;
	if (poll(fds, 3, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	if (fds[2].revents)
		return fds[2].revents & POLLNVAL ? -EBADF : -EPIPE;
	struct sync a = sync_begin(c, AGE_NONE);
	/* The source itself can be gone without an event: a directory above it was renamed. */
	for (uint32_t i = 0; scan && !w->lost && i < c->dir_count; i++)
		if (i == 0 || !c->dirs[i].wd || c->dirs[i].linked)
			mark_names_stale(c, i);
	for (uint32_t i = 0; scan && !w->lost && i < c->file_count; i++)
		if (c->files[i].state != FILE_GONE && !file_is_watched(c, &c->files[i]))
			mark_file_stale(c, i);
	if (scan || w->lost)
		require(&a, OF_TREE, 0, ATTRS);
	require(&a, OF_PENDING, 0, ATTRS); /* only a scan shows changes */
	if (w->lost)
		changes_add_all(c);
	for (char some[64]; read(w->wake[0], some, sizeof some) == sizeof some;)
		;
	pending_clear(c);
	ssize_t n = changes_drain(w, c, ret);
	sync_close(&a, 0);
	return n;
}

void catalog_add_change(struct catalog *c, uint32_t slot)
{
	LOCKED(&c->lock);
	if (slot < c->slot_count && c->slots[slot].file != NONE)
		watch_add_change(c, c->slots[slot].file, NONE, false);
}

bool catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_NONE);
	bool found = false;
	*ret = (struct slot_info){.slot = NO_SLOT, .project = NO_SLOT, .place = place};
	if (place < c->file_count) {
		bool current = require(&a, OF_FILE, place, HEADERS);
		if (c->files[place].slot == NONE && c->files[place].state == FILE_SESSION &&
		    c->files[place].project != NONE)
			current = names_ensure_project(&a, c->files[place].project) && current;
		if (current && c->named_all && c->files[place].slot != NONE && !c->files[place].sid_name)
			name_sids(&a);
		const struct file *f = &c->files[place];
		ret->project = f->project == NONE ? f->stem_project : f->project;
		ret->stem = f->stem;
		ret->sid = f->sid_name;
		ret->file = f->path;
		found = f->slot != NONE && slot_get(&a, f->slot, ret) == 0;
	}
	sync_close(&a, 0);
	return found;
}
