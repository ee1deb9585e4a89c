/* SPDX-License-Identifier: MIT */
/* Writing what the model is sent instead of an entry: entries/ID/context.json. After each step the lines added to the
 * session file are compared. */
#include "cases.h"
#include "write_fixture.h"

#define TEXT_X JSON(SAY("x"))
#define THINKING_X JSON(THINKING("x"))
#define CALL_X JSON(CALL("i", "n", ))
#define IMAGE_X JSON(IMAGE("image/png", "AA=="))

/* An entry of each role that pi edits. */
#define ROLES                                                                                                          \
	AS_IS( \
  HEADER USER("u", null, "hi") \
  "{\"type\":\"message\",\"id\":\"s\",\"parentId\":\"u\",\"message\":{\"role\":\"assistant\",\"content\":[" THINKING_X "," TEXT_X "]}}\n" \
  MESSAGE("r", "s", "role":"toolResult","toolCallId":"i") \
  LINE({"type":"custom_message","id":"m","parentId":"r","customType":"t","content":"x"}))

FIXTURE_CASE(omitted_and_restored)
{
	begin(p, ABC);
	assert_missing(p, A "/context.json");
	assert_int_equal(put(p, A, "context.json", "null\n"), 0);
	assert_added(p, EDIT("@0", "c", "a", null));
	assert_reads(p, A "/context.json", "null\n");
	assert_mode(p, A "/context.json", S_IFREG | 0644);
	assert_has(p, S "/context.json",
	    "{\"messages\":[\n"
	    LINE({"role":"user","content":"hi"},) LINE({"role":"user","content":"hi"}) "]");
	assert_int_equal(put(p, A, "context.json", " null"), 0);
	assert_added(p, "");
	assert_int_equal(take(p, A, "context.json"), 0);
	assert_missing(p, A "/context.json");
	assert_int_equal(take(p, A, "context.json"), -ENOENT);
	/* Restored by its own content. */
	assert_int_equal(put(p, A, "context.json", LINE("other")), 0);
	assert_reads(p, A "/context.json", LINE("other"));
	assert_int_equal(put(p, A, "context.json", LINE("\u0068i")), 0);
	assert_missing(p, A "/context.json");
	assert_int_equal(put(p, A, "context.json", LINE("hi")), 0);
	assert_int_equal(put(p, B, "context.json", LINE("hi")), 0);
	wait_seen(p);
	assert_has(p, S "/session.jsonl", ABC);
	p->seen = strlen(ABC);
	assert_added(p,
	    EDIT("@0", "c", "a", null) EDIT("@1", "@0", "a", {"content":"hi"})
	    EDIT("@2", "@1", "a", {"content":"other"}) EDIT("@3", "@2", "a", {"content":"\u0068i"}));
}

/* Without a content there is an empty one; bytes that are not UTF-8 are written as pi reads them. */
FIXTURE_CASE(own_content_is_as_pi_sends_it)
{
	begin(p, ROLES);
	assert_int_equal(put(p, S "/entries/r", "context.json", "[]\n"), 0);
	assert_added(p, "");
	assert_int_equal(put(p, S "/entries/r", "context.json", "null\n"), 0);
	assert_int_equal(take(p, S "/entries/r", "context.json"), 0);
	assert_added(p, EDIT("@0", "m", "r", null) EDIT("@1", "@0", "r", {"content":[]}));
	end(p);
	begin(p,
	    HEADER
	    "{\"type\":\"message\",\"id\":\"u\",\"parentId\":\"\",\"message\":{\"role\":\"user\",\"content\":[ {\"type\":\"text\", \"text\":\"a\xff\"}]}}\n");
	assert_int_equal(put(p, S "/entries/u", "context.json", "null\n"), 0);
	assert_int_equal(take(p, S "/entries/u", "context.json"), 0);
	assert_added(p, EDIT("@0", "u", "u", null) EDIT("@1", "@0", "u", {"content":[SAY("a�")]}));
	assert_missing(p, S "/entries/u/context.json");
}

/* Blocks are stored without white space, and shown indented; a saved file is unchanged. */
FIXTURE_CASE(blocks_read_back)
{
	static const char shown[] = "[\n"
				    "  {\n"
				    "    \"type\": \"text\",\n"
				    "    \"text\": \"x\"\n"
				    "  }\n"
				    "]\n";
	begin(p, ROLES);
	assert_int_equal(put(p, S "/entries/s", "context.json", "\xef\xbb\xbf[ " TEXT_X "\r\n]"), 0);
	assert_added(p,
	    "{\"type\":\"context_edit\",\"id\":\"@0\",\"parentId\":\"m\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"targetId\":\"s\",\"replacement\":{\"content\":[" TEXT_X "]}}\n");
	assert_reads(p, S "/entries/s/context.json", shown);
	assert_int_equal(put(p, S "/entries/s", "context.json", shown), 0);
	assert_int_equal(put(p, S "/entries/s", "context.json", "[" TEXT_X "]"), 0);
	/* An editor renames the old file, and a new one to its name. */
	assert_int_equal(move(p, S "/entries/s", "context.json", S "/entries/s", "context.json~"), 0);
	assert_missing(p, S "/entries/s/context.json");
	assert_int_equal(move(p, S "/entries/s", "context.json~", S "/entries/s", "context.json"), 0);
	assert_reads(p, S "/entries/s/context.json", shown);
	assert_added(p, "");
	assert_int_equal(put(p, S "/entries/s", "new", "[" CALL_X "," THINKING_X "]\n"), 0);
	assert_int_equal(move(p, S "/entries/s", "new", S "/entries/s", "context.json"), 0);
	assert_added(p,
	    "{\"type\":\"context_edit\",\"id\":\"@0\",\"parentId\":\"@1\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"targetId\":\"s\",\"replacement\":{\"content\":[" CALL_X "," THINKING_X "]}}\n");
}

/* Which values each role takes. */
FIXTURE_CASE(values_by_role)
{
	static const struct {
		const char *value, *roles; /* that accept it */
	} cases[] = ITEMS(
	    {"null", "usrm"},
	    {JSON(""), "usrm"},
	    {"[]", "usm"},
	    /* r sends it already */
	    {"[" TEXT_X "]", "usrm"},
	    {"[" IMAGE_X "," TEXT_X "]", "urm"},
	    {"[" THINKING_X "]", "s"},
	    {"[" CALL_X "]", "s"},
	    {"[" TEXT_X ",{\"type\":\"toolResult\"}]", ""},
	    {JSON([{"type":"text"}]), ""},
	    {JSON([{"type":"text","text":null}]), ""},
	    {JSON([{"type":"thinking"}]), ""},
	    {JSON([{"type":"image","data":"AA=="}]), ""},
	    {JSON([{"type":"toolCall","id":"i","name":"n","arguments":"{}"}]), ""},
	    {"[1]", ""},
	    {"[" TEXT_X ",\"x\"]", ""},
	    {"[null]", ""},
	    {JSON({"content":[]}), ""},
	    {"true", ""},
	    {"7", ""},
	    {"nul", ""},
	    {"null null", ""},
	    {"[", ""},
	    {"", ""},
	    {" ", ""});
	char dir[64];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (const char *role = "usrm"; *role; role++) {
			struct stat before, after;
			begin(p, ROLES);
			assert_int_equal(stat(p->file, &before), 0);
			snprintf(dir, sizeof dir, S "/entries/%c", *role);
			int rc = put(p, dir, "side", cases[i].value);
			assert_int_equal(rc, 0);
			rc = move(p, dir, "side", dir, "context.json");
			bool taken = strchr(cases[i].roles, *role);
			if (rc != (taken || (*role == 'r' && strcmp(cases[i].value, "[]") == 0) ? 0 : -EPERM))
				fail_msg("%s of %c: %d", cases[i].value, *role, rc);
			assert_int_equal(stat(p->file, &after), 0);
			assert_int_equal(after.st_size > before.st_size, taken);
			end(p);
		}
	}
}

/* A line is refused when it is written, since a shell ignores errors of close(2). */
FIXTURE_CASE(refusals_have_reasons)
{
	static const char branch[] =
	    "Z entries/c/context.json: not on the branch in use; first move the leaf to an entry "
	    "below it: ln -sfn entries/ID leaf (EINVAL)\n";
	CLEANUP_BUF struct buf long_text = BUF_INIT;
	struct tree_handle *h;
	struct tree_attr leaf;
	begin(p, ABC USER("d", "b", "hi") CUSTOM("e", "d") MESSAGE("f", "e", "role":"bashExecution"));
	assert_int_equal(open_create(p, S "/entries/c", "context.json", false, &h), 0);
	assert_int_equal(tree_write(p->tree, h, SPAN_LIT("null\n"), 0, &who), -EINVAL);
	assert_int_equal(tree_flush(p->tree, h, &who), -EINVAL);
	tree_release(p->tree, h);
	assert_has(p, S "/errors", branch);
	assert_int_equal(put(p, A, "context.json", "nul\n"), -EINVAL);
	assert_has(p, S "/errors",
	           "Z entries/a/context.json: not null, a JSON string or an array of blocks (EINVAL)\n");
	assert_int_equal(put(p, A, "context.json", "[{}]\n"), -EINVAL);
	assert_has(p, S "/errors", "a block is not a text or image with its fields (EINVAL)\n");
	assert_int_equal(put(p, S "/entries/e", "context.json", "null\n"), -EINVAL);
	assert_int_equal(put(p, S "/entries/f", "context.json", "null"), -EINVAL);
	assert_has(
	    p, S "/errors",
	    "Z entries/f/context.json: not a user, assistant or toolResult message, nor a custom_message (EINVAL)\n");
	buf_addc(&long_text, '"');
	for (size_t i = 0; i < (1 << 20) - 2; i++)
		buf_addc(&long_text, 'x');
	buf_addc(&long_text, '"');
	assert_added(p, "");
	assert_int_equal(put_bytes(p, A, "context.json", buf_span(&long_text)), 0);
	p->seen += sizeof LINE({"type":"context_edit","id":"12345678","parentId":"f","timestamp":TIME,"targetId":"a","replacement":}) -
	                        1 + sizeof JSON({"content":}) - 1 + (1 << 20);
	buf_addc(&long_text, ' ');
	who.pid++;
	assert_int_equal(put_bytes(p, A, "context.json", buf_span(&long_text)), -EFBIG);
	assert_added(p, "");
	end(p);
	begin_mode(p, ABC, 0644, true);
	assert_int_equal(put(p, A, "context.json", "null\n"), -EROFS);
	end(p);
	begin(p, HEADER_V1 V1("message"));
	assert_int_equal(tree_resolve(p->tree, S "/leaf", true, &leaf), 0);
	assert_int_equal(open_in(p, leaf.node, "context.json", false, &h), -EPERM);
	assert_added(p, "");
}

/* The views of people show what was said, with a mark; a page also what is sent. */
FIXTURE_CASE(views_mark_edited_entries)
{
	begin(p, ABC);
	assert_has(p, S "/chat.md", "## user \u00b7 2026-01-02 03:04Z \u00b7 a\n\nhi\n");
	assert_int_equal(put(p, A, "context.json", "null\n"), 0);
	assert_int_equal(put(p, B, "context.json", LINE("<b>")), 0);
	assert_has(p, S "/tree.txt",
	           "a         \u2022 \u270e user: hi\nb         \u2022 \u270e user: hi\nc         \u2022 user: hi");
	assert_has(p, S "/chat.md", "## user \u00b7 2026-01-02 03:04Z \u00b7 left out \u00b7 a\n\nhi\n");
	assert_has(p, S "/branches/c/chat.md", "\u00b7 edited \u00b7 b\n");
	assert_has(p, "html/p/s.html", "<strong>left out</strong>");
	assert_has(p, "html/p/s.html", "<strong>edited</strong>");
	assert_has(p, "html/p/s.html", "<p class=\"cut\">Not sent to the model</p>\n</article>");
	assert_has(p, "html/p/s.html",
	           "<details><summary>The model is sent instead</summary>\n<pre "
	           "class=\"language-json\">\n&quot;&lt;b&gt;&quot;</pre>");
	/* Elsewhere there are no edits, whatever was shown before. */
	assert_int_equal(force_link(p, S, "leaf", "entries/c"), 0);
	assert_has(p, S "/tree.txt", "a         \u2022 user: hi\n");
	assert_has(p, S "/chat.md", "03:04Z \u00b7 b\n");
	assert_has(p, S "/branches/c/chat.md", "03:04Z \u00b7 b\n");
}

/* A line of pi that continues another branch: the edit is not used any more. */
FIXTURE_CASE(marks_follow_branch_in_use)
{
	static const char more[] = CUSTOM("m", "x");
	begin(p, HEADER USER("a", null, "hi") USER("x", "a", "hi") USER("b", "a", "hi"));
	assert_int_equal(put(p, A, "context.json", "null\n"), 0);
	assert_has(p, S "/branches/x/chat.md", "\u00b7 left out \u00b7 a\n");
	write_at(p->file, O_APPEND, more, sizeof more - 1);
	wait_seen(p);
	assert_has(p, S "/branches/x/chat.md", "03:04Z \u00b7 a\n");
}

/* An edit counts on its branch only, also when the leaf moves there and back. */
FIXTURE_CASE(each_branch_has_its_edits)
{
	begin(p, ABC);
	assert_int_equal(put(p, A, "context.json", "null\n"), 0);
	assert_int_equal(put(p, B, "context.json", LINE("x")), 0);
	assert_added(p, EDIT("@0", "c", "a", null) EDIT("@1", "@0", "b", {"content":"x"}));
	assert_int_equal(force_link(p, S, "leaf", "entries/b"), 0);
	assert_missing(p, A "/context.json");
	assert_missing(p, B "/context.json");
	assert_int_equal(put(p, A, "context.json", LINE("y")), 0);
	assert_reads(p, A "/context.json", LINE("y"));
	assert_int_equal(force_link(p, S, "leaf", "entries/c"), 0);
	assert_missing(p, A "/context.json");
	/* To the last edit of the first branch. */
	CLEANUP_BUF struct buf lines = BUF_INIT;
	assert_true(read_file(p->file, &lines));
	const char *id = buf_cstr(&lines);
	id = strstr(id, "context_edit");
	id = strstr(strstr(id + 1, "context_edit"), "\"id\":\"") + 6;
	char target[32];
	snprintf(target, sizeof target, "entries/%.8s", id);
	assert_int_equal(force_link(p, S, "leaf", target), 0);
	assert_reads(p, A "/context.json", "null\n");
	assert_reads(p, B "/context.json", LINE("x"));
}

/* By other programs: without a content, or of entries that pi does not edit; the newest counts. */
FIXTURE_CASE(edits_by_others)
{
	begin(p,
	    ABC EDIT("e1", "c", "a", {}) EDIT("e2", "e1", "b", null) EDIT("e3", "e2", "b", {"content":"b"})
	    EDIT("e4", "e3", "c", {"content":null}) EDIT("e5", "e4", "none", null));
	assert_missing(p, A "/context.json");
	assert_missing(p, S "/entries/c/context.json");
	assert_reads(p, B "/context.json", LINE("b"));
	static const char more[] = EDIT("e6", "e5", "b", null);
	write_at(p->file, O_APPEND, more, sizeof more - 1);
	wait_seen(p);
	assert_reads(p, B "/context.json", "null\n");
	/* The id gets to a later line, which the edit changes then. */
	static const char late[] = USER("none", "e6", "hi");
	write_at(p->file, O_APPEND, late, sizeof late - 1);
	wait_seen(p);
	assert_reads(p, S "/entries/none/context.json", "null\n");
}

RUN_CASES(expect_refusals, NULL)
