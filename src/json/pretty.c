/* SPDX-License-Identifier: MIT */
/* Formats a value for people. The scanner walks it: no tree, no recursion. */
#include "sessionfs/base/utf8.h"
#include "sessionfs/json/json.h"

static void pretty_newline(struct buf *out, size_t depth)
{
	buf_addc(out, '\n');
	char *to = buf_reserve(out, 2 * depth);
	if (!to)
		return;
	memset(to, ' ', 2 * depth);
	out->n += 2 * depth;
}

/* Appends the container v with its members and brackets. */
static void pretty_container(struct json_value v, struct buf *out)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	bool object[JSON_PRETTY_DEPTH], empty = true;
	struct json_value key, member;
	struct json j;
	size_t depth = 0;
	int rc;

	json_init(&j, v.text, &deep);
	object[depth++] = json_enter(&j) == JSON_OBJECT;
	buf_addc(out, object[0] ? '{' : '[');
	while (depth > 0 && (rc = json_next(&j, &key)) >= 0) {
		if (rc == 0) {
			depth--;
			if (!empty)
				pretty_newline(out, depth);
			buf_addc(out, object[depth] ? '}' : ']');
			empty = false;
			continue;
		}
		if (!empty)
			buf_addc(out, ',');
		pretty_newline(out, depth);
		if (object[depth - 1]) {
			buf_addspan(out, json_raw(key));
			buf_adds(out, ": ");
		}
		enum json_kind kind = json_peek(&j);
		empty = (kind == JSON_OBJECT || kind == JSON_ARRAY) && depth < JSON_PRETTY_DEPTH;
		if (empty) {
			object[depth++] = kind == JSON_OBJECT;
			json_enter(&j);
			buf_addc(out, kind == JSON_OBJECT ? '{' : '[');
		} else if (json_value(&j, &member)) {
			buf_addspan(out, json_raw(member));
		}
	}
}

void json_pretty(struct json_value v, struct buf *out)
{
	if (v.kind == JSON_OBJECT || v.kind == JSON_ARRAY)
		pretty_container(v, out);
	else if (v.kind != JSON_NONE)
		buf_addspan(out, json_raw(v));
}

/* Returns the end of the run of tokens at p without white space between them. */
static const char *tokens_end(const char *p, const char *end)
{
	bool escaped;

	for (; p < end && !json_is_space(*p); p++) {
		if (*p == '"')
			p = json_string_end(p + 1, end, &escaped);
		if (!p)
			return end;
	}
	return p;
}

void json_compact(struct json_value v, struct buf *out)
{
	struct span raw = json_raw(v);
	const char *p = raw.p, *end = raw.n ? p + raw.n : p;

	while (p < end) {
		const char *next = tokens_end(p, end);
		buf_add(out, p, (size_t)(next - p));
		for (p = next; p < end && json_is_space(*p);)
			p++;
	}
}

void json_add(struct span json, struct buf *out)
{
	for (;;) {
		size_t good = utf8_prefix(json);
		buf_add(out, json.p, good);
		if (good == json.n)
			return;
		size_t bad = (size_t)-utf8_next(json.p + good, json.n - good);
		buf_adds(out, "\uFFFD");
		json = (struct span){json.p + good + bad, json.n - good - bad};
	}
}
