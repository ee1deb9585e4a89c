/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "../../src/render/text.h"
#include "render_fixture.h"

static void assert_tree(const char *lines, const char *want)
{
	assert_renders(render_tree_txt, lines, want);
}

/* By time, the branch of the leaf first; equal times in file order; metadata entries are bridged. */
CASE(branches_are_drawn_in_order)
{
	assert_tree(HEADER USER_AT("a", null, "2026-01-01T00:00:01Z", "a!")
	    USER_AT("d", "a", "2026-01-01T00:00:09Z", "d!") USER_AT("c", "a", "2026-01-01T00:00:03Z", "c!")
	    USER_AT("b", "a", "2026-01-01T00:00:03Z", "b!")
	    ENTRY_AT("custom", "n", "a", "2026-01-01T00:00:02Z", "customType":"n")
	    USER_AT("e", "n", "2026-01-01T00:00:04Z", "e!") USER_AT("f", "e", "2026-01-01T00:00:05Z", "f!")
	    USER_AT("g", "d", "2026-01-01T00:00:06Z", "g!") USER_AT("h", "d", "2026-01-01T00:00:05Z", "h!"),
	    "a         • user: a!\n"
	    "d         ├─ • user: d!\n"
	    "h         │  ├─ • user: h!  <- leaf\n"
	    "g         │  └─ user: g!\n"
	    "e         ├─ user: e!\n"
	    "f         │     user: f!\n"
	    "c         ├─ user: c!\n"
	    "b         └─ user: b!\n");
}

CASE(siblings_without_a_time_stay_in_place)
{
	assert_tree(HEADER USER_AT("a", null, "2026-01-01T00:00:01Z", "a!")
	    USER_AT("d", "a", "2026-01-01T00:00:07Z", "d!") USER_AT("b", "a", "2026-01-01T00:00:xxZ", "b!")
	    USER_AT("c", "a", "2026-01-01T00:00:05Z", "c!")
	    ENTRY_AT("custom", "n", null, "2026-01-01T00:00:05Z", "customType":"n"),
	    "a         user: a!\n"
	    "c         ├─ user: c!\n"
	    "d         ├─ user: d!\n"
	    "b         └─ user: b!\n");
}

CASE(cycles_come_last)
{
	assert_tree(HEADER USER_AT("t", "y", "2026-01-01T00:00:01Z", "t!")
	    USER_AT("x", "z", "2026-01-01T00:00:02Z", "x!") USER_AT("y", "x", "2026-01-01T00:00:03Z", "y!")
	    USER_AT("z", "y", "2026-01-01T00:00:04Z", "z!") USER_AT("s", "s", "2026-01-01T00:00:05Z", "s!")
	    USER_AT("a", "s", "2026-01-01T00:00:06Z", "a!"),
	    "s         • user: s!\n"
	    "a            • user: a!  <- leaf\n"
	    "x         user: x!\n"
	    "y            user: y!\n"
	    "t            ├─ user: t!\n"
	    "z            └─ user: z!\n");
}

#define CALLS_ONLY(id, parent, time)                                                                                   \
	MESSAGE_AT(id, parent, time, "role":"assistant","content":[SAY(" \n"),CALL(id, "ls", )],"stopReason":"toolUse")

/* As in pi's /tree: the children of an answer that only calls tools are shown below the row above it. */
CASE(textless_answers_are_hidden)
{
	assert_tree(HEADER USER_AT("a", null, "2026-01-01T00:00:01Z", "a!") CALLS_ONLY("b", "a", "2026-01-01T00:00:02Z")
	    MESSAGE_AT("c", "b", "2026-01-01T00:00:03Z", "role":"toolResult","toolCallId":"b","content":[])
	    CALLS_ONLY("d", "c", "2026-01-01T00:00:04Z")
	    MESSAGE_AT("e", "d", "2026-01-01T00:00:05Z", "role":"toolResult","toolCallId":"d","content":[]),
	    "a         • user: a!\n"
	    "c         • [ls]\n"
	    "e         • [ls]  <- leaf\n");
	/* The leaf is shown, and every entry with a label. */
	assert_tree(HEADER USER_AT("a", null, "2026-01-01T00:00:01Z", "a!") CALLS_ONLY("b", "a", "2026-01-01T00:00:02Z")
	    CALLS_ONLY("c", "b", "2026-01-01T00:00:03Z") CALLS_ONLY("d", "c", "2026-01-01T00:00:04Z")
	    ENTRY_AT("label", "l", "d", "2026-01-01T00:00:05Z", "targetId":"b","label":"x"),
	    "a         • user: a!\n"
	    "b         • [x] assistant: (no content)\n"
	    "d         • assistant: (no content)  <- leaf\n");
	/* Its two branches become branches of the row above, in the same order. */
	assert_tree(HEADER USER_AT("a", null, "2026-01-01T00:00:01Z", "a!")
	    USER_AT("x", "a", "2026-01-01T00:00:03Z", "x!") CALLS_ONLY("b", "a", "2026-01-01T00:00:02Z")
	    MESSAGE_AT("c", "b", "2026-01-01T00:00:09Z", "role":"toolResult","toolCallId":"b","content":[])
	    MESSAGE_AT("d", "b", "2026-01-01T00:00:04Z", "role":"toolResult","toolCallId":"b","content":[])
	    USER_AT("e", "x", "2026-01-01T00:00:05Z", "e!"),
	    "a         • user: a!\n"
	    "x         ├─ • user: x!\n"
	    "e         │     • user: e!  <- leaf\n"
	    "d         ├─ [ls]\n"
	    "c         └─ [ls]\n");
	/* If a root is left out, its children become roots. */
	assert_tree(HEADER CALLS_ONLY("b", null, "2026-01-01T00:00:01Z") USER_AT("c", "b", "2026-01-01T00:00:02Z", "c!")
	    USER_AT("d", "b", "2026-01-01T00:00:03Z", "d!"),
	    "d         • user: d!  <- leaf\n"
	    "c         user: c!\n");
	assert_tree(HEADER CALLS_ONLY("b", null, "2026-01-01T00:00:01Z")
	    ENTRY_AT("custom", "n", "b", "2026-01-01T00:00:02Z", "customType":"n"),
	    "b         • assistant: (no content)  <- leaf\n");
}

CASE(failures_are_marked)
{
	assert_tree(HEADER
	    MESSAGE_AT("a", null, "2026-01-01T00:00:01Z", "role":"assistant","content":[],"stopReason":"error",
	        "errorMessage":"busy")
	    MESSAGE_AT("b", "a", "2026-01-01T00:00:02Z", "role":"assistant","content":"x","stopReason":"aborted")
	    MESSAGE_AT("c", "b", "2026-01-01T00:00:03Z", "role":"assistant","content":[],"stopReason":"length")
	    CALLS_ONLY("d", "c", "2026-01-01T00:00:04Z")
	    MESSAGE_AT("e", "d", "2026-01-01T00:00:05Z", "role":"toolResult","toolCallId":"d","content":[],
	        "isError":true)
	    MESSAGE_AT("f", "e", "2026-01-01T00:00:06Z", "role":"bashExecution","command":"false","exitCode":1)
	    ENTRY_AT("label", "l", "f", "2026-01-01T00:00:07Z", "targetId":"e","label":"x"),
	    "a         • \u2717 assistant: busy\n"
	    "b         • \u2717 assistant: x\n"
	    "c         • \u2717 assistant: (no content)\n"
	    "e         • [x] \u2717 [ls]\n"
	    "f         • \u2717 [bash]: false  <- leaf\n");
}

/* The line of the last entry in tree.txt, without a newline. */
static int last_line(const struct session *s, struct buf *out)
{
	struct row_source src CLEANUP(row_source_release);

	row_source_init(&src, s);
	return row_add_text(&src, session_count(s) - 1, out);
}

static void assert_row(const char *fields, const char *want)
{
	struct buf line CLEANUP_BUF = BUF_INIT;

	buf_addf(&line, HEADER LINE({"id":"a","parentId":null,%s}), fields);
	assert_renders(last_line, buf_cstr(&line), want);
}

CASE(message_rows_show_text)
{
	assert_row(
	    JSON("type":"message","message":{"role":"user","content":[{"type":"text","text":" a\n"},
	        {"type":"text","text":"b\t"}]}),
	    "user: a b");
	assert_row(JSON("type":"message","message":{"role":"user","content":7}), "user: ");
	assert_row(JSON("type":"message","message":{"role":"assistant","content":"x","stopReason":"aborted"}),
	    "assistant: x");
	assert_row(JSON("type":"message","message":{"role":"assistant","content":[],"stopReason":"aborted"}),
	    "assistant: (aborted)");
	assert_row(
	    JSON("type":"message","message":{"role":"assistant","content":[],"stopReason":"error",
	        "errorMessage":"bad\n0123456789012345678901234567890123456789012345678901234567890123456789123456789"}),
	    "assistant: bad 0123456789012345678901234567890123456789012345678901234567890123456789123456");
	assert_row(JSON("type":"message","message":{"role":"assistant","content":null}), "assistant: (no content)");
	assert_row(
	    JSON("type":"message","message":{"role":"toolResult","toolCallId":"x","toolName":"read","content":[]}),
	    "[read]");
	assert_row(JSON("type":"message","message":{"role":"toolResult","content":[]}), "[tool]");
	assert_row(JSON("type":"message","message":{"role":"bashExecution","command":" ls\n-l ","output":"x"}),
	    "[bash]: ls -l");
	assert_row(JSON("type":"message","message":{"role":"system","content":"x"}), "[system]");
	assert_row(JSON("type":"message","message":{"role":"new\nrole"}), "[new role]");
}

CASE(rows_of_other_types)
{
	assert_row(JSON("type":"custom_message","customType":"t","content":"x\ny"), "[t]: x y");
	assert_row(JSON("type":"compaction","summary":"s","tokensBefore":1500), "[compaction: 2k tokens]");
	assert_row(JSON("type":"compaction","summary":"s","tokensBefore":1499.9), "[compaction: 1k tokens]");
	assert_row(JSON("type":"compaction","summary":"s"), "[compaction]");
	assert_row(JSON("type":"branch_summary","summary":"s\n"), "[branch summary]: s");
	assert_row(JSON("type":"model_change","provider":"p","modelId":"m"), "[model: m]");
	assert_row(JSON("type":"thinking_level_change","thinkingLevel":"high"), "[thinking: high]");
	assert_row(JSON("type":"custom","customType":"c"), "[custom: c]");
	assert_row(JSON("type":"context_edit","targetId":"t","replacement":null), "[context omit: t]");
	assert_row(JSON("type":"context_edit","targetId":"t","replacement":{}), "[context replace: t]");
	assert_row(JSON("type":"label","targetId":"t","label":"l"), "[label: l]");
	assert_row(JSON("type":"label","targetId":"t"), "[label: (cleared)]");
	assert_row(JSON("type":"session_info","name":"n"), "[title: n]");
	assert_row(JSON("type":"session_info"), "[title: empty]");
	assert_row(JSON("type":"strange"), "");
}

/* Asserts the row of a tool result that answers this call. */
static void assert_call(const char *call, const char *want)
{
	struct buf lines CLEANUP_BUF = BUF_INIT;

	buf_addf(&lines,
	         HEADER LINE({"id":"a","parentId":null,"type":"message","message":{"role":"assistant",
	        "content":[{"type":"text","text":"x"},{"type":"toolCall","id":"0","name":"no"},{"type":"toolCall","id":"1",%s}]}}),
	                                 call);
	buf_adds(&lines, MESSAGE("b", "a", "role":"toolResult","toolCallId":"1","toolName":"t","content":[]));
	assert_renders(last_line, buf_cstr(&lines), want);
}

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
CASE(rows_of_calls)
{
	assert_call(JSON("name":"read","arguments":{"path":"/a/b"}), "[read /a/b]");
	assert_call(JSON("name":"read","arguments":{"file_path":"/a","offset":3}), "[read /a:3]");
	assert_call(JSON("name":"write","arguments":{"path":"a\nb"}), "[write a b]");
	assert_call(JSON("name":"edit","arguments":{}), "[edit]");
	assert_edit(4, "[edit a.c +4 -4]");
	assert_edit(20000, "[edit a.c +20000 -20000]");
	assert_call(JSON("name":"bash","arguments":{"command":" ls\t-l\n"}), "[bash ls -l]");
	assert_call(JSON("name":"grep","arguments":{"pattern":"x","path":"p"}), "[grep x p]");
	assert_call(JSON("name":"own","arguments":{ "a b" : [1, "\" x"] }), "[own \" x]");
	assert_call(JSON("name":"own"), "[own]");
}

/* Texts are cut at 200 UTF-16 units, wherever escapes are. */
CASE(tree_rows_are_cut)
{
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

/* Renders a session of n entries; `parent` gives the parent of each. */
static void render_shape(unsigned n, unsigned (*parent)(unsigned), struct buf *out)
{
	struct buf lines CLEANUP_BUF = BUF_INIT;
	CLEANUP_OPENED struct fixture f;

	buf_adds(&lines, HEADER USER("0", null, "x"));
	for (unsigned i = 1; i < n; i++)
		buf_addf(&lines, USER("%u", "%u", "x"), i, parent(i));
	fixture_open(&f, lines.p, lines.n);
	assert_int_equal(render_tree_txt(f.s, out), 0);
}

static unsigned deep(unsigned i)
{
	return i < 2 ? 0 : (i - 1) / 2 * 2; /* each even entry has two children, the second of which has children */
}

static unsigned wide(unsigned i)
{
	return 0;
}

CASE(deep_and_wide_trees)
{
	unsigned (*const shapes[])(unsigned) = {deep, wide};
	enum { N = 20000 };

	for (size_t k = 0; k < 2; k++) {
		struct buf out CLEANUP_BUF = BUF_INIT;
		render_shape(N, shapes[k], &out);
		size_t rows = 0;
		for (size_t i = 0; i < out.n; i++)
			rows += out.p[i] == '\n';
		assert_int_equal(rows, N);
		assert_true(out.n < N * 400);
	}
}

/* A row deeper than 64 levels begins with the number of levels not drawn. */
CASE(deep_rows_show_their_depth)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	render_shape(300, deep, &out);
	assert_non_null(strstr(buf_cstr(&out), "(1) "));
	const char *row = strstr(out.p, "\n298 ");
	assert_non_null(row);
	assert_memory_equal(row + 1, "298       (85) ", 15);
}

#define DIM(text) "\x1b[2m" text "\x1b[m"
#define ID(text) "\x1b[33m" text "\x1b[m  "
#define HERE "\x1b[36m• \x1b[m"
#define MARK(text) "\x1b[35m[" text "]\x1b[m "
#define FAILED "\x1b[31m\u2717 \x1b[m"
#define USER_SAYS "\x1b[1;36muser: \x1b[m"
#define ASSISTANT_SAYS "\x1b[32massistant: \x1b[m"
#define LEAF "  \x1b[1m<- leaf\x1b[m\n"

static void assert_coloured(const char *lines, const char *want)
{
	assert_renders(render_tree_coloured, lines, want);
}

/* The colours depend on the kind of the entry, not on its text. */
CASE(rows_for_a_terminal)
{
	assert_coloured(HEADER, "");
	assert_coloured(HEADER USER_AT("a", null, "2026-01-01T00:00:01Z", "a!")
	    CALLS_ONLY("b", "a", "2026-01-01T00:00:02Z")
	    MESSAGE_AT("c", "b", "2026-01-01T00:00:03Z", "role":"toolResult","toolCallId":"b","content":[],
	        "isError":true)
	    MESSAGE_AT("d", "c", "2026-01-01T00:00:04Z", "role":"assistant","content":"user: [bash]: ✗ <- leaf")
	    MESSAGE_AT("e", "c", "2026-01-01T00:00:05Z", "role":"bashExecution","command":"ls")
	    ENTRY_AT("label", "l", "e", "2026-01-01T00:00:06Z", "targetId":"a","label":"x"),
	    ID("a       ") HERE MARK("x") USER_SAYS "a!\n" /**/
	    ID("c       ") HERE FAILED DIM("[ls]") "\n" /**/
	    ID("e       ") DIM("├─ ") HERE DIM("[bash]: ") "ls" LEAF /**/
	    ID("d       ") DIM("└─ ") ASSISTANT_SAYS "user: [bash]: \u2717 <- leaf\n");
}

/* Control characters in a text, a label, a tool name and an id, including those above U+0080, which tree.txt keeps. */
CASE(control_characters_do_not_reach_terminal)
{
	const char *lines =
	    AS_IS(HEADER
	    USER_AT("a\u009b2J", null, "2026-01-01T00:00:01Z", "\u001b[2J\u009b2J\u009d0;x")
	    MESSAGE_AT("b", "a\u009b2J", "2026-01-01T00:00:02Z", "role":"toolResult","toolName":"\u009b31m\u0007")
	    ENTRY_AT("label", "l", "b", "2026-01-01T00:00:03Z", "targetId":"b",
	        "label":"\u001b]0;x\u0007\u0080\u009f\u00a0\u007f"));
	assert_coloured(lines,
	    ID("a?2J   ") HERE USER_SAYS "[2J 2J 0;x\n" /**/
	    ID("b       ") HERE MARK(" ]0;x   \u00a0 ") DIM("[ 31m ]") LEAF);
}

RUN_CASES(NULL, NULL)
