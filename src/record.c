/* A line is read once, checked and taken apart in the same scan. Fields are
 * listed in the header; here each becomes one comparison with a constant, which
 * the compiler turns into a compare of words. A key that occurs twice simply
 * overwrites what the first one left. */
#include "sessionfs/record.h"

static inline bool key_is(struct json_value key, const char *name, size_t n)
{
	if (__builtin_expect(key.escaped, false))
		return json_key_is(key, name);
	return key.text.n == n && memcmp(key.text.p, name, n) == 0;
}

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
static const char *const type_names[] = {
    [RECORD_SESSION] = "session",
    [RECORD_MESSAGE] = "message",
    [RECORD_COMPACTION] = "compaction",
    [RECORD_BRANCH_SUMMARY] = "branch_summary",
    [RECORD_CUSTOM_MESSAGE] = "custom_message",
    [RECORD_LABEL] = "label",
    [RECORD_SESSION_INFO] = "session_info",
    [RECORD_CUSTOM] = "custom",
    [RECORD_MODEL_CHANGE] = "model_change",
    [RECORD_THINKING_LEVEL_CHANGE] = "thinking_level_change",
    [RECORD_USAGE] = "usage",
    [RECORD_CONTEXT_EDIT] = "context_edit",
};

static const char *const role_names[] = {
    [ROLE_SYSTEM] = "system",
    [ROLE_USER] = "user",
    [ROLE_ASSISTANT] = "assistant",
    [ROLE_TOOL_RESULT] = "toolResult",
    [ROLE_BASH_EXECUTION] = "bashExecution",
    [ROLE_CUSTOM] = "custom",
    [ROLE_BRANCH_SUMMARY] = "branchSummary",
    [ROLE_COMPACTION_SUMMARY] = "compactionSummary",
};

static const char *const block_names[] = {
    [BLOCK_TEXT] = "text",
    [BLOCK_THINKING] = "thinking",
    [BLOCK_IMAGE] = "image",
    [BLOCK_TOOL_CALL] = "toolCall",
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

const char *record_type_name(enum record_type t)
{
	return (size_t)t < COUNT(type_names) ? type_names[t] : NULL;
}

const char *record_role_name(enum record_role r)
{
	return (size_t)r < COUNT(role_names) ? role_names[r] : NULL;
}

/* The index of v among names, or 0. */
static unsigned name_index(struct json_value v, const char *const *names, size_t n)
{
	if (v.kind != JSON_STRING)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if (names[i] && json_is(v, names[i]))
			return i;
	return 0;
}

static enum record_type type_of(struct json_value v)
{
	if (v.kind == JSON_STRING && key_is(v, "message", 7))
		return RECORD_MESSAGE;
	return name_index(v, type_names, COUNT(type_names));
}

static enum record_role role_of(struct json_value v)
{
	if (v.kind == JSON_STRING && key_is(v, "assistant", 9))
		return ROLE_ASSISTANT;
	if (v.kind == JSON_STRING && key_is(v, "toolResult", 10))
		return ROLE_TOOL_RESULT;
	unsigned role = name_index(v, role_names, COUNT(role_names));
	return role ? role : ROLE_OTHER;
}

static struct span json_trim(struct span s)
{
	while (s.n && strchr(" \t\r\n", s.p[0]) && s.p[0])
		s = (struct span){s.p + 1, s.n - 1};
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]) && s.p[s.n - 1])
		s.n--;
	return s;
}

/* Reads the message at the cursor, which is left behind it. */
static bool parse_message(struct json *j, struct record *r)
{
	struct json_value key, v;
	int rc;

	memset(&r->msg, 0, sizeof r->msg);
	if (json_peek(j) != JSON_OBJECT)
		return json_value(j, &r->message);
	const char *begin = j->p;
	json_enter(j);
	while ((rc = json_next(j, &key)) > 0) {
		struct json_value *field = message_field(r, key);
		if (!json_value(j, field ? field : &v))
			return false;
	}
	r->message = (struct json_value){JSON_OBJECT, false, {begin, (size_t)(j->p - begin)}};
	return rc == 0;
}

static bool parse_fields(struct json *j, struct record *r)
{
	struct json_value key, v;
	int rc;

	json_enter(j);
	while ((rc = json_next(j, &key)) > 0) {
		struct json_value *field = record_field(r, key);
		if (field == &r->message ? !parse_message(j, r) : !json_value(j, field ? field : &v))
			return false;
	}
	return rc == 0 && json_end(j);
}

bool record_parse(struct span line, bool old_roles, struct buf *deep, struct record *ret)
{
	struct json j;
	struct json_value v;

	memset(ret, 0, sizeof *ret);
	ret->line = json_trim(line);
	json_init(&j, ret->line, deep);
	ret->kind = json_peek(&j);
	if (ret->kind != JSON_OBJECT)
		return json_value(&j, &v) && json_end(&j) && json_truthy(v);
	if (!parse_fields(&j, ret))
		return false;
	ret->type = type_of(ret->type_);
	if (ret->type == RECORD_MESSAGE && ret->message.kind == JSON_OBJECT) {
		ret->role = role_of(ret->msg.role);
		if (old_roles && ret->role == ROLE_OTHER && json_is(ret->msg.role, "hookMessage"))
			ret->role = ROLE_CUSTOM;
	}
	return true;
}

/* The bytes of JavaScript's white space beyond ASCII: U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F,
 * U+3000, U+FEFF. All but the first have three. */
static bool is_wide_space(const unsigned char *p)
{
	uint32_t c = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

	return c == 0xe19a80 || (c >= 0xe28080 && c <= 0xe2808a) || c == 0xe280a8 || c == 0xe280a9 || c == 0xe280af ||
	       c == 0xe2819f || c == 0xe38080 || c == 0xefbbbf;
}

static bool is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct span record_trim(struct span s)
{
	for (;;) {
		const unsigned char *p = (const unsigned char *)s.p;
		size_t n = s.n && is_space(p[0])                     ? 1
		           : s.n > 1 && p[0] == 0xc2 && p[1] == 0xa0 ? 2
		           : s.n > 2 && is_wide_space(p)             ? 3
		                                                     : 0;
		if (n == 0)
			break;
		s = (struct span){s.p + n, s.n - n};
	}
	for (;;) {
		const unsigned char *end = (const unsigned char *)s.p + s.n;
		size_t n = s.n && is_space(end[-1])                        ? 1
		           : s.n > 1 && end[-2] == 0xc2 && end[-1] == 0xa0 ? 2
		           : s.n > 2 && is_wide_space(end - 3)             ? 3
		                                                           : 0;
		if (n == 0)
			return s;
		s.n -= n;
	}
}

/* ---- heads ---- */

struct head_scan {
	struct json j;
	struct record_head *head;
	struct json_value type, role, content;
	bool walked; /* the blocks of `content` were looked at */
	void (*on_call)(void *arg, struct json_value id);
	void *arg;
};

static bool scan_block(struct head_scan *s, struct json *j)
{
	struct json_value key, v, type = {0}, id = {0};
	int rc;

	json_enter(j);
	while ((rc = json_next(j, &key)) > 0) {
		struct json_value *to = key_is(key, "type", 4) ? &type : key_is(key, "id", 2) ? &id : &v;
		if (!json_value(j, to))
			return false;
	}
	if (rc < 0)
		return false;
	if (type.kind == JSON_STRING && key_is(type, "toolCall", 8)) {
		s->head->calls++;
		if (s->on_call)
			s->on_call(s->arg, id);
	}
	return true;
}

static bool scan_blocks(struct head_scan *s, struct json *j)
{
	struct json_value v;
	int rc;

	json_enter(j);
	while ((rc = json_next(j, NULL)) > 0)
		if (json_peek(j) == JSON_OBJECT ? !scan_block(s, j) : !json_value(j, &v))
			return false;
	return rc == 0;
}

/* Blocks are looked at only where calls can be: as long as the role may still be assistant. */
static bool scan_content(struct head_scan *s)
{
	bool may_call = s->role.kind == JSON_NONE || role_of(s->role) == ROLE_ASSISTANT;

	s->head->calls = 0;
	s->walked = may_call;
	if (!may_call || json_peek(&s->j) != JSON_ARRAY)
		return json_value(&s->j, &s->content);
	return scan_blocks(s, &s->j);
}

static void finish_message(struct head_scan *s)
{
	struct json j;

	s->head->role = role_of(s->role);
	s->head->old_hook = s->head->role == ROLE_OTHER && json_is(s->role, "hookMessage");
	if (s->head->role != ROLE_ASSISTANT) {
		s->head->calls = 0;
	} else if (!s->walked && s->content.kind == JSON_ARRAY) {
		json_init(&j, s->content.text, s->j.deep);
		scan_blocks(s, &j);
	}
}

static bool scan_message(struct head_scan *s)
{
	struct json_value key, v;
	int rc;

	s->role = s->content = (struct json_value){0};
	s->head->tool_call_id = (struct json_value){0};
	s->head->calls = 0;
	s->head->role = ROLE_NONE;
	s->head->old_hook = false;
	s->walked = false;
	s->head->message_missing = json_peek(&s->j) != JSON_OBJECT;
	if (s->head->message_missing)
		return json_value(&s->j, &v);
	json_enter(&s->j);
	while ((rc = json_next(&s->j, &key)) > 0) {
		bool ok;
		if (key_is(key, "role", 4))
			ok = json_value(&s->j, &s->role);
		else if (key_is(key, "content", 7))
			ok = scan_content(s);
		else if (key_is(key, "toolCallId", 10))
			ok = json_value(&s->j, &s->head->tool_call_id);
		else
			ok = json_value(&s->j, &v);
		if (!ok)
			return false;
	}
	return rc == 0;
}

#define HEAD_FIELDS(X)                                                                                                 \
	X(id, "id")                                                                                                    \
	X(parent_id, "parentId")                                                                                       \
	X(timestamp, "timestamp")                                                                                      \
	X(target_id, "targetId")                                                                                       \
	X(label, "label")                                                                                              \
	X(name, "name")                                                                                                \
	X(summary, "summary")                                                                                          \
	X(version, "version")                                                                                          \
	X(first_kept_entry_id, "firstKeptEntryId")                                                                     \
	X(first_kept_entry_index, "firstKeptEntryIndex")

static struct json_value *head_field(struct record_head *to, struct json_value key)
{
	HEAD_FIELDS(LOOKUP)
	return NULL;
}

static bool scan_fields(struct head_scan *s)
{
	struct json_value key, v;
	int rc;

	json_enter(&s->j);
	while ((rc = json_next(&s->j, &key)) > 0) {
		struct json_value *field;
		bool ok;
		if (key_is(key, "type", 4))
			ok = json_value(&s->j, &s->type);
		else if (key_is(key, "message", 7))
			ok = scan_message(s);
		else if ((field = head_field(s->head, key)))
			ok = json_value(&s->j, field);
		else
			ok = json_value(&s->j, &v);
		if (!ok)
			return false;
	}
	return rc == 0 && json_end(&s->j);
}

static void finish_head(struct head_scan *s)
{
	struct record_head *head = s->head;

	head->kind = JSON_OBJECT;
	head->type = type_of(s->type);
	if (head->type == RECORD_MESSAGE) {
		if (!head->message_missing)
			finish_message(s);
		return;
	}
	head->message_missing = false;
	head->tool_call_id = (struct json_value){0};
	head->calls = 0;
}

void record_head(struct span line, struct buf *deep, struct record_head *ret,
                 void (*on_call)(void *arg, struct json_value id), void *arg)
{
	struct head_scan s;
	struct json_value v;

	memset(ret, 0, sizeof *ret);
	ret->message_missing = true;
	s.head = ret;
	s.on_call = on_call;
	s.arg = arg;
	s.type = s.role = s.content = (struct json_value){0};
	s.walked = false;
	json_init(&s.j, line, deep);
	if (json_peek(&s.j) == JSON_OBJECT) {
		if (scan_fields(&s))
			finish_head(&s);
		return;
	}
	ret->message_missing = false;
	if (!json_value(&s.j, &v) || !json_end(&s.j))
		return;
	ret->kind = v.kind;
	ret->falsy = !json_truthy(v);
}

/* ---- blocks ---- */

void block_iter_init(struct block_iter *it, struct json_value content)
{
	json_init(&it->j, content.text, NULL);
	it->live = content.kind == JSON_ARRAY && json_enter(&it->j) == JSON_ARRAY;
}

static bool read_block(struct json *j, struct block *ret)
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
	ret->type = name_index(ret->type_, block_names, COUNT(block_names));
	return rc == 0;
}

bool block_next(struct block_iter *it, struct block *ret)
{
	/* Only needed while inside one block, so the iterator need not own it. */
	CLEANUP_BUF struct buf deep = BUF_INIT;

	if (!it->live)
		return false;
	it->j.deep = &deep;
	it->live = json_next(&it->j, NULL) > 0 && read_block(&it->j, ret);
	it->j.deep = NULL;
	return it->live;
}
