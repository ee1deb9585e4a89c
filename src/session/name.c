/* Names under entries/. Nearly all are simply the encoded id, or ~LINE, and are
 * not kept. Only a number and a string of the same text, ids too long for a
 * component, and bytes that are not UTF-8 beside half a surrogate pair can give
 * equal names: those entries are looked at in file order, and the ones whose
 * name is not simply the encoded id are kept in a list. */
#include "session_impl.h"
#include "sessionfs/base/name.h"

#include <inttypes.h>
#include <stdio.h>

/* What is being named: entries in file order, of which the first `done` have their names. */
struct naming {
	struct session *s;
	VEC(uint32_t) todo;
	size_t done;
	struct buf name, text;
};

static void naming_release(struct naming *n)
{
	vec_release(&n->todo);
	buf_release(&n->name);
	buf_release(&n->text);
}

/* The slot of this name, or the free one where it belongs; NULL if nothing is odd. */
static uint32_t *odd_slot(const struct session *s, struct span name)
{
	size_t size = s->odd_slots.n;

	if (size == 0)
		return NULL;
	for (size_t at = key_hash(s, &(struct key){.text = name}) % size;; at = (at + 1) % size) {
		uint32_t *slot = &s->odd_slots.v[at];
		if (!*slot || span_eq(arena_get(&s->odd_names, s->odd.v[*slot - 1].name).text, name))
			return slot;
	}
}

/* Keeps at least half of the slots free. */
static bool odd_reserve(struct session *s, size_t names)
{
	if (names * 2 <= s->odd_slots.n)
		return true;
	s->odd_slots.n = 0;
	if (!vec_reserve(&s->odd_slots, names * 4))
		return false;
	s->odd_slots.n = names * 4;
	memset(s->odd_slots.v, 0, vec_used(&s->odd_slots));
	for (size_t k = 0; k < s->odd.n; k++)
		*odd_slot(s, arena_get(&s->odd_names, s->odd.v[k].name).text) = (uint32_t)k + 1;
	return true;
}

static bool odd_add(struct session *s, uint32_t entry, struct span name)
{
	if (!odd_reserve(s, s->odd.n + 1) || !vec_reserve(&s->odd, 1))
		return false;
	uint32_t at = arena_add(&s->odd_names, &(struct key){.text = name});
	if (!at)
		return false;
	s->odd.v[s->odd.n++] = (struct odd_name){entry, at};
	*odd_slot(s, name) = (uint32_t)s->odd.n;
	entry_at(s, entry)->flags |= ENTRY_ODD_NAME;
	return true;
}

static void odd_reset(struct session *s)
{
	for (size_t k = 0; k < s->odd.n; k++)
		entry_at(s, s->odd.v[k].entry)->flags &= (uint16_t)~ENTRY_ODD_NAME;
	s->odd.n = s->odd_names.n = s->odd_slots.n = 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool todo_add(struct naming *n, uint32_t entry)
{
	if (!vec_reserve(&n->todo, 1))
		return false;
	n->todo.v[n->todo.n++] = entry;
	return true;
}

static bool find_candidates(struct naming *n)
{
	const struct session *s = n->s;

	for (size_t k = 0; k < s->odd_seeds.n; k++) {
		uint32_t i = s->odd_seeds.v[k];
		if (!has_flag(s, i, ENTRY_ADDRESSED))
			continue;
		struct key key = entry_key(s, i);
		uint32_t twin = key.number ? table_find(s, &(struct key){.text = key.text}) : i;
		if (twin == NO_ENTRY)
			continue;
		if (!todo_add(n, i) || (twin != i && !todo_add(n, twin)))
			return false;
	}
	if (n->todo.n)
		qsort(n->todo.v, n->todo.n, sizeof *n->todo.v, by_number);
	return true;
}

/* Puts a later entry, whose plain name was just given away, where it belongs among those to do. */
static bool todo_insert(struct naming *n, uint32_t entry)
{
	if (!todo_add(n, entry))
		return false;
	size_t at = n->todo.n - 1;
	for (; at > n->done && n->todo.v[at - 1] > entry; at--)
		n->todo.v[at] = n->todo.v[at - 1];
	n->todo.v[at] = entry;
	return true;
}

/* The entry that has this name because it simply is its id, or NO_ENTRY. */
static uint32_t plain_owner(const struct session *s, struct span name, struct buf *text)
{
	buf_reset(text);
	if (!name_decode(name, text))
		return NO_ENTRY;
	return table_find(s, &(struct key){.text = buf_span(text)});
}

/* The entry whose id is a number with exactly this text, or NO_ENTRY. */
static uint32_t number_owner(const struct session *s, struct span text)
{
	struct json j;
	struct json_value v;
	struct key key;

	json_init(&j, text, NULL);
	if (json_peek(&j) != JSON_NUMBER || !json_value(&j, &v) || !span_eq(v.text, text) || !key_of(&v, NULL, &key))
		return NO_ENTRY;
	uint32_t i = table_find(s, &key);
	return i != NO_ENTRY && span_eq(entry_key(s, i).text, text) ? i : NO_ENTRY;
}

static int raw_by_entry(const void *a, const void *b)
{
	return by_number(a, &((const struct ref *)b)->entry);
}

/* What entry i is named by. */
static struct span id_bytes(const struct session *s, uint32_t i)
{
	const struct refs *raw = &s->raw_ids;
	const struct ref *r =
	    raw->list.n ? bsearch(&i, raw->list.v, raw->list.n, sizeof *raw->list.v, raw_by_entry) : NULL;

	return r ? arena_get(&raw->keys, r->key).text : entry_key(s, i).text;
}

/* Gives entry i the first free name of ID, ID~2, ID~3, ... */
static bool give_name(struct naming *n, uint32_t i)
{
	struct session *s = n->s;
	struct span id = id_bytes(s, i);
	char suffix[16] = "";

	for (unsigned k = 2;; k++) {
		buf_reset(&n->name);
		name_encode("", id, suffix, &n->name);
		if (buf_err(&n->name))
			return false;
		uint32_t *given = odd_slot(s, buf_span(&n->name));
		uint32_t owner = plain_owner(s, buf_span(&n->name), &n->text);
		bool later = owner != NO_ENTRY && owner > i;
		bool taken = owner != NO_ENTRY && owner < i && !has_flag(s, owner, ENTRY_ODD_NAME);
		if (!taken && !(given && *given)) {
			if (later && !todo_insert(n, owner))
				return false;
			return odd_add(s, i, buf_span(&n->name));
		}
		snprintf(suffix, sizeof suffix, "~%u", k);
	}
}

int names_update(struct session *s)
{
	CLEANUP(naming_release) struct naming n = {.s = s};

	if (!s->odd_seeds.n)
		return 0;
	odd_reset(s);
	if (!find_candidates(&n))
		return -ENOMEM;
	while (n.done < n.todo.n) {
		uint32_t i = n.todo.v[n.done++];
		if (!has_flag(s, i, ENTRY_ODD_NAME) && !give_name(&n, i))
			return -ENOMEM;
	}
	return 0;
}

static int odd_by_entry(const void *a, const void *b)
{
	return by_number(a, &((const struct odd_name *)b)->entry);
}

void session_entry_name(const struct session *s, uint32_t i, struct buf *out)
{
	if (!has_flag(s, i, ENTRY_ADDRESSED)) {
		buf_addf(out, "~%" PRIu32, entry_at(s, i)->line);
	} else if (has_flag(s, i, ENTRY_ODD_NAME)) {
		const struct odd_name *odd = bsearch(&i, s->odd.v, s->odd.n, sizeof *odd, odd_by_entry);
		buf_addspan(out, arena_get(&s->odd_names, odd->name).text);
	} else {
		name_encode("", session_entry_id(s, i), "", out);
	}
}

/* The entry of a line, if it has no better name. */
static uint32_t entry_by_line(const struct session *s, struct span digits)
{
	uint64_t line = 0;
	uint32_t low = 0, high = s->at.count;

	if (digits.n == 0 || digits.n > 10 || digits.p[0] == '0')
		return NO_ENTRY;
	for (size_t k = 0; k < digits.n; k++) {
		if (digits.p[k] < '0' || digits.p[k] > '9')
			return NO_ENTRY;
		line = line * 10 + (uint64_t)(digits.p[k] - '0');
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (entry_at(s, middle)->line < line)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->at.count || entry_at(s, low)->line != line || has_flag(s, low, ENTRY_ADDRESSED))
		return NO_ENTRY;
	return low;
}

uint32_t session_entry_by_name(const struct session *s, struct span component)
{
	CLEANUP_BUF struct buf text = BUF_INIT;

	if (component.n && component.p[0] == '~')
		return entry_by_line(s, (struct span){component.p + 1, component.n - 1});
	uint32_t *odd = odd_slot(s, component);
	if (odd && *odd)
		return s->odd.v[*odd - 1].entry;
	uint32_t i = plain_owner(s, component, &text);
	if (i == NO_ENTRY && !s->linear)
		i = number_owner(s, buf_span(&text));
	return i == NO_ENTRY || has_flag(s, i, ENTRY_ODD_NAME) ? NO_ENTRY : i;
}
