/* SPDX-License-Identifier: MIT */
/* entry_text: the text of an entry, and all.txt, which consists of it. */
#include "cases.h"
#include "render_fixture.h"
#include "failing_alloc.h"
#include "sessionfs/render/entry_text.h"

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

/* arguments.txt: all.txt's text of a call, wherever it is appended. */
CASE(arguments_are_lines)
{
	static const char *const samples[][2] = ITEMS(
	    {JSON({"command":"one\ttwo\nthree\n","b":"","c":[ 1 ]}), "command: one\ttwo\nthree\nb: \nc: [1]\n"},
	    {"{}", ""},
	    {" { } ", ""},
	    {JSON({"":{}}), ": {}\n"},
	    {JSON(""), "\n"},
	    {JSON("x\n"), "x\n"},
	    {"null", "null\n"});
	for (size_t i = 0; i < COUNT(samples); i++) {
		struct buf line CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		struct part_call call = {0};
		struct record r;
		buf_addf(&line, RECORD_OF("role":"assistant",
		        "content":[{"type":"toolCall","id":"c","name":"n","arguments":%s}]),
		                          samples[i][0]);
		assert_true(record_parse(buf_span(&line), NULL, NULL, &r));
		assert_true(part_call_next(&r, &call));
		assert_int_equal(entry_text_has_arguments(&call), samples[i][1][0] != '\0');
		buf_adds(&out, "before\n");
		assert_int_equal(entry_text_arguments(&call, &out), 0);
		assert_memory_equal(out.p, "before\n", 7);
		assert_string_equal(buf_cstr(&out) + 7, samples[i][1]);
	}
}

CASE(errors_without_text_are_shown)
{
	static const char *const samples[][2] = ITEMS(
	    {RECORD_OF("role":"toolResult","content":"no","isError":true),
	     "T toolResult|no\n"},
	    {RECORD_OF("role":"toolResult","content":"","isError":true),
	     "e error|error\n"},
	    {RECORD_OF("role":"assistant","content":"a","stopReason":"error",
	         "errorMessage":"b\nc"), "T assistant|a\ne error|b\nc\n"},
	    {RECORD_OF("role":"assistant","content":"a","stopReason":"error",
	         "errorMessage":"a\n"), "T assistant|a\n"},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"aborted"),
	     "e error|aborted\n"},
	    {RECORD_OF("role":"toolResult","content":"t","isError":true,
	         "nestedCalls":{"calls":[{"name":"edit","arguments":{"path":"a"},"status":"error","error":"b\nc"},{"status":"ok"},{"status":"error"},{"name":"x","arguments":"d"}]}),
	     "T toolResult|t\na1 call edit|path: a\ne error|b\nc\ne error|error\na4 call x|d\n"},
	    {RECORD_OF("role":"bashExecution","command":"x","output":"1",
	         "exitCode":1), "T bashExecution|$ x\n1\ne error|1\n"});
	for (size_t i = 0; i < COUNT(samples); i++) {
		struct entry_text parts CLEANUP_ENTRY_TEXT = {0};
		struct buf out CLEANUP_BUF = BUF_INIT;
		struct record r;
		assert_true(record_parse(span_of(samples[i][0]), NULL, NULL, &r));
		assert_int_equal(add_parts(&parts, &r, &out), 0);
		assert_string_equal(buf_cstr(&out), samples[i][1]);
		assert_int_equal(entry_text_next(&parts), 0);
	}
}

CASE(parts_fail_without_memory)
{
	static const char line[] = AS_IS(
	    "{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"e\",\"arguments\":{\"a\":[\"\xff\"]}}]}}");
	int rc = 0;
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

static void assert_all(const char *lines, const char *want)
{
	CLEANUP(fixture_close) struct fixture f;
	struct buf out CLEANUP_BUF = BUF_INIT;
	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(produce(&producer_all_txt, f.s, session_leaf(f.s), "", &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	assert_int_equal(render_all_exists(f.s), *want != '\0');
}

CASE(all_txt_has_every_branch)
{
	assert_all(HEADER USER("a", null, "one\n\ntwo") USER("b", "a", "left") USER("c", "a", "right")
	    LABEL("d", "c", "b", "keep") ENTRY("model_change", "e", "d", "modelId":"m") INFO("f", "e", "Name") "5\n"
	    LINE({"type":"message","message":{"role":"user","content":"lost"}}),
	    "a user: one\na user: \na user: two\nb user: left\nc user: right\nd label: keep\nf session_info: Name\n"
	    "~9 user: lost\n");
	assert_all(HEADER MESSAGE("a", null, "role":"x\n","content":"y"), "a x%0A: y\n");
	assert_all(HEADER, "");
	assert_all(HEADER BARE("message", "a", null) USER("b", null, "\n"), "");
}

RUN_CASES(NULL, NULL)
