/* SPDX-License-Identifier: MIT */
/* What an entry says. */
#include "sessionfs/render/said.h"

#include "sessionfs/base/name.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/stop.h"

#include "text.h"

void said_release(struct said *s)
{
	buf_release(&s->what);
	buf_release(&s->text);
}

bool said_any_of(enum record_type type)
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

/* Ends the last line of what begins at `start`, or the only one, which may be empty. */
static void said_end_line(struct buf *text, size_t start)
{
	if (text->n == start || text->p[text->n - 1] != '\n')
		buf_addc(text, '\n');
}

void said_kind(struct said *s)
{
	const struct record *r = s->r;
	const char *fixed = r->type == RECORD_MESSAGE ? record_role_name(r->role) : record_type_name(r->type);
	if (fixed) {
		buf_adds(&s->what, fixed);
		return;
	}
	struct buf role CLEANUP_BUF = BUF_INIT;
	if (r->msg.role.kind == JSON_STRING)
		json_decode(r->msg.role.text, JSON_EXACT, &role);
	else
		part_type(r, &role);
	role.n -= role.n > 0 && role.p[role.n - 1] == '\n';
	name_encode("", buf_span(&role), "", &s->what);
	s->what.err = buf_err(&role) ? buf_err(&role) : s->what.err;
}

/* --- arguments ------------------------------------------------------------------ */

/* A string decoded, any other value as JSON. */
static void add_value(struct json_value v, struct buf *text)
{
	size_t start = text->n;
	if (v.kind == JSON_STRING) {
		json_decode(v.text, JSON_CLEAN, text);
		return;
	}
	json_compact(v, text);
	text_make_clean(text, start);
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
		int rc = stop_check();
		if (rc < 0)
			return rc;
		json_decode(key.text, JSON_CLEAN, text);
		buf_adds(text, ": ");
		add_value(v, text);
		said_end_line(text, start);
	}
	return buf_err(&deep);
}

int said_arguments(const struct part_call *call, struct buf *out)
{
	size_t start = out->n;
	if (call->arguments.kind == JSON_NONE)
		return 0;
	if (call->arguments.kind == JSON_OBJECT)
		return add_members(call->arguments, out);
	add_value(call->arguments, out);
	said_end_line(out, start);
	return 0;
}

bool said_any_arguments(const struct part_call *call)
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

static int said_error(struct said *s)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	if (!part_has_error(s->r))
		return 0;
	part_error(s->r, &s->text);
	part_text(s->r, &text);
	if (span_eq(buf_span(&text), buf_span(&s->text)))
		buf_reset(&s->text);
	return buf_err(&text);
}

/* The label of a label record, the name of a session_info. */
static int said_value(struct said *s)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	said_kind(s);
	if (s->r->type == RECORD_LABEL && json_truthy(s->r->label))
		add_value(s->r->label, &s->text);
	else if (s->r->type == RECORD_LABEL)
		return 0;
	else if (s->r->name.kind == JSON_STRING)
		json_decode(s->r->name.text, JSON_CLEAN, &name);
	buf_addspan(&s->text, space_trim(buf_span(&name)));
	if (s->r->type == RECORD_LABEL || s->text.n > 0)
		said_end_line(&s->text, 0);
	return buf_err(&name);
}

/* Appends the part at hand; nothing if there is none. */
static int said_make(struct said *s)
{
	switch (s->of) {
	case SAID_TEXT:
		said_kind(s);
		part_text(s->r, &s->text);
		return 0;
	case SAID_THINKING:
		buf_adds(&s->what, "thinking");
		part_thinking(s->r, &s->text);
		return 0;
	case SAID_ARGUMENTS:
		buf_adds(&s->what, "call ");
		part_call_name(&s->call, &s->what);
		return said_arguments(&s->call, &s->text);
	case SAID_ERROR:
		buf_adds(&s->what, "error");
		return said_error(s);
	case SAID_VALUE:
		return said_value(s);
	}
	return 0;
}

void said_begin(struct said *s, const struct record *r)
{
	bool is_value = r->type == RECORD_LABEL || r->type == RECORD_SESSION_INFO;

	s->r = r;
	s->call = (struct part_call){.n = 0};
	s->next = is_value ? SAID_VALUE : SAID_TEXT;
	s->end = is_value ? SAID_VALUE + 1 : said_any_of(r->type) ? SAID_VALUE : SAID_TEXT;
}

int said_next(struct said *s)
{
	buf_reset(&s->text);
	while (s->text.n == 0 && s->next < s->end) {
		if (s->next == SAID_ARGUMENTS && !part_call_next(s->r, &s->call))
			s->next++;
		s->of = s->next;
		s->next += s->of != SAID_ARGUMENTS;
		buf_reset(&s->what);
		int rc = stop_check();
		rc = rc == 0 ? said_make(s) : rc;
		rc = buf_err(&s->what) ? buf_err(&s->what) : rc;
		rc = buf_err(&s->text) ? buf_err(&s->text) : rc;
		if (rc < 0)
			return rc;
	}
	return s->text.n > 0;
}
