/* Which indexes are open. A slot's index is built when it is first asked for, by one
 * thread while the others who want it wait; it is dropped when it is the one used
 * longest ago, nobody holds it, and there are too many or the budget wants it. The one used last always stays,
 * whatever its size.
 *
 * Building and growing read files, so both happen without the catalog's lock.
 *
 * An index that was dropped leaves a trace of the bytes it had seen: if the file does not begin with
 * them when it is opened again, it was rewritten meanwhile, and entry numbers given out before are void. */
#include "sessionfs/base/stop.h"

#include "catalog_impl.h"

#include <sys/resource.h>

/* Each keeps a file open; of what a small limit allows, others need some and each request a few. */
#define OPEN_MAX 512
#define OTHERS 16

static size_t most_open(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= 2 * OPEN_MAX + OTHERS)
		return OPEN_MAX;
	return limit.rlim_cur > OTHERS + 2 ? (size_t)(limit.rlim_cur - OTHERS) / 2 : 1;
}

#define CHAINS 1024
#define TRACE_BYTES 256
/* Who is to grow an index waits so long for its readers. */
#define READERS_NS INT64_C(50000000)

struct held {
	struct session *session; /* NULL while it is being opened, or could not be */
	struct held *newer, *older, *chain;
	struct trace trace;
	struct timespec mtime, ctime; /* of the file, and its size, as the index knows them */
	off_t size;
	int64_t looked;
	size_t memory;
	uint64_t used_at; /* budget_now */
	uint32_t slot;
	unsigned refs;
	int err;
	bool opening;
	bool forgotten; /* its slot died, or has another index: goes with the last reference */
	bool replaced;  /* by another index of the slot */
	bool copying;   /* somebody is at work on that one */
};

static void held_close(struct held *h)
{
	if (h->session)
		session_close(h->session);
	free(h);
}

/* ---- the list by last use, and the hash by session ---- */

static void unlink_held(struct open_indexes *o, struct held *h)
{
	*(h->newer ? &h->newer->older : &o->newest) = h->older;
	*(h->older ? &h->older->newer : &o->oldest) = h->newer;
	h->newer = h->older = NULL;
}

static void link_newest(struct open_indexes *o, struct held *h)
{
	h->used_at = budget_now();
	h->newer = NULL;
	h->older = o->newest;
	*(o->newest ? &o->newest->newer : &o->oldest) = h;
	o->newest = h;
}

static void set_memory(struct catalog *c, struct held *h, size_t memory)
{
	atomic_fetch_add(&c->open.keeper.used, memory - h->memory);
	h->memory = memory;
}

static struct held **chain_of(struct open_indexes *o, const struct session *s)
{
	return &o->by_session[hash_word((uintptr_t)s) % CHAINS];
}

/* It has its session. */
static void chain_push(struct open_indexes *o, struct held *h)
{
	struct held **chain = chain_of(o, h->session);
	h->chain = *chain;
	*chain = h;
}

static struct held *held_of(struct open_indexes *o, const struct session *s)
{
	struct held *h = *chain_of(o, s);
	while (h && h->session != s)
		h = h->chain;
	return h;
}

/* Takes an index out of everything. Nobody may hold it. */
static void held_remove(struct catalog *c, struct held *h)
{
	struct open_indexes *o = &c->open;

	unlink_held(o, h);
	o->count--;
	set_memory(c, h, 0);
	if (h->session) {
		struct held **at = chain_of(o, h->session);
		while (*at != h)
			at = &(*at)->chain;
		*at = h->chain;
	}
	if (!h->forgotten) {
		c->slots[h->slot].trace = h->trace;
		c->slots[h->slot].held = NULL;
	}
}

/* The one that would go next, or NULL. */
static struct held *dispensable(const struct open_indexes *o)
{
	struct held *h = o->oldest;
	while (h && h->refs)
		h = h->newer;
	return h && h->newer ? h : NULL;
}

/* Takes out what is too many, to be closed without the lock. */
static struct held *take_surplus(struct catalog *c)
{
	struct held *out = NULL, *h;

	while (c->open.count > c->open.most && (h = dispensable(&c->open))) {
		held_remove(c, h);
		h->older = out;
		out = h;
	}
	return out;
}

static void close_all(struct held *h)
{
	while (h) {
		struct held *next = h->older;
		held_close(h);
		h = next;
	}
}

static uint64_t oldest_use(void *arg)
{
	struct catalog *c = arg;

	lock_take(&c->lock);
	const struct held *h = dispensable(&c->open);
	uint64_t at = h ? h->used_at : BUDGET_NOTHING;
	lock_give(&c->lock);
	return at;
}

static void give_way(void *arg)
{
	struct catalog *c = arg;

	lock_take(&c->lock);
	struct held *h = dispensable(&c->open);
	if (h)
		held_remove(c, h);
	lock_give(&c->lock);
	if (h)
		held_close(h);
}

int open_indexes_init(struct catalog *c)
{
	struct open_indexes *o = &c->open;

	hash_key_draw(&o->secret);
	o->by_session = calloc(CHAINS, sizeof(struct held *));
	if (!o->by_session)
		return -ENOMEM;
	lock_cond_init(&o->opened);
	o->most = most_open();
	o->keeper = (struct keeper){.oldest = oldest_use, .give_way = give_way, .arg = c};
	budget_join(c->budget, &o->keeper);
	return 0;
}

void open_indexes_release(struct catalog *c)
{
	struct open_indexes *o = &c->open;

	budget_leave(c->budget, &o->keeper);
	while (o->newest) {
		struct held *h = o->newest;
		o->newest = h->older;
		held_close(h);
	}
	free(o->by_session);
	pthread_cond_destroy(&o->opened);
}

off_t open_indexes_seen(const struct catalog *c, uint32_t slot)
{
	const struct slot *s = &c->slots[slot];
	return s->held && !s->held->opening ? s->held->size : (off_t)s->trace.size;
}

void open_indexes_forget(struct catalog *c, uint32_t slot)
{
	struct held *h = c->slots[slot].held;
	if (!h)
		return;
	c->slots[slot].held = NULL;
	h->forgotten = true;
	if (h->refs)
		return;
	held_remove(c, h);
	held_close(h);
}

/* Gives a reference back; with the last one a useless index goes. */
static void release(struct catalog *c, struct held *h)
{
	if (--h->refs || !h->forgotten)
		return;
	held_remove(c, h);
	held_close(h);
}

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

static struct trace trace_of(const struct catalog *c, const struct session *s)
{
	uint64_t size = session_size(s);
	return (struct trace){size, hash_ends(c, s, size)};
}

/* ---- opening ---- */

/* What a thread that opens or grows an index finds out without the lock. */
struct finding {
	struct trace trace;
	struct timespec mtime, ctime;
	off_t size;
	size_t memory;
};

/* The session is held, or nobody else knows it. */
static struct finding find_out(const struct catalog *c, const struct session *s)
{
	const struct stat *st = session_stat(s);
	return (struct finding){trace_of(c, s), st->st_mtim, st->st_ctim, st->st_size, session_memory(s)};
}

/* Opens a session of which `before` was known. *ret_same: it is the same file, as far as that can be told. */
static int open_session(const struct catalog *c, const struct reach_at *at, const struct trace *before,
                        struct session **ret, struct finding *ret_found, bool *ret_same)
{
	struct session *s;
	int rc = session_open(at, &s);
	if (rc < 0)
		return rc;
	bool is_short = session_size(s) < before->size;
	/* Stopped before it could be compared. */
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
	set_memory(c, h, f->memory);
}

/* The index must not be older than the attributes that are shown with it: a reader who has seen a new mtime keeps
 * what it reads next for as long as the mtime stays. Another mode or owner shows in the ctime only. */
static bool is_behind(const struct catalog *c, const struct held *h)
{
	const struct file *f = &c->files[c->slots[h->slot].file];
	return f->size != h->size || !time_is_same(f->mtime, h->mtime) || !time_is_same(f->ctime, h->ctime);
}

static bool is_told_slot(const struct catalog *c, uint32_t slot)
{
	return is_told_file(c, &c->files[c->slots[slot].file]);
}

/* True if the session just opened is the slot's. What is known of the file is renewed where it is in doubt. */
static bool is_of_slot(struct catalog *c, uint32_t slot, const struct session *s, bool trace_holds)
{
	if (c->slots[slot].file == NONE)
		return false;
	const struct file *f = &c->files[c->slots[slot].file];
	const struct stat *st = session_stat(s);
	if (!trace_holds)
		slot_kill(c, slot);
	else if (st->st_dev != f->dev || st->st_ino != f->ino || !span_eq(session_id(s), f->sid))
		scan_header_again(c, c->slots[slot].file);
	return c->slots[slot].file != NONE;
}

/* Builds the index of a slot; called and left with the lock held, and without it in between. Others wait for h
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
	lock_take(&c->lock);

	if (h->err && h->err != -EINTR && !is_transient(h->err) && !h->forgotten) {
		scan_header_again(c, c->slots[h->slot].file);
		if (h->forgotten)
			h->err = -ESTALE;
	} else if (!h->err && (h->forgotten || !is_of_slot(c, h->slot, s, trace_holds))) {
		h->err = -ESTALE;
	}
	/* It was one when it got its slot: it is being written anew, another file is in its place, or it was gone for a
	 * moment. */
	if (h->err == -EINVAL || h->err == -ENOENT)
		h->err = -ESTALE;
	if (h->err) {
		if (s)
			session_close(s);
		if (!h->forgotten)
			c->slots[h->slot].held = NULL;
		h->forgotten = true;
	} else {
		h->session = s;
		take_in(c, h, &f);
		chain_push(&c->open, h);
	}
	/* What was stopped half way is grown by whoever wants it next. */
	h->looked = is_whole ? catalog_now() : 0;
	h->opening = false;
	pthread_cond_broadcast(&c->open.opened);
}

/* Waits until somebody else has opened it. */
static int wait_for_opened(struct catalog *c, struct held *h)
{
	int rc = 0;
	while (h->opening && (rc = stop_check()) == 0)
		lock_wait_for(&c->lock, &c->open.opened, LOCK_LOOK_NS);
	return rc;
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
	link_newest(&c->open, h);
	return h;
}

static int take_once(struct catalog *c, uint32_t slot, struct held **ret)
{
	struct held *h = c->slots[slot].held;
	int rc = 0;
	if (h) {
		h->refs++;
		rc = wait_for_opened(c, h);
	} else {
		h = add_held(c, slot);
		if (!h)
			return -ENOMEM;
		open_held(c, h);
	}
	if (rc == 0 && (h->err || h->forgotten))
		rc = h->err == -EINTR || h->replaced ? -EAGAIN : h->err ? h->err : -ESTALE;
	if (rc < 0) {
		release(c, h);
		return rc;
	}
	unlink_held(&c->open, h);
	link_newest(&c->open, h);
	*ret = h;
	return 0;
}

/* The slot's index with a reference, opened if need be. 0 or a negative errno. Whoever opened it may have been stopped:
 * that is no failure for the others, of whom one goes on. */
static int take(struct catalog *c, uint32_t slot, struct held **ret)
{
	int rc;
	do
		rc = c->slots[slot].file == NONE ? -ESTALE : take_once(c, slot, ret);
	while (rc == -EAGAIN && stop_check() == 0);
	return rc == -EAGAIN ? -EINTR : rc;
}

/* ---- growing ---- */

/* Puts an index that has grown in the place of one that is being read. */
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
	n->looked = h->looked;
	take_in(c, n, f);
	chain_push(&c->open, n);
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

/* Somebody reads it for long, and the file has grown: the others go on with a copy. Made once. -EAGAIN: there is one.
 */
static int grow_copy(struct catalog *c, struct held *h)
{
	struct session *s;
	struct finding f;

	lock_take(&c->lock);
	int rc = 0;
	while (h->copying && (rc = stop_check()) == 0)
		lock_wait_for(&c->lock, &c->open.opened, LOCK_LOOK_NS);
	if (rc == 0 && h->forgotten)
		rc = h->replaced ? -EAGAIN : -ESTALE;
	if (rc == 0)
		h->copying = true;
	lock_give(&c->lock);
	if (rc < 0)
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
	return rc < 0 ? rc : -EAGAIN;
}

/* Takes in what was appended, if the index can be had for that. */
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
	return rc;
}

static int is_changed(struct session *s, bool *ret)
{
	int rc = session_rdlock_wanted(s);
	if (rc < 0)
		return rc;
	*ret = session_changed(s);
	session_unlock(s);
	return 0;
}

/* Takes in what was appended to a file whose index is held. Called without the lock. -EAGAIN: another index has its
 * place. */
static int grow_index(struct catalog *c, struct held *h)
{
	struct finding f = {0};
	bool changed = false;
	int rc = is_changed(h->session, &changed);
	if (rc < 0 || !changed)
		return rc;
	rc = grow_in_place(c, h, &f);
	if (rc == -ETIMEDOUT)
		rc = grow_copy(c, h);

	lock_take(&c->lock);
	if (rc >= 0 || (rc == -EINTR && f.memory))
		take_in(c, h, &f);
	else if (rc == -ESTALE && !h->forgotten)
		slot_kill(c, h->slot);
	else if (rc != -EAGAIN && rc != -EINTR && !h->forgotten)
		scan_file(c, c->slots[h->slot].file, 0);
	if (h->forgotten && rc != -EINTR)
		rc = h->replaced ? -EAGAIN : -ESTALE;
	if (rc == -EINTR)
		h->looked = 0;
	lock_give(&c->lock);
	return rc < 0 ? rc : 0;
}

static int get_once(struct catalog *c, uint32_t slot, bool look, struct session **ret)
{
	struct held *h = NULL;

	struct call call = {0};
	int rc = -ESTALE;
	while (call_round(c, &call))
		rc = slot_look(c, slot, call.now);
	if (rc < 0)
		return rc;
	int64_t now = call.now;
	lock_take(&c->lock);
	rc = c->slots[slot].file == NONE ? -ESTALE : take(c, slot, &h);
	if (rc < 0) {
		lock_give(&c->lock);
		return rc;
	}
	look = look || !is_fresh(c, h->looked, now, is_told_slot(c, slot)) || is_behind(c, h);
	if (look)
		h->looked = now;
	struct held *surplus = take_surplus(c);
	lock_give(&c->lock);
	close_all(surplus);
	budget_settle(c->budget);

	if (look)
		rc = grow_index(c, h);
	if (rc == 0)
		rc = session_rdlock_wanted(h->session);
	if (rc < 0) {
		lock_take(&c->lock);
		release(c, h);
		lock_give(&c->lock);
		return rc;
	}
	*ret = h->session;
	return 0;
}

static int get(struct catalog *c, uint32_t slot, bool look, struct session **ret)
{
	int rc;
	do
		rc = get_once(c, slot, look, ret);
	while (rc == -EAGAIN);
	return rc;
}

int catalog_get(struct catalog *c, uint32_t slot, struct session **ret)
{
	return get(c, slot, false, ret);
}

int catalog_get_now(struct catalog *c, uint32_t slot, struct session **ret)
{
	return get(c, slot, true, ret);
}

void catalog_put(struct catalog *c, struct session *s)
{
	size_t memory = session_memory(s);
	session_unlock(s);

	lock_take(&c->lock);
	struct held *h = held_of(&c->open, s);
	set_memory(c, h, memory);
	release(c, h);
	struct held *surplus = take_surplus(c);
	lock_give(&c->lock);
	close_all(surplus);
	budget_settle(c->budget);
}
