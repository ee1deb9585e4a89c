/* SPDX-License-Identifier: MIT */
/* One call of the catalog: what it needs is looked at without the lock, by the calling thread, until all of it is
 * settled. Calls that want the same help each other: each look is made by the first that comes to it. */
#include "catalog_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/log.h"

/* How many looks are made before their results are applied. The pool makes no more at once, so that other calls' looks
 * are not delayed. */
#define LOOKS 32

/* How long a call waits for a server if all that it needs was known this recently. */
#define HASTE_MS 10
#define KNOWN_MS 5000

/* A look at many files stays valid for REST times as long as it took: looking takes only a fraction of the time,
 * however many files there are and however slow the disk. */
#define REST 8

struct ask ask_begin(struct catalog *c, enum haste haste)
{
	lock_acquire(&c->lock);
	inotify_drain(c);
	return (struct ask){.c = c, .asof = ++c->tick, .now = catalog_now(), .haste = haste};
}

void ask_misses(struct ask *a, int err)
{
	if (a->err == 0 || a->err == -ETIMEDOUT || err == -EINTR)
		a->err = err;
}

static bool ask_may_decide(const struct ask *a)
{
	return a->err == 0 || a->err == -ETIMEDOUT || a->retried;
}

/* ---- what is needed ---- */

/* How long a look is valid. Watched files are looked at again, too (CATALOG_WATCHED_MS). */
static int64_t valid_ms(const struct catalog *c, bool watched)
{
	return watched ? CATALOG_WATCHED_MS : c->fresh_ms;
}

/* A look that does not return, and began before what was marked last. What it finds counts for nothing. */
static bool look_is_outdated(const struct seen *s)
{
	return s->look && s->look->late && !s->look->taking && s->look->began < s->marked;
}

static bool is_settled(const struct ask *a, const struct want *w)
{
	const struct catalog *c = a->c;
	const struct seen *s = seen_of(c, w->dir, w->file);
	bool watched = dir_is_watched(c, w->dir);
	/* It does not answer: it was waited for once, and is not waited for again until it has answered. */
	if (s->look && s->look->late && !look_is_outdated(s) &&
	    !blocking_is_done(resolver_blocking_pool(c->resolver), &s->look->call))
		return true;
	if (w->file != NONE) {
		const struct file *f = &c->files[w->file];
		if (!file_exists(f))
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
static void ask_wants(struct ask *a, struct want w)
{
	const struct catalog *c = a->c;
	const struct seen *s = seen_of(c, w.dir, w.file);
	bool is_known = s->began && s->err == 0 && a->now - s->at < KNOWN_MS;
	w.soft =
	    !w.now && (s->foreign || c->dirs[0].seen.foreign) && a->haste && (is_known || a->haste == HASTE_SUMMARY);
	bool was_awaited = s->look && s->look->foreign && a->now - s->look->at >= HASTE_MS;
	a->timed_out = a->timed_out || (w.soft && was_awaited);
	if (a->timed_out && w.soft)
		return;
	a->hard = a->hard || !w.soft;
	if (vec_grow(&a->wants, &a->cap, a->n + 1, sizeof *a->wants))
		a->wants[a->n++] = w;
	else
		ask_misses(a, -ENOMEM);
}

static bool need(struct ask *a, struct want w)
{
	int err = seen_of(a->c, w.dir, w.file)->err;
	if (!is_settled(a, &w)) {
		ask_wants(a, w);
		return false;
	}
	if (err) {
		ask_misses(a, err);
		a->failed = true;
	}
	return true;
}

/* X.jsonl next to X decides the project of a file in X. */
static bool need_beside(struct ask *a, uint32_t dir)
{
	uint32_t beside = a->c->dirs[a->c->dirs[dir].top].beside;
	return beside == NONE || need(a, (struct want){.dir = 0, .file = beside, .depth = HEADERS});
}

/* A session without a slot waits for one. */
static bool need_slot(struct ask *a, uint32_t file)
{
	bool settled = a->c->files[file].slot != NONE || file_waits(a->c, file);
	if (!settled)
		ask_misses(a, -ENOMEM);
	return settled;
}

static bool need_file(struct ask *a, uint32_t file, enum depth depth)
{
	struct catalog *c = a->c;
	const struct file *f = &c->files[file];
	if ((depth == HEADERS && !need_beside(a, f->dir)) ||
	    !need(a, (struct want){.dir = f->dir, .file = file, .depth = depth}))
		return false;
	return depth != HEADERS || f->state != FILE_SESSION || need_slot(a, file);
}

bool need_file_now(struct ask *a, uint32_t file)
{
	return need(a, (struct want){.dir = a->c->files[file].dir, .file = file, .depth = ATTRS, .now = true});
}

/* Returns the error of a failed scan in the tree that matters for this depth, a
 * timeout last. */
static int tree_error(const struct catalog *c, uint32_t tree, enum depth depth)
{
	int err = 0;
	for (size_t i = 0; i < c->failed.n && (err == 0 || err == -ETIMEDOUT); i++) {
		struct place p = c->failed.v[i];
		bool is_known =
		    p.file != NONE && depth != ATTRS && (depth == NAMES || c->files[p.file].state == FILE_SESSION);
		int rc = seen_of(c, p.dir, p.file)->err;
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

static bool tree_is_valid(struct ask *a, uint32_t tree, enum depth depth)
{
	const struct dir_tree *t = tree_of(a->c, tree);
	if (t->valid[depth].asof < t->marked || a->now >= t->valid[depth].until)
		return false;
	int err = tree_error(a->c, tree, depth);
	if (err)
		ask_misses(a, err);
	return true;
}

/* If all in the tree is settled, that holds; after a failure only if that is of a file, and trying again did not help.
 * Returns `settled`. */
static bool tree_end(struct ask *a, uint32_t tree, enum depth depth, bool settled)
{
	struct dir_tree *t = tree_of(a->c, tree);
	int err = settled ? tree_error(a->c, tree, depth) : 0;
	bool watched = t->blind == 0 && dir_is_watched(a->c, tree == NONE ? 0 : tree);
	int64_t end = catalog_now(), until = a->now + valid_ms(a->c, watched);
	int64_t rest = end + (end - a->now) * REST - CATALOG_FRESH_MS;
	bool lasts = err == -ETIMEDOUT || (a->retried && error_is_about_file(err) && err != -ENOMEM);
	if (err)
		until = rest = end + a->c->fresh_ms;
	if (settled && (err == 0 || lasts))
		t->valid[depth] = (struct validity){a->asof, rest > until ? rest : until};
	return settled;
}

static bool need_names(struct ask *a, uint32_t dir)
{
	const struct dir *d = &a->c->dirs[dir];
	if (d->gone)
		return true;
	if (!need(a, (struct want){.dir = dir, .file = NONE}))
		return false;
	bool settled = true;
	for (size_t i = 0; i < d->files.n; i++)
		if (seen_is_marked(&a->c->files[d->files.v[i]].seen))
			settled = need_file(a, d->files.v[i], ATTRS) && settled;
	return settled;
}

/* Requires all files in the directory itself. */
static bool need_files(struct ask *a, uint32_t dir, enum depth depth)
{
	const struct catalog *c = a->c;
	const struct dir *d = &c->dirs[dir];
	if (!need_names(a, dir) || (depth == HEADERS && !need_beside(a, dir)))
		return false;
	bool settled = true;
	for (size_t i = 0; i < d->files.n && depth != NAMES && !d->gone; i++) {
		const struct file *f = &c->files[d->files.v[i]];
		if (depth == HEADERS && f->state == FILE_SESSION)
			settled = need_slot(a, d->files.v[i]) && settled;
		else
			settled = need_file(a, d->files.v[i], depth) && settled;
	}
	return settled;
}

static bool need_tree(struct ask *a, uint32_t tree, enum depth depth)
{
	const struct catalog *c = a->c;
	uint32_t dir = tree == FLAT ? 0 : tree;
	if (tree_is_valid(a, tree, depth))
		return true;
	/* The tree of the source has the flat files, too. */
	bool settled = tree == 0 ? need_tree(a, FLAT, depth) : need_files(a, dir, depth);
	for (uint32_t i = c->dirs[dir].child; i != NONE; i = c->dirs[i].sibling)
		if (dir != 0 || dir_is_flat(c, i) == (tree == FLAT))
			settled = need_tree(a, i, depth) && settled;
	return tree_end(a, tree, depth, settled);
}

static bool need_extent(struct ask *a, enum extent extent, uint32_t of, enum depth depth)
{
	const struct catalog *c = a->c;
	const struct watching *w = &c->watching;
	uint32_t dir = extent != OF_PROJECT ? NONE : of == NO_SLOT ? 0 : c->projects[of].dir;
	bool settled = true;
	switch (extent) {
	case OF_FILE:
		return need_file(a, of, depth);
	case OF_FILE_NOW:
		return need_file_now(a, of);
	case OF_NAMES:
		return need_names(a, of);
	case OF_TREE:
		return need_tree(a, of, depth);
	case OF_PROJECT:
		settled = dir == 0 || need_tree(a, FLAT, depth);
		return (dir == NONE || need_tree(a, dir, depth)) && settled;
	case OF_PENDING:
		for (size_t i = 0; i < w->pending.n; i++) {
			struct place p = w->pending.v[i];
			bool known = p.file == NONE ? need_names(a, p.dir) : need_file(a, p.file, ATTRS);
			settled = known && settled;
		}
	}
	return settled;
}

/* ---- looking ---- */

/* A new look for what is wanted; NULL: none is needed any more, or it is being made. */
static struct look *look_for(struct ask *a, const struct want *w)
{
	struct catalog *c = a->c;
	struct seen *s = seen_of(c, w->dir, w->file);
	if (is_settled(a, w))
		return NULL;
	if (look_is_outdated(s)) {
		look_put(c, s->look);
		s->look = NULL;
	}
	if (s->look) {
		a->others = a->others || !s->look->foreign || s->look->taking;
		return NULL;
	}
	s->look = look_new(c, w->dir, w->file, w->depth == HEADERS);
	if (!s->look)
		take_failure(c, w->dir, w->file, -ENOMEM);
	return s->look;
}

/* Discards looks after an error: which of them ran is unknown. */
static void looks_drop(struct catalog *c, struct look **v, size_t n, int err)
{
	for (size_t i = 0; i < n; i++) {
		struct look *l = v[i];
		seen_of(c, l->dir, l->file)->look = NULL;
		if (err != -EINTR)
			take_failure(c, l->dir, l->file, err);
		look_put(c, l);
	}
	pthread_cond_broadcast(&c->looked);
}

/* Makes these looks, and applies their results. The pool continues those that may wait for a server. */
static int looks_run(struct catalog *c, struct look **v, size_t n)
{
	lock_release(&c->lock);
	int rc = look_make(c, v, n);
	lock_acquire(&c->lock);
	if (rc < 0)
		looks_drop(c, v, n, rc);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct look *l = v[i];
		if (l->rc == -EXDEV) {
			l->is_far = l->linked = true;
			if (look_start(c, l) == 0)
				continue;
			l->rc = -ETIMEDOUT;
		}
		take_look(c, l);
	}
	return rc == -EINTR ? rc : 0;
}

/* Waits for the looks of these wants that the pool makes, whoever had them made, and takes them in. */
static int looks_await(struct ask *a, const struct want *wants, size_t n, int64_t until)
{
	struct catalog *c = a->c;
	struct blocking_pool *pool = resolver_blocking_pool(c->resolver);
	struct look *v[LOOKS];
	size_t looks = 0;
	for (size_t i = 0; i < n; i++) {
		struct look *l = seen_of(c, wants[i].dir, wants[i].file)->look;
		if (!l || !l->foreign || l->taking || (wants[i].soft && a->hard) || is_settled(a, &wants[i]))
			continue;
		blocking_get(pool, &l->call);
		v[looks++] = l;
	}
	if (looks == 0)
		return 0;
	lock_release(&c->lock);
	int rc = blocking_wait(pool, (struct blocking_call *const *)(void *)v, looks, until);
	lock_acquire(&c->lock);
	for (size_t i = 0; i < looks; i++) {
		struct look *l = v[i];
		struct seen *s = seen_of(c, l->dir, l->file);
		if (s->look != l || l->taking)
			continue;
		if (blocking_is_done(pool, &l->call)) {
			take_look(c, l);
		} else if (rc == -ETIMEDOUT) {
			int before = s->err;
			l->late = true;
			s->err = -ETIMEDOUT;
			failed_update(c, l->dir, l->file, before);
		}
	}
	for (size_t i = 0; i < looks; i++)
		blocking_put(pool, &v[i]->call);
	return rc == -EINTR || rc == -ETIME ? rc : 0;
}

/* Waits until no other thread is making a look that is wanted. */
static int await_others(struct ask *a)
{
	struct catalog *c = a->c;
	int rc = cancel_wait_begin();
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < a->n && rc == 0; i++) {
		const struct want *w = &a->wants[i];
		const struct look *l = seen_of(c, w->dir, w->file)->look;
		uint64_t began = l ? l->began : 0;
		while (rc == 0 && l && l->began == began && (!l->foreign || l->taking)) {
			lock_wait_for(&c->lock, &c->looked, LOCK_LOOK_NS);
			rc = cancel_check();
			l = seen_of(c, w->dir, w->file)->look;
		}
	}
	cancel_wait_end();
	return rc;
}

/* Has everything looked at that is wanted. 0, -EINTR, or -ETIME: it took longer than `until`. */
static int ask_look(struct ask *a, int64_t until)
{
	int rc = 0;
	for (size_t i = 0, end; i < a->n && rc == 0; i = end) {
		struct look *mine[LOOKS];
		size_t n = 0;
		for (end = i; end < a->n && end - i < LOOKS; end++) {
			/* If it can be cut, it is wanted again when the rest is known. */
			bool waits = a->wants[end].soft && a->hard;
			struct look *l = waits ? NULL : look_for(a, &a->wants[end]);
			if (l)
				mine[n++] = l;
		}
		if (n > 0)
			rc = looks_run(a->c, mine, n);
		if (rc == 0)
			rc = looks_await(a, a->wants + i, end - i, until);
		if (rc == 0)
			rc = cancel_check();
	}
	if (rc == 0 && a->others)
		rc = await_others(a);
	return rc;
}

bool ask_scan(struct ask *a)
{
	if (a->n == 0)
		return false;
	int64_t until = a->hard || !a->haste ? 0 : a->now + HASTE_MS;
	a->others = false;
	int rc = cancel_check();
	if (rc == 0)
		rc = ask_look(a, until);
	a->n = 0;
	a->hard = false;
	a->timed_out = a->timed_out || rc == -ETIME;
	if (rc == 0 || rc == -ETIME)
		return true;
	a->err = rc;
	a->needs_all = true;
	return false;
}

/* Most failures are gone a moment later, so everything is required once more before one is reported. */
bool require(struct ask *a, enum extent extent, uint32_t of, enum depth depth)
{
	int before = a->err;
	bool settled = false, scanned = before != -EINTR;
	a->retried = false;
	while (scanned) {
		a->err = 0;
		settled = need_extent(a, extent, of, depth);
		scanned = ask_scan(a);
		if (!scanned && !ask_may_decide(a) && cancel_check() == 0) {
			a->asof = ++a->c->tick;
			scanned = a->retried = true;
		}
	}
	settled = settled && ask_may_decide(a);
	int err = a->err;
	a->err = before;
	if (err)
		ask_misses(a, err);
	return settled;
}

/* ---- the end ---- */

void failed_log(struct catalog *c)
{
	bool is_remote = c->dirs[0].seen.foreign, source_fails = false;
	for (size_t i = 0; i < c->failed.n; i++) {
		struct place p = c->failed.v[i];
		const struct seen *s = seen_of(c, p.dir, p.file);
		if ((s->look && !s->look->late) || !error_is_about_file(s->err))
			continue;
		bool is_source = (p.dir == 0 && p.file == NONE) || (is_remote && s->err == -ETIMEDOUT);
		source_fails = source_fails || is_source;
		if (!is_source && (c->dirs[0].seen.err || (p.file != NONE && c->dirs[p.dir].seen.err)))
			continue;
		const char *path = is_source ? "" : place_path(c, p.dir, p.file);
		if (log_once(&c->logged, LOGGED_FAILURE, path))
			log_warning("%s: %s", *path ? path : c->source, strerror(-s->err));
	}
	if (!source_fails)
		log_forget(&c->logged, LOGGED_FAILURE, "");
}

int ask_close(struct ask *a, int rc)
{
	if (a->failed && a->err && a->err != -EINTR && a->err != -EAGAIN)
		failed_log(a->c);
	lock_release(&a->c->lock);
	free(a->wants);
	return a->err == -EINTR ? a->err : rc;
}

bool ask_end(struct ask *a, bool found)
{
	ask_close(a, 0);
	deferred_set(!found || a->needs_all ? a->err : 0);
	return found;
}
