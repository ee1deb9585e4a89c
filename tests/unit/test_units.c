/* SPDX-License-Identifier: MIT */
/* units: lengths as JavaScript has them. The numbers are those that Node prints. */
#include "cases.h"
#include "session_lines.h"
#include "failing_alloc.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/json/json.h"

static struct json_value value_of(const char *text)
{
	struct json_value v = {0};
	struct json j;

	json_init(&j, span_of(text), NULL);
	assert_true(json_value(&j, &v) && json_at_end(&j));
	return v;
}

struct length {
	const char *json;
	size_t n;
};

static void check(const struct length *v, size_t n, bool stringified)
{
	for (size_t i = 0; i < n; i++)
		if (json_units(value_of(v[i].json), stringified) != v[i].n)
			fail_msg("%s: not %zu but %zu", v[i].json, v[i].n,
			         json_units(value_of(v[i].json), stringified));
}
#define CHECK(v, stringified) check(v, sizeof(v) / sizeof *(v), stringified)

CASE(a_text_has_its_utf16_units)
{
	static const struct length texts[] =
	    ITEMS(
	    {JSON(""), 0},
	    {JSON("abc"), 3},
	    {JSON("a\n\"\\\/"), 5},
	    {"\"\xc3\xa9\xe6\xbc\xa2\"", 2},
	    {"\"\xf0\x9f\x98\x80\"", 2},
	    {JSON("\ud83d\ude00"), 2},
	    {JSON("\ud83d"), 1},
	    {JSON("\ude00\ud83d"), 2},
	    {JSON("\u0000\u00e9"), 2},
	    /* pi reads ill-formed bytes as U+FFFD: one for each maximal part. */
	    {"\"\xe9\"", 1},
	    {"\"\xe6\xbc\"", 1},
	    {"\"\xed\xa0\xbd\"", 3},
	    {JSON("a text that is longer than one block of sixteen bytes"), 53},
	    /* Other values have no text; an array or object has the texts among its values. */
	    {"null", 0},
	    {"12", 0},
	    {"[]", 0},
	    {JSON(["ab",1,["abc"],{ "a" : "abc"},"c"]), 3},
	    {JSON({"long key":"ab","b":null,"c":"c"}), 3},
	    {JSON({"a":"abc","b":"b","\u0061":"ab"}), 3});

	CHECK(texts, false);
	assert_int_equal(json_units((struct json_value){0}, false), 0);
}

CASE(a_value_has_the_length_of_stringify)
{
	static const struct length values[] =
	    ITEMS(
	    {"null", 4},
	    {"true", 4},
	    {"false", 5},
	    {JSON(""), 2},
	    {JSON("a\/\n\t\b\f\r\"\\"), 18},
	    {JSON("\u000b\u0000\u001f"), 20},
	    {"\"\\u007f\\u2028\xc3\xa9\"", 5},
	    {JSON("\ud83d\ude00"), 4},
	    {JSON("\ude00\ud83d"), 14},
	    {"0", 1},
	    {"-0", 1},
	    {"1.0", 1},
	    {"1.50", 3},
	    {"1e5", 6},
	    {"1E+21", 5},
	    {"0.0000001", 4},
	    {"1e400", 4},
	    {"123456789012345678901234567890", 22},
	    {"[]", 2},
	    {"{}", 2},
	    {"[ [ ] , { } ]", 7},
	    {"[1,2,3]", 7},
	    {" { \"a\" : [ true , null ] , \"b\" : { \"c\" : {} } } ", 30},
	    {JSON({"\u0061\n":1}), 9});

	CHECK(values, true);
	assert_int_equal(json_units((struct json_value){0}, true), 0);
}

CASE(of_members_with_the_same_key_the_last_counts)
{
	static const struct length values[] =
	    ITEMS(
	    {JSON({"a":1,"a":22}), 8},
	    {JSON({"a":1,"\u0061":22,"a":333}), 9},
	    {JSON({"a":{"b":1,"b":2},"c":[],"a":{"b":3,"b":4}}), 20},
	    {JSON({"a":[{"b":1},{"b":1}],"b":1}), 29},
	    {JSON({"a":1,"b":{"a":1}}), 19},
	    {JSON({"":1,"":[1,{"":1,"":2}]}), 15},
	    /* pi reads both ill-formed bytes as U+FFFD. */
	    {"{\"\xe9\":1,\"\xea\":2}", 7});

	CHECK(values, true);
}

CASE(depth_needs_no_stack)
{
	CLEANUP_BUF struct buf text = BUF_INIT, deep = BUF_INIT;
	enum { LEVELS = 100000 };
	struct json_value v;
	struct json j;

	for (int i = 0; i < LEVELS; i++)
		buf_adds(&text, i % 2 ? "[" : "{\"a\":0,\"a\":");
	buf_adds(&text, "7");
	for (int i = LEVELS; i > 0; i--)
		buf_addc(&text, i % 2 ? '}' : ']');
	json_init(&j, buf_span(&text), &deep);
	assert_true(json_value(&j, &v));
	assert_int_equal(json_units(v, true), LEVELS / 2 * 8 + 1);
}

/* Without memory the error is noted, so that no wrong number is shown. */
CASE(an_error_is_deferred)
{
	struct json_value v = value_of(JSON({"a":{"b":[1.5]},"a":2,"c":"\u0061"}));

	for (unsigned nth = 1;; nth++) {
		int before = deferred_begin();
		let_alloc_fail(nth);
		size_t units = json_units(v, true);
		bool failed = alloc_has_failed();
		assert_int_equal(deferred_end(before, 0), failed ? -ENOMEM : 0);
		if (failed)
			continue;
		assert_int_equal(units, 15);
		assert_true(nth > 5);
		break;
	}
}

RUN_CASES(NULL, NULL)
