/* SPDX-License-Identifier: MIT */
/* page_entry: calls and results in a page. test_page_entry.c tests the rest of an article. */
#include "cases.h"
#include "page_fixture.h"

/* Short but deeply nested JSON would become very long if it were indented. */
CASE(pretty_arguments_are_cut)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	buf_adds(&lines, HEADER "{\"id\":\"a "
	                        "b\",\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":"
	                        "\"toolCall\",\"id\":\"c\",\"name\":\"t\",\"arguments\":{\"x\":");
	for (int i = 0; i < 100; i++)
		buf_adds(&lines, "[");
	for (int i = 0; i < 5000; i++)
		buf_adds(&lines, i ? ",1" : "1");
	for (int i = 0; i < 100; i++)
		buf_adds(&lines, "]");
	buf_adds(&lines, "}}]}}\n");
	page_of_bytes(lines.p, lines.n, &out);
	assert_has(&out, "entries/a%20b/tool-calls/1-t/arguments.json\">All of it</a>");
	assert_in_range(out.n, 1, 100000);
}

/* Only at the beginning of a path; a directory of the same name further down stays. */
CASE(cwd_prefix_is_stripped)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	page_of(HEADER_OF("s", "/w") ASSISTANT("a", null, CALL("c", "bash", "command":"cat /w/a /mnt/w/b =/w/c")),
	    &out);
	assert_has(&out, "<summary>bash cat a /mnt/w/b =c</summary>");
}

/* A set of 64 bits says which calls are shown at their results. The 64th is in it; later calls are shown with the
 * entry, too. The calls are short, since the page reads them again for each result. */
CASE(calls_after_the_64th_stay_with_the_entry)
{
	for (int calls = 63; calls <= 66; calls++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		buf_adds(&lines, HEADER "{\"id\":\"r0\",\"parentId\":null,\"type\":\"message\",\"message\":{\"role\":"
		                        "\"assistant\",\"content\":[");
		for (int i = 1; i <= calls; i++)
			buf_addf(&lines, JSON(%s{"type":"toolCall","id":"c%d","name":"run"}), i > 1 ? "," : "", i);
		buf_adds(&lines, "]}}\n");
		for (int i = 1; i <= calls; i++)
			buf_addf(&lines, MESSAGE("r%d", "r%d", "role":"toolResult","toolName":"t","toolCallId":"c%d"),
			                         i, i - 1, i);
		page_of(buf_cstr(&lines), &out);
		unsigned late = calls > 64 ? (unsigned)calls - 64 : 0;
		assert_int_equal(count(out.p, "<summary>run"), (unsigned)calls + late);
		assert_int_equal(count(out.p, "aria-label=\"Result of call "), late);
		assert_int_equal(count(out.p, "<article id=\"r0\" class=\"assistant aside\">"), late == 0);
		if (late > 0)
			assert_order(&out, "<article id=\"r0\" class=\"assistant\">",
			             "<a href=\"#r65\" aria-label=\"Result of call 65\">");
		assert_has_not(&out, "Result of call 64");
	}
}

/* An error is shown with its entry, and a long one is cut. */
CASE(errors_are_shown_and_cut)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	page_of(HEADER MESSAGE("a", null, "role":"assistant","content":[],"stopReason":"error","errorMessage":"<429>"),
	    &out);
	assert_has(&out, "<strong class=\"failed\">failed</strong>");
	assert_has(&out, "<p class=\"error\"><strong>Error:</strong> &lt;429&gt;</p>");
	assert_has_not(&out, "Cut here");
	buf_adds(&lines, HEADER "{\"id\":\"a\",\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[],"
	                        "\"stopReason\":\"error\",\"errorMessage\":\"");
	for (int i = 0; i < 1000; i++)
		buf_adds(&lines, "too long ");
	buf_adds(&lines, "\"}}\n");
	buf_reset(&out);
	page_of(buf_cstr(&lines), &out);
	assert_has(&out, "/entries/a/error\">All of it</a>");
}

RUN_CASES(NULL, NULL)
