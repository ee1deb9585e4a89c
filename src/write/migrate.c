/* SPDX-License-Identifier: MIT */
/* The rules are those of pi's migrateV1ToV2 and migrateV2ToV3: keys keep their
 * places, new ones come last. Values that do not change are copied as they stand. */
#include "sessionfs/write/migrate.h"

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/limits.h"

#include <errno.h>
#include <unistd.h>

#define FLUSH_AT ((size_t)LIMIT(1 << 20, 64))

struct migration {
	const struct session *s;
	int fd;
	struct buf out;
};

static int flush(struct migration *m)
{
	if (buf_err(&m->out))
		return buf_err(&m->out);
	for (size_t done = 0; done < m->out.n;) {
		ssize_t n = write(m->fd, m->out.p + done, m->out.n - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	buf_reset(&m->out);
	return 0;
}

static void migrate_add_key(struct buf *out, struct span key, bool *first)
{
	buf_adds(out, *first ? "\"" : ",\"");
	buf_addspan(out, key);
	buf_adds(out, "\":");
	*first = false;
}

static void migrate_add_id(struct migration *m, uint32_t i)
{
	if (i == NO_ENTRY)
		buf_adds(&m->out, "null");
	else
		json_quote(session_entry_id(m->s, i), &m->out);
}

/* The entry before i: v1 files are linear. */
static uint32_t before(uint32_t i)
{
	return i == 0 ? NO_ENTRY : i - 1;
}

/* The message; the role custom gets its current name. */
static void migrate_add_message(struct migration *m, const struct record *r)
{
	struct span all = json_raw(r->message);
	if (!format_is_old_custom(r->msg.role)) {
		buf_addspan(&m->out, all);
		return;
	}
	const char *role = r->msg.role.text.p, *after = role + r->msg.role.text.n;
	buf_add(&m->out, all.p, (size_t)(role - all.p));
	buf_adds(&m->out, FORMAT_CUSTOM);
	buf_add(&m->out, after, (size_t)(all.p + all.n - after));
}

static int migrate_add_entry(struct migration *m, uint32_t i, const struct record *r)
{
	struct json j;
	struct json_value key, value;
	bool first = true, has_id = false, has_parent = false, has_kept = false;
	bool indexed = r->type == RECORD_COMPACTION && r->first_kept_entry_index.kind == JSON_NUMBER;
	uint32_t kept = indexed ? session_first_kept(m->s, i, r) : NO_ENTRY;
	json_init(&j, r->line, NULL);
	if (json_enter(&j) != JSON_OBJECT)
		return -EINVAL;
	buf_addc(&m->out, '{');
	while (json_next(&j, &key) > 0 && json_value(&j, &value)) {
		if (indexed && json_key_is(key, "firstKeptEntryIndex"))
			continue;
		migrate_add_key(&m->out, key.text, &first);
		if (json_key_is(key, "id") && (has_id = true)) {
			migrate_add_id(m, i);
		} else if (json_key_is(key, "parentId") && (has_parent = true)) {
			migrate_add_id(m, before(i));
		} else if (kept != NO_ENTRY && json_key_is(key, "firstKeptEntryId") && (has_kept = true)) {
			migrate_add_id(m, kept);
		} else if (r->type == RECORD_MESSAGE && json_key_is(key, "message") && value.kind == JSON_OBJECT &&
		           value.text.p == r->message.text.p) {
			migrate_add_message(m, r);
		} else {
			buf_addspan(&m->out, json_raw(value));
		}
	}
	if (!has_id) {
		migrate_add_key(&m->out, SPAN_LIT("id"), &first);
		migrate_add_id(m, i);
	}
	if (!has_parent) {
		migrate_add_key(&m->out, SPAN_LIT("parentId"), &first);
		migrate_add_id(m, before(i));
	}
	if (kept != NO_ENTRY && !has_kept) {
		migrate_add_key(&m->out, SPAN_LIT("firstKeptEntryId"), &first);
		migrate_add_id(m, kept);
	}
	buf_adds(&m->out, "}\n");
	return buf_err(&m->out);
}

static void migrate_add_header(struct migration *m, const struct record *r)
{
	struct json j;
	struct json_value key, value;
	bool first = true, versioned = false;
	json_init(&j, r->line, NULL);
	json_enter(&j);
	buf_addc(&m->out, '{');
	while (json_next(&j, &key) > 0 && json_value(&j, &value)) {
		bool version = json_key_is(key, "version");
		versioned |= version;
		migrate_add_key(&m->out, key.text, &first);
		buf_addspan(&m->out, version ? SPAN_LIT(FORMAT_WRITTEN) : json_raw(value));
	}
	if (!versioned) {
		migrate_add_key(&m->out, SPAN_LIT("version"), &first);
		buf_adds(&m->out, FORMAT_WRITTEN);
	}
	buf_adds(&m->out, "}\n");
}

/* Copies the headers between entries. Other lines there do not parse, or mean nothing to pi. */
static int add_between(struct migration *m, uint64_t from, uint64_t to)
{
	struct buf gap CLEANUP_BUF = BUF_INIT, deep CLEANUP_BUF = BUF_INIT;
	if (to <= from)
		return 0;
	for (char piece[65536]; from < to;) {
		ssize_t n = session_pread(m->s, piece, to - from < sizeof piece ? to - from : sizeof piece, from);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		buf_add(&gap, piece, (size_t)n);
		from += (uint64_t)n;
	}
	if (buf_err(&gap))
		return buf_err(&gap);
	struct span rest = buf_span(&gap), line;
	while (span_line(&rest, &line)) {
		struct record r;
		if (record_parse(line, session_format(m->s), &deep, &r) && r.type == RECORD_SESSION)
			migrate_add_header(m, &r);
	}
	return buf_err(&m->out);
}

static int migrate_add_all(struct migration *m)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	uint64_t at = 0;
	uint32_t n = session_count(m->s);
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = session_entry(m->s, i);
		struct record r;
		int rc = add_between(m, at, e->offset);
		if (rc == 0)
			rc = session_load(m->s, i, &line, &r);
		if (rc < 0)
			return rc;
		if (r.kind == JSON_OBJECT) {
			rc = migrate_add_entry(m, i, &r);
		} else {
			buf_addspan(&m->out, r.line);
			buf_addc(&m->out, '\n');
		}
		if (rc == 0 && m->out.n > FLUSH_AT)
			rc = flush(m);
		if (rc < 0)
			return rc;
		at = e->offset + e->length;
	}
	int rc = add_between(m, at, (uint64_t)session_stat(m->s)->st_size);
	return rc < 0 ? rc : flush(m);
}

int migrate_write(const struct session *s, int fd)
{
	struct migration m = {.s = s, .fd = fd, .out = BUF_INIT};
	int deferred = deferred_begin();
	int rc = deferred_end(deferred, migrate_add_all(&m));
	buf_release(&m.out);
	return rc;
}
