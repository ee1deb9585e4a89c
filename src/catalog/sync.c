/* SPDX-License-Identifier: MIT */
/* One call of the catalog: what it needs is scanned without the lock, by the calling thread, until all of it is
 * current. Calls that want the same help each other: each scan is made by the first that comes to it. */
#include "catalog_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/log.h"

/* How many scans are made before their results are applied. The pool makes no more at once, so that other calls' scans
 * are not delayed. */
#define SCANS_MAX 32

/* How long a call waits for a server if all that it needs was known this recently. */
#define PATIENCE_MS 10
#define KNOWN_MS 5000

/* A scan of many files stays valid for REST times as long as it took: scanning takes only a fraction of the time,
 * however many files there are and however slow the disk. */
#define REST 8

struct sync sync_begin(struct catalog *c, enum max_age max_age)
{
	lock_acquire(&c->lock);
	inotify_drain(c);
	return (struct sync){.c = c, .asof = ++c->tick, .now = catalog_now(), .max_age = max_age};
}

void sync_fail(struct sync *a, int err)
{
	if (a->err == 0 || a->err == -ETIMEDOUT || err == -EINTR)
		a->err = err;
}

static bool sync_may_decide(const struct sync *a)
{
	return a->err == 0 || a->err == -ETIMEDOUT || a->retried;
}

/* ---- what is needed ---- */

/* How long a scan is valid. Watched files are scanned again, too (CATALOG_WATCHED_MS). */
static int64_t valid_ms(const struct catalog *c, bool watched)
{
	return watched ? CATALOG_WATCHED_MS : c->fresh_ms;
}

/* A scan that does not return, and began before what was marked last. What it finds counts for nothing. */
static bool scan_is_outdated(const struct scan_state *s)
{
	return s->scan && s->scan->phase == SCAN_LATE && s->scan->began < s->marked;
}

static bool is_current(const struct sync *a, const struct requirement *w)
{
	const struct catalog *c = a->c;
	const struct scan_state *s = scan_state_of(c, w->dir, w->file);
	bool watched = dir_is_watched(c, w->dir);
	if (w->file == NONE && c->dirs[w->dir].gone)
		return true;
	/* It does not answer: it was waited for once, and is not waited for again until it has answered. */
	if (s->scan && s->scan->phase == SCAN_LATE && !scan_is_outdated(s) &&
	    !blocking_is_done(resolver_blocking_pool(c->resolver), &s->scan->call))
		return true;
	if (w->file != NONE) {
		const struct file *f = &c->files[w->file];
		if (!w->now && !file_exists(f) && !s->err)
			return true;
		if (w->depth == HEADERS && f->state == FILE_UNKNOWN && !s->err)
			return false;
		watched = file_is_watched(c, f);
	}
	if (s->began > a->asof)
		return true;
	return !w->now && s->began && s->err == 0 && s->began >= s->marked && a->now - s->at < valid_ms(c, watched);
}

/* Where a server is asked, recent results will do if the answer takes long. */
static void sync_require(struct sync *a, struct requirement w)
{
	const struct catalog *c = a->c;
	const struct scan_state *s = scan_state_of(c, w.dir, w.file);
	bool is_known = s->began && s->err == 0 && a->now - s->at < KNOWN_MS;
	w.optional =
	    !w.now && (s->foreign || c->dirs[0].scanned.foreign) && a->max_age && (is_known || a->max_age == AGE_ANY);
	bool was_awaited = s->scan && s->scan->foreign && a->now - s->scan->at >= PATIENCE_MS;
	a->timed_out = a->timed_out || (w.optional && was_awaited);
	if (a->timed_out && w.optional)
		return;
	if (vec_grow(&a->missing, &a->cap, a->n + 1, sizeof *a->missing))
		a->missing[a->n++] = w;
	else
		sync_fail(a, -ENOMEM);
}

static bool require_place(struct sync *a, struct requirement w)
{
	int err = scan_state_of(a->c, w.dir, w.file)->err;
	if (!is_current(a, &w)) {
		sync_require(a, w);
		return false;
	}
	if (err) {
		sync_fail(a, err);
		a->failed = true;
	}
	return true;
}

/* X.jsonl next to X decides the project of a file in X. */
static bool require_beside(struct sync *a, uint32_t dir)
{
	uint32_t namesake = a->c->dirs[a->c->dirs[dir].top].namesake;
	return namesake == NONE || require_place(a, (struct requirement){.dir = 0, .file = namesake, .depth = HEADERS});
}

/* A session without a slot waits for one. */
static bool require_slot(struct sync *a, uint32_t file)
{
	bool current = a->c->files[file].slot != NONE || file_waits(a->c, file);
	if (!current)
		sync_fail(a, -ENOMEM);
	return current;
}

/* If another directory can have come in the place of one above, that is scanned first: inotify does not report the next
 * change below it until it has a watch, and paths lead into the old source until the new one is open. */
static bool require_dirs_above(struct sync *a, uint32_t dir)
{
	const struct catalog *c = a->c;
	const struct dir *d = &c->dirs[dir];
	if (c->watching.inotify < 0 || (dir != 0 && !require_dirs_above(a, d->parent)))
		return c->watching.inotify < 0;
	bool is_sure = !scan_state_is_marked(&d->scanned) || d->gone || d->scanned.foreign || (dir == 0 && d->wd);
	return is_sure || require_place(a, (struct requirement){.dir = dir, .file = NONE});
}

static bool require_file(struct sync *a, uint32_t file, enum depth depth)
{
	struct catalog *c = a->c;
	const struct file *f = &c->files[file];
	if (!require_dirs_above(a, f->dir) || (depth == HEADERS && !require_beside(a, f->dir)) ||
	    !require_place(a, (struct requirement){.dir = f->dir, .file = file, .depth = depth}))
		return false;
	return depth != HEADERS || f->state != FILE_SESSION || require_slot(a, file);
}

bool require_file_now(struct sync *a, uint32_t file)
{
	return require_place(
	    a, (struct requirement){.dir = a->c->files[file].dir, .file = file, .depth = HEADERS, .now = true});
}

/* Returns the error of a failed scan in the tree that matters for this depth, a timeout last. */
static int tree_error(const struct catalog *c, uint32_t tree, enum depth depth)
{
	int err = 0;
	for (size_t i = 0; i < c->failed.n && (err == 0 || err == -ETIMEDOUT); i++) {
		struct place p = c->failed.v[i];
		const struct file *f = p.file == NONE || depth == ATTRS ? NULL : &c->files[p.file];
		bool is_known = c->dirs[p.dir].gone || (f && (depth == NAMES || f->state == FILE_SESSION));
		int rc = scan_state_of(c, p.dir, p.file)->err;
		uint32_t dir = p.dir;
		while (tree != FLAT && dir != tree && dir != NONE)
			dir = c->dirs[dir].parent;
		bool is_in = tree == FLAT ? dir_is_flat(c, dir) : dir != NONE;
		if (rc && is_in && !is_known)
			err = rc;
	}
	return err;
}

static struct dir_tree *tree_of(struct catalog *c, uint32_t tree)
{
	return tree == FLAT ? &c->flat : &c->dirs[tree].tree;
}

static bool tree_is_valid(struct sync *a, uint32_t tree, enum depth depth)
{
	const struct dir_tree *t = tree_of(a->c, tree);
	if (t->valid[depth].asof < t->marked || a->now >= t->valid[depth].until)
		return false;
	int err = tree_error(a->c, tree, depth);
	if (err)
		sync_fail(a, err);
	return true;
}

/* If all in the tree is current, that holds; after a failure only if that is of a file, and trying again did not help.
 * Returns `current`. */
static bool tree_end(struct sync *a, uint32_t tree, enum depth depth, bool current)
{
	struct dir_tree *t = tree_of(a->c, tree);
	int err = current ? tree_error(a->c, tree, depth) : 0;
	bool watched = t->unwatched == 0 && dir_is_watched(a->c, tree == FLAT ? 0 : tree);
	int64_t end = catalog_now(), until = a->now + valid_ms(a->c, watched);
	int64_t rest = end + (end - a->now) * REST - CATALOG_FRESH_MS;
	bool lasts = err == -ETIMEDOUT || (a->retried && error_is_of_source(err));
	if (err)
		until = rest = end + a->c->fresh_ms;
	if (current && (err == 0 || lasts))
		t->valid[depth] = (struct validity){a->asof, rest > until ? rest : until};
	return current;
}

static bool require_names(struct sync *a, uint32_t dir)
{
	const struct dir *d = &a->c->dirs[dir];
	if (d->gone)
		return true;
	if ((dir != 0 && !require_dirs_above(a, d->parent)) ||
	    !require_place(a, (struct requirement){.dir = dir, .file = NONE}))
		return false;
	bool current = true;
	for (size_t i = 0; i < d->files.n; i++) {
		/* A file that held no session can hold one now, which names its project. */
		const struct file *f = &a->c->files[d->files.v[i]];
		if (scan_state_is_marked(&f->scanned) || f->state == FILE_OTHER)
			current = require_file(a, d->files.v[i], ATTRS) && current;
	}
	return current;
}

/* Requires all files in the directory itself. */
static bool require_files(struct sync *a, uint32_t dir, enum depth depth)
{
	const struct catalog *c = a->c;
	const struct dir *d = &c->dirs[dir];
	if (!require_names(a, dir) || (depth == HEADERS && !require_beside(a, dir)))
		return false;
	bool current = true;
	for (size_t i = 0; i < d->files.n && depth != NAMES && !d->gone; i++) {
		const struct file *f = &c->files[d->files.v[i]];
		if (depth == HEADERS && f->state == FILE_SESSION)
			current = require_slot(a, d->files.v[i]) && current;
		else
			current = require_file(a, d->files.v[i], depth) && current;
	}
	return current;
}

static bool require_tree(struct sync *a, uint32_t tree, enum depth depth)
{
	const struct catalog *c = a->c;
	uint32_t dir = tree == FLAT ? 0 : tree;
	if (tree_is_valid(a, tree, depth))
		return true;
	/* The tree of the source has the flat files, too. */
	bool current = tree == 0 ? require_tree(a, FLAT, depth) : require_files(a, dir, depth);
	for (uint32_t i = c->dirs[dir].child; i != NONE; i = c->dirs[i].sibling)
		if (dir != 0 || dir_is_flat(c, i) == (tree == FLAT))
			current = require_tree(a, i, depth) && current;
	return tree_end(a, tree, depth, current);
}

static bool require_extent(struct sync *a, enum extent extent, uint32_t of, enum depth depth)
{
	const struct catalog *c = a->c;
	const struct watching *w = &c->watching;
	uint32_t dir = extent != OF_PROJECT ? NONE : of == NO_SLOT ? 0 : c->projects[of].dir;
	bool current = true;
	switch (extent) {
	case OF_FILE:
		return require_file(a, of, depth);
	case OF_FILE_NOW:
		return require_file_now(a, of);
	case OF_TREE:
		return require_tree(a, of, depth);
	case OF_PROJECT:
		current = dir == 0 || require_tree(a, FLAT, depth);
		return (dir == NONE || require_tree(a, dir, depth)) && current;
	case OF_PENDING:
		for (size_t i = 0; i < w->pending.n; i++) {
			struct place p = w->pending.v[i];
			bool known = p.file == NONE ? require_names(a, p.dir) : require_file(a, p.file, ATTRS);
			current = known && current;
		}
	}
	return current;
}

/* ---- scanning ---- */

/* A new scan for what is wanted; NULL: none is needed any more, or it is being made. Sets *ret_others if another call
 * makes it. */
static struct disk_scan *scan_for(struct sync *a, const struct requirement *w, bool *ret_others)
{
	struct catalog *c = a->c;
	struct scan_state *s = scan_state_of(c, w->dir, w->file);
	if (is_current(a, w))
		return NULL;
	if (scan_is_outdated(s))
		scan_abandon(c, s, s->marked);
	if (s->scan) {
		*ret_others = *ret_others || !s->scan->foreign || s->scan->phase == SCAN_APPLYING;
		return NULL;
	}
	s->scan = scan_new(c, w->dir, w->file, w->depth == HEADERS);
	if (!s->scan)
		apply_failure(c, w->dir, w->file, -ENOMEM);
	return s->scan;
}

/* Discards scans after an error: which of them ran is unknown. */
static void scans_drop(struct catalog *c, struct disk_scan **v, size_t n, int err)
{
	for (size_t i = 0; i < n; i++) {
		struct disk_scan *l = v[i];
		scan_state_of(c, l->dir, l->file)->scan = NULL;
		if (err != -EINTR)
			apply_failure(c, l->dir, l->file, err);
		scan_put(c, l);
	}
	pthread_cond_broadcast(&c->scanned);
}

/* Makes these scans, and applies their results. The pool continues those that may wait for a server. */
static int scans_run(struct catalog *c, struct disk_scan **v, size_t n)
{
	lock_release(&c->lock);
	int rc = scan_make(c, v, n);
	lock_acquire(&c->lock);
	if (rc < 0)
		scans_drop(c, v, n, rc);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct disk_scan *l = v[i];
		if (l->rc == -EXDEV) {
			l->is_far = l->linked = true;
			if (scan_start(c, l) == 0) {
				pthread_cond_broadcast(&c->scanned); /* each call waits for the pool itself */
				continue;
			}
			l->rc = -ETIMEDOUT;
		}
		apply_scan(c, l);
	}
	return rc == -EINTR ? rc : 0;
}

/* Waits for the scans of these that the pool makes, for any call, and applies them. */
static int scans_await(struct sync *a, const struct requirement *missing, size_t n, bool required, int64_t until)
{
	struct catalog *c = a->c;
	struct blocking_pool *pool = resolver_blocking_pool(c->resolver);
	struct disk_scan *v[SCANS_MAX];
	size_t scans = 0;
	for (size_t i = 0; i < n; i++) {
		struct disk_scan *l = scan_state_of(c, missing[i].dir, missing[i].file)->scan;
		if (!l || !l->foreign || l->phase == SCAN_APPLYING || (missing[i].optional && required) ||
		    is_current(a, &missing[i]))
			continue;
		blocking_get(pool, &l->call);
		v[scans++] = l;
	}
	if (scans == 0)
		return 0;
	lock_release(&c->lock);
	int rc = blocking_wait(pool, (struct blocking_call *const *)(void *)v, scans, until);
	lock_acquire(&c->lock);
	for (size_t i = 0; i < scans; i++) {
		struct disk_scan *l = v[i];
		struct scan_state *s = scan_state_of(c, l->dir, l->file);
		if (s->scan != l || l->phase == SCAN_APPLYING)
			continue;
		if (blocking_is_done(pool, &l->call)) {
			apply_scan(c, l);
		} else if (l->began < s->began) {
			scan_abandon(c, s, s->began);
		} else if (rc == -ETIMEDOUT) {
			l->phase = SCAN_LATE;
			s->err = -ETIMEDOUT;
			failed_update(c, l->dir, l->file);
		}
	}
	for (size_t i = 0; i < scans; i++)
		blocking_put(pool, &v[i]->call);
	return rc == -EINTR || rc == -ETIME ? rc : 0;
}

/* Waits until no other thread is making a scan that is wanted. */
static int await_others(struct sync *a)
{
	struct catalog *c = a->c;
	int rc = cancel_wait_begin();
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < a->n && rc == 0; i++) {
		const struct requirement *w = &a->missing[i];
		const struct disk_scan *l = scan_state_of(c, w->dir, w->file)->scan;
		uint64_t began = l ? l->began : 0;
		while (rc == 0 && l && l->began == began && (!l->foreign || l->phase == SCAN_APPLYING)) {
			lock_wait_for(&c->lock, &c->scanned, LOCK_LOOK_NS);
			rc = cancel_check();
			l = scan_state_of(c, w->dir, w->file)->scan;
		}
	}
	cancel_wait_end();
	return rc;
}

/* Has everything scanned that is wanted, or without the optional requirements if something is `required`. 0, -EINTR, or
 * -ETIME: an optional scan took too long. */
static int sync_make_scans(struct sync *a, bool required)
{
	int64_t until = required || !a->max_age ? 0 : a->now + PATIENCE_MS;
	bool others = false;
	int rc = cancel_check();
	for (size_t i = 0, end; i < a->n && rc == 0; i = end) {
		struct disk_scan *mine[SCANS_MAX];
		size_t n = 0;
		for (end = i; end < a->n && end - i < SCANS_MAX; end++) {
			/* If it can be cut, it is wanted again when the rest is known. */
			bool waits = a->missing[end].optional && required;
			struct disk_scan *l = waits ? NULL : scan_for(a, &a->missing[end], &others);
			if (l)
				mine[n++] = l;
		}
		if (n > 0)
			rc = scans_run(a->c, mine, n);
		if (rc == 0)
			rc = scans_await(a, a->missing + i, end - i, required, until);
		if (rc == 0)
			rc = cancel_check();
	}
	if (rc == 0 && others)
		rc = await_others(a);
	return rc;
}

bool sync_scan(struct sync *a)
{
	if (a->n == 0)
		return false;
	bool required = false;
	for (size_t i = 0; i < a->n && !required; i++)
		required = !a->missing[i].optional;
	int rc = sync_make_scans(a, required);
	a->n = 0;
	a->timed_out = a->timed_out || rc == -ETIME;
	if (rc == 0 || rc == -ETIME)
		return true;
	a->err = rc;
	a->needs_all = true;
	return false;
}

/* Most failures are gone a moment later, so everything is required once more before one is reported. */
bool require(struct sync *a, enum extent extent, uint32_t of, enum depth depth)
{
	int before = a->err;
	bool current = false, scanned = before != -EINTR;
	a->retried = false;
	while (scanned) {
		a->err = 0;
		current = require_extent(a, extent, of, depth);
		scanned = sync_scan(a);
		if (!scanned && !sync_may_decide(a) && cancel_check() == 0) {
			a->asof = ++a->c->tick;
			scanned = a->retried = true;
		}
	}
	current = current && sync_may_decide(a);
	int err = a->err;
	a->err = before;
	if (err)
		sync_fail(a, err);
	return current;
}

/* ---- the end ---- */

void failed_log(struct catalog *c)
{
	bool is_remote = c->dirs[0].scanned.foreign, source_fails = false;
	for (size_t i = 0; i < c->failed.n; i++) {
		struct place p = c->failed.v[i];
		const struct scan_state *s = scan_state_of(c, p.dir, p.file);
		if ((s->scan && s->scan->phase != SCAN_LATE) || !error_is_about_file(s->err))
			continue;
		bool is_source = (p.dir == 0 && p.file == NONE) || (is_remote && s->err == -ETIMEDOUT);
		source_fails = source_fails || is_source;
		if (!is_source && (c->dirs[0].scanned.err || (p.file != NONE && c->dirs[p.dir].scanned.err)))
			continue;
		const char *path = is_source ? "" : place_path(c, p.dir, p.file);
		if (log_once(&c->logged, LOGGED_FAILURE, path))
			log_warning("%s: %s", *path ? path : c->source, resolver_error_text(s->err));
	}
	if (!source_fails)
		log_forget(&c->logged, LOGGED_FAILURE, "");
}

int sync_close(struct sync *a, int rc)
{
	if (a->failed && a->err && a->err != -EINTR && a->err != -EAGAIN)
		failed_log(a->c);
	lock_release(&a->c->lock);
	free(a->missing);
	return a->err == -EINTR ? a->err : rc;
}

bool sync_end(struct sync *a, bool found)
{
	sync_close(a, 0);
	deferred_set(!found || a->needs_all ? a->err : 0);
	return found;
}
