/* SPDX-License-Identifier: MIT */
/* entries/: a directory for each entry. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/session/context.h"
#include "rows.h"

#include <errno.h>

void append_entry_path(struct ctx *c, const char *up, uint32_t i, struct buf *out)
{
	buf_adds(out, up);
	session_entry_name(c->session, i, out);
}

static void entry_name(struct ctx *c, uint32_t i, struct buf *out)
{
	session_entry_name(c->session, i, out);
}

int entry_list_child(struct ctx *dir, const struct lister *l, uint32_t i,
                     void (*called)(struct ctx *, uint32_t, struct buf *), struct buf *name)
{
	buf_reset(name);
	called(dir, i, name);
	if (buf_err(name))
		return buf_err(name);
	return list_emit_child(dir, l, (struct node){.slot = dir->node.slot, .entry = i}, buf_span(name),
	                       COOKIE_DYNAMIC + 1 + (uint64_t)i);
}

static int entry_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	uint32_t n = session_count(dir->session);
	for (uint64_t i = cookie; i < n; i++)
		if (entry_list_child(dir, l, (uint32_t)i, entry_name, &name))
			break;
	return buf_err(&name);
}

static int entry_match(struct ctx *dir, struct span name, struct node *ret)
{
	uint32_t i = session_entry_by_name(dir->session, name);
	if (i == NO_ENTRY)
		return -ENOENT;
	ret->entry = i;
	return 0;
}

void append_entry_name_line(struct ctx *c, uint32_t i, struct buf *out)
{
	session_entry_name(c->session, i, out);
	buf_addc(out, '\n');
}

static bool parent_exists(struct ctx *c)
{
	return session_entry(c->session, c->node.entry)->parent != NO_ENTRY;
}

static int parent_show(struct ctx *c, struct buf *out)
{
	uint32_t parent = session_entry(c->session, c->node.entry)->parent;
	if (parent == NO_ENTRY)
		return -ESTALE;
	append_entry_name_line(c, parent, out);
	return 0;
}

static bool children_exist(struct ctx *c)
{
	return session_entry(c->session, c->node.entry)->child != NO_ENTRY;
}

static int children_show(struct ctx *c, struct buf *out)
{
	uint32_t *children CLEANUP_FREE = NULL;
	size_t n;
	int rc = session_children(c->session, c->node.entry, &children, &n);
	for (size_t i = 0; i < n && rc == 0; i++) {
		append_entry_name_line(c, children[i], out);
		rc = cancel_check();
	}
	return rc;
}

/* The size does not depend on their order. */
static int children_size(struct ctx *c, uint64_t *ret)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	int rc = 0;
	*ret = 0;
	uint32_t i = session_entry(c->session, c->node.entry)->child;
	for (; i != NO_ENTRY && rc == 0; i = session_entry(c->session, i)->sibling) {
		buf_reset(&name);
		append_entry_name_line(c, i, &name);
		*ret += name.n;
		rc = buf_err(&name) ? buf_err(&name) : cancel_check();
	}
	return rc;
}

static bool call_of_exists(struct ctx *c)
{
	unsigned n;
	return session_entry(c->session, c->node.entry)->role == ROLE_TOOL_RESULT &&
	       session_call(c->session, c->node.entry, &n) != NO_ENTRY;
}

static int call_of_show(struct ctx *c, struct buf *out)
{
	unsigned n;
	uint32_t caller = session_call(c->session, c->node.entry, &n);
	if (caller == NO_ENTRY)
		return -ESTALE;
	session_entry_name(c->session, caller, out);
	buf_adds(out, "/tool-calls/");
	int rc = call_append_name_of(c, caller, n, out);
	buf_addc(out, '\n');
	return rc;
}

static int entry_json_size(struct ctx *c, uint64_t *ret)
{
	*ret = (uint64_t)session_entry(c->session, c->node.entry)->length + 1;
	return 0;
}

/* The line as stored in the file, plus a newline. */
static int entry_json_part(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	const struct entry *e = session_entry(c->session, c->node.entry);
	if (off > e->length || n == 0)
		return 0;
	size_t left = e->length - (size_t)off, k = n < left ? n : left;
	size_t before = out->n;
	int rc = session_add_bytes(c, e->offset + off, k, out);
	if (rc < 0 || out->n - before != k)
		return rc < 0 ? rc : -ESTALE;
	if (k < n)
		buf_addc(out, '\n');
	return 0;
}

static size_t usage_show(const struct record *r, struct buf *out)
{
	struct json_value usage = part_usage(r);
	if (usage.kind == JSON_NONE)
		return 0;
	if (out) {
		buf_addspan(out, json_raw(usage));
		buf_addc(out, '\n');
	}
	return json_raw(usage).n + 1;
}

/* Appends a field of another record as a text file: the label or summary that was set last. */
static int field_show(struct ctx *c, uint32_t record, bool label, struct buf *out)
{
	if (record == NO_ENTRY)
		return -ESTALE;
	struct line line CLEANUP_LINE = LINE_INIT;
	struct record r;
	int rc = session_load(c->session, record, &line, &r);
	if (rc < 0)
		return rc;
	struct json_value v = label ? r.label : r.summary;
	size_t before = out->n;
	json_decode(v.kind == JSON_STRING ? v.text : json_raw(v), JSON_CLEAN, out);
	if (out->n > before && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
	return 0;
}

static int label_show(struct ctx *c, struct buf *out)
{
	return field_show(c, session_label_record(c->session, c->node.entry), true, out);
}

static bool branch_summary_exists(struct ctx *c)
{
	return session_branch_record(c->session, c->node.entry) != NO_ENTRY;
}

static int branch_summary_show(struct ctx *c, struct buf *out)
{
	return field_show(c, session_branch_record(c->session, c->node.entry), false, out);
}

static bool replacement_exists(struct ctx *c)
{
	return context_edit_mark(c->session, c->node.entry);
}

static int replacement_show(struct ctx *c, struct buf *out)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct json_value v;
	int rc = context_replacement(c->session, c->node.entry, &line, &v);
	if (rc < 0 || v.kind == JSON_NONE)
		return rc < 0 ? rc : -ESTALE;
	json_pretty(v, out);
	buf_addc(out, '\n');
	return 0;
}

static const struct kind in_entries[] = {
    {NULL, .doc = "an entry", .from = &from_branch, .make = DIR(entry), .flags = ALLOWS_CREATE | LINK_TARGET_DIR,
     .names = {"ID", entry_list, entry_match, NULL}},
};
const struct kind_rows rows_entries = ROWS(in_entries);

static const struct kind in_entry[] = {
    {"entry.json", .doc = "the line as stored", .from = &from_entry, .make = RANGE(entry_json_size, entry_json_part),
     .keeps = CACHE_FIXED},
    {"type", .doc = "message, compaction, label, ...", .from = &from_record, .make = RECORD(part_type)},
    {"role", .doc = "user, assistant, toolResult, ...", .from = &from_record, .make = RECORD(part_role)},
    {"model", .doc = "provider/model", .from = &from_record, .make = RECORD(part_model)},
    {"text.md", .doc = "the text", .from = &from_record, .make = RECORD(part_text)},
    {"thinking.md", .doc = "the model's thinking", .from = &from_record, .make = RECORD(part_thinking)},
    {"usage.json", .doc = "tokens and cost", .from = &from_record, .make = RECORD(usage_show)},
    {"tool-calls", .doc = "the tool calls of a message, or those that a tool made", .from = &from_record,
     .make = DIR(tool_calls), .has = tool_calls_exist, .time = MTIME_SESSION, .keeps = CACHE_LEASE},
    {"call", .doc = "the call that this result answers, as a path below entries/", .from = &from_entry,
     .make = SHOW(call_of_show), .has = call_of_exists, .flags = UNCACHED_TEXT},
    {"error", .doc = "the error", .from = &from_record, .make = RECORD(part_error)},
    {"images", .doc = "the images, decoded", .from = &from_record, .make = DIR(images), .has = images_exist,
     .time = MTIME_SESSION, .keeps = CACHE_LEASE},
    {"parent", .doc = "the id of the parent", .from = &from_entry, .make = SHOW(parent_show), .has = parent_exists,
     .flags = UNCACHED_TEXT},
    {"children", .doc = "the ids of the children", .from = &from_entry, .make = SIZED(children_show, children_size),
     .has = children_exist},
    {"branch", .doc = "the newest summary of a branch that starts here", .from = &from_entry,
     .make = SHOW(branch_summary_show), .has = branch_summary_exists, .flags = UNCACHED_TEXT,
     .write = &writable_summary, .time = MTIME_BRANCH, .keeps = CACHE_NOTHING},
    {"context.json", .doc = "what the model is sent instead of the content", .from = &from_entry,
     .make = SHOW(replacement_show), .has = replacement_exists, .flags = UNCACHED_TEXT, .write = &writable_context,
     .time = MTIME_EDIT, .keeps = CACHE_NOTHING},
    {"label", .doc = "the label", .from = &from_entry, .make = SHOW(label_show), .has = label_dir_exists,
     .flags = UNCACHED_TEXT, .write = &writable_label, .time = MTIME_LABEL, .keeps = CACHE_NOTHING},
};
const struct kind_rows rows_entry = ROWS(in_entry);
