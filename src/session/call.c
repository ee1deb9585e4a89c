/* SPDX-License-Identifier: MIT */
/* Which result answers which call.
 *
 * While scanning, each tool call and each tool result leaves one item: 42 bits of the hash of its call id, and the
 * place of its entry in a block of 64 entries. Items are in file order; `call_blocks` has the first item of each block.
 *
 * The ids themselves are not compared. The hash is keyed with a secret of this index, so that no file can force a
 * collision. In one of about five indexes of a million random ids, two ids have the same hash. Even then both must be
 * on one path, and one of them without its own answer.
 *
 * On first use, one walk over the whole tree answers every result: it keeps, for each hash, the call on the way down
 * from the root that the next result would take. That is linear, however often an id is used and however many results
 * have no call. `answers` then has, for a result's item, the call's item, and for a call's item the entry of its first
 * result. */
#include "sessionfs/session/context.h"
#include "session_impl.h"
#include "sessionfs/base/cancel.h"

enum {
	BLOCK = 1 << CALL_PLACE_BITS, /* entries per running count */
	STEP = 4096                   /* entries between two calls of cancel_check */
};

#define NO_CALL_ITEM UINT32_MAX

/* ---- items ---- */

/* Returns 0 if the value cannot be an id; `text` is as for id_key. */
static uint64_t call_id_hash(const struct session *s, const struct json_value *id, struct buf *text)
{
	struct key key;

	return id_key(id, text, &key) ? key_hash(s, &key) >> (64 - CALL_HASH_BITS) | 1 : 0;
}

bool call_item_add(struct session *s, const struct json_value *id, struct buf *text)
{
	if (s->calls.n + 1 >= NO_CALL_ITEM || !vec_reserve(&s->calls, 1))
		return false;
	s->calls.v[s->calls.n++] = (struct call_item){.place = s->extent.entry_count % BLOCK,
	                                              .hash = call_id_hash(s, id, text) & CALL_HASH_MAX};
	return true;
}

bool call_items_set_entry(struct session *s, uint32_t i, size_t begin, size_t n)
{
	size_t found = s->calls.n - begin;

	if (n < found)
		memmove(s->calls.v + begin, s->calls.v + begin + found - n, n * sizeof *s->calls.v);
	s->calls.n = begin + n;
	if (i % BLOCK)
		return true;
	if (!vec_reserve(&s->call_blocks, 1))
		return false;
	s->call_blocks.v[s->call_blocks.n++] = (uint32_t)begin;
	return true;
}

/* Returns the first item of entry i or of a later entry in its block; with `skip` 1, the end of the items of i. */
static uint32_t entry_item(const struct session *s, uint32_t i, uint32_t skip)
{
	const uint32_t *block = s->call_blocks.v + i / BLOCK;
	uint32_t item = block[0], end = i / BLOCK + 1 < s->call_blocks.n ? block[1] : (uint32_t)s->calls.n;

	for (uint32_t n = end - item, half; n > 0; n -= half) {
		half = n - n / 2;
		item += s->calls.v[item + half - 1].place < i % BLOCK + skip ? half : 0;
	}
	return item;
}

/* Returns the entry that an item belongs to. */
static uint32_t call_item_entry(const struct session *s, uint32_t item)
{
	uint32_t low = 0, high = (uint32_t)s->call_blocks.n;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (s->call_blocks.v[middle] <= item)
			low = middle;
		else
			high = middle;
	}
	return low * BLOCK + s->calls.v[item].place;
}

/* ---- the walk ---- */

/* For one hash: the call that the next result answers, or NO_CALL_ITEM. */
struct open_call {
	uint64_t hash;
	uint32_t item;
};

struct call_walk {
	const struct session *s;
	uint32_t *answers;
	uint32_t *first;              /* by entry: its entry_item */
	struct open_call *open_calls; /* hashed */
	size_t size;
	uint32_t *shadowed; /* by item: what the open call of its hash was above it */
	bool *walked;       /* by entry: in a ring that was walked */
	size_t steps;
};

static void calls_walk_release(struct call_walk *w)
{
	free(w->first);
	free(w->open_calls);
	free(w->shadowed);
	free(w->walked);
}

/* Returns NULL for an item without an id. */
static struct open_call *open_call_find(const struct call_walk *w, uint32_t item)
{
	uint64_t hash = w->s->calls.v[item].hash;
	size_t at = (size_t)((hash >> 10) * w->size >> 32);

	if (!hash)
		return NULL;
	while (w->open_calls[at].hash && w->open_calls[at].hash != hash)
		at = at + 1 == w->size ? 0 : at + 1;
	if (!w->open_calls[at].hash)
		w->open_calls[at] = (struct open_call){hash, NO_CALL_ITEM};
	return &w->open_calls[at];
}

/* The n-th result answers the n-th call of the message with that id; all further ones answer the last. */
static void walk_match_result(const struct call_walk *w, uint32_t i, uint32_t item, struct open_call *open)
{
	uint32_t call = open->item;

	if (call == NO_CALL_ITEM)
		return;
	w->answers[item] = call;
	if (w->answers[call] > i)
		w->answers[call] = i;
	uint32_t next = w->shadowed[call];
	if (next != NO_CALL_ITEM && call_item_entry(w->s, next) == call_item_entry(w->s, call))
		open->item = next;
}

/* Enters entry i on the way down, or leaves it on the way up. Enters from its last call to its first, so that this is
 * the open call of its hash. */
static void walk_visit(const struct call_walk *w, uint32_t i, bool leaves)
{
	uint32_t begin = w->first[i], end = w->first[i + 1];

	for (uint32_t k = begin; k < end; k++) {
		uint32_t item = leaves ? k : begin + (end - 1 - k);
		struct open_call *open = open_call_find(w, item);
		if (!open)
			continue;
		if (leaves) {
			open->item = w->shadowed[item];
			continue;
		}
		w->shadowed[item] = open->item;
		if (session_entry_at(w->s, i)->role == ROLE_TOOL_RESULT)
			walk_match_result(w, i, item, open);
		else
			open->item = item;
	}
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

	for (uint32_t i = root;;) {
		int rc = ++w->steps % STEP == 0 ? cancel_check() : 0;
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

static int match_results(const struct session *s)
{
	__typeof__(&s->derived->answers) to = &s->derived->answers;
	CLEANUP(calls_walk_release) struct call_walk w = {.s = s, .size = s->calls.n + s->calls.n / 2 + 1};
	int rc = 0;

	to->n = 0;
	w.first = malloc(((size_t)s->extent.entry_count + 1) * sizeof *w.first);
	w.open_calls = calloc(w.size, sizeof *w.open_calls);
	w.shadowed = malloc(s->calls.n * sizeof *w.shadowed + 1);
	w.walked = calloc((size_t)s->extent.entry_count + 1, 1);
	if (!w.first || !w.open_calls || !w.shadowed || !w.walked || !vec_reserve(to, s->calls.n))
		return -ENOMEM;
	to->n = s->calls.n;
	w.answers = to->v;
	memset(to->v, 0xff, vec_used(to));
	for (uint32_t i = 0; i < s->extent.entry_count; i++)
		w.first[i] = entry_item(s, i, 0);
	w.first[s->extent.entry_count] = (uint32_t)s->calls.n;
	for (uint32_t i = 0; rc == 0 && i < s->extent.entry_count; i++) {
		bool is_ring = session_entry_at(s, i)->parent != NO_ENTRY;
		if (is_ring && (!has_flag(s, i, ENTRY_CYCLE) || w.walked[i]))
			continue;
		rc = walk_from(&w, i);
		/* A ring is cut above its first entry. */
		for (uint32_t k = i; is_ring && !w.walked[k]; k = session_entry_at(s, k)->parent)
			w.walked[k] = true;
	}
	return rc;
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

	if (session_entry_at(s, i)->role != ROLE_TOOL_RESULT || call_item_result(s, entry_item(s, i, 0), &item) < 0 ||
	    item == NO_CALL_ITEM)
		return NO_ENTRY;
	uint32_t entry = call_item_entry(s, item);
	*ret_n = item - entry_item(s, entry, 0) + 1;
	return entry;
}

unsigned session_call_count(const struct session *s, uint32_t i)
{
	return has_flag(s, i, ENTRY_HAS_CALLS) ? entry_item(s, i, 1) - entry_item(s, i, 0) : 0;
}

uint32_t session_result(const struct session *s, uint32_t i, unsigned n)
{
	uint32_t first;

	if (n == 0 || n > session_call_count(s, i))
		return NO_ENTRY;
	call_item_result(s, entry_item(s, i, 0) + n - 1, &first);
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
	int rc = session_load(s, edit, &line, &r);

	if (rc < 0)
		return rc;
	block_iter_init(&it, json_get(r.replacement, "content"));
	while (rc == 0 && block_next(&it, &b)) {
		uint64_t hash = b.type == BLOCK_TOOL_CALL ? call_id_hash(s, &b.id, &text) : 0;
		if (hash)
			rc = map_put(to, (uint32_t)hash, (struct span){"", 0}, edit);
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
	uint32_t item = entry_item(s, of->entry, 0), end = entry_item(s, of->entry, 1);
	for (; rc == 0 && item < end; item++)
		rc = map_put(to, (uint32_t)s->calls.v[item].hash, (struct span){"", 0}, of->entry);
	return rc;
}

bool call_ids_have(const struct session *s, const struct map *ids, uint32_t result)
{
	uint64_t hash = s->calls.v[entry_item(s, result, 0)].hash;

	return hash && map_get(ids, (uint32_t)hash, (struct span){"", 0}) != MAP_NONE;
}
