/* SPDX-License-Identifier: MIT */
/* Names under entries/. Nearly all are simply the encoded id, or ~LINE, and are not stored. If the index does not keep
 * the id (a number, a long text), or the id is not shown unchanged (bytes that are not UTF-8), the index can neither
 * make nor find the name. For such an entry it keeps a hash of the name, to find it, and reads the id from the line to
 * show it.
 *
 * Such names can collide: a number and a string of the same text, bytes that are not UTF-8 and half a surrogate pair.
 * So entries are named in file order, and each takes the first free name. */
#include "session_impl.h"
#include "sessionfs/base/name.h"

#include <inttypes.h>
#include <stdio.h>

struct entry_naming {
	struct session *s;
	struct line line;
	struct buf id, name, text;
};

static void entry_naming_release(struct entry_naming *n)
{
	line_release(&n->line);
	buf_release(&n->id);
	buf_release(&n->name);
	buf_release(&n->text);
}

static uint64_t name_hash(const struct session *s, struct span name)
{
	return key_hash(s, &(struct key){.text = name});
}

/* Returns the slot of the name with this hash, or the free slot for it; NULL if there are no assigned names. */
static uint32_t *assigned_name_bucket(const struct session *s, uint64_t hash)
{
	size_t size = s->odd_slots.n;

	if (size == 0)
		return NULL;
	for (size_t at = (size_t)(hash % size);; at = (at + 1) % size) {
		uint32_t *slot = &s->odd_slots.v[at];
		if (!*slot || s->odd.v[*slot - 1].hash == hash)
			return slot;
	}
}

/* Returns the entry with an unusual id that has this name, or NO_ENTRY. */
static uint32_t assigned_name_owner(const struct session *s, struct span name)
{
	const uint32_t *slot = assigned_name_bucket(s, name_hash(s, name));

	return slot && *slot ? s->odd.v[*slot - 1].entry : NO_ENTRY;
}

/* Keeps at least half of the slots free. */
static bool assigned_names_reserve(struct session *s, size_t names)
{
	if (names * 2 <= s->odd_slots.n)
		return true;
	s->odd_slots.n = 0;
	if (!vec_reserve(&s->odd_slots, names * 4))
		return false;
	s->odd_slots.n = names * 4;
	memset(s->odd_slots.v, 0, vec_used(&s->odd_slots));
	for (size_t k = 0; k < s->odd.n; k++)
		*assigned_name_bucket(s, s->odd.v[k].hash) = (uint32_t)k + 1;
	return true;
}

/* Returns the entry whose encoded id is this name, or NO_ENTRY. */
static uint32_t id_name_owner(const struct session *s, struct span name, struct buf *text)
{
	buf_reset(text);
	if (!name_decode(name, text) || text->n > NAME_ID_BYTES_MAX)
		return NO_ENTRY;
	return id_table_find(s, &(struct key){.text = buf_span(text)});
}

/* Returns whether the name belongs to an entry before i. */
static bool name_is_taken(struct entry_naming *n, uint32_t i)
{
	struct span name = buf_span(&n->name);

	if (assigned_name_owner(n->s, name) != NO_ENTRY)
		return true;
	uint32_t owner = id_name_owner(n->s, name, &n->text);
	return owner != NO_ENTRY && owner < i && !has_flag(n->s, owner, ENTRY_ASSIGNED_NAME);
}

void add_exact_text(struct json_value v, struct buf *out)
{
	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_EXACT, out);
	else
		buf_addspan(out, json_raw(v));
}

/* Appends the number-th of ID, ID~2, ID~3, ... */
static void entry_add_numbered_name(struct span id, uint32_t number, struct buf *out)
{
	char suffix[16] = "";

	if (number > 1)
		snprintf(suffix, sizeof suffix, "~%" PRIu32, number);
	name_encode("", id, suffix, out);
}

/* Assigns entry i the first free name. */
static int entry_assign_name(struct entry_naming *n, uint32_t i)
{
	struct assigned_name odd = {.entry = i};
	struct record r;
	int rc = line_load(n->s, i, &n->line, &r);

	if (rc < 0)
		return rc;
	buf_reset(&n->id);
	add_exact_text(r.id, &n->id);
	do {
		buf_reset(&n->name);
		entry_add_numbered_name(buf_span(&n->id), ++odd.number, &n->name);
		if (buf_err(&n->id) || buf_err(&n->name))
			return -ENOMEM;
	} while (name_is_taken(n, i));
	odd.hash = name_hash(n->s, buf_span(&n->name));
	if (!assigned_names_reserve(n->s, n->s->odd.n + 1) || !vec_reserve(&n->s->odd, 1))
		return -ENOMEM;
	n->s->odd.v[n->s->odd.n++] = odd;
	*assigned_name_bucket(n->s, odd.hash) = (uint32_t)n->s->odd.n;
	session_entry_at(n->s, i)->flags |= ENTRY_ASSIGNED_NAME;
	return 0;
}

int leading_number_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int two_numbers_cmp(const void *a, const void *b)
{
	int order = leading_number_cmp(a, b);

	return order ? order : leading_number_cmp((const uint32_t *)a + 1, (const uint32_t *)b + 1);
}

int names_update(struct session *s, uint32_t from)
{
	CLEANUP(entry_naming_release) struct entry_naming n = {.s = s};
	const uint32_t *seeds = s->odd_seeds.v;
	int rc = 0;

	if (!s->odd_seeds.n)
		return 0;
	if (from == 0) {
		for (size_t k = 0; k < s->odd.n; k++)
			session_entry_at(s, s->odd.v[k].entry)->flags &= (uint16_t)~ENTRY_ASSIGNED_NAME;
		s->odd.n = s->odd_slots.n = 0;
	}
	for (uint32_t i = from > seeds[0] ? from : seeds[0]; rc == 0 && i < s->extent.entry_count; i++) {
		if (!has_flag(s, i, ENTRY_ADDRESSED))
			continue;
		/* An earlier entry can have the name that its id makes. */
		buf_reset(&n.name);
		name_encode("", session_entry_id(s, i), "", &n.name);
		if (bsearch(&i, seeds, s->odd_seeds.n, sizeof i, leading_number_cmp) ||
		    assigned_name_owner(s, buf_span(&n.name)) != NO_ENTRY)
			rc = entry_assign_name(&n, i);
	}
	return rc;
}

static void add_assigned_name(const struct session *s, uint32_t i, struct buf *out)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	CLEANUP_BUF struct buf id = BUF_INIT;
	const struct assigned_name *odd = bsearch(&i, s->odd.v, s->odd.n, sizeof *odd, leading_number_cmp);
	struct record r;
	int rc = session_load(s, i, &l, &r);

	if (rc == 0) {
		add_exact_text(r.id, &id);
		rc = buf_err(&id);
	}
	if (rc == 0)
		entry_add_numbered_name(buf_span(&id), odd->number, out);
	else if (!out->err)
		out->err = rc;
}

void session_entry_name(const struct session *s, uint32_t i, struct buf *out)
{
	if (!has_flag(s, i, ENTRY_ADDRESSED))
		buf_addf(out, "~%" PRIu32, session_entry_at(s, i)->line);
	else if (has_flag(s, i, ENTRY_ASSIGNED_NAME))
		add_assigned_name(s, i, out);
	else
		name_encode("", session_entry_id(s, i), "", out);
}

static int entry_line_cmp(const void *key, const void *p)
{
	uint64_t line = *(const uint64_t *)key, of_entry = ((const struct entry *)p)->line;

	return (line > of_entry) - (line < of_entry);
}

/* Returns the entry in this line, if ~LINE is its name. */
static uint32_t entry_by_line(const struct session *s, struct span digits)
{
	uint64_t line = 0;

	if (digits.n == 0 || digits.n > 10 || digits.p[0] == '0')
		return NO_ENTRY;
	for (size_t k = 0; k < digits.n; k++) {
		if (digits.p[k] < '0' || digits.p[k] > '9')
			return NO_ENTRY;
		line = line * 10 + (uint64_t)(digits.p[k] - '0');
	}
	const struct entry *e =
	    s->entries.n ? bsearch(&line, s->entries.v, s->entries.n, sizeof *e, entry_line_cmp) : NULL;
	return !e || e->flags & ENTRY_ADDRESSED ? NO_ENTRY : (uint32_t)(e - s->entries.v);
}

uint32_t session_entry_by_name(const struct session *s, struct span component)
{
	CLEANUP_BUF struct buf text = BUF_INIT;

	if (component.n && component.p[0] == '~')
		return entry_by_line(s, (struct span){component.p + 1, component.n - 1});
	uint32_t i = assigned_name_owner(s, component);
	if (i != NO_ENTRY)
		return i;
	i = id_name_owner(s, component, &text);
	return i == NO_ENTRY || has_flag(s, i, ENTRY_ASSIGNED_NAME) ? NO_ENTRY : i;
}
