/* SPDX-License-Identifier: MIT */
#include "../../src/render/text.h"
#include "render_fixture.h"

#define AT(id, parent, time, rest)                                                                                     \
	"{\"id\":\"" id "\",\"parentId\":" parent ",\"timestamp\":\"2026-01-01T00:00:" time "Z\"," rest "}\n"
#define SAYS(id, parent, time)                                                                                         \
	AT(id, parent, time, "\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"" id "!\"}")
#define NOTE(id, parent, time) AT(id, parent, time, "\"type\":\"custom\",\"customType\":\"n\"")

static void assert_tree(const char *lines, const char *want)
{
	assert_renders(render_tree_txt, lines, want);
}

/* By time, the branch of the leaf first; equal times in file order; metadata entries are bridged. */
static void branches_are_drawn_in_order(void **state)
{
	(void)state;
	assert_tree(HEADER SAYS("a", "null", "01") SAYS("d", "\"a\"", "09") SAYS("c", "\"a\"", "03")
	                SAYS("b", "\"a\"", "03") NOTE("n", "\"a\"", "02") SAYS("e", "\"n\"", "04")
	                    SAYS("f", "\"e\"", "05") SAYS("g", "\"d\"", "06") SAYS("h", "\"d\"", "05"),
	            "a         • user: a!\n"
	            "d         ├─ • user: d!\n"
	            "h         │  ├─ • user: h!  <- leaf\n"
	            "g         │  └─ user: g!\n"
	            "e         ├─ user: e!\n"
	            "f         │     user: f!\n"
	            "c         ├─ user: c!\n"
	            "b         └─ user: b!\n");
}

static void siblings_without_a_time_stay_in_place(void **state)
{
	(void)state;
	assert_tree(HEADER SAYS("a", "null", "01") SAYS("d", "\"a\"", "07") SAYS("b", "\"a\"", "xx")
	                SAYS("c", "\"a\"", "05") NOTE("n", "null", "05"),
	            "a         user: a!\n"
	            "c         ├─ user: c!\n"
	            "d         ├─ user: d!\n"
	            "b         └─ user: b!\n");
}

static void cycles_come_last(void **state)
{
	(void)state;
	assert_tree(HEADER SAYS("t", "\"y\"", "01") SAYS("x", "\"z\"", "02") SAYS("y", "\"x\"", "03")
	                SAYS("z", "\"y\"", "04") SAYS("s", "\"s\"", "05") SAYS("a", "\"s\"", "06"),
	            "s         • user: s!\n"
	            "a            • user: a!  <- leaf\n"
	            "x         user: x!\n"
	            "y            user: y!\n"
	            "t            ├─ user: t!\n"
	            "z            └─ user: z!\n");
}

#define ANSWERS(id, parent, time, fields)                                                                              \
	AT(id, parent, time, "\"type\":\"message\",\"message\":{\"role\":\"assistant\"," fields "}")
#define CALLS(id, parent, time)                                                                                        \
	ANSWERS(id, parent, time,                                                                                      \
	        "\"content\":[{\"type\":\"text\",\"text\":\" \\n\"},{\"type\":\"toolCall\",\"id\":\"" id               \
	        "\",\"name\":\"ls\",\"arguments\":{}}],\"stopReason\":\"toolUse\"")
#define RESULT(id, parent, time, more)                                                                                 \
	AT(id, parent, time,                                                                                           \
	   "\"type\":\"message\",\"message\":{\"role\":\"toolResult\",\"toolCallId\":" parent ",\"content\":[]" more   \
	   "}")

/* As in pi's /tree: the children of an answer that only calls tools are shown below the row above it. */
static void textless_answers_are_hidden(void **state)
{
	(void)state;
	assert_tree(HEADER SAYS("a", "null", "01") CALLS("b", "\"a\"", "02") RESULT("c", "\"b\"", "03", "")
	                CALLS("d", "\"c\"", "04") RESULT("e", "\"d\"", "05", ""),
	            "a         • user: a!\n"
	            "c         • [ls]\n"
	            "e         • [ls]  <- leaf\n");
	/* The leaf is shown, and every entry with a label. */
	assert_tree(HEADER SAYS("a", "null", "01") CALLS("b", "\"a\"", "02") CALLS("c", "\"b\"", "03")
	                CALLS("d", "\"c\"", "04")
	                    AT("l", "\"d\"", "05", "\"type\":\"label\",\"targetId\":\"b\",\"label\":\"x\""),
	            "a         • user: a!\n"
	            "b         • [x] assistant: (no content)\n"
	            "d         • assistant: (no content)  <- leaf\n");
	/* Its two branches become branches of the row above, in the same order. */
	assert_tree(HEADER SAYS("a", "null", "01") SAYS("x", "\"a\"", "03") CALLS("b", "\"a\"", "02")
	                RESULT("c", "\"b\"", "09", "") RESULT("d", "\"b\"", "04", "") SAYS("e", "\"x\"", "05"),
	            "a         • user: a!\n"
	            "x         ├─ • user: x!\n"
	            "e         │     • user: e!  <- leaf\n"
	            "d         ├─ [ls]\n"
	            "c         └─ [ls]\n");
	/* If a root is left out, its children become roots. */
	assert_tree(HEADER CALLS("b", "null", "01") SAYS("c", "\"b\"", "02") SAYS("d", "\"b\"", "03"),
	            "d         • user: d!  <- leaf\n"
	            "c         user: c!\n");
	assert_tree(HEADER CALLS("b", "null", "01") NOTE("n", "\"b\"", "02"),
	            "b         • assistant: (no content)  <- leaf\n");
}

/* Renders entry i as its line in tree.txt, without a newline. */
static int entry_line(const struct session *s, uint32_t i, struct buf *out)
{
	struct row_source src CLEANUP(row_source_release);

	row_source_init(&src, s);
	return row_add_text(&src, i, out);
}

static void assert_row(const char *fields, const char *want)
{
	struct buf line CLEANUP_BUF = BUF_INIT;
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct fixture f;

	buf_addf(&line, HEADER "{\"id\":\"a\",\"parentId\":null,%s}\n", fields);
	fixture_open(&f, line.p, line.n);
	assert_int_equal(entry_line(f.s, 0, &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	fixture_close(&f);
}

#define MSG(fields) "\"type\":\"message\",\"message\":{" fields "}"

static void message_rows_show_text(void **state)
{
	(void)state;
	assert_row(MSG("\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\" "
	               "a\\n\"},{\"type\":\"text\",\"text\":\"b\\t\"}]"),
	           "user: a b");
	assert_row(MSG("\"role\":\"user\",\"content\":7"), "user: ");
	assert_row(MSG("\"role\":\"assistant\",\"content\":\"x\",\"stopReason\":\"aborted\""), "assistant: x");
	assert_row(MSG("\"role\":\"assistant\",\"content\":[],\"stopReason\":\"aborted\""), "assistant: (aborted)");
	assert_row(
	    MSG("\"role\":\"assistant\",\"content\":[],\"stopReason\":\"error\",\"errorMessage\":\"bad\\nthing\""),
	    "assistant: bad thing");
	assert_row(MSG("\"role\":\"assistant\",\"content\":null"), "assistant: (no content)");
	assert_row(MSG("\"role\":\"toolResult\",\"toolCallId\":\"x\",\"toolName\":\"read\",\"content\":[]"), "[read]");
	assert_row(MSG("\"role\":\"toolResult\",\"content\":[]"), "[tool]");
	assert_row(MSG("\"role\":\"bashExecution\",\"command\":\" ls\\n-l \",\"output\":\"x\""), "[bash]: ls -l");
	assert_row(MSG("\"role\":\"system\",\"content\":\"x\""), "[system]");
	assert_row(MSG("\"role\":\"new\\nrole\""), "[new role]");
}

static void rows_of_other_types(void **state)
{
	(void)state;
	assert_row("\"type\":\"custom_message\",\"customType\":\"t\",\"content\":\"x\\ny\"", "[t]: x y");
	assert_row("\"type\":\"compaction\",\"summary\":\"s\",\"tokensBefore\":1500", "[compaction: 2k tokens]");
	assert_row("\"type\":\"compaction\",\"summary\":\"s\",\"tokensBefore\":1499.9", "[compaction: 1k tokens]");
	assert_row("\"type\":\"compaction\",\"summary\":\"s\"", "[compaction]");
	assert_row("\"type\":\"branch_summary\",\"summary\":\"s\\n\"", "[branch summary]: s");
	assert_row("\"type\":\"model_change\",\"provider\":\"p\",\"modelId\":\"m\"", "[model: m]");
	assert_row("\"type\":\"thinking_level_change\",\"thinkingLevel\":\"high\"", "[thinking: high]");
	assert_row("\"type\":\"custom\",\"customType\":\"c\"", "[custom: c]");
	assert_row("\"type\":\"context_edit\",\"targetId\":\"t\",\"replacement\":null", "[context omit: t]");
	assert_row("\"type\":\"context_edit\",\"targetId\":\"t\",\"replacement\":{}", "[context replace: t]");
	assert_row("\"type\":\"label\",\"targetId\":\"t\",\"label\":\"l\"", "[label: l]");
	assert_row("\"type\":\"label\",\"targetId\":\"t\"", "[label: (cleared)]");
	assert_row("\"type\":\"session_info\",\"name\":\"n\"", "[title: n]");
	assert_row("\"type\":\"session_info\"", "[title: empty]");
	assert_row("\"type\":\"strange\"", "");
}

/* Asserts the row of a tool result that answers this call. */
static void assert_call(const char *call, const char *want)
{
	struct buf lines CLEANUP_BUF = BUF_INIT;
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct fixture f;

	buf_addf(&lines,
	         HEADER "{\"id\":\"a\",\"parentId\":null," MSG(
		     "\"role\":\"assistant\",\"content\":"
		     "[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"toolCall\",\"id\":\"0\",\"name\":\"no\"},{"
		     "\"type\":\"toolCall\",\"id\":\"1\",%s}]") "}\n",
	         call);
	buf_adds(&lines, "{\"id\":\"b\",\"parentId\":\"a\"," MSG(
			     "\"role\":\"toolResult\",\"toolCallId\":\"1\",\"toolName\":\"t\",\"content\":[]") "}\n");
	fixture_open(&f, lines.p, lines.n);
	assert_int_equal(entry_line(f.s, 1, &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	fixture_close(&f);
}

#define CALL(name, arguments) "\"name\":\"" name "\",\"arguments\":" arguments

/* An edit of a file with n other lines. */
static void assert_edit(unsigned n, const char *want)
{
	struct buf call CLEANUP_BUF = BUF_INIT;
	buf_adds(&call, "\"name\":\"edit\",\"arguments\":{\"path\":\"a.c\",\"oldText\":\"");
	for (unsigned i = 0; i < n; i++)
		buf_addf(&call, "old %u\\n", i);
	buf_adds(&call, "\",\"newText\":\"");
	for (unsigned i = 0; i < n; i++)
		buf_addf(&call, "new %u\\n", i);
	buf_adds(&call, "\"}");
	assert_call(buf_cstr(&call), want);
}

/* As in chat.md. */
static void rows_of_calls(void **state)
{
	(void)state;
	assert_call(CALL("read", "{\"path\":\"/a/b\"}"), "[read /a/b]");
	assert_call(CALL("read", "{\"file_path\":\"/a\",\"offset\":3}"), "[read /a:3]");
	assert_call(CALL("write", "{\"path\":\"a\\nb\"}"), "[write a b]");
	assert_call(CALL("edit", "{}"), "[edit]");
	assert_edit(4, "[edit a.c +4 -4]");
	assert_edit(20000, "[edit a.c +20000 -20000]");
	assert_call(CALL("bash", "{\"command\":\" ls\\t-l\\n\"}"), "[bash ls -l]");
	assert_call(CALL("grep", "{\"pattern\":\"x\",\"path\":\"p\"}"), "[grep x p]");
	assert_call(CALL("own", "{ \"a b\" : [1, \"\\\" x\"] }"), "[own \" x]");
	assert_call("\"name\":\"own\"", "[own]");
}

/* Texts are cut at 200 UTF-16 units, wherever escapes are. */
static void tree_rows_are_cut(void **state)
{
	(void)state;
	for (unsigned lead = 0; lead < 14; lead++) {
		struct buf fields CLEANUP_BUF = BUF_INIT;
		struct buf want CLEANUP_BUF = BUF_INIT;
		buf_adds(&fields, "\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"");
		buf_adds(&want, "user: ");
		for (unsigned i = 0; i < lead; i++) {
			buf_adds(&fields, "x");
			buf_adds(&want, "x");
		}
		for (unsigned i = 0; i < 400; i++)
			buf_adds(&fields, "\\u00e9\\ud83d\\ude00\\\\");
		for (unsigned units = lead, i = 0; units < 200; i++) {
			static const char *const part[] = {"\u00e9", "\U0001F600", "\\"};
			unsigned width = i % 3 == 1 ? 2 : 1;
			if (units + width > 200)
				break;
			units += width;
			buf_adds(&want, part[i % 3]);
		}
		buf_adds(&fields, "\"}");
		assert_row(buf_cstr(&fields), buf_cstr(&want));
	}
}

/* Appends n entries; `parent` gives the parent of each. */
static void make_session(struct buf *lines, unsigned n, unsigned (*parent)(unsigned))
{
	buf_adds(lines, HEADER);
	for (unsigned i = 0; i < n; i++) {
		buf_addf(lines, "{\"type\":\"message\",\"id\":\"%u\",", i);
		if (i == 0)
			buf_adds(lines, "\"parentId\":null,");
		else
			buf_addf(lines, "\"parentId\":\"%u\",", parent(i));
		buf_adds(lines, "\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
	}
}

static unsigned deep(unsigned i)
{
	return i < 2 ? 0 : (i - 1) / 2 * 2; /* each even entry has two children, the second of which has children */
}

static unsigned wide(unsigned i)
{
	(void)i;
	return 0;
}

static void deep_and_wide_trees(void **state)
{
	unsigned (*const shapes[])(unsigned) = {deep, wide};
	enum { N = 20000 };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct buf lines CLEANUP_BUF = BUF_INIT;
		struct buf out CLEANUP_BUF = BUF_INIT;
		struct fixture f;
		make_session(&lines, N, shapes[k]);
		fixture_open(&f, lines.p, lines.n);
		assert_int_equal(render_tree_txt(f.s, &out), 0);
		size_t rows = 0;
		for (size_t i = 0; i < out.n; i++)
			rows += out.p[i] == '\n';
		assert_int_equal(rows, N);
		assert_true(out.n < N * 400);
		fixture_close(&f);
	}
}

/* A row deeper than 64 levels begins with the number of levels not drawn. */
static void deep_rows_show_their_depth(void **state)
{
	struct buf lines CLEANUP_BUF = BUF_INIT;
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct fixture f;

	(void)state;
	make_session(&lines, 300, deep);
	fixture_open(&f, lines.p, lines.n);
	assert_int_equal(render_tree_txt(f.s, &out), 0);
	assert_non_null(strstr(buf_cstr(&out), "(1) "));
	const char *row = strstr(out.p, "\n298 ");
	assert_non_null(row);
	assert_memory_equal(row + 1, "298       (85) ", 15);
	fixture_close(&f);
}

#define DIM(text) "\x1b[2m" text "\x1b[m"
#define ID(text) "\x1b[33m" text "\x1b[m  "
#define HERE "\x1b[36m• \x1b[m"
#define LABEL(text) "\x1b[35m[" text "]\x1b[m "
#define FAILED "\x1b[31m\u2717 \x1b[m"
#define USER_SAYS "\x1b[1;36muser: \x1b[m"
#define ASSISTANT_SAYS "\x1b[32massistant: \x1b[m"
#define LEAF "  \x1b[1m<- leaf\x1b[m\n"

static void assert_coloured(const char *lines, const char *want)
{
	assert_renders(render_tree_coloured, lines, want);
}

/* The colours depend on the kind of the entry, not on its text. */
static void rows_for_a_terminal(void **state)
{
	(void)state;
	assert_coloured(HEADER, "");
	assert_coloured(
	    HEADER SAYS("a", "null", "01") CALLS("b", "\"a\"", "02") RESULT("c", "\"b\"", "03", ",\"isError\":true")
		ANSWERS("d", "\"c\"", "04", "\"content\":\"user: [bash]: \u2717 <- leaf\"")
		    AT("e", "\"c\"", "05",
	               "\"type\":\"message\",\"message\":{\"role\":\"bashExecution\",\"command\":\"ls\"}")
			AT("l", "\"e\"", "06", "\"type\":\"label\",\"targetId\":\"a\",\"label\":\"x\""),
	    ID("a       ") HERE LABEL("x") USER_SAYS "a!\n"          /**/
	    ID("c       ") HERE FAILED DIM("[ls]") "\n"              /**/
	    ID("e       ") DIM("├─ ") HERE DIM("[bash]: ") "ls" LEAF /**/
		ID("d       ") DIM("└─ ") ASSISTANT_SAYS "user: [bash]: \u2717 <- leaf\n");
}

/* Control characters in a text, a label, a tool name and an id, including those above U+0080, which tree.txt keeps. */
static void control_characters_do_not_reach_terminal(void **state)
{
	(void)state;
	const char *lines = HEADER AT(
	    "a\\u009b2J", "null", "01",
	    "\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"\\u001b[2J\\u009b2J\\u009d0;x\"}")
	    AT("b", "\"a\\u009b2J\"", "02",
	       "\"type\":\"message\",\"message\":{\"role\":\"toolResult\",\"toolName\":\"\\u009b31m\\u0007\"}")
		AT("l", "\"b\"", "03",
	           "\"type\":\"label\",\"targetId\":\"b\",\"label\":\"\\u001b]0;"
	           "x\\u0007\\u0080\\u009f\\u00a0\\u007f\"");
	assert_coloured(lines, ID("a?2J   ") HERE USER_SAYS "[2J 2J 0;x\n" /**/
	                ID("b       ") HERE LABEL(" ]0;x   \u00a0 ") DIM("[ 31m ]") LEAF);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(branches_are_drawn_in_order),
	    cmocka_unit_test(siblings_without_a_time_stay_in_place),
	    cmocka_unit_test(cycles_come_last),
	    cmocka_unit_test(textless_answers_are_hidden),
	    cmocka_unit_test(message_rows_show_text),
	    cmocka_unit_test(rows_of_other_types),
	    cmocka_unit_test(rows_of_calls),
	    cmocka_unit_test(tree_rows_are_cut),
	    cmocka_unit_test(rows_for_a_terminal),
	    cmocka_unit_test(control_characters_do_not_reach_terminal),
	    cmocka_unit_test(deep_and_wide_trees),
	    cmocka_unit_test(deep_rows_show_their_depth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
