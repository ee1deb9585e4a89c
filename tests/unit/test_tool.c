/* SPDX-License-Identifier: MIT */
/* tool: the effect of tool calls, by their names and arguments. */
#include "cases.h"
#include "session_lines.h"
#include "texts.h"
#include "sessionfs/render/tool.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/utf8.h"

/* `json` must outlive the value. */
static struct json_value value(const char *json)
{
	struct json_value v = {.kind = JSON_NONE};
	struct json j;

	json_init(&j, span_of(json), NULL);
	assert_true(!*json || (json_value(&j, &v) && json_at_end(&j)));
	return v;
}

/* --- forms ------------------------------------------------------------------ */

struct sample {
	const char *name, *arguments; /* JSON; "" if absent */
	const char *summary, *diff, *rest;
};

static void assert_sample(const struct sample *s, struct tool_use *u)
{
	struct buf summary CLEANUP_BUF = BUF_INIT, diff CLEANUP_BUF = BUF_INIT, rest CLEANUP_BUF = BUF_INIT;
	unsigned added, removed;

	tool_read(value(s->name), value(s->arguments), u);
	tool_add_summary(u, &summary);
	assert_text(&summary, s->summary);
	assert_int_equal(tool_diff(u, &diff, &added, &removed), 0);
	assert_text(&diff, s->diff);
	tool_add_remaining(u, NULL, &rest);
	assert_text(&rest, s->rest);
}

static const struct sample samples[] = ITEMS(
    /* pi's own edit, and variants that models send */
    {JSON("edit"), JSON({"path":"a.c","edits":[{"oldText":"a\nb","newText":"a\nc"}]}), "edit a.c +1 -1",
     " a\n-b\n+c\n", ""},
    {JSON("edit"), JSON({"path":"a.c","edits":[{"oldText":"a","newText":"b"},{"oldText":"","newText":"x\ny\n"}]}),
     "edit a.c +3 -1", "-a\n+b\n@@\n+x\n+y\n", ""},
    {JSON("edit"), JSON({"path":"a.c","edits":{"oldText":"a","newText":"b"}}), "edit a.c +1 -1", "-a\n+b\n", ""},
    {JSON("edit"), JSON({"path":"a.c","edits":"[{\"oldText\":\"a\\nb\",\"newText\":\"\"}]"}), "edit a.c -2",
     "-a\n-b\n", ""},
    {JSON("edit"), JSON({"path":"a.c","edits":"{\"oldText\":\"a\",\"newText\":\"b\"}"}), "edit a.c +1 -1", "-a\n+b\n",
     ""},
    {JSON("edit"), JSON({"path":"a.c","oldText":"a","newText":"b"}), "edit a.c +1 -1", "-a\n+b\n", ""},
    {JSON("edit"), JSON({"path":"a.c","oldText":"a","newText":"b","edits":[{"oldText":"c","newText":"d"}]}),
     "edit a.c +2 -2", "-c\n+d\n@@\n-a\n+b\n", ""},
    /* others */
    {JSON("Edit"), JSON({"file_path":"a.c","old_string":"a","new_string":"b","replace_all":true}), "Edit a.c +1 -1",
     "-a\n+b\n", "{\n  \"replace_all\": true\n}"},
    {JSON("edit_file"), JSON({"path":"a.c","content":"a\nb\n"}), "edit_file a.c, 2 lines", "", ""},
    /* further members of an edit stay */
    {JSON("edit"), JSON({"path":"a.c","edits":[{"oldText":"a","newText":"b","all":1}]}), "edit a.c +1 -1", "-a\n+b\n",
     "{\n  \"edits\": [\n    {\n      \"oldText\": \"a\",\n      \"newText\": \"b\",\n      \"all\": 1\n    }\n  ]\n}"},
    {JSON("edit"), JSON({"path":"a.c","edits":[7,{"oldText":"a","newText":"b"}]}), "edit a.c +1 -1", "-a\n+b\n",
     "{\n  \"edits\": [\n    7,\n    {\n      \"oldText\": \"a\",\n      \"newText\": \"b\"\n    }\n  ]\n}"},
    {JSON("edit"), JSON({"path":"a.c","oldText":"a"}), "edit a.c", "", "{\n  \"oldText\": \"a\"\n}"},
    {JSON("edit"), JSON({"path":"a.c","oldText":"a","newText":null}), "edit a.c", "",
     "{\n  \"oldText\": \"a\",\n  \"newText\": null\n}"},
    {JSON("edit"), JSON({"path":"a.c","edits":"["}), "edit a.c", "", "{\n  \"edits\": \"[\"\n}"},
    {JSON("edit"), JSON({"path":"a.c","edits":[]}), "edit a.c", "", "{\n  \"edits\": []\n}"},
    {JSON("edit"), JSON({"path":["a.c"],"old_text":"a","newText":"b"}), "edit +1 -1", "-a\n+b\n",
     "{\n  \"path\": [\n    \"a.c\"\n  ]\n}"},
    {JSON("edit"), JSON({"path":"a","file_path":"b","oldText":"a","newText":"b"}), "edit a +1 -1", "-a\n+b\n",
     "{\n  \"file_path\": \"b\"\n}"},
    {JSON("edit"), JSON({"edits":7}), "edit", "", "{\n  \"edits\": 7\n}"},
    /* write, read, bash */
    {JSON("write"), JSON({"path":"a.c","content":"a\nb"}), "write a.c, 2 lines", "", ""},
    {JSON("write"), JSON({"path":"a.c","content":""}), "write a.c, 0 lines", "", ""},
    {JSON("write"), JSON({"path":"a.c","content":"\n","mode":"x"}), "write a.c, 1 line", "",
     "{\n  \"mode\": \"x\"\n}"},
    {JSON("write"), JSON({"path":"a.c","content":{"a":1}}), "write a.c", "",
     "{\n  \"content\": {\n    \"a\": 1\n  }\n}"},
    {JSON("read"), JSON({"path":"a.c"}), "read a.c", "", ""},
    /* a path that the line above does not show exactly */
    {JSON("read"), JSON({"path":"a b"}), "read a b", "", ""},
    {JSON("read"), JSON({"path":"a  b"}), "read a b", "", "{\n  \"path\": \"a  b\"\n}"},
    {JSON("read"), JSON({"path":" a"}), "read a", "", "{\n  \"path\": \" a\"\n}"},
    {JSON("read"), JSON({"path":"a "}), "read a", "", "{\n  \"path\": \"a \"\n}"},
    {JSON("read"), JSON({"path":"a.c","offset":10,"limit":11}), "read a.c:10-20", "", ""},
    {JSON("read"), JSON({"path":"a.c","limit":11}), "read a.c:1-11", "", ""},
    {JSON("read"), JSON({"path":"a.c","offset":10}), "read a.c:10", "", ""},
    {JSON("read"), JSON({"file_path":"a.c","start_line":3,"end_line":9}), "read a.c:3-9", "", ""},
    {JSON("read"), JSON({"path":"a.c","offset":-1,"limit":1e99}), "read a.c", "",
     "{\n  \"offset\": -1,\n  \"limit\": 1e99\n}"},
    {JSON("read"), JSON({"path":"a.c","offset":"x","limit":1.5}), "read a.c", "",
     "{\n  \"offset\": \"x\",\n  \"limit\": 1.5\n}"},
    {JSON("read"), JSON({"path":"a.c","offset":1000000000,"limit":1000000000}), "read a.c:1000000000-1999999999", "",
     ""},
    {JSON("bash"), JSON({"command":"npm  test \n  -v","timeout":3}), "bash npm test -v", "", "{\n  \"timeout\": 3\n}"},
    {JSON("exec"), JSON({"command":"ls"}), "exec ls", "", ""},
    {JSON("Shell_Exec"), JSON({"command":"ls"}), "Shell_Exec ls", "", ""},
    {JSON("run_terminal"), JSON({"command":"ls"}), "run_terminal ls", "", ""},
    {JSON("bash"), JSON({"command":["sh","-c","ls"]}), "bash sh -c ls", "",
     "{\n  \"command\": [\n    \"sh\",\n    \"-c\",\n    \"ls\"\n  ]\n}"},
    {JSON("bash"), JSON({"\u0063ommand":"ls","command ":1}), "bash ls", "", "{\n  \"command \": 1\n}"},
    /* arguments stored as text */
    {JSON("bash"), JSON("{\"command\":\"ls\\nx\"}"), "bash ls x", "", ""},
    {JSON("bash"), JSON("ls"), "bash", "", JSON("ls")},
    {JSON("grep"), JSON("{\"pattern\":\"x\"}"), "grep x", "", "{\n  \"pattern\": \"x\"\n}"},
    /* any other */
    {JSON("browser"), JSON({"action":"open","n":3,"url":"http://a"}), "browser open http://a", "",
     "{\n  \"action\": \"open\",\n  \"n\": 3,\n  \"url\": \"http://a\"\n}"},
    {JSON("agents_list"), "{}", "agents_list", "", "{}"},
    {JSON("x"), JSON({"a":"","b":["","c",["d"],{"e":"f"}],"g":"h"}), "x c h", "",
     "{\n  \"a\": \"\",\n  \"b\": [\n    \"\",\n    \"c\",\n    [\n      \"d\"\n    ],\n    {\n      \"e\": \"f\"\n    "
     "}\n  ],\n  \"g\": \"h\"\n}"},
    {JSON("edit"), "", "edit", "", ""},
    {JSON("edit"), "null", "edit", "", "null"},
    {JSON("edit"), JSON([{"path":"a"}]), "edit", "", "[\n  {\n    \"path\": \"a\"\n  }\n]"},
    {JSON(""), "{}", "no name", "", "{}"},
    {"", "", "no name", "", ""},
    {"7", JSON({"path":"a"}), "7 a", "", "{\n  \"path\": \"a\"\n}"},
    {JSON({"edit":1}), "{}", JSON({"edit":1}), "", "{}"},
    {JSON(" a\n\tb "), "{}", "a b", "", "{}"},
    {JSON("read"), JSON({"path":"\u0000\ud800\u001b[31m\n"}), "read \u2400\ufffd [31m", "",
     "{\n  \"path\": \"\\u0000\\ud800\\u001b[31m\\n\"\n}"});

CASE(known_tools_are_recognized)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;

	for (size_t i = 0; i < COUNT(samples); i++)
		assert_sample(&samples[i], &u);
}

CASE(a_summary_begins_after_blanks)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	struct buf arguments CLEANUP_BUF = BUF_INIT;

	buf_addf(&arguments, JSON({"command":"%*s make%*s -j"}), 3000, "", 30000, "");
	assert_sample(&(struct sample){JSON("bash"), buf_cstr(&arguments), "bash make -j", "", ""}, &u);
}

CASE(values_of_a_form)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;

	tool_read(value(JSON("write")), value(JSON({"path":"a","content":"b","command":"c"})), &u);
	assert_int_equal(u.form, TOOL_WRITE);
	assert_true(json_equals(u.path, "a") && json_equals(u.content, "b"));
	assert_int_equal(u.command.kind, JSON_NONE);
	tool_read(value(JSON("bash")), value(JSON({"path":"a","command":"c"})), &u);
	assert_int_equal(u.form, TOOL_BASH);
	assert_true(json_equals(u.command, "c"));
	assert_int_equal(u.path.kind, JSON_NONE);
	tool_read(value(JSON("bash")), value(JSON({"command":1})), &u);
	assert_int_equal(u.form, TOOL_OTHER);
	tool_read(value(JSON("read")), value(JSON({"offset":1})), &u);
	assert_int_equal(u.form, TOOL_OTHER);
	assert_int_equal(u.first, 0);
}

/* The summary shows what the remaining arguments leave out. */
CASE(short_paths_are_whole)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;

	for (int n = TOOL_PATH - 1; n <= TOOL_PATH + 1; n++) {
		struct buf path CLEANUP_BUF = BUF_INIT, json CLEANUP_BUF = BUF_INIT, summary CLEANUP_BUF = BUF_INIT,
				rest CLEANUP_BUF = BUF_INIT;
		for (int i = 0; i < n; i++)
			buf_addc(&path, (char)('a' + i % 26));
		buf_addf(&json, JSON({"path":"%s"}), buf_cstr(&path));
		tool_read(value(JSON("read")), value(buf_cstr(&json)), &u);
		tool_add_summary(&u, &summary);
		tool_add_remaining(&u, NULL, &rest);
		assert_true((strstr(buf_cstr(&summary), path.p) != NULL) == (n <= TOOL_PATH));
		assert_true((rest.n == 0) == (n <= TOOL_PATH));
	}
}

/* With any argument, the summary is one short line. */
CASE(a_summary_is_one_short_line)
{
	enum { LONG = 100000 };
	static const char *const calls[] = {JSON("edit"), JSON("write"), JSON("read"), JSON("bash"), JSON("x"), NULL};
	static const char *const keys[] = {"path", "command", "content", "edits", "oldText", "offset", "q"};
	static const char *const units[] = {"a", "\\n", " ", "\\u2028x", "\\ud83d\\ude00", "\\ud800"};
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	struct buf text CLEANUP_BUF = BUF_INIT, name CLEANUP_BUF = BUF_INIT, summary CLEANUP_BUF = BUF_INIT;

	for (size_t unit = 0; unit < COUNT(units); unit++) {
		buf_reset(&text);
		buf_reset(&name);
		buf_addc(&name, '"');
		for (size_t i = 0; i < LONG; i++)
			buf_adds(&name, units[unit]);
		buf_addc(&name, '"');
		for (size_t key = 0; key < COUNT(keys); key++)
			buf_addf(&text, "%c\"%s\":%s", key ? ',' : '{', keys[key], buf_cstr(&name));
		buf_addc(&text, '}');
		struct json_value arguments = value(buf_cstr(&text)), long_name = value(buf_cstr(&name));
		for (size_t i = 0; i < COUNT(calls); i++) {
			buf_reset(&summary);
			tool_read(calls[i] ? value(calls[i]) : long_name, arguments, &u);
			tool_add_summary(&u, &summary);
			assert_int_equal(buf_err(&summary), 0);
			assert_int_equal(utf8_prefix(buf_span(&summary)), summary.n);
			assert_int_equal(utf8_first(buf_span(&summary), TOOL_SUMMARY).n, summary.n);
			for (size_t c = 0; c < summary.n; c++)
				assert_true((unsigned char)summary.p[c] >= 0x20 && summary.p[c] != 0x7f);
		}
	}
}

/* --- diff ------------------------------------------------------------------- */

/* Appends the diff of two texts without escapes. */
static void add_diff(const char *old_text, const char *new_text, struct buf *out, unsigned *added, unsigned *removed)
{
	struct buf json CLEANUP_BUF = BUF_INIT;
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	unsigned counted[2];

	buf_adds(&json, "{\"path\":\"a\",\"oldText\":");
	json_quote(span_of(old_text), &json);
	buf_adds(&json, JSON(,"newText":));
	json_quote(span_of(new_text), &json);
	buf_addc(&json, '}');
	tool_read(value(JSON("edit")), value(buf_cstr(&json)), &u);
	assert_int_equal(tool_diff(&u, out, added, removed), 0);
	assert_int_equal(tool_diff(&u, NULL, &counted[0], &counted[1]), 0);
	assert_true(counted[0] == *added && counted[1] == *removed);
}

CASE(small_diffs_are_minimal)
{
	static const char *const texts[][3] = {
	    {"", "", ""},
	    {"a\n", "a\n", ""},
	    {"a", "a\n", " a\n+\n"},
	    {"a\n", "b", "-a\n-\n+b\n"},
	    {"\n", "", "-\n"},
	    {"", "\n\n", "+\n+\n"},
	    {"a\n\n", "a\n", " a\n-\n"},
	    {"a\nb\nc\n", "a\nx\nc\n", " a\n-b\n+x\n c\n"},
	    {"1\n2\n3\n4\n5", "1\n2\n3\n4\n6", " 2\n 3\n 4\n-5\n+6\n"},
	    {"5\n1\n2\n3\n4", "6\n1\n2\n3\n4", "-5\n+6\n 1\n 2\n 3\n"},
	    /* six unchanged lines between two changes are all shown, seven are not */
	    {"a\n1\n2\n3\n4\n5\n6\nb", "x\n1\n2\n3\n4\n5\n6\ny", "-a\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+y\n"},
	    {"a\n1\n2\n3\n4\n5\n6\n7\nb", "x\n1\n2\n3\n4\n5\n6\n7\ny", "-a\n+x\n 1\n 2\n 3\n@@\n 5\n 6\n 7\n-b\n+y\n"},
	    {"a\r\nb", "a\r\nc", " a\r\n-b\n+c\n"},
	    /* the minimal diff */
	    {"a\nb\nc\na\nb\nb\na", "c\nb\na\nb\na\nc", "-a\n-b\n c\n+b\n a\n b\n-b\n a\n+c\n"},
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct buf out CLEANUP_BUF = BUF_INIT;
		unsigned added, removed;
		add_diff(texts[i][0], texts[i][1], &out, &added, &removed);
		assert_text(&out, texts[i][2]);
	}
}

static unsigned random_below(unsigned n)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned)(x >> 33) % n;
}

enum { MOST = 150 };

struct text {
	unsigned n;
	unsigned char lines[2 * MOST];
};

static void print(const struct text *t, struct buf *out)
{
	buf_reset(out);
	for (unsigned i = 0; i < t->n; i++)
		buf_addf(out, "%u\n", t->lines[i]);
}

/* Applies a diff to `old_text` from line `from` on, where skipped lines are equal in both. Returns false if the result
 * is not `new_text`. */
static bool applies(const char *diff, const struct text *old_text, const struct text *new_text, unsigned from)
{
	unsigned i = from, j = from;

	for (const char *p = diff; *p; p = strchr(p, '\n') + 1) {
		unsigned line = (unsigned)strtoul(p + 1, NULL, 10);
		if (*p == '@') {
			/* Try each number of skipped lines. */
			for (unsigned gap = 1; i + gap <= old_text->n && j + gap <= new_text->n; gap++) {
				if (old_text->lines[i + gap - 1] != new_text->lines[j + gap - 1])
					return false;
				struct text a = *old_text, b = *new_text;
				a.n -= i + gap;
				b.n -= j + gap;
				memmove(a.lines, a.lines + i + gap, a.n);
				memmove(b.lines, b.lines + j + gap, b.n);
				if (applies(strchr(p, '\n') + 1, &a, &b, 0))
					return true;
			}
			return false;
		}
		if (*p != '+' && (i == old_text->n || old_text->lines[i++] != line))
			return false;
		if (*p != '-' && (j == new_text->n || new_text->lines[j++] != line))
			return false;
	}
	return old_text->n - i == new_text->n - j &&
	       memcmp(old_text->lines + i, new_text->lines + j, old_text->n - i) == 0;
}

/* Returns the length of the longest common subsequence of lines. */
static unsigned longest_common(const struct text *a, const struct text *b)
{
	unsigned n[2 * MOST + 1][2 * MOST + 1] = {{0}};

	for (unsigned i = 1; i <= a->n; i++)
		for (unsigned j = 1; j <= b->n; j++)
			if (a->lines[i - 1] == b->lines[j - 1])
				n[i][j] = n[i - 1][j - 1] + 1;
			else
				n[i][j] = n[i - 1][j] > n[i][j - 1] ? n[i - 1][j] : n[i][j - 1];
	return n[a->n][b->n];
}

/* Old text and diff give the new text, with the fewest changes. */
CASE(random_diffs_apply_and_are_minimal)
{
	struct buf a CLEANUP_BUF = BUF_INIT, b CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	for (unsigned round = 0; round < 1000; round++) {
		unsigned alphabet = 1 + random_below(round % 3 ? 100 : 4), added, removed;
		struct text old_text = {.n = random_below(MOST)}, new_text = {.n = 0};
		for (unsigned i = 0; i < old_text.n; i++)
			old_text.lines[i] = (unsigned char)random_below(alphabet);
		for (unsigned i = 0; i <= old_text.n && new_text.n < MOST; i++) {
			while (new_text.n < MOST && random_below(10) == 0)
				new_text.lines[new_text.n++] = (unsigned char)random_below(alphabet);
			if (i < old_text.n && random_below(10) > 0)
				new_text.lines[new_text.n++] = old_text.lines[i];
		}
		print(&old_text, &a);
		print(&new_text, &b);
		buf_reset(&out);
		add_diff(buf_cstr(&a), buf_cstr(&b), &out, &added, &removed);
		unsigned same = 0, common = longest_common(&old_text, &new_text);
		while (same < old_text.n && same < new_text.n && old_text.lines[same] == new_text.lines[same])
			same++;
		assert_true(applies(buf_cstr(&out), &old_text, &new_text, out.n && same > 3 ? same - 3 : 0));
		assert_int_equal(removed, old_text.n - common);
		assert_int_equal(added, new_text.n - common);
	}
}

static void add_lines(struct buf *text, unsigned n, const char *format)
{
	for (unsigned i = 0; i < n; i++)
		buf_addf(text, format, i);
}

/* Texts of any length have the fewest changes. */
CASE(large_diffs_are_minimal)
{
	static const struct {
		unsigned old_lines, new_lines;
		const char *old_format, *new_format;
		unsigned added, removed;
	} large[] = {
	    {100000, 100000, "%u\n", "x%u\n", 100000, 100000}, /* nothing in common */
	    {0, 3000000, "", "\n", 3000000, 0},                /* only additions */
	    {3000000, 3000000, "\n", "\n", 0, 0},              /* no change */
	    {3000000, 3000001, "\n", "\n", 1, 0},              /* one line added */
	    {16000, 8000, "a\n", "a\n", 0, 8000},
	    {2000000, 1, "%u\n", "x\n", 1, 2000000}, /* too many lines */
	};

	for (size_t i = 0; i < COUNT(large); i++) {
		struct buf a CLEANUP_BUF = BUF_INIT, b CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		unsigned added, removed;
		add_lines(&a, large[i].old_lines, large[i].old_format);
		add_lines(&b, large[i].new_lines, large[i].new_format);
		add_diff(buf_cstr(&a), buf_cstr(&b), &out, &added, &removed);
		assert_int_equal(added, large[i].added);
		assert_int_equal(removed, large[i].removed);
	}
}

/* Returns the number of lines of a diff that begin with a sign. */
static unsigned count_lines(const struct buf *diff, char sign)
{
	unsigned n = 0;

	for (const char *p = diff->p, *end = p + diff->n; p < end;
	     p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1)
		n += *p == sign;
	return n;
}

/* Lines in another order: the longest part that keeps its order stays. */
CASE(moved_lines_are_minimal)
{
	enum { LINES = 30000 };

	for (unsigned how = 0; how < 3; how++) {
		struct buf a CLEANUP_BUF = BUF_INIT, b CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		unsigned added, removed;
		add_lines(&a, LINES, "%u\n");
		/* From the last to the first; the even ones, then the others; the same with a line after each. */
		for (unsigned i = 0; i < LINES; i++)
			buf_addf(&b, how == 2 ? "%u\n\n" : "%u\n",
			         how == 0        ? LINES - 1 - i
			         : i * 2 < LINES ? i * 2
			                         : (i * 2 - LINES) | 1);
		add_diff(buf_cstr(&a), buf_cstr(&b), &out, &added, &removed);
		unsigned kept = how == 0 ? 1 : LINES / 2 + 1;
		assert_int_equal(removed, LINES - kept);
		assert_int_equal(added, (how == 2 ? 2 * LINES : LINES) - kept);
		assert_int_equal(count_lines(&out, '-'), removed);
	}
}

/* Lines that are repeated: of old lines 0 to k - 1 in turns, every one is changed to the next. */
CASE(repeated_lines_are_minimal)
{
	static const unsigned sizes[][2] = {{255, 2}, {256, 3}, {257, 5}, {1000, 2}, {3000, 7}, {20000, 100}};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct buf a CLEANUP_BUF = BUF_INIT, b CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		unsigned n = sizes[i][0], k = sizes[i][1], added, removed;
		for (unsigned l = 0; l < n; l++) {
			buf_addf(&a, "%u\n", l % k);
			buf_addf(&b, "%u\n", (l + 1) % k);
		}
		add_diff(buf_cstr(&a), buf_cstr(&b), &out, &added, &removed);
		assert_int_equal(added, 1);
		assert_int_equal(removed, 1);
		/* Two changes with many such lines between them. */
		buf_reset(&b);
		buf_addspan(&b, buf_span(&a));
		memcpy(b.p + 2, "x", 1);
		memcpy(b.p + b.n - 2, "y", 1);
		buf_reset(&out);
		add_diff(buf_cstr(&a), buf_cstr(&b), &out, &added, &removed);
		assert_int_equal(added, 2);
		assert_int_equal(removed, 2);
	}
}

static bool count_down(void *arg)
{
	return (*(int *)arg)-- == 0;
}

/* Long work can be cancelled, whatever the lines are. */
CASE(long_diffs_can_be_cancelled)
{
	int left = 0;
	const struct cancel cancel = {.is_cancelled = count_down, .arg = &left};

	for (unsigned how = 0; how < 2; how++) {
		struct buf json CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
		unsigned added, removed;
		buf_adds(&json, "{\"path\":\"a\",\"oldText\":\"");
		for (unsigned i = 0; i < 4000; i++)
			buf_addf(&json, "%u\\n", how ? i : i % 7);
		buf_adds(&json, "\",\"newText\":\"");
		for (unsigned i = 4000; i-- > 0;)
			buf_addf(&json, "%u\\n", how ? i : i % 5);
		buf_adds(&json, "\"}");
		tool_read(value(JSON("edit")), value(buf_cstr(&json)), &u);
		for (left = 1; left < 3000; left *= 7) {
			int at = left;
			cancel_set(&cancel);
			int rc = tool_diff(&u, &out, &added, &removed);
			cancel_set(NULL);
			assert_int_equal(rc, -EINTR);
			assert_int_equal(left, -1);
			left = at;
		}
	}
}

/* --- language --------------------------------------------------------------- */

CASE(language_follows_path)
{
	static const char *const paths[][2] = {
	    {"src/a.ts", "ts"},
	    {"a.tar.PY", "python"},
	    {"/x/Makefile", "makefile"},
	    {"C:\\x\\a.cs", "csharp"},
	    {"Dockerfile", "dockerfile"},
	    {"CMakeLists.txt", "cmake"},
	    {".bashrc", "bash"},
	    {"a", ""},
	    {"", ""},
	    {"a.", ""},
	    {".ts", "ts"},
	    {"a.ts/", ""},
	    {"a.ts/b", ""},
	    {"a.t\ns", ""},
	    {"a.txt", ""},
	    {"go.mod", "go"},
	};

	for (size_t i = 0; i < COUNT(paths); i++)
		assert_string_equal(file_language(span_of(paths[i][0])), paths[i][1]);
	assert_string_equal(file_language((struct span){NULL, 0}), "");
}

RUN_CASES(NULL, NULL)
