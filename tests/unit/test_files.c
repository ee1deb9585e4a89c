/* SPDX-License-Identifier: MIT */
/* files: which files a call concerns, and its changes to them. tests/lib/files.py implements all the rules again. */
#include "cases.h"
#include "render_fixture.h"
#include "sessionfs/render/files.h"
#include "find_fixture.h"
#include "sessionfs/render/producer.h"

#define ROW(entry, rest) "2026-01-02T03:04:05.678Z\t" entry "\t" rest "\n"

/* clang-format off */
static const char calls[] = AS_IS(HEADER
    ASSISTANT("a", null, CALL("1", "Read_File", "path":"","file":"x\t\u001b"), CALL("2", "bash", "path":"x"), CALL("3",
        "wr\u0069teFile", "file_path":"\/a\u002fb"), CALL("4", "edit", "path":"file:\/\/x"), {"type":"toolCall",
        "id":"5","name":"edit","arguments":"{\"path\":\"x\"}"}, CALL("6", "edit", "filePath":"~/.."))
    MESSAGE("r1", "a", "role":"toolResult","toolCallId":"1","content":[],"details":{"status":"error"})
    MESSAGE("r3", "r1", "role":"toolResult","toolCallId":"3","content":[],"isError":false));
/* clang-format on */

CASE(each_file_call_has_a_row)
{
	assert_renders(render_files, calls,
	               FILES_HEADING ROW("a", "1-Read_File\tread\tfailed\t/w/x\\t\x1b")
	                   ROW("a", "3-writeFile\twrite\tdone\t/a/b") ROW("a", "6-edit\tedit\topen\t~/.."));
	assert_renders(render_files, HEADER ASSISTANT("a", null, CALL("1", "read", )), "");
}

/* The path of a call with this path, in a session that was started in `cwd`; both as JSON. */
static void assert_path(const char *cwd, const char *path, const char *want)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
	struct part_call call = {0};
	struct line line CLEANUP_LINE = LINE_INIT;
	CLEANUP(fixture_close) struct fixture f;
	struct record r;
	buf_addf(&lines, HEADER_OF("s", %s), cwd);
	buf_addf(&lines, ASSISTANT("a", null, CALL("1", "read", "path":%s)), path);
	fixture_open(&f, lines.p, lines.n);
	assert_int_equal(session_load(f.s, 0, &line, &r), 0);
	assert_true(part_call_next(&r, &call));
	assert_int_equal(call_file_path(f.s, &call, &out), want != NULL);
	assert_string_equal(buf_cstr(&out), want ? want : "");
}

CASE(relative_paths_are_joined_to_cwd)
{
	assert_path(JSON("/w"), JSON("a//b/./../c"), "/w/a/c");
	assert_path(JSON("/w/"), JSON("../../.."), "/");
	assert_path(JSON("/w"), JSON("/../x/"), "/x");
	assert_path(JSON("w"), JSON("../a/../../b"), "../../b");
	assert_path("null", JSON("a/.."), ".");
	assert_path(JSON("/w"), JSON("~x/../y"), "~x/../y");
	assert_path(JSON("/w"), JSON("a:/\/b"), NULL);
	assert_path(JSON("c:\\w"), JSON("a/..\\b"), "C:\\w\\b");
	assert_path(JSON("C:/w"), JSON("/x"), "/x");
	assert_path(JSON("/w"), JSON("d:/.."), "D:\\");
	assert_path(JSON("\\\\h\\s"), JSON("..\\..\\..\\x"), "\\\\x");
	assert_path(JSON("/w"), JSON("a\\..\\b"), "/w/a\\..\\b");
	assert_path(JSON("/w"), JSON("\u0000\ud800"), "/w/\u2400\ufffd");
}

/* `n` times this text between these two. */
static const char *repeated(struct buf *out, const char *begin, const char *text, size_t n, const char *end)
{
	buf_reset(out);
	buf_adds(out, begin);
	while (n-- > 0)
		buf_adds(out, text);
	buf_adds(out, end);
	return buf_cstr(out);
}

CASE(a_path_that_is_too_long_is_none)
{
	struct buf cwd CLEANUP_BUF = BUF_INIT, path CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;
	/* 4,096 bytes, and one more. */
	repeated(&cwd, "\"/", "x/", 2047, "\"");
	assert_path(cwd.p, JSON("a"), repeated(&want, "/", "x/", 2047, "a"));
	assert_path(cwd.p, JSON("ab"), NULL);
	assert_path(cwd.p, JSON("/ab"), "/ab");
	assert_path(JSON("/"), repeated(&path, "\"", "a", 4095, "\""), repeated(&want, "/", "a", 4095, ""));
	assert_path(JSON("/"), repeated(&path, "\"", "a", 4096, "\""), NULL);
	assert_path(JSON("/"), repeated(&path, "\"~", "a", 4096, "\""), NULL);
	/* The limit applies to the path without `..`. */
	assert_path(JSON("/"), repeated(&path, "\"", "a/../", 4096, "b\""), "/b");
	/* No directory is this long: it is not even decoded. */
	repeated(&cwd, "\"/", "x/../", 1 << 18, "\"");
	assert_path(cwd.p, JSON("a"), NULL);
	assert_path(cwd.p, JSON("/a"), "/a");
	assert_path(cwd.p, JSON("~/a"), "~/a");
}

/* clang-format off */

static const char nested[] = AS_IS(HEADER ASSISTANT("a", null, CALL("1", "codemode", "code":"x"))
    MESSAGE("r", "a", "role":"toolResult","toolCallId":"1","content":[],"details":{"patch":"of the script"},
        "nestedCalls":{"calls":[{"name":"read","status":"ok","arguments":{"path":"x.c"}},
        {"name":"edit","status":"ok","arguments":{"path":"f","oldText":"a\nb","newText":"c"}},
        {"name":"write","status":"error","arguments":{"path":"/v/y.c","content":"a"},"error":"wombat"},
        {"name":"bash","status":"ok","arguments":{"command":"git push"}},
        {"name":"write","status":"unfinished","arguments":{"path":"z.c","content":"a"}},
        {"name":"write","status":"ok","argumentsBytes":90000}]}));
/* clang-format on */

static void assert_found(const struct fixture *f, const char *query, const char *want)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	match_all(f->s, span_of(query), &out);
	assert_string_equal(buf_cstr(&out), want);
}

/* Only the header contains /w; a path can be escaped. */
CASE(file_filter_finds_entries)
{
	static const char lines[] =
	    AS_IS(HEADER USER("u", null, "w/src")
	    ASSISTANT("a", "u", CALL("1", "bash", "path":"src/x.c"), CALL("2", "edit", "path":"\u0073rc\/X.c"))
	    ASSISTANT("b", "a", CALL("1", "read", "path":"/v/src/y.c")));
	CLEANUP(fixture_close) struct fixture f;
	fixture_open(&f, lines, sizeof lines - 1);
	assert_found(&f, "file:w/src", "1 ");
	assert_found(&f, "file:SRC/", "1 2 ");
	assert_found(&f, "file:src/x.c tool:edit", "1 ");
	assert_found(&f, "file:src/ -file:x.c", "2 ");
	assert_found(&f, "-file:src role:assistant", "");
	assert_found(&f, "-file:src/x", "0 2 ");
	assert_found(&f, "file:src x.c", "1 ");
}

CASE(entries_are_found_by_their_nested_calls)
{
	CLEANUP(fixture_close) struct fixture f;
	fixture_open(&f, nested, sizeof nested - 1);
	assert_found(&f, "file:x.c", "1 ");
	assert_found(&f, "file:w/z", "1 ");
	assert_found(&f, "-file:x.c", "0 ");
	assert_found(&f, "tool:codemode", "0 ");
	assert_found(&f, "tool:BASH", "1 ");
	assert_found(&f, "tool:write file:x.c", "1 ");
	assert_found(&f, JSON("git push"), "1 ");
	assert_found(&f, "wombat", "1 ");
	assert_found(&f, "is:error", "1 ");
	assert_found(&f, "-is:error", "0 ");
}

RUN_CASES(NULL, NULL)
