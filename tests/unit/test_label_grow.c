/* SPDX-License-Identifier: MIT */
/* label: which label, name and context edit counts, also after the session has grown. */
#include "cases.h"
#include "session_fixture.h"

/* "ENTRY:RECORD=LABEL " for each labelled entry. */
static void assert_labels(const struct session *s, const char *expected)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	size_t n = session_label_count(s);
	for (size_t k = 0; k < n; k++) {
		uint32_t i = session_nth_labelled(s, k);
		buf_addf(&b, "%" PRIu32 ":%" PRIu32 "=", i, session_label_record(s, i));
		assert_true(session_label(s, i, &b));
		buf_addc(&b, ' ');
	}
	assert_text(&b, expected);
	assert_int_equal(session_nth_labelled(s, n), NO_ENTRY);
}

SESSION_CASE(last_label_record_wins)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	struct session *s =
	    open_text(f,
	    HEADER LABEL("l1", null, "b", "early") USER("a", "l1", "hi") USER("b", "a", "hi")
	    LABEL("l2", "b", "a", "one") LABEL("l3", "l2", "a", "t\u0077o") LABEL("l4", "l3", "gone", "x")
	    LABEL("l5", "l4", "l2", 12) LABEL("l6", "l5", null, "x"));
	assert_labels(s, "1:4=two 2:0=early 3:6=12 ");
	assert_int_equal(session_label_record(s, 0), NO_ENTRY);
	assert_false(session_label(s, 0, &b));
	assert_text(&b, "");
	assert_problems(s, "7 labels an unknown entry; 9 labels an unknown entry; ");
	/* A falsy label clears, and so does none; clearing an entry without a label has no effect. */
	append_lines(f, LABEL("l7", "l6", "a", "") LABEL("l8", "l7", "b", null) UNLABEL("l9", "l8", "l2"));
	assert_labels(s, "");
	assert_int_equal(session_label_record(s, 1), NO_ENTRY);
	append_lines(f, LABEL("l10", "l9", "a", "x") LABEL("l11", "l10", "b", "y"));
	append_lines(f, LABEL("l12", "l11", "a", 0) LABEL("l13", "l12", "l2", false));
	assert_labels(s, "2:12=y ");
}

SESSION_CASE(label_follows_reassigned_id)
{
	struct session *s = open_text(f, HEADER USER("a", null, "hi") LABEL("l", "a", "a", "x"));
	assert_int_equal(session_label_record(s, 0), 1);
	append_lines(f, USER("a", null, "hi"));
	assert_int_equal(session_label_record(s, 0), NO_ENTRY);
	assert_int_equal(session_label_record(s, 2), 1);
}

CASE(last_name_wins)
{
	static const struct {
		const char *lines, *name;
	} cases[] =
	    ITEMS(
	    {"", NULL},
	    {INFO("a", null, " \ufeffOne\u00a0\n"), "One"},
	    {INFO("a", null, "One") INFO("b", null, " two\n words \t"), "two\n words"},
	    {INFO("a", null, "One") INFO("b", null, " "), NULL},
	    {INFO("a", null, "One") INFO("b", null, 5), NULL},
	    {INFO("a", null, "One") INFO("b", null, null), NULL},
	    {INFO("a", null, "One") LINE({"type":"session_info","id":"b"}), NULL});
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT, name = BUF_INIT;
		CLEANUP(fixture_release) struct fixture f;
		buf_adds(&text, HEADER);
		buf_adds(&text, cases[i].lines);
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_int_equal(session_name(f.s, &name), cases[i].name != NULL);
		assert_text(&name, cases[i].name ? cases[i].name : "");
		assert_int_equal(session_name_record(f.s), i > 0 ? session_count(f.s) - 1 : NO_ENTRY);
	}
}

/* New labels are merged into those that are known: before, between and after them, in the place of one, and away. */
SESSION_CASE(later_labels_are_merged)
{
	struct session *s = open_text(f,
	    HEADER USER("a", null, "hi") USER("b", "a", "hi") USER("c", "b", "hi") USER("d", "c", "hi")
	    LABEL("l4", "d", "b", "B"));
	assert_labels(s, "1:4=B ");
	append_lines(f, LABEL("l5", "l4", "d", "D") LABEL("l6", "l5", "a", "A"));
	assert_labels(s, "0:6=A 1:4=B 3:5=D ");
	append_lines(f, LABEL("l7", "l6", "c", "C") LABEL("l8", "l7", "a", "") LABEL("l9", "l8", "d", "DD") LABEL("l10", "l9", "d", "DDD"));
	assert_labels(s, "1:4=B 2:7=C 3:10=DDD ");
	/* The same entry twice at once: the last record counts, also if it clears. */
	append_lines(f, LABEL("l11", "l10", "b", "x") LABEL("l12", "l11", "b", "") LABEL("l13", "l12", "c", "") LABEL("l14", "l13", "c", "x"));
	assert_labels(s, "2:14=x 3:10=DDD ");
	/* A label of an entry that comes later. */
	append_lines(f, LABEL("l15", "l14", "z", "Z"));
	assert_labels(s, "2:14=x 3:10=DDD ");
	uint64_t serial = session_label_serial(s);
	append_lines(f, USER("y", "l15", "hi"));
	assert_int_equal(session_label_serial(s), serial);
	append_lines(f, USER("z", "y", "hi"));
	assert_true(session_label_serial(s) > serial);
	assert_labels(s, "2:14=x 3:10=DDD 17:15=Z ");
	append_lines(f, LABEL("l17", "z", "c", "") LABEL("l18", "l17", "d", "") LABEL("l19", "l18", "z", ""));
	assert_labels(s, "");
}

/* The edits on the path of the leaf count, the last one of each entry; also after the leaf has moved. */
SESSION_CASE(edits_on_the_path_count)
{
	struct session *s = open_text(f, HEADER USER("a", null, "hi") USER("b", "a", "hi") USER("c", "b", "hi"));
	assert_int_equal(session_edit_record(s, 0), NO_ENTRY);
	append_lines(f, EDIT("e", "c", "a", null) EDIT("f", "e", "b", null));
	assert_int_equal(session_edit_record(s, 0), 3);
	assert_int_equal(session_edit_record(s, 1), 4);
	assert_int_equal(session_edit_record(s, 2), NO_ENTRY);
	/* The branch grows: a further edit replaces the first, and one has a target that comes later. */
	append_lines(f, EDIT("g", "f", "a", null) EDIT("h", "g", "later", null));
	assert_int_equal(session_edit_record(s, 0), 5);
	assert_int_equal(session_edit_record(s, 1), 4);
	append_lines(f, USER("later", "h", "hi"));
	assert_int_equal(session_edit_record(s, 7), 6);
	assert_int_equal(session_edit_record(s, 0), 5);
	/* Another branch has the edits before its fork only. */
	append_lines(f, USER("w", "e", "hi"));
	assert_int_equal(session_edit_record(s, 0), 3);
	assert_int_equal(session_edit_record(s, 1), NO_ENTRY);
	assert_int_equal(session_edit_record(s, 7), NO_ENTRY);
	append_lines(f, USER("x", "c", "hi"));
	assert_int_equal(session_edit_record(s, 0), NO_ENTRY);
	append_lines(f, EDIT("y", "x", "c", null));
	assert_int_equal(session_edit_record(s, 2), 10);
	assert_int_equal(session_edit_record(s, 1), NO_ENTRY);
	/* Edits are no labels, and labels no edits, nor is an edit without a replacement. */
	append_lines(f, LABEL("l", "y", "b", "x") LINE({"type":"context_edit","id":"z","parentId":"l","targetId":"c"}));
	assert_int_equal(session_edit_record(s, 1), NO_ENTRY);
	assert_int_equal(session_edit_record(s, 2), 10);
	assert_labels(s, "1:11=x ");
}

SESSION_CASE(edit_nearest_to_the_leaf_counts)
{
	struct session *s = open_text(f, HEADER USER("a", null, "hi") EDIT("c", "b", "a", null)
	    EDIT("b", "a", "a", null) USER("d", "c", "hi"));
	assert_int_equal(session_edit_record(s, 0), 1);
}

RUN_CASES(NULL, NULL)
