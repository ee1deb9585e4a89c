/* SPDX-License-Identifier: MIT */
/* json: valid input, its values, and input that a scanner must survive. */
#include "cases.h"
#include "session_lines.h"
#include "failing_alloc.h"
#include "texts.h"
#include "sessionfs/json/json.h"

#include <math.h>

/* A copy of exactly that size, so that a memory checker sees a read past its end. */
static char *exact_copy(struct span s)
{
	char *p = malloc(s.n ? s.n : 1);
	assert_non_null(p);
	if (s.n)
		memcpy(p, s.p, s.n);
	return p;
}

static bool valid(struct span s)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	char *p = exact_copy(s);
	bool ok = json_valid((struct span){p, s.n}, &deep);
	free(p);
	return ok;
}

static struct json_value value_of(struct span s)
{
	struct json_value v = {JSON_NONE, false, {NULL, 0}};
	struct json j;
	json_init(&j, s, NULL);
	json_value(&j, &v);
	return v;
}

static void assert_each(const struct span *texts, size_t n, bool ok)
{
	for (size_t i = 0; i < n; i++)
		if (valid(texts[i]) != ok)
			fail_msg("%s: %s", ok ? "refused" : "accepted", texts[i].p);
}

static void add_times(struct buf *b, char c, size_t n)
{
	while (n-- > 0)
		buf_addc(b, c);
}

CASE(accepts_what_is_valid)
{
	static const struct span texts[] =
	    ITEMS(
	    SPAN_LIT("null"), SPAN_LIT("true"), SPAN_LIT("false"), SPAN_LIT("0"), SPAN_LIT("-0"), SPAN_LIT("17"),
	    SPAN_LIT("-1.50"), SPAN_LIT("0.0"), SPAN_LIT("1e5"), SPAN_LIT("1E+5"), SPAN_LIT("12.25e-7"),
	    SPAN_LIT("0e0"), SPAN_LIT("1e400"), SPAN_LIT("-1e-400"), SPAN_LIT("123456789012345678901234567890"),
	    SPAN_LIT(JSON("")), SPAN_LIT(JSON("plain")), SPAN_LIT(JSON("\"\\\/\b\f\n\r\t")),
	    SPAN_LIT(JSON("\u0000\uAbCd\uD800\udc00")), SPAN_LIT(JSON("\udead")),
	    SPAN_LIT("\"\x7f\xc3\xa9\xe2\x80\xa8\""), SPAN_LIT("\"\xff\xc0\xed\xa0\x80 not UTF-8\""), SPAN_LIT("[]"),
	    SPAN_LIT("{}"), SPAN_LIT("[[],{},[{}]]"), SPAN_LIT(JSON([1,"2",null])), SPAN_LIT(JSON({"a":1,"a":2})),
	    SPAN_LIT(JSON({"":{"":[]}})), SPAN_LIT(" \t\r\n{ \"a\" :\n[ 1 ,\r\n2 ] ,\t\"b\" : null } \r\n"));
	assert_each(texts, COUNT(texts), true);
}

CASE(rejects_invalid_json)
{
	static const struct span texts[] = ITEMS(
	    SPAN_LIT(""), SPAN_LIT(" "), SPAN_LIT("nul"), SPAN_LIT("nulL"), SPAN_LIT("nulll"), SPAN_LIT("True"),
	    SPAN_LIT("undefined"), SPAN_LIT("NaN"), SPAN_LIT("Infinity"), SPAN_LIT("-"), SPAN_LIT("+1"), SPAN_LIT("01"),
	    SPAN_LIT("-01"), SPAN_LIT(".5"), SPAN_LIT("1."), SPAN_LIT("1.e3"), SPAN_LIT("1e"), SPAN_LIT("1e+"),
	    SPAN_LIT("0x10"), SPAN_LIT("1 2"), SPAN_LIT("1,"), SPAN_LIT("\""), SPAN_LIT("\"a"), SPAN_LIT("'a'"),
	    SPAN_LIT("\"\\\""), SPAN_LIT(JSON("\x41")), SPAN_LIT(JSON("\a")), SPAN_LIT(JSON("\U0041")),
	    SPAN_LIT(JSON("\u")), SPAN_LIT(JSON("\u12")), SPAN_LIT(JSON("\u12g4")), SPAN_LIT(JSON("\u+123")),
	    SPAN_LIT("\"\\\0\""), SPAN_LIT("\"\\\xc3\xa9\""), SPAN_LIT("\"\0\""), SPAN_LIT("\"tab\there\""),
	    SPAN_LIT("\"line\nhere\""), SPAN_LIT("\"\x1f\""), SPAN_LIT("\"a\"b"), SPAN_LIT("["), SPAN_LIT("]"),
	    SPAN_LIT("[1"), SPAN_LIT("[1,"), SPAN_LIT("[1,]"), SPAN_LIT("[,1]"), SPAN_LIT("[1 2]"), SPAN_LIT("[1}"),
	    SPAN_LIT(JSON(["a":1])), SPAN_LIT("{"), SPAN_LIT("}"), SPAN_LIT("{]"), SPAN_LIT(JSON({"a"})),
	    SPAN_LIT(JSON({"a":})), SPAN_LIT(JSON({"a":1,})), SPAN_LIT(JSON({,"a":1})), SPAN_LIT(JSON({"a" 1})),
	    SPAN_LIT("{a:1}"), SPAN_LIT("{1:1}"), SPAN_LIT(JSON({"a":1 "b":2})), SPAN_LIT(JSON({"a\q":1})),
	    SPAN_LIT("[]]"), SPAN_LIT("{}}"), SPAN_LIT("[1]/* */"), SPAN_LIT("\xef\xbb\xbf{}"), SPAN_LIT("[\v1]"),
	    SPAN_LIT("[\f1]"), SPAN_LIT("[\xc2\xa0" "1]"), SPAN_LIT("[]\0"), SPAN_LIT("\0[]"), SPAN_LIT("[1\0]"));
	assert_each(texts, COUNT(texts), false);
}

/* Every prefix of an object is malformed, and none makes the scanner read past its end. */
CASE(refuses_every_truncation)
{
	static const struct span text = SPAN_LIT(
	    JSON({"type":"message","id":"a1b2c3d4","n":[-1.5e+3,true,false,null,{}],"text":"a long text that goes on for more than one block of bytes, with \"quotes\", \\ and \ud83d\ude00\n and then plain text again for another sixty-four bytes or so","z":[[["\u0000"]]]}));
	assert_true(valid(text));
	for (size_t n = 0; n < text.n; n++)
		assert_false(valid((struct span){text.p, n}));
}

/* A quote, an escape or a control byte means the same at any offset in a block. */
CASE(block_boundaries_do_not_matter)
{
	static const struct {
		const char *text;
		bool ok;
	} pieces[] = {
	    {"\\\"", true},     {"\\\\", true},     {"\\\\\\\\", true}, {"\\\\\\\"", true}, {"\\n", true},
	    {"\\u00e9", true},  {"\\/\\r", true},   {"\\x", false},     {"\\u00g9", false}, {"\\u12\"", false},
	    {"\\ug0e9", false}, {"\\u0ge9", false}, {"\\u00eg", false}, {"\t", false},      {"\x01", false},
	    {"\"", false},      {"\\\\\"", false},  {"\\\n", false},
	};
	for (size_t i = 0; i < COUNT(pieces); i++) {
		for (size_t lead = 0; lead < 150; lead++) {
			CLEANUP_BUF struct buf b = BUF_INIT;
			buf_addc(&b, '"');
			add_times(&b, 'n', lead);
			buf_adds(&b, pieces[i].text);
			add_times(&b, 'n', 70);
			buf_addc(&b, '"');
			assert_int_equal(valid(buf_span(&b)), pieces[i].ok);
			if (!pieces[i].ok)
				continue;
			struct json_value v = value_of(buf_span(&b));
			assert_true(v.escaped);
			assert_int_equal(v.text.n, b.n - 2);
		}
	}
}

/* At any place in a string, each byte follows the grammar, alone and after a backslash. */
CASE(every_byte_in_a_string)
{
	static const size_t places[] = {2, 3, 15, 16, 17, 18, 30, 31, 32, 33, 140};
	for (int c = 0; c < 256; c++) {
		for (size_t i = 0; i < COUNT(places); i++) {
			char text[160];
			memset(text, 'a', sizeof text);
			text[0] = text[sizeof text - 1] = '"';
			text[places[i]] = (char)c;
			assert_int_equal(valid((struct span){text, sizeof text}), c >= ' ' && c != '"' && c != '\\');
			text[places[i] - 1] = '\\';
			assert_int_equal(valid((struct span){text, sizeof text}), c && strchr("\"\\/bfnrtu", c));
		}
	}
}

CASE(runs_of_backslashes)
{
	for (size_t lead = 0; lead < 80; lead += 7) {
		for (size_t run = 0; run < 200; run++) {
			CLEANUP_BUF struct buf b = BUF_INIT;
			buf_addc(&b, '"');
			add_times(&b, 'a', lead);
			add_times(&b, '\\', run);
			buf_addc(&b, '"');
			assert_int_equal(valid(buf_span(&b)), run % 2 == 0);
			add_times(&b, ' ', 100);
			assert_int_equal(valid(buf_span(&b)), run % 2 == 0);
		}
	}
}

/* `n` levels, arrays and objects in turn, with `middle` inside. */
static void nest(struct buf *b, size_t n, const char *middle)
{
	buf_reset(b);
	for (size_t i = 0; i < n; i++)
		buf_adds(b, i % 3 == 2 ? "{\"k\":" : "[");
	buf_adds(b, middle);
	for (size_t i = n; i-- > 0;)
		buf_addc(b, i % 3 == 2 ? '}' : ']');
}

CASE(deep_nesting_is_checked)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	nest(&b, 100000, "1");
	assert_true(valid(buf_span(&b)));
	assert_false(json_valid(buf_span(&b), NULL));
	assert_false(valid((struct span){b.p, b.n - 1}));
	buf_addc(&b, ']');
	assert_false(valid(buf_span(&b)));
	b.n--;
	for (size_t from_end = 0; from_end < 100000; from_end += 9973) {
		char *c = &b.p[b.n - 1 - from_end], was = *c;
		*c = was == ']' ? '}' : ']';
		assert_false(valid(buf_span(&b)));
		*c = was;
	}
	assert_true(valid(buf_span(&b)));
}

/* Without one to start with, and with the one of the text before. */
CASE(a_buf_for_deep_nesting)
{
	CLEANUP_BUF struct buf b = BUF_INIT, deep = BUF_INIT;
	nest(&b, JSON_DEPTH, "1");
	assert_true(json_valid(buf_span(&b), NULL));
	nest(&b, JSON_DEPTH + 1, "1");
	assert_false(json_valid(buf_span(&b), NULL));
	assert_true(valid(buf_span(&b)));
	for (size_t n = 4000; n > 500; n -= 499) {
		nest(&b, n, "{}");
		assert_true(json_valid(buf_span(&b), &deep));
		assert_true(json_valid(buf_span(&b), &deep));
		b.p[b.n - 1] = '}';
		assert_false(json_valid(buf_span(&b), &deep));
	}
}

CASE(deep_nesting_without_memory)
{
	CLEANUP_BUF struct buf b = BUF_INIT, deep = BUF_INIT;
	nest(&b, 3000, "1");
	for (long left = 0; left < 3; left++) {
		buf_release(&deep);
		allocs_left = left;
		assert_false(json_valid(buf_span(&b), &deep));
	}
	allocs_left = -1;
	buf_reset(&deep);
	assert_true(json_valid(buf_span(&b), &deep));
}

CASE(walks_members)
{
	static const struct span text =
	    SPAN_LIT(" {\"a\":1, \"m\":{\"x\":[1,[2],{}],\"y\":\"z\\n\"} ,\"e\":[], \"l\":[true,\"s\"]}\n");
	struct json_value key, v;
	struct json j;
	json_init(&j, text, NULL);
	assert_int_equal(json_peek(&j), JSON_OBJECT);
	assert_int_equal(json_enter(&j), JSON_OBJECT);
	assert_int_equal(json_next(&j, &key), 1);
	assert_true(json_key_is(key, "a"));
	assert_int_equal(json_peek(&j), JSON_NUMBER);
	assert_int_equal(json_enter(&j), JSON_NONE);
	assert_true(json_value(&j, &v));
	assert_int_equal(json_next(&j, &key), 1);
	assert_true(json_key_is(key, "m"));
	assert_int_equal(json_enter(&j), JSON_OBJECT);
	assert_int_equal(json_next(&j, &key), 1);
	assert_true(json_value(&j, &v));
	assert_int_equal(v.kind, JSON_ARRAY);
	assert_true(span_is(v.text, "[1,[2],{}]"));
	assert_int_equal(json_next(&j, &key), 1);
	assert_true(json_value(&j, &v));
	assert_true(v.escaped && span_is(v.text, "z\\n"));
	assert_int_equal(json_next(&j, &key), 0);
	assert_false(json_at_end(&j));
	assert_int_equal(json_next(&j, &key), 1);
	assert_int_equal(json_enter(&j), JSON_ARRAY);
	assert_int_equal(json_next(&j, NULL), 0);
	assert_int_equal(json_next(&j, &key), 1);
	assert_true(json_key_is(key, "l"));
	assert_int_equal(json_enter(&j), JSON_ARRAY);
	assert_int_equal(json_next(&j, NULL), 1);
	assert_true(json_value(&j, &v) && v.kind == JSON_TRUE);
	assert_int_equal(json_next(&j, NULL), 1);
	assert_true(json_value(&j, &v) && span_is(v.text, "s") && !v.escaped);
	assert_int_equal(json_next(&j, NULL), 0);
	assert_int_equal(json_next(&j, &key), 0);
	assert_true(json_at_end(&j));
	assert_int_equal(json_next(&j, &key), -1);
	assert_false(json_at_end(&j));
}

/* Walks everything with enter and next alone. Returns the number of scalars, or -1. */
static int count_by_walking(struct span text, struct buf *deep)
{
	struct json_value key, v;
	struct json j;
	int scalars = 0, rc;
	json_init(&j, text, deep);
	do {
		enum json_kind kind = json_peek(&j);
		if (kind == JSON_ARRAY || kind == JSON_OBJECT) {
			json_enter(&j);
		} else {
			if (!json_value(&j, &v))
				return -1;
			scalars++;
		}
		rc = 0;
		while (j.depth > 0 && (rc = json_next(&j, &key)) == 0)
			;
		if (rc < 0)
			return -1;
	} while (rc > 0);
	return json_at_end(&j) ? scalars : -1;
}

CASE(walking_and_validating_agree)
{
	static const char *const tokens[] = {"{", "}", "[", "]", ":", ",", JSON("k"), "1", "null", " "};
	CLEANUP_BUF struct buf b = BUF_INIT, deep = BUF_INIT;
	uint32_t seed = 12345;
	int good = 0;
	for (int round = 0; round < 200000; round++) {
		buf_reset(&b);
		seed = seed * 1664525 + 1013904223;
		for (uint32_t k = seed >> 29; k < 8; k++) {
			seed = seed * 1664525 + 1013904223;
			buf_adds(&b, tokens[(seed >> 16) % 10]);
		}
		bool ok = json_valid(buf_span(&b), &deep);
		assert_int_equal(count_by_walking(buf_span(&b), &deep) >= 0, ok);
		good += ok;
	}
	assert_true(good > 100);
	nest(&b, 5000, JSON([1,{"a":2}]));
	assert_int_equal(count_by_walking(buf_span(&b), &deep), 2);
	b.p[b.n - 1] = '}';
	assert_int_equal(count_by_walking(buf_span(&b), &deep), -1);
}

CASE(scanner_error_is_sticky)
{
	struct json_value key, v;
	struct json j;
	json_init(&j, SPAN_LIT("[1,,2]"), NULL);
	json_enter(&j);
	assert_int_equal(json_next(&j, &key), 1);
	assert_true(json_value(&j, &v));
	assert_int_equal(json_next(&j, &key), -1);
	assert_int_equal(json_next(&j, &key), -1);
	assert_false(json_value(&j, &v));
	assert_int_equal(json_peek(&j), JSON_NONE);
	assert_int_equal(json_enter(&j), JSON_NONE);
	assert_false(json_at_end(&j));
	/* A value that is not read is one. */
	json_init(&j, SPAN_LIT("[1,2]"), NULL);
	json_enter(&j);
	assert_int_equal(json_next(&j, &key), 1);
	assert_int_equal(json_next(&j, &key), -1);
}

CASE(get_returns_last_duplicate)
{
	struct json_value v = value_of(SPAN_LIT(JSON({"a":1,"b":{"a":9},"\u0061":[2],"c":null})));
	assert_true(span_is(json_get(v, "a").text, "[2]"));
	assert_true(span_is(json_get(v, "b").text, JSON({"a":9})));
	assert_int_equal(json_get(v, "c").kind, JSON_NULL);
	assert_int_equal(json_get(v, "d").kind, JSON_NONE);
	assert_int_equal(json_get(json_get(v, "d"), "a").kind, JSON_NONE);
	assert_int_equal(json_get(json_get(v, "a"), "a").kind, JSON_NONE);

	static const struct span names[] = {SPAN_LIT("d"), SPAN_LIT("a"), SPAN_LIT("b")};
	struct json_value got[3];
	json_get_all(v, names, 3, got);
	assert_int_equal(got[0].kind, JSON_NONE);
	assert_true(span_is(got[1].text, "[2]"));
	assert_true(span_is(got[2].text, JSON({"a":9})));
	json_get_all(got[1], names, 2, got + 1);
	assert_int_equal(got[1].kind, JSON_NONE);
	assert_int_equal(got[2].kind, JSON_NONE);
}

CASE(get_skips_nested_members)
{
	CLEANUP_BUF struct buf b = BUF_INIT, inner = BUF_INIT, deep = BUF_INIT;
	struct json_value v;
	struct json j;
	nest(&inner, 5000, "0");
	buf_adds(&b, "{\"deep\":");
	buf_addspan(&b, buf_span(&inner));
	buf_adds(&b, ",\"after\":7}");
	json_init(&j, buf_span(&b), &deep);
	assert_true(json_value(&j, &v));
	assert_true(span_is(json_get(v, "after").text, "7"));
}

CASE(compares_with_ascii)
{
	static const struct {
		const char *json, *text;
		bool equal;
	} cases[] = ITEMS(
	    {JSON("label"), "label", true}, {JSON("label"), "labels", false}, {JSON("label"), "labe", false},
	    {JSON("l\u0061b\u0065l"), "label", true}, {JSON("a\/\n"), "a/\n", true}, {JSON("\u0161"), "a", false},
	    {JSON("a\u0000"), "a", false}, {JSON(""), "", true}, {JSON("\n"), "", false}, {"5", "5", false});
	for (size_t i = 0; i < COUNT(cases); i++)
		if (json_equals(value_of(span_of(cases[i].json)), cases[i].text) != cases[i].equal)
			fail_msg("%s and %s", cases[i].json, cases[i].text);
	assert_false(json_equals((struct json_value){0}, ""));
}

CASE(raw_includes_quotes)
{
	assert_true(span_is(json_raw(value_of(SPAN_LIT(" \"a\\n\" "))), JSON("a\n")));
	assert_true(span_is(json_raw(value_of(SPAN_LIT(" [1 ] "))), "[1 ]"));
	assert_true(span_is(json_raw(value_of(SPAN_LIT(" -1e3 "))), "-1e3"));
}

CASE(numbers_as_doubles)
{
	static const struct {
		const char *text;
		double d;
	} cases[] =
	    ITEMS(
	    {"-12.5e1", -125}, {"1e400", INFINITY}, {"-1e400", -INFINITY}, {"1e-400", 0}, {"-0", -0.0}, {"-0.00", -0.0},
	    {"1700000000123", 1700000000123.0}, {"-999999999999999", -999999999999999.0}, {"0.00000000000001", 1e-14},
	    {"22.0804587499999", 22.0804587499999}, {"-22.0804587499999988", -22.0804587499999988},
	    {"9007199254740993", 9007199254740992.0});
	CLEANUP_BUF struct buf b = BUF_INIT;
	double d = 0;
	for (size_t i = 0; i < COUNT(cases); i++)
		if (!json_double(value_of(span_of(cases[i].text)), &d) || d != cases[i].d ||
		    signbit(d) != signbit(cases[i].d))
			fail_msg("%s is %g", cases[i].text, d);
	buf_addf(&b, "1%0300de-300", 0);
	assert_true(json_double(value_of(buf_span(&b)), &d) && d == 1);
	d = 5;
	assert_false(json_double(value_of(SPAN_LIT(JSON("1"))), &d));
	assert_false(json_double((struct json_value){0}, &d));
	assert_true(d == 5);
}

CASE(truth_is_as_in_javascript)
{
	static const char *const truthy[] = {"1", "-0.1", "1e-300", "1e400", JSON("0"), JSON(" "), "[]", "{}", "true"};
	static const char *const falsy[] = {"0", "-0", "0.0e5", "1e-400", JSON(""), "false", "null"};
	for (size_t i = 0; i < COUNT(truthy); i++)
		assert_true(json_is_truthy(value_of(span_of(truthy[i]))));
	for (size_t i = 0; i < COUNT(falsy); i++)
		assert_false(json_is_truthy(value_of(span_of(falsy[i]))));
	assert_false(json_is_truthy((struct json_value){0}));
}

struct printed {
	const char *in, *out;
};

static void assert_prints(void (*print)(struct json_value v, struct buf *out), const struct printed *v, size_t n)
{
	CLEANUP_BUF struct buf none = BUF_INIT;
	for (size_t i = 0; i < n; i++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		print(value_of(span_of(v[i].in)), &b);
		assert_buf(&b, span_of(v[i].out));
	}
	print((struct json_value){0}, &none);
	assert_int_equal(none.n, 0);
}

CASE(pretty_print)
{
	static const struct printed cases[] = ITEMS(
	    {"1.50", "1.50"},
	    {JSON("a\u0041"), JSON("a\u0041")},
	    {"[]", "[]"},
	    {"{ }", "{}"},
	    {"[ [ ] , { } ]", "[\n  [],\n  {}\n]"},
	    {JSON({"a":1,"b":[1,{"c":null}],"a":true}),
	     "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    {\n      \"c\": null\n    }\n  ],\n  \"a\": true\n}"},
	    {"[[[]]]", "[\n  [\n    []\n  ]\n]"});
	assert_prints(json_pretty, cases, COUNT(cases));
}

CASE(same_values_compare_equal)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = ITEMS(
	    {JSON({"a":[1.0,"\u0041",{}],"b":null}), " { \"\\u0061\" : [ 1e0 , \"A\", { } ] , \"b\" : null } ", true},
	    {"\"a\xff\"", JSON("a\ufffd"), true},
	    {JSON("\ud800"), JSON("\ufffd"), false},
	    {"[[],[1]]", "[[],[2]]", false},
	    {"[1]", "[1,1]", false},
	    {"[1,{}]", "[1]", false},
	    {JSON({"a":1}), JSON({"b":1}), false},
	    {"true", "false", false},
	    {"[]", "{}", false},
	    {JSON("1"), "1", false});
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(json_same(value_of(span_of(cases[i].a)), value_of(span_of(cases[i].b))),
		                 cases[i].same);
}

CASE(compact_print_drops_white_space)
{
	static const struct printed cases[] =
	    ITEMS(
	    {"-1.50e2", "-1.50e2"},
	    {JSON(" a \" b\\"), JSON(" a \" b\\")},
	    {"{ }", "{}"},
	    {"[ [\t] ,\r { } ]", "[[],{}]"},
	    {"{\"a b\" : 1 , \"\\u0041\":\t[1, \"x : y\" ,true ] }", JSON({"a b":1,"\u0041":[1,"x : y",true]})});
	assert_prints(json_compact, cases, COUNT(cases));
}

CASE(pretty_print_of_deep_values_is_bounded)
{
	CLEANUP_BUF struct buf b = BUF_INIT, deep = BUF_INIT, out = BUF_INIT;
	struct json_value v;
	struct json j;
	nest(&b, 100000, "1");
	json_init(&j, buf_span(&b), &deep);
	assert_true(json_value(&j, &v));
	json_pretty(v, &out);
	assert_true(out.n < b.n + 1000 * JSON_PRETTY_DEPTH);
	assert_true(json_valid(buf_span(&out), &deep));
}

CASE(pretty_print_without_memory)
{
	for (long left = 0; left < 2; left++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		allocs_left = left;
		json_pretty(value_of(SPAN_LIT(JSON([1,[2,{"key":[3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}]]))), &b);
		allocs_left = -1;
		assert_int_equal(buf_err(&b), -ENOMEM);
	}
}

RUN_CASES(NULL, NULL)
