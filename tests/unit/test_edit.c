/* SPDX-License-Identifier: MIT */
/* Records as pi writes them: keys and their order, parents, ids; none for an edit without effect. */
#include "cases.h"
#include "sessionfs/write/edit.h"
#include "edit_fixture.h"

#define TWO HEADER USER("a", null, "hi") USER("b", "a", "hi")

/* The lines that an edit appends to a file, as a pattern. */
static void assert_edit(const char *file, const struct edit *e, bool again, const char *pattern)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	struct session *s = open_text(&f, file);
	assert_int_equal(edit_make(s, e, again, NOW, &out), 0);
	assert_pattern(buf_span(&out), pattern);
	if (out.n == 0)
		return;
	/* Once written and read again, the edit has no effect. */
	append(&f, out.p, out.n);
	assert_int_equal(session_grow(s), 1);
	assert_int_equal(session_problem_count(s), 0);
	buf_reset(&out);
	assert_int_equal(edit_make(s, e, false, NOW, &out), 0);
	assert_pattern(buf_span(&out), "");
}

static void assert_label_edit(const char *file, uint32_t entry, struct span text, const char *pattern)
{
	const struct edit_label l = {.entry = entry, .text = text};
	assert_edit(file, &(struct edit){.records = edit_labels, .labels = &l, .n = 1}, false, pattern);
}

static void assert_name_edit(const char *file, const char *text, const char *pattern)
{
	assert_edit(file, &(struct edit){.records = edit_name, .text = span_of(text)}, false, pattern);
}

static void assert_branch_edit(const char *file, uint32_t entry, const char *text, const char *pattern)
{
	assert_edit(file, &(struct edit){.records = edit_branch, .entry = entry, .text = span_of(text)}, false,
	            pattern);
}

static void assert_leaf_edit(const char *file, uint32_t entry, const char *pattern)
{
	assert_edit(file, &(struct edit){.records = edit_leaf, .entry = entry}, false, pattern);
}

static void assert_refused(const char *file, const struct edit *e, int rc)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	struct session *s = open_text(&f, file);
	buf_adds(&out, "kept");
	assert_int_equal(edit_make(s, e, false, NOW, &out), rc);
	assert_text(&out, "kept");
}

/* ---- labels ---- */

CASE(label_is_appended)
{
	assert_label_edit(TWO, 0, span_of("auth works"), LABEL("@0", "b", "a", "auth works"));
	assert_label_edit(TWO, 0, SPAN_LIT("\"\\\t\x01\x7f\xe2\x82\xac"),
	    "{\"type\":\"label\",\"id\":\"@0\",\"parentId\":\"b\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"targetId\":\"a\",\"label\":\"\\\"\\\\\\t\\u0001\x7f\xe2\x82\xac\"}\n");
}

CASE(label_without_effect_appends_nothing)
{
	assert_label_edit(TWO LABEL("c", "b", "a", "old"), 0, span_of(""), UNLABEL("@0", "c", "a"));
	assert_label_edit(TWO, 0, span_of(""), "");
	assert_label_edit(TWO LABEL("c", "b", "a", "old"), 0, span_of("old"), "");
	assert_label_edit(TWO LABEL("c", "b", "a", "\u006fld"), 0, span_of("old"), "");
	/* A lone surrogate differs from U+FFFD. */
	assert_label_edit(TWO LABEL("c", "b", "a", "\ud800"), 0, span_of("\xef\xbf\xbd"),
	    "{\"type\":\"label\",\"id\":\"@0\",\"parentId\":\"c\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"targetId\":\"a\",\"label\":\"\xef\xbf\xbd\"}\n");
}

/* Each record's parent is the one before; records without effect are omitted. */
CASE(label_records_are_chained)
{
	const struct edit_label l[] = {{0, SPAN_LIT("one")}, {1, SPAN_LIT("")}, {2, SPAN_LIT("two")}};
	assert_edit(TWO USER("c", "b", "hi"), &(struct edit){.records = edit_labels, .labels = l, .n = 3}, false,
	    LABEL("@0", "c", "a", "one") LABEL("@1", "@0", "c", "two"));
	assert_edit(TWO, &(struct edit){.records = edit_labels}, false, "");
}

/* The first records follow the foreign line: no record may have that as its parent. */
CASE(no_record_follows_foreign_line)
{
	const struct edit_label l[] = {{0, SPAN_LIT("one")}, {1, SPAN_LIT("two")}};
	struct edit e = {.records = edit_labels, .labels = l, .n = 2};
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf first = BUF_INIT, second = BUF_INIT;
	struct session *s = open_text(&f, TWO);
	assert_int_equal(edit_make(s, &e, false, NOW, &first), 0);
	append(&f, USER("c", "b", "hi"), strlen(USER("c", "b", "hi")));
	append(&f, first.p, first.n);
	assert_int_equal(session_grow(s), 1);
	e.written = buf_span(&first);
	assert_int_equal(edit_make(s, &e, true, NOW, &second), 0);
	assert_pattern(buf_span(&second), LABEL("@0", "c", "a", "one") LABEL("@1", "@0", "b", "two"));
	/* The parent is the last line after it. */
	append(&f, USER("d", "c", "hi"), strlen(USER("d", "c", "hi")));
	assert_int_equal(session_grow(s), 1);
	buf_reset(&second);
	assert_int_equal(edit_make(s, &e, true, NOW, &second), 0);
	assert_non_null(strstr(buf_cstr(&second), JSON("parentId":"d")));
}

CASE(ids_as_they_stand)
{
	assert_label_edit(HEADER USER(12, null, "hi"), 0, span_of("x"), LABEL("@0", 12, 12, "x"));
	assert_label_edit(HEADER USER("\u0061\"", null, "hi") USER(1e2, null, "hi"), 0, span_of("x"),
	    LABEL("@0", 1e2, "\u0061\"", "x"));
	assert_label_edit(HEADER USER("\ud800", null, "hi"), 0, span_of("x"), LABEL("@0", "\ud800", "\ud800", "x"));
	/* Invalid UTF-8 is written as pi reads it. */
	assert_label_edit(HEADER
	    "{\"type\":\"message\",\"id\":\"b\xff\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
	    0, span_of("x"), LABEL("@0", "b�", "b�", "x"));
}

CASE(parent_can_be_addressed)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	struct session *s = open_text(&f, TWO USER(null, "b", "hi") "7\n[]\n");
	const struct edit name = {.records = edit_name, .text = SPAN_LIT("n")};
	assert_int_equal(edit_make(s, &name, false, NOW, &out), 0);
	assert_pattern(buf_span(&out), INFO("@0", "b", "n"));
}

CASE(unknown_entries_are_refused)
{
	const struct edit_label none = {5, SPAN_LIT("x")}, twice = {0, SPAN_LIT("x")};
	const struct edit_label second[] = {{1, SPAN_LIT("fine")}, {0, SPAN_LIT("x")}};
	const char *repeated = HEADER USER("a", null, "hi") USER("a", null, "hi");
	assert_refused(TWO, &(struct edit){.records = edit_labels, .labels = &none, .n = 1}, -ENOENT);
	assert_refused(TWO, &(struct edit){.records = edit_branch, .entry = NO_ENTRY, .text = SPAN_LIT("x")}, -ENOENT);
	assert_refused(TWO, &(struct edit){.records = edit_leaf, .entry = 2}, -ENOENT);
	assert_refused(repeated, &(struct edit){.records = edit_labels, .labels = &twice, .n = 1}, -EPERM);
	assert_refused(repeated, &(struct edit){.records = edit_labels, .labels = second, .n = 2}, -EPERM);
	assert_refused(repeated, &(struct edit){.records = edit_branch, .entry = 0, .text = SPAN_LIT("x")}, -EPERM);
	assert_refused(repeated, &(struct edit){.records = edit_leaf, .entry = 0}, -EPERM);
	assert_refused(HEADER "7\n", &(struct edit){.records = edit_leaf, .entry = 0}, -EPERM);
}

/* ---- the name ---- */

CASE(name_is_appended)
{
	assert_name_edit(TWO, "Refactor auth", INFO("@0", "b", "Refactor auth"));
	assert_name_edit(HEADER, "x", INFO("@0", null, "x"));
	assert_name_edit(TWO INFO("c", "b", "old"), "", INFO("@0", "c", ""));
	assert_name_edit(TWO INFO("c", "b", " old "), "old", "");
	assert_name_edit(TWO, "", "");
}

/* ---- branches and the leaf ---- */

CASE(branch_appends_summary)
{
	assert_branch_edit(TWO, 0, "Tried A,\nfailed", SUMMARY("@0", "a", "b", "Tried A,\nfailed"));
	assert_branch_edit(HEADER USER(1, null, "hi") USER(2, 1, "hi"), 0, "x", SUMMARY("@0", 1, 2, "x"));
	/* From the entry itself. */
	assert_branch_edit(TWO, 1, "x", SUMMARY("@0", "b", "b", "x"));
}

CASE(unchanged_branch_appends_nothing)
{
	assert_branch_edit(TWO SUMMARY("c", "a", "x", "x"), 0, "x", "");
	assert_branch_edit(TWO SUMMARY("c", "a", "x", "x") SUMMARY("d", "a", "x", ""), 0, "x", "");
	assert_branch_edit(TWO SUMMARY("c", "a", "x", "x") SUMMARY("d", "a", "x", "y"), 0, "x",
	    SUMMARY("@0", "a", "d", "x"));
}

/* A summary that is a number is not empty; a missing one is. */
CASE(odd_summaries_are_compared)
{
	assert_leaf_edit(TWO SUMMARY("c", "a", "x", 7), 0, SUMMARY("@0", "a", "c", ""));
	assert_leaf_edit(TWO LINE({"type":"branch_summary","id":"c","parentId":"a","fromId":"b"}), 0, "");
}

CASE(leaf_appends_empty_summary)
{
	assert_leaf_edit(TWO, 0, SUMMARY("@0", "a", "b", ""));
	assert_leaf_edit(TWO, 1, "");
	assert_leaf_edit(TWO SUMMARY("c", "a", "x", ""), 0, "");
	/* Only an empty summary at the leaf has no effect. */
	assert_leaf_edit(TWO SUMMARY("c", "a", "x", "x"), 0, SUMMARY("@0", "a", "c", ""));
	assert_leaf_edit(TWO SUMMARY("c", "a", "x", "") USER("d", "b", "hi"), 0, SUMMARY("@0", "a", "d", ""));
}

/* Other lines were appended meanwhile: it is written again, as new. */
CASE(each_edit_is_written_again)
{
	const struct edit_label l = {0, SPAN_LIT("old")};
	assert_edit(TWO LABEL("c", "b", "a", "old") USER("d", "b", "hi"),
	    &(struct edit){.records = edit_labels, .labels = &l, .n = 1}, true, LABEL("@0", "d", "a", "old"));
	assert_edit(TWO INFO("c", "b", "old") USER("d", "b", "hi"),
	    &(struct edit){.records = edit_name, .text = SPAN_LIT("old")}, true, INFO("@0", "d", "old"));
	assert_edit(TWO SUMMARY("c", "a", "x", "x") USER("d", "b", "hi"),
	    &(struct edit){.records = edit_branch, .entry = 0, .text = SPAN_LIT("x")}, true,
	    SUMMARY("@0", "a", "d", "x"));
	assert_edit(TWO SUMMARY("c", "a", "x", "") USER("d", "b", "hi"),
	    &(struct edit){.records = edit_leaf, .entry = 0}, true, SUMMARY("@0", "a", "d", ""));
}

/* ---- context edits ---- */

CASE(context_edit_is_written_again)
{
	static const char file[] = AS_IS(TWO
	    LINE({"type":"context_edit","id":"c","parentId":"b","targetId":"a","replacement":null}) USER("d", "b", "hi"));
	const char *why = "";
	assert_edit(file, &(struct edit){edit_context, .entry = 0, .text = SPAN_LIT("null"), .ret_why = &why}, true,
	    EDIT("@0", "d", "a", null));
	assert_null(why);
	assert_refused(file, &(struct edit){edit_context, .entry = 2, .ret_why = &why}, -EINVAL);
	assert_non_null(strstr(why, "not a user, "));
	assert_refused(file, &(struct edit){edit_context, .entry = 1, .text = SPAN_LIT("7"), .ret_why = &why}, -EINVAL);
	assert_non_null(strstr(why, "not null, "));
}

/* Each block needs its fields, and a message takes only the blocks of its role. */
CASE(blocks_of_a_context_edit_are_checked)
{
	enum { USER_TAKES = 1, ASSISTANT_TAKES = 2 };
	static const struct {
		const char *block;
		int takers;
	} blocks[] =
	    ITEMS(
	    {JSON(SAY("x")), USER_TAKES | ASSISTANT_TAKES},
	    {JSON({"type":"text","text":7}), 0},
	    {JSON({"type":"text"}), 0},
	    {JSON(IMAGE("image/png", "QQ==")), USER_TAKES},
	    {JSON({"type":"image","data":1,"mimeType":"image/png"}), 0},
	    {JSON({"type":"image","data":"QQ==","mimeType":null}), 0},
	    {JSON(THINKING("x")), ASSISTANT_TAKES},
	    {JSON({"type":"thinking","thinking":[]}), 0},
	    {JSON(CALL("i", "n", )), ASSISTANT_TAKES},
	    {JSON({"type":"toolCall","id":1,"name":"n","arguments":{}}), 0},
	    {JSON({"type":"toolCall","id":"i","name":{},"arguments":{}}), 0},
	    {JSON({"type":"toolCall","id":"i","name":"n","arguments":[]}), 0},
	    {JSON({"type":"other","text":"x","thinking":"x"}), 0});
	CLEANUP(fixture_release) struct fixture f;
	struct session *s = open_text(&f, HEADER USER("a", null, "hi") ASSISTANT("b", "a", ));
	for (unsigned i = 0; i < 2 * COUNT(blocks); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT, text = BUF_INIT;
		const char *why = NULL, *block = blocks[i / 2].block;
		bool is_taken = (blocks[i / 2].takers & (i % 2 ? ASSISTANT_TAKES : USER_TAKES)) != 0;
		buf_addf(&text, JSON([SAY("before"),%s]), block);
		const struct edit e = {edit_context, .entry = i % 2, .text = buf_span(&text), .ret_why = &why};
		int rc = edit_make(s, &e, false, NOW, &out);
		if (rc != (is_taken ? 0 : -EINVAL) || is_taken != (why == NULL))
			fail_msg("%s for entry %u: %d, %s", block, i % 2, rc, why ? why : "no reason");
		if (why)
			assert_int_equal(strstr(why, "image") != NULL, i % 2 == 0);
		assert_int_equal(is_taken, out.n > 0 && strstr(buf_cstr(&out), block));
	}
}

/* ---- ids ---- */

static int by_value(const void *a, const void *b)
{
	return memcmp(a, b, 8);
}

/* Many at once: all of 8 hex digits, all different. */
CASE(ids_differ)
{
	enum { N = 5000 };
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	CLEANUP_FREE struct edit_label *l = calloc(N, sizeof *l);
	CLEANUP_FREE char(*ids)[8] = calloc(N, 8);
	struct session *s = open_text(&f, TWO);
	size_t n = 0;
	for (size_t i = 0; i < N; i++)
		l[i] = (struct edit_label){(uint32_t)(i % 2), SPAN_LIT("x")};
	assert_int_equal(edit_make(s, &(struct edit){.records = edit_labels, .labels = l, .n = N}, true, NOW, &out), 0);
	struct span rest = buf_span(&out);
	for (const char *nl; (nl = memchr(rest.p, '\n', rest.n)); n++) {
		assert_memory_equal(rest.p, "{\"type\":\"label\",\"id\":\"", 22);
		memcpy(ids[n], rest.p + 22, 8);
		rest.n -= (size_t)(nl + 1 - rest.p);
		rest.p = nl + 1;
	}
	assert_int_equal(n, N);
	qsort(ids, N, 8, by_value);
	for (size_t i = 1; i < N; i++)
		assert_memory_not_equal(ids[i - 1], ids[i], 8);
}

RUN_CASES(NULL, NULL)
