/* SPDX-License-Identifier: MIT */
/* One thread follows the catalog, and notifies the kernel of changes (I4 to I6).
 *
 * Names are invalidated when a session appeared or was removed. That waits for lookups in its project's directory.
 * Invalidating a file drops its attributes, and the kernel drops its pages when size or time have changed; invalidating
 * a directory also drops its listing. That never waits. A repeated notification drops the pages, too: two changes in
 * one tick of the clock have the same time. */
#include "fs_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/session/session.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#define RECHECK_MS 1000
#define FORKS_PAUSE_FACTOR 8

struct recheck {
	uint32_t slot;
	int64_t at_ms, changed_ms;
	uint32_t renamed_from; /* the names of entries from this one were invalidated; NO_ENTRY: none */
};

/* How to notify the kernel of a change. The caller holds no lock. */
struct invalidation {
	struct fs *fs;
	bool contents;
	bool can_wait; /* can wait for readers of the pages it drops; false while a request is served */
};

/* --- the kernel --------------------------------------------------------------------- */

static void follow_invalidate_node(const struct invalidation *t, node_t node)
{
	enum tree_change change = tree_text_change(node);
	/* If the kernel opens files without asking, it keeps all pages that are read: see sizes.c. */
	bool whole = tree_is_dir(node) || (t->can_wait && (t->fs->coherence.sizes.sent || change == TREE_RESTAMPED)) ||
	             (t->contents && change >= TREE_REWRITTEN);
	log_debug("drop %s %" PRIu64 " (%s)", whole ? "all of" : "attributes of", node, t->contents ? "I6" : "I5");
	fuse_lowlevel_notify_inval_inode(t->fs->session, node, whole ? 0 : -1, 0);
}

static void follow_invalidate_name(void *arg, node_t node, struct span name)
{
	const struct invalidation *t = arg;
	if (!name.p) {
		follow_invalidate_node(t, node);
		return;
	}
	log_debug("drop name %" PRIu64 "/%.*s (%s)", node, (int)name.n, name.p, t->contents ? "I6" : "I5");
	fuse_lowlevel_notify_inval_entry(t->fs->session, node, name.p, name.n);
}

/* Without a lease there is nothing to invalidate. But while a request is served, the thread that follows can have
 * removed the note and not have notified the kernel yet. */
static void follow_invalidate_session(struct fs *fs, const struct slot_info *s, bool contents, bool waits)
{
	struct invalidation t = {fs, contents, waits};
	node_t *nodes CLEANUP_FREE = NULL;
	size_t n;
	bool given = leases_revoke(fs, s->slot, &nodes, &n);
	for (size_t i = 0; i < n; i++)
		follow_invalidate_node(&t, nodes[i]);
	if (given || contents || !waits)
		tree_invalidate_session(s->slot, follow_invalidate_name, &t);
	if (leases_revoke_above(fs) || contents || !waits)
		tree_invalidate_above(s->project, follow_invalidate_name, &t);
}

void follow_notify_write(struct fs *fs, node_t node, uint64_t before)
{
	struct slot_info s;
	if (fs->session && tree_commit_count(fs->tree) != before &&
	    catalog_slot(fs->catalog, node_unpack(node).slot, &s) == 0)
		follow_invalidate_session(fs, &s, false, false);
}

/* --- repeats ---------------------------------------------------------------------------- */

static void follow_schedule_recheck(struct follow *f, uint32_t slot)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	size_t before = f->slots;
	if (!vec_grow(&f->places, &f->slots, (size_t)slot + 1, sizeof *f->places))
		return;
	memset(f->places + before, 0, (f->slots - before) * sizeof *f->places);
	if (f->places[slot]) {
		f->recheck[f->places[slot] - 1].changed_ms = now;
		return;
	}
	if (!vec_grow(&f->recheck, &f->cap, f->n + 1, sizeof *f->recheck))
		return;
	f->recheck[f->n++] = (struct recheck){slot, now + RECHECK_MS, now, NO_ENTRY};
	f->places[slot] = (uint32_t)f->n;
}

static void follow_repeat_notifications(struct fs *fs)
{
	struct follow *f = &fs->coherence.follow;
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	for (size_t i = f->n; i > 0; i--) {
		struct recheck *a = &f->recheck[i - 1];
		struct slot_info s;
		if (a->at_ms > now)
			continue;
		uint32_t renamed = NO_ENTRY;
		if (catalog_slot(fs->catalog, a->slot, &s) == 0) {
			follow_invalidate_session(fs, &s, true, true);
			/* Names that can now be another node. They are not invalidated with the change itself: that
			 * makes the index grow, and a failing write can be about to undo its changes. Done twice,
			 * because an older answer can still be on its way. */
			if (leases_may_be_active(fs, s.slot))
				renamed = tree_fetch_renamed(fs->tree, s.slot);
			struct invalidation t = {fs, false, true};
			uint32_t from = renamed < a->renamed_from ? renamed : a->renamed_from;
			if (from != NO_ENTRY)
				tree_invalidate_entry_names(fs->tree, s.slot, from, follow_invalidate_name, &t);
		}
		/* A session that changes continuously is invalidated once a second. */
		a->at_ms = (renamed != NO_ENTRY ? now : a->changed_ms) + RECHECK_MS;
		a->renamed_from = renamed;
		if (a->at_ms > now)
			continue;
		f->places[f->recheck[f->n - 1].slot] = (uint32_t)i;
		f->places[a->slot] = 0;
		*a = f->recheck[--f->n];
	}
}

static int follow_timeout_ms(struct fs *fs)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC), first = tree_report_leftovers(fs->tree, now);
	for (size_t i = 0; i < fs->coherence.follow.n; i++)
		if (fs->coherence.follow.recheck[i].at_ms < first)
			first = fs->coherence.follow.recheck[i].at_ms;
	if (fs->coherence.follow.forks_pending && fs->coherence.follow.forks_ms < first)
		first = fs->coherence.follow.forks_ms;
	return first == INT64_MAX ? -1 : first > now ? (int)(first - now) : 0;
}

/* --- forks ------------------------------------------------------------------------------- */

/* This takes long if there are many sessions. So while sessions change it takes only a part of the time. */
static void follow_forks(struct fs *fs)
{
	struct follow *f = &fs->coherence.follow;
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	if (!f->forks_pending || f->forks_ms > now)
		return;
	f->forks_pending = false;
	catalog_report_forks(fs->catalog);
	int64_t after = clock_ms(CLOCK_MONOTONIC);
	f->forks_ms = after + (after - now) * FORKS_PAUSE_FACTOR;
}

/* --- changes ---------------------------------------------------------------------------- */

static void follow_notify_change(struct fs *fs, const struct catalog_change *change)
{
	struct slot_info s;
	struct invalidation t = {fs, false, true};
	bool is_there = catalog_session_at_place(fs->catalog, change->place, &s);
	if (change->names)
		tree_invalidate_names(fs->tree, &s, change->died, follow_invalidate_name, &t);
	if (!is_there)
		return;
	follow_invalidate_session(fs, &s, false, true);
	follow_schedule_recheck(&fs->coherence.follow, s.slot);
}

static bool follow_is_stopped(void *arg)
{
	struct fs *fs = arg;
	return atomic_load(&fs->coherence.follow.stop) || fuse_session_exited(fs->session);
}

static void *follow_thread_main(void *arg)
{
	struct fs *fs = arg;
	const struct cancel cancel = {.is_cancelled = follow_is_stopped, .arg = fs};
	atomic_fetch_add(&process_threads_begun, 1);
	log_thread_init();
	cancel_set(&cancel);
	while (!atomic_load(&fs->coherence.follow.stop)) {
		struct catalog_change *changes CLEANUP_FREE = NULL;
		ssize_t n = catalog_wait(fs->catalog, follow_timeout_ms(fs), -1, false, &changes);
		if (n < 0) {
			log_error("cannot follow changes: %s", strerror((int)-n));
			leases_set_enabled(fs, false);
			break;
		}
		for (ssize_t i = 0; i < n; i++)
			follow_notify_change(fs, &changes[i]);
		if (n > 0)
			fs->coherence.follow.forks_pending = true;
		follow_forks(fs);
		follow_repeat_notifications(fs);
	}
	return NULL;
}

/* The thread blocks signals: the main thread takes them, and they end its loop. */
void follow_start(struct fs *fs)
{
	sigset_t old;
	if (!fs->session || fs->coherence.follow.running)
		return;
	log_block_signals(&old);
	int rc = sys_pthread_create(&fs->coherence.follow.thread, NULL, follow_thread_main, fs);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	fs->coherence.follow.running = rc == 0;
	leases_set_enabled(fs, rc == 0);
	if (rc)
		log_warning("cannot follow changes: %s", strerror(rc));
}

/* The loop has ended. The thread can be invalidating a name, which waits for lookups in the same directory:
 * join_while_refusing answers those. */
bool fs_stop(struct fs *fs)
{
	struct follow *f = &fs->coherence.follow;
	if (f->running) {
		atomic_store(&f->stop, true);
		catalog_wake(fs->catalog);
		if (!join_while_refusing(fs->session, f->thread, FS_LEAVE_NS))
			return false;
	}
	f->running = false;
	cleanup_free(&f->recheck);
	cleanup_free(&f->places);
	f->n = f->cap = f->slots = 0;
	return true;
}
