/* SPDX-License-Identifier: MIT */
/* page_entry: calls and results in a page. test_page_entry.c tests the rest of an article. */
#include "page_fixture.h"

static void calls_and_results_are_linked(void **state)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	(void)state;
	page_of(
	    HEADER ASSISTANT("a", "null",
	                     TOOL("c1", "bash", "{\"command\":\"make\",\"timeout\":9}") "," TOOL(
				 "c2", "edit", "{\"path\":\"/w/x.c\",\"oldText\":\"one\\n\",\"newText\":\"<two>\\n\"}"))
		RESULT("b", "\"a\"", "c1", ",\"isError\":true,\"content\":\"no rule\"")
		    RESULT("c", "\"b\"", "c2", ",\"content\":\"ok\""),
	    &out);
	assert_has(&out, "<div class=\"call\" id=\"a/1\">");
	/* Each call is shown once, at its result. */
	assert_order(&out, "<article id=\"b\"",
	             "bash make <strong class=\"failed\">failed: no rule</strong></summary>");
	assert_order(&out, "bash make <strong", "<article id=\"c\"");
	assert_order(&out, "<pre class=\"language-command\">\nmake</pre>", "<pre>\nno rule</pre>");
	assert_has(&out, "<pre class=\"language-command\">\nmake</pre>");
	assert_has(&out, "&quot;timeout&quot;: 9");
	assert_has(&out, "<div class=\"call\" id=\"a/2\">");
	assert_has(&out, "<article id=\"a\" class=\"assistant aside\">");
	assert_has_not(&out, ">call</a>");
	assert_order(&out, "<article id=\"c\"", "<summary>edit x.c +1 -1</summary>");
	assert_has(&out, "<pre class=\"diff\">\n<del>-one\n</del><ins>+&lt;two&gt;\n</ins></pre>");
	assert_has(&out, "<span class=\"failed\">failed</span> bash make</a>");
	assert_has(&out, ">edit x.c +1 -1</a></li>");
}

/* The output of a read has the language of the file, other output has none. */
static void code_names_its_language(void **state)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	(void)state;
	page_of(HEADER ASSISTANT("a", "null",
	                         TOOL("c1", "read", "{\"path\":\"x.py\",\"deep\":[{}]}") "," TOOL(
				     "c2", "write", "{\"path\":\"y.ts\",\"content\":\"let y\"}"))
	            RESULT("b", "\"a\"", "c1", ",\"content\":\"def f\"")
	                RESULT("c", "\"b\"", "c2", ",\"content\":\"ok\""),
	        &out);
	assert_has(&out, "<pre class=\"language-python\">\ndef f</pre>");
	assert_has(&out, "<pre class=\"language-json\">\n{\n  &quot;path&quot;");
	assert_has(&out, "<pre class=\"language-ts\">\nlet y</pre>");
	assert_has(&out, "<pre>\nok</pre>");
}

/* Nested calls are shown below the call whose tool made them; pi's measurements are shown for all. */
static void nested_calls_are_below_their_call(void **state)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	(void)state;
	page_of(HEADER ASSISTANT("a", "null", TOOL("c1", "codemode", "{}"))
	            RESULT("b", "\"a\"", "c1",
	                   ",\"content\":\"output\",\"durationMs\":2051,\"nestedCalls\":{\"calls\":[{\"name\":\"bash\","
	                   "\"status\":\"error\",\"error\":\"<b>\",\"durationMs\":58,\"arguments\":{\"command\":\"ls "
	                   "<x>\"}},{\"name\":\"write\"}],\"complete\":false}"),
	        &out);
	assert_has(&out, "<summary>codemode \u00b7 2.1 s</summary>");
	assert_order(&out, "output</pre>", "<div class=\"nested\">");
	assert_has(&out,
	           "<div class=\"call\" id=\"b/1\"><details><summary>bash ls &lt;x&gt; \u00b7 \u2717 failed: &lt;b&gt; "
	           "\u00b7 58 ms</summary>");
	assert_has(&out, "<div class=\"call\" id=\"b/2\"><details><summary>write \u00b7 unfinished</summary>");
	assert_has(&out, "<p class=\"cut\">and others</p>");
}

/* A call without a result, or with one on another branch, is shown where it was made. */
static void unanswered_calls_stay_in_place(void **state)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	(void)state;
	page_of(HEADER ASSISTANT(
		    "a", "null",
		    TOOL("c1", "bash", "{\"command\":\"one\"}") "," TOOL(
			"c2", "bash", "{\"command\":\"two\"}") "," TOOL("c3", "bash", "{\"command\":\"three\"}"))
	            RESULT("b", "\"a\"", "c1", ",\"content\":\"on the other branch\"")
	                RESULT("c", "\"a\"", "c2", ",\"content\":\"here\"") MORE("d", "c"),
	        &out);
	assert_has(&out, "<article id=\"a\" class=\"assistant\">");
	assert_order(&out, "<div class=\"call\" id=\"a/1\">", "<div class=\"call\" id=\"a/3\">");
	assert_order(&out, "<div class=\"call\" id=\"a/3\">", "<article id=\"c\"");
	assert_order(&out, "<article id=\"c\"", "<div class=\"call\" id=\"a/2\">");
	assert_order(&out, "<a href=\"#b\" aria-label=\"Result of call 1\">result</a>", "<span>no result</span>");
	/* The result shows the call too, with a link to where it was made. */
	assert_order(&out, "<article id=\"b\"", "<a href=\"#a/1\">call</a>");
	assert_int_equal(count(out.p, "<summary>bash one</summary>"), 2);
	assert_has(&out, "<pre>\non the other branch</pre>");
}

/* Entries that chat.md leaves out are marked, as are entries with a label. */
static void spoken_entries_are_marked(void **state)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	(void)state;
	page_of(HEADER USER("u", "null", "hi") MESSAGE("s", "\"u\"", "\"role\":\"system\",\"content\":\"x\"")
	            ENTRY("m", "\"s\"", "\"type\":\"model_change\"")
	                ASSISTANT("a", "\"m\"", "{\"type\":\"thinking\",\"thinking\":\"hm\"}")
	                    ASSISTANT("b", "\"a\"", "{\"type\":\"text\",\"text\":\"yes\"}")
	                        ENTRY("l", "\"b\"", "\"type\":\"label\",\"targetId\":\"b\",\"label\":\"here\""),
	        &out);
	assert_has(&out, "<article id=\"u\" class=\"user\">");
	assert_has(&out, "<article id=\"s\" class=\"custom aside\">");
	assert_has(&out, "<article id=\"m\" class=\"meta aside\">");
	assert_has(&out, "<article id=\"a\" class=\"assistant aside\">");
	assert_has(&out, "<details class=\"think\"><summary>Thinking</summary>");
	assert_has(&out, "<article id=\"b\" class=\"assistant labelled\">");
}

/* Short but deeply nested JSON would become very long if it were indented. */
static void pretty_arguments_are_cut(void **state)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	(void)state;
	buf_adds(&lines, HEADER "{\"id\":\"a b\",\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":["
	                        "{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"t\",\"arguments\":{\"x\":");
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
static void cwd_prefix_is_stripped(void **state)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	(void)state;
	page_of("{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n" ASSISTANT(
		    "a", "null",
		    "{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"bash\",\"arguments\":{\"command\":\"cat /w/a "
		    "/mnt/w/b =/w/c\"}}"),
	        &out);
	assert_has(&out, "<summary>bash cat a /mnt/w/b =c</summary>");
}

/* A set of 64 bits says which calls are shown at their results. The 64th is in it; later calls are shown with the
 * entry, too. The calls are short, since the page reads them again for each result. */
static void calls_after_the_64th_stay_with_the_entry(void **state)
{
	(void)state;
	for (int calls = 63; calls <= 66; calls++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		buf_adds(&lines, HEADER "{\"id\":\"r0\",\"parentId\":null,\"type\":\"message\",\"message\":{\"role\":"
		                        "\"assistant\",\"content\":[");
		for (int i = 1; i <= calls; i++)
			buf_addf(&lines, "%s{\"type\":\"toolCall\",\"id\":\"c%d\",\"name\":\"run\"}", i > 1 ? "," : "",
			         i);
		buf_adds(&lines, "]}}\n");
		for (int i = 1; i <= calls; i++)
			buf_addf(&lines, RESULT("r%d", "\"r%d\"", "c%d", ""), i, i - 1, i);
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
static void errors_are_shown_and_cut(void **state)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	(void)state;
	page_of(
	    HEADER MESSAGE("a", "null",
	                   "\"role\":\"assistant\",\"content\":[],\"stopReason\":\"error\",\"errorMessage\":\"<429>\""),
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_and_results_are_linked),
	    cmocka_unit_test(code_names_its_language),
	    cmocka_unit_test(nested_calls_are_below_their_call),
	    cmocka_unit_test(unanswered_calls_stay_in_place),
	    cmocka_unit_test(spoken_entries_are_marked),
	    cmocka_unit_test(pretty_arguments_are_cut),
	    cmocka_unit_test(cwd_prefix_is_stripped),
	    cmocka_unit_test(calls_after_the_64th_stay_with_the_entry),
	    cmocka_unit_test(errors_are_shown_and_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
