/* SPDX-License-Identifier: MIT */
/* One routine writes an entry's texts or only counts their bytes, so that a size is always right. The escapes alone
 * show whether a text is blank, and whether it ends in a newline. */
#include "sessionfs/session/part.h"
#include "record_impl.h"

#include "sessionfs/base/name.h"

#include <stdint.h>
#include <stdio.h>

/* A text file being appended. */
struct text {
	struct buf *to; /* NULL: count only */
	size_t n;
	size_t begin; /* where it begins in `to` */
	bool filled;  /* has a character other than newline */
	bool at_line; /* the last character is a newline */
};

static struct text part_text_init(struct buf *to)
{
	return (struct text){.to = to, .begin = to ? to->n : 0};
}

/* Returns the size of the escaped newline at the beginning, or at the end, of s, or 0. */
static size_t newline_at(struct span s, bool end)
{
	static const char *const forms[] = {"\\n", "\\u000a", "\\u000A"};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		size_t n = strlen(forms[i]), at = end ? s.n - n : 0, before = at;
		if (s.n < n || memcmp(s.p + at, forms[i], n) != 0)
			continue;
		while (before > 0 && s.p[before - 1] == '\\') /* an escaped backslash does not begin an escape */
			before--;
		return (at - before) % 2 == 0 ? n : 0;
	}
	return 0;
}

static bool has_visible_text(struct span s)
{
	while (s.n) {
		size_t n = newline_at(s, false);
		if (n == 0)
			return true;
		s = (struct span){s.p + n, s.n - n};
	}
	return false;
}

static void part_text_add_span(struct text *t, struct span s)
{
	if (t->to)
		buf_addspan(t->to, s);
	t->n += s.n;
	t->at_line = s.p[s.n - 1] == '\n';
	t->filled |= !t->at_line;
}

static void part_text_add_cstr(struct text *t, const char *s)
{
	part_text_add_span(t, span_of(s));
}

/* Adds a string's text, or nothing for other kinds. */
static void part_text_add_json(struct text *t, struct json_value v)
{
	if (v.kind != JSON_STRING || v.text.n == 0)
		return;
	size_t before = t->to ? t->to->n : 0;
	if (t->to)
		json_decode(v.text, JSON_CLEAN, t->to);
	t->n += t->to ? t->to->n - before : json_decoded_size(v.text, JSON_CLEAN);
	t->filled |= !v.escaped || (!t->filled && has_visible_text(v.text));
	t->at_line = v.escaped && newline_at(v.text, true);
}

struct json_value part_content(const struct record *r)
{
	if (r->type == RECORD_MESSAGE)
		return r->msg.content;
	return r->type == RECORD_CUSTOM_MESSAGE ? r->content : (struct json_value){0};
}

struct json_value part_summary(const struct record *r)
{
	if (r->type == RECORD_MESSAGE)
		return r->msg.summary;
	return r->type == RECORD_COMPACTION || r->type == RECORD_BRANCH_SUMMARY ? r->summary : (struct json_value){0};
}

enum record_role part_role_as(enum record_type type, enum record_role role)
{
	switch (type) {
	case RECORD_MESSAGE:
		return role;
	case RECORD_CUSTOM_MESSAGE:
		return ROLE_CUSTOM;
	case RECORD_COMPACTION:
		return ROLE_COMPACTION_SUMMARY;
	case RECORD_BRANCH_SUMMARY:
		return ROLE_BRANCH_SUMMARY;
	default:
		return ROLE_NONE;
	}
}

/* Adds the texts of the blocks of this type, joined by a newline. */
static void part_text_add_blocks(struct text *t, const struct record *r, enum block_type type)
{
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, r, part_content(r));
	while (block_next(&it, &b)) {
		if (b.type != type)
			continue;
		if (b.n > 1)
			part_text_add_cstr(t, "\n");
		part_text_add_json(t, type == BLOCK_TEXT ? b.text : b.thinking);
	}
}

/* Ends the text and returns its size. If the text is blank, removes it and returns 0. */
static size_t part_text_finish(struct text *t)
{
	if (!t->filled) {
		if (t->to)
			t->to->n = t->begin;
		return 0;
	}
	if (!t->at_line)
		part_text_add_cstr(t, "\n");
	return t->n;
}

/* Separates a new part from the text before it by an empty line. */
static void part_text_begin(struct text *t)
{
	if (t->filled)
		part_text_add_cstr(t, t->at_line ? "\n" : "\n\n");
	else if (t->to)
		t->to->n = t->begin;
	t->n = t->filled ? t->n : 0;
}

/* Adds sections, as far as they are strings, and the line of tools. */
static void part_text_add_system(struct text *t, struct json_value message)
{
	static const char *const names[] = {"toolsAdded", "toolsRemoved"};
	struct json_value sections = json_get(message, "sections"), key, v;
	CLEANUP_BUF struct buf deep = BUF_INIT;
	bool begun = false;
	struct json j;

	json_init(&j, sections.text, &deep);
	json_enter(&j);
	while (sections.kind == JSON_OBJECT && json_next(&j, &key) > 0 && json_value(&j, &v)) {
		if (v.kind != JSON_STRING)
			continue;
		part_text_begin(t);
		part_text_add_cstr(t, "### ");
		part_text_add_json(t, key);
		part_text_add_cstr(t, "\n");
		part_text_add_json(t, v);
	}
	for (int removed = 0; removed < 2; removed++) {
		struct json_value tools = json_get(message, names[removed]);
		json_init(&j, tools.text, &deep);
		json_enter(&j);
		while (tools.kind == JSON_ARRAY && json_next(&j, NULL) > 0 && json_value(&j, &v)) {
			v = v.kind == JSON_OBJECT ? json_get(v, "name") : v;
			if (v.kind != JSON_STRING)
				continue;
			if (!begun) {
				part_text_begin(t);
				part_text_add_cstr(t, "tools:");
			}
			begun = true;
			part_text_add_cstr(t, removed ? " -" : " ");
			part_text_add_json(t, v);
		}
	}
}

size_t part_text(const struct record *r, struct buf *out)
{
	struct text t = part_text_init(out);
	bool is_bash = r->role == ROLE_BASH_EXECUTION;

	if (is_bash && (r->msg.command.kind == JSON_STRING || r->msg.output.kind == JSON_STRING)) {
		part_text_add_cstr(&t, "$ ");
		part_text_add_json(&t, r->msg.command);
		part_text_add_cstr(&t, "\n");
		part_text_add_json(&t, r->msg.output);
	} else if (!is_bash && part_summary(r).kind == JSON_STRING) {
		part_text_add_json(&t, part_summary(r));
	} else if (!is_bash) {
		part_text_add_blocks(&t, r, BLOCK_TEXT);
		if (r->role == ROLE_SYSTEM)
			part_text_add_system(&t, r->message);
	}
	return part_text_finish(&t);
}

size_t part_thinking(const struct record *r, struct buf *out)
{
	struct text t = part_text_init(out);

	part_text_add_blocks(&t, r, BLOCK_THINKING);
	return part_text_finish(&t);
}

static size_t part_string(struct json_value v, struct buf *out)
{
	struct text t = part_text_init(out);

	part_text_add_json(&t, v);
	return part_text_finish(&t);
}

size_t part_type(const struct record *r, struct buf *out)
{
	return part_string(r->type_, out);
}

size_t part_role(const struct record *r, struct buf *out)
{
	struct json_value custom = {JSON_STRING, false, span_of(record_role_name(ROLE_CUSTOM))};

	return r->role == ROLE_NONE ? 0 : part_string(r->role == ROLE_CUSTOM ? custom : r->msg.role, out);
}

size_t part_model(const struct record *r, struct buf *out)
{
	struct json_value provider = r->provider, model = r->model_id;
	struct text t = part_text_init(out);

	if (r->role == ROLE_ASSISTANT) {
		provider = r->msg.provider;
		model = r->msg.model;
	} else if (r->type != RECORD_MODEL_CHANGE) {
		return 0;
	}
	if (provider.kind != JSON_STRING || model.kind != JSON_STRING)
		return 0;
	part_text_add_json(&t, provider);
	part_text_add_cstr(&t, "/");
	part_text_add_json(&t, model);
	return part_text_finish(&t);
}

bool part_has_error(const struct record *r)
{
	struct ending e = {r->msg.stop_reason, r->msg.is_error, r->msg.cancelled, r->msg.exit_code};

	return record_failed(r->role, &e);
}

size_t part_error(const struct record *r, struct buf *out)
{
	struct text t = part_text_init(out);
	size_t n;

	if (!part_has_error(r))
		return 0;
	switch (r->role) {
	case ROLE_ASSISTANT:
		n = part_string(r->msg.error_message, out);
		return n > 0 ? n : part_string(r->msg.stop_reason, out);
	case ROLE_TOOL_RESULT:
		n = part_text(r, out);
		if (n > 0)
			return n;
		part_text_add_cstr(&t, "error");
		return part_text_finish(&t);
	default: /* a command of the user */
		if (json_is_truthy(r->msg.cancelled))
			part_text_add_cstr(&t, "cancelled");
		else
			part_text_add_span(&t, r->msg.exit_code.text);
		return part_text_finish(&t);
	}
}

struct json_value part_usage(const struct record *r)
{
	if (json_is_truthy(r->usage))
		return r->usage;
	return json_is_truthy(r->msg.usage) ? r->msg.usage : (struct json_value){0};
}

void part_calls_begin(const struct record *r, struct block_iter *ret)
{
	if (r->role == ROLE_TOOL_RESULT)
		block_iter_init_nested(ret, r->msg.nested_calls);
	else
		block_iter_init_of(ret, r, r->role == ROLE_ASSISTANT ? part_content(r) : (struct json_value){0});
}

/* Goes to the next block of this type after the n-th; continues from `rest` if a walk has begun. */
static bool next_block_of_type(struct block_iter *rest, const struct record *r, enum block_type type, unsigned n,
                               struct block *ret)
{
	if ((n == 0 || !rest->live) && type == BLOCK_TOOL_CALL)
		part_calls_begin(r, rest);
	else if (n == 0 || !rest->live)
		block_iter_init_of(rest, r, part_content(r));
	while (block_next(rest, ret))
		if (ret->type == type && ret->n > n)
			return true;
	return false;
}

const char *part_image_type(struct json_value mime_type)
{
	static const char *const types[] = {"image/png",  "image/jpeg", "image/gif",
	                                    "image/webp", "image/avif", "image/bmp"};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (json_equals(mime_type, types[i]))
			return types[i];
	return json_equals(mime_type, "image/jpg") ? "image/jpeg" : NULL;
}

/* Returns the base64 text of an image: as stored, or decoded into `own` if it has escapes. */
static struct span image_base64_text(struct json_value data, struct buf *own)
{
	if (data.kind != JSON_STRING)
		return (struct span){NULL, 0};
	if (!data.escaped)
		return data.text;
	json_decode(data.text, JSON_EXACT, own);
	return buf_span(own);
}

enum content_problem part_image_problem(const struct block *b)
{
	enum { BYTES_MAX = 5 << 20, CHARS = 16 };
	static const struct {
		const char *type;
		size_t at, n;
		const char *bytes;
	} signatures[] = {
	    {"image/png", 0, 8, "\x89PNG\r\n\x1a\n"},
	    {"image/jpeg", 0, 3, "\xff\xd8\xff"},
	    {"image/gif", 0, 4, "GIF8"},
	    {"image/webp", 8, 4, "WEBP"},
	    {"image/avif", 4, 4, "ftyp"},
	    {"image/bmp", 0, 2, "BM"},
	};
	CLEANUP_BUF struct buf own = BUF_INIT;
	const char *type = part_image_type(b->mime_type);
	struct span text = image_base64_text(b->data, &own);
	char head[CHARS];

	if (buf_err(&own))
		return CONTENT_FINE;
	size_t n = base64_decode((struct span){text.p, text.n < CHARS ? text.n : CHARS}, head);
	for (size_t i = 0; type && i < sizeof signatures / sizeof *signatures; i++) {
		size_t at = signatures[i].at, size = signatures[i].n;
		if (strcmp(type, signatures[i].type) != 0 || n < at + size ||
		    memcmp(head + at, signatures[i].bytes, size) != 0)
			continue;
		bool large = text.n / 4 * 3 > BYTES_MAX && base64_decode(text, NULL) > BYTES_MAX;
		return large ? CONTENT_LARGE_PICTURE : CONTENT_FINE;
	}
	return CONTENT_NO_PICTURE;
}

void part_image_of(const struct block *b, struct part_image *ret)
{
	CLEANUP_BUF struct buf own = BUF_INIT;

	ret->n = b->n;
	ret->data = b->data;
	ret->type = part_image_type(b->mime_type);
	if (!ret->type)
		ret->ext = "bin";
	else
		ret->ext = strcmp(ret->type, "image/jpeg") == 0 ? "jpg" : ret->type + strlen("image/");
	ret->size = base64_decode(image_base64_text(b->data, &own), NULL);
}

bool part_image_next(const struct record *r, struct part_image *ret)
{
	struct block b;

	if (!next_block_of_type(&ret->rest, r, BLOCK_IMAGE, ret->n, &b))
		return false;
	part_image_of(&b, ret);
	return true;
}

void part_image(const struct part_image *img, struct buf *out)
{
	CLEANUP_BUF struct buf own = BUF_INIT;
	struct span text = image_base64_text(img->data, &own);
	char *to = buf_reserve(out, text.n / 4 * 3 + 3); /* an upper bound */

	if (buf_err(&own))
		out->err = buf_err(&own);
	else if (to && img->size > 0)
		out->n += base64_decode(text, to);
}

void part_call_of(const struct block *b, bool nested, struct part_call *ret)
{
	ret->n = b->n;
	ret->nested = !nested                           ? NESTED_NOT
	              : json_equals(b->status, "ok")    ? NESTED_DONE
	              : json_equals(b->status, "error") ? NESTED_FAILED
	                                                : NESTED_OPEN;
	ret->error = b->error;
	ret->duration = b->duration;
	ret->id = b->id;
	ret->name = b->name;
	ret->arguments = b->arguments;
}

bool part_call_next(const struct record *r, struct part_call *ret)
{
	struct block b;

	if (!next_block_of_type(&ret->rest, r, BLOCK_TOOL_CALL, ret->n, &b))
		return false;
	part_call_of(&b, ret->rest.nested, ret);
	return true;
}

void part_call_component(const struct part_call *c, struct buf *out)
{
	CLEANUP_BUF struct buf name = BUF_INIT;
	char number[16];

	snprintf(number, sizeof number, "%u-", c->n);
	if (c->name.kind == JSON_STRING)
		json_decode(c->name.text, JSON_EXACT, &name);
	name_encode(number, buf_span(&name), "", out);
	if (buf_err(&name))
		out->err = buf_err(&name);
}

void part_call_name(const struct part_call *c, struct buf *out)
{
	CLEANUP_BUF struct buf component = BUF_INIT;

	part_call_component(c, &component);
	if (buf_err(&component)) {
		out->err = buf_err(&component);
		return;
	}
	const char *dash = memchr(component.p, '-', component.n), *name = dash + 1;
	buf_add(out, name, component.n - (size_t)(name - component.p));
}

void part_arguments(const struct part_call *c, struct buf *out)
{
	if (c->arguments.kind == JSON_NONE)
		return;
	json_pretty(c->arguments, out);
	buf_addc(out, '\n');
}

void part_call_error(const struct part_call *c, struct buf *out)
{
	if (c->nested == NESTED_FAILED && part_string(c->error, out) == 0)
		buf_adds(out, "error\n");
}
