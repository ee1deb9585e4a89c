/* SPDX-License-Identifier: MIT */
/* context_build: each case is a session in short form and the expected items of its context. */
#include "cases.h"
#include "render_fixture.h"
#include "sessionfs/session/context.h"

static void add_name(const struct session *s, const char *before, uint32_t entry, struct buf *out)
{
	if (entry == NO_ENTRY)
		return;
	buf_adds(out, before);
	session_entry_name(s, entry, out);
}

/* "KIND:ID*EDIT ... | model thinking", KIND being one letter. */
static void describe(const struct session *s, const struct context *c, struct buf *out)
{
	static const char *letters = "MUBSC";
	for (size_t i = 0; i < c->n; i++) {
		if (i > 0)
			buf_addc(out, ' ');
		buf_addc(out, letters[c->items[i].kind]);
		add_name(s, ":", c->items[i].entry, out);
		add_name(s, "*", c->items[i].edit, out);
	}
	add_name(s, " model=", c->model, out);
	add_name(s, " thinking=", c->thinking, out);
}

static void expect(const char *text, const char *expected)
{
	CLEANUP(fixture_close) struct fixture f;
	fixture_open(&f, text, strlen(text));
	const struct session *s = f.s;
	struct context c;
	assert_int_equal(context_build(s, session_leaf(s), &c), 0);
	CLEANUP_BUF struct buf got = BUF_INIT;
	describe(s, &c, &got);
	assert_string_equal(buf_cstr(&got), expected);
	context_release(&c);
	assert_null(c.items);
}

/* The context at the session's end, or as of the entry `at`. */
static void expect_state(const char *text, const char *at, const char *expected)
{
	CLEANUP(fixture_close) struct fixture f;
	const char *got = "";
	fixture_open(&f, text, strlen(text));
	uint32_t entry = at ? session_entry_by_name(f.s, span_of(at)) : session_leaf(f.s);
	assert_int_equal(context_state(f.s, entry, &got), 0);
	assert_string_equal(got ? got : "none", expected);
}

CASE(state_comes_from_branch_end)
{
	expect_state(HEADER, NULL, "none");
	expect_state(HEADER BARE("model_change", "a", null), NULL, "none");
	expect_state(HEADER MESSAGE("a", null, "role":"custom","content":"x")
	    MESSAGE("b", "a", "role":"bashExecution","content":"x"),
	    NULL, "none");
	expect_state(HEADER USER("a", null, "x"), NULL, "working");
	expect_state(HEADER USER("a", null, "x") ASSISTANT("b", "a", ), NULL, "done");
	expect_state(HEADER USER("a", null, "x") STOPPED("b", "a", "error", ), NULL, "failed");
	expect_state(HEADER USER("a", null, "x") STOPPED("b", "a", "aborted", CALL("c", "ls", )), NULL, "stopped");
	expect_state(HEADER USER("a", null, "x") STOPPED("b", "a", "deferred", ), NULL, "working");
	expect_state(HEADER USER("a", null, "x") STOPPED("b", "a", "length", ), NULL, "failed");
	expect_state(HEADER USER("a", null, "x") STOPPED("b", "a", "length", CALL("c", "ls", )), NULL, "failed");
	expect_state(HEADER STOPPED("b", null, "length", CALL("c", "ls", ))
	    MESSAGE("c", "b", "role":"toolResult","content":"x"), NULL, "working");
	expect_state(HEADER USER("a", null, "x") STOPPED("b", "a", "stop", CALL("c", "ls", )), NULL, "working");
	expect_state(HEADER ASSISTANT("b", null, CALL("c", "ls", ))
	    MESSAGE("c", "b", "role":"toolResult","content":"x"), NULL, "working");
	/* Other messages have no effect, and neither have other branches. */
	expect_state(HEADER ASSISTANT("a", null, ) LABEL("l", "a", "a", "x") BARE("message", "m", "l"), NULL, "done");
	expect_state(HEADER ASSISTANT("a", null, ) USER("b", "a", "x") ENTRY("branch_summary", "c", "a", "summary":"x"),
	    NULL, "done");
	expect_state(HEADER ASSISTANT("a", null, ) USER("b", "a", "x") BARE("label", "c", "a"), "b", "working");
	expect_state(HEADER USER("a", "b", "x") BARE("label", "b", "c") BARE("label", "c", "b"), NULL, "none");
}

CASE(many_edits_are_applied)
{
	CLEANUP_BUF struct buf text = BUF_INIT, expected = BUF_INIT;
	buf_adds(&text, HEADER LINE({"type":"message","id":"m0","parentId":null,"message":{"role":"user"}}));
	for (int i = 1; i < 50; i++)
		buf_addf(&text, LINE({"type":"message","id":"m%d","parentId":"m%d","message":{"role":"user"}}), i,
		                      i - 1);
	for (int i = 0; i < 100; i++)
		buf_addf(&text,
		         LINE({"type":"context_edit","id":"e%d","parentId":"%s%d","targetId":"m%d","replacement":{}}),
		               i, i ? "e" : "m", i ? i - 1 : 49, (i * 7) % 50);
	for (int m = 0; m < 50; m++) {
		int edit = -1;
		for (int i = 0; i < 100; i++) {
			if ((i * 7) % 50 == m)
				edit = i;
		}
		buf_addf(&expected, "%sM:m%d*e%d", m ? " " : "", m, edit);
	}
	expect(buf_cstr(&text), buf_cstr(&expected));
}

CASE(v1_indexes_are_resolved)
{
	const char *text = AS_IS(LINE({"type":"session","id":"s"})
	    LINE({"type":"message","message":{"role":"user","content":"one"}})
	    LINE({"type":"message","message":{"role":"user","content":"two"}})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":2})
	    LINE({"type":"message","message":{"role":"hookMessage","content":"three"}}));
	CLEANUP(fixture_close) struct fixture f;
	fixture_open(&f, text, strlen(text));
	struct context c;
	assert_int_equal(context_build(f.s, session_leaf(f.s), &c), 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.items[0].kind, CONTEXT_COMPACTION);
	assert_int_equal(c.items[0].entry, 2);
	assert_int_equal(c.items[1].entry, 1);
	assert_int_equal(c.items[2].entry, 3);
	context_release(&c);
}

static void expect_sent(const char *text, bool expected)
{
	CLEANUP(fixture_close) struct fixture f;
	bool any = !expected;
	fixture_open(&f, text, strlen(text));
	assert_int_equal(context_any(f.s, session_leaf(f.s), true, &any), 0);
	assert_int_equal(any, expected);
}

/* One message that is sent is enough, wherever it is. With an edit, the lines are read. */
CASE(any_sent_message_counts)
{
	expect_sent(HEADER, false);
	expect_sent(HEADER USER("a", null, "x"), true);
	expect_sent(HEADER MESSAGE("a", null, "role":"bashExecution","excludeFromContext":true), false);
	expect_sent(HEADER MESSAGE("a", null, "role":"brand_new","content":"x"), false);
	expect_sent(HEADER MESSAGE("a", null, "role":"bashExecution","excludeFromContext":true) USER("b", "a", "x"),
	    true);
	expect_sent(HEADER USER("a", null, "x") MESSAGE("b", "a", "role":"bashExecution","excludeFromContext":true),
	    true);
	expect_sent(HEADER MESSAGE("a", null, "role":"bashExecution","excludeFromContext":true) USER("b", "a", "x")
	    EDIT("e", "b", "b", {"content":"y"}),
	    true);
	expect_sent(HEADER USER("a", null, "x") MESSAGE("b", "a", "role":"bashExecution","excludeFromContext":true)
	    EDIT("e", "b", "a", {"content":"y"}),
	    true);
	expect_sent(HEADER MESSAGE("a", null, "role":"bashExecution","excludeFromContext":true)
	    MESSAGE("b", "a", "role":"bashExecution","excludeFromContext":true) EDIT("e", "b", "b", {"content":"y"}),
	    false);
	expect_sent(HEADER USER("a", null, "x") EDIT("e", "a", "a", null), false);
	expect_sent(HEADER USER("a", null, "x") USER("b", "a", "x") EDIT("e", "b", "b", null), true);
}

RUN_CASES(NULL, NULL)
