/* SPDX-License-Identifier: MIT */
/* change: the diff of the change that a call made, from its result, else from its arguments. */
#include "cases.h"
#include "render_fixture.h"
#include "failing_alloc.h"
#include "failing_calls.h"
#include "sessionfs/render/files.h"
#include "texts.h"

#define WRITES(content) JSON("name":"write","arguments":{"path":"f","content":content})

#define EDITED JSON("name":"edit","arguments":{"path":"f","edits":[{"oldText":"a\nb","newText":"c"}]})
#define FRONT "--- /w/f\n+++ /w/f\n"
#define FRONT_NEW "--- /dev/null\n+++ /w/f\n"
#define FROM_ARGUMENTS FRONT "@@ -1,2 +1,1 @@\n-a\n-b\n+c\n"

/* A session with a call, and a result with these further fields. */
struct one_call {
	struct fixture f;
	struct line line;
	struct record r;
	struct part_call call;
};

static void one_call_open(struct one_call *c, const char *call, const char *result)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	*c = (struct one_call){.line = LINE_INIT};
	buf_addf(&text, "%s", HEADER);
	buf_addf(&text, LINE({"id":"a","parentId":null,"timestamp":TIME,"type":"message","message":{"role":"assistant",
	        "content":[{"type":"toolCall","id":"1",%s}]}}), call);
	buf_addf(&text, LINE({"id":"r","parentId":"a","timestamp":TIME,"type":"message","message":{"role":"toolResult",
	        "toolCallId":"1","content":[]%s}}), result);
	fixture_open(&c->f, text.p, text.n);
	assert_int_equal(session_load(c->f.s, 0, &c->line, &c->r), 0);
	assert_true(part_call_next(&c->r, &c->call));
}

static void one_call_close(struct one_call *c)
{
	line_release(&c->line);
	fixture_close(&c->f);
}

static void assert_change(const char *call, const char *result, const char *want)
{
	CLEANUP_BUF struct buf out = BUF_INIT;
	struct one_call c;
	one_call_open(&c, call, result);
	assert_int_equal(render_change(c.f.s, &c.call, 1, &out), 0);
	assert_text(&out, want);
	one_call_close(&c);
}

/* With these rows as pi's details.diff. */
#define DIFF(rows) JSON(,"details":{"diff":rows})

CASE(patch_is_shown_as_it_is)
{
	assert_change(EDITED, JSON(,"details":{"patch":"--- x\n+++ y\n","diff":"+1 z"}), "--- x\n+++ y\n");
	assert_change(EDITED, JSON(,"details":{"patch":"p\ud800"}), "p\xef\xbf\xbd\n");
	assert_change(EDITED, JSON(,"details":{"patch":"\n--- x\n@@ -1 +1,2 @@\n-a\n+--b\n+c","diff":"-1 a"}),
	    "\n--- x\n@@ -1 +1,2 @@\n-a\n+--b\n+c\n");
	/* One that is empty, of newlines or no string is ignored. */
	assert_change(EDITED, JSON(,"details":{"patch":""}), FROM_ARGUMENTS);
	assert_change(EDITED, JSON(,"details":{"patch":"\n\n"}), FROM_ARGUMENTS);
	assert_change(EDITED, JSON(,"details":{"patch":"\n","diff":"+1 z"}), FRONT "@@ -0,0 +1,1 @@\n+z\n");
	assert_change(EDITED, JSON(,"details":{"patch":12}), FROM_ARGUMENTS);
	assert_change(EDITED, JSON(,"details":"patch"), FROM_ARGUMENTS);
}

CASE(rows_become_hunks)
{
	assert_change(EDITED, DIFF(" 1 a\n-2 b\n+2 c\n+3 d\n 3 e"), FRONT "@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n e\n");
	/* The sides of later hunks are apart by the lines that earlier ones added. */
	assert_change(EDITED, DIFF("-2 b\n+2 c\n+3 d\n   ...\n 9 x\n-10 y"),
	    FRONT "@@ -2,1 +2,2 @@\n-b\n+c\n+d\n@@ -9,2 +10,1 @@\n x\n-y\n");
	assert_change(EDITED, DIFF("+2 c\n...\n+8 d"), FRONT "@@ -1,0 +2,1 @@\n+c\n@@ -6,0 +8,1 @@\n+d\n");
	/* Rows without a change are no hunk. */
	assert_change(EDITED, DIFF(" 1 a\n ...\n-7 b"), FRONT "@@ -7,1 +6,0 @@\n-b\n");
	assert_change(EDITED, DIFF(" 1 a\n 2 b"), FROM_ARGUMENTS);
	assert_change(EDITED, DIFF(" 1 a\n...\n 7 b\n-8 c\n    ..."), FRONT "@@ -7,2 +7,1 @@\n b\n-c\n");
	/* Old pi numbers the context after a change as if the change were absent, and that before the next one, too. */
	assert_change(EDITED, DIFF("    ...\n  4 a\n- 5 b\n+ 5 c\n+ 6 d\n  5 e\n    ...\n 20 f\n+22 g\n    ...\n 30 h\n"),
	    FRONT "@@ -4,3 +4,4 @@\n a\n-b\n+c\n+d\n e\n@@ -20,1 +21,2 @@\n f\n+g\n");
	/* The first change of a hunk says where it begins; a hunk after others is moved by the lines that they added.
	 */
	assert_change(EDITED, DIFF(" 9 a\n-1 x"), FRONT "@@ -1,2 +1,1 @@\n a\n-x\n");
	assert_change(EDITED, DIFF("+1 a\n+2 b\n...\n-10 c\n...\n 19 x\n+22 d"),
	    FRONT "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -10,1 +11,0 @@\n-c\n@@ -20,1 +21,2 @@\n x\n+d\n");
	/* A number before the first line is the first line. */
	assert_change(EDITED, DIFF("-0 a"), FRONT "@@ -1,1 +0,0 @@\n-a\n");
	/* An empty line, and one at the beginning of an empty file. */
	assert_change(EDITED, DIFF("+1 "), FRONT "@@ -0,0 +1,1 @@\n+\n");
	assert_change(EDITED, DIFF("-1 x"), FRONT "@@ -1,1 +0,0 @@\n-x\n");
}

CASE(file_with_rows_is_not_new)
{
	assert_change(WRITES("x\n"), DIFF("+1 x"), FRONT "@@ -0,0 +1,1 @@\n+x\n");
	assert_change(WRITES("x\n"), "", FRONT_NEW "@@ -0,0 +1,1 @@\n+x\n");
}

CASE(invalid_rows_are_ignored)
{
	static const char *const rows[] = ITEMS(
	    DIFF("+1 x\n"), DIFF("+1 x\n\n"), DIFF("+1 x\n*2 y"), DIFF("+1 x\n+ y"), DIFF("+1 x\n+2y"),
	    DIFF("+1 x\n+2"), DIFF("+1 x\n+x 2"), DIFF("+1 x\n...."), DIFF("+1 x\n+..."), DIFF("-1"), DIFF(""),
	    DIFF("-1 a\n\n+1 b"), DIFF("-a\n+b"), DIFF(" 1|a\n+2|b"), DIFF("...\n"), DIFF("\u0000"),
	    JSON(,"details":[]));
	/* A newline at the end begins no row. */
	assert_change(EDITED, rows[0], FRONT "@@ -0,0 +1,1 @@\n+x\n");
	for (size_t i = 1; i < COUNT(rows); i++)
		assert_change(EDITED, rows[i], FROM_ARGUMENTS);
	/* Numbers have at most 15 digits. */
	assert_change(EDITED, DIFF("-999999999999999 x"), FRONT "@@ -999999999999999,1 +999999999999998,0 @@\n-x\n");
	assert_change(EDITED, DIFF("-1000000000000000 x"), FROM_ARGUMENTS);
	assert_change(EDITED, DIFF("-99999999999999999999 x"), FROM_ARGUMENTS);
}

CASE(arguments_show_their_pieces)
{
	assert_change(
	    JSON("name":"edit","arguments":{"path":"f","edits":[{"oldText":"a","newText":"b\nc\n"},
	        {"oldText":"","newText":"d"}]}),
	    "", FRONT "@@ -1,1 +1,3 @@\n-a\n+b\n+c\n+\n@@ -1,0 +4,1 @@\n+d\n");
	assert_change(
	    JSON("name":"edit","arguments":{"path":"f","edits":[{"old_string":"a\nb","new_text":""},5,{"oldText":"x"},
	        {"oldText":"","newText":""}],"oldString":"c","newString":"d\r\ne"}),
	    "", FRONT "@@ -1,2 +0,0 @@\n-a\n-b\n@@ -3,1 +1,2 @@\n-c\n+d\r\n+e\n");
	assert_change(JSON("name":"edit","arguments":{"path":"f","oldText":"a\nb","newText":"c"}), "", FROM_ARGUMENTS);
	assert_change(JSON("name":"edit","arguments":{"path":"f","edits":[]}), "", "");
	assert_change(JSON("name":"edit_file","arguments":{"path":"f","content":"all"}), "", "");
	assert_change(JSON("name":"edit","arguments":{"path":"f"}), "", "");
	/* A list in a string is not what the tool changed. */
	assert_change(JSON("name":"edit","arguments":{"path":"f","edits":"[{\"oldText\":\"a\",\"newText\":\"b\"}]"}),
	    "", "");
}

/* Only changes are shown, with three lines around. Lines that are left out count, also at the end of an edit. */
CASE(edits_show_what_differs)
{
#define TEN "1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n"
	assert_change(
	    "\"name\":\"edit\",\"arguments\":{\"path\":\"f\",\"edits\":[{\"oldText\":\"" TEN "a\\n" TEN "\",\"newText\":\"" TEN "b\\nc\\n" TEN "\"}]}",
	    "", FRONT "@@ -8,7 +8,8 @@\n 8\n 9\n 10\n-a\n+b\n+c\n 1\n 2\n 3\n");
	assert_change(
	    "\"name\":\"edit\",\"arguments\":{\"path\":\"f\",\"edits\":[{\"oldText\":\"" TEN "\",\"newText\":\"" TEN "\"},{\"oldText\":\"x\\n" TEN "y\\n" TEN "\",\"newText\":\"" TEN "z\\n" TEN "\"},{\"oldText\":\"p\\n\",\"newText\":\"q\\n\"}]}",
	    "",
	    FRONT "@@ -11,4 +11,3 @@\n-x\n 1\n 2\n 3\n"
	    "@@ -19,7 +18,7 @@\n 8\n 9\n 10\n-y\n+z\n 1\n 2\n 3\n@@ -33,1 +32,1 @@\n-p\n+q\n");
	assert_change(
	    JSON("name":"edit","arguments":{"path":"f",
	        "edits":[{"oldText":"a\nb\nc\nd\ne\nf\ng\nh","newText":"A\nb\nc\nd\ne\nf\ng\nH"}]}),
	    "", FRONT "@@ -1,8 +1,8 @@\n-a\n+A\n b\n c\n d\n e\n f\n g\n-h\n+H\n");
	/* An edit that changes nothing. */
	assert_change(JSON("name":"edit","arguments":{"path":"f","edits":[{"oldText":"a\nb","newText":"a\nb"}]}), "",
	    "");
}

CASE(written_file_is_new)
{
	assert_change(WRITES("a\nb\n"), "", FRONT_NEW "@@ -0,0 +1,2 @@\n+a\n+b\n");
	assert_change(WRITES("a\nb"), "", FRONT_NEW "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
	assert_change(WRITES("\n"), "", FRONT_NEW "@@ -0,0 +1,1 @@\n+\n");
	assert_change(WRITES(""), "", "");
}

CASE(path_is_one_line)
{
	assert_change(JSON("name":"write","arguments":{"path":"a\nb\u0007","content":"x\n"}), "",
	    "--- /dev/null\n+++ /w/a b \n@@ -0,0 +1,1 @@\n+x\n");
}

CASE(only_successful_changes_are_shown)
{
	static const struct {
		const char *call, *result;
		bool succeeded;
	} cases[] = ITEMS(
	    {EDITED, "", true},
	    {WRITES("x"), "", true},
	    {EDITED, JSON(,"isError":true), false},
	    {EDITED, JSON(,"details":{"status":"error"}), false},
	    {WRITES("x"), JSON(,"isError":true), false},
	    {WRITES("x"), JSON(,"details":{"status":"error"}), false},
	    {JSON("name":"read","arguments":{"path":"f","content":"x"}), "", false},
	    {JSON("name":"bash","arguments":{"path":"f","content":"x"}), "", false});
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT, open = BUF_INIT;
		struct one_call c;
		one_call_open(&c, cases[i].call, cases[i].result);
		assert_int_equal(change_succeeded(c.f.s, &c.call, 1), cases[i].succeeded);
		assert_int_equal(render_change(c.f.s, &c.call, 1, &out), 0);
		assert_int_equal(out.n > 0, cases[i].succeeded);
		/* A call without a result has changed nothing yet. */
		assert_false(change_succeeded(c.f.s, &c.call, NO_ENTRY));
		assert_int_equal(render_change(c.f.s, &c.call, NO_ENTRY, &open), 0);
		assert_text(&open, "");
		one_call_close(&c);
	}
	/* A call without a file changes none. */
	assert_change(JSON("name":"write","arguments":{"content":"x"}), "", "");
}

static void assert_counts(const char *diff, uint64_t added, uint64_t removed)
{
	uint64_t plus = 10, minus = 20;
	change_count_lines(span_of(diff), &plus, &minus);
	assert_int_equal(plus, 10 + added);
	assert_int_equal(minus, 20 + removed);
}

CASE(lines_are_counted_after_the_first_hunk)
{
	assert_counts("", 0, 0);
	assert_counts("--- a\n+++ b\n", 0, 0);
	assert_counts("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n+c\n d\n\n", 2, 1);
	assert_counts("@@ -1 +1 @@\n--- a\n+++ b", 1, 1);
	assert_counts("@@\n+a\n@@ x\n-b", 0, 1);
	assert_counts("\n--- x\n@@ -1 +1,2 @@\n-a\n+--b\n+c", 2, 1);
}

CASE(failed_read_is_returned)
{
	enum { READ_AHEAD = 1 << 16 }; /* more than is read with the call */
	CLEANUP_BUF struct buf out = BUF_INIT, result = BUF_INIT;
	struct one_call c;
	buf_addf(&result, JSON(,"x":"%*s"), READ_AHEAD, "");
	one_call_open(&c, EDITED, buf_cstr(&result));
	let_fail(PREAD, 1, 100, EIO);
	assert_int_equal(render_change(c.f.s, &c.call, 1, &out), -EIO);
	plan = (struct plan){0};
	assert_text(&out, "");
	one_call_close(&c);
}

/* An allocation that fails gives an error, never another diff. */
CASE(change_without_memory_is_an_error)
{
	static const char *const results[] = {"", DIFF("-1 a\n+1 b"), JSON(,"details":{"patch":"p"})};
	static const char *const wants[] = {FROM_ARGUMENTS, FRONT "@@ -1,1 +1,1 @@\n-a\n+b\n", "p\n"};
	for (size_t i = 0; i < COUNT(wants); i++) {
		unsigned failed = 0;
		struct one_call c;
		one_call_open(&c, EDITED, results[i]);
		for (unsigned nth = 1; nth < 40; nth++) {
			CLEANUP_BUF struct buf out = BUF_INIT;
			let_alloc_fail(nth);
			int rc = render_change(c.f.s, &c.call, 1, &out);
			bool has_failed = alloc_has_failed();
			failed += has_failed;
			if (rc == 0)
				assert_text(&out, wants[i]);
			else
				assert_true(has_failed && rc == -ENOMEM);
		}
		assert_true(failed >= 3 && failed < 39);
		one_call_close(&c);
	}
}

RUN_CASES(NULL, NULL)
