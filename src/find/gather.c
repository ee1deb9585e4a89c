/* SPDX-License-Identifier: MIT */
/* Updates the rows of a search, one for each session: which sessions exist, and the hits in those that changed.
 *
 * The raw bytes of a session are scanned first. Most sessions have no line that can match, and cost no more. The others
 * get an index, which has their modification time, and so their rank in the answer.
 *
 * An answer is bounded: once the newest sessions fill it, older ones need no search. So the newest are searched first,
 * in batches that double. If the facts of all sessions are in memory, the order is known in advance. */
#include "search_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/render/render.h"

#include <errno.h>
#include <fcntl.h>

#define SEARCH_FIRST_BATCH 32
/* Max attempts if sessions are replaced during the search. */
#define SEARCH_ROUNDS_MAX 3
/* A batch starts no further session after it found this many bytes of text: the rest waits until the cutoff is known
 * again. This limits the memory for texts of sessions after the cutoff. */
#define SEARCH_BATCH_BYTES ((size_t)LIMIT(16 << 20, 4096))

struct search_batch {
	struct searches *s;
	struct search *a;
	struct slot_state *all; /* the sessions of the rows */
	struct search_row **v;
	struct session_rank cutoff; /* of the session that fills the answer: those after it do not count */
	struct lock lock;           /* guards the idle matchers */
	struct matcher *idle[PARALLEL_THREADS_MAX];
	size_t n_idle;
	_Atomic size_t found_bytes; /* bytes of the texts that the batch found */
	_Atomic int error;          /* why a session could not be read */
	atomic_bool is_replaced;    /* a session was replaced meanwhile */
	_Atomic size_t done;        /* sessions searched */
};

static void cleanup_session_hits(struct session_hits **f)
{
	session_hits_put(*f);
}

/* ---- rows ---- */

/* Replaces the hits of a row; `f` can be NULL. Notes whether sessions that lack copies of them can be first now. */
static void row_set_hits(struct search *a, struct search_row *r, struct session_hits *f)
{
	const struct session_hits *old = r->hits;
	if (old && old->found.n > 0 &&
	    (!f || !session_hits_include(f, old) || session_rank_cmp(f->rank, old->rank) > 0))
		atomic_store(&a->lost_hits, true);
	session_hits_put(r->hits);
	r->hits = f;
}

/* Makes the row of a session. Moves the data that is still valid, and the hits, from `before` (or NULL). */
static struct search_row search_row_new(const struct slot_state *now, struct search_row *before, const struct query *q)
{
	struct search_row r = {.slot = now->slot};
	if (before) {
		r = *before;
		before->hits = NULL;
		r.is_unreadable = false;
		if (r.size != (uint64_t)now->size || !time_is_same(r.mtime, now->mtime) ||
		    !time_is_same(r.ctime, now->ctime)) {
			r.is_ranked = false;
			/* A session that grows is newer: it can become the first with the copies that its hits lack. */
			if (r.state == ROW_FOUND && query_verdict_is_final(q, r.hits->found.n > 0) &&
			    !r.hits->undated && !r.hits->lacks_copies)
				r.state = ROW_GROWN;
			/* Bytes before `scanned_bytes` contain no match, and appending cannot change that. */
			if (r.state != ROW_GROWN)
				r.state = ROW_NEW;
		}
	}
	r.size = (uint64_t)now->size;
	r.mtime = now->mtime;
	r.ctime = now->ctime;
	r.rank.file = now->file;
	return r;
}

/* Makes a row for each session that exists now. Both lists are in order of slots. */
static int search_renew_rows(struct search *a, const struct slot_state *all, size_t n)
{
	size_t old = 0;
	struct search_row *rows = calloc(n + 1, sizeof *rows);
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		while (old < a->n && a->rows[old].slot < all[i].slot)
			row_set_hits(a, &a->rows[old++], NULL);
		bool is_known = old < a->n && a->rows[old].slot == all[i].slot;
		rows[i] = search_row_new(&all[i], is_known ? &a->rows[old++] : NULL, a->query);
	}
	while (old < a->n)
		row_set_hits(a, &a->rows[old++], NULL);
	free(a->rows);
	a->rows = rows;
	a->n = n;
	return 0;
}

/* ---- the cutoff of the answer ---- */

static int search_row_cmp(const void *a, const void *b)
{
	return session_rank_cmp((*(struct search_row *const *)a)->rank, (*(struct search_row *const *)b)->rank);
}

static bool row_is_past_cutoff(const struct search_row *r, struct session_rank cutoff)
{
	return cutoff.file && r->is_ranked && session_rank_cmp(r->rank, cutoff) > 0;
}

/* Finds the cutoff (without a file if the answer is not full), drops the hits of sessions after it, and copies of hits
 * of earlier sessions: so memory stays limited. `v` has room for all rows. Returns 0 or -ENOMEM. */
static int search_find_cutoff(struct search *a, struct search_row **v, struct session_rank *ret)
{
	struct duplicate_table seen CLEANUP(duplicates_release) = {0};
	uint64_t entries = 0;
	size_t n = 0;
	*ret = (struct session_rank){0};
	bool lost = atomic_exchange(&a->lost_hits, false);
	for (size_t i = 0; i < a->n; i++) {
		struct search_row *r = &a->rows[i];
		if (r->state == ROW_FOUND && r->hits->lacks_copies && lost)
			r->state = ROW_MAYBE;
		if (r->state == ROW_FOUND && r->hits->found.n > 0)
			v[n++] = r;
	}
	qsort(v, n, sizeof *v, search_row_cmp);
	for (size_t i = 0; i < n; i++) {
		if (ret->file) {
			/* Sessions that lack copies of these hits come after it, too. */
			session_hits_put(v[i]->hits);
			v[i]->hits = NULL;
			v[i]->state = ROW_MAYBE;
			continue;
		}
		int rc = session_hits_drop_copies(&v[i]->hits, &seen);
		if (rc < 0)
			return rc;
		entries += v[i]->hits->found.n;
		if (entries >= SEARCH_ENTRIES_MAX)
			*ret = v[i]->rank;
	}
	return 0;
}

/* Sets the modification time of each session from a list of all sessions. */
static void search_rank_rows(struct search *a, const struct fact_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct search_row *r = bsearch(&list->v[i].slot, a->rows, a->n, sizeof *a->rows, leading_slot_cmp);
		if (!r)
			continue;
		r->rank.modified = list->v[i].facts->modified;
		r->is_ranked = true;
	}
}

/* ---- searching one session ---- */

/* Gets a matcher for a thread that searches a session. */
static struct matcher *batch_get_matcher(struct search_batch *b, int *ret_err)
{
	struct matcher *m = NULL;
	lock_acquire(&b->lock);
	if (b->n_idle > 0)
		m = b->idle[--b->n_idle];
	lock_release(&b->lock);
	*ret_err = m ? 0 : matcher_open(b->a->query, &m);
	return *ret_err < 0 ? NULL : m;
}

static ssize_t read_raw_bytes(void *arg, void *p, size_t n, uint64_t off)
{
	return opened_pread(arg, p, n, off);
}

/* Scans the raw bytes that were not scanned yet. */
static int row_scan_bytes(const struct search_batch *b, struct matcher *m, struct search_row *r)
{
	const struct source_path place = {catalog_resolver(b->s->catalog), r->rank.file};
	struct resolved got = RESOLVED_INIT;
	struct opened *file;
	uint64_t from = 0, at = 0;
	int rc = resolve_file(&place, RESOLVER_WAIT, O_RDONLY, &got);
	if (rc == 0)
		rc = opened_new(place.resolver, &got, &file);
	if (rc < 0)
		return rc;
	const struct match_file raw = {read_raw_bytes, file};
	/* The earlier scan may have seen only a part of that line. */
	rc = opened_find_line_start(file, r->scanned_bytes, UINT64_MAX, &from);
	if (rc == 0)
		rc = match_next_candidate(m, &raw, b->all[r - b->a->rows].has_ids, from, &r->words, &at);
	opened_put(file);
	if (rc < 0)
		return rc;
	r->state = rc == 0 ? ROW_NONE : ROW_MAYBE;
	r->scanned_bytes = rc == 0 ? r->size : at;
	return 0;
}

static int row_search_session(struct search_batch *b, struct matcher *m, const struct session *x, struct search_row *r)
{
	struct session_hits *f CLEANUP(cleanup_session_hits) = calloc(1, sizeof *f);
	const struct slot_state *of = &b->all[r - b->a->rows];
	if (!f)
		return -ENOMEM;
	/* The session's data in the answer, apart from its hits. */
	atomic_init(&f->refs, 1);
	f->slot = of->slot;
	f->found.project = of->project_name;
	f->found.stem = of->stem;
	f->found.secret = &b->s->secret;
	f->rank = (struct session_rank){info_time_ms(session_modified(x)), of->file};
	f->created = info_time_ms(session_created(x));
	int rc = render_title(x, &f->title);
	if (rc < 0)
		return rc;
	r->rank = f->rank;
	r->is_ranked = true;
	if (row_is_past_cutoff(r, b->cutoff)) {
		row_set_hits(b->a, r, NULL);
		r->state = ROW_MAYBE;
		return 0;
	}
	const char *state;
	rc = context_state(x, session_leaf(x), &state);
	if (rc < 0)
		return rc;
	const struct query_session asked = {span_of(f->found.project),
	                                    span_of(f->found.stem),
	                                    session_id(x),
	                                    {f->title.p, f->title.n - 1},
	                                    span_of(state ? state : "")};
	if (query_may_match_session(b->a->query, &asked)) {
		uint32_t from = r->state == ROW_MAYBE ? match_entry_at(x, r->scanned_bytes) : 0;
		/* Earlier hits are still valid if the new lines moved no entry and no label. */
		const struct session_hits *before = r->state == ROW_GROWN ? r->hits : NULL;
		if (before && before->relinks == session_relink_count(x) && before->marks == session_label_serial(x) &&
		    before->entries <= session_count(x)) {
			from = before->entries;
			for (size_t i = 0; rc == 0 && i < before->found.n; i++)
				rc = found_list_add_entry(&f->found, &before->found, i);
		}
		/* A session can fill an answer alone. */
		if (rc == 0)
			rc = match_session(m, x, from, SEARCH_ENTRIES_MAX, &f->found, &from, &f->undated);
		if (rc < 0)
			return rc;
		f->entries = session_count(x);
		f->relinks = session_relink_count(x);
		f->marks = session_label_serial(x);
		atomic_fetch_add(&b->found_bytes, session_hits_memory(f));
	}
	row_set_hits(b->a, r, f);
	f = NULL;
	r->state = ROW_FOUND;
	return 0;
}

static int row_update(struct search_batch *b, struct matcher *m, struct search_row *r)
{
	struct session *x;
	int rc = r->state == ROW_NEW ? row_scan_bytes(b, m, r) : 0;
	if (rc == 0 && r->state == ROW_NONE)
		row_set_hits(b->a, r, NULL);
	if (rc < 0 || r->state == ROW_NONE)
		return rc;
	rc = catalog_session_get(b->s->catalog, r->slot, &x);
	if (rc < 0)
		return rc;
	rc = row_search_session(b, m, x, r);
	catalog_session_put(b->s->catalog, x);
	return rc;
}

static int search_row_work(void *arg, size_t i)
{
	struct search_batch *b = arg;
	int rc;
	if (i > 0 && atomic_load(&b->found_bytes) > SEARCH_BATCH_BYTES)
		return 0;
	struct matcher *m = batch_get_matcher(b, &rc);
	if (!m)
		return rc;
	rc = deferred_take(row_update(b, m, b->v[i]));
	size_t done = atomic_fetch_add(&b->done, 1) + 1;
	progress_show((double)done / (double)b->a->n, "searched %zu of %zu sessions", done, b->a->n);
	lock_acquire(&b->lock);
	b->idle[b->n_idle++] = m;
	lock_release(&b->lock);
	if (error_is_about_file(rc)) {
		row_set_hits(b->a, b->v[i], NULL);
		b->v[i]->is_unreadable = true;
		atomic_store(&b->error, rc);
		catalog_log_unreadable(b->s->catalog, b->v[i]->slot, rc);
		return 0;
	}
	if (!error_is_absence(rc))
		return rc;
	row_set_hits(b->a, b->v[i], NULL);
	b->v[i]->state = ROW_NONE;
	b->v[i]->scanned_bytes = b->v[i]->words = 0;
	b->v[i]->ctime = (struct timespec){0}; /* differs from any file's, so the row is made again */
	atomic_store(&b->is_replaced, true);
	return 0;
}

/* ---- searching all of them ---- */

static int row_newest_first_cmp(const void *a, const void *b)
{
	const struct search_row *x = *(struct search_row *const *)a, *y = *(struct search_row *const *)b;
	if ((x->state == ROW_GROWN) != (y->state == ROW_GROWN))
		return x->state == ROW_GROWN ? -1 : 1;
	if (x->is_ranked != y->is_ranked)
		return x->is_ranked ? -1 : 1;
	if (x->is_ranked)
		return session_rank_cmp(x->rank, y->rank);
	return time_is_before(x->mtime, y->mtime) - time_is_before(y->mtime, x->mtime);
}

/* Searches the sessions that can count, newest first, until none is left. The new lines of sessions with hits come
 * before all: without these hits, the cutoff is not known, and sessions after it would be searched. */
static int search_pending_rows(struct search_batch *b)
{
	struct search *a = b->a;
	struct search_row **v CLEANUP_FREE = b->v = calloc(a->n + 1, sizeof *v);
	int rc = v ? 0 : -ENOMEM;
	for (size_t most = SEARCH_FIRST_BATCH; rc == 0; most *= 2) {
		size_t n = 0, grown = 0;
		rc = search_find_cutoff(a, v, &b->cutoff);
		for (size_t i = 0; rc == 0 && i < a->n; i++) {
			struct search_row *r = &a->rows[i];
			if (r->state == ROW_NONE || r->state == ROW_FOUND || r->is_unreadable)
				continue;
			if (row_is_past_cutoff(r, b->cutoff)) {
				row_set_hits(a, r, NULL);
				r->state = r->state == ROW_GROWN ? ROW_NEW : r->state;
				continue;
			}
			v[n++] = r;
			grown += r->state == ROW_GROWN;
		}
		if (rc < 0 || (n == 0 && !atomic_load(&a->lost_hits)))
			return rc;
		qsort(v, n, sizeof *v, row_newest_first_cmp);
		atomic_store(&b->found_bytes, 0);
		rc = parallel_for(grown ? grown : n < most ? n : most, search_row_work, b);
	}
	return rc;
}

static int search_update_once(struct searches *s, struct search *a, bool *ret_gone)
{
	struct slot_state *all CLEANUP_FREE = NULL;
	struct search_batch b = {.s = s, .a = a};
	uint64_t serial = 0;
	size_t n;
	int missed = catalog_list_states(s->catalog, &serial, &all, &n);
	if (!all || (missed && !error_is_about_file(missed)))
		return missed;
	int rc = search_renew_rows(a, all, n);
	if (rc < 0)
		return rc;
	b.all = all;
	atomic_init(&b.error, missed);
	lock_init(&b.lock, LOCK_MATCHERS);
	/* Use the order of the sessions if it is known. */
	const struct fact_list *list = facts_get_cached(s->facts, serial);
	if (list)
		search_rank_rows(a, list);
	facts_release(list);
	rc = search_pending_rows(&b);
	while (b.n_idle > 0)
		matcher_close(b.idle[--b.n_idle]);
	lock_destroy(&b.lock);
	*ret_gone = atomic_load(&b.is_replaced);
	a->error = atomic_load(&b.error);
	return rc;
}

int search_update_rows(struct searches *s, struct search *a)
{
	bool gone = true;
	int rc = 0;
	for (int round = 0; rc == 0 && gone && round < SEARCH_ROUNDS_MAX; round++)
		rc = search_update_once(s, a, &gone);
	return rc;
}
