/* SPDX-License-Identifier: MIT */
#include "render_fixture.h"

#define ASSISTANT(id, parent, content, rest)                                                                           \
	MESSAGE(id, parent, "\"role\":\"assistant\",\"content\":[" content "]" rest)
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define CALL(id, name, arguments)                                                                                      \
	"{\"type\":\"toolCall\",\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" arguments "}"
#define READ(id, path) CALL(id, "read", "{\"path\":\"" path "\"}")
#define BASH(id, command) CALL(id, "bash", "{\"command\":\"" command "\"}")
#define RESULT_AT(id, parent, time, call, rest)                                                                        \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent ",\"timestamp\":\"2026-01-0" time               \
	"Z\",\"message\":{\"role\":\"toolResult\",\"toolName\":\"bash\",\"toolCallId\":\"" call "\"," rest "}}\n"
/* 322 ms after MESSAGE, as all results. */
#define RESULT(id, parent, call) RESULT_AT(id, parent, "2T03:04:06.000", call, "\"content\":[" TEXT("tool output") "]")
#define FAILED(id, parent, call, text)                                                                                 \
	RESULT_AT(id, parent, "2T03:04:06.000", call, "\"isError\":true,\"content\":[" TEXT(text) "]")
#define MINUTE " · 2026-01-02 03:04Z · "

static void chat_of(const char *lines, const char *prefix, struct buf *out)
{
	struct fixture f;

	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(produce(&producer_chat_md, f.s, session_leaf(f.s), prefix, out), 0);
	assert_non_null(buf_cstr(out));
	fixture_close(&f);
}

/* Asserts the text after the title. */
static void assert_chat(const char *lines, const char *want)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	chat_of(lines, "", &out);
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

static void failed_calls_show_reason(void **state)
{
	(void)state;
	assert_chat(HEADER ASSISTANT("a", "null", BASH("1", "false") "," READ("2", "`"), ",\"stopReason\":\"toolUse\"")
	                FAILED("r", "\"a\"", "1", "some output\\n\\nCommand exited with code 1")
	                    FAILED("s", "\"r\"", "2", "\\nENOENT: no\\tfile\\nmore")
	                        RESULT_AT("t", "\"s\"", "2T03:04:06.000", "2", "\"isError\":true,\"content\":[]"),
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

#define TOOK(time)                                                                                                     \
	HEADER ASSISTANT("a", "null", READ("1", "x"), "") RESULT_AT("r", "\"a\"", time, "1", "\"content\":[]")

static void call_durations(void **state)
{
	(void)state;
	assert_took(TOOK("2T03:04:05.679"), " · 1 ms");
	assert_took(TOOK("2T03:04:06.878"), " · 1.2 s");
	assert_took(TOOK("2T03:04:50.678"), " · 45 s");
	assert_took(TOOK("2T03:07:05.678"), " · 3 min");
	assert_took(TOOK("2T05:34:05.678"), " · 2.5 h");
	assert_took(TOOK("2T03:04:05.678"), "");
	assert_took(TOOK("2T03:04:05.000"), "");
	assert_took(TOOK("4T03:04:05.678"), "");
	assert_took(TOOK("X"), "");
}

#define SKILL "<skill name=\\\"re\\nview\\\" location=\\\"/s/SKILL.md\\\">\\nRead.\\n</skill>"

static void metadata_is_a_line(void **state)
{
	(void)state;
	assert_chat(
	    HEADER USER("a", "null", "[message_id: 1]\\n[Mon 2026-01-05 10:00 UTC]  Hi\\n there\\n\\n[from: Ada (1)]"),
	    "\n## user" MINUTE "a\n\n- 2 lines of metadata\n\nHi\n there\n\n- 1 line of metadata\n");
	assert_chat(HEADER USER("a", "null", "[Mon 2026-01-05 10:00 UTC] " SKILL "\\n\\nHi"),
	            "\n## user" MINUTE "a\n\n- 1 line of metadata\n- skill re view\n\nHi\n");
	/* Nothing is left out where nothing would be left. */
	assert_chat(HEADER USER("a", "null", "[message_id: 1]\\n"), "\n## user" MINUTE "a\n\n[message_id: 1]\n");
	assert_chat(HEADER USER("a", "null", "[OpenClaw heartbeat poll]"),
	            "\n## user" MINUTE "a\n\n[OpenClaw heartbeat poll]\n");
}

static void directives_are_left_out(void **state)
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
	(void)state;
	for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
		struct buf file CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;
		buf_addf(&file, HEADER ASSISTANT("a", "null", TEXT("%s"), ""), said[i][0]);
		buf_addf(&want, "\n## assistant" MINUTE "a\n\n%s\n", said[i][1]);
		assert_true(buf_cstr(&file) && buf_cstr(&want));
		assert_chat(file.p, want.p);
	}
	assert_chat(HEADER ASSISTANT("a", "null", TEXT("[[reply_to_current]]"), ""), "\n## assistant" MINUTE "a\n");
	assert_chat(HEADER USER("a", "null", "<final>Yes."), "\n## user" MINUTE "a\n\n<final>Yes.\n");
}

static void calls_without_a_result_are_marked(void **state)
{
	(void)state;
	/* At the end of the path they are pending; before another message they have no result. */
	assert_chat(HEADER ASSISTANT("a", "null", READ("1", "x") "," READ("2", "y") "," READ("3", "z"),
	                             ",\"stopReason\":\"toolUse\"") RESULT("r", "\"a\"", "2"),
	            "\n- `read y` · 322 ms · r\n- `read x`\n- `read z`\n");
	assert_chat(HEADER ASSISTANT("a", "null", READ("1", "x"), ",\"stopReason\":\"aborted\"")
	                ENTRY("m", "\"a\"", "\"type\":\"custom\"") USER("u", "\"m\"", "no"),
	            "\n## assistant" MINUTE "a\n\n*\u2717 aborted*\n"
	            "\n- `read x` · no result\n"
	            "\n## user" MINUTE "u\n\nno\n");
	assert_chat(HEADER ASSISTANT("a", "null", READ("1", "x"), ",\"stopReason\":\"error\"")
	                USER("u", "\"a\"", "go on") ASSISTANT("b", "\"u\"", TEXT("ok"), ""),
	            "\n## assistant" MINUTE "a\n\n*\u2717 failed*\n"
	            "\n- `read x` · no result\n"
	            "\n## user" MINUTE "u\n\ngo on\n\n## assistant" MINUTE "b\n\nok\n");
	/* After the output limit pi answers the calls itself. */
	assert_chat(HEADER ASSISTANT("a", "null", READ("1", "x"), ",\"stopReason\":\"length\"") USER("u", "\"a\"", "hm")
	                RESULT("r", "\"u\"", "1"),
	            "\n## assistant" MINUTE "a\n\n*\u2717 failed: length*\n"
	            "\n## user" MINUTE "u\n\nhm\n\n- `read x` · 322 ms · r\n");
	/* Entries on other branches do not count. */
	assert_chat(HEADER ASSISTANT("a", "null", READ("1", "x"), "") RESULT("r", "\"a\"", "1")
	                ASSISTANT("b", "\"a\"", TEXT("y"), ""),
	            "\n- `read x` · no result\n\n## assistant" MINUTE "b\n\ny\n");
	/* A result without a call on its path. */
	assert_chat(HEADER USER("u", "null", "y") RESULT("r", "\"u\"", "1"),
	            "\n## user" MINUTE "u\n\ny\n\n- `bash` · r\n");
}

/* The steps up the tree grow with the entries, whatever these are. */
static void cost_is_linear(void **state)
{
	static const char *const kinds[][2] = {
	    /* of each entry, by the half that it is in */
	    {ASSISTANT("%u", "\"%u\"", READ("c%u", "x"), ""), RESULT("%u", "\"%u\"", "d%u")},
	    {MESSAGE("%u", "\"%u\"", "\"role\":\"system\""), RESULT("%u", "\"%u\"", "d%u")},
	    {ASSISTANT("%u", "\"%u\"", READ("c%u", "x"), ""), USER("%u", "\"%u\"", "x")},
	    {ASSISTANT("%u", "\"%u\"", READ("c%u", "x"), ",\"stopReason\":\"error\""),
	     MESSAGE("%u", "\"%u\"", "\"role\":\"system\"")},
	    {ENTRY("%u", "\"%u\"", "\"type\":\"custom\""), RESULT("%u", "\"%u\"", "d%u")},
	    {RESULT("%u", "\"%u\"", "d%u"), ASSISTANT("%u", "\"%u\"", "", "")}};
	enum { ENTRIES = 1000 };

	(void)state;
	for (size_t k = 0; k < 2 * sizeof kinds / sizeof *kinds; k++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		buf_adds(&lines, HEADER);
		for (unsigned i = 1; i <= ENTRIES; i++) {
			/* In halves, or in turns. */
			const char *kind = kinds[k / 2][k % 2 ? i % 2 : i > ENTRIES / 2];
			buf_addf(&lines, kind, i, i - 1, i);
		}
		assert_non_null(buf_cstr(&lines));
		steps = 0;
		chat_of(lines.p, "", &out);
		assert_in_range(steps, ENTRIES, 20 * ENTRIES);
	}
}

/* The call of such a result is known, however long its message is. */
static void long_calls_with_later_results(void **state)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	(void)state;
	buf_adds(&lines, HEADER
	         "{\"id\":\"a\",\"parentId\":null,\"type\":\"message\",\"message\":{\"role\":\"assistant\","
	         "\"content\":[{\"type\":\"toolCall\",\"id\":\"1\",\"name\":\"write\",\"arguments\":{\"path\":\"x\","
	         "\"content\":\"");
	for (int i = 0; i < 100000; i++)
		buf_addc(&lines, 'x');
	buf_adds(&lines, "\"}}]}}\n" USER("u", "\"a\"", "steer") RESULT("r", "\"u\"", "1"));
	chat_of(buf_cstr(&lines), "", &out);
	assert_non_null(strstr(out.p, "steer\n\n- `write x, 1 line` · r\n"));
}

static void cwd_is_stripped_from_summaries(void **state)
{
	(void)state;
	assert_chat(HEADER ASSISTANT("a", "null",
	                             READ("1", "/w/src/x") "," READ("2", "/wide/x") "," READ("3", "/w/") "," BASH(
					 "4", "cd /w && make") "," BASH("5", "cd /w/src && make"),
	                             ",\"stopReason\":\"toolUse\""),
	            "\n- `read src/x`\n- `read /wide/x`\n- `read /w/`\n- `bash make`\n- `bash cd /w/src && make`\n");
}

static void very_many_calls(void **state)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	(void)state;
	buf_adds(&lines, HEADER "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null," TIME
	                        ",\"message\":{\"role\":\"assistant\",\"stopReason\":\"toolUse\",\"content\":[");
	for (int i = 0; i < 100; i++)
		buf_addf(&lines, "%s{\"type\":\"toolCall\",\"id\":\"%d\",\"name\":\"n%d\",\"arguments\":{}}",
		         i ? "," : "", i, i);
	buf_adds(&lines, "]}}\n");
	for (int i = 0; i < 100; i += 2) {
		char parent[8] = "a";
		if (i > 0)
			snprintf(parent, sizeof parent, "r%d", i - 2);
		buf_addf(&lines,
		         "{\"type\":\"message\",\"id\":\"r%d\",\"parentId\":\"%s\"," TIME
		         ",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"%d\",\"content\":[]}}\n",
		         i, parent, i);
	}
	buf_adds(&want, "# (no messages)\n\n");
	for (int i = 0; i < 100; i += 2)
		buf_addf(&want, "- `n%d` · r%d\n", i, i);
	for (int i = 1; i < 100; i += 2)
		buf_addf(&want, "- `n%d`\n", i);
	chat_of(buf_cstr(&lines), "", &out);
	assert_string_equal(out.p, buf_cstr(&want));
}

static void commands_of_the_user(void **state)
{
	(void)state;
	assert_chat(
	    HEADER MESSAGE("a", "null",
	                   "\"role\":\"bashExecution\",\"command\":\"ls\\n-l\",\"output\":\"o\",\"exitCode\":0")
		MESSAGE("b", "\"a\"",
	                "\"role\":\"bashExecution\",\"command\":\"false\",\"exitCode\":1,\"excludeFromContext\":true")
		    MESSAGE("c", "\"b\"", "\"role\":\"bashExecution\",\"command\":\"sleep 9\",\"cancelled\":true"),
	    "\n- `!ls -l` · exit 0 · a\n- `!!false` · \u2717 exit 1 · b\n- `!sleep 9` · \u2717 cancelled · c\n");
}

static void assert_has(const char *lines, bool want)
{
	struct fixture f;

	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(render_chat_exists(f.s, session_leaf(f.s)), want);
	fixture_close(&f);
}

static void chat_is_absent_when_empty(void **state)
{
	(void)state;
	assert_has(HEADER, false);
	assert_has(HEADER ENTRY("a", "null", "\"type\":\"model_change\""), false);
	assert_has(HEADER ENTRY("a", "null", "\"type\":\"custom_message\",\"content\":\"x\",\"display\":false"), false);
	assert_has(HEADER ENTRY("a", "null", "\"type\":\"custom_message\",\"content\":\"x\",\"display\":true"), true);
	assert_has(HEADER ENTRY("a", "null", "\"type\":\"branch_summary\",\"summary\":\"\""), false);
	assert_has(HEADER ENTRY("a", "null", "\"type\":\"message\""), false);
	assert_has(HEADER MESSAGE("a", "null", "\"role\":\"system\",\"content\":\"x\""), false);
	assert_has(HEADER ASSISTANT("a", "null", "", ",\"stopReason\":\"stop\""), false);
	assert_has(HEADER ASSISTANT("a", "null", READ("1", "x"), ",\"stopReason\":\"stop\""), true);
	assert_has(HEADER USER("a", "null", "x") ENTRY("b", "\"a\"", "\"type\":\"custom\""), true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(failed_calls_show_reason),
	    cmocka_unit_test(call_durations),
	    cmocka_unit_test(metadata_is_a_line),
	    cmocka_unit_test(directives_are_left_out),
	    cmocka_unit_test(calls_without_a_result_are_marked),
	    cmocka_unit_test(cost_is_linear),
	    cmocka_unit_test(long_calls_with_later_results),
	    cmocka_unit_test(cwd_is_stripped_from_summaries),
	    cmocka_unit_test(very_many_calls),
	    cmocka_unit_test(commands_of_the_user),
	    cmocka_unit_test(chat_is_absent_when_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
