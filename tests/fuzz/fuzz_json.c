/* SPDX-License-Identifier: MIT */
/* fuzz_json: json.c, json/text.c, json/pretty.c. For any bytes, the ways to read them agree: by value and step by step,
 * with SSE2 and without. Sizes match the bytes, and quoted text reads back unchanged. */
#include "fuzz.h"
#include "portable.h"

#include "sessionfs/base/utf8.h"

static bool is_utf8(struct span s)
{
	return utf8_prefix(s) == s.n;
}

/* Quoted text reads back unchanged. */
static void check_quoting(struct span text)
{
	CLEANUP_BUF struct buf quoted = BUF_INIT, portable = BUF_INIT, back = BUF_INIT;
	struct json_value v;
	struct json j;

	json_quote(text, &quoted);
	portable_json_quote(text, &portable);
	assert_spans_equal(buf_span(&quoted), buf_span(&portable));
	assert_true(is_utf8(buf_span(&quoted)));
	json_init(&j, buf_span(&quoted), NULL);
	assert_true(json_value(&j, &v) && json_at_end(&j) && v.kind == JSON_STRING);
	json_decode(v.text, JSON_EXACT, &back);
	if (is_utf8(text))
		assert_spans_equal(buf_span(&back), text);
}

/* Decodes in one way, with SSE2 and without. */
static void decode(struct span text, enum json_decode how, struct buf *out)
{
	CLEANUP_BUF struct buf portable = BUF_INIT;

	json_decode(text, how, out);
	assert_int_equal(out->n, json_decoded_size(text, how));
	portable_json_decode(text, how, &portable);
	assert_spans_equal(buf_span(out), buf_span(&portable));
	assert_int_equal(portable.n, portable_json_decoded_size(text, how));
}

static void check_decoding(struct span text)
{
	CLEANUP_BUF struct buf exact = BUF_INIT, clean = BUF_INIT;

	decode(text, JSON_EXACT, &exact);
	decode(text, JSON_CLEAN, &clean);
	assert_true(is_utf8(buf_span(&clean)));
	/* A bare one is in no string. */
	if (text.n && !memchr(text.p, '\0', text.n))
		assert_null(memchr(clean.p, '\0', clean.n));
	check_quoting(buf_span(&exact));
}

/* Checks the text between the quotes of a string, with half surrogate pairs. */
static void check_string(struct span text)
{
	CLEANUP_BUF struct buf exact = BUF_INIT, quoted = BUF_INIT, back = BUF_INIT;

	check_decoding(text);
	if (!is_utf8(text))
		return;
	json_decode(text, JSON_EXACT, &exact);
	json_quote(buf_span(&exact), &quoted);
	json_decode((struct span){quoted.p + 1, quoted.n - 2}, JSON_EXACT, &back);
	assert_spans_equal(buf_span(&exact), buf_span(&back));
}

static void check_number(struct json_value v)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	double d;

	buf_addspan(&text, v.text);
	assert_true(json_double(v, &d));
	double expected = strtod(buf_cstr(&text), NULL);
	assert_true(memcmp(&d, &expected, sizeof d) == 0);
	assert_int_equal(json_is_truthy(v), d != 0);
}

/* Walks the text with json_enter and json_next. Returns true if all of it is well-formed. */
static bool walk(struct span text, struct buf *deep)
{
	struct json_value key, v;
	struct json j;
	int rc;

	json_init(&j, text, deep);
	do {
		enum json_kind kind = json_peek(&j);
		if (kind == JSON_ARRAY || kind == JSON_OBJECT)
			json_enter(&j);
		else if (!json_value(&j, &v))
			return false;
		else if (v.kind == JSON_STRING)
			check_string(v.text);
		else if (v.kind == JSON_NUMBER)
			check_number(v);
		rc = 0;
		while (j.depth > 0 && (rc = json_next(&j, &key)) == 0)
			;
	} while (rc > 0);
	return rc == 0 && json_at_end(&j);
}

/* Appends valid JSON without the white space between tokens. */
static void add_packed(struct span s, struct buf *out)
{
	bool in_string = false;

	for (size_t i = 0; i < s.n; i++) {
		if (!in_string && strchr(" \t\r\n", s.p[i]) && s.p[i])
			continue;
		buf_addc(out, s.p[i]);
		if (in_string && s.p[i] == '\\')
			buf_addc(out, s.p[++i]);
		else if (s.p[i] == '"')
			in_string = !in_string;
	}
}

static void check_pretty(struct json_value v)
{
	CLEANUP_BUF struct buf deep = BUF_INIT, pretty = BUF_INIT, again = BUF_INIT, packed = BUF_INIT, of = BUF_INIT;
	struct json j;

	json_pretty(v, &pretty);
	assert_true(json_valid(buf_span(&pretty), &deep));
	add_packed(buf_span(&pretty), &packed);
	add_packed(json_raw(v), &of);
	assert_spans_equal(buf_span(&packed), buf_span(&of));
	json_init(&j, buf_span(&pretty), &deep);
	assert_true(json_value(&j, &v));
	json_pretty(v, &again);
	assert_spans_equal(buf_span(&pretty), buf_span(&again));
}

/* json_get finds each member, and the last of a repeated key. */
static void check_members(struct json_value object)
{
	CLEANUP_BUF struct buf deep = BUF_INIT, name = BUF_INIT;
	struct json_value key, v, last = {0};
	struct json j;

	json_init(&j, object.text, &deep);
	assert_int_equal(json_enter(&j), JSON_OBJECT);
	while (json_next(&j, &key) > 0) {
		assert_true(json_value(&j, &v));
		buf_reset(&name);
		json_decode(key.text, JSON_EXACT, &name);
		last = v;
	}
	if (last.kind == JSON_NONE || (name.n && memchr(name.p, '\0', name.n)))
		return;
	struct json_value found = json_get(object, buf_cstr(&name));
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] >= 0x80)
			return; /* names are ASCII */
	assert_spans_equal(json_raw(found), json_raw(last));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct span text = {(const char *)data, size};
	struct json_value v;
	struct json j;

	bool ok = json_valid(text, &deep);
	assert_int_equal(portable_json_valid(text, &deep), ok);
	assert_int_equal(walk(text, &deep), ok);
	json_init(&j, text, &deep);
	bool read = json_value(&j, &v);
	assert_int_equal(read && json_at_end(&j), ok);
	check_decoding(text);
	check_quoting(text);
	if (!ok)
		return 0;
	check_pretty(v);
	if (v.kind == JSON_OBJECT)
		check_members(v);
	return 0;
}
