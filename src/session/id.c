/* SPDX-License-Identifier: MIT */
/* Ids: stored in an arena, found through a table of entry numbers. Of a long id only a digest is kept, so that the size
 * of an index does not depend on the length of ids; the few callers that show a long id read the line. Only the table
 * is accessed at random, so its slots hold part of the hash, and a slot is prefetched well before the insert. A v1 file
 * has no ids: they are derived on first use, because that is rare and each costs a SHA-256. */
#include "session_impl.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/name.h"

#include <inttypes.h>
#include "sessionfs/base/sha256.h"
#include <stdio.h>

/* Bytes of the digest that are kept. */
enum { DIGEST = 16 };

/* ---- keys ---- */

/* Replaces the text by its digest. */
static void digest_key(struct buf *text)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)text->p, text->n);
	SHA256Final(sum, &sha);
	buf_reset(text);
	buf_add(text, sum, DIGEST);
}

bool id_key_slow(const struct json_value *v, struct buf *text, struct key *ret)
{
	*ret = (struct key){0};
	if (v->kind == JSON_NUMBER) {
		ret->kind = KEY_NUMBER;
		return json_double(*v, &ret->value);
	}
	if (v->kind != JSON_STRING)
		return false;
	buf_reset(text);
	json_decode(v->text, JSON_READ, text);
	if (text->n > NAME_ID_BYTES_MAX) {
		ret->kind = KEY_ID_DIGEST;
		digest_key(text);
	}
	ret->text = buf_span(text);
	return buf_err(text) == 0;
}

bool key_is_falsy(const struct key *k)
{
	return k->kind == KEY_NUMBER ? k->value == 0 : k->text.n == 0;
}

uint64_t key_hash(const struct session *s, const struct key *k)
{
	if (k->kind != KEY_NUMBER)
		return hash_bytes(&s->secret, 0, k->text.p, k->text.n);
	double value = k->value == 0 ? 0 : k->value; /* -0 is 0 */
	return hash_bytes(&s->secret, 1, (const char *)&value, sizeof value);
}

/* ---- arena ---- */

/* The byte before a key; for a text it is twice the length. */
enum { HEAD_NUMBER = 1, HEAD_DIGEST = 3 };

static uint32_t arena_add_slow(arena_t *a, const struct key *k)
{
	bool number = k->kind == KEY_NUMBER;
	struct span bytes = number ? (struct span){(const char *)&k->value, sizeof k->value} : k->text;

	if (!vec_reserve(a, bytes.n + 2))
		return 0;
	if (a->n == 0)
		a->v[a->n++] = 0;
	if (a->n > UINT32_MAX)
		return 0;
	uint32_t at = (uint32_t)a->n;
	a->v[a->n++] = (char)(number ? HEAD_NUMBER : k->kind == KEY_ID_DIGEST ? HEAD_DIGEST : bytes.n << 1);
	if (bytes.n)
		memcpy(a->v + a->n, bytes.p, bytes.n);
	a->n += bytes.n;
	return at;
}

uint32_t arena_add(arena_t *a, const struct key *k)
{
	if (k->kind == KEY_TEXT && a->n && a->n < UINT32_MAX && a->cap - a->n > NAME_ID_BYTES_MAX) {
		char *p = a->v + a->n;
		size_t n = k->text.n;
		p[0] = (char)(n << 1);
		if (n >= 8 && n <= 16) { /* without a call */
			memcpy(p + 1, k->text.p, 8);
			memcpy(p + 1 + n - 8, k->text.p + n - 8, 8);
		} else {
			memcpy(p + 1, k->text.p, n);
		}
		a->n += n + 1;
		return (uint32_t)(p - a->v);
	}
	return arena_add_slow(a, k);
}

struct key arena_get(const arena_t *a, uint32_t at)
{
	const char *p = a->v + at + 1;
	unsigned char head = (unsigned char)a->v[at];

	if (!(head & 1))
		return (struct key){.text = {p, head >> 1}};
	if (head == HEAD_DIGEST)
		return (struct key){.text = {p, DIGEST}, .kind = KEY_ID_DIGEST};
	struct key k = {.kind = KEY_NUMBER};
	memcpy(&k.value, p, sizeof k.value);
	return k;
}

/* ---- table ---- */

static bool entry_has_key(const struct session *s, uint32_t i)
{
	return s->format->has_ids ? session_entry_at(s, i)->id != 0 : has_flag(s, i, ENTRY_ADDRESSED);
}

struct key entry_key(const struct session *s, uint32_t i)
{
	if (!s->format->has_ids)
		return (struct key){.text = {s->derived->ids.v + (size_t)i * DERIVED_ID, DERIVED_ID}};
	return arena_get(&s->ids, session_entry_at(s, i)->id);
}

static uint32_t id_table_bucket(const struct id_table *t, uint64_t hash)
{
	return (uint32_t)((hash >> 32) * t->size >> 32);
}

static uint32_t id_table_bucket_entry(uint32_t slot)
{
	return (slot & 0xffffff) - 1;
}

/* Returns the slot of this key, or the free slot for it. */
static uint32_t *id_table_find_bucket(const struct session *s, uint64_t hash, const struct key *k)
{
	const struct id_table *t = &s->derived->table;

	for (uint32_t at = id_table_bucket(t, hash);; at = at + 1 == t->size ? 0 : at + 1) {
		uint32_t *slot = &t->slots[at];
		if (!*slot)
			return slot;
		if (*slot >> 24 != (hash & 0xff))
			continue;
		struct key there = entry_key(s, id_table_bucket_entry(*slot));
		if (key_equal(&there, k))
			return slot;
	}
}

/* If the id exists already, the later line wins. */
static void id_table_put(const struct session *s, uint64_t hash, uint32_t i, bool *ret_replaced)
{
	uint32_t *slot = &s->derived->table.slots[id_table_bucket(&s->derived->table, hash)];

	if (*slot) {
		struct key key = entry_key(s, i);
		slot = id_table_find_bucket(s, hash, &key);
	}
	if (!*slot) {
		s->derived->table.used++;
	} else if (has_flag(s, id_table_bucket_entry(*slot), ENTRY_ADDRESSED)) {
		session_entry_at(s, id_table_bucket_entry(*slot))->flags &= (uint16_t)~ENTRY_ADDRESSED;
		s->derived->label_records = s->derived->edits_end = 0;
		*ret_replaced = true;
	}
	*slot = (uint32_t)(hash & 0xff) << 24 | (i + 1);
}

/* Returns the hash of entry i's id, which is nearly always a short string. */
static inline uint64_t id_hash(const struct session *s, uint32_t i)
{
	const char *p = s->ids.v + session_entry_at(s, i)->id;
	unsigned char head = (unsigned char)*p;

	if (head & 1) {
		struct key key = entry_key(s, i);
		return key_hash(s, &key);
	}
	return hash_bytes(&s->secret, 0, p + 1, head >> 1);
}

void id_table_add_missing(const struct session *s, bool *ret_replaced)
{
	enum { ID_READ_BYTES = 16 };
	struct id_table *t = &s->derived->table;
	uint64_t hashes[ID_READ_BYTES];

	for (uint32_t i = t->upto; i < s->extent.entry_count + ID_READ_BYTES; i++) {
		if (i >= t->upto + ID_READ_BYTES && entry_has_key(s, i - ID_READ_BYTES))
			id_table_put(s, hashes[i % ID_READ_BYTES], i - ID_READ_BYTES, ret_replaced);
		if (i < s->extent.entry_count && entry_has_key(s, i)) {
			hashes[i % ID_READ_BYTES] = id_hash(s, i);
			__builtin_prefetch(&t->slots[id_table_bucket(t, hashes[i % ID_READ_BYTES])], 1);
		}
	}
	t->upto = s->extent.entry_count;
}

int id_table_reserve(const struct session *s)
{
	struct id_table *t = &s->derived->table;
	uint64_t need = (uint64_t)t->used + (s->extent.entry_count - t->upto);

	if (need * 5 <= (uint64_t)t->size * 4)
		return 0;
	uint64_t size = need + need * 2 / 5 + 16;
	uint32_t *slots = calloc((size_t)size, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	*t = (struct id_table){.slots = slots, .size = (uint32_t)size};
	return 0;
}

/* Derives the first eight hex digits of SHA-256 over session id, line and, if they are taken, a number. */
static void derive_id(const struct session *s, uint32_t i, char ret[DERIVED_ID + 1])
{
	const struct key k = {.text = {ret, DERIVED_ID}};
	char line[16], again[16] = "";

	snprintf(line, sizeof line, "\n%" PRIu32, session_entry_at(s, i)->line);
	for (unsigned clash = 1;; clash++) {
		name_hash8(buf_span(&s->sid), span_of(line), span_of(again), ret);
		if (!*id_table_find_bucket(s, key_hash(s, &k), &k))
			return;
		snprintf(again, sizeof again, "\n%u", clash);
	}
}

static int derive_all_ids(const struct session *s)
{
	struct derived *d = s->derived;
	size_t known = d->ids.n / DERIVED_ID, bytes = (size_t)s->extent.entry_count * DERIVED_ID;
	bool replaced;

	if (!vec_reserve(&d->ids, bytes - d->ids.n) || id_table_reserve(s) < 0)
		return -ENOMEM;
	for (uint32_t i = d->table.upto; i < s->extent.entry_count; d->table.upto = ++i) {
		char id[DERIVED_ID + 1];
		if (cancel_check() < 0)
			return -EINTR;
		if (i >= known)
			d->ids.n = ((size_t)i + 1) * DERIVED_ID;
		if (!has_flag(s, i, ENTRY_ADDRESSED))
			continue;
		if (i >= known) {
			derive_id(s, i, id);
			memcpy(d->ids.v + (size_t)i * DERIVED_ID, id, DERIVED_ID);
		}
		struct key key = entry_key(s, i);
		id_table_put(s, key_hash(s, &key), i, &replaced);
	}
	return 0;
}

int ids_ensure(const struct session *s)
{
	return !s->format->has_ids ? derive_once(s, &s->derived->ids_at, derive_all_ids) : 0;
}

uint32_t id_table_find(const struct session *s, const struct key *k)
{
	if (ids_ensure(s) < 0 || !s->derived->table.size)
		return NO_ENTRY;
	const uint32_t *slot = id_table_find_bucket(s, key_hash(s, k), k);
	return *slot ? id_table_bucket_entry(*slot) : NO_ENTRY;
}

struct span session_entry_id(const struct session *s, uint32_t i)
{
	if (!has_flag(s, i, ENTRY_ADDRESSED) || ids_ensure(s) < 0)
		return (struct span){"", 0};
	struct key key = entry_key(s, i);
	return key.kind == KEY_TEXT ? key.text : (struct span){"", 0};
}

uint32_t session_entry_by_id(const struct session *s, struct json_value id)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct key k;

	return id_key(&id, &text, &k) ? id_table_find(s, &k) : NO_ENTRY;
}
