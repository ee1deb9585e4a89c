/* SPDX-License-Identifier: MIT */
/* Which result answers which call.
 *
 * While scanning, each tool call and each tool result leaves one item: 47 bits of the hash of its call id, and a bit
 * that begins an entry. Items are in file order. An entry finds its items through a running count at every 64th entry,
 * and through the bounds of those few entries that have very many.
 *
 * The ids themselves are not compared. The hash is keyed with a secret of this index, so that no file can force a
 * collision. In one of a few hundred indexes of a million random ids, two ids have the same hash. Even then both must
 * be on one path, and one of them without its own answer.
 *
 * On first use, one walk over the whole tree answers every result: it keeps, for each hash, the call on the way down
 * from the root that the next result would take. That is linear, however often an id is used and however many results
 * have no call. `answers` then has, for a result's item, the call's item, and for a call's item the entry of its first
 * result. */
#include "sessionfs/session/context.h"
#include "session_impl.h"
#include "sessionfs/base/cancel.h"

enum {
	BLOCK = 64, /* entries per running count */
	WIDE = 64,  /* the end of an entry's items is recorded if it has more than this */
	STEP = 4096 /* entries between two calls of cancel_check */
};

#define NO_CALL_ITEM UINT32_MAX
#define CALL_NOT_OPEN (UINT32_MAX - 1) /* in `shadowed`: the item is not the open call of its hash */

/* ---- items ---- */

/* Returns 0 if the value cannot be an id. */
static uint64_t call_item_hash(const struct session *s, uint32_t item)
{
	struct call_item it = s->calls.v[item];
	return (uint64_t)(it.high & (CALL_FIRST - 1)) << 32 | it.low;
}

bool call_item_add(struct session *s, const struct json_value *id, struct buf *text)
{
	struct key key;
	struct call_item item = {0};

	if (!vec_reserve(&s->calls, 1))
		return false;
	if (id_key(id, text, &key)) {
		uint64_t hash = key_hash(s, &key) >> 16;
		item = (struct call_item){(uint32_t)hash, (uint16_t)(hash >> 32) & (CALL_FIRST - 1)};
		item.low += item.low == 0;
	}
	s->calls.v[s->calls.n++] = item;
	return true;
}

bool call_items_set_entry(struct session *s, uint32_t i, size_t begin, size_t n)
{
	size_t found = s->calls.n - begin;

	if (n < found)
		memmove(s->calls.v + begin, s->calls.v + begin + found - n, n * sizeof *s->calls.v);
	s->calls.n = begin + n;
	if (s->calls.n >= CALL_NOT_OPEN || (n > WIDE && !vec_reserve(&s->call_wides, 1)))
		return false;
	if (n)
		s->calls.v[begin].high |= CALL_FIRST;
	if (n > WIDE)
		s->call_wides.v[s->call_wides.n++] = (struct call_wide){(uint32_t)begin, (uint32_t)s->calls.n};
	if (i % BLOCK)
		return true;
	if (!vec_reserve(&s->call_blocks, 1))
		return false;
	s->call_blocks.v[s->call_blocks.n++] = (uint32_t)begin;
	return true;
}

static bool entry_has_items(const struct session *s, uint32_t i)
{
	return has_flag(s, i, ENTRY_HAS_CALLS) || session_entry_at(s, i)->role == ROLE_TOOL_RESULT;
}

/* Returns the place of the last of n ascending numbers, `step` apart, that is not above `most`. The first one must not
 * be. */
static size_t last_not_above(const uint32_t *v, size_t n, size_t step, uint32_t most)
{
	size_t low = 0, high = n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (v[middle * step] <= most)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Returns the end of the items of the entry whose first one is `item`. */
static uint32_t call_items_end(const struct session *s, uint32_t item)
{
	for (uint32_t end = item + 1; end <= item + WIDE; end++)
		if (end == s->calls.n || s->calls.v[end].high & CALL_FIRST)
			return end;
	return s->call_wides.v[last_not_above(&s->call_wides.v->begin, s->call_wides.n, 2, item)].end;
}

/* Returns the first item of entry i, which must have one. */
static uint32_t entry_first_item(const struct session *s, uint32_t i)
{
	uint32_t item = s->call_blocks.v[i / BLOCK];

	for (uint32_t e = i - i % BLOCK; e < i; e++)
		if (entry_has_items(s, e))
			item = call_items_end(s, item);
	return item;
}

/* Returns the entry that an item belongs to. */
static uint32_t call_item_entry(const struct session *s, uint32_t item)
{
	size_t block = last_not_above(s->call_blocks.v, s->call_blocks.n, 1, item);
	uint32_t e = (uint32_t)block * BLOCK;

	for (uint32_t end = s->call_blocks.v[block];; e++) {
		if (entry_has_items(s, e))
			end = call_items_end(s, end);
		if (item < end)
			return e;
	}
}

/* ---- the walk ---- */

/* For one hash: the call that the next result answers, or NO_CALL_ITEM. */
struct open_call {
	uint32_t low;
	uint16_t high;
	uint32_t item;
};

struct call_walk {
	const struct session *s;
	uint32_t *answers;
	uint32_t *first;              /* first item of each entry */
	struct open_call *open_calls; /* hashed */
	uint32_t *shadowed;           /* by item: the previous open call of its hash, or CALL_NOT_OPEN */
	uint32_t *next_alike;         /* by call: the next call of its message with the same hash, or NO_CALL_ITEM */
	size_t size;
};

static void calls_walk_release(struct call_walk *w)
{
	free(w->first);
	free(w->open_calls);
	free(w->shadowed);
	free(w->next_alike);
}

static struct open_call *open_call_find(const struct call_walk *w, uint64_t hash)
{
	uint32_t low = (uint32_t)hash;
	uint16_t high = (uint16_t)(hash >> 32);
	size_t at = (size_t)((uint64_t)low * w->size >> 32);

	while (w->open_calls[at].low && (w->open_calls[at].low != low || w->open_calls[at].high != high))
		at = at + 1 == w->size ? 0 : at + 1;
	if (!w->open_calls[at].low)
		w->open_calls[at] = (struct open_call){low, high, NO_CALL_ITEM};
	return &w->open_calls[at];
}

/* Adds from the last to the first, so that the first is the open call of its hash. */
static void walk_add_calls(struct call_walk *w, uint32_t begin, uint32_t end)
{
	for (uint32_t item = end; item-- > begin;) {
		uint64_t hash = call_item_hash(w->s, item);
		w->shadowed[item] = CALL_NOT_OPEN;
		w->next_alike[item] = NO_CALL_ITEM;
		if (!hash)
			continue;
		struct open_call *open = open_call_find(w, hash);
		if (open->item != NO_CALL_ITEM && open->item >= begin && open->item < end)
			w->next_alike[item] = open->item;
		else
			w->shadowed[item] = open->item;
		open->item = item;
	}
}

/* The n-th result answers the n-th call of the message with that id; all further ones answer the last. */
static void walk_match_result(struct call_walk *w, uint32_t i, uint32_t item)
{
	uint64_t hash = call_item_hash(w->s, item);

	w->shadowed[item] = CALL_NOT_OPEN;
	if (!hash)
		return;
	struct open_call *open = open_call_find(w, hash);
	uint32_t call = open->item;
	if (call == NO_CALL_ITEM)
		return;
	w->shadowed[item] = call;
	if (w->next_alike[call] != NO_CALL_ITEM)
		open->item = w->next_alike[call];
	w->answers[item] = call;
	if (w->answers[call] > i)
		w->answers[call] = i;
}

/* Enters entry i on the way down, or leaves it on the way up. */
static void walk_visit(struct call_walk *w, uint32_t i, bool leaves)
{
	uint32_t item = w->first[i];
	bool calls = has_flag(w->s, i, ENTRY_HAS_CALLS);

	if (!calls && session_entry_at(w->s, i)->role != ROLE_TOOL_RESULT)
		return;
	uint32_t end = calls ? call_items_end(w->s, item) : item + 1;
	for (; leaves && item < end; item++)
		if (w->shadowed[item] != CALL_NOT_OPEN)
			open_call_find(w, call_item_hash(w->s, item))->item = w->shadowed[item];
	if (!leaves && calls)
		walk_add_calls(w, item, end);
	else if (!leaves)
		walk_match_result(w, i, item);
}

/* In a ring, `root` also occurs as a child. */
static uint32_t walk_skip_root(const struct session *s, uint32_t i, uint32_t root)
{
	return i == root ? session_entry_at(s, i)->sibling : i;
}

/* Walks all entries below root without a stack: the way back up is through the parents. */
static int walk_from(struct call_walk *w, uint32_t root)
{
	const struct session *s = w->s;

	for (uint32_t i = root, steps = 1;; steps++) {
		int rc = steps % STEP == 0 ? cancel_check() : 0;
		if (rc < 0)
			return rc;
		walk_visit(w, i, false);
		uint32_t next = walk_skip_root(s, session_entry_at(s, i)->child, root);
		while (next == NO_ENTRY) {
			walk_visit(w, i, true);
			if (i == root)
				return 0;
			next = walk_skip_root(s, session_entry_at(s, i)->sibling, root);
			if (next == NO_ENTRY)
				i = session_entry_at(s, i)->parent;
		}
		i = next;
	}
}

static int calls_walk(struct call_walk *w)
{
	const struct session *s = w->s;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < s->extent.entry_count; i++) {
		bool is_ring = session_entry_at(s, i)->parent != NO_ENTRY;
		if (is_ring && (!has_flag(s, i, ENTRY_CYCLE) || w->first[i] == NO_CALL_ITEM))
			continue;
		rc = walk_from(w, i);
		/* A ring is cut above its first entry. */
		for (uint32_t k = i; rc == 0 && is_ring && w->first[k] != NO_CALL_ITEM;
		     k = session_entry_at(s, k)->parent)
			w->first[k] = NO_CALL_ITEM;
	}
	return rc;
}

static int match_results(const struct session *s)
{
	__typeof__(&s->derived->answers) to = &s->derived->answers;
	CLEANUP(calls_walk_release) struct call_walk w = {.s = s};
	uint32_t item = 0;

	to->n = 0;
	w.size = s->calls.n + s->calls.n / 2 + 1;
	w.first = malloc((size_t)s->extent.entry_count * sizeof *w.first + 1);
	w.open_calls = calloc(w.size, sizeof *w.open_calls);
	w.shadowed = malloc(s->calls.n * sizeof *w.shadowed + 1);
	w.next_alike = malloc(s->calls.n * sizeof *w.next_alike + 1);
	if (!w.first || !w.open_calls || !w.shadowed || !w.next_alike || !vec_reserve(to, s->calls.n))
		return -ENOMEM;
	to->n = s->calls.n;
	w.answers = to->v;
	memset(to->v, 0xff, vec_used(to));
	for (uint32_t i = 0; i < s->extent.entry_count; i++) {
		w.first[i] = item;
		if (entry_has_items(s, i))
			item = call_items_end(s, item);
	}
	return calls_walk(&w);
}

/* Sets *ret to the answer to an item, or NO_CALL_ITEM. */
static int call_item_result(const struct session *s, uint32_t item, uint32_t *ret)
{
	int rc = derive_once(s, &s->derived->answers_at, match_results);
	*ret = rc < 0 ? NO_CALL_ITEM : s->derived->answers.v[item];
	return rc;
}

uint32_t session_call(const struct session *s, uint32_t i, unsigned *ret_n)
{
	uint32_t item;

	if (session_entry_at(s, i)->role != ROLE_TOOL_RESULT ||
	    call_item_result(s, entry_first_item(s, i), &item) < 0 || item == NO_CALL_ITEM)
		return NO_ENTRY;
	uint32_t entry = call_item_entry(s, item);
	*ret_n = item - entry_first_item(s, entry) + 1;
	return entry;
}

unsigned session_call_count(const struct session *s, uint32_t i)
{
	if (!has_flag(s, i, ENTRY_HAS_CALLS))
		return 0;
	uint32_t item = entry_first_item(s, i);
	return call_items_end(s, item) - item;
}

uint32_t session_result(const struct session *s, uint32_t i, unsigned n)
{
	uint32_t first;

	if (n == 0 || n > session_call_count(s, i))
		return NO_ENTRY;
	call_item_result(s, entry_first_item(s, i) + n - 1, &first);
	return first;
}

/* ---- calls of the context ---- */

/* As call_item_add, but only the lower part: a collision here hides a problem, nothing else. */
static int call_ids_add_edited(const struct session *s, uint32_t edit, struct map *to)
{
	CLEANUP_LINE struct line line = LINE_INIT;
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct block_iter it;
	struct record r;
	struct block b;
	struct key key;
	int rc = session_load(s, edit, &line, &r);

	if (rc < 0)
		return rc;
	block_iter_init(&it, json_get(r.replacement, "content"));
	while (rc == 0 && block_next(&it, &b)) {
		if (b.type != BLOCK_TOOL_CALL || !id_key(&b.id, &text, &key))
			continue;
		uint32_t low = (uint32_t)(key_hash(s, &key) >> 16);
		rc = map_put(to, low + (low == 0), (struct span){"", 0}, edit);
	}
	return rc;
}

int call_ids_add(const struct session *s, const struct context_item *of, struct map *to)
{
	const struct entry *e = session_entry_at(s, of->entry);
	int rc = 0;

	if (e->role != ROLE_ASSISTANT || entry_is_unsent(e))
		return 0;
	if (of->edit != NO_ENTRY)
		return call_ids_add_edited(s, of->edit, to);
	if (!(e->flags & ENTRY_HAS_CALLS))
		return 0;
	uint32_t item = entry_first_item(s, of->entry), end = call_items_end(s, item);
	for (; rc == 0 && item < end; item++)
		rc = map_put(to, s->calls.v[item].low, (struct span){"", 0}, of->entry);
	return rc;
}

bool call_ids_have(const struct session *s, const struct map *ids, uint32_t result)
{
	uint32_t low = s->calls.v[entry_first_item(s, result)].low;

	return low && map_get(ids, low, (struct span){"", 0}) != MAP_NONE;
}
