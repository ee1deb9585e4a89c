/* SPDX-License-Identifier: MIT */
/* The rows of tree.txt, and summaries of entries on one line. */
#include "calls.h"
#include "text.h"

#include "sessionfs/base/number.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/session/part.h"

#include <errno.h>

enum { ROW_UNITS = 200, ERROR_UNITS = 80, ROLE_CHARACTERS = 200 };

void row_source_init(struct row_source *src, const struct session *s)
{
	*src = (struct row_source){.s = s, .reader = READER_INIT, .texts = BUF_INIT};
}

void row_source_release(struct row_source *src)
{
	reader_release(&src->reader);
	buf_release(&src->texts);
	cleanup_free(&src->calls);
	cleanup_free(&src->ends);
}

/* Appends the beginning of a value on one line, trimmed. */
static void row_add_value(struct json_value v, size_t units, struct buf *out)
{
	size_t start = out->n;

	text_add_prefix(v, units, out);
	text_truncate_from(out, start, units);
	text_make_line_from(out, start);
}

static int row_source_end(struct row_source *src)
{
	if (!vec_grow(&src->ends, &src->cap_ends, src->n_ends + 1, sizeof *src->ends))
		return -ENOMEM;
	src->ends[src->n_ends++] = src->texts.n;
	return buf_err(&src->texts);
}

/* Caches the rows of all calls of a message, after an empty one. */
static int row_source_cache_calls(struct row_source *src, uint32_t caller, const struct record *r)
{
	struct tool_use use CLEANUP_TOOL = TOOL_USE_INIT;
	size_t first = src->n_ends + 1;
	struct block_iter it;
	struct block b;

	if (!src->calls)
		src->calls = calloc(session_count(src->s), sizeof *src->calls);
	int rc = src->calls && first < UINT32_MAX ? row_source_end(src) : -ENOMEM;
	block_iter_init_of(&it, r, r->msg.content);
	while (rc == 0 && block_next(&it, &b)) {
		if (b.type != BLOCK_TOOL_CALL)
			continue;
		if (session_result(src->s, caller, b.n) != NO_ENTRY) {
			tool_read(b.name, b.arguments, &use);
			buf_addc(&src->texts, '[');
			call_add_summary(src->s, &use, &src->texts);
			buf_addc(&src->texts, ']');
		}
		rc = row_source_end(src);
	}
	if (rc == 0)
		src->calls[caller] = (uint32_t)first;
	return rc;
}

/* Appends the call that a toolResult answers. Returns 1 if it was found. */
static int row_add_result(struct row_source *src, uint32_t i, struct buf *out)
{
	unsigned n = 0;
	uint32_t caller = session_call(src->s, i, &n);
	struct record r;
	if (caller == NO_ENTRY)
		return 0;
	if (!src->calls || !src->calls[caller]) {
		int rc = session_read(src->s, caller, &src->reader, &r);
		rc = rc == 0 ? row_source_cache_calls(src, caller, &r) : rc;
		if (rc < 0)
			return rc;
	}
	size_t end = src->calls[caller] - 1 + (size_t)n;
	if (n == 0 || end >= src->n_ends)
		return 0;
	uint64_t from = src->ends[end - 1];
	buf_add(out, src->texts.p + from, (size_t)(src->ends[end] - from));
	return 1;
}

/* Appends the beginning of the user's words. */
static void row_add_words(const struct record *r, const char *between, size_t units, struct buf *out)
{
	size_t start = out->n;

	render_add_words(r, between, JSON_CLEAN, out);
	text_truncate_from(out, start, units);
	text_make_line_from(out, start);
}

/* A row begins with the kind of its entry. Session text can follow, from *ret_said on. */
static void row_add_message(const struct record *r, size_t *ret_said, struct buf *out)
{
	switch (r->role) {
	case ROLE_USER:
		buf_adds(out, "user: ");
		*ret_said = out->n;
		row_add_words(r, "", ROW_UNITS, out);
		return;
	case ROLE_ASSISTANT:
		buf_adds(out, "assistant: ");
		*ret_said = out->n;
		text_add_content(r, r->msg.content, "", ROW_UNITS, out);
		if (out->n > *ret_said)
			return;
		if (json_equals(r->msg.stop_reason, "aborted"))
			buf_adds(out, "(aborted)");
		else if (json_is_truthy(r->msg.error_message))
			row_add_value(r->msg.error_message, ERROR_UNITS, out);
		else
			buf_adds(out, "(no content)");
		return;
	case ROLE_TOOL_RESULT:
		buf_addc(out, '[');
		if (r->msg.tool_name.kind > JSON_NULL)
			text_add_inline(r->msg.tool_name, out);
		else
			buf_adds(out, "tool");
		buf_addc(out, ']');
		return;
	case ROLE_BASH_EXECUTION:
		buf_adds(out, "[bash]: ");
		*ret_said = out->n;
		row_add_value(r->msg.command, ROW_UNITS, out);
		return;
	default:
		buf_addc(out, '[');
		text_add_role(r, out);
		buf_addc(out, ']');
		return;
	}
}

static void row_add_bracketed(const char *what, struct json_value v, struct buf *out)
{
	buf_addf(out, "[%s: ", what);
	row_add_value(v, ROW_UNITS, out);
	buf_addc(out, ']');
}

static void row_add_compaction(const struct record *r, struct buf *out)
{
	double tokens;

	buf_adds(out, "[compaction");
	if (json_double(r->tokens_before, &tokens)) {
		buf_adds(out, ": ");
		number_add(number_round_whole(tokens / 1000), out);
		buf_adds(out, "k tokens");
	}
	buf_addc(out, ']');
}

static void row_add_record(const struct record *r, size_t *ret_said, struct buf *out)
{
	switch (r->type) {
	case RECORD_MESSAGE:
		row_add_message(r, ret_said, out);
		return;
	case RECORD_CUSTOM_MESSAGE:
		buf_addc(out, '[');
		text_add_inline(r->custom_type, out);
		buf_adds(out, "]: ");
		*ret_said = out->n;
		text_add_content(r, r->content, "", ROW_UNITS, out);
		return;
	case RECORD_COMPACTION:
		row_add_compaction(r, out);
		return;
	case RECORD_BRANCH_SUMMARY:
		buf_adds(out, "[branch summary]: ");
		*ret_said = out->n;
		row_add_value(r->summary, ROW_UNITS, out);
		return;
	case RECORD_MODEL_CHANGE:
		row_add_bracketed("model", r->model_id, out);
		return;
	case RECORD_THINKING_LEVEL_CHANGE:
		row_add_bracketed("thinking", r->thinking_level, out);
		return;
	case RECORD_CUSTOM:
		row_add_bracketed("custom", r->custom_type, out);
		return;
	case RECORD_CONTEXT_EDIT:
		row_add_bracketed(r->replacement.kind == JSON_NULL ? "context omit" : "context replace", r->target_id,
		                  out);
		return;
	case RECORD_LABEL:
		if (r->label.kind > JSON_NULL)
			row_add_bracketed("label", r->label, out);
		else
			buf_adds(out, "[label: (cleared)]");
		return;
	case RECORD_SESSION_INFO:
		if (json_is_truthy(r->name))
			row_add_bracketed("title", r->name, out);
		else
			buf_adds(out, "[title: empty]");
		return;
	default:
		return;
	}
}

void text_add_row(const struct record *r, struct buf *out)
{
	struct user_text t;
	size_t said = 0;

	row_add_record(r, &said, out);
	if (r->role != ROLE_ASSISTANT || buf_err(out))
		return;
	text_split(r->role, (struct span){out->p + said, out->n - said}, &t);
	memmove(out->p + said, t.words.p, t.words.n);
	out->n = said + t.words.n;
}

int row_add_text(struct row_source *src, uint32_t i, struct buf *out)
{
	size_t start = out->n, said = SIZE_MAX;
	src->kind = SIZE_MAX;
	if (session_entry(src->s, i)->role == ROLE_TOOL_RESULT) {
		int rc = row_add_result(src, i, out);
		if (rc != 0)
			return rc < 0 ? rc : buf_err(out);
	}
	struct record r;
	int rc = session_read(src->s, i, &src->reader, &r);
	if (rc < 0)
		return rc;
	row_add_record(&r, &said, out);
	if (said != SIZE_MAX)
		src->kind = said - start;
	/* A caller that needs a single row needs no calls. */
	if (src->calls && session_entry(src->s, i)->flags & ENTRY_HAS_CALLS && !src->calls[i])
		rc = row_source_cache_calls(src, i, &r);
	return rc < 0 ? rc : buf_err(out);
}

void text_add_role(const struct record *r, struct buf *out)
{
	const char *fixed = r->type == RECORD_MESSAGE ? record_role_name(r->role) : record_type_name(r->type);

	size_t start = out->n;

	if (fixed)
		buf_adds(out, fixed);
	else if (r->type == RECORD_MESSAGE)
		text_add_inline(r->msg.role, out);
	if (out->n == start)
		text_add_inline(r->type_, out);
}

static void row_add_summary_text(const struct record *r, size_t characters, struct buf *out)
{
	size_t start = out->n, units = 2 * characters;

	if (r->type != RECORD_MESSAGE && r->type != RECORD_CUSTOM_MESSAGE && r->summary.kind != JSON_STRING) {
		text_add_row(r, out);
	} else if (r->role == ROLE_BASH_EXECUTION) {
		row_add_value(r->msg.command, units, out);
	} else if (r->role == ROLE_SYSTEM) {
		part_text(r, out);
		text_flatten_from(out, start);
	} else if (r->summary.kind == JSON_STRING || r->msg.summary.kind == JSON_STRING) {
		row_add_value(r->msg.summary.kind == JSON_STRING ? r->msg.summary : r->summary, units, out);
	} else if (r->role == ROLE_USER) {
		row_add_words(r, " ", units, out);
	} else {
		text_add_content(r, r->type == RECORD_MESSAGE ? r->msg.content : r->content, " ", units, out);
	}
	if (!buf_err(out))
		out->n = start + utf8_first((struct span){out->p + start, out->n - start}, characters).n;
	text_trim_from(out, start);
}

int row_add_summary(struct row_source *src, uint32_t i, const char *between, size_t characters, struct buf *out)
{
	size_t start = out->n;
	struct record r;
	int rc = session_read(src->s, i, &src->reader, &r);
	if (rc < 0)
		return rc;
	text_add_role(&r, out);
	text_shorten_from(out, start, ROLE_CHARACTERS);
	buf_adds(out, between);
	row_add_summary_text(&r, characters, out);
	return buf_err(out);
}
