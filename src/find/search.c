/* SPDX-License-Identifier: MIT */
/* The known queries, and their answers.
 *
 * A query's number is a hash of its text, so it survives eviction: node ids stay the same. One thread makes an answer;
 * others that want the same one wait for it. The rows keep the hits of each session, so that the next answer searches
 * only what changed. */
#include "sessionfs/base/name.h"
#include "search_impl.h"

#include <errno.h>

#define SEARCH_NUMBERS_MAX (UINT64_C(1) << SEARCH_NUMBER_BITS)

/* ---- queries, under the lock ---- */

static struct search *searches_find_number(struct searches *s, uint64_t number)
{
	struct search *a = s->cells[number % SEARCH_QUERIES];
	while (a && a->number != number)
		a = a->next;
	return a;
}

/* Moves the query to the end of the list, or removes it. */
static void search_place(struct searches *s, struct search *a, enum search_list k, bool belongs)
{
	struct search_link *l = &a->links[k];
	struct search **first = &s->lists[k].first, **last = &s->lists[k].last;

	if (l->is_in) {
		*(l->before ? &l->before->links[k].after : first) = l->after;
		*(l->after ? &l->after->links[k].before : last) = l->before;
	}
	*l = (struct search_link){.before = *last, .is_in = belongs};
	if (!belongs)
		return;
	*(*last ? &(*last)->links[k].after : first) = a;
	*last = a;
}

static void search_use(struct searches *s, struct search *a)
{
	a->used_at = budget_clock();
	search_place(s, a, SEARCH_ANSWERED, a->query || a->answer);
	search_place(s, a, SEARCH_UNNAMED, a->names == 0);
}

/* Returns the least recently used query in the list that no thread uses, but never the last one; or NULL. */
static struct search *searches_oldest(const struct searches *s, enum search_list k)
{
	struct search *a = s->lists[k].first;
	while (a && a->users > 0)
		a = a->links[k].after;
	return a != s->lists[k].last ? a : NULL;
}

/* Counts the query and, for its answer, `memory`. */
static void search_set_memory(struct searches *s, struct search *a, size_t memory)
{
	memory += budget_heap_size(sizeof *a) + budget_heap_size(a->text.cap);
	atomic_fetch_add(&s->client.used, memory - a->memory);
	a->memory = memory;
}

/* The parsed query goes, too: it is larger than the text. */
static void search_drop_answer(struct searches *s, struct search *a)
{
	query_put(a->query);
	a->query = NULL;
	for (size_t i = 0; i < a->n; i++)
		session_hits_put(a->rows[i].hits);
	free(a->rows);
	a->rows = NULL;
	a->n = 0;
	answer_put(a->answer);
	a->answer = NULL;
	search_place(s, a, SEARCH_ANSWERED, false);
	search_set_memory(s, a, 0);
}

static void search_free(struct searches *s, struct search *a)
{
	search_drop_answer(s, a);
	search_place(s, a, SEARCH_UNNAMED, false);
	atomic_fetch_sub(&s->client.used, a->memory);
	buf_release(&a->text);
	free(a);
}

static void searches_remove(struct searches *s, struct search *a)
{
	struct search **at = &s->cells[a->number % SEARCH_QUERIES];
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	s->n--;
	search_free(s, a);
}

/* ---- the keeper ---- */

static uint64_t search_oldest_use(void *arg)
{
	struct searches *s = arg;
	LOCKED(&s->lock);
	const struct search *a = searches_oldest(s, SEARCH_ANSWERED);
	return a ? a->used_at : BUDGET_NOTHING;
}

static void search_evict(void *arg)
{
	struct searches *s = arg;
	LOCKED(&s->lock);
	struct search *a = searches_oldest(s, SEARCH_ANSWERED);
	if (a)
		search_drop_answer(s, a);
}

int searches_open(struct catalog *c, struct facts *f, struct budget *b, struct searches **ret)
{
	struct searches *s = malloc(sizeof *s);
	if (!s)
		return -ENOMEM;
	*s = (struct searches){
	    .catalog = c,
	    .facts = f,
	    .budget = b,
	    .client = {.oldest = search_oldest_use, .evict = search_evict, .arg = s},
	};
	lock_init(&s->lock, LOCK_SEARCHES);
	lock_cond_init(&s->answered);
	hash_key_draw(&s->secret);
	budget_register(b, &s->client);
	*ret = s;
	return 0;
}

void searches_close(struct searches *s)
{
	if (!s)
		return;
	budget_unregister(s->budget, &s->client);
	for (size_t i = 0; i < SEARCH_QUERIES; i++)
		while (s->cells[i])
			searches_remove(s, s->cells[i]);
	pthread_cond_destroy(&s->answered);
	lock_destroy(&s->lock);
	free(s);
}

/* ---- numbers ---- */

static int search_add(struct searches *s, struct search *a)
{
	struct search **cell = &s->cells[a->number % SEARCH_QUERIES];
	struct search *old = s->n - s->named >= SEARCH_QUERIES ? searches_oldest(s, SEARCH_UNNAMED) : NULL;
	if (old)
		searches_remove(s, old);
	if (s->n - s->named >= SEARCH_QUERIES)
		return -EAGAIN;
	a->next = *cell;
	*cell = a;
	s->n++;
	return 0;
}

int searches_get_number(struct searches *s, struct span text, uint64_t *ret)
{
	struct search *a;
	int rc = 0;
	LOCKED(&s->lock);
	/* Two texts can have one hash. */
	*ret = hash_bytes(&s->secret, 0, text.p, text.n) % SEARCH_NUMBERS_MAX;
	while ((a = searches_find_number(s, *ret)) && !span_eq(buf_span(&a->text), text))
		*ret = (*ret + 1) % SEARCH_NUMBERS_MAX;
	if (!a) {
		a = calloc(1, sizeof *a);
		if (!a)
			return -ENOMEM;
		a->number = *ret;
		buf_addspan(&a->text, text);
		search_set_memory(s, a, 0);
		rc = buf_err(&a->text) ? buf_err(&a->text) : search_add(s, a);
	}
	search_use(s, a);
	if (rc < 0)
		search_free(s, a);
	return rc;
}

bool searches_has_number(struct searches *s, uint64_t number)
{
	LOCKED(&s->lock);
	struct search *a = searches_find_number(s, number);
	if (a)
		search_use(s, a);
	return a;
}

uint64_t searches_key(struct searches *s, uint64_t number)
{
	LOCKED(&s->lock);
	const struct search *a = searches_find_number(s, number);
	return a ? name_hash64(buf_span(&a->text)) : 0;
}

void searches_lookup_count(struct searches *s, uint64_t number, uint64_t more, uint64_t fewer)
{
	LOCKED(&s->lock);
	struct search *a = searches_find_number(s, number);
	if (!a)
		return;
	s->named -= a->names > 0;
	a->names += more;
	a->names -= fewer < a->names ? fewer : a->names;
	s->named += a->names > 0;
	search_place(s, a, SEARCH_UNNAMED, a->names == 0);
	/* No search for the oldest here: the kernel may drop thousands of names at once. */
	if (a->names == 0 && a->users == 0 && s->n - s->named > SEARCH_QUERIES)
		searches_remove(s, a);
}

/* ---- answers ---- */

/* Makes the answer. The caller holds the lock, which is released during the search. The caller's reference is taken
 * before the lock is released again: at midnight another thread can drop the answer. */
static int search_make(struct searches *s, struct search *a, uint64_t serial, const struct answer **ret)
{
	struct answer *answer = NULL;
	struct query *q;
	int rc = 0;
	/* A query such as after:7d changes its meaning each day; earlier hits are then invalid. */
	if (!a->query || !query_is_current(a->query, clock_ms(CLOCK_REALTIME))) {
		rc = query_parse(buf_span(&a->text), clock_ms(CLOCK_REALTIME), &q, NULL);
		if (rc < 0 && rc != -EINVAL)
			return rc;
		search_drop_answer(s, a);
		a->query = rc == 0 ? q : NULL;
	}
	a->is_updating = true;
	a->answers_begun++;
	lock_release(&s->lock);
	/* The answer to an invalid query has no entries. */
	rc = a->query ? search_update_rows(s, a) : 0;
	if (rc == 0)
		rc = answer_make(s, a, &answer);
	size_t memory = query_memory(a->query) + budget_heap_size(a->n * sizeof *a->rows);
	bool is_complete = true;
	for (size_t i = 0; i < a->n; i++) {
		memory += a->rows[i].hits ? session_hits_memory(a->rows[i].hits) : 0;
		is_complete &= !a->rows[i].is_unreadable;
	}
	lock_acquire(&s->lock);
	if (answer) {
		answer_put(a->answer);
		a->answer = answer;
		a->serial = is_complete ? serial : 0;
		*ret = answer_get(answer);
	}
	search_use(s, a);
	search_set_memory(s, a, memory + (a->answer ? answer_memory(a->answer) : 0));
	a->is_updating = false;
	pthread_cond_broadcast(&s->answered);
	return rc;
}

int searches_get(struct searches *s, uint64_t number, const struct answer **ret)
{
	uint64_t serial = catalog_serial(s->catalog);
	lock_acquire(&s->lock);
	struct search *a = searches_find_number(s, number);
	int rc = a ? 0 : -ESTALE;
	if (a) {
		uint64_t begun = a->answers_begun;
		bool good = false;
		a->users++;
		search_use(s, a);
		/* Reuse the cached answer if the catalog is unchanged or it was started after this request. If the
		 * thread that made it was interrupted, another one continues. */
		while (rc == 0 &&
		       !(good = a->answer && query_is_current(a->query, clock_ms(CLOCK_REALTIME)) &&
		                (a->answers_begun > begun || (serial && a->serial == serial))) &&
		       a->is_updating)
			rc = lock_wait_while(&s->lock, &s->answered, &a->is_updating);
		if (rc == 0 && good)
			*ret = answer_get(a->answer);
		else if (rc == 0)
			rc = search_make(s, a, serial, ret);
		a->users--;
	}
	lock_release(&s->lock);
	budget_enforce(s->budget);
	return rc;
}
