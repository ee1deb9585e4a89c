/* SPDX-License-Identifier: MIT */
/* Records as pi writes them. Ids are copied as JSON text, escapes included, so that JSON.parse always reads the same
 * id. */
#include "sessionfs/write/edit.h"

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/number.h"
#include "sessionfs/session/context.h"
#include "sessionfs/session/part.h"
#include "sessionfs/base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

struct edit_builder {
	const struct session *s;
	struct buf *out;
	uint32_t number;   /* the id as a number */
	char id[9];        /* of the current record */
	struct buf parent; /* JSON text of the parent of the next record */
	int64_t now_ms;
	uint32_t own_first, own_end; /* the records of the previous attempt */
	int err;                     /* the first error of edit_add_entry_id */
};

static void edit_writer_release(struct edit_builder *w)
{
	buf_release(&w->parent);
}

/* Appends the JSON text of entry i's id. */
static void edit_add_entry_id(struct edit_builder *w, uint32_t i, struct buf *out)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct record r;
	int rc = session_load(w->s, i, &line, &r);
	if (rc == 0 && r.id.kind != JSON_STRING && r.id.kind != JSON_NUMBER)
		rc = -EPERM;
	struct span raw = rc == 0 ? json_raw(r.id) : SPAN_LIT("");
	/* The bytes of an id need not be UTF-8, but the output must be. */
	if (utf8_prefix(raw) == raw.n) {
		buf_addspan(out, raw);
	} else {
		json_decode(r.id.text, JSON_READ, &text);
		json_quote(buf_span(&text), out);
		rc = buf_err(&text);
	}
	w->err = w->err ? w->err : rc;
}

/* Finds the entries of the previous attempt, which are adjacent: one write appended them. */
static void edit_find_previous(struct edit_builder *w, struct span written)
{
	static const char before_id[] = ",\"id\":\"";
	const char *id = written.n > 0 ? memmem(written.p, written.n, before_id, sizeof before_id - 1) : NULL;
	if (!id)
		return;
	struct json_value v = {.kind = JSON_STRING, .text = {id + sizeof before_id - 1, sizeof w->id - 1}};
	uint32_t first = session_entry_by_id(w->s, v);
	if (first == NO_ENTRY)
		return;
	w->own_first = w->own_end = first;
	for (size_t i = 0; i < written.n; i++)
		w->own_end += written.p[i] == '\n';
}

/* Returns the newest entry that can be a parent: pi's leaf, but not a line that pi cannot address, and not from the
 * previous attempt, whose records are written again. */
static uint32_t edit_newest_parent(const struct edit_builder *w)
{
	uint32_t n = session_count(w->s);
	while (n > 0) {
		if (n == w->own_end)
			n = w->own_first;
		else if (session_entry(w->s, n - 1)->flags & ENTRY_ADDRESSED)
			break;
		else
			n--;
	}
	return n > 0 ? n - 1 : NO_ENTRY;
}

static void edit_set_parent(struct edit_builder *w)
{
	uint32_t i = edit_newest_parent(w);
	if (i != NO_ENTRY)
		edit_add_entry_id(w, i, &w->parent);
	else
		buf_adds(&w->parent, "null");
}

/* Begins a record, up to the timestamp. */
static void edit_begin_record(struct edit_builder *w, const char *type)
{
	struct json_value id = {.kind = JSON_STRING};
	/* 8 hex digits that no entry has. The first number was drawn; each is an odd step after the previous one, so
	 * that none occurs twice, however many records a table needs. */
	do {
		w->number += UINT32_C(2654435761);
		snprintf(w->id, sizeof w->id, "%08x", w->number);
		id.text = span_of(w->id);
	} while (w->number == 0 || session_entry_by_id(w->s, id) != NO_ENTRY);
	buf_addf(w->out, "{\"type\":\"%s\",\"id\":\"%s\",\"parentId\":", type, w->id);
	buf_addspan(w->out, buf_span(&w->parent));
	buf_adds(w->out, ",\"timestamp\":\"");
	number_add_time((double)w->now_ms, w->out);
	buf_addc(w->out, '"');
}

/* The next record is a child of this one. */
static void edit_end_record(struct edit_builder *w)
{
	buf_adds(w->out, "}\n");
	buf_reset(&w->parent);
	buf_addf(&w->parent, "\"%s\"", w->id);
}

static int edit_check_entry(const struct session *s, uint32_t i)
{
	if (i >= session_count(s))
		return -ENOENT;
	return session_entry(s, i)->flags & ENTRY_ADDRESSED ? 0 : -EPERM;
}

/* --- labels ---------------------------------------------------------------------- */

static void edit_add_label(struct edit_builder *w, const struct edit_label *l)
{
	edit_begin_record(w, "label");
	buf_adds(w->out, ",\"targetId\":");
	edit_add_entry_id(w, l->entry, w->out);
	if (l->text.n > 0) {
		buf_adds(w->out, ",\"label\":");
		json_quote(l->text, w->out);
	}
	edit_end_record(w);
}

int edit_labels(struct edit_builder *w, const struct edit *e, bool again)
{
	int rc = 0;
	edit_set_parent(w);
	for (size_t i = 0; rc == 0 && !w->err && i < e->n; i++) {
		struct buf now CLEANUP_BUF = BUF_INIT;
		rc = edit_check_entry(w->s, e->labels[i].entry);
		if (rc == 0 && !again)
			session_label(w->s, e->labels[i].entry, &now);
		if (rc == 0 && (again || !span_eq(buf_span(&now), e->labels[i].text)))
			edit_add_label(w, &e->labels[i]);
	}
	return rc;
}

/* --- name -------------------------------------------------------------------------- */

int edit_name(struct edit_builder *w, const struct edit *e, bool again)
{
	struct buf now CLEANUP_BUF = BUF_INIT;
	session_name(w->s, &now);
	if (!again && span_eq(buf_span(&now), e->text))
		return 0;
	edit_set_parent(w);
	edit_begin_record(w, "session_info");
	buf_adds(w->out, ",\"name\":");
	json_quote(e->text, w->out);
	edit_end_record(w);
	return 0;
}

/* --- branches and the leaf ------------------------------------------------------------ */

static bool entry_summary_equals(const struct session *s, uint32_t i, struct span text)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct buf now CLEANUP_BUF = BUF_INIT;
	struct record r;
	if (i == NO_ENTRY || session_load(s, i, &line, &r) < 0)
		return false;
	if (r.summary.kind == JSON_STRING)
		json_decode(r.summary.text, JSON_EXACT, &now);
	else if (r.summary.kind != JSON_NONE)
		return false;
	return span_eq(buf_span(&now), text);
}

/* Appends a branch_summary below e's entry. */
static void edit_add_summary(struct edit_builder *w, const struct edit *e)
{
	edit_add_entry_id(w, e->entry, &w->parent);
	edit_begin_record(w, "branch_summary");
	buf_adds(w->out, ",\"fromId\":");
	uint32_t from = edit_newest_parent(w);
	if (from == NO_ENTRY)
		buf_adds(w->out, "\"root\"");
	else
		edit_add_entry_id(w, from, w->out);
	buf_adds(w->out, ",\"summary\":");
	json_quote(e->text, w->out);
	edit_end_record(w);
}

int edit_branch(struct edit_builder *w, const struct edit *e, bool again)
{
	int rc = edit_check_entry(w->s, e->entry);
	if (rc < 0 || (!again && entry_summary_equals(w->s, session_branch_record(w->s, e->entry), e->text)))
		return rc;
	edit_add_summary(w, e);
	return 0;
}

int edit_leaf(struct edit_builder *w, const struct edit *e, bool again)
{
	uint32_t i = session_leaf(w->s);
	int rc = edit_check_entry(w->s, e->entry);
	if (rc < 0)
		return rc;
	/* The leaf can be at the entry already, or be an empty summary below it. */
	const struct entry *leaf = session_entry(w->s, i);
	bool is_summary_below = leaf->type == RECORD_BRANCH_SUMMARY && leaf->parent == e->entry;
	if (!again && (i == e->entry || (is_summary_below && entry_summary_equals(w->s, i, (struct span){NULL, 0}))))
		return 0;
	edit_add_summary(w, e);
	return 0;
}

/* --- context edits -------------------------------------------------------------------- */

static bool block_is_sound(const struct block *b, bool is_assistant)
{
	if (b->type == BLOCK_TEXT)
		return b->text.kind == JSON_STRING;
	if (!is_assistant)
		return b->type == BLOCK_IMAGE && b->data.kind == JSON_STRING && b->mime_type.kind == JSON_STRING;
	if (b->type == BLOCK_THINKING)
		return b->thinking.kind == JSON_STRING;
	return b->type == BLOCK_TOOL_CALL && b->id.kind == JSON_STRING && b->name.kind == JSON_STRING &&
	       b->arguments.kind == JSON_OBJECT;
}

/* Parses the text as a replacement of r's content. */
static int edit_parse_content(const struct edit *e, const struct record *r, struct json_value *ret)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct block_iter blocks;
	struct block b;
	struct json j;

	json_init(&j, e->text, &deep);
	*e->ret_why = "not null, a JSON string or an array of blocks";
	if (!json_value(&j, ret) || !json_at_end(&j) ||
	    (ret->kind != JSON_NULL && ret->kind != JSON_STRING && ret->kind != JSON_ARRAY))
		return -EINVAL;
	*e->ret_why = r->role == ROLE_ASSISTANT ? "a block is not a text, thinking or toolCall with its fields"
	                                        : "a block is not a text or image with its fields";
	block_iter_init(&blocks, *ret);
	while (ret->kind == JSON_ARRAY && block_next(&blocks, &b))
		if (!block_is_sound(&b, r->role == ROLE_ASSISTANT))
			return -EINVAL;
	*e->ret_why = NULL;
	return 0;
}

/* pi edits these entries only. */
static int edit_check_target(struct edit_builder *w, const struct edit *e, const struct record *r)
{
	uint32_t ring = NO_ENTRY, i = edit_newest_parent(w);
	*e->ret_why = "not a user, assistant or toolResult message, nor a custom_message";
	if (r->type != RECORD_CUSTOM_MESSAGE && r->role != ROLE_USER && r->role != ROLE_ASSISTANT &&
	    r->role != ROLE_TOOL_RESULT)
		return -EINVAL;
	while (i != NO_ENTRY && i != e->entry)
		i = session_walk_parent(w->s, i, &ring);
	*e->ret_why = i != NO_ENTRY ? NULL
	                            : "not on the branch in use; first move the leaf to an entry below it: "
	                              "ln -sfn entries/ID leaf";
	return i != NO_ENTRY ? 0 : -EINVAL;
}

int edit_context(struct edit_builder *w, const struct edit *e, bool again)
{
	struct line line CLEANUP_LINE = LINE_INIT, edit_line CLEANUP_LINE = LINE_INIT;
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct json_value now, content;
	struct record r;
	int rc = edit_check_entry(w->s, e->entry);
	if (rc == 0)
		rc = session_load(w->s, e->entry, &line, &r);
	if (rc == 0)
		rc = edit_check_target(w, e, &r);
	if (rc < 0)
		return rc;
	content = context_content(&r);
	rc = context_replacement(w->s, e->entry, &edit_line, &now);
	if (now.kind == JSON_NONE)
		now = content;
	if (rc == 0 && e->text.n > 0)
		rc = edit_parse_content(e, &r, &content);
	if (rc < 0 || (!again && json_same(now, content)))
		return rc;
	edit_set_parent(w);
	edit_begin_record(w, "context_edit");
	buf_adds(w->out, ",\"targetId\":");
	edit_add_entry_id(w, e->entry, w->out);
	buf_adds(w->out, content.kind == JSON_NULL ? ",\"replacement\":null" : ",\"replacement\":{\"content\":");
	if (content.kind != JSON_NULL) {
		json_compact(content, &text);
		json_add(buf_span(&text), w->out);
		buf_addc(w->out, '}');
	}
	edit_end_record(w);
	return buf_err(&text);
}

int edit_make(const struct session *s, const struct edit *e, bool again, int64_t now_ms, struct buf *out)
{
	if (!session_format(s)->has_ids)
		return -EPERM;
	struct edit_builder w CLEANUP(edit_writer_release) = {.s = s, .out = out, .parent = BUF_INIT, .now_ms = now_ms};
	size_t before = out->n;
	int deferred = deferred_begin();
	int rc = getrandom(&w.number, sizeof w.number, 0) == sizeof w.number ? 0 : -EIO;
	edit_find_previous(&w, e->written);
	if (rc == 0)
		rc = e->records(&w, e, again);
	if (rc == 0)
		rc = w.err ? w.err : buf_err(&w.parent) ? buf_err(&w.parent) : buf_err(out);
	rc = deferred_end(deferred, rc);
	if (rc < 0)
		out->n = before;
	return rc;
}
