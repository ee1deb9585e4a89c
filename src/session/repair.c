/* SPDX-License-Identifier: MIT */
/* Two passes: the first finds the pieces of the file that are entries, the second writes them. */
#include "sessionfs/session/repair.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/json/json.h"
#include "record_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { REPAIR_READ_SIZE = LIMIT(64 * 1024, 100), REPAIR_CHANGES_MAX = LIMIT(100000, 3) };
/* Entries are searched for in a damaged line until this many times its bytes were parsed. */
enum { REPAIR_PARSE_FACTOR = 256 };

#define NO_PIECE SIZE_MAX

/* A part of the file that is whole JSON, and not falsy. */
struct piece {
	uint64_t off;
	size_t n;
	uint64_t id, parent; /* hashes; 0: none */
	size_t anchor;       /* the entry before it in the file, or NO_PIECE */
	size_t up;           /* its parent, or NO_PIECE; of a copy that is dropped, the entry that is kept */
	uint32_t line;
	uint32_t new_id; /* which of the ids made from its place it gets, from 1; 0: it keeps its own */
	bool is_header, is_dropped;
	bool is_taken, is_written; /* by the second pass: chosen with its parents, and written */
	bool has_new_parent;
};

struct piece_id {
	uint64_t hash;
	size_t piece;
};

struct repair {
	int fd;
	uint64_t size;
	const char *name; /* of the file; the caller's, for repair_open */
	struct hash_key key;
	VEC(struct piece) pieces;
	VEC(struct piece_id) ids; /* by hash, then by piece */
	VEC(struct change {
		uint64_t at; /* its line << 32, and its number among the changes */
		char what[112];
	})
	changes;
	bool has_entry;   /* something that pi can show */
	bool has_orphan;  /* an entry will get another parent when it is written */
	size_t changed;   /* also those that are not listed */
	size_t last;      /* the last entry with an id, or NO_PIECE */
	struct buf head;  /* the whole members of a torn header before the first entry */
	struct buf bytes; /* a piece */
	struct buf text;  /* a decoded id */
	struct buf deep;
	struct buf header; /* the header that was lost; or empty */
};

static void repair_add_change(struct repair *r, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void repair_add_change(struct repair *r, uint32_t line, const char *format, ...)
{
	va_list ap;

	if (r->changed++ >= REPAIR_CHANGES_MAX || !vec_reserve(&r->changes, 1))
		return;
	struct change *c = &r->changes.v[r->changes.n];
	c->at = (uint64_t)line << 32 | r->changes.n++;
	va_start(ap, format);
	vsnprintf(c->what, sizeof c->what, format, ap);
	va_end(ap);
}

static int change_cmp(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* --- pieces ------------------------------------------------------------------------ */

enum { FIELD_TYPE, FIELD_ID, FIELD_PARENT, FIELD_TIME, FIELD_VERSION, FIELDS };
static const struct span field_names[FIELDS] = {SPAN_LIT("type"), SPAN_LIT("id"), SPAN_LIT("parentId"),
                                                SPAN_LIT("timestamp"), SPAN_LIT("version")};

static uint64_t repair_hash_id(struct repair *r, struct json_value v)
{
	if (v.kind != JSON_STRING && v.kind != JSON_NUMBER)
		return 0;
	double number;
	r->text.n = 0; /* keeps its error */
	if (!json_double(v, &number))
		json_decode(v.text, JSON_EXACT, &r->text);
	else /* 7 and 7.0 are the same, and so are 0 and -0 */
		buf_add(&r->text, &(double){number + 0}, sizeof number);
	uint64_t hash = hash_bytes(&r->key, v.kind, r->text.p, r->text.n);
	return hash ? hash : 1;
}

/* Returns whether the object at p is the value of a member, or follows another value. */
static bool is_after_value(const char *begin, const char *p)
{
	while (p > begin && json_is_space(p[-1]))
		p--;
	return p > begin && memchr(":,[", p[-1], 3);
}

/* Keeps the header that lost bytes begin, up to its last whole member. Not from the arguments of a torn call. */
static void repair_keep_header(struct repair *r, struct span text)
{
	const char *end = text.p + text.n, *whole = NULL;
	struct json_value key, v;
	struct json j;

	for (const char *p = text.p; !whole && (p = memchr(p, '{', (size_t)(end - p))); p++) {
		if (is_after_value(text.p, p))
			continue;
		json_init(&j, (struct span){p, (size_t)(end - p)}, NULL);
		json_enter(&j);
		/* A number at the end can lack digits. */
		while (json_next(&j, &key) > 0 &&
		       (whole || (json_key_is(key, "type") && json_peek(&j) == JSON_STRING)) && json_value(&j, &v) &&
		       (whole ? v.kind != JSON_NUMBER || j.p < end : json_equals(v, "session")))
			whole = j.p;
		if (whole)
			buf_add(&r->head, p, (size_t)(whole - p));
	}
}

static void repair_lose(struct repair *r, struct span text, uint32_t line)
{
	if (text.n == 0)
		return;
	repair_add_change(r, line, "lost %zu bytes: not a whole entry", text.n);
	if (r->pieces.n == 0 && r->head.n == 0)
		repair_keep_header(r, text);
}

/* Adds a whole JSON value. pi ignores a value that is falsy. */
static int repair_add_piece(struct repair *r, struct json_value json, uint64_t off, uint32_t line)
{
	struct span text = json_raw(json);
	struct json_value v[FIELDS] = {{0}};

	if (!json_is_truthy(json))
		return 0;
	if (json.kind == JSON_OBJECT)
		json_get_all(json, field_names, FIELDS, v);
	bool is_session = json_equals(v[FIELD_TYPE], "session");
	if (is_session && v[FIELD_ID].kind != JSON_STRING) {
		repair_lose(r, text, line);
		return 0;
	}
	if (!vec_reserve(&r->pieces, 1) || !vec_reserve(&r->ids, 1))
		return -ENOMEM;
	struct piece *p = &r->pieces.v[r->pieces.n];
	*p = (struct piece){
	    .off = off, .n = text.n, .line = line, .anchor = r->last, .up = NO_PIECE, .is_header = is_session};
	r->has_entry |= json.kind == JSON_OBJECT && v[FIELD_TYPE].kind == JSON_STRING;
	if (!is_session) {
		p->id = repair_hash_id(r, v[FIELD_ID]);
		p->parent = json_is_truthy(v[FIELD_PARENT]) ? repair_hash_id(r, v[FIELD_PARENT]) : 0;
	}
	if (p->id) {
		r->last = r->pieces.n;
		r->ids.v[r->ids.n++] = (struct piece_id){p->id, r->pieces.n};
	}
	r->pieces.n++;
	return buf_err(&r->text);
}

/* Finds the entries in damaged text. */
static int repair_search(struct repair *r, struct span text, uint64_t off, uint32_t line)
{
	const char *p = text.p, *end = text.p + text.n, *lost = text.p;
	size_t budget = text.n > SIZE_MAX / REPAIR_PARSE_FACTOR ? SIZE_MAX : text.n * REPAIR_PARSE_FACTOR;
	struct json_value v;
	struct json j;
	int rc = 0;

	while (rc == 0 && budget > 0 && (p = memmem(p, (size_t)(end - p), "{\"", 2))) {
		json_init(&j, (struct span){p, (size_t)(end - p)}, &r->deep);
		bool is_whole = json_value(&j, &v);
		size_t parsed = (size_t)((is_whole ? j.p : end) - p);
		budget -= parsed < budget ? parsed : budget;
		/* The blocks of a torn message have other types and no time, and the time of a message is a number. */
		struct json_value field[FIELDS] = {{0}};
		if (is_whole)
			json_get_all(v, field_names, FIELDS, field);
		bool is_session = json_equals(field[FIELD_TYPE], "session");
		bool is_entry = is_session || record_type_of(field[FIELD_TYPE]) ||
		                (field[FIELD_TYPE].kind == JSON_STRING && field[FIELD_TIME].kind == JSON_STRING);
		json_peek(&j); /* goes to what follows */
		/* A call can write a header of another session. */
		struct span id = field[FIELD_ID].text;
		bool is_other = is_session && (id.n == 0 || !memmem(r->name, strlen(r->name), id.p, id.n));
		bool is_part = is_after_value(text.p, p) && (is_other || (j.p < end && memchr("}],", *j.p, 3)));
		if (is_entry && !is_part) {
			repair_lose(r, (struct span){lost, (size_t)(p - lost)}, line);
			rc = repair_add_piece(r, v, off + (uint64_t)(p - text.p), line);
			lost = j.p;
		}
		p = is_whole ? j.p : p + 1;
		rc = rc < 0 ? rc : cancel_check();
	}
	repair_lose(r, (struct span){lost, (size_t)(end - lost)}, line);
	return rc < 0 ? rc : buf_err(&r->deep);
}

/* Adds the text between two newlines or NULs. */
static int repair_add_text(struct repair *r, struct span text, uint64_t off, uint32_t line)
{
	static const char bom[] = "\xef\xbb\xbf";
	size_t skip = off == 0 && text.n >= 3 && memcmp(text.p, bom, 3) == 0 ? 3 : 0;

	if (skip)
		repair_add_change(r, line, "dropped a byte order mark");
	while (skip < text.n && json_is_space(text.p[skip]))
		skip++;
	while (text.n > skip && json_is_space(text.p[text.n - 1]))
		text.n--;
	text = (struct span){text.p + skip, text.n - skip};
	if (text.n == 0)
		return 0;
	struct json_value v;
	struct json j;
	json_init(&j, text, &r->deep);
	if (json_value(&j, &v) && json_at_end(&j))
		return repair_add_piece(r, v, off + skip, line);
	size_t before = r->pieces.n;
	int rc = repair_search(r, text, off + skip, line);
	if (r->pieces.n - before > 1)
		repair_add_change(r, line, "split into %zu entries", r->pieces.n - before);
	return rc;
}

static int repair_read(struct repair *r)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	char block[REPAIR_READ_SIZE];
	uint64_t off = 0, begin = 0, nuls = 0;
	uint32_t line = 1;
	int rc = 0;

	while (rc == 0 && off < r->size) {
		size_t want = r->size - off < sizeof block ? (size_t)(r->size - off) : sizeof block;
		ssize_t n = file_pread(r->fd, block, want, off);
		if (n <= 0)
			return n < 0 ? (int)n : -ESTALE;
		for (size_t i = 0, from = 0; rc == 0 && i <= (size_t)n; i++) {
			bool is_end = i < (size_t)n && (block[i] == '\n' || block[i] == '\0');
			if (i < (size_t)n && !is_end)
				continue;
			buf_add(&text, block + from, i - from);
			from = i + 1;
			if (!is_end)
				break;
			nuls += block[i] == '\0';
			rc = buf_err(&text) ? buf_err(&text) : repair_add_text(r, buf_span(&text), begin, line);
			buf_reset(&text);
			begin = off + i + 1;
			if (block[i] == '\n' && nuls > 0)
				repair_add_change(r, line, "dropped %" PRIu64 " NUL bytes", nuls);
			nuls = block[i] == '\n' ? 0 : nuls;
			line += block[i] == '\n';
		}
		off += (uint64_t)n;
		rc = rc < 0 ? rc : buf_err(&text);
		rc = rc < 0 ? rc : cancel_check();
	}
	if (nuls > 0)
		repair_add_change(r, line, "dropped %" PRIu64 " NUL bytes", nuls);
	return rc < 0 ? rc : repair_add_text(r, buf_span(&text), begin, line);
}

/* Loads a piece to r->bytes. */
static int repair_load(struct repair *r, const struct piece *p)
{
	buf_reset(&r->bytes);
	char *to = buf_reserve(&r->bytes, p->n + 1);
	size_t n = 0;

	for (ssize_t got = 1; to && n < p->n && got > 0; n += (size_t)got) {
		got = file_pread(r->fd, to + n, p->n - n, p->off + n);
		if (got <= 0)
			return got < 0 ? (int)got : -ESTALE;
	}
	r->bytes.n = to ? n : 0;
	return to ? 0 : -ENOMEM;
}

/* --- ids and order ------------------------------------------------------------------- */

static int piece_id_cmp(const void *a, const void *b)
{
	const struct piece_id *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->piece > y->piece) - (x->piece < y->piece);
}

/* Returns the number of the first id that is not before (hash, piece). */
static size_t repair_find_id(const struct repair *r, uint64_t hash, size_t piece)
{
	const struct piece_id wanted = {hash, piece};
	size_t low = 0, high = r->ids.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (piece_id_cmp(&r->ids.v[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the parent of entry i: of several with that id the last one before it, or NO_PIECE. */
static size_t repair_find_parent(const struct repair *r, size_t i)
{
	uint64_t hash = r->pieces.v[i].parent;
	size_t at = repair_find_id(r, hash, i);

	if (at > 0 && r->ids.v[at - 1].hash == hash)
		return r->ids.v[at - 1].piece;
	at += at < r->ids.n && r->ids.v[at].piece == i;
	return hash && at < r->ids.n && r->ids.v[at].hash == hash ? r->ids.v[at].piece : NO_PIECE;
}

/* Sets *ret to whether both pieces have the same bytes. */
static int repair_compare(struct repair *r, const struct piece *a, const struct piece *b, bool *ret)
{
	struct buf other CLEANUP_BUF = BUF_INIT;
	int rc = a->n == b->n ? repair_load(r, a) : 0;

	*ret = false;
	if (rc < 0 || a->n != b->n)
		return rc;
	buf_addspan(&other, buf_span(&r->bytes));
	rc = repair_load(r, b);
	*ret = rc == 0 && span_eq(buf_span(&r->bytes), buf_span(&other));
	return rc < 0 ? rc : buf_err(&other);
}

/* Appends the new id of an entry as JSON. No id is made from two places. */
static void piece_add_new_id(const struct piece *p, struct buf *out)
{
	buf_addf(out, "\"%08x", (unsigned)((uint32_t)p->off * UINT32_C(0x9e3779b1)));
	if (p->new_id > 1)
		buf_addf(out, "-%x", (unsigned)p->new_id);
	if (p->off > UINT32_MAX)
		buf_addf(out, ".%x", (unsigned)(p->off >> 32));
	buf_addc(out, '"');
}

/* Returns whether an entry of the file has the new id of p. */
static bool repair_has_new_id(struct repair *r, const struct piece *p)
{
	r->bytes.n = 0; /* keeps its error */
	piece_add_new_id(p, &r->bytes);
	if (buf_err(&r->bytes))
		return false;
	uint64_t hash = repair_hash_id(r, (struct json_value){JSON_STRING, false, {r->bytes.p + 1, r->bytes.n - 2}});
	size_t at = repair_find_id(r, hash, 0);
	return at < r->ids.n && r->ids.v[at].hash == hash;
}

/* Drops copies. Of entries with one id pi reads the last: the others get new ids. */
static int repair_ids(struct repair *r)
{
	size_t kept = 0; /* ids that no copy has */

	if (r->ids.n > 0)
		qsort(r->ids.v, r->ids.n, sizeof *r->ids.v, piece_id_cmp);
	for (size_t i = 0; i < r->ids.n; i++) {
		struct piece *p = &r->pieces.v[r->ids.v[i].piece];
		if (kept > 0 && r->ids.v[kept - 1].hash == r->ids.v[i].hash) {
			struct piece *before = &r->pieces.v[r->ids.v[kept - 1].piece];
			int rc = repair_compare(r, before, p, &p->is_dropped);
			rc = rc < 0 ? rc : cancel_check();
			if (rc < 0)
				return rc;
			before->new_id = !p->is_dropped;
			if (p->is_dropped)
				p->up = r->ids.v[kept - 1].piece;
			else
				before->up = r->ids.v[i].piece;
		}
		if (!p->is_dropped)
			r->ids.v[kept++] = r->ids.v[i];
	}
	r->ids.n = kept;
	for (struct piece *p = r->pieces.v, *end = p + r->pieces.n; p < end; p++) {
		while (p->new_id && repair_has_new_id(r, p))
			p->new_id++;
		if (p->new_id)
			repair_add_change(r, p->line, "gave the entry a new id: line %u repeats it",
			                  r->pieces.v[p->up].line);
		else if (p->up != NO_PIECE)
			repair_add_change(r, p->line, "dropped a copy of line %u", r->pieces.v[p->up].line);
	}
	return buf_err(&r->bytes) ? buf_err(&r->bytes) : buf_err(&r->text);
}

/* Returns the entry before entry i, or NO_PIECE. A copy that was dropped leads to the entry that was kept. */
static size_t repair_entry_before(const struct repair *r, size_t i)
{
	size_t before = r->pieces.v[i].anchor;

	while (before != NO_PIECE && r->pieces.v[before].is_dropped)
		before = r->pieces.v[before].up;
	return before;
}

/* Gives a parent to entry i, which has none before it: `circle` says that its parents lead back to it. If its parent is
 * not in the file, it continues from the entry before it. If that is not written yet, because i is moved before
 * `child`, it continues from the entry before the child. */
static void repair_set_root(struct repair *r, size_t i, bool circle, size_t child)
{
	struct piece *p = &r->pieces.v[i];
	size_t before = repair_entry_before(r, i);

	if (before != NO_PIECE && !r->pieces.v[before].is_written)
		before = repair_entry_before(r, child);
	if (circle || (p->parent && p->parent == p->id)) {
		p->up = NO_PIECE;
		p->has_new_parent = true;
		repair_add_change(r, p->line, "its parents lead in a circle: it begins a tree now");
	} else if (p->parent && before != NO_PIECE) {
		p->up = before;
		p->has_new_parent = true;
		repair_add_change(r, p->line, "the parent of line %u is not in the file: it continues from line %u",
		                  p->line, r->pieces.v[before].line);
	}
}

/* Finds the parents, and those that come after a child. */
static void repair_parents(struct repair *r)
{
	for (size_t i = 0; i < r->pieces.n; i++) {
		struct piece *p = &r->pieces.v[i];
		if (p->is_dropped)
			continue;
		p->up = p->parent ? repair_find_parent(r, i) : NO_PIECE;
		if (p->up == NO_PIECE) {
			r->has_orphan |= p->parent && (p->anchor != NO_PIECE || p->parent == p->id);
			continue;
		}
		p->has_new_parent = r->pieces.v[p->up].new_id;
		if (p->up > i)
			repair_add_change(r, r->pieces.v[p->up].line, "moved before its child in line %u", p->line);
	}
}

/* --- the header ---------------------------------------------------------------------- */

/* Makes a header from what is left of the lost one and from the file's name, which pi makes of time and id; without a
 * time there, from the first entry. */
static int repair_make_header(struct repair *r)
{
	const char *name = r->name;
	const char *id = strrchr(name, '_'), *dot = strstr(name, ".jsonl");
	struct json_value has[FIELDS] = {{0}}, time = {JSON_STRING, false, {NULL, 0}};
	char text[sizeof "2026-03-02T10:00:00.000Z"] = "";
	struct buf *out = &r->header;
	int rc = repair_load(r, &r->pieces.v[0]);

	if (strlen(name) >= sizeof text && name[sizeof text - 1] == '_')
		snprintf(text, sizeof text, "%.13s:%.2s:%.2s.%.4s", name, name + 14, name + 17, name + 20);
	time.text = span_of(text);
	if (record_time(time) != NO_TIME)
		id = name + time.text.n;
	else
		time = json_get((struct json_value){JSON_OBJECT, false, buf_span(&r->bytes)}, "timestamp");
	id = id ? id + 1 : name;
	if (r->head.n == 0)
		buf_adds(&r->head, "{\"type\":\"session\"");
	buf_addspan(out, buf_span(&r->head));
	buf_addc(&r->head, '}');
	json_get_all((struct json_value){JSON_OBJECT, false, buf_span(&r->head)}, field_names, FIELDS, has);
	/* Entries have ids since version 2, whose only other difference pi accepts. */
	if (r->ids.n > 0 && has[FIELD_VERSION].kind == JSON_NONE)
		buf_adds(out, ",\"version\":3");
	if (has[FIELD_ID].kind != JSON_STRING) {
		buf_adds(out, ",\"id\":");
		json_quote((struct span){id, dot > id ? (size_t)(dot - id) : strlen(id)}, out);
	}
	if (has[FIELD_TIME].kind != JSON_STRING && time.kind == JSON_STRING) {
		buf_adds(out, ",\"timestamp\":\"");
		buf_addspan(out, time.text);
		buf_addc(out, '"');
	}
	buf_adds(out, "}\n");
	repair_add_change(r, 1, "made the header that was lost");
	rc = rc < 0 ? rc : buf_err(&r->head);
	return rc < 0 ? rc : buf_err(out);
}

/* Puts a header first. */
static int repair_header(struct repair *r)
{
	size_t i = 0;

	while (i < r->pieces.n && !r->pieces.v[i].is_header)
		i++;
	if (i == r->pieces.n)
		return repair_make_header(r);
	if (i == 0)
		return 0;
	repair_add_change(r, r->pieces.v[i].line, "moved the header to the first line");
	r->pieces.v[i].is_dropped = true;
	int rc = repair_load(r, &r->pieces.v[i]);
	buf_addspan(&r->header, buf_span(&r->bytes));
	buf_addc(&r->header, '\n');
	return rc < 0 ? rc : buf_err(&r->header);
}

/* --- all ------------------------------------------------------------------------------ */

int repair_open(int fd, uint64_t size, const char *name, struct repair **ret)
{
	struct repair *r = calloc(1, sizeof *r);

	if (!r)
		return -ENOMEM;
	*r = (struct repair){.fd = fd, .size = size, .name = name, .last = NO_PIECE};
	hash_key_draw(&r->key);
	int rc = repair_read(r);
	rc = rc == 0 && !r->has_entry ? -ENODATA : rc;
	rc = rc < 0 ? rc : repair_header(r);
	rc = rc < 0 ? rc : repair_ids(r);
	if (rc < 0) {
		repair_close(r);
		return rc;
	}
	repair_parents(r);
	*ret = r;
	return 0;
}

void repair_close(struct repair *r)
{
	if (!r)
		return;
	vec_release(&r->pieces);
	vec_release(&r->ids);
	vec_release(&r->changes);
	buf_release(&r->head);
	buf_release(&r->bytes);
	buf_release(&r->text);
	buf_release(&r->deep);
	buf_release(&r->header);
	free(r);
}

bool repair_is_sound(const struct repair *r)
{
	return r->changed == 0 && !r->has_orphan;
}

void repair_each_change(const struct repair *r, void (*fn)(void *arg, uint32_t line, const char *what), void *arg)
{
	char more[64];

	if (r->changes.n > 0)
		qsort(r->changes.v, r->changes.n, sizeof *r->changes.v, change_cmp);
	for (size_t i = 0; i < r->changes.n; i++)
		fn(arg, (uint32_t)(r->changes.v[i].at >> 32), r->changes.v[i].what);
	if (r->changed == r->changes.n)
		return;
	snprintf(more, sizeof more, "and %zu more changes", r->changed - r->changes.n);
	fn(arg, r->changes.n > 0 ? (uint32_t)(r->changes.v[r->changes.n - 1].at >> 32) : 1, more);
}

/* Appends the id of an entry as JSON. */
static int repair_add_id(struct repair *r, size_t i, struct buf *out)
{
	const struct piece *p = &r->pieces.v[i];
	int rc = 0;

	if (p->new_id) {
		piece_add_new_id(p, out);
	} else {
		rc = repair_load(r, p);
		struct json_value v = json_get((struct json_value){JSON_OBJECT, false, buf_span(&r->bytes)}, "id");
		buf_addspan(out, json_raw(v));
	}
	return rc < 0 ? rc : buf_err(out);
}

/* Replaces the value of a member in r->bytes. */
static int repair_replace(struct repair *r, const char *name, struct span value)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	struct json_value v = json_get((struct json_value){JSON_OBJECT, false, buf_span(&r->bytes)}, name);
	struct span old = json_raw(v);

	if (v.kind == JSON_NONE)
		return 0;
	buf_add(&made, r->bytes.p, (size_t)(old.p - r->bytes.p));
	buf_addspan(&made, value);
	buf_add(&made, old.p + old.n, (size_t)(r->bytes.p + r->bytes.n - old.p) - old.n);
	buf_reset(&r->bytes);
	buf_addspan(&r->bytes, buf_span(&made));
	return buf_err(&made) ? buf_err(&made) : buf_err(&r->bytes);
}

static int repair_write_piece(struct repair *r, size_t i, int (*put)(void *arg, struct span bytes), void *arg)
{
	struct buf id CLEANUP_BUF = BUF_INIT, parent CLEANUP_BUF = BUF_INIT;
	const struct piece *p = &r->pieces.v[i];
	int rc = p->new_id ? repair_add_id(r, i, &id) : 0;

	if (rc == 0 && p->has_new_parent && p->up != NO_PIECE)
		rc = repair_add_id(r, p->up, &parent);
	else
		buf_adds(&parent, "null");
	rc = rc < 0 ? rc : repair_load(r, p);
	rc = rc == 0 && p->new_id ? repair_replace(r, "id", buf_span(&id)) : rc;
	rc = rc == 0 && p->has_new_parent ? repair_replace(r, "parentId", buf_span(&parent)) : rc;
	buf_addc(&r->bytes, '\n');
	rc = rc < 0 ? rc : buf_err(&r->bytes);
	return rc < 0 ? rc : put(arg, buf_span(&r->bytes));
}

/* Writes entry i after the parents that come later in the file. */
static int repair_write_branch(struct repair *r, size_t i, int (*put)(void *arg, struct span bytes), void *arg)
{
	VEC(size_t) path = {0};
	size_t k = i;
	int rc = 0;

	for (; rc == 0 && k != NO_PIECE && !r->pieces.v[k].is_taken; k = r->pieces.v[k].up) {
		rc = vec_reserve(&path, 1) ? 0 : -ENOMEM;
		if (rc < 0)
			break;
		r->pieces.v[k].is_taken = true;
		path.v[path.n++] = k;
	}
	if (path.n > 0 && (k == NO_PIECE || !r->pieces.v[k].is_written))
		repair_set_root(r, path.v[path.n - 1], k != NO_PIECE, i);
	while (rc == 0 && path.n > 0) {
		rc = repair_write_piece(r, path.v[--path.n], put, arg);
		r->pieces.v[path.v[path.n]].is_written = true;
	}
	vec_release(&path);
	return rc;
}

int repair_write(struct repair *r, int (*put)(void *arg, struct span bytes), void *arg)
{
	struct piece all = {.n = REPAIR_READ_SIZE};
	int rc = r->header.n > 0 ? put(arg, buf_span(&r->header)) : 0;

	for (; rc == 0 && repair_is_sound(r) && all.off < r->size; all.off += all.n) {
		all.n = r->size - all.off < all.n ? (size_t)(r->size - all.off) : all.n;
		rc = repair_load(r, &all);
		rc = rc < 0 ? rc : put(arg, buf_span(&r->bytes));
	}
	for (size_t i = 0; rc == 0 && !repair_is_sound(r) && i < r->pieces.n; i++) {
		if (!r->pieces.v[i].is_dropped)
			rc = repair_write_branch(r, i, put, arg);
		rc = rc < 0 ? rc : cancel_check();
	}
	return rc;
}
