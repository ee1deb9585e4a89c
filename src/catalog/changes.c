/* Waiting for changes, and asking what changed. */
#include "catalog_impl.h"

#include <poll.h>

void catalog_tidy(struct catalog *c, uint32_t slot)
{
	int64_t now = catalog_enter(c);
	uint32_t file = slot < c->slot_count ? c->slots[slot].file : NONE;
	if (file != NONE && c->dirs[c->files[file].dir].untidy) {
		uint32_t dir = c->files[file].dir;
		c->dirs[dir].untidy = false;
		watch_look_into(c, dir);
		scan_dir(c, dir, now);
	}
	lock_give(&c->lock);
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

/* Nobody knows which files changed, so report all of them, but none that was gone before. */
static void note_all(struct catalog *c)
{
	struct watching *w = &c->watching;
	size_t n = w->n + c->file_count;
	/* Without memory it is tried again with the next change. */
	if (!vec_grow(&w->changes, &w->room, n, sizeof *w->changes))
		return;
	for (uint32_t i = 0; i < c->file_count; i++)
		if (c->files[i].state != FILE_GONE || c->files[i].noted)
			w->changes[w->n++] = (struct catalog_change){i, NONE, true};
	w->lost = false;
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
		watch_look_at_all(c);
	bool all = look || w->lost;
	if (all || (c->refreshed_at == 0 && c->dirs[0].scan > 0)) /* or a directory came or went */
		scan_refresh(c, now);
	for (uint32_t i = 0; all && i < c->dir_count; i++)
		scan_files(c, i, now);
	if (w->lost)
		note_all(c);
	if (read(w->wake, &count, sizeof count) < 0)
		count = 0;
	ssize_t n = take_changes(w, c, ret);
	lock_give(&c->lock);
	return n;
}

void catalog_note(struct catalog *c, uint32_t slot)
{
	catalog_enter(c);
	if (slot < c->slot_count && c->slots[slot].file != NONE)
		watch_note(c, c->slots[slot].file, NONE, false);
	lock_give(&c->lock);
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
