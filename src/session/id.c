/* Ids: kept one after the other in an arena, found through a table of entry
 * numbers. The table is the one thing here that is touched at random, so its
 * slots hold part of the hash and inserts are announced to the cache well
 * before they are made. A v1 file has no ids: they are derived when asked for,
 * since nearly nothing needs them and each costs a SHA-256. */
#include "session_impl.h"
#include "sessionfs/base/name.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- keys ---- */

bool key_of_unusual(const struct json_value *v, struct buf *text, struct key *ret)
{
	*ret = (struct key){.text = v->text};
	if (v->kind == JSON_NUMBER) {
		ret->number = true;
		return json_double(*v, &ret->value);
	}
	if (v->kind != JSON_STRING)
		return false;
	buf_reset(text);
	json_decode(v->text, JSON_READ, text);
	ret->text = buf_span(text);
	return buf_err(text) == 0;
}

bool key_falsy(const struct key *k)
{
	return k->number ? k->value == 0 : k->text.n == 0;
}

/* The upper half of the product depends on all bits of both, in a way that only who knows the secrets can foresee: else
 * two words could be changed so that the second undoes what the first did. */
static uint64_t mix(const struct session *s, uint64_t h, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(h ^ word) * s->factor;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const char *p, size_t n)
{
	uint64_t word = 0;

	memcpy(&word, p, n);
	return word;
}

/* Up to seven bytes, without a call. */
static uint64_t load_few(const char *p, size_t n)
{
	if (n >= 4)
		return load(p, 4) | load(p + n - 4, 4) << 32;
	if (n == 0)
		return 0;
	return (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 | (unsigned char)p[n - 1];
}

static uint64_t hash_bytes(const struct session *s, uint64_t h, const char *p, size_t n)
{
	h += n;
	if (n < 8)
		return mix(s, h, load_few(p, n));
	for (; n > 8; p += 8, n -= 8) {
		h = mix(s, h, load(p, 8));
		if (n < 16)
			return mix(s, h, load(p + n - 8, 8));
	}
	return mix(s, h, load(p, 8));
}

uint64_t key_hash(const struct session *s, const struct key *k)
{
	if (!k->number)
		return hash_bytes(s, s->seed, k->text.p, k->text.n);
	double value = k->value == 0 ? 0 : k->value; /* -0 is 0 */
	return hash_bytes(s, ~s->seed, (const char *)&value, sizeof value);
}

/* ---- arena ---- */

static uint32_t arena_add_unusual(arena_t *a, const struct key *k)
{
	unsigned char head[10];
	size_t n = 0;

	for (uint64_t rest = (uint64_t)k->text.n << 1 | k->number;; rest >>= 7) {
		head[n++] = (unsigned char)(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
		if (rest < 0x80)
			break;
	}
	if (!vec_reserve(a, n + k->text.n + 1))
		return 0;
	if (a->n == 0)
		a->v[a->n++] = 0;
	if (a->n > UINT32_MAX)
		return 0;
	uint32_t at = (uint32_t)a->n;
	memcpy(a->v + at, head, n);
	if (k->text.n)
		memcpy(a->v + at + n, k->text.p, k->text.n);
	a->n += n + k->text.n;
	return at;
}

/* Copies n bytes, from eight to sixteen of them without a call. */
static inline void copy_few(char *to, const char *from, size_t n)
{
	if (n - 8 > 8) {
		memcpy(to, from, n);
		return;
	}
	uint64_t first = load(from, 8), last = load(from + n - 8, 8);
	memcpy(to, &first, 8);
	memcpy(to + n - 8, &last, 8);
}

uint32_t arena_add(arena_t *a, const struct key *k)
{
	if (k->text.n < 64 && !k->number && a->n && a->n < UINT32_MAX && a->cap - a->n > 64) {
		char *p = a->v + a->n;
		p[0] = (char)(k->text.n << 1);
		copy_few(p + 1, k->text.p, k->text.n);
		a->n += k->text.n + 1;
		return (uint32_t)(p - a->v);
	}
	return arena_add_unusual(a, k);
}

struct key arena_get(const arena_t *a, uint32_t at)
{
	const unsigned char *p = (const unsigned char *)a->v + at;
	uint64_t head = *p & 0x7f;

	for (unsigned shift = 7; *p++ & 0x80; shift += 7)
		head |= (uint64_t)(*p & 0x7f) << shift;
	struct key k = {.text = {(const char *)p, (size_t)(head >> 1)}, .number = head & 1};
	if (k.number)
		json_double((struct json_value){JSON_NUMBER, false, k.text}, &k.value);
	return k;
}

/* ---- table ---- */

bool entry_has_key(const struct session *s, uint32_t i)
{
	return s->linear ? has_flag(s, i, ENTRY_ADDRESSED) : entry_at(s, i)->id != 0;
}

struct key entry_key(const struct session *s, uint32_t i)
{
	if (s->linear)
		return (struct key){.text = {s->derived->ids.v + (size_t)i * DERIVED_ID, DERIVED_ID}};
	return arena_get(&s->ids, entry_at(s, i)->id);
}

static uint32_t slot_of(const struct id_table *t, uint64_t hash)
{
	return (uint32_t)((hash >> 32) * t->size >> 32);
}

static uint32_t slot_value(uint64_t hash, uint32_t i)
{
	return (uint32_t)(hash & 0xff) << 24 | (i + 1);
}

static uint32_t slot_entry(uint32_t slot)
{
	return (slot & 0xffffff) - 1;
}

/* The slot that holds this key, or the free one where it belongs. */
static uint32_t *slot_find(const struct session *s, uint64_t hash, const struct key *k)
{
	const struct id_table *t = &s->derived->table;

	for (uint32_t at = slot_of(t, hash);; at = at + 1 == t->size ? 0 : at + 1) {
		uint32_t *slot = &t->slots[at];
		if (!*slot)
			return slot;
		if (*slot >> 24 != (hash & 0xff))
			continue;
		struct key there = entry_key(s, slot_entry(*slot));
		if (key_equal(&there, k))
			return slot;
	}
}

/* Of an id that is there already the later line wins. */
static void table_put(const struct session *s, uint64_t hash, uint32_t i, bool *ret_replaced)
{
	uint32_t *slot = &s->derived->table.slots[slot_of(&s->derived->table, hash)];

	if (*slot) {
		struct key key = entry_key(s, i);
		slot = slot_find(s, hash, &key);
	}
	if (!*slot) {
		s->derived->table.used++;
	} else if (has_flag(s, slot_entry(*slot), ENTRY_ADDRESSED)) {
		entry_at(s, slot_entry(*slot))->flags &= (uint16_t)~ENTRY_ADDRESSED;
		s->derived->labels_taken = 0;
		*ret_replaced = true;
	}
	*slot = slot_value(hash, i);
}

/* The hash of entry i's id, which is nearly always a short string. */
static inline uint64_t hash_of(const struct session *s, uint32_t i)
{
	const char *p = s->ids.v + entry_at(s, i)->id;
	unsigned char head = (unsigned char)*p;

	if (head & 0x81) {
		struct key key = entry_key(s, i);
		return key_hash(s, &key);
	}
	return hash_bytes(s, s->seed, p + 1, head >> 1);
}

void table_add(const struct session *s, bool *ret_replaced)
{
	enum { AHEAD = 16 };
	struct id_table *t = &s->derived->table;
	uint64_t hashes[AHEAD];

	for (uint32_t i = t->upto; i < s->at.count + AHEAD; i++) {
		if (i >= t->upto + AHEAD && entry_has_key(s, i - AHEAD))
			table_put(s, hashes[i % AHEAD], i - AHEAD, ret_replaced);
		if (i < s->at.count && entry_has_key(s, i)) {
			hashes[i % AHEAD] = hash_of(s, i);
			__builtin_prefetch(&t->slots[slot_of(t, hashes[i % AHEAD])], 1);
		}
	}
	t->upto = s->at.count;
}

int table_reserve(const struct session *s)
{
	struct id_table *t = &s->derived->table;
	uint64_t need = (uint64_t)t->used + (s->at.count - t->upto);

	if (need * 5 <= (uint64_t)t->size * 4)
		return 0;
	uint64_t size = need + need * 2 / 5 + 16;
	uint32_t *slots = calloc(size, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	*t = (struct id_table){.slots = slots, .size = (uint32_t)size};
	return 0;
}

/* The first eight hex digits of SHA-256 over session id, line and, if they are taken, a number. */
static void derive_id(const struct session *s, uint32_t i, char ret[DERIVED_ID + 1])
{
	const struct key k = {.text = {ret, DERIVED_ID}};
	char line[16], again[16] = "";

	snprintf(line, sizeof line, "\n%" PRIu32, entry_at(s, i)->line);
	for (unsigned clash = 1;; clash++) {
		name_hash8(buf_span(&s->sid), span_of(line), span_of(again), ret);
		if (!*slot_find(s, key_hash(s, &k), &k))
			return;
		snprintf(again, sizeof again, "\n%u", clash);
	}
}

static int make_ids(const struct session *s)
{
	struct derived *d = s->derived;
	size_t known = d->ids.n / DERIVED_ID, bytes = (size_t)s->at.count * DERIVED_ID;
	bool replaced;

	if (!vec_reserve(&d->ids, bytes - d->ids.n) || table_reserve(s) < 0)
		return -ENOMEM;
	d->ids.n = bytes;
	for (uint32_t i = d->table.upto; i < s->at.count; d->table.upto = ++i) {
		char id[DERIVED_ID + 1];
		if (!has_flag(s, i, ENTRY_ADDRESSED))
			continue;
		if (i >= known) {
			derive_id(s, i, id);
			memcpy(d->ids.v + (size_t)i * DERIVED_ID, id, DERIVED_ID);
		}
		struct key key = entry_key(s, i);
		table_put(s, key_hash(s, &key), i, &replaced);
	}
	return 0;
}

int ids_need(const struct session *s)
{
	return s->linear ? derive(s, &s->derived->ids_at, make_ids) : 0;
}

uint32_t table_find(const struct session *s, const struct key *k)
{
	if (ids_need(s) < 0 || !s->derived->table.size)
		return NO_ENTRY;
	const uint32_t *slot = slot_find(s, key_hash(s, k), k);
	return *slot ? slot_entry(*slot) : NO_ENTRY;
}

struct span session_entry_id(const struct session *s, uint32_t i)
{
	if (!has_flag(s, i, ENTRY_ADDRESSED) || ids_need(s) < 0)
		return (struct span){"", 0};
	return entry_key(s, i).text;
}

uint32_t session_entry_by_id(const struct session *s, struct json_value id)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct key k;

	return key_of(&id, &text, &k) ? table_find(s, &k) : NO_ENTRY;
}
