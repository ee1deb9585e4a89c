/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "render_fixture.h"

/* Asserts the text after the front matter. */
static const char *body_of(struct buf *text)
{
	const char *front = strstr(buf_cstr(text), "\n---\n");

	assert_memory_equal(text->p, "---\n", 4);
	assert_non_null(front);
	return front + 5;
}

static void assert_body(const struct producer *producer, const char *lines, const char *want)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	view_of(producer, lines, strlen(lines), "", &out);
	assert_string_equal(body_of(&out), want);
}
#define assert_transcript(lines, want) assert_body(&producer_transcript_md, lines, want)
#define assert_context(lines, want) assert_body(&producer_context_md, lines, want)

#define WHEN " · 2026-01-02T03:04:05.678Z"

CASE(front_matter)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	static const char lines[] =
	    AS_IS(HEADER_OF("s\"1", "/\u2028\u2029\u0000\ufeff\ufffe\uffff\u009f\u00a0\u007f\ud800")
	    ENTRY("model_change", "a", null, "provider":"p","modelId":"m")
	    ENTRY("thinking_level_change", "b", "a", "thinkingLevel":"high")
	    MESSAGE("c", "b", "role":"assistant","provider":"q","model":"n","content":[],"usage":USAGE(1, 2, 3, 4, 10,
	        0.1)) ENTRY("usage", "d", "c", "kind":"k","usage":{"input":1e3,"cost":{"total":0.2}})
	    ENTRY("usage", "e", "a", "kind":"k","usage":{"input":5}) INFO("f", "d", "a: b"));
	static const char want[] = "---\n"
				   "title: \"a: b\"\n"
				   "session: \"s\\\"1\"\n"
				   "name: \"a: b\"\n"
				   "cwd: \"/\\u2028\\u2029\u2400\\ufeff\\ufffe\\uffff\\u009f\u00a0\\u007f\uFFFD\"\n"
				   "leaf: \"f\"\n"
				   "model: \"q/n\"\n"
				   "thinkingLevel: \"high\"\n"
				   "tokens:\n"
				   "  input:                    1001\n"
				   "  output:                      2\n"
				   "  cacheRead:                   3\n"
				   "  cacheWrite:                  4\n"
				   "  total:                    1010\n"
				   "cost:                        0.3\n"
				   "---\n";

	view_of(&producer_transcript_md, lines, strlen(lines), "", &out);
	assert_memory_equal(out.p, want, sizeof want - 1);
	view_of(&producer_context_md, lines, strlen(lines), "", &out);
	assert_memory_equal(out.p, want, sizeof want - 1);
}

CASE(yaml_numbers_are_unquoted)
{
	static const struct {
		const char *usage, *line;
	} cases[] = ITEMS(
	    {JSON("input":1e400), "  input:                    null"},
	    {JSON("input":1e21), "  input:                 1.0e+21"},
	    {JSON("cost":{"total":0.00004}), "cost:                          0"},
	    {JSON("cost":{"total":0.00005}), "cost:                     0.0001"},
	    {JSON("cost":{"total":12.34567}), "cost:                    12.3457"});

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		buf_addf(&lines, HEADER LINE({"id":"d","parentId":null,"timestamp":TIME,"type":"usage","usage":{%s}}),
		                              cases[i].usage);
		view_of(&producer_context_md, lines.p, lines.n, "", &out);
		assert_line(&out, cases[i].line);
	}
}

CASE(messages_of_all_roles)
{
	assert_transcript(HEADER USER("a", null, "one\ntwo\n"), "\n## user · a" WHEN "\n\none\ntwo\n");
	assert_transcript(HEADER
	    MESSAGE("a", null, "role":"assistant","provider":"p","model":"m","stopReason":"toolUse",
	        "content":[THINKING("hm"),SAY("x"),CALL("1", "bash", "command":"ls")])
	    MESSAGE("b", "a", "role":"toolResult","toolCallId":"1","toolName":"bash","isError":true,
	        "content":[SAY("no")]),
	    "\n## assistant · a" WHEN " · p/m\n\n### thinking\n\nhm\n\n### text\n\nx\n"
	    "\n### call 1: bash\n\n```bash\nls\n```\n"
	    "\n## toolResult · b" WHEN " · bash · call 1 of a · error\n\n```\nno\n```\n");
	assert_transcript(HEADER
	    MESSAGE("a", null, "role":"toolResult","toolName":"read","content":"x",
	        "details":{"imageUnsupportedByModel":"m"}),
	    "\n## toolResult · a" WHEN " · read · picture not sent to m\n\n```\nx\n```\n");
	/* What the provider changed, and why. */
	assert_transcript(HEADER
	    MESSAGE("a", null, "role":"assistant","content":"x","diagnostics":[{"type":"t",
	        "details":{"reason":"r","transformations":[{"reason":"r"},{"reason":"s\nt"},{"reason":"s\nt"},{},7,{"reason":"r"}]},
	        "error":{"message":"no"}},{"type":"failed","error":{"message":"why"},"details":{"status":500}},
	        {"type":"u"},{"type":7},8,{"type":"v","details":{"transformations":"[{}]"},"error":{}}])
	    MESSAGE("b", "a", "role":"assistant","content":"y","diagnostics":"[{\"type\":1}]")
	    MESSAGE("c", "b", "role":"user","content":"z","diagnostics":[{"type":"t"}]),
	    "\n## assistant · a" WHEN "\n\nx\n\n*t · r · s t · r*\n\n*failed · why*\n\n*u*\n\n*v*\n"
	    "\n## assistant · b" WHEN "\n\ny\n\n## user · c" WHEN "\n\nz\n");
	assert_transcript(HEADER
	    MESSAGE("a", null, "role":"bashExecution","command":"ls","output":"x\ny","exitCode":2,"cancelled":true,
	        "truncated":true,"fullOutputPath":"/t","excludeFromContext":true),
	    "\n## bashExecution · a" WHEN
	    " · exit 2 · cancelled · truncated · not sent\n\n```console\n$ ls\nx\ny\n```\n\n*full output: /t*\n");
	assert_transcript(HEADER
	    MESSAGE("a", null, "role":"system","content":"base","sections":{"k":"v","gone":null},
	        "toolsAdded":[{"name":"read"},{"name":"ls"}],"toolsRemoved":[]),
	    "\n## system · a" WHEN "\n\nbase\n\n### k\nv\n\ntools: read ls\n\n*section gone removed*\n");
	assert_transcript(HEADER
	    MESSAGE("a", null, "role":"assistant","content":null,"stopReason":"error","errorMessage":"bad"),
	    "\n## assistant · a" WHEN " · error\n\n### error\n\nbad\n");
	assert_transcript(HEADER MESSAGE("a", null, "role":"future","summary":"s","content":"c"),
	    "\n## future · a" WHEN "\n\nc\n\ns\n");
	assert_transcript(HEADER MESSAGE("a", null, "role":"custom","customType":"t","display":false,"content":"c"),
	    "\n## custom · a" WHEN " · t · hidden\n\nc\n");
}

CASE(fences_are_longer_than_content)
{
	assert_transcript(HEADER MESSAGE("a", null, "role":"toolResult","content":"x\n`````\n``"),
	    "\n## toolResult · a" WHEN "\n\n``````\nx\n`````\n``\n``````\n");
	assert_transcript(HEADER MESSAGE("a", null, "role":"toolResult","content":"a``b"),
	    "\n## toolResult · a" WHEN "\n\n```\na``b\n```\n");
	assert_transcript(HEADER ASSISTANT("a", null, {"type":"toolCall","name":"x","arguments":"```"}),
	    "\n"
	    "## assistant · a" WHEN "\n" "\n### call 1: x\n\n````json\n"
	    LINE("```") "````\n");
}

/* --- tool calls --- */

static void assert_call(const char *call, const char *want)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, text CLEANUP_BUF = BUF_INIT;

	buf_addf(&lines, HEADER ASSISTANT("a", null, %s), call);
	buf_addf(&text, "\n## assistant · a" WHEN "\n\n### call 1: %s", want);
	assert_transcript(buf_cstr(&lines), buf_cstr(&text));
}

CASE(calls_are_rendered)
{
	static const char *const calls[][2] = ITEMS(
	    {JSON(CALL("1", "edit", "path":"a.c","edits":[{"oldText":"a\nb","newText":"a\nc"}])),
	     "edit `a.c` +1 -1\n\n```diff\n a\n-b\n+c\n```\n"},
	    {JSON(CALL("1", "edit", "path":"a.c","oldText":"```","newText":"","n":1,"s":"t")),
	     "edit `a.c` -1 · n 1\n\n````diff\n-```\n````\n\n```json\n{\n  \"s\": \"t\"\n}\n```\n"},
	    /* a diff without changes leaves everything to the JSON */
	    {JSON(CALL("1", "edit", "path":"a.c","oldText":"a","newText":"a")),
	     "edit `a.c`\n\n```json\n{\n  \"path\": \"a.c\",\n  \"oldText\": \"a\",\n  \"newText\": \"a\"\n}\n```\n"},
	    {JSON(CALL("1", "write", "path":"a.py","content":"a\n```\n")),
	     "write `a.py`\n\n````python\na\n```\n````\n"},
	    {JSON(CALL("1", "write", "path":"a","content":"")), "write `a`\n\n```\n```\n"},
	    {JSON(CALL("1", "write", "path":"a.py","content":7)), "write `a.py` · content 7\n"},
	    {JSON(CALL("1", "read", "path":"a.c","offset":3,"limit":2)), "read `a.c`:3-4\n"},
	    {JSON(CALL("1", "read", "path":"`a``b")), "read ``` `a``b ```\n"},
	    {JSON(CALL("1", "read", "path":"a\nb")), "read `a b`\n\n```json\n{\n  \"path\": \"a\\nb\"\n}\n```\n"},
	    {JSON(CALL("1", "read", "path":"")), "read\n\n```json\n{\n  \"path\": \"\"\n}\n```\n"},
	    {JSON(CALL("1", "bash", "command":"a\nb","timeout":9,"cwd":"/")),
	     "bash · timeout 9\n\n```bash\na\nb\n```\n\n```json\n{\n  \"cwd\": \"/\"\n}\n```\n"},
	    {JSON(CALL("1", "bash", "command":7,"timeout":9)),
	     "bash\n\n```json\n{\n  \"command\": 7,\n  \"timeout\": 9\n}\n```\n"},
	    {JSON(CALL("1", "other", )), "other\n\n```json\n{}\n```\n"},
	    {JSON({"type":"toolCall","name":"bash"}), "bash\n"});

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		assert_call(calls[i][0], calls[i][1]);
}

/* A path too long for the heading is shown below it. */
CASE(long_paths_are_not_cut)
{
	struct buf path CLEANUP_BUF = BUF_INIT, call CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;

	for (int i = 0; i < 100; i++)
		buf_adds(&path, "dir/");
	buf_adds(&path, "a.py");
	buf_addf(&call, JSON(CALL("1", "write", "path":"%s","content":"x")), buf_cstr(&path));
	buf_addf(&want, "write `%.199s…`\n\n```python\nx\n```\n\n```json\n{\n  \"path\": \"%s\"\n}\n```\n",
	         buf_cstr(&path), buf_cstr(&path));
	assert_call(buf_cstr(&call), buf_cstr(&want));
}

/* Appends the code fence of the result of the call `b`, where `result` follows the message with `calls`. */
static void fence_of(const char *calls, const char *result, struct buf *out)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, text CLEANUP_BUF = BUF_INIT;

	buf_addf(&lines, HEADER ASSISTANT("a", null, %s) "%s", calls, result);
	view_of(&producer_transcript_md, lines.p, lines.n, "", &text);
	const char *heading = strstr(buf_cstr(&text), "## toolResult");
	assert_non_null(heading);
	const char *fence = strstr(heading, "```");
	assert_non_null(fence);
	buf_add(out, fence, strcspn(fence, "\n"));
}

#define TWO_READS JSON(CALL("1", "read", "path":"a.c"),CALL("2", "read", "path":"b.py"))
#define OUTPUT(parent, call, tool, ...)                                                                                \
	MESSAGE("b", parent, "role":"toolResult","toolCallId":call,"toolName":tool,__VA_ARGS__ "content":[SAY("x")])

CASE(output_fence_has_file_language)
{
	static const char *const cases[][3] =
	    ITEMS(
	    {TWO_READS, OUTPUT("a", "1", "read", ), "```c"},
	    {TWO_READS, OUTPUT("a", "2", "read", ), "```python"},
	    {TWO_READS, OUTPUT("a", "2", "read", "isError":true,), "```"},
	    {TWO_READS, OUTPUT("a", "3", "read", ), "```"},
	    {TWO_READS, OUTPUT(null, "1", "read", ), "```"},
	    {TWO_READS, OUTPUT("a", "1", "bash", ), "```"},
	    {JSON(CALL("1", "bash", "path":"a.c","command":"cat")), OUTPUT("a", "1", "read", ), "```"},
	    {JSON(CALL("1", "read", "path":["a.c"])), OUTPUT("a", "1", "read", ), "```"});

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf fence CLEANUP_BUF = BUF_INIT;
		fence_of(cases[i][0], cases[i][1], &fence);
		assert_string_equal(buf_cstr(&fence), cases[i][2]);
	}
}

/* Otherwise each result would read all of a long message with many calls. */
CASE(language_is_skipped_for_long_messages)
{
	struct buf calls CLEANUP_BUF = BUF_INIT, fence CLEANUP_BUF = BUF_INIT;

	buf_adds(&calls, JSON(CALL("1", "read", "path":"a.c")));
	for (int i = 0; i < 2000; i++)
		buf_adds(&calls, JSON(,{"type":"toolCall","id":"2","name":"read","arguments":{"path":"a.c"}}));
	fence_of(buf_cstr(&calls), OUTPUT("a", "1", "read", ), &fence);
	assert_string_equal(buf_cstr(&fence), "```");
}

CASE(open_fences_are_closed)
{
	static const struct {
		const char *text, *closed;
	} cases[] = {
	    {"```c\\nx", "```c\nx\n```\n"},
	    {"```c\\nx\\n```", "```c\nx\n```\n"},
	    {"```c\\nx\\n````  \\r\\ny", "```c\nx\n````  \r\ny\n"},
	    {"````\\n```\\n", "````\n```\n````\n"},
	    {"  ~~~\\n```\\n", "  ~~~\n```\n~~~\n"},
	    {"a ```b``` c", "a ```b``` c\n"},
	    {"```a```", "```a```\n"},
	    {"- ```js\\n  x\\n  ```", "- ```js\n  x\n  ```\n"},
	    {"1. a\\n\\n\\t- ```\\n\\t  x", "1. a\n\n\t- ```\n\t  x\n"},
	    {"- ```\\nx\\n```", "- ```\nx\n```\n```\n"},
	    {"-     ```\\n     ```", "-     ```\n     ```\n"},
	    {"    ```\\n\\t~~~", "    ```\n\t~~~\n"},
	    {"```\\nx\\n    ```\\n```\\t", "```\nx\n    ```\n```\t\n"},
	    {"```\\n- ```", "```\n- ```\n```\n"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;
		buf_addf(&lines, HEADER USER("a", null, "%s"), cases[i].text);
		buf_addf(&want, "\n## user · a" WHEN "\n\n%s", cases[i].closed);
		assert_transcript(buf_cstr(&lines), buf_cstr(&want));
	}
}

CASE(context_shows_sent_messages)
{
	assert_context(HEADER USER("a", null, "old") USER("b", "a", "kept")
	    ENTRY("compaction", "c", "b", "summary":"sum","tokensBefore":9,"firstKeptEntryId":"b",
	        "systemMessage":{"role":"system","content":"base","sections":{"k":"v"}})
	    MESSAGE("d", "c", "role":"bashExecution","command":"secret","output":"","excludeFromContext":true)
	    MESSAGE("e", "d", "role":"future","content":"never sent")
	    ENTRY("branch_summary", "f", "e", "summary":"","fromId":"x")
	    ENTRY("custom_message", "g", "f", "customType":"t","content":"cm")
	    MESSAGE("h", "g", "role":"bashExecution","command":"ls","output":"") EDIT("i", "h", "g", {"content":"new"}),
	    "\n## system · c" WHEN "\n\nbase\n\n### k\nv\n"
	    "\n## compaction · c" WHEN " · 9 tokens before\n\nsum\n"
	    "\n## user · b" WHEN "\n\nkept\n"
	    "\n## custom_message · g" WHEN " · t · edited\n\nnew\n"
	    "\n## bashExecution · h" WHEN "\n\n```console\n$ ls\n```\n");
}

/* --- every line of text is a line of the file --- */

static const char *const hostile[] = {
    "plain",
    "---",
    "# heading",
    "## user · a",
    "```",
    "````json",
    "~~~~~",
    "   ",
    "",
    "*stars*",
    "\\ttab",
    "[x](y)",
    "\\u2028",
    "\\u2029x",
    "\\ud800",
    "\\udc00\\ud800",
    "\\u0000",
    "a\\u0000b",
    "crlf\\r",
    "\\u001b[31m",
    "\\\\n",
    "> q",
    "\\\"q\\\"",
    "<!--",
    "</details>",
    "\xff\xfe",
    "\xed\xa0\x80",
    "\xc3",
    "\\ud83d\\ude00",
    "- item",
    "1. item",
    "===",
    "session: x",
    "\\ufeff",
    "`",
    "``",
    "``````",
    "    indented",
    "\\u0085",
    "&amp;",
    "<script>",
    "$ ls",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static unsigned next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

/* Sets `line` to a few hostile lines, as the inside of a JSON string, and appends them as they are to `said`. */
static const char *hostile_text(struct buf *line, struct buf *said, uint32_t *seed)
{
	unsigned n = 1 + next_random(seed) % 5;

	buf_reset(line);
	for (unsigned i = 0; i < n; i++) {
		const char *text = hostile[next_random(seed) % HOSTILE];
		buf_addf(line, "%s%s", i > 0 ? "\\n" : "", text);
		json_decode(span_of(text), JSON_CLEAN, said);
		buf_addc(said, '\n');
	}
	return buf_cstr(line);
}

static void add_hostile_entry(struct buf *lines, struct buf *said, unsigned i, uint32_t *seed)
{
	static const char *const shapes[] = ITEMS(
	    JSON("type":"message","message":{"role":"user","content":"%s"}),
	    JSON("type":"message","message":{"role":"user","content":[SAY("%s")]}),
	    JSON("type":"message","message":{"role":"assistant","content":[THINKING("%s")]}),
	    JSON("type":"message","message":{"role":"toolResult","content":[{"type":"image","data":"AAAA"},SAY("%s")]}),
	    JSON("type":"message","message":{"role":"assistant","content":[CALL("c", "write", "path":"a","content":"%s")]}),
	    JSON("type":"message","message":{"role":"assistant","content":[CALL("c", "bash", "timeout":1,"command":"%s")]}),
	    JSON("type":"message","message":{"role":"bashExecution","command":"x","output":"%s"}),
	    JSON("type":"message","message":{"role":"branchSummary","summary":"%s"}),
	    JSON("type":"message","message":{"role":"unheard-of","content":"%s"}),
	    JSON("type":"compaction","tokensBefore":1,"summary":"%s"),
	    JSON("type":"branch_summary","fromId":"x","summary":"%s"),
	    JSON("type":"custom_message","customType":"x","content":"%s"));
	struct buf text CLEANUP_BUF = BUF_INIT;
	unsigned shape = next_random(seed) % COUNT(shapes);

	buf_addf(lines, "{\"id\":\"%u\",\"parentId\":", i);
	if (i > 0)
		buf_addf(lines, "\"%u\",", i - 1);
	else
		buf_adds(lines, "null,");
	buf_addf(lines, shapes[shape], hostile_text(&text, said, seed));
	buf_adds(lines, "}\n");
}

CASE(every_line_is_verbatim)
{
	for (uint32_t round = 1; round <= 40; round++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, said CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		struct fixture f;
		uint32_t seed = round;
		buf_adds(&lines, HEADER);
		for (unsigned i = 0; i < 30; i++)
			add_hostile_entry(&lines, &said, i, &seed);
		fixture_open(&f, lines.p, lines.n);
		assert_int_equal(session_count(f.s), 30);
		assert_int_equal(produce(&producer_transcript_md, f.s, session_leaf(f.s), "", &out), 0);
		fixture_close(&f);
		for (const char *p = said.p, *eol; p < said.p + said.n; p = eol + 1) {
			eol = memchr(p, '\n', (size_t)(said.p + said.n - p));
			if (!has_line(&out, p, (size_t)(eol - p)))
				fail_msg("round %u: no line \"%.*s\"", round, (int)(eol - p), p);
		}
		assert_null(memchr(out.p, '\0', out.n));
	}
}

/* If two texts have no common line, their diff has each line of both, after its sign. */
CASE(every_edit_line_is_shown)
{
	for (uint32_t round = 1; round <= 40; round++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, said CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		struct buf text CLEANUP_BUF = BUF_INIT;
		uint32_t seed = round;
		buf_addf(&lines,
		         HEADER ASSISTANT("a", null, CALL("c", "edit", "path":"a","newText":"new","oldText":"%s")),
		                          hostile_text(&text, &said, &seed));
		view_of(&producer_transcript_md, lines.p, lines.n, "", &out);
		for (const char *p = said.p, *eol; p < said.p + said.n; p = eol + 1) {
			struct buf line CLEANUP_BUF = BUF_INIT;
			eol = memchr(p, '\n', (size_t)(said.p + said.n - p));
			buf_addc(&line, '-');
			buf_add(&line, p, (size_t)(eol - p));
			/* An empty text has no line. */
			if (!has_line(&out, line.p, line.n) && said.n > 1)
				fail_msg("round %u: no line \"%.*s\"", round, (int)line.n, line.p);
		}
		assert_line(&out, "+new");
	}
}

static void add_two_segments(const struct session *s, uint32_t at, struct buf *out)
{
	const struct render_target p = {.session = s, .leaf = at, .prefix = ""};
	struct reader reader CLEANUP_READER = READER_INIT;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(producer_transcript_md.segment(&p, &i, false, &reader, NULL, out), 0);
}

/* A segment is the same in every branch that contains the entry. */
CASE(segments_are_branch_independent)
{
	struct fixture f;
	static const char before[] = HEADER USER("a", null, "one") USER("b", "a", "two");
	static const char after[] = AS_IS(HEADER USER("a", null, "one") USER("b", "a", "two") USER("c", "a", "three")
	    ENTRY("compaction", "d", "c", "summary":"s"));
	struct buf first CLEANUP_BUF = BUF_INIT, second CLEANUP_BUF = BUF_INIT;

	fixture_open(&f, before, sizeof before - 1);
	add_two_segments(f.s, 1, &first);
	fixture_close(&f);
	fixture_open(&f, after, sizeof after - 1);
	add_two_segments(f.s, 3, &second);
	fixture_close(&f);
	assert_string_equal(buf_cstr(&first), buf_cstr(&second));
}

RUN_CASES(NULL, NULL)
