/* SPDX-License-Identifier: MIT */
/* entry_text: the text of an entry, and all.txt, which consists of it. */
#include "render_fixture.h"
#include "failing_alloc.h"
#include "sessionfs/render/entry_text.h"

#include <errno.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int add_parts(struct entry_text *parts, const struct record *r, struct buf *out)
{
	static const char of[] = "TtaeV";
	int rc;
	entry_text_begin(parts, r);
	while ((rc = entry_text_next(parts)) > 0) {
		buf_addc(out, of[parts->kind]);
		if (parts->kind == TEXT_OF_ARGUMENTS)
			buf_addf(out, "%u", parts->call.n);
		buf_addc(out, ' ');
		buf_addspan(out, buf_span(&parts->what));
		buf_addc(out, '|');
		buf_addspan(out, buf_span(&parts->text));
		assert_int_equal(parts->text.p[parts->text.n - 1], '\n');
	}
	return rc;
}

static void assert_says(const char *line, const struct format *format, const char *want)
{
	struct entry_text parts CLEANUP_ENTRY_TEXT = {0};
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct record r;
	assert_true(record_parse(span_of(line), format, NULL, &r));
	assert_int_equal(add_parts(&parts, &r, &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	assert_int_equal(entry_text_next(&parts), 0);
}

#define SAYS(rest) "{\"type\":\"message\",\"id\":\"a\",\"message\":{" rest "}}"

static void texts_have_their_role(void **state)
{
	static const char *const samples[][2] = {
	    {SAYS("\"role\":\"user\",\"content\":\"a\\nb\\n\""), "T user|a\nb\n"},
	    {SAYS("\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]"), "T system|a\n"},
	    {SAYS("\"role\":\"a/b\\n\\ud800\",\"content\":\"a\""), "T a%2Fb%0A%ED%A0%80|a\n"},
	    {SAYS("\"role\":\"\",\"content\":\"a\""), "T %|a\n"},
	    {SAYS("\"role\":7,\"content\":\"a\""), "T message|a\n"},
	    {SAYS("\"content\":\"a\""), "T message|a\n"},
	    {SAYS("\"role\":\"hookMessage\",\"content\":\"a\""), "T hookMessage|a\n"},
	    {SAYS("\"role\":\"branchSummary\",\"summary\":\"a\""), "T branchSummary|a\n"},
	    {SAYS("\"role\":\"bashExecution\",\"command\":\"ls\",\"output\":\"x\\ny\",\"exitCode\":0"),
	     "T bashExecution|$ ls\nx\ny\n"},
	    {SAYS("\"role\":\"user\",\"content\":\"\\n\\n\""), ""},
	    {SAYS("\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"aGV5\"}]"), ""},
	    {"{\"type\":\"message\",\"id\":\"a\"}", ""},
	    {"{\"type\":\"compaction\",\"summary\":\"a\"}", "T compaction|a\n"},
	    {"{\"type\":\"branch_summary\",\"summary\":\"a\"}", "T branch_summary|a\n"},
	    {"{\"type\":\"custom_message\",\"content\":\"a\"}", "T custom_message|a\n"},
	    {"{\"type\":\"custom\",\"data\":\"a\",\"content\":\"a\",\"summary\":\"a\"}", ""},
	    {"{\"type\":\"session\",\"name\":\"a\"}", ""},
	    {"{\"content\":\"a\"}", ""},
	    {"[1]", ""},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		assert_says(samples[i][0], NULL, samples[i][1]);
	const struct format *old = format_of((struct json_value){JSON_NUMBER, false, span_of("2")});
	assert_says(SAYS("\"role\":\"hookMessage\",\"content\":\"a\""), old, "T custom|a\n");
}

#define CALL(name, arguments) "{\"type\":\"toolCall\",\"id\":\"c\",\"name\":" name ",\"arguments\":" arguments "}"
#define CALLS(calls) SAYS("\"role\":\"assistant\",\"content\":[" calls "]")

static void calls_show_arguments(void **state)
{
	static const char *const samples[][2] = {
	    {CALLS("{\"type\":\"thinking\",\"thinking\":\"t\"}," CALL(
		 "\"bash\"", "{\"command\":\"ls\\nwc\"}") ",{\"type\":"
	                                                  "\"text\",\"text\":\"x\"}"),
	     "T assistant|x\nt thinking|t\na1 call bash|command: ls\nwc\n"},
	    /* Every value begins on the line of its key; other values than strings are compact JSON. */
	    {CALLS(CALL("\"e\"",
	                "{\"a\" : \"\" , \"b\":\"\\n\", \"c\":\"x\\n\\n\",\"k\\ney\":[ 1.0, {\"x\" : \"a \\\" b\\n\" } "
	                "],\"d\":null,\"a\":-0}")),
	     "a1 call e|a: \nb: \nc: x\n\nk\ney: [1.0,{\"x\":\"a \\\" b\\n\"}]\nd: null\na: -0\n"},
	    {CALLS(CALL("\"e\"", "{}") "," CALL("\"s\"", "\"x\\ny\"") "," CALL("\"t\"", "[ 1 , 2 ]") "," CALL("7",
	                                                                                                      "true")),
	     "a2 call s|x\ny\na3 call t|[1,2]\na4 call %|true\n"},
	    {CALLS(CALL("\"\"", "\"\"") "," CALL("\".x/~\"", "null")), "a1 call %|\na2 call .x%2F~|null\n"},
	    {CALLS("{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"n\"}"), ""},
	    {CALLS(CALL("\"e\"", "[\"\xff\\ud800\\u0000\"]") "," CALL("\"e\"", "\"\xff\\ud800\\u0000\"")),
	     "a1 call e|[\"\xef\xbf\xbd\\ud800\\u0000\"]\na2 call e|\xef\xbf\xbd\xef\xbf\xbd\xe2\x90\x80\n"},
	    /* Only assistants make calls. */
	    {SAYS("\"role\":\"user\",\"content\":[" CALL("\"e\"", "1") "]"), ""},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		assert_says(samples[i][0], NULL, samples[i][1]);
}

/* arguments.txt: all.txt's text of a call, wherever it is appended. */
static void arguments_are_lines(void **state)
{
	static const char *const samples[][2] = {
	    {"{\"command\":\"one\\ttwo\\nthree\\n\",\"b\":\"\",\"c\":[ 1 ]}",
	     "command: one\ttwo\nthree\nb: \nc: [1]\n"},
	    {"{}", ""},
	    {" { } ", ""},
	    {"{\"\":{}}", ": {}\n"},
	    {"\"\"", "\n"},
	    {"\"x\\n\"", "x\n"},
	    {"null", "null\n"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		struct buf line CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		struct part_call call = {0};
		struct record r;
		buf_addf(&line, CALLS(CALL("\"n\"", "%s")), samples[i][0]);
		assert_true(record_parse(buf_span(&line), NULL, NULL, &r));
		assert_true(part_call_next(&r, &call));
		assert_int_equal(entry_text_has_arguments(&call), samples[i][1][0] != '\0');
		buf_adds(&out, "before\n");
		assert_int_equal(entry_text_arguments(&call, &out), 0);
		assert_memory_equal(out.p, "before\n", 7);
		assert_string_equal(buf_cstr(&out) + 7, samples[i][1]);
	}
	static const char none[] = CALLS("{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"n\"}");
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct part_call call = {0};
	struct record r;
	assert_true(record_parse(span_of(none), NULL, NULL, &r));
	assert_true(part_call_next(&r, &call));
	assert_false(entry_text_has_arguments(&call));
	assert_int_equal(entry_text_arguments(&call, &out), 0);
	assert_int_equal(out.n, 0);
}

static void errors_without_text_are_shown(void **state)
{
	static const char *const samples[][2] = {
	    {SAYS("\"role\":\"toolResult\",\"content\":\"no\",\"isError\":true"), "T toolResult|no\n"},
	    {SAYS("\"role\":\"toolResult\",\"content\":\"\",\"isError\":true"), "e error|error\n"},
	    {SAYS("\"role\":\"assistant\",\"content\":\"a\",\"stopReason\":\"error\",\"errorMessage\":\"b\\nc\""),
	     "T assistant|a\ne error|b\nc\n"},
	    {SAYS("\"role\":\"assistant\",\"content\":\"a\",\"stopReason\":\"error\",\"errorMessage\":\"a\\n\""),
	     "T assistant|a\n"},
	    {SAYS("\"role\":\"assistant\",\"content\":[],\"stopReason\":\"aborted\""), "e error|aborted\n"},
	    {SAYS("\"role\":\"toolResult\",\"content\":\"t\",\"isError\":true,\"nestedCalls\":{\"calls\":[{\"name\":"
	          "\"edit\",\"arguments\":{\"path\":\"a\"},\"status\":\"error\",\"error\":\"b\\nc\"},{\"status\":"
	          "\"ok\"},"
	          "{\"status\":\"error\"},{\"name\":\"x\",\"arguments\":\"d\"}]}"),
	     "T toolResult|t\na1 call edit|path: a\ne error|b\nc\ne error|error\na4 call x|d\n"},
	    {SAYS("\"role\":\"bashExecution\",\"command\":\"x\",\"output\":\"1\",\"exitCode\":1"),
	     "T bashExecution|$ x\n1\ne error|1\n"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		assert_says(samples[i][0], NULL, samples[i][1]);
}

static void labels_and_names_are_values(void **state)
{
	static const char *const samples[][2] = {
	    {"{\"type\":\"label\",\"targetId\":\"x\",\"label\":\" a\\nb\"}", "V label| a\nb\n"},
	    {"{\"type\":\"label\",\"targetId\":\"x\",\"label\":12}", "V label|12\n"},
	    {"{\"type\":\"label\",\"targetId\":\"x\",\"label\":\"\"}", ""},
	    {"{\"type\":\"label\",\"targetId\":\"x\",\"label\":null}", ""},
	    {"{\"type\":\"label\",\"targetId\":\"x\"}", ""},
	    {"{\"type\":\"session_info\",\"name\":\" \\ufeff a b\\t\"}", "V session_info|a b\n"},
	    {"{\"type\":\"session_info\",\"name\":\" \\n \"}", ""},
	    {"{\"type\":\"session_info\",\"name\":7}", ""},
	    {"{\"type\":\"session_info\"}", ""},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		assert_says(samples[i][0], NULL, samples[i][1]);
}

/* The text of one entry does not affect the next. */
static void entries_do_not_share_text(void **state)
{
	static const char *const samples[][2] = {
	    {CALLS(CALL("\"a\"", "1") "," CALL("\"b\"", "2")), "a1 call a|1\na2 call b|2\n"},
	    {SAYS("\"role\":\"user\",\"content\":\"x\""), "T user|x\n"},
	    {"{\"type\":\"custom\"}", ""},
	    {CALLS(CALL("\"c\"", "3")), "a1 call c|3\n"},
	};
	struct entry_text parts CLEANUP_ENTRY_TEXT = {0};
	struct record r;
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		struct buf out CLEANUP_BUF = BUF_INIT;
		assert_true(record_parse(span_of(samples[i][0]), NULL, NULL, &r));
		assert_int_equal(add_parts(&parts, &r, &out), 0);
		buf_addc(&out, '\0');
		assert_string_equal(out.p, samples[i][1]);
		/* Nor does an unfinished one. */
		entry_text_begin(&parts, &r);
		assert_int_equal(entry_text_next(&parts), samples[i][1][0] != '\0');
	}
}

static void parts_fail_without_memory(void **state)
{
	static const char line[] = CALLS("{\"type\":\"text\",\"text\":\"x\"}," CALL("\"e\"", "{\"a\":[\"\xff\"]}"));
	int rc = 0;
	(void)state;
	for (int left = 0; left < 64; left++) {
		struct entry_text parts CLEANUP_ENTRY_TEXT = {0};
		struct buf out CLEANUP_BUF = BUF_INIT;
		struct record r;
		assert_true(record_parse(span_of(line), NULL, NULL, &r));
		assert_non_null(buf_reserve(&out, 4096));
		allocs_left = left;
		rc = add_parts(&parts, &r, &out);
		allocs_left = -1;
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
}

/* --- all.txt ------------------------------------------------------------------------ */

static void assert_all(const char *lines, const char *want)
{
	struct fixture f;
	struct buf out CLEANUP_BUF = BUF_INIT;
	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(produce(&producer_all_txt, f.s, session_leaf(f.s), "", &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	assert_int_equal(render_all_exists(f.s), *want != '\0');
	fixture_close(&f);
}

static void all_txt_has_every_branch(void **state)
{
	(void)state;
	assert_all(
	    HEADER USER("a", "null", "one\\n\\ntwo") USER("b", "\"a\"", "left") USER("c", "\"a\"", "right")
		ENTRY("d", "\"c\"", "\"type\":\"label\",\"targetId\":\"b\",\"label\":\"keep\"")
		    ENTRY("e", "\"d\"", "\"type\":\"model_change\",\"modelId\":\"m\"") ENTRY(
			"f", "\"e\"",
			"\"type\":\"session_info\",\"name\":\"Name\"") "5\n"
								       "{\"type\":\"message\",\"message\":{\"role\":"
								       "\"user\",\"content\":\"lost\"}}\n",
	    "a user: one\na user: \na user: two\nb user: left\nc user: right\nd label: keep\nf session_info: Name\n"
	    "~9 user: lost\n");
	assert_all(HEADER, "");
	assert_all(HEADER ENTRY("a", "null", "\"type\":\"message\"") USER("b", "null", "\\n"), "");
}

static void ids_of_old_files(void **state)
{
	(void)state;
	assert_all("{\"type\":\"session\",\"id\":\"s1\"}\n"
	           "{\"type\":\"message\",\"id\":\"x\",\"message\":{\"role\":\"hookMessage\",\"content\":\"a\"}}\n",
	           "6ff91b12 custom: a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts_have_their_role),
	    cmocka_unit_test(calls_show_arguments),
	    cmocka_unit_test(arguments_are_lines),
	    cmocka_unit_test(errors_without_text_are_shown),
	    cmocka_unit_test(labels_and_names_are_values),
	    cmocka_unit_test(entries_do_not_share_text),
	    cmocka_unit_test(parts_fail_without_memory),
	    cmocka_unit_test(all_txt_has_every_branch),
	    cmocka_unit_test(ids_of_old_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
