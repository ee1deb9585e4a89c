/* SPDX-License-Identifier: MIT */
/* Opens indexes and grows them. One thread builds a slot's index when it is first needed; other threads that need it
 * wait.
 *
 * Building and growing read files, so both happen without the catalog's lock.
 *
 * A dropped index leaves a trace of the bytes it had seen. If the file does not begin with
 * them when it is opened again, it was rewritten, and the entry numbers given out before are void. */
#include "sessionfs/base/log.h"
#include "sessionfs/base/stop.h"

#include "held.h"

#define TRACE_BYTES 256
/* How long growing an index waits for its readers. */
#define READERS_NS INT64_C(50000000)

/* Try again: another index replaced this one, or the thread that was making it was interrupted. Not an errno, because
 * a file operation can fail with EAGAIN, too. */
enum { ONCE_MORE = 1 };

/* ---- traces ---- */

/* A hash of the beginning and of the end of the file's first `size` bytes; 0 if they cannot be read. */
static uint64_t hash_ends(const struct catalog *c, const struct session *s, uint64_t size)
{
	char bytes[TRACE_BYTES];
	size_t n = size < sizeof bytes ? (size_t)size : sizeof bytes;
	uint64_t h = 0;

	for (int i = 0; i < 2; i++) {
		if (session_pread(s, bytes, n, i ? size - n : 0) != (ssize_t)n)
			return 0;
		h = hash_bytes(&c->open.secret, h, bytes, n);
	}
	return h ? h : 1;
}

/* ---- opening ---- */

/* What was learned about the file, without the lock, while its index was opened or grown. */
struct finding {
	struct trace trace;
	struct timespec mtime, ctime;
	off_t size;
	size_t memory;
};

/* The session is locked, or no other thread knows it. */
static struct finding find_out(const struct catalog *c, const struct session *s)
{
	const struct stat *st = session_stat(s);
	uint64_t size = session_size(s);
	return (struct finding){
	    {size, hash_ends(c, s, size)}, st->st_mtim, st->st_ctim, st->st_size, session_memory(s)};
}

/* Opens a session. *ret_same: as far as the trace `before` shows, it is still the same file. */
static int open_session(const struct catalog *c, const struct reach_at *at, const struct trace *before,
                        struct session **ret, struct finding *ret_found, bool *ret_same)
{
	struct session *s;
	int rc = session_open(at, &s);
	if (rc < 0)
		return rc;
	bool is_short = session_size(s) < before->size;
	/* Interrupted before the two could be compared. */
	if (before->hash && is_short && stop_check() < 0) {
		session_close(s);
		return -EINTR;
	}
	*ret_found = find_out(c, s);
	*ret_same = before->hash == 0 || (!is_short && hash_ends(c, s, before->size) == before->hash);
	*ret = s;
	return 0;
}

static void take_in(struct catalog *c, struct held *h, const struct finding *f)
{
	h->trace = f->trace;
	h->mtime = f->mtime;
	h->ctime = f->ctime;
	h->size = f->size;
	held_set_memory(c, h, f->memory);
}

/* The index must not be older than the attributes shown with it: a reader that has seen a new mtime keeps
 * what it reads next for as long as the mtime stays. A change of mode or owner shows only in the ctime. */
static bool held_is_behind(const struct catalog *c, const struct held *h)
{
	const struct file *f = &c->files[c->slots[h->slot].file];
	return f->size != h->size || !time_is_same(f->mtime, h->mtime) || !time_is_same(f->ctime, h->ctime);
}

/* Whether the file just opened may not be the slot's. */
static bool is_in_doubt(const struct catalog *c, const struct held *h, const struct session *s)
{
	if (h->err)
		return h->err != -EINTR && !is_transient(h->err);
	const struct file *f = &c->files[c->slots[h->slot].file];
	const struct stat *st = session_stat(s);
	return st->st_dev != f->dev || st->st_ino != f->ino || !span_eq(session_id(s), f->sid);
}

/* Reads the header again if the file may not be the slot's. Called without the lock. 0, or a negative errno if the file
 * could not be opened or is not known to be the slot's. */
static int held_judge(struct catalog *c, struct held *h, const struct session *s, bool trace_holds)
{
	struct ask a = ask_begin(c, HASTE_NONE);
	if (!h->err && !trace_holds && !h->forgotten)
		slot_kill(c, h->slot);
	if (!h->forgotten && is_in_doubt(c, h, s)) {
		uint32_t file = c->slots[h->slot].file;
		c->files[file].reread = true;
		mark_file(c, file);
		while (ask_wait(&a))
			need_file(&a, file, HEADERS);
	}
	int err = h->err ? h->err : a.err;
	return ask_close(&a, err);
}

/* Builds the index of a slot. The lock is held on entry and return, and given back in between. Other threads wait for h
 * meanwhile. */
static void open_held(struct catalog *c, struct held *h)
{
	struct session *s = NULL;
	struct finding f = {0};
	struct trace before = c->slots[h->slot].trace;
	const struct reach_at at = {c->reach, c->files[c->slots[h->slot].file].path};

	lock_give(&c->lock);
	bool trace_holds = true;
	h->err = open_session(c, &at, &before, &s, &f, &trace_holds);
	bool is_whole = stop_check() == 0;
	int rc = held_judge(c, h, s, trace_holds);
	lock_take(&c->lock);

	/* The file was a session when it got its slot. Now it is being rewritten, was replaced, or was gone for a
	 * moment. */
	bool is_gone = rc == -EINVAL || rc == -ENOENT || (h->forgotten && rc != -EINTR && !is_transient(rc));
	h->err = is_gone ? -ESTALE : rc;
	if (h->err) {
		if (s)
			session_close(s);
		if (!h->forgotten)
			c->slots[h->slot].held = NULL;
		h->forgotten = true;
	} else {
		h->session = s;
		c->slots[h->slot].said = false;
		take_in(c, h, &f);
	}
	/* If building was interrupted, the next caller finishes the index. */
	h->partial = !is_whole;
	h->opening = false;
	pthread_cond_broadcast(&c->open.opened);
}

/* A new index of the slot, which this thread is to open. */
static struct held *add_held(struct catalog *c, uint32_t slot)
{
	struct held *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	*h = (struct held){.slot = slot, .refs = 1, .opening = true};
	c->slots[slot].held = h;
	c->open.count++;
	held_link_newest(&c->open, h);
	return h;
}

/* 0, ONCE_MORE or a negative errno. */
static int take_once(struct catalog *c, uint32_t slot, struct held **ret)
{
	struct held *h = c->slots[slot].held;
	int rc = 0;
	if (h) {
		h->refs++;
		rc = lock_wait_while(&c->lock, &c->open.opened, &h->opening);
	} else {
		h = add_held(c, slot);
		if (!h)
			return -ENOMEM;
		open_held(c, h);
	}
	if (rc == 0 && (h->err || h->forgotten))
		rc = h->err == -EINTR || h->replaced ? ONCE_MORE : h->err ? h->err : -ESTALE;
	if (rc) {
		held_put(c, h);
		return rc;
	}
	held_unlink(&c->open, h);
	held_link_newest(&c->open, h);
	*ret = h;
	return 0;
}

/* The slot's index with a reference, opened if need be. 0 or a negative errno. The thread that opened it may have been
 * interrupted. That is no failure for the others: one of them carries on. */
static int held_take(struct catalog *c, uint32_t slot, struct held **ret)
{
	int rc;
	do
		rc = c->slots[slot].file == NONE ? -ESTALE : take_once(c, slot, ret);
	while (rc == ONCE_MORE && stop_check() == 0);
	return rc == ONCE_MORE ? -EINTR : rc;
}

/* ---- growing ---- */

/* Replaces an index that is being read by its grown copy. */
static void replace(struct catalog *c, struct held *h, struct session *s, const struct finding *f)
{
	struct held *n = add_held(c, h->slot);
	if (!n) {
		session_close(s);
		return;
	}
	n->refs = 0;
	n->opening = false;
	n->session = s;
	n->partial = h->partial;
	take_in(c, n, f);
	h->forgotten = h->replaced = true;
}

static int copy_and_grow(const struct catalog *c, struct session *s, struct session **ret, struct finding *ret_found)
{
	int rc = session_rdlock_wanted(s);
	if (rc < 0)
		return rc;
	rc = session_copy(s, ret);
	session_unlock(s);
	if (rc < 0)
		return rc;
	rc = session_grow(*ret);
	if (rc < 0)
		session_close(*ret);
	else
		*ret_found = find_out(c, *ret);
	return rc < 0 ? rc : 0;
}

/* The file has grown, but a reader holds the index for long: one thread makes a grown copy for all others. ONCE_MORE:
 * the copy is there. */
static int grow_copy(struct catalog *c, struct held *h)
{
	struct session *s;
	struct finding f;

	lock_take(&c->lock);
	int rc = lock_wait_while(&c->lock, &c->open.opened, &h->copying);
	if (rc == 0 && h->forgotten)
		rc = h->replaced ? ONCE_MORE : -ESTALE;
	if (rc == 0)
		h->copying = true;
	lock_give(&c->lock);
	if (rc)
		return rc;

	rc = copy_and_grow(c, h->session, &s, &f);

	lock_take(&c->lock);
	h->copying = false;
	pthread_cond_broadcast(&c->open.opened);
	if (rc == 0 && h->forgotten)
		session_close(s);
	else if (rc == 0)
		replace(c, h, s, &f);
	lock_give(&c->lock);
	return rc < 0 ? rc : ONCE_MORE;
}

/* Takes in what was appended. -ETIMEDOUT if readers hold the index for too long. */
static int grow_in_place(const struct catalog *c, struct held *h, struct finding *ret_found)
{
	struct session *s = h->session;
	int rc = session_wrlock_wanted(s, READERS_NS);
	if (rc < 0)
		return rc;
	rc = session_grow(s);
	if (rc >= 0 || rc == -EINTR)
		*ret_found = find_out(c, s);
	session_unlock(s);
	return rc < 0 ? rc : 0;
}

/* Takes in what was appended to a file whose index is held. Called without the lock. 0, ONCE_MORE or a negative errno.
 */
static int grow_index(struct catalog *c, struct held *h)
{
	struct finding f = {0};
	int rc = session_rdlock_wanted(h->session);
	if (rc < 0)
		return rc;
	bool changed = session_changed(h->session);
	session_unlock(h->session);
	if (!changed)
		return 0;
	rc = grow_in_place(c, h, &f);
	if (rc == -ETIMEDOUT)
		rc = grow_copy(c, h);
	struct ask a = ask_begin(c, HASTE_NONE);
	/* The file's attributes may show why the index could not grow. */
	if (rc < 0 && rc != -ESTALE && rc != -EINTR && !h->forgotten) {
		uint32_t file = c->slots[h->slot].file;
		while (ask_wait(&a))
			need_file_now(&a, file);
	}
	if (rc == 0 || (rc == -EINTR && f.memory))
		take_in(c, h, &f);
	else if (rc == -ESTALE && !h->forgotten)
		slot_kill(c, h->slot);
	if (h->forgotten && rc != -EINTR)
		rc = h->replaced ? ONCE_MORE : -ESTALE;
	if (rc == -EINTR)
		h->partial = true;
	ask_close(&a, 0);
	return rc;
}

/* 0, ONCE_MORE or a negative errno. */
static int get_once(struct catalog *c, uint32_t slot, bool look, struct session **ret)
{
	struct held *h = NULL;
	int rc = 0;
	struct ask a = ask_begin(c, look ? HASTE_NONE : HASTE_KNOWN);
	while (ask_wait(&a))
		rc = slot_look(&a, slot);
	rc = ask_close(&a, rc);
	if (rc < 0)
		return rc;
	lock_take(&c->lock);
	rc = c->slots[slot].file == NONE ? -ESTALE : held_take(c, slot, &h);
	if (rc < 0) {
		lock_give(&c->lock);
		return rc;
	}
	look = look || h->partial || held_is_behind(c, h);
	h->partial = false;
	struct held *surplus = held_take_surplus(c);
	lock_give(&c->lock);
	held_close_all(surplus);
	budget_settle(c->budget);

	if (look)
		rc = grow_index(c, h);
	if (rc == 0)
		rc = session_rdlock_wanted(h->session);
	if (rc) {
		lock_take(&c->lock);
		held_put(c, h);
		lock_give(&c->lock);
		return rc;
	}
	*ret = h->session;
	return 0;
}

static int held_get(struct catalog *c, uint32_t slot, bool look, struct session **ret)
{
	int rc;
	do
		rc = get_once(c, slot, look, ret);
	while (rc == ONCE_MORE && stop_check() == 0);
	return rc == ONCE_MORE ? -EINTR : rc;
}

int catalog_get(struct catalog *c, uint32_t slot, struct session **ret)
{
	return held_get(c, slot, false, ret);
}

int catalog_get_now(struct catalog *c, uint32_t slot, struct session **ret)
{
	return held_get(c, slot, true, ret);
}

void catalog_put(struct catalog *c, struct session *s)
{
	size_t memory = session_memory(s);
	session_unlock(s);

	lock_take(&c->lock);
	struct held *h = held_of(&c->open, s);
	held_set_memory(c, h, memory);
	held_put(c, h);
	struct held *surplus = held_take_surplus(c);
	lock_give(&c->lock);
	held_close_all(surplus);
	budget_settle(c->budget);
}

void catalog_unread(struct catalog *c, uint32_t slot, int err)
{
	LOCKED(&c->lock);
	struct slot *s = &c->slots[slot];
	bool of_source = err == -ETIMEDOUT && c->dirs[0].seen.foreign;
	bool *said = of_source ? &c->dirs[0].seen.said : &s->said;
	if (!*said && s->file != NONE)
		log_warning("%s: %s", of_source ? c->source : c->files[s->file].path, strerror(-err));
	*said = c->said = true;
}
