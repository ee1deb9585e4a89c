/* What an entry says. One part is made at a time, in memory that the next one uses again. */
#include "sessionfs/render/said.h"

#include "sessionfs/base/name.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/stop.h"

#include "text.h"

/* The parts of one record on their way to the caller. */
struct saying {
	const struct record *r;
	struct said_room *room;
	int (*part)(void *arg, const struct said *said);
	void *arg;
};

void said_room_release(struct said_room *room)
{
	buf_release(&room->what);
	buf_release(&room->text);
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

/* Hands over what is in `text`; nothing is no part. */
static int say(struct saying *s, enum said_of of, const struct part_call *call)
{
	struct said_room *room = s->room;
	int rc = buf_err(&room->text) ? buf_err(&room->text) : buf_err(&room->what);
	if (rc < 0 || room->text.n == 0)
		return rc;
	const struct said said = {of, call, buf_span(&room->what), buf_span(&room->text)};
	return s->part(s->arg, &said);
}

static struct buf *set_what(struct saying *s, const char *what)
{
	buf_reset(&s->room->what);
	buf_adds(&s->room->what, what);
	return &s->room->what;
}

static struct buf *begin_text(struct saying *s)
{
	buf_reset(&s->room->text);
	return &s->room->text;
}

/* Ends the last line of what begins at `start`, or the only one, which may be empty. */
static void end_line(struct buf *text, size_t start)
{
	if (text->n == start || text->p[text->n - 1] != '\n')
		buf_addc(text, '\n');
}

/* The role of a message, else the type. */
static void set_kind(struct saying *s)
{
	const struct record *r = s->r;
	const char *fixed = r->type == RECORD_MESSAGE ? record_role_name(r->role) : record_type_name(r->type);
	if (!fixed && r->msg.role.kind != JSON_STRING)
		fixed = record_type_name(r->type);
	struct buf *what = set_what(s, fixed ? fixed : "");
	if (fixed)
		return;
	struct buf role CLEANUP_BUF = BUF_INIT;
	json_decode(r->msg.role.text, JSON_EXACT, &role);
	name_encode("", buf_span(&role), "", what);
	what->err = buf_err(&role) ? buf_err(&role) : what->err;
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
		end_line(text, start);
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
	end_line(out, start);
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

static int say_call(struct saying *s, const struct part_call *call)
{
	part_call_name(call, set_what(s, "call "));
	int rc = said_arguments(call, begin_text(s));
	return rc < 0 ? rc : say(s, SAID_ARGUMENTS, call);
}

static int say_calls(struct saying *s)
{
	struct part_call call = {0};
	int rc = 0;
	while (rc == 0 && part_call_next(s->r, &call))
		rc = say_call(s, &call);
	return rc;
}

/* --- the other parts ------------------------------------------------------------ */

static int say_text(struct saying *s)
{
	set_kind(s);
	part_text(s->r, begin_text(s));
	return say(s, SAID_TEXT, NULL);
}

static int say_thinking(struct saying *s)
{
	set_what(s, "thinking");
	part_thinking(s->r, begin_text(s));
	return say(s, SAID_THINKING, NULL);
}

static int say_error(struct saying *s)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	if (!part_has_error(s->r))
		return 0;
	set_what(s, "error");
	part_error(s->r, begin_text(s));
	part_text(s->r, &text);
	if (buf_err(&text))
		return buf_err(&text);
	return span_eq(buf_span(&text), buf_span(&s->room->text)) ? 0 : say(s, SAID_ERROR, NULL);
}

static int say_label(struct saying *s)
{
	if (!json_truthy(s->r->label))
		return 0;
	set_kind(s);
	struct buf *text = begin_text(s);
	add_value(s->r->label, text);
	end_line(text, 0);
	return say(s, SAID_VALUE, NULL);
}

static int say_name(struct saying *s)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	if (s->r->name.kind != JSON_STRING)
		return 0;
	json_decode(s->r->name.text, JSON_CLEAN, &name);
	if (buf_err(&name))
		return buf_err(&name);
	set_kind(s);
	struct buf *text = begin_text(s);
	buf_addspan(text, space_trim(buf_span(&name)));
	if (text->n > 0)
		end_line(text, 0);
	return say(s, SAID_VALUE, NULL);
}

int said_each(const struct record *r, struct said_room *room, int (*part)(void *arg, const struct said *said),
              void *arg)
{
	struct saying s = {r, room, part, arg};
	if (!said_any_of(r->type))
		return 0;
	if (r->type == RECORD_LABEL)
		return say_label(&s);
	if (r->type == RECORD_SESSION_INFO)
		return say_name(&s);
	int rc = say_text(&s);
	rc = rc == 0 ? say_thinking(&s) : rc;
	rc = rc == 0 ? say_calls(&s) : rc;
	return rc == 0 ? say_error(&s) : rc;
}
