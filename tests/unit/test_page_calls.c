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

/* As in chat.md, test_render_chat.c. The arguments keep it. */
CASE(cwd_is_stripped_from_summaries)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	page_of(HEADER_OF("s", "/w")
	    ASSISTANT("a", null, CALL("c", "bash", "command":"cd /w && rm -rf /w/"), CALL("d", "read", "path":"/w/a")),
	    &out);
	assert_has(&out, "<summary>bash rm -rf /w/</summary>\n<pre class=\"language-command\">\ncd /w &amp;&amp; rm -rf /w/</pre>");
	assert_has(&out, "<summary>read a</summary>");
}

CASE(a_changed_line_with_cr_keeps_its_sign)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	page_of(HEADER ASSISTANT("a", null, CALL("c", "edit", "path":"f","oldText":"x","newText":"foo\r-bar")), &out);
	assert_has(&out, "<del>-x\n</del><ins>+foo -bar\n</ins>");
}

CASE(long_diffs_are_cut)
{
	struct buf text CLEANUP_BUF = BUF_INIT, lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	for (int i = 0; i < 401; i++)
		buf_adds(&text, "line\\n");
	buf_addf(&lines, HEADER ASSISTANT("a", null, CALL("c", "edit", "path":"f","oldText":"","newText":"%s")),
	                                  buf_cstr(&text));
	page_of(buf_cstr(&lines), &out);
	assert_int_equal(count(out.p, "+line\n"), 400);
	assert_has(&out, "/tool-calls/1-edit/arguments.json\">All of it");
}

RUN_CASES(NULL, NULL)
