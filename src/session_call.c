/* Which result answers which call.
 *
 * While scanning, each tool call and each tool result leaves one item: 31 bits
 * of the hash of its call id, and a bit that begins an entry. Items are in file
 * order, so with a running count at every 64th entry an entry finds its items.
 *
 * When somebody asks, one walk over the whole tree answers every result: it
 * keeps, for each hash, the newest call on the way down from the root. That is
 * linear, however often an id is used and however many results have no call.
 * `answers` then has, for a result's item, the call's item, and for a call's
 * item the entry of its first result. The ids themselves are compared when one
 * answer is asked for first, and that they were equal is noted with it; a hash
 * that deceived is settled by looking at the path. */
#include "session_impl.h"

enum {
	BLOCK = 64,   /* entries to a running count */
	CALLS = 4095, /* calls of one message that are told apart */
};

#define ITEM_FIRST (UINT32_C(1) << 31)
#define ITEM_HASH (ITEM_FIRST - 1)
#define NO_ITEM UINT32_MAX
#define ITEM_SETTLED (UINT32_C(1) << 31) /* with a result's answer: the ids are equal */

/* ---- items ---- */

bool call_add(struct session *s, const struct json_value *id, struct buf *text)
{
	struct key key;
	uint32_t hash = 0;

	if (!vec_reserve(&s->calls, 1))
		return false;
	if (key_of(id, text, &key)) {
		hash = (uint32_t)(key_hash(s, &key) >> 33);
		hash += hash == 0;
	}
	s->calls.v[s->calls.n++] = hash;
	return true;
}

bool call_entry(struct session *s, uint32_t i, size_t begin, size_t n)
{
	size_t found = s->calls.n - begin;

	if (n < found)
		memmove(s->calls.v + begin, s->calls.v + begin + found - n, n * sizeof *s->calls.v);
	s->calls.n = begin + (n < CALLS ? n : CALLS);
	if (n)
		s->calls.v[begin] |= ITEM_FIRST;
	if (i % BLOCK)
		return true;
	if (!vec_reserve(&s->call_blocks, 1))
		return false;
	s->call_blocks.v[s->call_blocks.n++] = (uint32_t)begin;
	return true;
}

static bool has_items(const struct session *s, uint32_t i)
{
	return has_flag(s, i, ENTRY_HAS_CALLS) || entry_at(s, i)->role == ROLE_TOOL_RESULT;
}

/* Past the items of the entry whose first one is `item`. */
static uint32_t items_end(const struct session *s, uint32_t item)
{
	do
		item++;
	while (item < s->calls.n && !(s->calls.v[item] & ITEM_FIRST));
	return item;
}

/* The first item of entry i, which must have one. */
static uint32_t item_of(const struct session *s, uint32_t i)
{
	uint32_t item = s->call_blocks.v[i / BLOCK];

	for (uint32_t e = i - i % BLOCK; e < i; e++)
		if (has_items(s, e))
			item = items_end(s, item);
	return item;
}

/* The entry that an item belongs to. */
static uint32_t entry_of(const struct session *s, uint32_t item)
{
	size_t low = 0, high = s->call_blocks.n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->call_blocks.v[middle] <= item)
			low = middle;
		else
			high = middle;
	}
	uint32_t e = (uint32_t)low * BLOCK;
	for (uint32_t end = s->call_blocks.v[low];; e++) {
		if (has_items(s, e))
			end = items_end(s, end);
		if (item < end)
			return e;
	}
}

static uint32_t hash_of(const struct session *s, uint32_t item)
{
	return s->calls.v[item] & ITEM_HASH;
}

/* ---- the walk ---- */

/* Of one hash: the calls with it in the nearest message above, and the results since. */
struct open_call {
	uint32_t hash;
	uint32_t item; /* the first of them, or NO_ITEM */
	uint32_t results;
};

struct walk {
	const struct session *s;
	uint32_t *answers;
	uint32_t *first;         /* first item of each entry */
	struct open_call *open;  /* hashed */
	struct open_call *under; /* by item: what its hash stood for before */
	size_t size;
};

static void walk_release(struct walk *w)
{
	free(w->first);
	free(w->open);
	free(w->under);
}

static struct open_call *open_find(const struct walk *w, uint32_t hash)
{
	size_t at = (size_t)((uint64_t)hash * w->size >> 31);

	while (w->open[at].hash && w->open[at].hash != hash)
		at = at + 1 == w->size ? 0 : at + 1;
	if (!w->open[at].hash)
		w->open[at] = (struct open_call){hash, NO_ITEM, 0};
	return &w->open[at];
}

static void enter_calls(struct walk *w, uint32_t begin, uint32_t end)
{
	for (uint32_t item = begin; item < end; item++) {
		uint32_t hash = hash_of(w->s, item);
		w->under[item].hash = 0;
		if (!hash)
			continue;
		struct open_call *open = open_find(w, hash);
		if (open->item != NO_ITEM && open->item >= begin && open->item < end)
			continue;
		w->under[item] = *open;
		open->item = item;
		open->results = 0;
	}
}

static void leave_calls(struct walk *w, uint32_t begin, uint32_t end)
{
	for (uint32_t item = begin; item < end; item++)
		if (w->under[item].hash)
			*open_find(w, w->under[item].hash) = w->under[item];
}

/* The n-th result takes the n-th call of the message with that id, and all further ones the last. */
static uint32_t nth_call(const struct session *s, uint32_t item, uint32_t n)
{
	uint32_t end = items_end(s, item), hash = hash_of(s, item), found = item;

	for (uint32_t k = item + 1; k < end && n; k++) {
		if (hash_of(s, k) == hash) {
			found = k;
			n--;
		}
	}
	return found;
}

static void enter_result(struct walk *w, uint32_t i, uint32_t item)
{
	uint32_t hash = hash_of(w->s, item);

	if (!hash)
		return;
	struct open_call *open = open_find(w, hash);
	uint32_t results = open->results++;
	if (open->item == NO_ITEM)
		return;
	uint32_t call = nth_call(w->s, open->item, results);
	w->answers[item] = call;
	if (w->answers[call] > i)
		w->answers[call] = i;
}

static void enter(struct walk *w, uint32_t i)
{
	uint32_t item = w->first[i];

	if (has_flag(w->s, i, ENTRY_HAS_CALLS))
		enter_calls(w, item, items_end(w->s, item));
	else if (entry_at(w->s, i)->role == ROLE_TOOL_RESULT)
		enter_result(w, i, item);
}

static void leave(struct walk *w, uint32_t i)
{
	uint32_t item = w->first[i];

	if (has_flag(w->s, i, ENTRY_HAS_CALLS))
		leave_calls(w, item, items_end(w->s, item));
	else if (entry_at(w->s, i)->role == ROLE_TOOL_RESULT && hash_of(w->s, item))
		open_find(w, hash_of(w->s, item))->results--;
}

/* In a ring `root` is also met as a child. */
static uint32_t skip_root(const struct session *s, uint32_t i, uint32_t root)
{
	return i == root ? entry_at(s, i)->sibling : i;
}

/* All that is below root, without a stack: back up through the parents. */
static void walk_from(struct walk *w, uint32_t root)
{
	const struct session *s = w->s;

	for (uint32_t i = root;;) {
		enter(w, i);
		uint32_t next = skip_root(s, entry_at(s, i)->child, root);
		while (next == NO_ENTRY) {
			leave(w, i);
			if (i == root)
				return;
			next = skip_root(s, entry_at(s, i)->sibling, root);
			if (next == NO_ENTRY)
				i = entry_at(s, i)->parent;
		}
		i = next;
	}
}

/* A ring is cut above its first entry. */
static void walk_ring(struct walk *w, uint32_t root)
{
	walk_from(w, root);
	for (uint32_t i = root; w->first[i] != NO_ITEM; i = entry_at(w->s, i)->parent)
		w->first[i] = NO_ITEM;
}

static int make_answers(const struct session *s)
{
	__typeof__(&s->derived->answers) to = &s->derived->answers;
	CLEANUP(walk_release) struct walk w = {.s = s};
	uint32_t item = 0;

	to->n = 0;
	w.size = s->calls.n + s->calls.n / 2 + 1;
	w.first = malloc((size_t)s->at.count * sizeof *w.first + 1);
	w.open = calloc(w.size, sizeof *w.open);
	w.under = malloc(s->calls.n * sizeof *w.under + 1);
	if (!w.first || !w.open || !w.under || !vec_reserve(to, s->calls.n))
		return -ENOMEM;
	to->n = s->calls.n;
	w.answers = to->v;
	memset(to->v, 0xff, vec_used(to));
	for (uint32_t i = 0; i < s->at.count; i++) {
		w.first[i] = item;
		if (has_items(s, i))
			item = items_end(s, item);
	}
	for (uint32_t i = 0; i < s->at.count; i++) {
		if (entry_at(s, i)->parent == NO_ENTRY)
			walk_from(&w, i);
		else if (has_flag(s, i, ENTRY_CYCLE) && w.first[i] != NO_ITEM)
			walk_ring(&w, i);
	}
	return 0;
}

/* The answer to an item, or NO_ITEM. */
static uint32_t answer_of(const struct session *s, uint32_t item)
{
	if (derive(s, &s->derived->answers_at, make_answers) < 0)
		return NO_ITEM;
	return __atomic_load_n(&s->derived->answers.v[item], __ATOMIC_RELAXED);
}

/* Other readers may be doing the same. */
static void settle(const struct session *s, uint32_t item)
{
	if (s->calls.n < ITEM_SETTLED)
		__atomic_fetch_or(&s->derived->answers.v[item], ITEM_SETTLED, __ATOMIC_RELAXED);
}

/* ---- the ids themselves ---- */

/* A call id, and what is needed to compare others with it. */
struct sought {
	const struct session *s;
	struct line line;
	struct buf text, other;
	struct key key;
	uint32_t hash;
};

static void sought_release(struct sought *w)
{
	line_release(&w->line);
	buf_release(&w->text);
	buf_release(&w->other);
}

/* The id that result i answers. */
static bool seek(struct sought *w, uint32_t i)
{
	struct record r;

	w->hash = hash_of(w->s, item_of(w->s, i));
	if (!w->hash || session_load(w->s, i, &w->line, &r) < 0 || !key_of(&r.msg.tool_call_id, &w->text, &w->key))
		return false;
	if (w->key.text.p != w->text.p)
		buf_addspan(&w->text, w->key.text);
	w->key.text = buf_span(&w->text);
	return buf_err(&w->text) == 0;
}

/* How many calls of message i have the id, up to and including its call number `upto`; 0 if that one has another. */
static unsigned count_calls(struct sought *w, uint32_t i, unsigned upto)
{
	struct record r;
	struct block_iter it;
	struct block b;
	struct key key;
	unsigned n = 0, same = 0;

	if (session_load(w->s, i, &w->line, &r) < 0)
		return 0;
	block_iter_init(&it, r.msg.content);
	while (n < upto && block_next(&it, &b)) {
		if (b.type != BLOCK_TOOL_CALL)
			continue;
		n++;
		bool equal = key_of(&b.id, &w->other, &key) && key_equal(&key, &w->key);
		same += equal;
		if (n == upto && !equal)
			return 0;
	}
	return same;
}

static bool has_hash(const struct session *s, uint32_t i, uint32_t hash)
{
	uint32_t item = item_of(s, i), end = items_end(s, item);

	for (; item < end; item++)
		if (hash_of(s, item) == hash)
			return true;
	return false;
}

static bool is_same_result(struct sought *w, uint32_t i)
{
	struct record r;
	struct key key;

	return has_hash(w->s, i, w->hash) && session_load(w->s, i, &w->line, &r) == 0 &&
	       key_of(&r.msg.tool_call_id, &w->other, &key) && key_equal(&key, &w->key);
}

/* The number of the call of message i that the result takes which comes after `results` others; 0 if none has the id.
 */
static unsigned take_call(struct sought *w, uint32_t i, unsigned results)
{
	uint32_t begin = item_of(w->s, i), end = items_end(w->s, begin);
	unsigned found = 0;

	for (uint32_t item = begin; item < end; item++) {
		unsigned n = item - begin + 1;
		if (hash_of(w->s, item) != w->hash || !count_calls(w, i, n))
			continue;
		found = n;
		if (results-- == 0)
			break;
	}
	return found;
}

/* The answer for a result whose hash was that of another id: step by step up its path. */
static uint32_t call_on_path(struct sought *w, uint32_t i, unsigned *ret_n)
{
	const struct session *s = w->s;
	unsigned results = 0;
	uint32_t left = s->at.count; /* a ring ends after that many steps at the latest */

	for (uint32_t e = entry_at(s, i)->parent; e != NO_ENTRY && e != i && left--; e = entry_at(s, e)->parent) {
		if (has_flag(s, e, ENTRY_HAS_CALLS) && has_hash(s, e, w->hash)) {
			unsigned call = take_call(w, e, results);
			if (call) {
				*ret_n = call;
				return e;
			}
		} else if (entry_at(s, e)->role == ROLE_TOOL_RESULT) {
			results += is_same_result(w, e);
		}
	}
	return NO_ENTRY;
}

void reader_caller(struct reader *r, uint32_t i)
{
	r->caller = i;
	buf_reset(&r->call_ids);
}

void reader_call(struct reader *r, struct json_value id)
{
	buf_addspan(&r->call_ids, json_raw(id));
	buf_addc(&r->call_ids, '\n');
}

/* Whether the calls of message i are known, and the id of the n-th has the same text. */
static bool reader_knows(const struct reader *r, uint32_t i, unsigned n, struct json_value id)
{
	if (!r || r->caller != i || r->call_ids.n == 0 || buf_err(&r->call_ids))
		return false;
	const char *p = r->call_ids.p, *end = p + r->call_ids.n, *eol = NULL;
	for (; n-- && (eol = memchr(p, '\n', (size_t)(end - p))); p = eol + 1)
		if (n == 0)
			return span_eq((struct span){p, (size_t)(eol - p)}, json_raw(id));
	return false;
}

/* `r` may be NULL; else `id` is what i answers. */
static uint32_t find_call(const struct session *s, uint32_t i, struct json_value id, const struct reader *r,
                          unsigned *ret_n)
{
	CLEANUP(sought_release) struct sought w = {.s = s, .line = LINE_INIT};

	if (entry_at(s, i)->role != ROLE_TOOL_RESULT)
		return NO_ENTRY;
	uint32_t result = item_of(s, i), item = answer_of(s, result);
	if (item == NO_ITEM)
		return NO_ENTRY;
	bool settled = item & ITEM_SETTLED && s->calls.n < ITEM_SETTLED;
	if (settled)
		item &= ~ITEM_SETTLED;
	uint32_t entry = entry_of(s, item);
	unsigned n = item - item_of(s, entry) + 1;
	if (!settled && !reader_knows(r, entry, n, id)) {
		if (!seek(&w, i))
			return NO_ENTRY;
		if (!count_calls(&w, entry, n))
			return call_on_path(&w, i, ret_n);
	}
	settle(s, result);
	*ret_n = n;
	return entry;
}

uint32_t session_call(const struct session *s, uint32_t i, unsigned *ret_n)
{
	return find_call(s, i, (struct json_value){0}, NULL, ret_n);
}

uint32_t session_call_read(const struct session *s, uint32_t i, struct json_value id, const struct reader *r,
                           unsigned *ret_n)
{
	return find_call(s, i, id, r, ret_n);
}

uint32_t session_result(const struct session *s, uint32_t i, unsigned n)
{
	unsigned found;

	if (!has_flag(s, i, ENTRY_HAS_CALLS) || n == 0)
		return NO_ENTRY;
	uint32_t item = item_of(s, i);
	if (n > items_end(s, item) - item)
		return NO_ENTRY;
	item += n - 1;
	uint32_t first = answer_of(s, item);
	if (first == NO_ENTRY || (session_call(s, first, &found) == i && found == n))
		return first;
	for (uint32_t k = 0; k < s->calls.n; k++) {
		if (hash_of(s, k) != hash_of(s, item))
			continue;
		uint32_t e = entry_of(s, k);
		if (session_call(s, e, &found) == i && found == n)
			return e;
	}
	return NO_ENTRY;
}
