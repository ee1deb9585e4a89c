/* SPDX-License-Identifier: MIT */
/* match: the entries that a query finds, and their lines. */
#include "cases.h"
#include "session_fixture.h"
#include "find_fixture.h"
#include "seed.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/utf8.h"

#define HEAD(id) "{\"type\":\"message\",\"id\":\"" id "\",\"timestamp\":\"2026-03-0" id "T12:00:00Z\",\"message\":"

static const char *const text =
    HEADER HEAD("1") "{\"role\":\"user\",\"content\":\"Hello \\\"world\\\"\\nTwo Words\\/here k\"}}\n" /* 0 */
    HEAD("2") "{\"role\":\"assistant\",\"provider\":\"acme\",\"model\":\"Big/1\",\"content\":["
	      "{\"type\":\"thinking\",\"thinking\":\"hmm hello\"},{\"type\":\"text\",\"text\":\"Sure.\"},"
	      "{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"Bash\",\"arguments\":"
	      "{\"command\":\"ls -l\\nhello\",\"list\":[1, 2,\"a\\u0062c\"]}}]}}\n" /* 1 */
    HEAD("3") "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"toolName\":\"bash\",\"isError\":true,\"content\":"
	      "[{\"type\":\"text\",\"text\":\"\"}]}}\n" /* 2 */
    HEAD("4") "{\"role\":\"bashExecution\",\"command\":\"make\",\"output\":\"\xc3\x89t\\u00e9 \\ud83d\\ude00\","
	      "\"exitCode\":2}}\n"                                                                      /* 3 */
	      "{\"type\":\"label\",\"id\":\"5\",\"targetId\":\"1\",\"label\":\"Works Fine\"}\n"         /* 4 */
	      "{\"type\":\"session_info\",\"id\":\"6\",\"name\":\"  The Name \"}\n"                     /* 5 */
	      "{\"type\":\"model_change\",\"id\":\"7\",\"provider\":\"other\",\"modelId\":\"small\"}\n" /* 6 */
	      "[\"no object\"]\n"                                                                       /* 7 */
    HEAD("8") "{\"role\":\"assistant\",\"stopReason\":\"aborted\",\"content\":\"\\u017felf \\u212Aey \\u0000\"}}\n" /* 8
                                                                                                                     */
    ;

/* Asserts the numbers of the entries that a query finds. */
static void assert_finds(const struct session *s, const char *query, const char *want)
{
	CLEANUP_BUF struct buf got = BUF_INIT;

	match_all(s, span_of(query), &got);
	if (!span_is(buf_span(&got), want))
		fail_msg("%s: found `%.*s`, not `%s`", query, (int)got.n, got.p, want);
}

struct found_entries {
	const char *query, *want;
};

struct found_lines {
	const char *query;
	uint32_t entry;
	const char *want;
};

static void assert_lines(const struct session *s, const struct found_lines *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP_BUF struct buf got = BUF_INIT;
		lines_of(s, rows[i].query, rows[i].entry, &got);
		if (!span_is(buf_span(&got), rows[i].want))
			fail_msg("%s: `%.*s`, not `%s`", rows[i].query, (int)got.n, got.p, rows[i].want);
	}
}

CASE(matching_entries_are_found)
{
	static const struct found_entries rows[] = {
	    {"hello", "0 1 "},
	    {"HELLO world", "0 "},
	    {"\"hello \"", "0 "},
	    {"words/HERE", "0 "},
	    {"\"Words/here K\"", "0 "},
	    {"\"world two\"", ""},
	    {"hello -world", "1 "},
	    {"-hello", "2 3 4 5 6 7 8 "},
	    {"\"command: ls\"", "1 "},
	    {"command:", "1 "},
	    {"\": ls\"", "1 "},
	    {"[1,2", "1 "},
	    {"2,", "1 "},
	    {"a\\u0062c", "1 "},
	    {"abc", ""},
	    {"list:", "1 "},
	    {"\"list: [\"", "1 "},
	    {"error", "2 "},
	    {"\"$ make\"", "3 "},
	    {"$", "3 "},
	    {"\"$ \"", "3 "},
	    {"2", "1 3 "},
	    {"word:hell", ""},
	    {"word:HELLO", "0 1 "},
	    {"hell", "0 1 "},
	    {"word:\"words/here\"", "0 "},
	    {"word:ords", ""},
	    {"hello -word:world", "1 "},
	    {"what:said hello", "0 "},
	    {"what:thinking what:call hello", "1 "},
	    {"what:call", "1 "},
	    {"what:error", "2 3 8 "},
	    {"what:said", "0 1 8 "},
	    {"what:output", "3 "},
	    {"what:said make", ""},
	    {"what:output make", "3 "},
	    {"what:said what:output e", "0 1 3 8 "},
	    {"what:label", "4 "},
	    {"what:NAME", "5 "},
	    {"what:label name", ""},
	    {"what:thinking -hello", ""},
	    {"\xc3\xa9T\xc3\x89", "3 "},
	    {"\xf0\x9f\x98\x80", "3 "},
	    {"works", "4 "},
	    {"\"the name\"", "5 "},
	    {"\" the\"", ""},
	    {"aborted", "8 "},
	    {"self", "8 "},
	    {"KEY", "8 "},
	    {"\xe2\x84\xaa", "0 3 4 8 "},
	    {"\xe2\x90\x80", "8 "},
	    {"object", ""},
	    {"toolCall", ""},
	    {"acme", ""},
	    {"role:user", "0 "},
	    {"role:TOOLRESULT", "2 "},
	    {"role:tool", ""},
	    {"-role:assistant", "0 2 3 4 5 6 7 "},
	    {"type:label", "4 "},
	    {"type:message -role:assistant", "0 2 3 "},
	    {"type:Model_Change", "6 "},
	    {"tool:bash", "1 2 "},
	    {"tool:bas", ""},
	    {"-tool:bash role:assistant", "8 "},
	    {"tool:bash hello", "1 "},
	    {"model:big", "1 "},
	    {"model:acme/b", "1 "},
	    {"model:SMALL", "6 "},
	    {"model:/", "1 6 "},
	    {"model:e/big/1", "1 "},
	    {"label:\"works f\"", "0 "},
	    {"-label:works role:user", ""},
	    {"label:x", ""},
	    {"is:error", "2 3 8 "},
	    {"-is:error type:message", "0 1 "},
	    {"after:2026-03-03", "2 3 4 5 6 7 8 "},
	    {"title:x", "0 1 2 3 4 5 6 7 8 "},
	    {"hello self", ""},
	    {"hello self in:session", "0 1 8 "},
	    {"hello self make works in:session", "0 1 3 4 8 "},
	    {"hello nowhere in:session", ""},
	    {"hello in:session", "0 1 "},
	    {"in:session", "0 1 2 3 4 5 6 7 8 "},
	    {"in:session role:user", "0 "},
	    {"-hello in:session", "2 3 4 5 6 7 8 "},
	    /* A word can be in an entry that a filter or a negated word excludes. */
	    {"hello self in:session role:user", "0 "},
	    {"hello self in:session type:label", ""},
	    {"hello self in:session -world", "1 8 "},
	    {"hello self in:session -self", "0 1 "},
	    {"hello self in:session before:2026-03-03", "0 1 "},
	    {"hello self in:session tool:bash", "1 "},
	    {"\"hello \" \"two words\" self in:session", "0 8 "},
	    {"hello \"world two\" in:session", ""},
	    {"word:hello word:self in:session", "0 1 8 "},
	    {"word:hello word:el in:session", ""},
	    {"word:hell hello in:session", ""},
	    /* Only the kinds of text that are searched have words. */
	    {"hello make what:said in:session", ""},
	    {"hello make what:said what:output in:session", "0 3 "},
	    /* A word without a needle can be in any line; keys of records are not text. */
	    {"\"$ \" hello in:session", "0 1 3 "},
	    {"hello role in:session", ""},
	};
	CLEANUP_FIXTURE struct fixture f;

	struct session *s = open_text(&f, text);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_finds(s, rows[i].query, rows[i].want);
}

/* Text that the view of a system message adds itself. */
CASE(sections_and_tools_match)
{
	static const struct found_entries rows[] = {
	    {"\"### top rules\"", "0 "},
	    {"###", "0 "},
	    {"\"# top\"", "0 "},
	    {"\"be brief\"", "0 "},
	    {"word:tools:", "0 "},
	    {"\"tools: read bash\"", "0 "},
	    {"\"read bash -grep -find\"", "0 "},
	    {"\"-find\"", "0 "},
	    {"\" -\"", "0 "},
	    {"find", "0 "},
	    {"\"read -grep\"", ""},
	    {"toolsAdded", ""},
	    {"gone", ""},
	    {"role:system", "0 "},
	};
	CLEANUP_FIXTURE struct fixture f;

	struct session *s = open_text(
	    &f,
	    HEADER HEAD(
		"1") "{\"role\":\"system\",\"content\":\"\",\"sections\":{\"top rules\":\"Be brief\",\"gone\":null},"
		     "\"toolsAdded\":[{\"name\":\"read\"},{\"name\":\"bash\"}],"
		     "\"toolsRemoved\":[{\"name\":\"grep\"},{\"name\":\"find\"}]}}\n");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_finds(s, rows[i].query, rows[i].want);
}

/* Text matches in any encoding of its letters, and with typographic quotes, hyphens and blanks. */
CASE(equivalent_spellings_match)
{
	static const char *const said[] = {"\xc3\xa9t\xc3\xa9",          "E\xcc\x81te\\u0301",
	                                   "Don\xe2\x80\x99t\xc2\xa0go", "\\u2014 don't go",
	                                   "\xea\xb0\x81 k\xcc\xa3",     "\xe1\x84\x80\\u1161\xe1\x86\xa8",
	                                   "\xd0\xb8\xcc\x86 x\xcc\x81"};
	static const struct found_entries rows[] = {
	    {"\xc3\x89T\xc3\x89", "0 1 "},
	    {"e\xcc\x81te\xcc\x81", "0 1 "},
	    {"t\xc3\xa9", "0 1 "},
	    {"t", "0 1 2 3 "},
	    {"e", ""}, /* neither a part of a letter nor a mark of it alone is found */
	    {"\xcc\x81", "6 "},
	    {"x", "6 "}, /* no such letter exists */
	    {"\xd0\xb8", ""},
	    {"\xd0\xb9", "6 "},
	    {"don't", "2 3 "},
	    {"don\xca\xbct", "2 3 "},
	    {"\"\xe2\x80\x98t\xe2\x80\xafgo\"", "2 3 "},
	    {"\"- don\"", "3 "},
	    {"\xe2\x88\x92", "3 "},
	    {"\xea\xb0\x81", "4 5 "},
	    {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "4 5 "},
	    {"\xea\xb0\x80", ""},
	    {"k", ""},
	    {"\xe1\xb8\xb2", "4 "},
	};
	CLEANUP_BUF struct buf all = BUF_INIT;
	CLEANUP_FIXTURE struct fixture f;

	buf_adds(&all, HEADER);
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		buf_addf(&all, HEAD("%zu") "{\"role\":\"user\",\"content\":\"%s\"}}\n", i, i, said[i]);
	struct session *s = open_text(&f, buf_cstr(&all));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_finds(s, rows[i].query, rows[i].want);
}

CASE(best_lines_are_found)
{
	static const struct found_lines rows[] = {
	    {"hello", 0, "P/entries/1/text.md:1:Hello \"world\"\n"},
	    {"hello k", 0, "P/entries/1/text.md:1:Hello \"world\"\nP/entries/1/text.md:2:Two Words/here k\n"},
	    {"hello l", 1,
	     "P/entries/2/thinking.md:1:hmm hello\n"
	     "P/entries/2/tool-calls/1-Bash/arguments.txt:1:command: ls -l\n"
	     "P/entries/2/tool-calls/1-Bash/arguments.txt:2:hello\n"},
	    {"\"list: [\"", 1, "P/entries/2/tool-calls/1-Bash/arguments.txt:3:list: [1,2,\"a\\u0062c\"]\n"},
	    {"role:user", 0, "P/entries/1/text.md:1:Hello \"world\"\nP/entries/1/text.md:2:Two Words/here k\n"},
	    {"what:error", 2, "P/entries/3/error:1:error\n"},
	    {"what:call hello", 1, "P/entries/2/tool-calls/1-Bash/arguments.txt:2:hello\n"},
	    {"-zzz", 2, "P/entries/3/error:1:error\n"},
	    {"2", 3, "P/entries/4/error:1:2\n"},
	    {"make", 3, "P/entries/4/text.md:1:$ make\n"},
	    {"works", 4, "P/entries/1/label:1:Works Fine\n"},
	    {"\"the name\"", 5, "P/name:1:The Name\n"},
	    {"type:session_info", 5, "P/name:1:The Name\n"},
	};
	CLEANUP_FIXTURE struct fixture f;

	struct session *s = open_text(&f, text);
	assert_lines(s, rows, sizeof rows / sizeof *rows);
}

/* Lines with a whole word, with a part of one or with none, in random order, against a plain choice. */
CASE(best_of_many_lines_are_found)
{
	enum { LINES = 30, LISTS = 60 };
	static const char *const words[] = {"none", "ahello", "hello"};
	uint64_t rolled = seed_of_run();

	for (unsigned list = 0; list < LISTS; list++) {
		CLEANUP_BUF struct buf lines = BUF_INIT, got = BUF_INIT, want = BUF_INIT;
		unsigned ranks[LINES], left = HIT_LINES, taken = 0;
		CLEANUP_FIXTURE struct fixture f;
		buf_adds(&lines, HEADER HEAD("1") "{\"role\":\"user\",\"content\":\"");
		for (unsigned i = 0; i < LINES; i++) {
			rolled = rolled * UINT64_C(6364136223846793005) + 1;
			ranks[i] = (unsigned)(rolled >> 40) % 20 == 0 ? 2 : (rolled >> 50) % 2;
			buf_addf(&lines, "%s%s", i ? "\\n" : "", words[ranks[i]]);
		}
		buf_adds(&lines, "\"}}\n");
		for (unsigned rank = 2; rank > 0; rank--)
			for (unsigned i = 0; i < LINES && left > 0; i++)
				if (ranks[i] == rank) {
					taken |= 1u << i;
					left--;
				}
		for (unsigned i = 0; i < LINES; i++)
			if (taken >> i & 1)
				buf_addf(&want, "P/entries/1/text.md:%u:%s\n", i + 1, words[ranks[i]]);
		lines_of(open_text(&f, buf_cstr(&lines)), "hello", 0, &got);
		if (!span_eq(buf_span(&got), buf_span(&want)))
			fail_msg("`%s`, not `%s`", buf_cstr(&got), buf_cstr(&want));
	}
}

/* A label or name in use is a file. An older one, one without an entry, and one that the file shows differently from
 * all.txt, are only in the line of their record: the value is the text. */
CASE(labels_and_names)
{
#define SETS(id, target, label) "{\"type\":\"label\",\"id\":\"" id "\",\"targetId\":" target ",\"label\":" label "}"
	static const char *const lines[] = {
	    HEAD("1") "{\"role\":\"user\",\"content\":\"x\"}}", /* 0 */
	    "{\"type\":\"session_info\",\"id\":\"2\",\"name\":\"mark one\"}",
	    SETS("3", "\"1\"", "\"mark\\u0020old\""),
	    "  " SETS("4", "\"none\"", "\"mark\\tlost\"") "\t \r",
	    SETS("5", "\"1\"", "\" mark\\ttab\\nand\\nMARK\""), /* 4 */
	    SETS("6", "\"2\"", "{\"mark\" : \"a\\nb\"}"),
	    SETS("7", "8", "4711"), /* 6: before its entry */
	    "{\"type\":\"custom\",\"id\":8}",
	    "{\"type\":\"session_info\",\"id\":\"9\",\"name\":\" mark\\n two \"}", /* 8 */
	    SETS("a", "\"3\"", "\"mark gone\\nmark again\""),
	    SETS("b", "\"3\"", "\"\""),
	};
	static const struct found_lines rows[] = {
	    {"mark", 1, "P/entries/2/entry.json:1:mark one\n"},
	    {"\"mark old\"", 2, "P/entries/3/entry.json:1:mark old\n"},
	    {"mark", 3, "P/entries/4/entry.json:1:mark\tlost\n"},
	    {"mark -x", 4, "P/entries/1/label:1: mark\ttab\nP/entries/1/label:3:MARK\n"},
	    {"type:label", 4, "P/entries/1/label:1: mark\ttab\nP/entries/1/label:2:and\nP/entries/1/label:3:MARK\n"},
	    {"mark", 5, "P/entries/6/entry.json:1:{\"mark\":\"a\\nb\"}\n"},
	    {"4711", 6, "P/entries/8/label:1:4711\n"},
	    {"mark", 8, "P/name:1:mark\n"},
	    {"two", 8, "P/name:2: two\n"},
	    {"mark", 9, "P/entries/a/entry.json:1:mark gone\nP/entries/a/entry.json:1:mark again\n"},
	    {"type:label", 10, ""},
	};
	CLEANUP_FIXTURE struct fixture f;
	CLEANUP_BUF struct buf all = BUF_INIT;

	buf_adds(&all, HEADER);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		buf_addf(&all, "%s\n", lines[i]);
	struct session *s = open_text(&f, buf_cstr(&all));
	assert_lines(s, rows, sizeof rows / sizeof *rows);
	/* Whatever JSON the label is. */
	assert_finds(s, "label:4711", "7 ");
	assert_finds(s, "label:mark", "0 1 ");
}

/* Searching in steps of one finds the same entries; an entry without a time is as old as the file. */
CASE(stepwise_search_equals_full_search)
{
	CLEANUP_FIXTURE struct fixture f;
	CLEANUP_MATCHER struct matcher *m = matcher_of(SPAN_LIT("hello")),
				       *dated = matcher_of(SPAN_LIT("after:2026-03-09"));
	CLEANUP_FOUND struct found_list found = {.project = "", .stem = ""};
	uint32_t next = 0;
	bool undated = false;

	struct session *s = open_text(&f, text);
	assert_int_equal(match_session(m, s, 0, 1, &found, &next, &undated), 0);
	assert_int_equal(found.n, 1);
	assert_int_equal(next, 1);
	assert_int_equal(match_session(m, s, next, 2, &found, &next, &undated), 0);
	assert_int_equal(found.n, 2);
	assert_int_equal(found.v[1].lines, 3);
	assert_int_equal(next, 2);
	assert_int_equal(match_session(m, s, next, 3, &found, &next, &undated), 0);
	assert_int_equal(found.n, 2);
	assert_int_equal(next, session_count(s));
	assert_false(undated);
	found.n = 0;
	assert_int_equal(match_session(dated, s, 0, SIZE_MAX, &found, &next, &undated), 0);
	assert_int_equal(found.n, 4);
	assert_true(undated);
}

/* One matcher reads one session after the other, with lines at the same places. */
CASE(matcher_is_reusable)
{
	CLEANUP_FIXTURE struct fixture a, b;
	CLEANUP_MATCHER struct matcher *m = matcher_of(SPAN_LIT("two"));
	CLEANUP_FOUND struct found_list found = {.project = "", .stem = ""};
	uint32_t next;

	open_text(&a, HEADER HEAD("1") "{\"role\":\"user\",\"content\":\"one\"}}\n");
	open_text(&b, HEADER HEAD("1") "{\"role\":\"user\",\"content\":\"two\"}}\n");
	for (int i = 0; i < 3; i++) {
		CLEANUP_BUF struct buf lines = BUF_INIT;
		found.n = 0;
		assert_int_equal(match_session(m, a.s, 0, SIZE_MAX, &found, &next, NULL), 0);
		assert_int_equal(found.n, 0);
		assert_int_equal(match_lines(m, a.s, 0, SPAN_LIT(""), &lines), 0);
		assert_int_equal(lines.n, 0);
		assert_int_equal(match_lines(m, b.s, 0, SPAN_LIT(""), &lines), 0);
		assert_true(span_is(buf_span(&lines), "entries/1/text.md:1:two\n"));
		assert_int_equal(match_session(m, b.s, 0, SIZE_MAX, &found, &next, NULL), 0);
		assert_int_equal(found.n, 1);
	}
}

/* A word at each place around the end of a block. */
CASE(words_across_block_boundaries_match)
{
	static const char *const ways[] = {"needle in hay", "needle\\u0020in hay", "\\u006e\\u0065edle in ha\\u0079"};

	for (size_t before = 261000; before < 262400; before += 7) {
		CLEANUP_BUF struct buf bytes = BUF_INIT, got = BUF_INIT;
		CLEANUP_FIXTURE struct fixture f;
		buf_adds(&bytes, HEADER HEAD("1") "{\"role\":\"user\",\"content\":\"");
		while (bytes.n < before)
			buf_addc(&bytes, '-');
		buf_addf(&bytes, "%s\"}}\n", ways[before % 3]);
		assert_int_equal(open_bytes(&f, bytes.p, bytes.n), 0);
		match_all(f.s, SPAN_LIT("\"Needle in hay\""), &got);
		assert_true(span_is(buf_span(&got), "0 "));
	}
}

/* Long after the entry was read. */
CASE(interrupt_ends_a_search_in_lines)
{
	const struct cancel cancel = {.is_cancelled = count_down, .arg = &(int){8}};
	CLEANUP_BUF struct buf bytes = BUF_INIT;
	CLEANUP_FIXTURE struct fixture f;
	CLEANUP_MATCHER struct matcher *m = matcher_of(SPAN_LIT("needle"));

	buf_adds(&bytes, HEADER HEAD("1") "{\"role\":\"user\",\"content\":\"");
	for (int i = 0; i < 20000; i++)
		buf_adds(&bytes, "needles\\n");
	buf_adds(&bytes, "\"}}\n");
	struct session *s = open_text(&f, buf_cstr(&bytes));
	cancel_set(&cancel);
	int rc = match_lines(m, s, 0, SPAN_LIT(""), &bytes);
	cancel_set(NULL);
	assert_int_equal(rc, -EINTR);
}

/* A day begins with its first millisecond: an entry of that time is not before it. */
CASE(days_begin_at_midnight)
{
	CLEANUP_FIXTURE struct fixture f;
	struct session *s = open_text(&f,
	    HEADER USER_AT("a", null, "2026-03-02T23:59:59.999Z", "") USER_AT("b", null, "2026-03-03T00:00:00.000Z", "")
	    USER_AT("c", null, "2026-03-03T00:00:00.001Z", "") USER_AT("d", null, "2026-03-04T00:00:00.000Z", ""));
	assert_finds(s, "before:2026-03-03", "0 ");
	assert_finds(s, "-before:2026-03-03", "1 2 3 ");
	assert_finds(s, "after:2026-03-03", "1 2 3 ");
	assert_finds(s, "-after:2026-03-03", "0 ");
	assert_finds(s, "after:2026-03-03 before:2026-03-04", "1 2 ");
}

#define KEY_END "p_example0example0example0example01234"
#define KEY "gh" KEY_END

/* Any entry can have a key, whatever its role and type. */
CASE(keys_are_found_in_each_entry)
{
	CLEANUP_FIXTURE struct fixture f;
	struct session *s =
	    open_text(&f,
	    HEADER USER_RAW("a", null, KEY) USER_RAW("b", null, "g " KEY_END)
	    "{\"type\":\"session_info\",\"id\":\"c\",\"name\":\"" KEY "\"}\n"
	    "{\"type\":\"custom\",\"id\":\"d\",\"data\":{\"x\":\"" KEY "\"}}\n"
	    MESSAGE("e", null, "role":"toolResult","isError":true,"content":"x")
	    "{\"type\":\"message\",\"id\":\"f\",\"message\":{\"role\":\"toolResult\",\"content\":\"" KEY "\"}}\n");
	assert_finds(s, "is:secret", "0 2 3 5 ");
	assert_finds(s, "-is:secret", "1 4 ");
	assert_finds(s, "is:secret role:user", "0 ");
	assert_finds(s, "is:error", "4 ");
	assert_finds(s, "is:secret is:error", "");
}

/* is:error and is:secret show the lines of the error, and those with a key; the first ones if no text has the key. With
 * words or kinds of text, these choose the lines. */
CASE(lines_of_the_error_or_key_are_shown)
{
	static const struct found_lines rows[] = {
	    {"is:error", 0, "P/entries/a/text.md:1:one\nP/entries/a/text.md:2:two\nP/entries/a/text.md:3:three\n"},
	    {"is:error", 1, "P/entries/b/error:1:overloaded\n"},
	    {"is:error role:assistant", 1, "P/entries/b/error:1:overloaded\n"},
	    {"is:error cut", 1, "P/entries/b/text.md:1:cut here\n"},
	    {"is:error what:said", 1, "P/entries/b/text.md:1:cut here\n"},
	    {"-is:secret", 1, "P/entries/b/text.md:1:cut here\nP/entries/b/error:1:overloaded\n"},
	    {"is:error", 2, "P/entries/c/tool-calls/1-sh/error:1:no such file\n"},
	    {"is:secret", 3, "P/entries/d/text.md:3:KEY=" KEY "\n"},
	    {"is:secret first", 3, "P/entries/d/text.md:1:first\n"},
	    {"is:secret", 4, "P/entries/e/text.md:1:only\n"},
	    {"is:secret is:error", 5, "P/entries/f/text.md:2:" KEY "\nP/entries/f/error:1:bad\n"},
	};
	CLEANUP_FIXTURE struct fixture f;
	struct session *s = open_text(&f,
	    HEADER MESSAGE("a", null, "role":"toolResult","isError":true,"content":"one\ntwo\nthree\nfour")
	    MESSAGE("b", null, "role":"assistant","stopReason":"error","content":"cut here","errorMessage":"overloaded")
	    MESSAGE("c", null, "role":"toolResult","content":"done","nestedCalls":{"calls":[{"name":"sh","status":"error",
	        "error":"no such file","arguments":{"a":"x"}}]})
	    USER_RAW("d", null, "first\\nsecond\\nKEY=" KEY "\\nlast")
	    "{\"type\":\"message\",\"id\":\"e\",\"x\":\"" KEY "\",\"message\":{\"role\":\"user\",\"content\":\"only\"}}\n"
	    "{\"type\":\"message\",\"id\":\"f\",\"message\":{\"role\":\"assistant\",\"stopReason\":\"error\","
	    "\"content\":\"a\\n" KEY "\",\"errorMessage\":\"bad\"}}\n");
	assert_lines(s, rows, sizeof rows / sizeof *rows);
}

/* The name of a link: one line, without control characters, trimmed, and cut after that. */
CASE(names_are_texts_on_one_line)
{
	CLEANUP_FIXTURE struct fixture f;
	CLEANUP_FOUND struct found_list found = {.project = "p\\", .stem = "s\\"};
	CLEANUP_MATCHER struct matcher *m = matcher_of(SPAN_LIT("-zzz"));
	uint32_t next;

	struct session *s =
	    open_text(&f, HEADER HEAD("1") "{\"role\":\"user\",\"content\":\"\\t\\u0001 C:\\\\x\\ty\\u0085 \"}}\n" HEAD(
			      "2") "{\"role\":\"user\",\"content\":\" \\t                                        "
	                           "                              x\"}}\n" HEAD(
				       "3") "{\"role\":\"user\",\"content\":\"\\t \\u0007\"}}\n");
	assert_int_equal(match_session(m, s, 0, SIZE_MAX, &found, &next, NULL), 0);
	assert_true(span_is(buf_span(&found.texts[FOUND_NAMES]), "user C:\\x yuser xuser"));
	/* In a row, the names are escaped. */
	const char row[] =
	    "2026-03-01T12:00:00.000Z\tp\\\\\ts\\\\\t1\tuser\tprojects/p\\\\/s\\\\/entries/1/text.md\t1\t";
	assert_true(span_begins(buf_span(&found.texts[FOUND_ROWS]), span_of(row)));
}

/* Only a newline at the end is left out of a compared value. */
CASE(empty_models_match_no_text)
{
	CLEANUP_FIXTURE struct fixture f;

	struct session *s =
	    open_text(&f, HEADER "{\"type\":\"model_change\",\"id\":\"a\"}\n"
	                         "{\"type\":\"model_change\",\"id\":\"b\",\"provider\":\"p\",\"modelId\":\"m\"}\n");
	assert_finds(s, "model:m", "1 ");
	assert_finds(s, "-model:m", "0 ");
	assert_finds(s, "-role:user", "0 1 ");
}

RUN_CASES(in_utc, NULL)
