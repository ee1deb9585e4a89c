/* SPDX-License-Identifier: MIT */
/* context.json, info.json and header.json.
 *
 * context.json must equal the result of pi's buildSessionContext. So messages are copied unchanged, one a line, and
 * rewritten only where pi changes them: member by member, in the order that JavaScript's spread keeps. Invalid UTF-8
 * becomes U+FFFD, as when pi reads it.
 *
 * info.json is collected in one pass over the lines, written without layout and then laid out by json_pretty. Programs
 * such as jq refuse a lone surrogate, so it becomes U+FFFD. */
#include "pieces.h"
#include "sessionfs/base/number.h"
#include "sessionfs/session/part.h"
#include "sessionfs/base/counters.h"
#include "sessionfs/base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* An object being written. */
struct json_object {
	struct buf *out;
	bool open; /* has a member */
};

static struct json_object json_object_begin(struct buf *out)
{
	buf_addc(out, '{');
	return (struct json_object){out, false};
}

static void json_object_end(struct json_object *o)
{
	buf_addc(o->out, '}');
}

static void json_object_next(struct json_object *o)
{
	if (o->open)
		buf_addc(o->out, ',');
	o->open = true;
}

/* Begins a member; the caller appends the value. */
static struct buf *json_object_key(struct json_object *o, struct span key)
{
	json_object_next(o);
	json_quote(key, o->out);
	buf_addc(o->out, ':');
	return o->out;
}

static struct buf *json_object_name(struct json_object *o, const char *name)
{
	return json_object_key(o, span_of(name));
}

/* Appends a member unchanged. An absent value is undefined in JavaScript, and JSON omits it. */
static void json_object_value(struct json_object *o, const char *name, struct json_value v)
{
	if (v.kind != JSON_NONE)
		json_add(json_raw(v), json_object_name(o, name));
}

static void json_object_time(struct json_object *o, const char *name, struct json_value v)
{
	number_add(record_date(v), json_object_name(o, name));
}

/* ---- context.json ---- */

/* Appends the content after an edit. Assistant messages and tool results only have blocks, so a text becomes a block.
 */
static int add_edited_content(const struct session *s, uint32_t edit, enum record_role role, struct buf *out)
{
	CLEANUP_LINE struct line line = LINE_INIT;
	struct record r;
	int rc = session_load(s, edit, &line, &r);
	if (rc < 0)
		return rc;
	struct json_value v = {.kind = JSON_NONE};
	if (r.replacement.kind == JSON_OBJECT)
		v = json_get(r.replacement, "content");
	bool is_block = v.kind == JSON_STRING && (role == ROLE_ASSISTANT || role == ROLE_TOOL_RESULT);
	buf_adds(out, is_block ? "[{\"type\":\"text\",\"text\":" : "");
	buf_addspan(out, json_raw(v));
	buf_adds(out, is_block ? "}]" : "");
	return buf_err(out);
}

int context_read_message(const struct session *s, const struct context_item *item, struct reader *reader,
                         struct record *r, bool *ret_replaced)
{
	struct buf *made = &reader->scratch[0], *deep = &reader->line.deep;
	int rc = session_read(s, item->entry, reader, r);
	*ret_replaced = false;
	if (rc < 0)
		return rc;
	buf_reset(made);
	if (item->kind == CONTEXT_SYSTEM) {
		buf_adds(made, "{\"type\":\"message\",\"message\":");
		buf_addspan(made, json_raw(r->system_message));
		buf_addc(made, '}');
		return !buf_err(made) && record_parse(buf_span(made), NULL, deep, r) ? 0 : -ENOMEM;
	}
	if (item->kind != CONTEXT_MESSAGE) {
		r->role = part_role_as(r->type, r->role);
		r->msg.content = r->content;
		r->msg.summary = r->summary;
	}
	/* pi adds an empty content if none is stored. */
	bool is_custom = item->kind == CONTEXT_CUSTOM, is_empty = r->msg.content.kind <= JSON_NULL;
	if (item->edit != NO_ENTRY)
		rc = add_edited_content(s, item->edit, r->role, made);
	else if (is_empty && r->role == ROLE_SYSTEM)
		buf_adds(made, "\"\"");
	else if (is_empty &&
	         (is_custom || r->role == ROLE_USER || r->role == ROLE_ASSISTANT || r->role == ROLE_TOOL_RESULT))
		buf_adds(made, "[]");
	else
		return 0;
	struct json j;
	*ret_replaced = true;
	r->blocks = NULL;
	r->msg.content = (struct json_value){0};
	json_init(&j, buf_span(made), deep);
	json_value(&j, &r->msg.content);
	return rc < 0 ? rc : buf_err(made);
}

/* Appends {...message, role: "custom", content: msg.content}; each member only if it changes. */
static int rewrite_message(const struct record *r, bool to_custom, bool replaced, struct buf *deep, struct buf *out)
{
	struct json_object o = json_object_begin(out);
	struct json j;
	json_init(&j, r->message.text, deep);
	json_enter(&j);
	struct json_value key;
	bool had_content = false;
	int rc;
	while ((rc = json_next(&j, &key)) > 0) {
		struct json_value v;
		if (!json_value(&j, &v))
			break;
		struct span text = json_raw(v);
		if (to_custom && json_key_is(key, "role"))
			text = SPAN_LIT("\"custom\"");
		if (replaced && json_key_is(key, "content")) {
			had_content = true;
			text = json_raw(r->msg.content);
		}
		if (text.n == 0)
			continue;
		json_object_next(&o);
		json_add(json_raw(key), out);
		buf_addc(out, ':');
		json_add(text, out);
	}
	if (rc != 0) /* the text was valid when it was loaded */
		return -ENOMEM;
	if (replaced && !had_content)
		json_object_value(&o, "content", r->msg.content);
	json_object_end(&o);
	return 0;
}

static void write_custom(const struct record *r, struct buf *out)
{
	struct json_object o = json_object_begin(out);
	buf_adds(json_object_name(&o, "role"), "\"custom\"");
	json_object_value(&o, "customType", r->custom_type);
	json_object_value(&o, "content", r->msg.content);
	json_object_value(&o, "display", r->display);
	json_object_value(&o, "details", r->details);
	json_object_time(&o, "timestamp", r->timestamp);
	json_object_end(&o);
}

static void write_summary(const struct record *r, struct buf *out)
{
	bool compaction = r->role == ROLE_COMPACTION_SUMMARY;
	struct json_object o = json_object_begin(out);
	buf_adds(json_object_name(&o, "role"), compaction ? "\"compactionSummary\"" : "\"branchSummary\"");
	json_object_value(&o, "summary", r->summary);
	if (compaction)
		json_object_value(&o, "tokensBefore", r->tokens_before);
	else
		json_object_value(&o, "fromId", r->from_id);
	json_object_time(&o, "timestamp", r->timestamp);
	json_object_end(&o);
}

static int context_json_segment(const struct render_target *p, const void *of, bool is_first, struct reader *reader,
                                struct usage *usage, struct buf *out)
{
	(void)usage;
	const struct context_item *item = of;
	struct record r;
	bool replaced;
	int rc = context_read_message(p->session, item, reader, &r, &replaced);
	buf_adds(out, is_first ? "\n" : ",\n");
	if (rc < 0)
		return rc;
	bool to_custom = r.role == ROLE_CUSTOM && format_is_old_custom(r.msg.role);
	if (item->kind == CONTEXT_CUSTOM)
		write_custom(&r, out);
	else if (item->kind == CONTEXT_COMPACTION || item->kind == CONTEXT_BRANCH_SUMMARY)
		write_summary(&r, out);
	else if (r.message.kind == JSON_OBJECT && (to_custom || replaced))
		rc = rewrite_message(&r, to_custom, replaced, &reader->line.deep, out);
	else
		json_add(json_raw(r.message), out);
	return rc < 0 ? rc : buf_err(out);
}

static int context_front(const struct render_target *p, const struct render_totals *t, struct buf *out)
{
	(void)p, (void)t;
	struct json_object o = json_object_begin(out);
	buf_addc(json_object_name(&o, "messages"), '[');
	return buf_err(out);
}

static int write_thinking(const struct session *s, uint32_t entry, struct line *l, struct json_object *o)
{
	if (entry == NO_ENTRY) {
		buf_adds(json_object_name(o, "thinkingLevel"), "\"off\"");
		return 0;
	}
	struct record r;
	int rc = session_load(s, entry, l, &r);
	if (rc == 0)
		json_object_value(o, "thinkingLevel", r.thinking_level);
	return rc;
}

static int write_model(const struct session *s, uint32_t entry, struct line *l, struct json_object *o)
{
	if (entry == NO_ENTRY) {
		buf_adds(json_object_name(o, "model"), "null");
		return 0;
	}
	struct json_value provider, id;
	int rc = context_model(s, entry, l, &provider, &id);
	if (rc < 0)
		return rc;
	struct json_object model = json_object_begin(json_object_name(o, "model"));
	json_object_value(&model, "provider", provider);
	json_object_value(&model, "modelId", id);
	json_object_end(&model);
	return 0;
}

static int context_back(const struct render_target *p, const struct render_totals *t, size_t n, struct buf *out)
{
	CLEANUP_LINE struct line line = LINE_INIT;
	struct json_object o = {out, true};
	buf_adds(out, n > 0 ? "\n]" : "]");
	int rc = write_thinking(p->session, t->thinking, &line, &o);
	if (rc == 0)
		rc = write_model(p->session, t->model, &line, &o);
	json_object_end(&o);
	buf_addc(out, '\n');
	return rc < 0 ? rc : buf_err(out);
}

const struct producer producer_context_json = {
    .item_size = sizeof(struct context_item),
    .list = context_items,
    .front = context_front,
    .segment = context_json_segment,
    .back = context_back,
};

/* ---- info.json ---- */

#define FIRST_MESSAGE_CHARACTERS 200

/* Collected from the index. */
struct info {
	struct counters roles;  /* size_t */
	struct counters models; /* struct usage */
	struct buf name;
};

static void info_release(struct info *info)
{
	counters_release(&info->roles);
	counters_release(&info->models);
	buf_release(&info->name);
}

/* Reads the line only if the role is unknown. */
static int count_role(struct info *info, const struct session *s, uint32_t i, struct line *line)
{
	const char *name = record_role_name(session_entry(s, i)->role);
	struct record r;
	buf_reset(&info->name);
	if (name) {
		buf_adds(&info->name, name);
	} else if (session_entry(s, i)->role == ROLE_OTHER) {
		int rc = session_load(s, i, line, &r);
		if (rc < 0 || r.msg.role.kind != JSON_STRING)
			return rc;
		json_decode(r.msg.role.text, JSON_READ, &info->name);
	} else {
		return 0;
	}
	size_t *count = counters_get(&info->roles, buf_span(&info->name));
	if (!count || buf_err(&info->name))
		return -ENOMEM;
	++*count;
	return 0;
}

static int count_usage(struct info *info, const struct session *s, const struct usage_bucket *use, struct line *line)
{
	struct record r;
	int rc = session_load(s, use->record, line, &r);
	if (rc < 0)
		return rc;
	buf_reset(&info->name);
	usage_add_model(&r, JSON_READ, &info->name);
	struct usage *usage = counters_get(&info->models, buf_span(&info->name));
	if (!usage || buf_err(&info->name))
		return -ENOMEM;
	usage_add(usage, use->sum);
	return 0;
}

static int info_collect(const struct session *s, struct info *info)
{
	CLEANUP_LINE struct line line = LINE_INIT;
	struct session_usage used = session_usage(s);
	int rc = 0;
	for (uint32_t i = 0; i < session_count(s) && rc == 0; i++)
		rc = count_role(info, s, i, &line);
	for (size_t i = 0; i < used.n && rc == 0; i++)
		rc = count_usage(info, s, &used.v[i], &line);
	return rc;
}

static void json_object_text(struct json_object *o, const char *name, struct span text)
{
	json_quote(text, json_object_name(o, name));
}

/* Appends `text` as a member. Its error sticks to the output. */
static void object_text_or_error(struct json_object *o, const char *name, const struct buf *text, size_t n)
{
	if (buf_err(text))
		o->out->err = buf_err(text);
	else
		json_object_text(o, name, (struct span){text->p, n});
}

static void json_object_count(struct json_object *o, const char *name, size_t n)
{
	buf_addf(json_object_name(o, name), "%zu", n);
}

/* Appends a time as pi's Date prints it; nothing if it is invalid. */
static void json_object_date(struct json_object *o, const char *name, double ms)
{
	char text[NUMBER_TIME];
	if (number_time(ms, text))
		json_object_text(o, name, span_of(text));
}

static void info_add_usage(struct json_object *o, const struct usage *u)
{
	number_add(u->input, json_object_name(o, "input"));
	number_add(u->output, json_object_name(o, "output"));
	number_add(u->cache_read, json_object_name(o, "cacheRead"));
	number_add(u->cache_write, json_object_name(o, "cacheWrite"));
	number_add(u->total, json_object_name(o, "totalTokens"));
	number_add(number_round(u->cost, RENDER_COST_DECIMALS), json_object_name(o, "cost"));
}

static int info_add_names(struct json_object *o, const struct session *s, const char *file, struct buf *text)
{
	json_object_value(o, "id", session_header(s)->id);
	buf_reset(text);
	if (session_name(s, text) || buf_err(text))
		object_text_or_error(o, "name", text, text->n);
	buf_reset(text);
	int rc = render_title(s, text);
	if (rc < 0)
		return rc;
	object_text_or_error(o, "title", text, text->n - 1);
	struct json_value cwd = session_header(s)->cwd;
	if (cwd.kind == JSON_STRING && cwd.text.n > 0)
		json_object_value(o, "cwd", cwd);
	json_object_text(o, "file", span_of(file));
	return 0;
}

static void add_counts(struct json_object *o, const struct session *s, const struct counters *roles)
{
	uint32_t count = session_count(s);
	size_t branches = 0;
	for (uint32_t i = 0; i < count; i++)
		branches += session_is_branch(s, i);

	json_object_count(o, "entries", count);
	struct json_object messages = json_object_begin(json_object_name(o, "messages"));
	for (size_t i = 0; i < roles->n; i++)
		buf_addf(json_object_key(&messages, counters_name(roles, i)), "%zu",
		         *(const size_t *)counters_value(roles, i));
	json_object_end(&messages);
	json_object_count(o, "branches", branches);
	json_object_count(o, "labels", session_label_count(s));
	json_object_count(o, "problems", session_problem_count(s));
}

static void add_all_usage(struct json_object *o, const struct session *s, const struct info *info)
{
	if (info->models.n == 0)
		return;
	struct usage sum = session_usage(s).sum;
	struct json_object usage = json_object_begin(json_object_name(o, "usage"));
	info_add_usage(&usage, &sum);
	struct json_object models = json_object_begin(json_object_name(&usage, "models"));
	for (size_t i = 0; i < info->models.n; i++) {
		struct json_object model = json_object_begin(json_object_key(&models, counters_name(&info->models, i)));
		info_add_usage(&model, counters_value(&info->models, i));
		json_object_end(&model);
	}
	json_object_end(&models);
	json_object_end(&usage);
}

int render_info_json(const struct session *s, const char *file, const struct usage *with_subagents, struct buf *out)
{
	CLEANUP(info_release)
	struct info info = {.roles = COUNTERS_INIT(size_t), .models = COUNTERS_INIT(struct usage), .name = BUF_INIT};
	int rc = info_collect(s, &info);
	if (rc < 0)
		return rc;

	CLEANUP_BUF struct buf flat = BUF_INIT;
	struct buf *text = &info.name;
	struct json_object o = json_object_begin(&flat);
	rc = info_add_names(&o, s, file, text);
	if (rc < 0)
		return rc;
	json_object_count(&o, "version", (size_t)session_version(s));
	json_object_date(&o, "created", session_created(s));
	json_object_date(&o, "modified", session_modified(s));
	struct json_value parent = session_header(s)->parent_session;
	if (parent.kind != JSON_STRING || parent.text.n == 0)
		parent = session_header(s)->branched_from;
	if (parent.kind == JSON_STRING && parent.text.n > 0)
		json_object_value(&o, "parentSession", parent);
	if (session_leaf(s) != NO_ENTRY) {
		buf_reset(text);
		session_entry_name(s, session_leaf(s), text);
		object_text_or_error(&o, "leaf", text, text->n);
	}
	add_counts(&o, s, &info.roles);
	buf_reset(text);
	rc = render_first_message(s, text);
	if (rc < 0)
		return rc;
	if (text->n > 0)
		json_object_text(&o, "firstMessage", utf8_first(buf_span(text), FIRST_MESSAGE_CHARACTERS));
	add_all_usage(&o, s, &info);
	if (with_subagents) {
		struct json_object sum = json_object_begin(json_object_name(&o, "usageWithSubagents"));
		info_add_usage(&sum, with_subagents);
		json_object_end(&sum);
	}
	double active;
	rc = session_active_seconds(s, &active);
	if (rc < 0)
		return rc;
	if (!isnan(active))
		json_object_count(&o, "activeSeconds", (size_t)active);
	const char *state;
	rc = context_state(s, session_leaf(s), &state);
	if (rc < 0)
		return rc;
	if (state)
		json_object_text(&o, "state", span_of(state));
	json_object_count(&o, "bytes", (size_t)session_stat(s)->st_size);
	json_object_end(&o);
	if (buf_err(&flat))
		return buf_err(&flat);

	CLEANUP_BUF struct buf sound = BUF_INIT;
	json_well_formed(buf_span(&flat), &sound);
	if (buf_err(&sound))
		return buf_err(&sound);
	json_pretty((struct json_value){.kind = JSON_OBJECT, .text = buf_span(&sound)}, out);
	buf_addc(out, '\n');
	return buf_err(out);
}

int render_header_json(const struct session *s, struct buf *out)
{
	buf_addspan(out, session_header(s)->line);
	buf_addc(out, '\n');
	return buf_err(out);
}
