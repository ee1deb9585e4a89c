/* SPDX-License-Identifier: MIT */
/* page_entry: the article of one entry in a page. test_page.c tests the page around it. */
#include "cases.h"
#include "page_fixture.h"
#include "failing_calls.h"

#define MD(text) "<div class=\"md\">\n<p>" text "</p>\n</div>\n"

/* Sets `ret` to the article of an entry, from the end of its head on; `whole` has the page. */
static void article_of(const struct buf *whole, const char *id, bool has_head, struct buf *ret)
{
	CLEANUP_BUF struct buf begin = BUF_INIT;

	buf_addf(&begin, "<article id=\"%s\" class=\"", id);
	const char *from = strstr(whole->p, buf_cstr(&begin));
	assert_non_null(from);
	const char *end = strstr(from, "</article>");
	assert_non_null(end);
	if (!has_head)
		from = strstr(from, "</header>\n") + strlen("</header>\n");
	assert_true(from < end + 1);
	buf_reset(ret);
	buf_add(ret, from, (size_t)(end - from));
	assert_non_null(buf_cstr(ret));
}

static void assert_body(const char *lines, const char *id, const char *want)
{
	CLEANUP_BUF struct buf page = BUF_INIT, body = BUF_INIT;

	page_of(lines, &page);
	article_of(&page, id, false, &body);
	assert_string_equal(body.p, want);
}

/* The article of entry `id` up to its time. */
static void assert_head(const char *lines, const char *id, const char *want)
{
	CLEANUP_BUF struct buf page = BUF_INIT, head = BUF_INIT;

	page_of(lines, &page);
	article_of(&page, id, true, &head);
	char *end = strstr(head.p, "<time");
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(head.p, want);
}

/* --- calls ---------------------------------------------------------------------------- */

enum { CALLS_SHOWN_AT_RESULTS_MAX = 64 };

/* A message with n calls, each with a result. */
static void page_of_calls(unsigned n, struct buf *out)
{
	CLEANUP_BUF struct buf lines = BUF_INIT;

	buf_adds(
	    &lines, HEADER
	    "{\"id\":\"a\",\"parentId\":null,\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[");
	for (unsigned i = 1; i <= n; i++)
		buf_addf(&lines, JSON(%s{"type":"toolCall","id":"c%u","name":"t%u"}), i > 1 ? "," : "", i, i);
	buf_adds(&lines, "]}}\n");
	for (unsigned i = 1; i <= n; i++)
		buf_addf(&lines, MESSAGE("r%u", "%s%.0u", "role":"toolResult","toolCallId":"c%u","content":"out"), i,
		                         i > 1 ? "r" : "a", i > 1 ? i - 1 : 0, i);
	page_of(buf_cstr(&lines), out);
}

/* Results show the first 64 calls of a message, the message shows the others: each call has its place once. */
CASE(first_64_calls_are_at_their_results)
{
	for (unsigned n = CALLS_SHOWN_AT_RESULTS_MAX - 1; n <= CALLS_SHOWN_AT_RESULTS_MAX + 6; n++) {
		CLEANUP_BUF struct buf page = BUF_INIT, caller = BUF_INIT;
		page_of_calls(n, &page);
		article_of(&page, "a", true, &caller);
		for (unsigned i = 1; i <= n; i++) {
			bool at_result = i <= CALLS_SHOWN_AT_RESULTS_MAX;
			CLEANUP_BUF struct buf place = BUF_INIT, id = BUF_INIT, link = BUF_INIT, result = BUF_INIT;
			buf_addf(&place, "<div class=\"call\" id=\"a/%u\"><details><summary>t%u</summary>", i, i);
			assert_int_equal(count(page.p, buf_cstr(&place)), 1);
			assert_int_equal(count(caller.p, buf_cstr(&place)), !at_result);
			buf_addf(&link, "<a href=\"#r%u\" aria-label=\"Result of call %u\">result</a>", i, i);
			assert_int_equal(count(caller.p, buf_cstr(&link)), !at_result);
			buf_addf(&id, "r%u", i);
			article_of(&page, buf_cstr(&id), true, &result);
			buf_reset(&link);
			buf_addf(&link, "<a href=\"#a/%u\">call</a>", i);
			assert_int_equal(count(result.p, buf_cstr(&link)), !at_result);
		}
		/* Later calls are also shown at their results. */
		assert_int_equal(count(page.p, "<summary>t"), 2 * n - (n < 64 ? n : 64));
		/* A message whose calls are all at their results has nothing to show. */
		assert_int_equal(count(caller.p, "class=\"assistant aside\""), n <= CALLS_SHOWN_AT_RESULTS_MAX);
	}
}

/* A result reads the line of its call, for its row and its text, but only while that is cheap. */
CASE(results_read_few_calls)
{
	CLEANUP_BUF struct buf page = BUF_INIT;

	page_of_calls(300, &page);
	assert_has(&page, "href=\"#r1\">t1</a></li>");
	assert_has(&page, "href=\"#r300\" aria-current=\"true\">[tool]</a></li>");
	assert_has_not(&page, "aria-label=\"Result of call 9\"");
	assert_has(&page, "aria-label=\"Result of call 64\"");
}

CASE(result_without_call_shows_its_tool)
{
	assert_body(HEADER MESSAGE("r", null, "role":"toolResult","toolCallId":"c","toolName":"<t>","content":"out"),
	    "r",
	    "<div class=\"call\"><details><summary>&lt;t&gt;</summary>\n<pre>\nout</pre>\n"
	    "</details></div>\n");
	assert_body(HEADER MESSAGE("r", null, "role":"toolResult","toolCallId":"c","content":"out"), "r",
	    "<div class=\"call\"><details><summary>Output</summary>\n<pre>\nout</pre>\n</details></div>\n");
	assert_body(HEADER
	    MESSAGE("r", null, "role":"toolResult","toolCallId":"c","toolName":"","isError":true,"content":"<no>"),
	    "r",
	    "<div class=\"call\"><details><summary>Output <strong class=\"failed\">failed: &lt;no&gt;</strong>"
	    "</summary>\n<pre>\n&lt;no&gt;</pre>\n</details></div>\n");
	assert_body(HEADER
	    MESSAGE("r", null, "role":"toolResult","content":[IMAGE("a", "QQ=="),IMAGE("b", "QQ==")],
	        "details":{"imageUnsupportedByModel":"<m>"}),
	    "r",
	    "<div class=\"call\"><details><summary>Output · 2 pictures · picture not sent to &lt;m&gt;</summary>\n"
	    "<p class=\"cut\">Picture 1, a</p>\n<p class=\"cut\">Picture 2, b</p>\n</details></div>\n");
}

/* --- contents ------------------------------------------------------------------------- */

CASE(error_follows_the_text)
{
	CLEANUP_BUF struct buf page = BUF_INIT, body = BUF_INIT, lines = BUF_INIT;

	assert_body(HEADER
	    MESSAGE("a", null, "role":"assistant","content":"x","stopReason":"error","errorMessage":"<bad>"), "a",
	    MD("x") "<p class=\"error\"><strong>Error:</strong> &lt;bad&gt;</p>\n");
	assert_body(HEADER
	    MESSAGE("a", null, "role":"assistant","content":"x","stopReason":"length","diagnostics":[{"type":"<i>",
	        "details":{"reason":"&"}},{"type":"j"}]),
	    "a", MD("x") "<p class=\"cut\">&lt;i&gt; · &amp;</p>\n<p class=\"cut\">j</p>\n");
	/* A long one is cut, and its file named. */
	buf_addf(&lines, HEADER MESSAGE("a", null, "role":"assistant","content":"x","stopReason":"error","errorMessage":"%0*d",
	             "diagnostics":[{"type":"%0*d"}]), 5000, 7, 5000, 7);
	page_of(buf_cstr(&lines), &page);
	article_of(&page, "a", false, &body);
	assert_int_equal(count(body.p, "entries/a/error"), 1);
	assert_true(body.n < 4700);
}

CASE(heading_is_the_role_or_type)
{
	assert_head(HEADER
	    MESSAGE("a", null, "role":"assistant","content":"x","model":"<m>","provider":"p","stopReason":"error"),
	    "a",
	    "<article id=\"a\" class=\"assistant\"><header><h3>Assistant</h3>\n"
	    "<strong class=\"failed\">failed</strong>\n<span>&lt;m&gt;</span>\n<span "
	    "class=\"by\">p</span>\n<span>error</span>\n");
	assert_head(HEADER BARE("<new>", "a", null), "a",
	    "<article id=\"a\" class=\"meta aside\"><header><b>&lt;new&gt;</b>\n");
	assert_head(HEADER BARE("", "a", null), "a", "<article id=\"a\" class=\"meta aside\"><header><b>no type</b>\n");
	assert_head(HEADER INFO("a", null, "n"), "a",
	    "<article id=\"a\" class=\"meta aside\"><header><b>Name</b>\n<span>n</span>\n");
}

/* --- branches -------------------------------------------------------------------------- */

/* n other branches at entry a, and the current one. */
static void assert_branches(unsigned n, unsigned shown)
{
	CLEANUP_BUF struct buf lines = BUF_INIT, page = BUF_INIT, body = BUF_INIT, want = BUF_INIT;

	buf_adds(&lines, HEADER USER("a", null, "x"));
	for (unsigned i = 1; i <= n + 1; i++)
		buf_addf(&lines, USER("b%u", "a", "y"), i);
	page_of(buf_cstr(&lines), &page);
	article_of(&page, "a", false, &body);
	buf_adds(&want, MD("x"));
	for (unsigned i = 1; i <= shown; i++)
		buf_addf(&want, "%s<a href=\"#b%u\">branch %u</a>",
		         i > 1 ? ", " : "<p class=\"forks\">Also from here: ", i, i);
	buf_adds(&want, shown ? "</p>\n" : "");
	assert_string_equal(body.p, buf_cstr(&want));
}

CASE(other_branches_are_linked)
{
	assert_branches(0, 0);
	assert_branches(1, 1);
	assert_branches(20, 20);
	assert_branches(21, 20);
}

/* --- failing calls ---------------------------------------------------------------------- */

CASE(failed_read_is_returned)
{
	static const char lines[] = HEADER USER("a", null, "x");
	CLEANUP_BUF struct buf out = BUF_INIT;
	CLEANUP_OPENED struct fixture f;

	fixture_open(&f, lines, strlen(lines));
	let_fail(PREAD, 1, 100, EIO);
	assert_int_equal(produce(&producer_page_html, f.s, session_leaf(f.s), "", &out), -EIO);
	plan = (struct plan){0};
}

/* --- commands to a terminal --------------------------------------------------------------- */

/* Such commands are no text: of a page, only the text that a terminal would show is shown. */
CASE(commands_to_a_terminal_are_dropped)
{
	assert_body(HEADER
	    USER("a", null,
	        "rain \u001b]0;EVIL\u0007\u001b[31mred\u001b[0m \u001b[1;38;5;2mtwo\u001b[K \u009b1mthree\u009b0m \u009d0;EVIL\u009c\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\\u0007\u007f\u0085 end\u001b[3"),
	    "a", MD("rain red two three link end"));
	/* A control character alone; an OSC without an end. */
	assert_body(HEADER USER("a", null, "a\u001b=b\u001b]0;c\n\nd\u0007\u001b"), "a",
	    "<div class=\"md\">\n<p>a=b</p>\n<p>d</p>\n</div>\n");
	/* Of a line with CR, its last part; CR at the end of a line ends it. */
	CLEANUP_BUF struct buf page = BUF_INIT;
	page_of(HEADER ASSISTANT("a", null, CALL("c", "bash", "command":"x"))
	    MESSAGE("b", "a", "role":"toolResult","toolCallId":"c","toolName":"bash",
	        "content":[SAY("one\n 10% =>\r 50% ==>\r\u001b[K100%\ntwo\r\nthree\r\r\nfour\r")]),
	    &page);
	assert_has(&page, ">\none\n100%\ntwo\nthree\nfour</pre>");
}

#define EVIL "x\u001b]0;EVIL\u0007\u001b[31m\u009b31m\u009d0;EVIL\u009c"

CASE(no_part_of_a_page_has_commands)
{
	CLEANUP_BUF struct buf page = BUF_INIT;
	page_of(HEADER_OF("s", EVIL) USER("a", null, EVIL) LABEL("l", "a", "a", EVIL) INFO("n", "l", EVIL)
	    ENTRY("model_change", "m", "n", "provider":EVIL,"modelId":EVIL)
	    MESSAGE("b", "m", "role":"assistant","provider":EVIL,"model":EVIL,"stopReason":"error","errorMessage":EVIL,
	        "content":[THINKING(EVIL),CALL("c", "edit", "path":EVIL,"oldText":EVIL,"newText":"n",EVIL:EVIL),CALL("d",
	        EVIL, EVIL:[EVIL])])
	    RESULT("r", "b", "c", SAY(EVIL))
	    MESSAGE("s", "r", "role":"toolResult","toolCallId":"d","toolName":EVIL,"isError":true,"content":[SAY(EVIL)])
	    MESSAGE("t", "s", "role":"bashExecution","command":EVIL,"output":EVIL,"exitCode":1)
	    MESSAGE("u", "t", "role":EVIL,"content":EVIL)
	    ENTRY("custom_message", "v", "u", "customType":EVIL,"content":EVIL) SUMMARY("w", "a", "a", EVIL)
	    ENTRY("compaction", "y", "v", "summary":EVIL,"tokensBefore":1),
	    &page);
	for (const unsigned char *p = (const unsigned char *)page.p; *p; p++)
		assert_false((*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0));
	/* JSON shows them as the escapes that are stored. */
	for (char *json; (json = strstr(page.p, "<pre class=\"language-json\">"));)
		memset(json, ' ', (size_t)(strstr(json, "</pre>") - json));
	assert_has_not(&page, "[31m");
	assert_has_not(&page, "EVIL");
}

/* Around the user's words everything is folded; an assistant's directives are left out. */
CASE(metadata_is_folded)
{
	assert_body(HEADER USER("a", null, "[message_id: <1>]\n[Mon 2026-01-05 10:00 UTC] Hi\n[from: Ada (1)]"), "a",
	    "<details><summary>2 lines of metadata</summary>\n<div class=\"md\">\n"
	    "<p>[message_id: &lt;1&gt;]<br>\n[Mon 2026-01-05 10:00 UTC]</p>\n</div>\n</details>\n"
	    MD("Hi") "<details><summary>1 line of metadata</summary>\n"
	    MD("[from: Ada (1)]") "</details>\n");
	assert_body(HEADER USER("a", null, "<skill name=\"a&b\" location=\"/\">\nx\n</skill>\n\nHi"), "a",
	    "<details><summary>skill a&amp;b</summary>\n<div class=\"md\">\n"
	    "<p>&lt;skill name=&quot;a&amp;b&quot; location=&quot;/&quot;&gt;<br>\nx<br>\n"
	    "&lt;/skill&gt;</p>\n</div>\n</details>\n"
	    MD("Hi"));
	assert_body(HEADER USER("a", null, "[message_id: 1]\n"), "a", MD("[message_id: 1]"));
	assert_body(HEADER MESSAGE("a", null, "role":"custom","display":false,"content":"Hi"), "a",
	    "<details><summary>Hidden</summary>\n" MD("Hi") "</details>\n");
#define DIRECTED HEADER ASSISTANT("a", null, SAY("[[reply_to_current]]<final>Yes</final>"))
	assert_body(DIRECTED, "a", MD("Yes"));
	/* Also in the tree. */
	CLEANUP_BUF struct buf page = BUF_INIT;
	page_of(DIRECTED, &page);
	assert_has(&page, ">assistant: Yes</a>");
}

RUN_CASES(NULL, NULL)
