/* SPDX-License-Identifier: MIT */
/* Opens indexes and grows them. One thread builds a slot's index when it is first needed; other threads that
 * need it wait.
 *
 * Building and growing read files, so both run without the catalog's lock.
 *
 * An evicted index leaves a fingerprint of the bytes it had read. If the file does not begin with them at the next
 * opening, it was rewritten, and the earlier entry numbers are void. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/log.h"

#include "open_index.h"

/* Try again: the thread that built the index was interrupted, or the one that grew it failed. Not an errno, because a
 * file operation can fail with EAGAIN, too. */
enum { GET_RETRY = 1 };

/* ---- opening ---- */

/* The session is locked, or no other thread knows it. */
static struct index_snapshot index_snapshot_take(const struct session *s)
{
	const struct stat *st = session_stat(s);
	return (struct index_snapshot){session_fingerprints(s), st->st_mtim, st->st_ctim, st->st_size,
	                               session_memory(s)};
}

/* Opens a session. Sets *ret_same if the file still begins with the bytes of `before`. */
static int open_session(const struct source_path *at, bool keeps_lines, const struct fingerprints *before,
                        struct session **ret, struct index_snapshot *ret_found, bool *ret_same)
{
	struct session *s;
	int rc = session_open(at, keeps_lines, &s);
	if (rc < 0)
		return rc;
	*ret_found = index_snapshot_take(s);
	bool is_short = ret_found->trace.end < before->end;
	/* Interrupted before the two could be compared. */
	rc = before->end == 0 ? 0 : is_short ? cancel_check() : session_check_beginning(s, before);
	if (rc < 0 && rc != -ESTALE) {
		session_close(s);
		return rc;
	}
	*ret_same = rc == 0 && !is_short;
	*ret = s;
	return 0;
}

static void open_index_update(struct catalog *c, struct open_index *x, const struct index_snapshot *f)
{
	open_index_set_memory(c, x, f->memory);
	x->as_of = *f;
}

/* The index must not be older than the attributes shown with it: a reader that has seen a new mtime caches the contents
 * that it reads next until the mtime changes. A change of mode or owner shows only in the ctime. An index whose parsing
 * was interrupted has the size and the mtime of no file, so that the next caller finishes it. */
static bool open_index_is_stale(const struct catalog *c, const struct open_index *x)
{
	const struct file *f = &c->files[c->slots[x->slot].file];
	return f->size != x->as_of.size || !time_is_same(f->mtime, x->as_of.mtime) ||
	       !time_is_same(f->ctime, x->as_of.ctime);
}

/* Returns whether the opened file can be another one than the slot's. */
static bool may_be_other_file(const struct catalog *c, const struct open_index *x, const struct session *s)
{
	if (x->err)
		return !error_is_transient(x->err);
	const struct file *f = &c->files[c->slots[x->slot].file];
	const struct stat *st = session_stat(s);
	return st->st_dev != f->dev || st->st_ino != f->ino || !span_eq(session_id(s), f->sid);
}

/* Reads the header again if the file can be another one. Called without the lock. Returns 0, or a negative errno if the
 * file could not be opened or is not known to be the slot's. */
static int open_index_check(struct catalog *c, struct open_index *x, const struct session *s, bool trace_holds)
{
	struct sync a = sync_begin(c, AGE_NONE);
	if (!x->err && !trace_holds && !open_index_is_forgotten(c, x))
		slot_retire(c, x->slot);
	if (!open_index_is_forgotten(c, x) && may_be_other_file(c, x, s)) {
		uint32_t file = c->slots[x->slot].file;
		c->files[file].reread = true;
		mark_file_stale(c, file);
		require(&a, OF_FILE, file, HEADERS);
	}
	int err = x->err ? x->err : a.err;
	return sync_close(&a, err);
}

/* Builds the index of a slot. The lock is held on entry and return, and released in between. Other threads wait for x
 * meanwhile. */
static void open_index_fill(struct catalog *c, struct open_index *x, bool keeps_lines)
{
	struct session *s = NULL;
	struct index_snapshot f = {0};
	struct fingerprints before = c->slots[x->slot].trace;
	const struct source_path at = {c->resolver, c->files[c->slots[x->slot].file].path};

	lock_release(&c->lock);
	bool trace_holds = true;
	x->err = open_session(&at, keeps_lines, &before, &s, &f, &trace_holds);
	int rc = open_index_check(c, x, s, trace_holds);
	lock_acquire(&c->lock);

	/* The file was a session when it got its slot. Now it is being rewritten, was replaced, or was briefly
	 * absent. */
	bool is_gone = error_is_absence(rc) || (open_index_is_forgotten(c, x) && !error_is_transient(rc));
	x->err = is_gone ? -ESTALE : rc;
	if (x->err) {
		if (s)
			session_close(s);
		if (!open_index_is_forgotten(c, x))
			open_indexes_forget(c, x->slot);
	} else {
		x->session = s;
		if (!open_index_is_forgotten(c, x))
			log_forget(&c->logged, LOGGED_FAILURE, c->files[c->slots[x->slot].file].path);
		open_index_update(c, x, &f);
	}
	x->opening = false;
	pthread_cond_broadcast(&c->open.opened);
}

/* Adds a new index of the slot, which this thread must open. */
static struct open_index *open_index_add(struct catalog *c, uint32_t slot)
{
	struct open_index *x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	*x = (struct open_index){.slot = slot, .refs = 1, .opening = true};
	c->slots[slot].index = x;
	c->open.count++;
	open_index_link_newest(&c->open, x);
	return x;
}

/* Gets the slot's index with a reference; opens it if necessary. Returns 0, GET_RETRY or a negative errno. */
static int open_index_take(struct catalog *c, uint32_t slot, unsigned how, struct open_index **ret)
{
	struct open_index *x = c->slots[slot].index;
	int rc = 0;
	if (x) {
		x->refs++;
		rc = lock_wait_while(&c->lock, &c->open.opened, &x->opening);
	} else {
		x = open_index_add(c, slot);
		if (!x)
			return -ENOMEM;
		open_index_fill(c, x, how & GET_KEEPING_LINES);
	}
	if (rc == 0 && (x->err || open_index_is_forgotten(c, x)))
		rc = x->err == -EINTR ? GET_RETRY : x->err ? x->err : -ESTALE;
	if (rc) {
		open_index_put(c, x);
		return rc;
	}
	open_index_unlink(&c->open, x);
	open_index_link_newest(&c->open, x);
	*ret = x;
	return 0;
}

/* ---- growing ---- */

/* Parses lines that were appended to a file whose index is open, once its readers are done. Called without the lock.
 * Returns 0 or a negative errno. */
static int grow_index(struct catalog *c, struct open_index *x)
{
	struct index_snapshot f = {0};
	struct session *s = x->session;
	bool is_broken = false;
	int rc = session_rdlock(s);
	if (rc < 0)
		return rc;
	bool changed = session_has_grown(s);
	session_unlock(s);
	if (!changed)
		return 0;
	rc = session_wrlock(s);
	if (rc == 0) {
		rc = session_grow(s);
		if (rc >= 0 || rc == -EINTR)
			f = index_snapshot_take(s);
		rc = rc < 0 ? rc : 0;
		is_broken = session_is_broken(s);
		session_unlock(s);
	}
	struct sync a = sync_begin(c, AGE_NONE);
	/* The file's attributes can show why the index did not grow. */
	if (rc < 0 && rc != -ESTALE && rc != -EINTR && !open_index_is_forgotten(c, x))
		require(&a, OF_FILE_NOW, c->slots[x->slot].file, ATTRS);
	if (rc == 0 || (rc == -EINTR && f.memory))
		open_index_update(c, x, &f);
	else if (rc == -ESTALE && !open_index_is_forgotten(c, x))
		slot_retire(c, x->slot);
	if (open_index_is_forgotten(c, x) && rc != -EINTR)
		rc = -ESTALE;
	else if (is_broken && !open_index_is_forgotten(c, x))
		open_indexes_forget(c, x->slot); /* the next caller builds it again */
	sync_close(&a, 0);
	return error_is_absence(rc) ? -ESTALE : rc; /* it was briefly absent */
}

/* Returns 0, GET_RETRY or a negative errno. */
static int open_index_try_get(struct catalog *c, uint32_t slot, unsigned how, struct session **ret)
{
	struct open_index *x = NULL;
	struct sync a = sync_begin(c, how & GET_NOW ? AGE_NONE : AGE_RECENT);
	int rc = sync_close(&a, slot_check_file(&a, slot));
	if (rc < 0)
		return rc;
	lock_acquire(&c->lock);
	rc = c->slots[slot].file == NONE ? -ESTALE : open_index_take(c, slot, how, &x);
	if (rc) {
		lock_release(&c->lock);
		return rc;
	}
	bool stale = how & GET_NOW || open_index_is_stale(c, x);
	struct open_index *surplus = open_indexes_detach_surplus(c);
	lock_release(&c->lock);
	open_index_close_all(surplus);
	budget_enforce(c->budget);

	if (stale)
		rc = grow_index(c, x);
	if (rc == 0)
		rc = session_rdlock(x->session);
	if (rc == 0 && session_is_broken(x->session)) {
		session_unlock(x->session);
		rc = GET_RETRY;
	}
	if (rc) {
		lock_acquire(&c->lock);
		open_index_put(c, x);
		lock_release(&c->lock);
		return rc;
	}
	*ret = x->session;
	return 0;
}

/* If the thread that opened the index was interrupted, one of those that waited for it continues. */
int catalog_session_get_as(struct catalog *c, uint32_t slot, unsigned how, struct session **ret)
{
	int rc;
	do
		rc = open_index_try_get(c, slot, how, ret);
	while (rc == GET_RETRY && cancel_check() == 0);
	return rc == GET_RETRY ? -EINTR : rc;
}

int catalog_session_get(struct catalog *c, uint32_t slot, struct session **ret)
{
	return catalog_session_get_as(c, slot, 0, ret);
}

void catalog_session_put(struct catalog *c, struct session *s)
{
	session_drop_lines(s);
	size_t memory = session_memory(s);
	session_unlock(s);

	lock_acquire(&c->lock);
	struct open_index *x = open_index_of(&c->open, s);
	open_index_set_memory(c, x, memory);
	open_index_put(c, x);
	struct open_index *surplus = open_indexes_detach_surplus(c);
	lock_release(&c->lock);
	open_index_close_all(surplus);
	budget_enforce(c->budget);
}

void catalog_log_unreadable(struct catalog *c, uint32_t slot, int err)
{
	LOCKED(&c->lock);
	uint32_t file = c->slots[slot].file;
	if (file == NONE)
		return;
	const char *path = err == -ETIMEDOUT && c->dirs[0].scanned.foreign ? "" : c->files[file].path;
	if (log_once(&c->logged, LOGGED_FAILURE, path))
		log_warning("%s: %s", *path ? path : c->source, resolver_error_text(err));
}
