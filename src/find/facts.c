/* SPDX-License-Identifier: MIT */
/* The facts of all sessions. Lists share the facts of a session while its file is unchanged; a new list reads only the
 * sessions that changed since the last one. */
#include "find_impl.h"

#include "sessionfs/base/map.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/progress.h"

#include <errno.h>

/* The max number of restarts because a session was replaced while it was read. */
#define FACTS_TRIES_MAX 8

/* Keep facts for 10 s after use: a walk of by-date/ needs them on every lookup. */
#define FACTS_KEEP_NS (UINT64_C(1000000000) * LIMIT(10, 1))
/* Set in the serial of a list that lacks a session: the next list may have it. */
#define SERIAL_INCOMPLETE (UINT64_C(1) << 63)
/* After it was filled, a pool can get as many bytes again, and these: facts of removed or changed sessions stay in it.
 */
#define POOL_UNUSED_MAX ((size_t)LIMIT(1 << 20, 4096))

struct fact_list_impl {
	struct fact_list list; /* first member: callers have pointers to it */
	struct facts *facts;
	_Atomic unsigned refs;
	uint64_t catalog_serial;      /* the catalog's serial; 0: always sync again */
	struct cached_facts **cached; /* of each in `v`, in ascending order of slots */
	struct fact *v;               /* in `bytes` */
	struct buf bytes;
	struct pool *pool;                           /* has `cached`, and facts of earlier lists */
	size_t memory;                               /* guarded by the lock of `facts`, once others have the list */
	_Atomic(struct groups *) groups[GROUP_KEYS]; /* NULL: not made yet */
};

struct facts {
	struct catalog *catalog;
	struct budget *budget;
	struct budget_client client;
	struct lock lock; /* guards what follows */
	pthread_cond_t built;
	struct fact_list_impl *newest;     /* NULL: none, or evicted */
	uint64_t used_at;                  /* budget_clock */
	bool is_building;                  /* a thread makes the next list */
	struct duplicate_table duplicates; /* of `newest`; used by that thread */
	struct hash_key secret;            /* for the numbers of labels; constant */
	/* The last results of facts_sum_subagents, by the last bits of the slot. */
	struct subagents_sum {
		uint32_t slot;
		uint64_t serial; /* 0: unused */
		struct usage usage;
	} sums[LIMIT(1024, 2)];
};

static void facts_list_release(struct fact_list_impl *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) > 1)
		return;
	for (size_t i = 0; i < GROUP_KEYS; i++)
		groups_free(atomic_load(&l->groups[i]));
	free(l->cached);
	buf_release(&l->bytes);
	pool_put(l->pool);
	free(l);
}

static struct fact_list_impl *facts_list_ref(struct fact_list_impl *l)
{
	if (l)
		atomic_fetch_add(&l->refs, 1);
	return l;
}

/* --- eviction --------------------------------------------------------------------- */

static uint64_t facts_oldest_use(void *arg)
{
	struct facts *f = arg;
	LOCKED(&f->lock);
	return f->newest && budget_clock() - f->used_at > FACTS_KEEP_NS ? f->used_at : BUDGET_NOTHING;
}

/* Makes `next` (or NULL) the newest list, and takes ownership of the caller's reference. */
static void facts_set_newest(struct facts *f, struct fact_list_impl *next)
{
	lock_acquire(&f->lock);
	struct fact_list_impl *before = f->newest;
	f->newest = next;
	f->used_at = budget_clock();
	if (!next && !f->is_building)
		duplicates_release(&f->duplicates);
	atomic_store(&f->client.used, next ? next->memory : 0);
	lock_release(&f->lock);
	facts_list_release(before);
}

static void facts_evict(void *arg)
{
	facts_set_newest(arg, NULL);
}

int facts_open(struct catalog *catalog, struct budget *budget, struct facts **ret)
{
	struct facts *f = calloc(1, sizeof *f);
	if (!f)
		return -ENOMEM;
	f->catalog = catalog;
	f->budget = budget;
	lock_init(&f->lock, LOCK_FACTS);
	f->duplicates.lock = &f->lock;
	lock_cond_init(&f->built);
	hash_key_draw(&f->secret);
	f->client = (struct budget_client){.oldest = facts_oldest_use, .evict = facts_evict, .arg = f};
	budget_register(budget, &f->client);
	*ret = f;
	return 0;
}

void facts_close(struct facts *f)
{
	if (!f)
		return;
	budget_unregister(f->budget, &f->client);
	facts_list_release(f->newest);
	duplicates_release(&f->duplicates);
	pthread_cond_destroy(&f->built);
	lock_destroy(&f->lock);
	free(f);
}

/* --- reading ---------------------------------------------------------------------- */

/* One attempt to make a list: the sessions of the catalog, and the facts read so far. */
struct facts_refresh {
	struct facts *facts;
	struct duplicate_table *duplicates;
	bool usage_only;
	struct slot_state *states;
	struct cached_facts **cached; /* one for each session; NULL: not read */
	uint32_t *to_read;            /* the sessions to read */
	size_t n, n_to_read;
	struct pool *pool;
	uint64_t serial;
	int missed;              /* why the catalog lacks sessions; or 0 */
	_Atomic int error;       /* why a session could not be read; or 0 */
	atomic_bool is_replaced; /* a session was replaced meanwhile */
	_Atomic size_t done;     /* of to_read */
};

static void facts_refresh_release(struct facts_refresh *r)
{
	free(r->cached);
	pool_put(r->pool);
	free(r->to_read);
	free(r->states);
	*r = (struct facts_refresh){0};
}

/* By file name, which begins with the day, then by path. */
static int session_file_cmp(const void *pa, const void *pb, void *arg)
{
	const struct facts_refresh *r = arg;
	const char *a = r->states[*(const uint32_t *)pa].file, *b = r->states[*(const uint32_t *)pb].file;
	const char *a_slash = strrchr(a, '/'), *b_slash = strrchr(b, '/');
	int order = strcmp(a_slash ? a_slash + 1 : a, b_slash ? b_slash + 1 : b);
	return order ? order : strcmp(a, b);
}

/* Shares the facts of unchanged sessions with the list before. Both are in order of slots. */
static void facts_reuse_unchanged(struct facts_refresh *r, const struct fact_list_impl *before)
{
	size_t k = 0, n = before ? before->list.n : 0;
	for (size_t i = 0; i < r->n; i++) {
		/* The next is near in a list of all sessions, and anywhere if these are few of them. */
		for (size_t step = 1; step > 0;) {
			bool fits = k + step < n && before->cached[k + step]->slot <= r->states[i].slot;
			k += fits ? step : 0;
			step = fits ? step * 2 : step / 2;
		}
		if (k < n && cached_facts_match(before->cached[k], &r->states[i])) {
			r->cached[i] = before->cached[k];
		} else {
			r->to_read[r->n_to_read++] = (uint32_t)i;
		}
	}
	/* The oldest are read first: a shared entry mostly counts for the session where it is seen first. */
	if (r->n_to_read)
		qsort_r(r->to_read, r->n_to_read, sizeof *r->to_read, session_file_cmp, r);
}

static int facts_read_session(void *arg, size_t k)
{
	struct facts_refresh *r = arg;
	uint32_t i = r->to_read[k];
	size_t done = atomic_fetch_add(&r->done, 1) + 1;
	struct cached_facts *before = r->cached[i], *made = NULL;
	int rc = deferred_take(cached_facts_read(r->facts->catalog, r->states[i].slot, before, r->duplicates,
	                                         r->usage_only, r->pool, &made));
	if (rc < 0)
		made = NULL;
	if (rc == -EINTR)
		return rc;
	/* A label keeps its number, and its directory its inode, whenever it is set. The number is a hash, so removed
	 * labels need no memory. With 300,000 labels, one mount in a million has two with the same number. */
	for (size_t n = 0; made && n < made->facts.n_labels; n++) {
		struct fact_label *l = &made->labels[n];
		l->number = hash_bytes(&r->facts->secret, 0, l->text.p, l->text.n) >> (64 - GROUP_NUMBER_BITS);
	}
	r->cached[i] = made;
	if (error_is_absence(rc))
		atomic_store(&r->is_replaced, true);
	else if (rc < 0)
		atomic_store(&r->error, rc);
	if (error_is_about_file(rc))
		catalog_log_unreadable(r->facts->catalog, r->states[i].slot, rc);
	progress_show((double)done / (double)r->n_to_read, "read %zu of %zu sessions", done, r->n_to_read);
	return 0;
}

/* Reads the facts of r->states. */
static int facts_refresh_read(struct facts_refresh *r, const struct fact_list_impl *before)
{
	r->cached = calloc(r->n + 1, sizeof(struct cached_facts *));
	r->to_read = calloc(r->n + 1, sizeof *r->to_read);
	r->pool = before ? pool_get(before->pool) : pool_new(true);
	if (!r->states || !r->cached || !r->to_read || !r->pool)
		return -ENOMEM;
	if (!before)
		duplicates_release(r->duplicates);
	facts_reuse_unchanged(r, before);
	/* Only when all sessions are read is it known which entries count elsewhere. Sessions that excluded the wrong
	 * entries are read again. */
	for (int tries = 0, rc;; tries++) {
		atomic_store(&r->done, 0);
		rc = parallel_for(r->n_to_read, facts_read_session, r);
		if (tries == FACTS_TRIES_MAX)
			atomic_store(&r->is_replaced, true);
		if (rc < 0 || tries == FACTS_TRIES_MAX)
			return rc;
		rc = duplicates_find(r->duplicates, r->cached, r->states, r->n, r->to_read, &r->n_to_read);
		if (rc < 0 || r->n_to_read == 0)
			return rc;
	}
}

/* Returns 0, 1 if nothing has changed since the list before, or a negative errno. After -EINTR, the facts read so far
 * are usable. */
static int facts_refresh_run(struct facts_refresh *r, struct facts *f, const struct fact_list_impl *before)
{
	*r = (struct facts_refresh){
	    .facts = f, .duplicates = &f->duplicates, .serial = before ? before->catalog_serial : 0};
	r->missed = catalog_list_states(f->catalog, &r->serial, &r->states, &r->n);
	if (r->missed == -EINTR)
		return r->missed;
	if (!r->states && (r->missed == 0 || error_is_of_source(r->missed)))
		return 1;
	return facts_refresh_read(r, before);
}

/* --- lists ------------------------------------------------------------------------- */

static int session_fact_cmp(const void *pa, const void *pb)
{
	const struct fact *a = pa, *b = pb;
	return session_rank_cmp((struct session_rank){a->facts->modified, a->file},
	                        (struct session_rank){b->facts->modified, b->file});
}

static struct fact *fact_find(struct fact *v, size_t n, uint32_t slot)
{
	return bsearch(&slot, v, n, sizeof *v, leading_slot_cmp);
}

/* Sums the usage that counts for each session in usage.tsv, and the cost with subagents. The list is in order of
 * slots. */
static int facts_list_count(const struct facts_refresh *r, struct fact_list_impl *l, size_t n)
{
	struct fact *end = l->v + (l->list.n = n), *by;
	int rc = 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->states[i].is_started && (by = fact_find(l->v, n, r->states[i].parent)))
			by->has_subagents = true;
	for (struct fact *f = l->v; f < end; f++) {
		size_t entries = 0;
		for (const struct fact_usage *use = f->facts->usage_rows;
		     use < f->facts->usage_rows + f->facts->n_usage; use++) {
			entries += use->entries;
			if (fact_use_counts(f, use))
				usage_add(&f->counted, use->sum);
		}
		for (by = f; by; by = by->is_started ? fact_find(l->v, n, by->parent) : NULL) {
			by->cost_with_subagents += f->counted.cost;
			by->is_shared |= entries < l->cached[f - l->v]->n_marks;
		}
	}
	/* An entry that counts for another session can count here. */
	for (struct fact *f = l->v; f < end && rc != -EINTR && !r->usage_only; f++) {
		struct usage sum = f->facts->usage;
		uint64_t serial;
		bool is_summed = f->has_subagents && f->is_shared;
		int err = is_summed ? facts_sum_subagents(r->facts, &l->list, f->slot, &sum, &serial) : 0;
		rc = err < 0 ? err : rc;
		if (!f->has_subagents || f->is_shared)
			f->cost_with_subagents = sum.cost;
	}
	return rc;
}

/* Returns the list of all sessions that were read; NULL if out of memory. */
static struct fact_list_impl *facts_list_build(struct facts_refresh *r)
{
	struct fact_list_impl *l = calloc(1, sizeof *l);
	if (!l)
		return NULL;
	*l = (struct fact_list_impl){.facts = r->facts, .refs = 1, .pool = r->pool};
	r->pool = NULL;
	l->v = (struct fact *)buf_reserve(&l->bytes, (r->n + 1) * sizeof *l->v);
	l->cached = calloc(r->n + 1, sizeof(struct cached_facts *));
	if (!l->v || !l->cached) {
		facts_list_release(l);
		return NULL;
	}
	size_t n = 0, used = POOL_UNUSED_MAX;
	int deferred = deferred_begin();
	for (size_t i = 0; i < r->n; i++) {
		const struct slot_state *s = &r->states[i];
		struct cached_facts *kept = r->cached[i];
		if (!kept)
			continue;
		l->v[n] = (struct fact){
		    .slot = s->slot,
		    .place = s->place,
		    .project_number = s->project,
		    .parent = s->parent,
		    .project = s->project_name,
		    .stem = s->stem,
		    .sid = s->sid,
		    .file = s->file,
		    .stem_at = s->stem_at,
		    .mtime = s->mtime,
		    .is_started = s->is_started,
		    .facts = &kept->facts,
		};
		l->cached[n++] = kept;
		used += kept->memory;
	}
	l->memory = sizeof *l + duplicates_memory(r->duplicates) + n * sizeof *l->cached + buf_memory(&l->bytes) +
	            l->pool->memory;
	int rc = facts_list_count(r, l, n);
	if (rc < 0)
		atomic_store(&r->error, rc);
	qsort(l->v, n, sizeof *l->v, session_fact_cmp);
	int error = atomic_load(&r->error), missed = deferred_end(deferred, r->missed);
	if (!l->pool->size_max && error != -EINTR)
		l->pool->size_max = l->pool->size + used;
	/* Whether a session can be read again only shows when it is read. The catalog's serial shows the rest. */
	bool lacks = error || atomic_load(&r->is_replaced) || (missed && !error_is_of_source(missed));
	l->catalog_serial = lacks ? 0 : r->serial;
	l->list = (struct fact_list){lacks ? SERIAL_INCOMPLETE | budget_clock() : l->catalog_serial,
	                             error ? error : missed, n, l->v, r->facts->catalog};
	return l;
}

/* --- subagents ----------------------------------------------------------------------- */

/* Lists the session and those that it started, in order of slots. */
static int subagents_list(struct facts_refresh *r, uint32_t slot, uint64_t *serial)
{
	struct map seen CLEANUP(map_release) = {0};
	struct slot_info s;
	size_t cap = 0;
	int before = deferred_begin(), rc = catalog_slot(r->facts->catalog, slot, &s);
	for (size_t i = 0; rc == 0 && i <= r->n; i++) {
		uint64_t cookie = 0;
		uint32_t by = i > 0 ? r->states[i - 1].slot : NO_SLOT;
		while (rc == 0 && (i > 0 ? catalog_fork_next(r->facts->catalog, by, true, &cookie, &s) : r->n == 0)) {
			const int64_t file[] = {s.slot, s.st.st_size, s.st.st_ctim.tv_sec, s.st.st_ctim.tv_nsec};
			/* A session that moves meanwhile can be found twice. */
			if (map_get(&seen, s.slot, SPAN_LIT("")) != MAP_NONE)
				continue;
			if (map_put(&seen, s.slot, SPAN_LIT(""), 1) < 0 ||
			    !vec_grow(&r->states, &cap, r->n + 1, sizeof *r->states))
				return deferred_end(before, -ENOMEM);
			r->states[r->n++] = (struct slot_state){.slot = s.slot,
			                                        .parent = by,
			                                        .is_started = i > 0,
			                                        .file = s.file,
			                                        .size = s.st.st_size,
			                                        .mtime = s.st.st_mtim,
			                                        .ctime = s.st.st_ctim};
			*serial = hash_bytes(&r->facts->secret, *serial, (const char *)file, sizeof file);
			rc = cancel_check();
		}
	}
	int missed = deferred_end(before, rc);
	if (r->n)
		qsort(r->states, r->n, sizeof *r->states, leading_slot_cmp);
	return error_is_of_source(missed) ? rc : missed;
}

int facts_sum_subagents(struct facts *f, const struct fact_list *made, uint32_t slot, struct usage *ret,
                        uint64_t *ret_serial)
{
	struct lock lock;
	struct duplicate_table duplicates CLEANUP(duplicates_release) = {.lock = &lock, .all_shared = true};
	struct facts_refresh r CLEANUP(facts_refresh_release) = {
	    .facts = f, .duplicates = &duplicates, .usage_only = true};
	struct subagents_sum *last = &f->sums[slot % (sizeof f->sums / sizeof *f->sums)], sum = {.slot = slot};
	int rc = subagents_list(&r, slot, &sum.serial);
	*ret_serial = r.n > 1 ? sum.serial : 0;
	if (rc < 0 || r.n < 2)
		return rc;
	lock_acquire(&f->lock);
	bool is_known = last->slot == slot && last->serial == sum.serial;
	*ret = last->usage;
	lock_release(&f->lock);
	if (is_known)
		return 0;
	lock_init(&lock, LOCK_FACTS);
	rc = facts_refresh_read(&r, (const struct fact_list_impl *)made);
	struct fact_list_impl *l = rc == 0 ? facts_list_build(&r) : NULL;
	lock_destroy(&lock);
	if (!l)
		return rc < 0 ? rc : -ENOMEM;
	for (size_t i = 0; i < l->list.n; i++)
		usage_add(&sum.usage, l->v[i].counted);
	*ret = sum.usage;
	rc = !made && error_is_about_file(l->list.error) ? 0 : l->list.error;
	*ret_serial = l->list.serial ? l->list.serial : sum.serial; /* a list that lacks a session has a serial */
	facts_list_release(l);
	LOCKED(&f->lock);
	if (*ret_serial == sum.serial)
		*last = sum;
	return rc;
}

/* --- the newest list ------------------------------------------------------------------ */

/* Gets the current list: `before`, whose reference it takes over, or a new one. A session that is replaced during each
 * read is left out after some attempts; the next call tries again. */
static int facts_list_refresh(struct facts *f, struct fact_list_impl *before, struct fact_list_impl **ret)
{
	for (int tries = 0;; tries++) {
		struct facts_refresh r CLEANUP(facts_refresh_release) = {0};
		int rc = facts_refresh_run(&r, f, before);
		if (rc == 1) {
			*ret = before;
			return 0;
		}
		if (rc == -EINTR)
			atomic_store(&r.error, rc);
		struct fact_list_impl *next = rc == 0 || (rc == -EINTR && r.cached) ? facts_list_build(&r) : NULL;
		facts_list_release(before);
		/* The facts just read are lost, and the duplicate state with them. */
		f->duplicates.is_current &= next != NULL;
		if (!next)
			return rc < 0 ? rc : -ENOMEM;
		bool is_full = next->pool->size_max && next->pool->size > next->pool->size_max;
		facts_set_newest(f, is_full ? NULL : facts_list_ref(next));
		if (rc < 0 || !atomic_load(&r.is_replaced) || tries + 1 == FACTS_TRIES_MAX) {
			*ret = next;
			return rc;
		}
		before = next;
	}
}

/* --- all of them ----------------------------------------------------------------------- */

int facts_get(struct facts *f, const struct fact_list **ret)
{
	struct fact_list_impl *before = NULL, *now = NULL;
	lock_acquire(&f->lock);
	int rc = lock_wait_while(&f->lock, &f->built, &f->is_building);
	if (rc == 0) {
		f->is_building = true;
		before = facts_list_ref(f->newest);
	}
	lock_release(&f->lock);
	if (rc < 0)
		return rc;

	rc = facts_list_refresh(f, before, &now);

	lock_acquire(&f->lock);
	f->is_building = false;
	f->used_at = budget_clock();
	pthread_cond_signal(&f->built);
	lock_release(&f->lock);
	budget_enforce(f->budget);
	if (rc < 0) {
		facts_list_release(now);
		return rc;
	}
	*ret = &now->list;
	return 0;
}

const struct fact_list *facts_get_cached(struct facts *f, uint64_t serial)
{
	LOCKED(&f->lock);
	struct fact_list_impl *l =
	    serial && f->newest && f->newest->catalog_serial == serial ? facts_list_ref(f->newest) : NULL;
	return l ? &l->list : NULL;
}

void facts_release(const struct fact_list *list)
{
	facts_list_release((struct fact_list_impl *)list);
}

/* --- groups ------------------------------------------------------------------------------- */

const struct groups *facts_groups(const struct fact_list *list, enum group_key key)
{
	struct fact_list_impl *l = (struct fact_list_impl *)list;
	struct groups *made = atomic_load(&l->groups[key]), *other = NULL;
	if (made)
		return made;
	made = groups_make(list, key);
	/* Another thread may have been faster. */
	if (made && !atomic_compare_exchange_strong(&l->groups[key], &other, made)) {
		groups_free(made);
		return other;
	}
	LOCKED(&l->facts->lock);
	l->memory += made ? made->memory : 0;
	if (made && l == l->facts->newest)
		atomic_fetch_add(&l->facts->client.used, made->memory);
	return made;
}
