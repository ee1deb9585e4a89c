/* SPDX-License-Identifier: MIT */
/* context.json, info.json and header.json. */
#include "cases.h"
#include "failing_alloc.h"
#include "render_fixture.h"

#include <sys/stat.h>

static void expect_context(const char *lines, const char *want)
{
	CLEANUP_OPENED struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	fixture_open(&f, lines, strlen(lines));
	buf_adds(&out, "> ");
	assert_int_equal(produce(&producer_context_json, f.s, session_leaf(f.s), "", &out), 0);
	assert_memory_equal(out.p, "> ", 2);
	assert_string_equal(buf_cstr(&out) + 2, want);
}

#define OFF "],\"thinkingLevel\":\"off\",\"model\":null}\n"

CASE(missing_content_is_added)
{
	expect_context(HEADER MESSAGE("a", null, "role":"user","content":null,"x":1)
	    MESSAGE("b", "a", "role":"toolResult") MESSAGE("c", "b", "role":"system","timestamp":5)
	    MESSAGE("d", "c", "role":"custom","content":null),
	    "{\"messages\":[\n"
	    LINE({"role":"user","content":[],"x":1},) LINE({"role":"toolResult","content":[]},)
	    LINE({"role":"system","timestamp":5,"content":""},) LINE({"role":"custom","content":null}) OFF);
}

CASE(edits_are_applied)
{
	expect_context(HEADER USER("a", null, "x") MESSAGE("b", "a", "content":null,"role":"assistant","x":1)
	    MESSAGE("c", "b", "role":"toolResult") ENTRY("custom_message", "d", "c", "content":"x") USER("e", "d", "x")
	    EDIT("e1", "e", "a", {"content":"y"}) EDIT("e2", "e1", "b", {"content":"y\n"})
	    EDIT("e3", "e2", "c", {"content":[1]}) EDIT("e4", "e3", "d", {"content":"y"}) EDIT("e5", "e4", "e", {}),
	    "{\"messages\":[\n"
	    LINE({"role":"user","content":"y"},)
	    LINE({"content":[{"type":"text","text":"y\n"}],"role":"assistant","x":1},)
	    LINE({"role":"toolResult","content":[1]},) LINE({"role":"custom","content":"y","timestamp":1767323045678},)
	    LINE({"role":"user"}) "],\"thinkingLevel\":\"off\",\"model\":{}}\n");
}

/* Renders the session with this mtime and asserts that the output contains the member. */
static void expect_member(const char *lines, struct timespec mtime, const char *member)
{
	CLEANUP_OPENED struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	const struct timespec times[2] = {mtime, mtime};
	fixture_init(&f);
	append(&f, lines, strlen(lines));
	assert_int_equal(utimensat(AT_FDCWD, f.path, times, 0), 0);
	assert_int_equal(session_open(&(struct source_path){NULL, f.path}, false, &f.s), 0);
	session_rdlock(f.s);
	assert_int_equal(render_info_json(f.s, "f", NULL, &out), 0);
	if (!strstr(buf_cstr(&out), member))
		fail_msg("no %s in %s", member, buf_cstr(&out));
}

/* jq stops at a lone surrogate. */
CASE(info_is_well_formed)
{
	expect_member(
	    LINE({"type":"session","version":3,"id":"\ud800","timestamp":"2026-01-02T03:04:05Z","cwd":"/\ud83d\ude00\udc00\\ud800","parentSession":"\ud800\ud83d\ude00\u0000"})
	    INFO("n\ud800", null, "a\ud800"),
	    (struct timespec){0},
	    "{\n"
	    "  \"id\": \"\uFFFD\",\n"
	    "  \"name\": \"a\uFFFD\",\n"
	    "  \"title\": \"a\uFFFD\",\n"
	    "  \"cwd\": \"/\\ud83d\\ude00\uFFFD\\\\ud800\",\n"
	    "  \"file\": \"f\",\n"
	    "  \"version\": 3,\n"
	    "  \"created\": \"2026-01-02T03:04:05.000Z\",\n"
	    "  \"modified\": \"2026-01-02T03:04:05.000Z\",\n"
	    "  \"parentSession\": \"\uFFFD\\ud83d\\ude00\\u0000\",\n"
	    "  \"leaf\": \"n%ED%A0%80\",\n"
	    "  \"entries\": 1,\n"
	    "  \"messages\": {},\n"
	    "  \"branches\": 0,\n"
	    "  \"labels\": 0,\n"
	    "  \"problems\": 0,\n"
	    "  \"activeSeconds\": 0,\n"
	    "  \"bytes\": ");
}

/* Bytes that pi decodes as three U+FFFD, not as half a surrogate pair. */
CASE(info_replaces_raw_bytes)
{
	static const char lines[] = AS_IS("{\"type\":\"session\",\"version\":3,\"id\":\"\xed\xa0\x80\"}\n"
	    "{\"id\":\"n\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"session_info\",\"name\":\"\xed\xa0\x80\"}\n");
	expect_member(lines, (struct timespec){0},
	              "{\n  \"id\": \"\uFFFD\uFFFD\uFFFD\",\n  \"name\": \"\uFFFD\uFFFD\uFFFD\",\n"
	              "  \"title\": \"\uFFFD\uFFFD\uFFFD\",\n");
}

CASE(info_has_parent_of_old_file)
{
	static const char old[] = LINE({"type":"session","id":"a","cwd":"","parentSession":"","branchedFrom":"q"});
	expect_member(old, (struct timespec){0}, "\n  \"parentSession\": \"q\",\n");
	expect_member(old, (struct timespec){0}, "(no messages)\",\n  \"file\": \"f\",\n");
}

/* Pauses count as five minutes at most, whatever the order in the file. */
CASE(active_is_sum_of_short_pauses)
{

#define TIMES                                                                                                          \
	AS_IS( \
    LINE({"type":"label","id":"a","parentId":null,"timestamp":"2026-01-02T10:00:00.000Z"}) \
    LINE({"type":"label","id":"b","parentId":null,"timestamp":"2026-01-02T10:05:00.000Z"}) \
    LINE({"type":"label","id":"c","parentId":null,"timestamp":"never"}) \
    LINE({"type":"label","id":"d","parentId":null,"timestamp":"2026-01-02T11:00:00.999Z"}))
	static const struct timespec now = {.tv_sec = 1};
	expect_member(HEADER LINE({"type":"label","id":"a","parentId":null,"timestamp":"2026-01-02T10:00:00Z"}), now,
	    "\n  \"activeSeconds\": 0,\n");
	expect_member(HEADER TIMES, now, "\n  \"activeSeconds\": 600,\n");
	expect_member(HEADER TIMES LINE({"type":"label","id":"e","parentId":null,"timestamp":"2026-01-02T10:02:00Z"})
	    LINE({"type":"label","id":"f","parentId":null,"timestamp":"2026-01-02T11:00:02Z"}),
	    now, "\n  \"activeSeconds\": 601,\n");
	expect_member(HEADER LINE({"type":"label","id":"a","parentId":null,"timestamp":"2026-01-02T10:00:01.500Z"})
	    LINE({"type":"label","id":"b","parentId":null,"timestamp":"1969-12-31T23:59:58.600Z"})
	    LINE({"type":"label","id":"c","parentId":null,"timestamp":"1970-01-01T00:00:01.500Z"}),
	    now, "\n  \"activeSeconds\": 302,\n");
	expect_member(HEADER LINE({"type":"label","id":"a","parentId":null,"timestamp":null})
	    LINE({"type":"label","id":"b","parentId":null,"timestamp":"never"}),
	    now, "\n  \"problems\": 2,\n  \"bytes\"");
}

CASE(modified_is_last_message)
{
	const struct timespec mtime = {1000000000, 123500000};
	const struct timespec old = {-1, 500400000};
	expect_member(LINE({"type":"session","version":3,"id":"s"}), mtime,
	    JSON("modified": "2001-09-09T01:46:40.124Z"));
	expect_member(LINE({"type":"session","version":3,"id":"s"}), old, JSON("modified": "1969-12-31T23:59:59.500Z"));
	expect_member(HEADER, mtime, JSON("modified": "2026-01-02T03:04:05.000Z"));
	/* A message without content, or of another role, is ignored; without its own time the entry's counts. */
	expect_member(HEADER MESSAGE("a", null, "role":"user","timestamp":1767323046000)
	    MESSAGE("b", "a", "role":"toolResult","content":[],"timestamp":1767323046000),
	    mtime, JSON("modified": "2026-01-02T03:04:05.000Z"));
	expect_member(HEADER MESSAGE("a", null, "role":"user","content":[],"timestamp":"x"), mtime,
	    JSON("modified": "2026-01-02T03:04:05.678Z"));
	/* A numeric header time sets `created`, but not `modified`. */
	expect_member(LINE({"type":"session","version":3,"id":"s","timestamp":5}), mtime,
	    "\"created\": \"1970-01-01T00:00:00.005Z\",\n  \"modified\": \"2001-09-09T01:46:40.124Z\"");
}

CASE(first_message_is_cut)
{
	CLEANUP_BUF struct buf lines = BUF_INIT, want = BUF_INIT;
	buf_adds(&lines, HEADER
	         "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"");
	buf_adds(&want, "\"firstMessage\": \"");
	for (int i = 0; i < 50; i++) {
		buf_adds(&lines, "\u20ac\\n\\ud83d\\ude00\\u0000");
		buf_adds(&want, "\u20ac\\n\U0001F600\u2400");
	}
	buf_adds(&lines, "the rest\"}}\n");
	buf_adds(&want, "\"");
	expect_member(buf_cstr(&lines), (struct timespec){1, 0}, buf_cstr(&want));
}

#define EVERYTHING                                                                                                     \
	AS_IS( \
    HEADER USER("a", null, "x") MESSAGE("b", "a", "role":"assistant","usage":USAGE(1, 2, 0, 0, 3, 1)) \
    EDIT("e", "b", "b", {"content":"y"}) EDIT("f", "e", "a", null) \
    ENTRY("compaction", "c", "f", "summary":"s","systemMessage":{},"firstKeptEntryId":"a") \
    BARE("model_change", "m", "c") BARE("thinking_level_change", "t", "m"))

CASE(truncated_file_is_stale)
{
	const char *lines = EVERYTHING;
	CLEANUP_OPENED struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(truncate(f.path, (off_t)strlen(HEADER) + 10), 0);
	assert_int_equal(produce(&producer_context_json, f.s, session_leaf(f.s), "", &out), -ESTALE);
	assert_int_equal(render_info_json(f.s, "f", NULL, &out), -ESTALE);
}

/* Fails the nth allocation for every n until all succeed: no step may lose the error. */
CASE(rendering_fails_without_memory)
{
	const char *lines = EVERYTHING;
	CLEANUP_OPENED struct fixture f;
	fixture_open(&f, lines, strlen(lines));
	for (int info = 0; info < 2; info++) {
		CLEANUP_BUF struct buf want = BUF_INIT;
		int rc = info ? render_info_json(f.s, "f", NULL, &want)
		              : produce(&producer_context_json, f.s, session_leaf(f.s), "", &want);
		assert_int_equal(rc, 0);
		rc = -ENOMEM;
		for (long n = 0; rc != 0; n++) {
			CLEANUP_BUF struct buf out = BUF_INIT;
			allocs_left = n;
			if (info)
				rc = render_info_json(f.s, "f", NULL, &out);
			else
				rc = produce(&producer_context_json, f.s, session_leaf(f.s), "", &out);
			allocs_left = -1;
			assert_true(rc == 0 || rc == -ENOMEM);
			assert_true(n < 1000);
			if (rc == 0)
				assert_true(span_eq(buf_span(&out), buf_span(&want)));
		}
	}
}

RUN_CASES(NULL, NULL)
