/* SPDX-License-Identifier: MIT */
/* The rules of pi's migrateV1ToV2 and migrateV2ToV3. */
#include "sessionfs/render/migrated.h"

#include <errno.h>

static void migrated_add_key(struct buf *out, struct span key, bool *first)
{
	buf_adds(out, *first ? "\"" : ",\"");
	buf_addspan(out, key);
	buf_adds(out, "\":");
	*first = false;
}

static void migrated_add_id(const struct session *s, uint32_t i, struct buf *out)
{
	if (i == NO_ENTRY)
		buf_adds(out, "null");
	else
		json_quote(session_entry_id(s, i), out);
}

/* Appends the message; the role custom gets its current name. */
static void migrated_add_message(const struct record *r, struct buf *out)
{
	struct span all = json_raw(r->message);
	if (!format_is_old_custom(r->msg.role)) {
		buf_addspan(out, all);
		return;
	}
	const char *role = r->msg.role.text.p, *after = role + r->msg.role.text.n;
	buf_add(out, all.p, (size_t)(role - all.p));
	buf_adds(out, FORMAT_CUSTOM);
	buf_add(out, after, (size_t)(all.p + all.n - after));
}

int migrated_add_entry(const struct session *s, uint32_t i, const struct record *r, struct buf *out)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json j;
	struct json_value key, value;
	const struct format *format = session_format(s);
	bool first = true, has_id = format->has_ids, has_parent = has_id, has_kept = false;
	bool indexed =
	    format->has_kept_index && r->type == RECORD_COMPACTION && r->first_kept_entry_index.kind == JSON_NUMBER;
	uint32_t kept = indexed ? session_first_kept(s, i, r) : NO_ENTRY, above = session_entry(s, i)->parent;
	if (r->kind != JSON_OBJECT) {
		buf_addspan(out, r->line);
		return buf_err(out);
	}
	json_init(&j, r->line, &deep);
	if (json_enter(&j) != JSON_OBJECT)
		return -EINVAL;
	buf_addc(out, '{');
	while (json_next(&j, &key) > 0 && json_value(&j, &value)) {
		if (indexed && json_key_is(key, "firstKeptEntryIndex"))
			continue;
		migrated_add_key(out, key.text, &first);
		if (!format->has_ids && json_key_is(key, "id") && (has_id = true)) {
			migrated_add_id(s, i, out);
		} else if (!format->has_ids && json_key_is(key, "parentId") && (has_parent = true)) {
			migrated_add_id(s, above, out);
		} else if (kept != NO_ENTRY && json_key_is(key, "firstKeptEntryId") && (has_kept = true)) {
			migrated_add_id(s, kept, out);
		} else if (r->type == RECORD_MESSAGE && json_key_is(key, "message") && value.kind == JSON_OBJECT &&
		           value.text.p == r->message.text.p) {
			migrated_add_message(r, out);
		} else {
			buf_addspan(out, json_raw(value));
		}
	}
	if (!has_id) {
		migrated_add_key(out, SPAN_LIT("id"), &first);
		migrated_add_id(s, i, out);
	}
	if (!has_parent) {
		migrated_add_key(out, SPAN_LIT("parentId"), &first);
		migrated_add_id(s, above, out);
	}
	if (kept != NO_ENTRY && !has_kept) {
		migrated_add_key(out, SPAN_LIT("firstKeptEntryId"), &first);
		migrated_add_id(s, kept, out);
	}
	buf_addc(out, '}');
	return buf_err(&deep) ? buf_err(&deep) : buf_err(out);
}

int migrated_add_header(const struct record *header, struct buf *out)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json j;
	struct json_value key, value;
	bool first = true, versioned = false;
	json_init(&j, header->line, &deep);
	json_enter(&j);
	buf_addc(out, '{');
	while (json_next(&j, &key) > 0 && json_value(&j, &value)) {
		bool version = json_key_is(key, "version");
		versioned |= version;
		migrated_add_key(out, key.text, &first);
		buf_addspan(out, version ? SPAN_LIT(FORMAT_WRITTEN) : json_raw(value));
	}
	if (!versioned) {
		migrated_add_key(out, SPAN_LIT("version"), &first);
		buf_adds(out, FORMAT_WRITTEN);
	}
	buf_addc(out, '}');
	return buf_err(&deep) ? buf_err(&deep) : buf_err(out);
}
