/* Takes in the inotify events of the source and its directories. */
#include "catalog_impl.h"

#include "sessionfs/base/log.h"
#include "sessionfs/file/store.h"

#include <sys/inotify.h>

#define COMES_OR_GOES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

/* Events were lost, or the caller wants everything looked at: nothing known so far counts. */
void watch_look_at_all(struct catalog *c)
{
	for (uint32_t i = 0; i < c->dir_count; i++)
		watch_forget(c, i);
}

static void dir_event(struct catalog *c, const struct inotify_event *e)
{
	watch_look_into(c, 0);
	uint32_t dir = map_get(&c->dir_names, 0, span_of(e->name));
	if (dir == NONE)
		return;
	watch_look_into(c, dir);
	if (e->mask & (IN_DELETE | IN_MOVED_FROM))
		watch_drop(c, dir);
}

static void file_event(struct catalog *c, uint32_t dir, const struct inotify_event *e, int64_t now)
{
	uint32_t file = file_for(c, dir, e->name);
	if (file != NONE) {
		scan_touched(c, file, now);
	} else {
		watch_lost(&c->watching);
		watch_forget(c, dir);
	}
}

static void take_event(struct catalog *c, const struct inotify_event *e, int64_t now)
{
	if (e->mask & IN_Q_OVERFLOW) {
		log_debug("inotify: events were lost; looking at everything");
		watch_lost(&c->watching);
		watch_look_at_all(c);
		return;
	}
	uint32_t dir = watch_dir_of(&c->watching, e->wd);
	if (dir == NONE)
		return;
	if (e->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		if (e->mask & (IN_IGNORED | IN_UNMOUNT)) {
			c->watching.by_wd[e->wd] = NONE;
			c->dirs[dir].wd = 0;
		}
		watch_drop(c, dir);
		watch_look_into(c, dir);
	} else if (e->len == 0) {
		/* Its own rights changed, so what is kept of everything below is stale: wake catalog_wait, whichever
		 * thread took the event. */
		watch_look_into(c, dir);
		watch_wake(&c->watching);
	} else if (file_is_candidate(e->name) && !(e->mask & IN_ISDIR)) {
		file_event(c, dir, e, now);
	} else if (c->tidy && store_is_temporary(e->name)) {
		c->dirs[dir].untidy = true;
	} else if (dir == 0 && e->mask & COMES_OR_GOES) {
		dir_event(c, e);
	}
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
