/* SPDX-License-Identifier: MIT */
/* change: rows of a result as hunks. test_change.c tests the rest; tests/e2e/files.sh has patch(1) apply such diffs. */
#include "unit.h"
#include "render_fixture.h"
#include "sessionfs/render/files.h"

/* The changes by a call with these arguments and this result. */
static void assert_change(const char *name, const char *arguments, const char *rest, const char *want,
                          unsigned want_added, unsigned want_removed)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
	struct part_call call = {0};
	struct line line CLEANUP_LINE = LINE_INIT;
	uint64_t added = 0, removed = 0;
	struct fixture f;
	struct record r;

	buf_addf(&lines, HEADER ASSISTANT("a", null, {"type":"toolCall","id":"1","name":"%s","arguments":%s}), name,
	                                  arguments);
	buf_addf(&lines, LINE({"id":"r","parentId":"a","timestamp":TIME,"type":"message","message":{"role":"toolResult",
	        "toolCallId":"1","content":[]%s}}), rest);
	fixture_open(&f, lines.p, lines.n);
	assert_int_equal(session_load(f.s, 0, &line, &r), 0);
	assert_true(part_call_next(&r, &call));
	assert_int_equal(render_change(f.s, &call, session_result(f.s, 0, 1), &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	change_count_lines(buf_span(&out), &added, &removed);
	assert_int_equal(added, want_added);
	assert_int_equal(removed, want_removed);
	fixture_close(&f);
}

#define NAMES "--- /w/f\n+++ /w/f\n"
#define BY_EDIT NAMES "@@ -1,2 +1,1 @@\n-a\n-b\n+c\n"

static void diff_comes_from_result(void **state)
{
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}),
	    JSON(,"details":{"patch":"\n--- x\n@@ -1 +1,2 @@\n-a\n+--b\n+c","diff":"-1 a"}),
	    "\n--- x\n@@ -1 +1,2 @@\n-a\n+--b\n+c\n", 2, 1);
	/* Old pi numbers the context after a change as if the change were absent, and that before the next one, too. */
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}),
	    JSON(,"details":{"patch":"\n",
	        "diff":"    ...\n  4 a\n- 5 b\n+ 5 c\n+ 6 d\n  5 e\n    ...\n 20 f\n+22 g\n    ...\n 30 h\n"}),
	    NAMES "@@ -4,3 +4,4 @@\n a\n-b\n+c\n+d\n e\n@@ -20,1 +21,2 @@\n f\n+g\n", 3, 1);
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}), JSON(,"details":{"diff":"+1 x"}),
	    NAMES "@@ -0,0 +1,1 @@\n+x\n", 1, 0);
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}), JSON(,"details":{"diff":" 9 a\n-1 x"}),
	    NAMES "@@ -1,2 +1,1 @@\n a\n-x\n", 0, 1);
}

static void diff_falls_back_to_arguments(void **state)
{
	static const char *const no_rows[] = {
	    "",       " 1 a", "-1 a\\n\\n+1 b",      "-a\\n+b", " 1|a\\n+2|b", "-1 a\\n+2",
	    "...\\n", "*1 a", "-9999999999999999 a", "\\u0000"};
	for (size_t i = 0; i < sizeof no_rows / sizeof *no_rows; i++) {
		char rest[80];
		snprintf(rest, sizeof rest, JSON(,"details":{"diff":"%s"}), no_rows[i]);
		assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}), rest, BY_EDIT, 1, 2);
	}
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}), JSON(,"details":[]), BY_EDIT, 1, 2);
	assert_change("edit",
	    JSON({"path":"f","edits":[{"old_string":"a\nb","new_text":""},5,{"oldText":"x"},
	        {"oldText":"","newText":""}],"oldString":"c","newString":"d\r\ne"}),
	    "", NAMES "@@ -1,2 +0,0 @@\n-a\n-b\n@@ -3,1 +1,2 @@\n-c\n+d\r\n+e\n", 2, 3);
	assert_change("edit", JSON({"path":"f","edits":"[{\"oldText\":\"a\",\"newText\":\"b\"}]"}), "", "", 0, 0);
	assert_change("edit_file", JSON({"path":"f","content":"all"}), "", "", 0, 0);
	assert_change("write", JSON({"path":"f\u0007","content":"a\nb"}), "",
	    "--- /dev/null\n+++ /w/f \n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n", 2, 0);
	assert_change("write", JSON({"path":"f","content":""}), "", "", 0, 0);
	assert_change("write", JSON({"path":"f","content":"a"}), JSON(,"isError":true), "", 0, 0);
	assert_change("write", JSON({"path":"f","content":"a"}), JSON(,"details":{"status":"error"}), "", 0, 0);
	assert_change("read", JSON({"path":"f","content":"a"}), "", "", 0, 0);
}

/* A row of a diff is a number, a blank and text. */
static void rows_are_read_strictly(void **state)
{
	/* Fifteen digits are a number, sixteen are not. */
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}),
	    JSON(,"details":{"diff":"-100000000000000 a"}), NAMES "@@ -100000000000000,1 +99999999999999,0 @@\n-a\n", 0,
	    1);
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}),
	    JSON(,"details":{"diff":"-1000000000000000 a"}), BY_EDIT, 1, 2);
	/* A row can have no text, but not without its blank. */
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}), JSON(,"details":{"diff":"-1 \n+1 x"}),
	    NAMES "@@ -1,1 +1,1 @@\n-\n+x\n", 1, 1);
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}), JSON(,"details":{"diff":"-1"}),
	    BY_EDIT, 1, 2);
	/* Rows without a change are no hunk; a gap at the end ends the last one. */
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}),
	    JSON(,"details":{"diff":" 1 a\n...\n 7 b\n-8 c\n    ..."}), NAMES "@@ -7,2 +7,1 @@\n b\n-c\n", 0, 1);
	/* A number before the first line is the first line. */
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}), JSON(,"details":{"diff":"-0 a"}),
	    NAMES "@@ -1,1 +0,0 @@\n-a\n", 0, 1);
}

/* The first change of a hunk says where it begins; a hunk after others is moved by the lines that they added. */
static void later_hunks_are_shifted(void **state)
{
	assert_change("edit", JSON({"path":"f","oldText":"a\nb","newText":"c"}),
	    JSON(,"details":{"diff":"+1 a\n+2 b\n...\n-10 c\n...\n 19 x\n+22 d"}),
	    NAMES "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -10,1 +11,0 @@\n-c\n@@ -20,1 +21,2 @@\n x\n+d\n", 3, 1);
}

CASES(cmocka_unit_test(diff_comes_from_result), cmocka_unit_test(diff_falls_back_to_arguments),
      cmocka_unit_test(rows_are_read_strictly), cmocka_unit_test(later_hunks_are_shifted))
