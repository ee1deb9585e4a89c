/* SPDX-License-Identifier: MIT */
/* session: the rules one by one, on small files. */
#include "cases.h"
#include "session_fixture.h"

#include <sys/stat.h>

/* ---- session files and other files ---- */

CASE(file_without_header_is_rejected)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] =
	    ITEMS(
	    {"", ERROR_NO_SESSION},
	    {"\n\n", ERROR_NO_SESSION},
	    {"garbage\n", ERROR_NO_SESSION},
	    {LINE({"type":"session"}), ERROR_NO_SESSION},
	    {LINE({"type":"session","id":5}), ERROR_NO_SESSION},
	    {LINE({"type":"message","id":"a"}) HEADER, ERROR_NO_SESSION},
	    {"5\n" HEADER, ERROR_NO_SESSION},
	    {"[]\n" HEADER, ERROR_NO_SESSION},
	    {"\xef\xbb\xbf" HEADER, ERROR_NO_SESSION},
	    {"{\"type\":\"session\",\"id\":\"s\"", ERROR_NO_SESSION},
	    {JSON({"type":"session","id":"s"}), 0},
	    {LINE({"type":"session","id":""}), 0},
	    {"garbage\nnull\n0\n\"\"\nfalse\n\n"
	     HEADER, 0});

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CLEANUP_FIXTURE struct fixture f;
		int rc = open_bytes(&f, cases[i].text, strlen(cases[i].text));
		if (rc != cases[i].rc)
			fail_msg("%s: %d", cases[i].text, rc);
	}
}

SESSION_CASE(only_regular_files_are_opened)
{
	struct session *s = NULL;

	fixture_init(f);
	unlink(f->path);
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, false, &s), -ENOENT);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, false, &s), ERROR_NO_SESSION);
	unlink(f->path);
	assert_int_equal(symlink(f->path, f->path), 0);
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, false, &s), -ELOOP);
	assert_int_equal(session_open(&(struct source_path){NULL, "/dev/zero"}, false, &s), ERROR_NO_SESSION);
	assert_int_equal(session_open(&(struct source_path){NULL, "/tmp"}, false, &s), ERROR_NO_SESSION);
	assert_null(s);
}

CASE(versions_are_compared_as_javascript_does)
{
	static const struct {
		const char *version;
		int number;
		bool linear, old_roles;
	} cases[] = ITEMS(
	    {JSON("x":0), 1, true, true},
	    {JSON("version":"1"), 1, true, true},
	    {JSON("version":""), 1, true, true},
	    {JSON("version":2), 2, false, true},
	    {JSON("version":2.5), 2, false, true},
	    {JSON("version":3), 3, false, false},
	    {JSON("version":17), 17, false, false},
	    {JSON("version":"new"), 3, false, false});

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		CLEANUP_FIXTURE struct fixture f;
		buf_addf(&text, LINE({"type":"session","id":"s",%s}), cases[i].version);
		buf_adds(&text, LINE({"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage"}})
		                         CUSTOM("b", null));
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_int_equal(session_version(f.s), cases[i].number);
		assert_int_equal(session_entry(f.s, 1)->parent, cases[i].linear ? 0 : NO_ENTRY);
		assert_int_equal(session_entry(f.s, 0)->role, cases[i].old_roles ? ROLE_CUSTOM : ROLE_OTHER);
	}
}

SESSION_CASE(lines_become_entries)
{
	struct session *s = open_text(f,
	    HEADER "\n"
	    USER("a", null, "hi") "  {\"type\":\"custom\",\"id\":\"b\",\"parentId\":\"a\"}\n"
	    HEADER "{\"type\":\"custom\",\"id\":\"c\",\"parentId\":\"b\"}\r\n");
	const struct entry *e = session_entry(s, 0);

	assert_int_equal(session_count(s), 3);
	assert_int_equal(e->offset, strlen(HEADER) + 1);
	assert_int_equal(e->length, strlen(USER("a", null, "hi")) - 1);
	assert_int_equal(e->line, 3);
	assert_true(e->time == INT64_C(1767323045678));
	assert_int_equal(e->type, RECORD_MESSAGE);
	assert_int_equal(e->role, ROLE_USER);
	assert_int_equal(session_entry(s, 1)->time, NO_TIME);
	assert_int_equal(session_entry(s, 2)->line, 6);
	assert_int_equal(session_entry(s, 2)->length, strlen(JSON({"type":"custom","id":"c","parentId":"b"})));
	assert_true(span_is(session_id(s), "s1"));
	assert_true(span_is(session_header(s)->timestamp.text, "2026-01-02T03:04:05.000Z"));
	assert_path(s, 2, "0 1 2 ");
	assert_problems(s, "");
}

typedef void on_call(void *arg, struct json_value id);
void __real_record_head(struct span line, struct buf *deep, struct record_head *ret, on_call *fn, void *arg);
void __wrap_record_head(struct span line, struct buf *deep, struct record_head *ret, on_call *fn, void *arg);
static _Atomic size_t lines_parsed;

void __wrap_record_head(struct span line, struct buf *deep, struct record_head *ret, on_call *fn, void *arg)
{
	lines_parsed++;
	__real_record_head(line, deep, ret, fn, arg);
}

/* A file can have a hundred million of them. */
SESSION_CASE(blank_lines_are_not_parsed)
{
	static const char *const blank[] = {"\n", "\r\n", " \t \n", "\xc2\xa0\r\n"};
	CLEANUP_BUF struct buf text = BUF_INIT;
	enum { LINES = 20000 };

	buf_adds(&text, "\n" HEADER);
	for (unsigned i = 0; i < LINES; i++)
		buf_adds(&text, blank[i / 100 % 2 ? 0 : i % 4]);
	size_t at = text.n;
	buf_adds(&text, USER("a", null, "hi") " \n\n \t");
	lines_parsed = 0;
	struct session *s = open_text(f, buf_cstr(&text));
	assert_int_equal(lines_parsed, 2);
	assert_int_equal(session_count(s), 1);
	assert_int_equal(session_entry(s, 0)->line, LINES + 3);
	assert_int_equal(session_entry(s, 0)->offset, at);
	assert_int_equal(session_line_count(s), LINES + 5);
	assert_problems(s, "");
}

SESSION_CASE(irregular_lines_are_reported)
{
	struct session *s =
	    open_text(f,
	    HEADER "nope\nnull\n0\n\"\"\n5\n[1]\n\xc2\xa0\xef\xbb\xbf\n"
	    LINE({"type":"custom","id":null,"parentId":null}) LINE({"type":"message","id":"m","parentId":null})
	    LINE({"type":"custom","id":"n"}) "{\"to");

	assert_int_equal(session_count(s), 5);
	assert_int_equal(session_entry(s, 0)->type, RECORD_OTHER);
	assert_name(s, 0, "~6");
	assert_name(s, 1, "~7");
	assert_name(s, 2, "~9");
	assert_int_equal(session_entry(s, 3)->flags & ENTRY_NO_MESSAGE, ENTRY_NO_MESSAGE);
	assert_problems(s, "2 malformed: not JSON; 3 null, false, 0 or \"\": not an entry; "
	                   "4 null, false, 0 or \"\": not an entry; 5 null, false, 0 or \"\": not an entry; "
	                   "6 not an object; 7 not an object; 9 no usable id; "
	                   "10 a message entry without a message; 11 no parentId: a root; "
	                   "12 the last line is incomplete; ");
	assert_int_equal(session_problem(s, 0).offset, strlen(HEADER));
}

/* ---- ids and names ---- */

SESSION_CASE(ids_are_exact)
{
	struct session *s =
	    open_text(f,
	    HEADER CUSTOM("a/b", null) CUSTOM("\ud83d", "\u0061/b") CUSTOM("", "\ud83d") CUSTOM(7, "")
	    CUSTOM("x\u0000y", 7.0) CUSTOM(0, "x\u0000y") CUSTOM("z", -0.0));

	assert_true(span_is(session_entry_id(s, 0), "a/b"));
	assert_name(s, 0, "a%2Fb");
	assert_true(span_is(session_entry_id(s, 1), "\xed\xa0\xbd"));
	assert_name(s, 1, "%ED%A0%BD");
	assert_name(s, 2, "%");
	assert_name(s, 3, "7");
	assert_true(span_eq(session_entry_id(s, 4), SPAN_LIT("x\0y")));
	assert_path(s, 4, "3 4 ");
	assert_path(s, 6, "6 ");
	assert_int_equal(session_entry(s, 6)->parent, 5);
	assert_int_equal(session_entry(s, 3)->parent, 2);
	assert_int_equal(session_entry(s, 3)->flags & ENTRY_WALK_ENDS, ENTRY_WALK_ENDS);
	struct json_value number = {JSON_NUMBER, false, SPAN_LIT("7e0")};
	assert_int_equal(session_entry_by_id(s, number), 3);
	struct json_value string = {JSON_STRING, true, SPAN_LIT("\\u0061/b")};
	assert_int_equal(session_entry_by_id(s, string), 0);
	assert_int_equal(session_entry_by_id(s, (struct json_value){JSON_TRUE, false, SPAN_LIT("true")}), NO_ENTRY);
	static const char *const wrong[] = {"", "a/b", "7.0", "~2", "~02", "~", "~99999999999", "%41", "7~2"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(session_entry_by_name(s, span_of(wrong[i])), NO_ENTRY);
}

SESSION_CASE(duplicate_names_are_numbered_in_file_order)
{
	struct session *s = open_text(f,
	    HEADER CUSTOM(12, null) CUSTOM("x", null) CUSTOM("12", 12) CUSTOM("12~2", "12") CUSTOM("5", null)
	    CUSTOM(5, "5"));

	assert_name(s, 0, "12");
	assert_name(s, 1, "x");
	assert_name(s, 2, "12~2");
	assert_name(s, 3, "12~2~2");
	assert_name(s, 4, "5");
	assert_name(s, 5, "5~2");
	assert_int_equal(session_entry(s, 2)->parent, 0);
	assert_int_equal(session_entry(s, 3)->parent, 2);
	assert_int_equal(session_entry(s, 5)->parent, 4);
	assert_int_equal(session_fetch_renamed(s), NO_ENTRY);
	append_lines(f, CUSTOM(5, null));
	assert_name(s, 5, "~7");
	assert_name(s, 6, "5~2");
	append_lines(f, CUSTOM("5", null));
	assert_name(s, 6, "5");
	assert_name(s, 7, "5~2");
	assert_int_equal(session_fetch_renamed(s), 0);
}

SESSION_CASE(long_ids_have_short_names)
{
	static const size_t lengths[] = {255, 200, 255};
	CLEANUP_BUF struct buf text = BUF_INIT;

	buf_adds(&text, HEADER "{\"type\":\"custom\",\"parentId\":null,\"id\":\"");
	for (int i = 0; i < 5000; i++)
		buf_adds(&text, "\xc3\xa9");
	buf_addf(&text, "\"}\n" CUSTOM("%0200d", null) LINE({"type":"custom","parentId":null,"id":0.%0300d}), 7, 7);
	assert_int_equal(open_bytes(f, text.p, text.n), 0);
	assert_int_equal(session_entry_id(f->s, 0).n, 0);
	for (uint32_t i = 0; i < 3; i++) {
		CLEANUP_BUF struct buf name = BUF_INIT;
		session_entry_name(f->s, i, &name);
		assert_in_range(name.n, lengths[i] - 4, lengths[i]);
		assert_int_equal(session_entry_by_name(f->s, buf_span(&name)), i);
	}
}

/* Long, similar ids, which are not stored: links, labels and names work as with other ids, also after growth. */
SESSION_CASE(long_ids_are_distinguished)
{
	CLEANUP_BUF struct buf text = BUF_INIT, more = BUF_INIT;

	buf_addf(&text, HEADER CUSTOM("%0300d", null) CUSTOM("b", "%0300d") LABEL("l", null, "%0300d", "L"), 1, 3, 3);
	struct session *s = open_text(f, buf_cstr(&text));
	assert_int_equal(session_entry(s, 1)->flags & ENTRY_ORPHAN, ENTRY_ORPHAN);
	buf_addf(&more, CUSTOM("%0300d", null), 3);
	append_lines(f, buf_cstr(&more));
	assert_int_equal(session_entry(s, 1)->parent, 3);
	assert_int_equal(session_label_record(s, 3), 2);
	assert_int_equal(session_label_record(s, 0), NO_ENTRY);
}

/* Returns the size of an index of many entries whose ids, parents and label targets have n bytes. */
static size_t memory_of_ids(size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	CLEANUP_FIXTURE struct fixture f;

	buf_adds(&text, HEADER);
	for (int i = 0; i < 500; i++)
		buf_addf(&text, LINE({"type":"label","id":"%0*d","parentId":"%0*d","targetId":"%0*d"}), (int)n, i,
		                     (int)n, i - 1000, (int)n, i - 1);
	assert_int_equal(open_bytes(&f, text.p, text.n), 0);
	return session_memory(f.s);
}

CASE(long_ids_use_constant_memory)
{
	size_t least = memory_of_ids(100);
	assert_in_range(memory_of_ids(2000), 1, least + least / 10);
}

SESSION_CASE(last_duplicate_id_wins)
{
	struct session *s =
	    open_text(f,
	    HEADER USER("a", null, "hi") USER("b", "a", "hi") USER("a", null, "hi") CUSTOM("c", "a"));

	assert_name(s, 0, "~2");
	assert_int_equal(session_entry_id(s, 0).n, 0);
	assert_name(s, 2, "a");
	assert_int_equal(session_entry(s, 1)->parent, 2);
	assert_int_equal(session_entry(s, 0)->child, NO_ENTRY);
	assert_true(session_is_tip(s, 0));
	assert_path(s, 1, "2 1 ");
	assert_problems(s, "2 its id is used again in a later line; ");
	assert_int_equal(session_fetch_renamed(s), 0); /* the kernel can know them from an index that was evicted */
	append_lines(f, USER("b", null, "hi"));
	assert_int_equal(session_fetch_renamed(s), 4);
}

/* ---- the tree ---- */

SESSION_CASE(invalid_parents_make_roots)
{
	struct session *s =
	    open_text(f,
	    HEADER USER("a", "a", "hi") USER("b", "gone", "hi") USER("c", true, "hi") USER("d", "", "hi"));

	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(session_entry(s, i)->parent, NO_ENTRY);
	assert_problems(s, "2 its own parent: a root; 3 unknown parent: a root; "
	                   "4 unknown parent: a root; 5 unknown parent: a root; ");
}

SESSION_CASE(parent_can_follow_child)
{
	struct session *s = open_text(f, HEADER CUSTOM("c", "b") USER("b", "a", "hi"));

	assert_int_equal(session_entry(s, 0)->parent, 1);
	assert_int_equal(session_entry(s, 0)->nearest, 1);
	assert_int_equal(session_entry(s, 1)->nearest, 0);
	assert_int_equal(session_entry(s, 1)->flags & ENTRY_ORPHAN, ENTRY_ORPHAN);
	append_lines(f, USER("a", null, "hi"));
	assert_int_equal(session_entry(s, 1)->parent, 2);
	assert_int_equal(session_entry(s, 1)->flags & ENTRY_ORPHAN, 0);
	assert_int_equal(session_entry(s, 2)->flags & ENTRY_HAS_BELOW, ENTRY_HAS_BELOW);
	assert_path(s, 0, "2 1 0 ");
	assert_problems(s, "");
}

SESSION_CASE(walks_end_on_cycles)
{
	struct session *s = open_text(f,
	    HEADER USER("a", "c", "hi") CUSTOM("b", "a") CUSTOM("c", "b") USER("d", "c", "hi") CUSTOM("x", "y")
	    CUSTOM("y", "x"));

	assert_path(s, 3, "0 1 2 3 ");
	assert_path(s, 0, "1 2 0 ");
	assert_path(s, 5, "4 5 ");
	assert_int_equal(session_entry(s, 1)->nearest, 0);
	assert_int_equal(session_entry(s, 4)->nearest, NO_ENTRY);
	assert_int_equal(session_current_position(s), NO_ENTRY);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(!!(session_entry(s, i)->flags & ENTRY_CYCLE), i != 3);
	assert_problems(s, "2 it is its own ancestor; 3 it is its own ancestor; "
	                   "4 it is its own ancestor; 6 it is its own ancestor; "
	                   "7 it is its own ancestor; ");
}

SESSION_CASE(branches_are_tips_and_position)
{
	struct session *s = open_text(f,
	    HEADER USER("a", null, "hi") USER("b", "a", "hi") CUSTOM("m", "b") CUSTOM("n", "b") USER("c", "a", "hi")
	    CUSTOM("o", "a"));

	assert_int_equal(session_leaf(s), 5);
	assert_int_equal(session_current_position(s), 0);
	assert_false(session_is_tip(s, 0));
	assert_true(session_is_tip(s, 1));
	assert_false(session_is_tip(s, 2));
	assert_true(session_is_branch(s, 0));
	assert_true(session_is_branch(s, 1));
	assert_true(session_is_branch(s, 4));
	assert_false(session_is_branch(s, 3));
	assert_int_equal(session_branch_end(s, 0), 5);
	assert_int_equal(session_branch_end(s, 1), 3);
	assert_int_equal(session_branch_end(s, 4), 4);
	assert_int_equal(session_branch_end(s, 2), 2);
}

SESSION_CASE(empty_session_has_no_leaf)
{
	struct session *s = open_text(f, HEADER);

	assert_int_equal(session_count(s), 0);
	assert_int_equal(session_leaf(s), NO_ENTRY);
	assert_int_equal(session_current_position(s), NO_ENTRY);
	assert_int_equal(session_nth_labelled(s, 0), NO_ENTRY);
	assert_int_equal(session_entry_by_name(s, SPAN_LIT("a")), NO_ENTRY);
	assert_int_equal(session_entry_by_name(s, SPAN_LIT("~1")), NO_ENTRY);
	assert_problems(s, "");
}

SESSION_CASE(branch_summary_is_found)
{
	struct session *s = open_text(f,
	    HEADER USER("a", null, "hi") LINE({"type":"branch_summary","id":"s1","parentId":"a","summary":"one"})
	    LINE({"type":"branch_summary","id":"s2","parentId":"a","summary":"two"})
	    LINE({"type":"branch_summary","id":"s3","parentId":"a","summary":""}));

	assert_int_equal(session_branch_record(s, 0), 2);
	assert_int_equal(session_branch_record(s, 1), NO_ENTRY);
}

/* ---- v1 ---- */

SESSION_CASE(v1_files_are_linear)
{
	struct session *s =
	    open_text(f,
	    HEADER_V1 V1("message") "\n5\n"
	    LINE({"type":"custom","id":"mine","parentId":"x"}) LABEL("l", null, "mine", "x"));

	assert_int_equal(session_version(s), 1);
	assert_path(s, 3, "0 2 3 ");
	/* printf 'sid\n2' | sha256sum */
	assert_name(s, 0, "011ec967");
	assert_true(span_is(session_entry_id(s, 0), "011ec967"));
	assert_name(s, 1, "~4");
	assert_int_equal(session_entry_by_name(s, SPAN_LIT("mine")), NO_ENTRY);
	assert_int_equal(session_label_count(s), 0);
	struct json_value id = {JSON_STRING, false, SPAN_LIT("011ec967")};
	assert_int_equal(session_entry_by_id(s, id), 0);
	append_lines(f, V1("message"));
	assert_int_equal(session_entry(s, 4)->parent, 3);
	assert_name(s, 0, "011ec967");
	assert_int_equal(session_entry_id(s, 4).n, 8);
}

static uint32_t kept_by(const struct session *s, uint32_t i)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	struct record r;

	assert_int_equal(session_load(s, i, &l, &r), 0);
	return session_first_kept(s, i, &r);
}

SESSION_CASE(v1_kept_index_counts_parsed_lines)
{
	struct session *s = open_text(f,
	    HEADER_V1 V1("message") "bad\nnull\n"
	    V1("custom") HEADER_V1 V1("usage") LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":2})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":4})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":3})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":0})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":9})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":10})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":99})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":1.5})
	    LINE({"type":"compaction","summary":"s","firstKeptEntryIndex":"2"}));

	assert_int_equal(session_count(s), 12);
	assert_int_equal(kept_by(s, 3), 1);        /* after the malformed and the falsy line */
	assert_int_equal(kept_by(s, 4), 2);        /* after the second header */
	assert_int_equal(kept_by(s, 5), NO_ENTRY); /* that header */
	assert_int_equal(kept_by(s, 6), NO_ENTRY); /* the first header */
	assert_int_equal(kept_by(s, 7), 7);        /* itself */
	assert_int_equal(kept_by(s, 8), 8);
	assert_int_equal(kept_by(s, 9), NO_ENTRY);
	assert_int_equal(kept_by(s, 10), NO_ENTRY);
	assert_int_equal(kept_by(s, 11), NO_ENTRY);
	assert_problems(s, "3 malformed: not JSON; 4 null, false, 0 or \"\": not an entry; "
	                   "14 the first entry that the compaction keeps is missing; "
	                   "15 the first entry that the compaction keeps is missing; "
	                   "16 the first entry that the compaction keeps is missing; ");
}

SESSION_CASE(compaction_first_kept_entry)
{
	struct session *s = open_text(f,
	    HEADER USER("a", null, "hi") ENTRY("compaction", "b", null, "summary":"s","firstKeptEntryId":"a")
	    ENTRY("compaction", "c", null, "summary":"s","firstKeptEntryId":"c")
	    ENTRY("compaction", "d", null, "summary":"s","firstKeptEntryId":"gone")
	    ENTRY("compaction", "e", null, "summary":"s","firstKeptEntryId":null));

	assert_int_equal(kept_by(s, 1), 0);
	assert_int_equal(kept_by(s, 2), 2);
	assert_int_equal(kept_by(s, 3), NO_ENTRY);
	assert_problems(s, "5 the first entry that the compaction keeps is missing; "
	                   "6 the first entry that the compaction keeps is missing; ");
}

/* Data derived from a dropped index must not be taken for data of the next one, nor be continued. */
SESSION_CASE(serials_differ_across_rebuilt_indexes)
{
	struct session *again, *s = open_text(f, HEADER);

	for (int grown = 0; grown < 2; grown++) {
		assert_int_equal(session_open(&(struct source_path){NULL, f->path}, false, &again), 0);
		assert_int_equal(session_serial(again) != session_serial(s), grown);
		assert_int_not_equal(session_relink_count(again), session_relink_count(s));
		session_close(again);
		append(f, USER("a", null, "hi"), strlen(USER("a", null, "hi")));
	}
}

RUN_CASES(NULL, NULL)
