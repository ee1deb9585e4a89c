/* SPDX-License-Identifier: MIT */
/* A path as a session file of its own. */
#include "cases.h"
#include "render_fixture.h"

static void assert_branch(const char *lines, uint32_t at, const char *want)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	CLEANUP_OPENED struct fixture f;

	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(produce(&producer_branch_jsonl, f.s, at, "", &out), 0);
	assert_string_equal(buf_cstr(&out), want);
}

#define A USER("a", null, "one")
#define B USER("b", "a", "two")
#define OTHER USER("o", "a", "other")

CASE(labels_from_other_branches_are_appended)
{
	/* The newest record of each label, one below the other. */
	assert_branch(HEADER A B OTHER LABEL("l", "o", "b", "old") LABEL("m", "l", "b", "new")
	    LABEL("n", "m", "a", "\u0061") LABEL("p", "n", "o", "else"),
	    1, HEADER A B LABEL("n", "b", "a", "\u0061") LABEL("m", "n", "b", "new"));
	/* Labels on the path stay in place, and the entry that clears one is appended. */
	assert_branch(HEADER A LABEL("l", "a", "a", "x") USER("c", "l", "three") OTHER UNLABEL("m", "o", "a"), 2,
	    HEADER A LABEL("l", "a", "a", "x") USER("c", "l", "three") UNLABEL("m", "c", "a"));
}

CASE(labels_on_path_are_not_repeated)
{
#define LABELLED HEADER A LABEL("l", "a", "a", "x") USER("c", "l", "three")
	assert_branch(LABELLED OTHER, 2, LABELLED);
	/* Cleared on another branch and set again. */
	assert_branch(LABELLED OTHER UNLABEL("m", "o", "a") LABEL("n", "m", "a", "\u0078"), 2, LABELLED);
	/* The label never existed. */
	assert_branch(HEADER A B OTHER UNLABEL("m", "o", "a") LABEL("n", "m", "b", ""), 1, HEADER A B);
}

/* pi would not find a parent with such an id, or would find the parent in place of the entry with that id. */
CASE(unaddressable_ids_get_no_labels)
{

	assert_branch(HEADER A CUSTOM("", "a") OTHER LABEL("l", "o", "a", "x"), 1, HEADER A CUSTOM("", "a"));
	assert_branch(HEADER A CUSTOM(0, "a") OTHER LABEL("l", "o", "a", "x"), 1, HEADER A CUSTOM(0, "a"));
	assert_branch(HEADER A CUSTOM(null, "a") OTHER LABEL("l", "o", "a", "x"), 1, HEADER A CUSTOM(null, "a"));
	assert_branch(HEADER A CUSTOM(7, "a") OTHER LABEL("l", "o", "a", "x"), 1,
	    HEADER A CUSTOM(7, "a") LABEL("l", 7, "a", "x"));
	assert_branch(HEADER A B OTHER LABEL("", "o", "a", "x"), 1, HEADER A B);
	assert_branch(HEADER A B OTHER LABEL(true, "o", "a", "x"), 1, HEADER A B);
	assert_branch(HEADER A OTHER LABEL("b", "o", "a", "x") B, 3, HEADER A B);
}

RUN_CASES(NULL, NULL)
