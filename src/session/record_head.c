/* SPDX-License-Identifier: MIT */
/* The index reads every line of every file, so it takes only the fields that it needs, in the pass that validates the
 * line. If a key occurs twice, the last value counts. */
#include "sessionfs/base/space.h"
#include "sessionfs/session/format.h"
#include "sessionfs/session/part.h"
#include "record_impl.h"

struct head_scan {
	struct json j;
	struct record_head *head;
	void (*on_call)(void *arg, struct json_value id);
	void *arg;
	struct json_value type, role, details;
	struct ending ending;
	enum json_kind message; /* the kind of its value */
	bool has_text;          /* a text that is not white space */
	bool has_texts;         /* any text */
};

#define RETURN_FIELD(member, name)                                                                                     \
	if (key_is(key, name, sizeof(name) - 1))                                                                       \
		return &(member);

/* Returns whether the value is not a string, or is a string of white space as JavaScript's trim() defines it. */
static bool head_is_blank(struct json_value text)
{
	struct buf one CLEANUP_BUF = BUF_INIT;
	struct span rest = text.text;

	while (text.kind == JSON_STRING && rest.n) {
		size_t n = space_size(rest);
		if (*rest.p == '\\') {
			n = rest.p[1] == 'u' ? 6 : 2;
			buf_reset(&one);
			json_decode((struct span){rest.p, n}, JSON_EXACT, &one);
			if (buf_err(&one) || space_size(buf_span(&one)) == 0)
				return false;
		}
		if (n == 0)
			return false;
		rest = (struct span){rest.p + n, rest.n - n};
	}
	return true;
}

static inline void head_scan_text(struct head_scan *s, struct json_value text)
{
	/* Nearly every text begins with a letter. */
	bool plain = text.kind == JSON_STRING && text.text.n && (unsigned)(*text.text.p | 0x20) - 'a' < 26;

	s->has_text = s->has_text || plain || !head_is_blank(text);
	s->has_texts |= text.kind == JSON_STRING;
}

/* Blocks are examined for any role: in the end only the calls of an assistant count. */
static bool head_read_block(struct head_scan *s)
{
	struct block b;

	if (!block_read(&s->j, &b))
		return false;
	if (b.type == BLOCK_TEXT)
		head_scan_text(s, b.text);
	if (b.type == BLOCK_IMAGE) {
		enum content_problem problem = part_image_problem(&b);
		s->head->images++;
		s->head->problem = problem > s->head->problem ? problem : s->head->problem;
	}
	if (b.type != BLOCK_TOOL_CALL)
		return true;
	s->head->calls++;
	s->head->has_file_call |= file_action_of(b.name) != FILE_NONE;
	if (s->on_call)
		s->on_call(s->arg, b.id);
	return true;
}

static bool head_read_content(struct head_scan *s)
{
	struct record_head *head = s->head;
	struct json_value v;
	int rc;

	head->has_content = true;
	head->calls = head->images = 0;
	head->problem = CONTENT_FINE;
	head->has_file_call = s->has_text = s->has_texts = false;
	if (json_peek(&s->j) != JSON_ARRAY) {
		if (!json_value(&s->j, &v))
			return false;
		head_scan_text(s, v);
	} else {
		json_enter(&s->j);
		while ((rc = json_next(&s->j, NULL)) > 0)
			if (!head_read_block(s))
				return false;
		if (rc < 0)
			return false;
	}
	if (s->has_texts && !s->has_text && !head->images && !head->calls)
		head->problem = CONTENT_EMPTY;
	return true;
}

static bool head_read_usage(struct head_scan *s)
{
	struct record_head *head = s->head;

	memset(head->numbers, 0, sizeof head->numbers);
	if (json_peek(&s->j) != JSON_OBJECT)
		return json_value(&s->j, &head->msg.usage);
	const char *begin = s->j.p;
	if (!json_read_members(&s->j, usage_names, USAGE_FIELDS, head->numbers))
		return false;
	head->msg.usage = (struct json_value){JSON_OBJECT, false, {begin, (size_t)(s->j.p - begin)}};
	return true;
}

static struct json_value *head_message_field(struct head_scan *s, struct json_value key)
{
	struct record_head *head = s->head;

	RETURN_FIELD(s->role, "role")
	RETURN_FIELD(head->tool_call_id, "toolCallId")
	RETURN_FIELD(head->message_time, "timestamp")
	RETURN_FIELD(head->msg.provider, "provider")
	RETURN_FIELD(head->msg.model, "model")
	RETURN_FIELD(s->details, "details")
	RETURN_FIELD(s->ending.stop_reason, "stopReason")
	RETURN_FIELD(s->ending.is_error, "isError")
	RETURN_FIELD(s->ending.cancelled, "cancelled")
	RETURN_FIELD(s->ending.exit_code, "exitCode")
	RETURN_FIELD(head->nested_calls, "nestedCalls")
	RETURN_FIELD(head->duration, "durationMs")
	return NULL;
}

/* Resets the fields that only a message entry has. */
static void head_reset_message(struct record_head *head)
{
	head->tool_call_id = head->message_time = head->nested_calls = head->duration = (struct json_value){0};
	head->calls = head->images = 0;
	head->problem = CONTENT_FINE;
	head->has_content = head->has_file_call = false;
}

static bool head_read_message(struct head_scan *s)
{
	struct json_value key, v;
	int rc;

	if (s->message != JSON_NONE) {
		head_reset_message(s->head);
		memset(&s->head->msg, 0, sizeof s->head->msg);
		s->role = s->details = (struct json_value){0};
		s->ending = (struct ending){0};
		s->has_text = false;
	}
	s->message = json_peek(&s->j);
	if (s->message != JSON_OBJECT)
		return json_value(&s->j, &v);
	json_enter(&s->j);
	while ((rc = json_next(&s->j, &key)) > 0) {
		struct json_value *field = head_message_field(s, key);
		bool ok = key_is(key, "content", 7) ? head_read_content(s)
		          : key_is(key, "usage", 5) ? head_read_usage(s)
		                                    : json_value(&s->j, field ? field : &v);
		if (!ok)
			return false;
	}
	return rc == 0;
}

static struct json_value *head_field(struct head_scan *s, struct json_value key)
{
#define HEAD_FIELD(c, json) RETURN_FIELD(s->head->c, json)
	HEAD_FIELDS(HEAD_FIELD)
	RETURN_FIELD(s->type, "type")
	return NULL;
}

static bool head_read_object(struct head_scan *s)
{
	struct json_value key, v;
	int rc;

	json_enter(&s->j);
	while ((rc = json_next(&s->j, &key)) > 0) {
		struct json_value *field = head_field(s, key);
		if (key_is(key, "message", 7) ? !head_read_message(s) : !json_value(&s->j, field ? field : &v))
			return false;
	}
	return rc == 0 && json_at_end(&s->j);
}

static void head_finish_message(struct head_scan *s)
{
	struct record_head *head = s->head;
	struct json_value stop = s->ending.stop_reason;

	head->role = record_role_of(s->role);
	head->old_custom = head->role == ROLE_OTHER && format_is_old_custom(s->role);
	head->has_error = record_failed(head->role, &s->ending);
	head->details_failed = details_say_failed(head->role, s->details);
	head->partial = head->role == ROLE_ASSISTANT && (is_text(stop, "deferred", 8) || is_text(stop, "length", 6));
	if (head->role == ROLE_ASSISTANT)
		/* A message that ended by itself appears in pi's /tree only if it has text. */
		head->no_text =
		    !s->has_text && (!json_is_truthy(stop) || is_text(stop, "stop", 4) || is_text(stop, "toolUse", 7));
	else
		head->calls = head->has_file_call = 0;
}

void record_head(struct span line, struct buf *deep, struct record_head *ret,
                 void (*on_call)(void *arg, struct json_value id), void *arg)
{
	struct head_scan s;
	struct json_value v;

	*ret = (struct record_head){0};
	json_init(&s.j, line, deep);
	ret->kind = json_peek(&s.j);
	if (ret->kind != JSON_OBJECT) {
		ret->kind = json_value(&s.j, &v) && json_at_end(&s.j) ? ret->kind : JSON_NONE;
		ret->falsy = ret->kind != JSON_NONE && !json_is_truthy(v);
		return;
	}
	s = (struct head_scan){.j = s.j, .head = ret, .on_call = on_call, .arg = arg};
	if (!head_read_object(&s)) {
		*ret = (struct record_head){0};
		return;
	}
	ret->kind = JSON_OBJECT;
	ret->type = record_type_of(s.type);
	ret->message_missing = ret->type == RECORD_MESSAGE && s.message <= JSON_NULL;
	if (ret->type == RECORD_MESSAGE && s.message == JSON_OBJECT)
		head_finish_message(&s);
	else
		head_reset_message(ret);
	bool edit = ret->type == RECORD_CONTEXT_EDIT;
	v = edit ? json_get(ret->replacement, "content") : ret->content;
	if (v.kind == JSON_NONE || (!edit && ret->type != RECORD_CUSTOM_MESSAGE))
		return;
	/* Of content that is not a message's, only the problem counts. */
	json_init(&s.j, json_raw(v), deep);
	s.on_call = NULL;
	head_read_content(&s);
	enum content_problem problem = ret->problem;
	head_reset_message(ret);
	ret->problem = problem;
}
