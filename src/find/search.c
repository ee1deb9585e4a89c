/* The queries that are known, and who makes their answers.
 *
 * A query's number is a hash of its text, so it is the same again when the query was forgotten meanwhile: the numbers
 * of nodes do not change. An answer is made by one thread; others that ask the same wait for it. What it costs to make
 * is kept in rows, one for each session, so that the next answer looks only at what has changed. */
#include "search_impl.h"

#include "sessionfs/base/stop.h"

#include <errno.h>

#define NUMBERS (UINT64_C(1) << SEARCH_NUMBER_BITS)

static int64_t now_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

static int query_parse_shared(struct span text, struct shared_query **ret)
{
	struct shared_query *q = malloc(sizeof *q);
	int rc = q ? query_parse(text, now_ms(), &q->query) : -ENOMEM;
	if (rc < 0) {
		free(q);
		return rc;
	}
	atomic_init(&q->refs, 1);
	*ret = q;
	return 0;
}

struct shared_query *query_share(struct shared_query *q)
{
	atomic_fetch_add(&q->refs, 1);
	return q;
}

void query_put(struct shared_query *q)
{
	if (!q || atomic_fetch_sub(&q->refs, 1) > 1)
		return;
	query_free(q->query);
	free(q);
}

/* ---- queries, under the lock ---- */

static struct asked *find_number(struct searches *s, uint64_t number)
{
	struct asked *a = s->cells[number % SEARCH_QUERIES];
	while (a && a->number != number)
		a = a->next;
	return a;
}

static bool is_newer(const struct asked *a, const struct asked *b)
{
	return a->used_at > b->used_at;
}

/* The one asked least recently that nobody uses and the kernel has no name for; NULL if there is none. `heavy`: of
 * those that hold an answer, with a name or not, and never the one asked last. */
static struct asked *oldest_of(struct searches *s, bool heavy)
{
	struct asked *oldest = NULL, *newest = NULL;
	for (size_t i = 0; i < SEARCH_QUERIES; i++)
		for (struct asked *a = s->cells[i]; a; a = a->next) {
			if (!newest || is_newer(a, newest))
				newest = a;
			if (a->users == 0 && (heavy ? a->memory > 0 : a->names == 0) &&
			    (!oldest || is_newer(oldest, a)))
				oldest = a;
		}
	return heavy && oldest == newest ? NULL : oldest;
}

static void set_memory(struct searches *s, struct asked *a, size_t memory)
{
	atomic_fetch_add(&s->keeper.used, memory - a->memory);
	a->memory = memory;
}

static void drop_answer(struct searches *s, struct asked *a)
{
	for (size_t i = 0; i < a->n; i++)
		finds_put(a->rows[i].finds);
	free(a->rows);
	a->rows = NULL;
	a->n = 0;
	answer_put(a->hits);
	a->hits = NULL;
	set_memory(s, a, 0);
}

static void asked_free(struct searches *s, struct asked *a)
{
	drop_answer(s, a);
	query_put(a->query);
	buf_release(&a->text);
	free(a);
}

static void search_forget(struct searches *s, struct asked *a)
{
	struct asked **at = &s->cells[a->number % SEARCH_QUERIES];
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	s->n--;
	asked_free(s, a);
}

/* ---- the keeper ---- */

static uint64_t search_oldest_use(void *arg)
{
	struct searches *s = arg;
	LOCKED(&s->lock);
	const struct asked *a = oldest_of(s, true);
	return a ? a->used_at : BUDGET_NOTHING;
}

static void search_give_way(void *arg)
{
	struct searches *s = arg;
	LOCKED(&s->lock);
	struct asked *a = oldest_of(s, true);
	if (a)
		drop_answer(s, a);
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
	    .keeper = {.oldest = search_oldest_use, .give_way = search_give_way, .arg = s},
	    .last = {.text = BUF_INIT},
	};
	lock_init(&s->lock, LOCK_SEARCHES);
	lock_cond_init(&s->made);
	hash_key_draw(&s->secret);
	budget_join(b, &s->keeper);
	*ret = s;
	return 0;
}

void searches_close(struct searches *s)
{
	if (!s)
		return;
	budget_leave(s->budget, &s->keeper);
	for (size_t i = 0; i < SEARCH_QUERIES; i++)
		while (s->cells[i])
			search_forget(s, s->cells[i]);
	buf_release(&s->last.text);
	pthread_cond_destroy(&s->made);
	lock_destroy(&s->lock);
	free(s);
}

/* ---- numbers ---- */

static int asked_new(struct span text, struct asked **ret, struct buf *why)
{
	struct query *q;
	int rc = query_parse_why(text, now_ms(), &q, why);
	if (rc < 0)
		return rc;
	query_free(q);
	struct asked *a = *ret = calloc(1, sizeof *a);
	if (a)
		buf_addspan(&a->text, text);
	if (!a || buf_err(&a->text)) {
		free(a);
		return -ENOMEM;
	}
	return 0;
}

/* The query of this text; NULL and the number that it would have, if it is not known. Two texts may have one hash. */
static struct asked *find_text(struct searches *s, struct span text, uint64_t *ret_number)
{
	uint64_t number = hash_bytes(&s->secret, 0, text.p, text.n) % NUMBERS;
	struct asked *a;
	while ((a = find_number(s, number)) && !span_eq(buf_span(&a->text), text))
		number = (number + 1) % NUMBERS;
	*ret_number = number;
	return a;
}

static int search_add(struct searches *s, struct asked *a)
{
	struct asked **cell = &s->cells[a->number % SEARCH_QUERIES];
	struct asked *old = s->n - s->named >= SEARCH_QUERIES ? oldest_of(s, false) : NULL;
	if (old)
		search_forget(s, old);
	if (s->n - s->named >= SEARCH_QUERIES)
		return -EAGAIN;
	a->next = *cell;
	*cell = a;
	s->n++;
	return 0;
}

int searches_number(struct searches *s, struct span text, uint64_t *ret, struct buf *why)
{
	lock_take(&s->lock);
	struct asked *a = find_text(s, text, ret);
	if (a)
		a->used_at = budget_now();
	lock_give(&s->lock);
	if (a)
		return 0;
	struct asked *made = NULL;
	int rc = asked_new(text, &made, why);
	if (rc < 0)
		return rc;
	LOCKED(&s->lock);
	/* Another thread may have been faster. */
	if (!find_text(s, text, ret)) {
		made->number = *ret;
		made->used_at = budget_now();
		rc = search_add(s, made);
		if (rc == 0)
			return 0;
	}
	asked_free(s, made);
	return rc;
}

bool searches_knows(struct searches *s, uint64_t number)
{
	LOCKED(&s->lock);
	struct asked *a = find_number(s, number);
	if (a)
		a->used_at = budget_now();
	return a;
}

void searches_name(struct searches *s, uint64_t number, uint64_t more, uint64_t fewer)
{
	LOCKED(&s->lock);
	struct asked *a = find_number(s, number);
	if (!a)
		return;
	s->named -= a->names > 0;
	a->names += more;
	a->names -= fewer < a->names ? fewer : a->names;
	s->named += a->names > 0;
	/* Looking for the oldest each time would take long where the kernel lets go of many. */
	if (a->names == 0 && a->users == 0 && s->n - s->named > SEARCH_QUERIES)
		search_forget(s, a);
}

/* ---- answers ---- */

/* What is known of the query is worth nothing once it means something else: days go by. */
static int search_renew(struct searches *s, struct asked *a)
{
	struct shared_query *q;
	if (a->query && now_ms() < query_expires(a->query->query))
		return 0;
	int rc = query_parse_shared(buf_span(&a->text), &q);
	if (rc < 0)
		return rc;
	LOCKED(&s->lock);
	drop_answer(s, a);
	query_put(a->query);
	a->query = q;
	return 0;
}

/* Makes the answer; this thread is the one that is busy with it. *ret has its reference before another one can be:
 * that may find that what was asked means something else by now, and drop it. */
static int search_make(struct searches *s, struct asked *a, uint64_t serial, const struct answer **ret)
{
	struct answer *hits = NULL;
	int rc = search_renew(s, a);
	if (rc == 0)
		rc = gather(s, a);
	if (rc == 0)
		rc = answer_make(s, a, &hits);
	lock_take(&s->lock);
	if (hits) {
		answer_put(a->hits);
		a->hits = hits;
		a->serial = serial;
		*ret = answer_get(hits);
	}
	size_t memory = a->n * sizeof *a->rows + (a->hits ? answer_memory(a->hits) : 0);
	for (size_t i = 0; i < a->n; i++)
		memory += a->rows[i].finds ? finds_memory(a->rows[i].finds) : 0;
	set_memory(s, a, memory);
	a->busy = false;
	pthread_cond_broadcast(&s->made);
	lock_give(&s->lock);
	return rc;
}

/* Waits, with the lock, until nobody is busy with it. */
static int wait_made(struct searches *s, const struct asked *a)
{
	int rc = stop_wait_begin();
	if (rc < 0)
		return rc;
	while (a->busy && (rc = stop_check()) == 0)
		lock_wait_for(&s->lock, &s->made, LOCK_LOOK_NS);
	stop_wait_end();
	return rc;
}

/* Whether the answer that is there will do: nothing has changed since, or it was begun after it was asked for. */
static bool is_good(const struct asked *a, uint64_t serial, uint64_t begun)
{
	return a->hits && ((a->serial == serial && serial && !answer_missed(a->hits)) || a->begun > begun) &&
	       now_ms() < query_expires(a->query->query);
}

static int search_get(struct searches *s, struct asked *a, const struct answer **ret)
{
	uint64_t serial = catalog_serial(s->catalog);
	lock_take(&s->lock);
	uint64_t begun = a->begun;
	int rc = 0;
	bool good = false;
	/* Who was busy may have been interrupted. That is no failure for the others: one of them carries on. */
	while (rc == 0 && !(good = is_good(a, serial, begun)) && a->busy)
		rc = wait_made(s, a);
	bool makes = rc == 0 && !good;
	if (makes) {
		a->busy = true;
		a->begun++;
	} else if (rc == 0) {
		*ret = answer_get(a->hits);
	}
	lock_give(&s->lock);
	return makes ? search_make(s, a, serial, ret) : rc;
}

int searches_get(struct searches *s, uint64_t number, const struct answer **ret)
{
	lock_take(&s->lock);
	struct asked *a = find_number(s, number);
	if (a) {
		a->users++;
		a->used_at = budget_now();
	}
	lock_give(&s->lock);
	if (!a)
		return -ESTALE;
	int rc = search_get(s, a, ret);
	lock_take(&s->lock);
	a->users--;
	lock_give(&s->lock);
	budget_settle(s->budget);
	return rc;
}
