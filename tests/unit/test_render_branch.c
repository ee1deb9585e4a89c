/* SPDX-License-Identifier: MIT */
/* A path as a session file of its own. */
#include "render_fixture.h"

#define TARGET(target, label) "\"type\":\"label\",\"targetId\":" target label
#define SETS(target, label) TARGET("\"" target "\"", ",\"label\":" label)
#define CLEARS(target) TARGET("\"" target "\"", "")
/* An appended label, with its parent on the path. */
#define ADDED(id, parent, target, label)                                                                               \
	"{\"type\":\"label\",\"id\":" id ",\"parentId\":" parent "," TIME ",\"targetId\":\"" target "\"" label "}\n"

static void assert_span_branch(struct span lines, uint32_t at, const char *want)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct fixture f;

	fixture_open(&f, lines.p, lines.n);
	assert_int_equal(produce(&producer_branch_jsonl, f.s, at, "", &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	fixture_close(&f);
}

static void assert_branch(const char *lines, uint32_t at, const char *want)
{
	assert_span_branch(span_of(lines), at, want);
}

#define A USER("a", "null", "one")
#define B USER("b", "\"a\"", "two")
#define OTHER USER("o", "\"a\"", "other")

static void labels_from_other_branches_are_appended(void **state)
{
	(void)state;
	/* The newest record of each label, one below the other. */
	assert_branch(HEADER A B OTHER ENTRY("l", "\"o\"", SETS("b", "\"old\""))
	                  ENTRY("m", "\"l\"", SETS("b", "\"new\"")) ENTRY("n", "\"m\"", SETS("a", "\"\\u0061\""))
	                      ENTRY("p", "\"n\"", SETS("o", "\"else\"")),
	              1,
	              HEADER A B ADDED("\"n\"", "\"b\"", "a", ",\"label\":\"\\u0061\"")
	                  ADDED("\"m\"", "\"n\"", "b", ",\"label\":\"new\""));
	/* Labels on the path stay in place, and the entry that clears one is appended. */
	assert_branch(HEADER A ENTRY("l", "\"a\"", SETS("a", "\"x\"")) USER("c", "\"l\"", "three")
	                  OTHER ENTRY("m", "\"o\"", CLEARS("a")),
	              2,
	              HEADER A ENTRY("l", "\"a\"", SETS("a", "\"x\"")) USER("c", "\"l\"", "three")
	                  ADDED("\"m\"", "\"c\"", "a", ""));
}

static void labels_on_path_are_not_repeated(void **state)
{
	(void)state;
#define LABELLED HEADER A ENTRY("l", "\"a\"", SETS("a", "\"x\"")) USER("c", "\"l\"", "three")
	assert_branch(LABELLED OTHER, 2, LABELLED);
	/* Cleared on another branch and set again. */
	assert_branch(LABELLED OTHER ENTRY("m", "\"o\"", CLEARS("a")) ENTRY("n", "\"m\"", SETS("a", "\"\\u0078\"")), 2,
	              LABELLED);
	/* The label never existed. */
	assert_branch(HEADER A B OTHER ENTRY("m", "\"o\"", CLEARS("a")) ENTRY("n", "\"m\"", SETS("b", "\"\"")), 1,
	              HEADER A B);
}

/* pi would not find a parent with such an id, or would find the parent in place of the entry with that id. */
static void unaddressable_ids_get_no_labels(void **state)
{
	(void)state;
#define LAST(id) "{\"id\":" id ",\"parentId\":\"a\",\"type\":\"custom\"}\n"
#define SET_BELOW_O(id) "{\"id\":" id ",\"parentId\":\"o\"," TIME "," SETS("a", "\"x\"") "}\n"
	assert_branch(HEADER A LAST("\"\"") OTHER SET_BELOW_O("\"l\""), 1, HEADER A LAST("\"\""));
	assert_branch(HEADER A LAST("0") OTHER SET_BELOW_O("\"l\""), 1, HEADER A LAST("0"));
	assert_branch(HEADER A LAST("null") OTHER SET_BELOW_O("\"l\""), 1, HEADER A LAST("null"));
	assert_branch(HEADER A LAST("7") OTHER SET_BELOW_O("\"l\""), 1,
	              HEADER A LAST("7") ADDED("\"l\"", "7", "a", ",\"label\":\"x\""));
	assert_branch(HEADER A B OTHER SET_BELOW_O("\"\""), 1, HEADER A B);
	assert_branch(HEADER A B OTHER SET_BELOW_O("true"), 1, HEADER A B);
	assert_branch(HEADER A OTHER SET_BELOW_O("\"b\"") B, 3, HEADER A B);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(labels_from_other_branches_are_appended),
	    cmocka_unit_test(labels_on_path_are_not_repeated),
	    cmocka_unit_test(unaddressable_ids_get_no_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
