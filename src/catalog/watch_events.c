/* SPDX-License-Identifier: MIT */
/* Reads the inotify events of the source and its directories. An event only marks its file or directory: the call that
 * needs it scans it. */
#include "catalog_impl.h"

#include "sessionfs/base/log.h"
#include "sessionfs/base/sys.h"

#define COMES_OR_GOES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

/* When the thread's request reads inotify events. */
static _Thread_local enum { DRAIN_EACH_TIME, DRAIN_ONCE, DRAIN_DONE } drains;

void catalog_set_reading(bool begins)
{
	drains = begins ? DRAIN_ONCE : DRAIN_EACH_TIME;
}

static void handle_dir_event(struct catalog *c, uint32_t parent, const struct inotify_event *e)
{
	mark_names_stale(c, parent);
	uint32_t dir = dir_of_name(c, parent, e->name);
	if (dir == NONE)
		return;
	if (e->mask & (IN_DELETE | IN_MOVED_FROM))
		watch_drop_below(c, dir);
	else
		mark_tree_stale(c, dir);
}

static void handle_file_event(struct catalog *c, uint32_t dir, const struct inotify_event *e)
{
	uint32_t file = file_for(c, dir, e->name);
	/* A link to a directory can have the name of a session file. */
	if (dir == 0 && e->mask & COMES_OR_GOES && dir_of_name(c, dir, e->name) != NONE)
		handle_dir_event(c, dir, e);
	if (file != NONE) {
		mark_file_stale(c, file);
	} else {
		watch_overflow(&c->watching);
		mark_files_stale(c, dir);
	}
}

static void handle_event(struct catalog *c, const struct inotify_event *e)
{
	if (e->mask & IN_Q_OVERFLOW) {
		log_debug("inotify: events were lost; scanning everything");
		watch_overflow(&c->watching);
		/* A watch can be on a directory that is gone, whose number a new one of that name has. */
		watch_drop_below(c, 0);
		return;
	}
	uint32_t dir = watch_dir_of(&c->watching, e->wd);
	if (dir == NONE)
		return;
	if (e->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		if (e->mask & (IN_IGNORED | IN_UNMOUNT))
			watch_removed(c, dir);
		watch_drop_below(c, dir);
	} else if (e->len == 0) {
		mark_names_stale(c, dir); /* its own rights changed */
	} else if (file_is_candidate(e->name) && !(e->mask & IN_ISDIR)) {
		handle_file_event(c, dir, e);
	} else if ((dir == 0 || e->mask & IN_ISDIR) && e->mask & COMES_OR_GOES) {
		handle_dir_event(c, dir, e);
	}
}

void inotify_drain(struct catalog *c)
{
	union {
		struct inotify_event event;
		char bytes[16384];
	} some;
	ssize_t n;

	if (drains == DRAIN_DONE)
		return;
	if (drains == DRAIN_ONCE)
		drains = DRAIN_DONE;
	while (c->watching.inotify >= 0 && (n = sys_read(c->watching.inotify, &some, sizeof some)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const struct inotify_event *)(some.bytes + at);
			handle_event(c, e);
			at += (ssize_t)(sizeof *e + e->len);
		}
	}
}
