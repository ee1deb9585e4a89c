/* SPDX-License-Identifier: MIT */
/* A line is read once: the same pass validates and parses it. Fields are listed in the header; here each becomes one
 * comparison with a constant, which the compiler turns into a compare of words. If a key occurs twice, the second value
 * overwrites the first. */
#include "sessionfs/session/format.h"
#include "record_impl.h"

#define LOOKUP(c, json)                                                                                                \
	if (key_is(key, json, sizeof(json) - 1))                                                                       \
		return &to->c;

static struct json_value *record_field(struct record *to, struct json_value key)
{
	RECORD_FIELDS(LOOKUP)
	return NULL;
}

static struct json_value *message_field(struct record *r, struct json_value key)
{
	__typeof__(r->msg) *to = &r->msg;

	MESSAGE_FIELDS(LOOKUP)
	return NULL;
}

static struct json_value *block_field(struct block *to, struct json_value key)
{
	BLOCK_FIELDS(LOOKUP)
	return NULL;
}

/* The names of types and roles; the index is the enum. */
static const struct span type_names[] = {
    [RECORD_SESSION] = SPAN_LIT("session"),
    [RECORD_MESSAGE] = SPAN_LIT("message"),
    [RECORD_COMPACTION] = SPAN_LIT("compaction"),
    [RECORD_BRANCH_SUMMARY] = SPAN_LIT("branch_summary"),
    [RECORD_CUSTOM_MESSAGE] = SPAN_LIT("custom_message"),
    [RECORD_LABEL] = SPAN_LIT("label"),
    [RECORD_SESSION_INFO] = SPAN_LIT("session_info"),
    [RECORD_CUSTOM] = SPAN_LIT("custom"),
    [RECORD_MODEL_CHANGE] = SPAN_LIT("model_change"),
    [RECORD_THINKING_LEVEL_CHANGE] = SPAN_LIT("thinking_level_change"),
    [RECORD_USAGE] = SPAN_LIT("usage"),
    [RECORD_CONTEXT_EDIT] = SPAN_LIT("context_edit"),
};

static const struct span role_names[] = {
    [ROLE_SYSTEM] = SPAN_LIT("system"),
    [ROLE_USER] = SPAN_LIT("user"),
    [ROLE_ASSISTANT] = SPAN_LIT("assistant"),
    [ROLE_TOOL_RESULT] = SPAN_LIT("toolResult"),
    [ROLE_BASH_EXECUTION] = SPAN_LIT("bashExecution"),
    [ROLE_CUSTOM] = SPAN_LIT("custom"),
    [ROLE_BRANCH_SUMMARY] = SPAN_LIT("branchSummary"),
    [ROLE_COMPACTION_SUMMARY] = SPAN_LIT("compactionSummary"),
};

static const struct span block_names[] = {
    [BLOCK_TEXT] = SPAN_LIT("text"),
    [BLOCK_THINKING] = SPAN_LIT("thinking"),
    [BLOCK_IMAGE] = SPAN_LIT("image"),
    [BLOCK_TOOL_CALL] = SPAN_LIT("toolCall"),
};

#define NAME_COUNT(a) (sizeof(a) / sizeof *(a))

const char *record_type_name(enum record_type t)
{
	return (size_t)t < NAME_COUNT(type_names) ? type_names[t].p : NULL;
}

const char *record_role_name(enum record_role r)
{
	return (size_t)r < NAME_COUNT(role_names) ? role_names[r].p : NULL;
}

/* Returns the index of v among names, or 0. */
static unsigned index_of_name(struct json_value v, const struct span *names, size_t n)
{
	if (v.kind != JSON_STRING)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if (names[i].p && key_is(v, names[i].p, names[i].n))
			return i;
	return 0;
}

enum record_type record_type_of(struct json_value v)
{
	if (v.kind == JSON_STRING && key_is(v, "message", 7))
		return RECORD_MESSAGE;
	return index_of_name(v, type_names, NAME_COUNT(type_names));
}

enum record_role record_role_of(struct json_value v)
{
	if (v.kind == JSON_STRING && key_is(v, "assistant", 9))
		return ROLE_ASSISTANT;
	if (v.kind == JSON_STRING && key_is(v, "toolResult", 10))
		return ROLE_TOOL_RESULT;
	unsigned role = index_of_name(v, role_names, NAME_COUNT(role_names));
	return role ? role : ROLE_OTHER;
}

static const char *const actions[] = {[FILE_READ] = "read", [FILE_WRITE] = "write", [FILE_EDIT] = "edit"};

const char *file_action_name(enum file_action a)
{
	return actions[a];
}

enum file_action file_action_of(struct json_value tool_name)
{
	CLEANUP_BUF struct buf decoded = BUF_INIT;
	struct span s = tool_name.text;
	char word[sizeof "writefile"];
	size_t n = 0;

	if (tool_name.kind != JSON_STRING)
		return FILE_NONE;
	if (tool_name.escaped) {
		json_decode(s, JSON_CLEAN, &decoded);
		s = buf_span(&decoded);
	}
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '_')
			continue;
		if (n == sizeof word)
			return FILE_NONE;
		word[n++] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] | 0x20) : s.p[i];
	}
	if (n > 4 && memcmp(word + n - 4, "file", 4) == 0)
		n -= 4;
	enum file_action a = FILE_EDIT;
	while (a != FILE_NONE && !span_eq((struct span){word, n}, span_of(actions[a])))
		a--;
	return a;
}

bool block_read(struct json *j, struct block *ret)
{
	struct json_value key, v;
	int rc;

	memset(ret, 0, sizeof *ret);
	if (json_peek(j) != JSON_OBJECT)
		return json_value(j, &v);
	json_enter(j);
	while ((rc = json_next(j, &key)) > 0) {
		struct json_value *field = block_field(ret, key);
		if (!json_value(j, field ? field : &v))
			return false;
	}
	ret->type = index_of_name(ret->type_, block_names, NAME_COUNT(block_names));
	return rc == 0;
}

/* Reads the content at the cursor and keeps its blocks. */
static bool parse_content(struct json *j, struct record *r, struct blocks *blocks)
{
	const size_t most = NAME_COUNT(blocks->v);
	struct json_value v;
	size_t n = 0;
	int rc;

	r->blocks = NULL;
	if (!blocks || json_peek(j) != JSON_ARRAY)
		return json_value(j, &r->msg.content);
	const char *begin = j->p;
	json_enter(j);
	for (; (rc = json_next(j, NULL)) > 0; n++)
		if (n < most ? !block_read(j, &blocks->v[n]) : !json_value(j, &v))
			return false;
	r->msg.content = (struct json_value){JSON_ARRAY, false, {begin, (size_t)(j->p - begin)}};
	r->blocks = n <= most ? blocks : NULL;
	blocks->n = (unsigned)n;
	return rc == 0;
}

/* Reads the message at the cursor, and moves the cursor past it. */
static bool record_parse_message(struct json *j, struct record *r, struct blocks *blocks)
{
	struct json_value key, v;
	int rc;

	if (r->message.kind != JSON_NONE)
		memset(&r->msg, 0, sizeof r->msg);
	r->blocks = NULL;
	if (json_peek(j) != JSON_OBJECT)
		return json_value(j, &r->message);
	const char *begin = j->p;
	json_enter(j);
	while ((rc = json_next(j, &key)) > 0) {
		struct json_value *field = message_field(r, key);
		bool ok = field == &r->msg.content ? parse_content(j, r, blocks) : json_value(j, field ? field : &v);
		if (!ok)
			return false;
	}
	r->message = (struct json_value){JSON_OBJECT, false, {begin, (size_t)(j->p - begin)}};
	return rc == 0;
}

static bool parse_fields(struct json *j, struct record *r, struct blocks *blocks)
{
	struct json_value key, v;
	int rc;

	json_enter(j);
	while ((rc = json_next(j, &key)) > 0) {
		struct json_value *field = record_field(r, key);
		if (field == &r->message ? !record_parse_message(j, r, blocks) : !json_value(j, field ? field : &v))
			return false;
	}
	return rc == 0 && json_at_end(j);
}

bool record_parse(struct span line, const struct format *format, struct buf *deep, struct record *ret)
{
	return record_parse_blocks(line, format, deep, ret, NULL);
}

bool record_parse_blocks(struct span line, const struct format *format, struct buf *deep, struct record *ret,
                         struct blocks *blocks)
{
	struct json j;
	struct json_value v;

	memset(ret, 0, sizeof *ret);
	while (line.n && line.p[0] && strchr(" \t\r\n", line.p[0]))
		line = (struct span){line.p + 1, line.n - 1};
	while (line.n && line.p[line.n - 1] && strchr(" \t\r\n", line.p[line.n - 1]))
		line.n--;
	ret->line = line;
	json_init(&j, ret->line, deep);
	ret->kind = json_peek(&j);
	if (ret->kind != JSON_OBJECT)
		return json_value(&j, &v) && json_at_end(&j) && json_is_truthy(v);
	if (!parse_fields(&j, ret, blocks))
		return false;
	ret->type = record_type_of(ret->type_);
	if (ret->type == RECORD_MESSAGE && ret->message.kind == JSON_OBJECT) {
		ret->role = record_role_of(ret->msg.role);
		if (ret->role == ROLE_OTHER && format && format->has_old_custom && format_is_old_custom(ret->msg.role))
			ret->role = ROLE_CUSTOM;
	}
	return true;
}

/* ---- blocks ---- */

void block_iter_init(struct block_iter *it, struct json_value content)
{
	block_iter_init_of(it, NULL, content);
}

void block_iter_init_of(struct block_iter *it, const struct record *r, struct json_value content)
{
	/* The scanner is large: initialize it only if needed. */
	it->live = true;
	it->nested = false;
	it->string.kind = JSON_NONE;
	it->known = NULL;
	it->next = 0;
	memset(it->seen, 0, sizeof it->seen);
	if (r && r->blocks && content.text.p == r->msg.content.text.p) {
		it->known = r->blocks;
	} else if (content.kind == JSON_STRING) {
		it->string = content;
	} else {
		json_init(&it->j, content.text, NULL);
		it->live = content.kind == JSON_ARRAY && json_enter(&it->j) == JSON_ARRAY;
	}
}

void block_iter_init_nested(struct block_iter *it, struct json_value nested)
{
	struct json_value calls = json_get(nested, "calls");

	block_iter_init(it, calls);
	it->live = calls.kind == JSON_ARRAY;
	it->nested = true;
}

/* Parses the block at the cursor; false after the last one. */
static bool parse_block(struct block_iter *it, struct block *ret)
{
	/* Needed only within one block, so the iterator need not own it. */
	CLEANUP_BUF struct buf deep = BUF_INIT;

	it->j.deep = &deep;
	bool found = json_next(&it->j, NULL) > 0, is_object = found && json_peek(&it->j) == JSON_OBJECT;
	found = found && block_read(&it->j, ret);
	if (it->nested)
		ret->type = is_object ? BLOCK_TOOL_CALL : BLOCK_OTHER;
	it->j.deep = NULL;
	return found;
}

bool block_next(struct block_iter *it, struct block *ret)
{
	if (!it->live)
		return false;
	if (it->known) {
		it->live = it->next < it->known->n;
		if (it->live)
			*ret = it->known->v[it->next++];
	} else if (it->string.kind) {
		it->live = it->seen[BLOCK_TEXT] == 0;
		*ret = (struct block){.type = BLOCK_TEXT, .text = it->string};
	} else {
		it->live = parse_block(it, ret);
	}
	if (it->live)
		ret->n = ++it->seen[ret->type];
	return it->live;
}
