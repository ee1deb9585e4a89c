/* SPDX-License-Identifier: MIT */
/* The text of an entry. */
#include "sessionfs/render/entry_text.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/name.h"
#include "sessionfs/base/space.h"

#include "text.h"

void entry_text_release(struct entry_text *s)
{
	buf_release(&s->what);
	buf_release(&s->text);
}

bool entry_text_type_has_any(enum record_type type)
{
	switch (type) {
	case RECORD_MESSAGE:
	case RECORD_COMPACTION:
	case RECORD_BRANCH_SUMMARY:
	case RECORD_CUSTOM_MESSAGE:
	case RECORD_LABEL:
	case RECORD_SESSION_INFO:
		return true;
	default:
		return false;
	}
}

/* Ends the last line of the text after `start`, or an only, empty line. */
static void entry_text_end_line(struct buf *text, size_t start)
{
	if (text->n == start || text->p[text->n - 1] != '\n')
		buf_addc(text, '\n');
}

void entry_text_kind(struct entry_text *s)
{
	const struct record *r = s->r;
	const char *fixed = r->type == RECORD_MESSAGE ? record_role_name(r->role) : record_type_name(r->type);
	if (fixed) {
		buf_adds(&s->what, fixed);
		return;
	}
	struct buf role CLEANUP_BUF = BUF_INIT;
	struct json_value v = r->msg.role.kind == JSON_STRING ? r->msg.role : r->type_;
	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_EXACT, &role);
	name_encode("", buf_span(&role), "", &s->what);
	s->what.err = buf_err(&role) ? buf_err(&role) : s->what.err;
}

/* --- arguments ------------------------------------------------------------------ */

/* Appends a string decoded, any other value as JSON. */
static void add_value(struct json_value v, struct buf *text)
{
	size_t start = text->n;
	if (v.kind == JSON_STRING) {
		json_decode(v.text, JSON_CLEAN, text);
		return;
	}
	json_compact(v, text);
	text_clean_from(text, start);
}

static int add_members(struct json_value object, struct buf *text)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json_value key, v;
	struct json j;
	json_init(&j, object.text, &deep);
	json_enter(&j);
	while (json_next(&j, &key) > 0 && json_value(&j, &v)) {
		size_t start = text->n;
		int rc = cancel_check();
		if (rc < 0)
			return rc;
		json_decode(key.text, JSON_CLEAN, text);
		buf_adds(text, ": ");
		add_value(v, text);
		entry_text_end_line(text, start);
	}
	return buf_err(&deep);
}

int entry_text_arguments(const struct part_call *call, struct buf *out)
{
	size_t start = out->n;
	if (call->arguments.kind == JSON_NONE)
		return 0;
	if (call->arguments.kind == JSON_OBJECT)
		return add_members(call->arguments, out);
	add_value(call->arguments, out);
	entry_text_end_line(out, start);
	return 0;
}

bool entry_text_has_arguments(const struct part_call *call)
{
	struct json_value key;
	struct json j;
	if (call->arguments.kind != JSON_OBJECT)
		return call->arguments.kind != JSON_NONE;
	json_init(&j, call->arguments.text, NULL);
	json_enter(&j);
	return json_next(&j, &key) > 0;
}

/* --- the parts ------------------------------------------------------------------ */

static int entry_text_error(struct entry_text *s)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	if (!part_has_error(s->r))
		return 0;
	part_error(s->r, &s->text);
	part_text(s->r, &text);
	if (!s->repeats_error && span_eq(buf_span(&text), buf_span(&s->text)))
		buf_reset(&s->text);
	return buf_err(&text);
}

/* Appends the label of a label record, the name of a session_info. */
static int entry_text_value(struct entry_text *s)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	entry_text_kind(s);
	if (s->r->type == RECORD_LABEL && json_is_truthy(s->r->label))
		add_value(s->r->label, &s->text);
	else if (s->r->type == RECORD_LABEL)
		return 0;
	else if (s->r->name.kind == JSON_STRING)
		json_decode(s->r->name.text, JSON_CLEAN, &name);
	buf_addspan(&s->text, space_trim(buf_span(&name)));
	if (s->r->type == RECORD_LABEL || s->text.n > 0)
		entry_text_end_line(&s->text, 0);
	return buf_err(&name);
}

/* Appends the current part; nothing if the entry lacks it. */
static int entry_text_append(struct entry_text *s)
{
	switch (s->kind) {
	case TEXT_OF_MESSAGE:
		entry_text_kind(s);
		part_text(s->r, &s->text);
		return 0;
	case TEXT_OF_THINKING:
		buf_adds(&s->what, "thinking");
		part_thinking(s->r, &s->text);
		return 0;
	case TEXT_OF_ARGUMENTS:
		buf_adds(&s->what, "call ");
		part_call_name(&s->call, &s->what);
		return entry_text_arguments(&s->call, &s->text);
	case TEXT_OF_ERROR:
		buf_adds(&s->what, "error");
		if (s->call.n == 0)
			return entry_text_error(s);
		part_call_error(&s->call, &s->text);
		return 0;
	case TEXT_OF_VALUE:
		return entry_text_value(s);
	}
	return 0;
}

void entry_text_begin(struct entry_text *s, const struct record *r)
{
	bool is_value = r->type == RECORD_LABEL || r->type == RECORD_SESSION_INFO;

	s->r = r;
	s->call = (struct part_call){.n = 0};
	s->next_kind = is_value ? TEXT_OF_VALUE : TEXT_OF_MESSAGE;
	s->end_kind = is_value ? TEXT_OF_VALUE + 1 : entry_text_type_has_any(r->type) ? TEXT_OF_VALUE : TEXT_OF_MESSAGE;
}

int entry_text_next(struct entry_text *s)
{
	buf_reset(&s->text);
	while (s->text.n == 0 && s->next_kind < s->end_kind) {
		if (s->next_kind == TEXT_OF_ARGUMENTS && !part_call_next(s->r, &s->call)) {
			s->next_kind++;
			s->call.n = 0;
		}
		s->kind = s->next_kind;
		/* The arguments of all calls; the error of a nested call follows its arguments. */
		if (s->kind == TEXT_OF_ARGUMENTS)
			s->next_kind = s->call.nested == NESTED_FAILED ? TEXT_OF_ERROR : TEXT_OF_ARGUMENTS;
		else
			s->next_kind = s->call.n > 0 ? TEXT_OF_ARGUMENTS : s->kind + 1u;
		buf_reset(&s->what);
		int rc = cancel_check();
		rc = rc == 0 ? entry_text_append(s) : rc;
		rc = buf_err(&s->what) ? buf_err(&s->what) : rc;
		rc = buf_err(&s->text) ? buf_err(&s->text) : rc;
		if (rc < 0)
			return rc;
	}
	return s->text.n > 0;
}
