/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "render_fixture.h"

#define LATER "2026-01-02T03:04:06.000Z"
#define DONE(id, parent, time, call, ...)                                                                              \
	MESSAGE_AT(id, parent, time, "role":"toolResult","toolName":"bash","toolCallId":call,__VA_ARGS__)
/* 322 ms after MESSAGE, as all results. */
#define WORKED(id, parent, call) DONE(id, parent, LATER, call, "content" : [SAY("tool output")])
#define FAILED(id, parent, call, text) DONE(id, parent, LATER, call, "isError" : true, "content" : [SAY(text)])
#define MINUTE " · 2026-01-02 03:04Z · "

/* Asserts the text after the title. */
static void assert_chat(const char *lines, const char *want)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	view_of(&producer_chat_md, lines, strlen(lines), "", &out);
	assert_memory_equal(out.p, "# ", 2);
	assert_string_equal(strchr(out.p, '\n') + 1, want);
}

uint32_t __real_session_walk_parent(const struct session *s, uint32_t i, uint32_t *ring);
uint32_t __wrap_session_walk_parent(const struct session *s, uint32_t i, uint32_t *ring);
static _Atomic size_t steps;

uint32_t __wrap_session_walk_parent(const struct session *s, uint32_t i, uint32_t *ring)
{
	steps++;
	return __real_session_walk_parent(s, i, ring);
}

CASE(failed_calls_show_reason)
{
	assert_chat(HEADER
	    STOPPED("a", null, "toolUse", CALL("1", "bash", "command":"false"), CALL("2", "read", "path":"`"))
	    FAILED("r", "a", "1", "some output\n\nCommand exited with code 1")
	    FAILED("s", "r", "2", "\nENOENT: no\tfile\nmore")
	    DONE("t", "s", "2026-01-02T03:04:06.000Z", "2", "isError":true,"content":[]),
	    "\n- `bash false` · \u2717 failed: Command exited with code 1 · 322 ms · r\n"
	    "- `` read ` `` · \u2717 failed: ENOENT: no file · 322 ms · s\n"
	    "- `` read ` `` · \u2717 failed: error · 322 ms · t\n");
}

static void assert_took(const char *lines, const char *want)
{
	char line[64];

	snprintf(line, sizeof line, "\n- `read x`%s · r\n", want);
	assert_chat(lines, line);
}

#define TOOK(time) HEADER ASSISTANT("a", null, CALL("1", "read", "path":"x")) DONE("r", "a", time, "1", "content" : [])

CASE(call_durations)
{
	assert_took(TOOK("2026-01-02T03:04:05.679Z"), " · 1 ms");
	assert_took(TOOK("2026-01-02T03:04:06.878Z"), " · 1.2 s");
	assert_took(TOOK("2026-01-02T03:04:50.978Z"), " · 45 s");
	assert_took(TOOK("2026-01-02T03:07:05.678Z"), " · 3 min");
	assert_took(TOOK("2026-01-02T05:34:05.678Z"), " · 2.5 h");
	assert_took(TOOK("2026-01-02T03:04:05.678Z"), "");
	assert_took(TOOK("2026-01-02T03:04:05.000Z"), "");
	assert_took(TOOK("2026-01-04T03:04:05.678Z"), "");
	assert_took(TOOK("2026-01-0XZ"), "");
}

#define SKILL "<skill name=\\\"re\\nview\\\" location=\\\"/s/SKILL.md\\\">\\nRead.\\n</skill>"

CASE(metadata_is_a_line)
{
	assert_chat(HEADER
	    USER("a", null, "[message_id: 1]\n[Mon 2026-01-05 10:00 UTC]  Hi\n there\n\n[from: Ada (1)]"),
	    "\n## user" MINUTE "a\n\n- 2 lines of metadata\n\nHi\n there\n\n- 1 line of metadata\n");
	assert_chat(HEADER USER_RAW("a", null, "[Mon 2026-01-05 10:00 UTC] " SKILL "\\n\\nHi"),
	    "\n## user" MINUTE "a\n\n- 1 line of metadata\n- skill re view\n\nHi\n");
	assert_chat(HEADER USER_RAW("a", null, " \\n" SKILL "\\n\\nHi"),
	    "\n## user" MINUTE "a\n\n- skill re view\n\nHi\n");
	/* Nothing is left out where nothing would be left. */
	assert_chat(HEADER USER("a", null, "[message_id: 1]\n"), "\n## user" MINUTE "a\n\n[message_id: 1]\n");
	assert_chat(HEADER USER("a", null, "[OpenClaw heartbeat poll]"),
	    "\n## user" MINUTE "a\n\n[OpenClaw heartbeat poll]\n");
}

CASE(directives_are_left_out)
{
	static const char *const said[][2] = {
	    {"[[reply_to_current]] Yes.", "Yes."},
	    {"[[reply_to: 7]]\\n<final>\\nYes.\\n</final>\\n", "Yes."},
	    {"<final>Yes.", "Yes."},
	    {"<final>a</final> b", "a</final> b"},
	    {"Yes. [[reply_to_current]]", "Yes. [[reply_to_current]]"},
	    {"Yes.</final>", "Yes.</final>"},
	    {"<finally>", "<finally>"},
	};
	for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
		struct buf file CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;
		buf_addf(&file, HEADER ASSISTANT("a", null, SAY("%s")), said[i][0]);
		buf_addf(&want, "\n## assistant" MINUTE "a\n\n%s\n", said[i][1]);
		assert_true(buf_cstr(&file) && buf_cstr(&want));
		assert_chat(file.p, want.p);
	}
	assert_chat(HEADER ASSISTANT("a", null, SAY("[[reply_to_current]]")), "\n## assistant" MINUTE "a\n");
	assert_chat(HEADER USER("a", null, "<final>Yes."), "\n## user" MINUTE "a\n\n<final>Yes.\n");
}

CASE(calls_without_a_result_are_marked)
{
	/* At the end of the path they are pending; before another message they have no result. */
	assert_chat(HEADER
	    STOPPED("a", null, "toolUse", CALL("1", "read", "path":"x"), CALL("2", "read", "path":"y"), CALL("3",
	        "read", "path":"z")) WORKED("r", "a", "2"),
	    "\n- `read y` · 322 ms · r\n- `read x`\n- `read z`\n");
	assert_chat(HEADER STOPPED("a", null, "aborted", CALL("1", "read", "path":"x")) CUSTOM("m", "a")
	    USER("u", "m", "no"),
	    "\n## assistant" MINUTE "a\n\n*\u2717 aborted*\n"
	    "\n- `read x` · no result\n"
	    "\n## user" MINUTE "u\n\nno\n");
	assert_chat(HEADER STOPPED("a", null, "error", CALL("1", "read", "path":"x")) USER("u", "a", "go on")
	    ASSISTANT("b", "u", SAY("ok")),
	    "\n## assistant" MINUTE "a\n\n*\u2717 failed*\n"
	    "\n- `read x` · no result\n"
	    "\n## user" MINUTE "u\n\ngo on\n\n## assistant" MINUTE "b\n\nok\n");
	/* After the output limit pi answers the calls itself. */
	assert_chat(HEADER STOPPED("a", null, "length", CALL("1", "read", "path":"x")) USER("u", "a", "hm")
	    WORKED("r", "u", "1"),
	    "\n## assistant" MINUTE "a\n\n*\u2717 failed: length*\n"
	    "\n## user" MINUTE "u\n\nhm\n\n- `read x` · 322 ms · r\n");
	/* Entries on other branches do not count. */
	assert_chat(HEADER ASSISTANT("a", null, CALL("1", "read", "path":"x")) WORKED("r", "a", "1")
	    ASSISTANT("b", "a", SAY("y")),
	    "\n- `read x` · no result\n\n## assistant" MINUTE "b\n\ny\n");
	/* A result without a call on its path. */
	assert_chat(HEADER USER("u", null, "y") WORKED("r", "u", "1"), "\n## user" MINUTE "u\n\ny\n\n- `bash` · r\n");
}

/* The steps up the tree grow with the entries, whatever these are. */
CASE(cost_is_linear)
{
	static const char *const kinds[][2] = ITEMS(
	    /* of each entry, by the half that it is in */
	    {ASSISTANT("%u", "%u", CALL("c%u", "read", "path":"x")), WORKED("%u", "%u", "d%u")},
	    {MESSAGE("%u", "%u", "role":"system"), WORKED("%u", "%u", "d%u")},
	    {ASSISTANT("%u", "%u", CALL("c%u", "read", "path":"x")), USER("%u", "%u", "x")},
	    {STOPPED("%u", "%u", "error", CALL("c%u", "read", "path":"x")), MESSAGE("%u", "%u", "role":"system")},
	    {CUSTOM("%u", "%u"), WORKED("%u", "%u", "d%u")},
	    {WORKED("%u", "%u", "d%u"), ASSISTANT("%u", "%u", )});
	enum { ENTRIES = 1000 };

	for (size_t k = 0; k < 2 * sizeof kinds / sizeof *kinds; k++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		buf_adds(&lines, HEADER);
		for (unsigned i = 1; i <= ENTRIES; i++) {
			/* In halves, or in turns. */
			const char *kind = kinds[k / 2][k % 2 ? i % 2 : i > ENTRIES / 2];
			buf_addf(&lines, kind, i, i - 1, i);
		}
		steps = 0;
		view_of(&producer_chat_md, lines.p, lines.n, "", &out);
		assert_in_range(steps, ENTRIES, 20 * ENTRIES);
	}
}

/* The call of a result near it is known, however long its message is. Further away it costs reading the message up to
 * the call. */
CASE(long_calls_with_later_results)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	buf_adds(
	    &lines, HEADER
	    "{\"id\":\"a\",\"parentId\":null,\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[{"
	    "\"type\":\"toolCall\",\"id\":\"1\",\"name\":\"write\",\"arguments\":{\"path\":\"x\",\"content\":\"");
	for (int i = 0; i < 100000; i++)
		buf_addc(&lines, 'x');
	buf_adds(&lines, "\"}}]}}\n" USER("u", "a", "steer") WORKED("r", "u", "1"));
	view_of(&producer_chat_md, lines.p, lines.n, "", &out);
	assert_non_null(strstr(out.p, "steer\n\n- `write x, 1 line` · r\n"));
	for (unsigned call = 1; call <= 2; call++) {
		buf_reset(&lines);
		buf_addf(&lines, HEADER ASSISTANT("u0", null, CALL("1", "write", "path":"x","content":"%040000d"), CALL("2",
		                            "read", "path":"x")), 0);
		for (int i = 1; i <= 20; i++)
			buf_addf(&lines, USER("u%d", "u%d", "steer"), i, i - 1);
		buf_addf(&lines, WORKED("r", "u20", "%u"), call);
		view_of(&producer_chat_md, lines.p, lines.n, "", &out);
		assert_non_null(
		    strstr(out.p, call == 1 ? "- `write x, 1 line` · 322 ms · r\n" : "- `bash` · 322 ms · r\n"));
	}
}

CASE(cwd_is_stripped_from_summaries)
{
	assert_chat(HEADER
	    STOPPED("a", null, "toolUse", CALL("1", "read", "path":"/w/src/x"), CALL("2", "read", "path":"/wide/x"),
	        CALL("3", "read", "path":"/w/"), CALL("4", "bash", "command":"cd /w && make"), CALL("5", "bash",
	        "command":"cd /w/src && make")),
	    "\n- `read src/x`\n- `read /wide/x`\n- `read /w/`\n- `bash make`\n- `bash cd /w/src && make`\n");
}

CASE(very_many_calls)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	buf_adds(&lines,
	         HEADER "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05."
	                "678Z\",\"message\":{\"role\":\"assistant\",\"stopReason\":\"toolUse\",\"content\":[");
	for (int i = 0; i < 100; i++)
		buf_addf(&lines, JSON(%s{"type":"toolCall","id":"%d","name":"n%d","arguments":{}}), i ? "," : "", i, i);
	buf_adds(&lines, "]}}\n");
	for (int i = 0; i < 100; i += 2) {
		char parent[8] = "a";
		if (i > 0)
			snprintf(parent, sizeof parent, "r%d", i - 2);
		buf_addf(&lines, RESULT("r%d", "%s", "%d", ), i, parent, i);
	}
	buf_adds(&want, "# (no messages)\n\n");
	for (int i = 0; i < 100; i += 2)
		buf_addf(&want, "- `n%d` · r%d\n", i, i);
	for (int i = 1; i < 100; i += 2)
		buf_addf(&want, "- `n%d`\n", i);
	view_of(&producer_chat_md, lines.p, lines.n, "", &out);
	assert_string_equal(out.p, buf_cstr(&want));
}

CASE(other_roles_have_headings)
{
	assert_chat(HEADER ENTRY("custom_message", "a", null, "customType":"t","content":"x","display":true)
	    ENTRY("custom_message", "b", "a", "content":"y","display":true)
	    MESSAGE("c", "b", "role":"compactionSummary","summary":"z","tokensBefore":7),
	    "\n## t" MINUTE "a\n\nx\n\n## custom" MINUTE "b\n\ny\n\n*compaction · 7 tokens before*" MINUTE "c\n");
}

CASE(commands_of_the_user)
{
	assert_chat(HEADER MESSAGE("a", null, "role":"bashExecution","command":"ls\n-l","output":"o","exitCode":0)
	    MESSAGE("b", "a", "role":"bashExecution","command":"false","exitCode":1,"excludeFromContext":true)
	    MESSAGE("c", "b", "role":"bashExecution","command":"sleep 9","cancelled":true),
	    "\n- `!ls -l` · exit 0 · a\n- `!!false` · \u2717 exit 1 · b\n- `!sleep 9` · \u2717 cancelled · c\n");
}

CASE(long_values_are_cut)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;

	buf_addf(&lines,
	         AS_IS(HEADER MESSAGE("a", null, "role":"bashExecution","command":"%0300d","exitCode":-1)
	    ASSISTANT("b", "a", CALL("1", "read", "path":"x")) FAILED("r", "b", "1", "%0300d")
	    MESSAGE("s", "r", "role":"toolResult","toolName":"%0300d")
	    USER("u", "s", "<skill name=\"%0300d\" location=\"/\">\nx\n</skill>")),
			 0, 0, 0, 0);
	buf_addf(&want,
	         "\n- `!%0118d…` · \u2717 exit -1 · a\n- `read x` · \u2717 failed: %0159d… · 322 ms · r\n"
	         "- `%0119d…` · s\n\n## user" MINUTE "u\n\n- skill %0119d…\n",
	         0, 0, 0, 0);
	assert_chat(buf_cstr(&lines), buf_cstr(&want));
}

static void assert_has(const char *lines, bool want)
{
	CLEANUP_OPENED struct fixture f;

	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(render_chat_exists(f.s, session_leaf(f.s)), want);
}

CASE(chat_is_absent_when_empty)
{
	assert_has(HEADER, false);
	assert_has(HEADER BARE("model_change", "a", null), false);
	assert_has(HEADER ENTRY("custom_message", "a", null, "content":"x","display":false), false);
	assert_has(HEADER ENTRY("custom_message", "a", null, "content":"x","display":true), true);
	assert_has(HEADER ENTRY("branch_summary", "a", null, "summary":""), false);
	assert_has(HEADER BARE("message", "a", null), false);
	assert_has(HEADER MESSAGE("a", null, "role":"system","content":"x"), false);
	assert_has(HEADER STOPPED("a", null, "stop", ), false);
	assert_has(HEADER STOPPED("a", null, "stop", CALL("1", "read", "path":"x")), true);
	assert_has(HEADER USER("a", null, "x") CUSTOM("b", "a"), true);
}

RUN_CASES(NULL, NULL)
