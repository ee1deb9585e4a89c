/* SPDX-License-Identifier: MIT */
/* The index reads every line of every file. Most of that time goes not into long strings but into the few dozen keys
 * and short values around them. So there is a fast path for lines as pi writes them: no white space, no escaped keys,
 * `role` before `content`, the usual fields first. It keeps only a pointer and looks at 16 bytes at a time; long
 * strings go to the JSON scanner. It never judges: it leaves all other lines to record_parse(), so a line means the
 * same on both paths. */
#include "sessionfs/base/bytes.h"
#include "sessionfs/base/space.h"
#include "sessionfs/session/format.h"
#include "record_impl.h"

struct head_scan {
	struct record_head *head;
	void (*on_call)(void *arg, struct json_value id);
	void *arg;
	const char *end; /* of the text */
	struct json_value type, role, details;
	struct ending ending;
	bool message, content; /* seen */
	bool has_text;         /* a text that is not white space */
};

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
}

static void finish_role(struct record_head *head, struct json_value role)
{
	head->role = record_role_of(role);
	head->old_custom = head->role == ROLE_OTHER && format_is_old_custom(role);
}

/* Requires the role. */
static inline void finish_message(struct head_scan *s)
{
	struct record_head *head = s->head;
	struct json_value stop = s->ending.stop_reason;

	head->has_error = record_failed(head->role, &s->ending);
	head->details_failed = details_say_failed(head->role, s->details);
	head->deferred = head->role == ROLE_ASSISTANT && is_text(stop, "deferred", 8);
	if (head->role == ROLE_ASSISTANT)
		/* A message that ended by itself appears in pi's /tree only if it has text. */
		head->no_text =
		    !s->has_text && (!json_is_truthy(stop) || is_text(stop, "stop", 4) || is_text(stop, "toolUse", 7));
	else
		head->calls = head->has_file_call = 0;
}

static void head_scan_block(struct head_scan *s, struct json_value type, struct json_value id, struct json_value name,
                            struct json_value text)
{
	if (type.kind != JSON_STRING)
		return;
	if (key_is(type, "text", 4))
		head_scan_text(s, text);
	s->head->images += key_is(type, "image", 5);
	if (!key_is(type, "toolCall", 8))
		return;
	s->head->calls++;
	s->head->has_file_call |= file_action_of(name) != FILE_NONE;
	if (s->on_call)
		s->on_call(s->arg, id);
}

/* ---- the slow path ---- */

static void head_parse_message(struct head_scan *s, const struct record *r)
{
	struct block_iter it;
	struct block b;

	finish_role(s->head, r->msg.role);
	s->head->tool_call_id = r->msg.tool_call_id;
	s->head->nested_calls = r->msg.nested_calls;
	s->head->duration = r->msg.duration;
	s->head->message_time = r->msg.timestamp;
	s->head->has_content = r->msg.content.kind != JSON_NONE;
	s->details = r->msg.details;
	s->ending = (struct ending){r->msg.stop_reason, r->msg.is_error, r->msg.cancelled, r->msg.exit_code};
	s->has_text = false;
	head_scan_text(s, r->msg.content);
	block_iter_init(&it, r->msg.content);
	while (block_next(&it, &b))
		head_scan_block(s, b.type_, b.id, b.name, b.text);
	finish_message(s);
}

static void head_parse_other_line(struct record_head *head, struct span line, struct buf *deep)
{
	struct json j;
	struct json_value v;

	json_init(&j, line, deep);
	if (!json_value(&j, &v) || !json_at_end(&j))
		return;
	head->kind = v.kind;
	head->falsy = !json_is_truthy(v);
}

static void parse_head(struct head_scan *s, struct span line, struct buf *deep)
{
	struct record_head *head = s->head;
	struct record r;

	memset(head, 0, sizeof *head);
	if (!record_parse(line, NULL, deep, &r) || r.kind != JSON_OBJECT) {
		head_parse_other_line(head, line, deep);
		return;
	}
	head->kind = JSON_OBJECT;
	head->type = r.type;
#define HEAD_TAKE_VALUE(c, json) head->c = r.c;
	HEAD_FIELDS(HEAD_TAKE_VALUE)
	head->msg.provider = r.msg.provider;
	head->msg.model = r.msg.model;
	head->msg.usage = r.msg.usage;
	head->message_missing = r.type == RECORD_MESSAGE && r.message.kind <= JSON_NULL;
	if (r.type == RECORD_MESSAGE && r.message.kind == JSON_OBJECT)
		head_parse_message(s, &r);
}

void record_head(struct span line, struct buf *deep, struct record_head *ret,
                 void (*on_call)(void *arg, struct json_value id), void *arg)
{
	struct head_scan s = {.head = ret, .on_call = on_call, .arg = arg};

	parse_head(&s, line, deep);
}

/* ---- the fast path ---- */

/* Each of these functions gets a pointer into the line and returns where the line continues, or NULL for the slow path.
 * They need not check for the end: the control character there stops them all, and SCAN_BYTES bytes can be read from
 * any place in the line. */

enum { SCAN_BYTES = 16 };
_Static_assert(RECORD_PAD >= 3 * SCAN_BYTES, "the short way looks that far ahead");

/* Returns the index of the first quote, backslash or control byte among the SCAN_BYTES bytes at p, or SCAN_BYTES. */
static inline unsigned find_special(const char *p)
{
	bytes16 b = bytes16_load(p);
	/* Swapping quotes and spaces makes quote and control bytes the smallest; compared as signed. */
	bytes16 hit = ((b ^ (2 - 128)) < ' ' + 1 - 128) | (b == '\\');
	return (unsigned)__builtin_ctz(bytes16_mask(hit) | 1u << SCAN_BYTES);
}

/* Returns a bit for each of the SCAN_BYTES bytes at p that is not a digit, and all bits above them. */
static inline unsigned find_non_digits(const char *p)
{
	return ~bytes16_mask(bytes16_range(bytes16_load(p), '0', '9'));
}

/* Reads the rest of the string at p, whose first n bytes are plain. */
static const char *head_long_string(const struct head_scan *s, const char *p, unsigned n, struct json_value *ret)
{
	bool escaped;
	const char *quote = json_string_end(p + 1 + n, s->end, &escaped);

	if (!quote)
		return NULL;
	*ret = (struct json_value){JSON_STRING, escaped, {p + 1, (size_t)(quote - p - 1)}};
	return quote + 1;
}

static inline const char *string_at(const struct head_scan *s, const char *p, struct json_value *ret)
{
	unsigned n = find_special(p + 1);

	if (n == SCAN_BYTES)
		n += find_special(p + 1 + SCAN_BYTES);
	if (p[n + 1] != '"')
		return head_long_string(s, p, n, ret);
	*ret = (struct json_value){JSON_STRING, false, {p + 1, n}};
	return p + n + 2;
}

/* Reads a key and its colon. */
static inline const char *key_at(const char *p, struct span *ret)
{
	unsigned n = find_special(p + 1);

	if (n == SCAN_BYTES)
		n += find_special(p + 1 + SCAN_BYTES);
	if (*p != '"' || memcmp(p + n + 1, "\":", 2) != 0)
		return NULL;
	*ret = (struct span){p + 1, n};
	return p + n + 3;
}

static const char *head_long_number(const struct head_scan *s, const char *p, struct json_value *ret)
{
	struct json j;

	if (!is_digit(*p) && *p != '-')
		return NULL;
	json_init(&j, (struct span){p, (size_t)(s->end - p)}, NULL);
	return json_value(&j, ret) ? j.p : NULL;
}

static inline const char *number_at(const struct head_scan *s, const char *p)
{
	struct json_value v;
	unsigned others = find_non_digits(p), whole = (unsigned)__builtin_ctz(others), n = whole;

	if (p[n] == '.') {
		n = (unsigned)__builtin_ctz(others & (others - 1));
		if (n == whole + 1)
			return NULL;
		if (n == SCAN_BYTES)
			n += (unsigned)__builtin_ctz(find_non_digits(p + SCAN_BYTES));
	}
	bool usual = whole && whole < SCAN_BYTES && (*p != '0' || whole == 1) && (p[n] | 0x20) != 'e';
	return usual ? p + n : head_long_number(s, p, &v);
}

static inline __attribute__((always_inline)) const char *scalar_at(const struct head_scan *s, const char *p)
{
	struct json_value v;

	if (*p == '"')
		return string_at(s, p, &v);
	if (is_digit(*p))
		return number_at(s, p);
	if (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0)
		return p + 4;
	if (memcmp(p, "false", 5) == 0)
		return p + 5;
	return head_long_number(s, p, &v);
}

/* Returns the end of the container at p, which begins with a bracket. */
static const char *container_at(const struct head_scan *s, const char *p)
{
	uint64_t objects = 1; /* one bit per open container, below a top bit */
	struct span key;

	for (;;) {
		if (*p == '{' || *p == '[') {
			if (objects >> 62)
				return NULL;
			objects = objects << 1 | (*p == '{');
			p++;
			if (*p != (objects & 1 ? '}' : ']'))
				goto member;
		} else {
			p = scalar_at(s, p);
			if (!p)
				return NULL;
		}
		while (*p == (objects & 1 ? '}' : ']')) {
			p++;
			objects >>= 1;
			if (objects == 1)
				return p;
		}
		if (*p++ != ',')
			return NULL;
	member:
		if (objects & 1) {
			p = key_at(p, &key);
			if (!p)
				return NULL;
		}
	}
}

static inline const char *skip_at(const struct head_scan *s, const char *p)
{
	return *p == '{' || *p == '[' ? container_at(s, p) : scalar_at(s, p);
}

/* Reads a value of the head: nearly always a string. */
static inline const char *value_at(const struct head_scan *s, const char *p, struct json_value *ret)
{
	if (*p == '"')
		return string_at(s, p, ret);
	if (memcmp(p, "null", 4) != 0)
		return head_long_number(s, p, ret);
	*ret = (struct json_value){JSON_NULL, false, {p, 4}};
	return p + 4;
}

/* Reads a value of any kind. */
static inline const char *any_value_at(const struct head_scan *s, const char *p, struct json_value *ret)
{
	if (*p == '"')
		return string_at(s, p, ret);
	const char *end = skip_at(s, p);
	if (end)
		*ret = (struct json_value){json_kind_at(p, s->end), false, {p, (size_t)(end - p)}};
	return end;
}

#define KEY_IS(key, name) ((key).n == sizeof(name) - 1 && memcmp((key).p, name, sizeof(name) - 1) == 0)
#define HEAD_SKIP_VALUE(p, text) (memcmp((p), text, sizeof(text) - 1) == 0 ? (p) + sizeof(text) - 1 : NULL)

/* Reads a usage: nearly always as pi writes it, numbers in pi's order. */
static const char *usage_at(struct head_scan *s, const char *begin)
{
	struct json_value *n = s->head->numbers;
	const char *p = begin;
	if (!(p = HEAD_SKIP_VALUE(p, "{\"input\":")) || !(p = any_value_at(s, p, &n[0])) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"output\":")) || !(p = any_value_at(s, p, &n[1])) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"cacheRead\":")) || !(p = any_value_at(s, p, &n[2])) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"cacheWrite\":")) || !(p = any_value_at(s, p, &n[3])) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"totalTokens\":")) || !(p = any_value_at(s, p, &n[4])) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"cost\":{\"input\":")) || !(p = number_at(s, p)) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"output\":")) || !(p = number_at(s, p)) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"cacheRead\":")) || !(p = number_at(s, p)) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"cacheWrite\":")) || !(p = number_at(s, p)) ||
	    !(p = HEAD_SKIP_VALUE(p, ",\"total\":")) || !(p = any_value_at(s, p, &n[5])) ||
	    !(p = HEAD_SKIP_VALUE(p, "}}"))) {
		n[0].kind = JSON_NONE;
		return any_value_at(s, begin, &s->head->msg.usage);
	}
	s->head->msg.usage = (struct json_value){JSON_OBJECT, false, {begin, (size_t)(p - begin)}};
	return p;
}

static const char *block_at(struct head_scan *s, const char *begin)
{
	struct json_value type = {JSON_STRING, false, {"text", 4}}, id = {0}, name = {0}, text = {0};
	const char *p = HEAD_SKIP_VALUE(begin, "{\"type\":\"text\",\"text\":"); /* most blocks */
	struct span key;
	char before = ',';

	if (p)
		p = *p == '"' ? string_at(s, p, &text) : NULL;
	if (!p) {
		type.kind = JSON_NONE;
		p = begin;
		before = '{';
		if (*p != before)
			return NULL;
	}
	for (; *p == before; before = ',') {
		p = key_at(p + 1, &key);
		if (!p)
			return NULL;
		if (KEY_IS(key, "type"))
			p = value_at(s, p, &type);
		else if (KEY_IS(key, "id"))
			p = value_at(s, p, &id);
		else if (KEY_IS(key, "name"))
			p = any_value_at(s, p, &name);
		else if (KEY_IS(key, "text"))
			p = any_value_at(s, p, &text);
		else
			p = skip_at(s, p);
		if (!p)
			return NULL;
	}
	if (*p != '}')
		return NULL;
	head_scan_block(s, type, id, name, text);
	return p + 1;
}

/* Blocks are examined for any role: in the end only the calls of an assistant count. */
static const char *content_at(struct head_scan *s, const char *p)
{
	struct json_value text;

	if (s->content)
		return NULL;
	s->content = true;
	if (*p == '"') {
		p = string_at(s, p, &text);
		if (p)
			head_scan_text(s, text);
		return p;
	}
	if (*p != '[' || p[1] == ']')
		return skip_at(s, p);
	for (char before = '['; *p == before; before = ',') {
		p = block_at(s, p + 1);
		if (!p)
			return NULL;
	}
	return *p == ']' ? p + 1 : NULL;
}

/* Returns the member for a field that tells how a message or its call ended, or NULL. */
static struct json_value *head_ending_field(struct head_scan *s, struct span key)
{
	switch (key.n) {
	case 7:
		return KEY_IS(key, "isError") ? &s->ending.is_error : NULL;
	case 8:
		return KEY_IS(key, "exitCode") ? &s->ending.exit_code : NULL;
	case 9:
		return KEY_IS(key, "cancelled") ? &s->ending.cancelled : NULL;
	case 10:
		return KEY_IS(key, "stopReason")   ? &s->ending.stop_reason
		       : KEY_IS(key, "durationMs") ? &s->head->duration
		                                   : NULL;
	case 11:
		return KEY_IS(key, "nestedCalls") ? &s->head->nested_calls : NULL;
	default:
		return NULL;
	}
}

static const char *message_at(struct head_scan *s, const char *p)
{
	struct json_value *ending;
	struct span key;
	char before = '{';

	if (s->message || *p != before)
		return NULL;
	s->message = true;
	if (memcmp(p, "{\"role\":\"", 9) == 0) {
		p = string_at(s, p + 8, &s->role);
		if (!p)
			return NULL;
		before = ',';
	}
	for (; *p == before; before = ',') {
		p = key_at(p + 1, &key);
		if (!p)
			return NULL;
		if (KEY_IS(key, "content"))
			p = content_at(s, p);
		else if (KEY_IS(key, "usage"))
			p = usage_at(s, p);
		else if (KEY_IS(key, "provider"))
			p = any_value_at(s, p, &s->head->msg.provider);
		else if (KEY_IS(key, "model"))
			p = any_value_at(s, p, &s->head->msg.model);
		else if (KEY_IS(key, "role"))
			p = value_at(s, p, &s->role);
		else if (KEY_IS(key, "toolCallId"))
			p = value_at(s, p, &s->head->tool_call_id);
		else if (KEY_IS(key, "timestamp"))
			p = any_value_at(s, p, &s->head->message_time);
		else if (KEY_IS(key, "details"))
			p = any_value_at(s, p, &s->details);
		else if ((ending = head_ending_field(s, key)))
			p = any_value_at(s, p, ending);
		else
			p = skip_at(s, p);
		if (!p)
			return NULL;
	}
	return *p == '}' ? p + 1 : NULL;
}

static struct json_value *head_field(struct head_scan *s, struct span key)
{
#define HEAD_FIELD(c, json)                                                                                            \
	if (KEY_IS(key, json))                                                                                         \
		return &s->head->c;
	HEAD_FIELDS(HEAD_FIELD)
	return KEY_IS(key, "type") ? &s->type : NULL;
}

/* Reads the four fields that pi writes first, in its order. Returns NULL if they differ. */
static const char *usual_prefix_at(struct head_scan *s, const char *p)
{
	if (!(p = HEAD_SKIP_VALUE(p, "{\"type\":")) || *p != '"' || !(p = string_at(s, p, &s->type)))
		return NULL;
	if (!(p = HEAD_SKIP_VALUE(p, ",\"id\":")) || *p != '"' || !(p = string_at(s, p, &s->head->id)))
		return NULL;
	if (!(p = HEAD_SKIP_VALUE(p, ",\"parentId\":")) || !(p = value_at(s, p, &s->head->parent_id)))
		return NULL;
	if (!(p = HEAD_SKIP_VALUE(p, ",\"timestamp\":")) || *p != '"')
		return NULL;
	return string_at(s, p, &s->head->timestamp);
}

static const char *record_line_at(struct head_scan *s, const char *begin)
{
	const char *p = usual_prefix_at(s, begin);
	char before = ',';
	struct span key;

	if (!p) {
		p = begin;
		before = '{';
		if (*p != before)
			return NULL;
	}
	for (; *p == before; before = ',') {
		p = key_at(p + 1, &key);
		if (!p)
			return NULL;
		struct json_value *field = NULL;
		if (KEY_IS(key, "message"))
			p = message_at(s, p);
		else if ((field = head_field(s, key)))
			p = any_value_at(s, p, field);
		else
			p = skip_at(s, p);
		if (!p)
			return NULL;
	}
	return *p == '}' ? p + 1 : NULL;
}

static void finish_head(struct head_scan *s)
{
	struct record_head *head = s->head;

	head->kind = JSON_OBJECT;
	head->type = record_type_of(s->type);
	if (head->type == RECORD_MESSAGE && s->message) {
		finish_role(head, s->role);
		head->has_content = s->content;
		finish_message(s);
		return;
	}
	head->message_time.kind = JSON_NONE;
	head->message_missing = head->type == RECORD_MESSAGE;
	head->tool_call_id.kind = head->nested_calls.kind = head->duration.kind = JSON_NONE;
	head->calls = head->images = 0;
	head->has_file_call = false;
}

/* Field by field: compilers clear the whole struct with an instruction that takes longer than half a line. */
static inline void head_reset(struct record_head *head)
{
	head->kind = JSON_NONE;
	head->falsy = head->deferred = head->message_missing = head->old_custom = head->has_error = head->no_text =
	    head->has_content = head->has_file_call = head->details_failed = false;
	head->message_time.kind = JSON_NONE;
	head->type = RECORD_OTHER;
	head->role = ROLE_NONE;
#define HEAD_RESET(c, json) head->c.kind = JSON_NONE;
	HEAD_FIELDS(HEAD_RESET)
	head->msg.provider.kind = head->msg.model.kind = head->msg.usage.kind = JSON_NONE;
	head->numbers[0].kind = JSON_NONE;
	head->tool_call_id.kind = head->nested_calls.kind = head->duration.kind = JSON_NONE;
	head->calls = head->images = 0;
}

size_t record_head_padded(struct span text, struct buf *deep, struct record_head *ret,
                          void (*on_call)(void *arg, struct json_value id), void *arg)
{
	struct head_scan s;

	head_reset(ret);
	s.head = ret;
	s.on_call = on_call;
	s.arg = arg;
	s.end = text.p + text.n;
	s.type = s.role = (struct json_value){0};
	s.details.kind = JSON_NONE;
	s.ending.stop_reason.kind = s.ending.is_error.kind = JSON_NONE;
	s.ending.cancelled.kind = s.ending.exit_code.kind = JSON_NONE;
	s.message = s.content = s.has_text = false;
	const char *p = record_line_at(&s, text.p);
	if (p && *p == '\r' && p != s.end)
		p++;
	/* The fast path succeeded if the line ends here. */
	if (p && (p == s.end || *p == '\n')) {
		finish_head(&s);
		return (size_t)(p - text.p);
	}
	const char *newline = text.n ? memchr(text.p, '\n', text.n) : NULL;
	if (newline)
		text.n = (size_t)(newline - text.p);
	parse_head(&s, text, deep);
	return text.n;
}
