/* SPDX-License-Identifier: MIT */
/* label: which record counts after the session has grown. test_label.c tests the rest. */
#include "unit.h"
#include "session_fixture.h"

static void grow(struct fixture *f, const char *lines)
{
	append(f, lines, strlen(lines));
	assert_int_equal(session_grow(f->s), 1);
}

/* The labelled entries, and the record of each. */
static void assert_labels(const struct session *s, const char *expected)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	for (size_t k = 0; k < session_label_count(s); k++) {
		uint32_t i = session_nth_labelled(s, k);
		buf_addf(&b, "%" PRIu32 ":%" PRIu32 " ", i, session_label_record(s, i));
	}
	assert_text(&b, expected);
}

static void last_label_record_wins(void **state)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	struct fixture f;
	struct session *s =
	    open_text(&f,
	    HEADER LABEL("l1", null, "b", "early") USER("a", "l1", "hi") USER("b", "a", "hi")
	    LABEL("l2", "b", "a", "one") LABEL("l3", "l2", "a", "t\u0077o") LABEL("l4", "l3", "gone", "x")
	    LABEL("l5", "l4", "l2", 12) LABEL("l6", "l5", null, "x"));

	assert_int_equal(session_label_count(s), 3);
	assert_int_equal(session_nth_labelled(s, 0), 1);
	assert_int_equal(session_nth_labelled(s, 1), 2);
	assert_int_equal(session_nth_labelled(s, 2), 3);
	assert_int_equal(session_nth_labelled(s, 3), NO_ENTRY);
	assert_int_equal(session_label_record(s, 1), 4);
	assert_true(session_label(s, 1, &b));
	assert_text(&b, "two");
	buf_reset(&b);
	assert_true(session_label(s, 3, &b));
	assert_text(&b, "12");
	assert_false(session_label(s, 0, &b));
	assert_problems(s, "7 labels an unknown entry; 9 labels an unknown entry; ");

	static const char clear[] = AS_IS(LABEL("l7", "l6", "a", "") LABEL("l8", "l7", "b", null)
	    LINE({"type":"label","id":"l9","parentId":"l8","targetId":"l2"}));
	append(&f, clear, strlen(clear));
	assert_int_equal(session_grow(s), 1);
	assert_int_equal(session_label_count(s), 0);
	assert_int_equal(session_label_record(s, 1), NO_ENTRY);
	fixture_release(&f);
}

static void label_follows_reassigned_id(void **state)
{
	struct fixture f;
	struct session *s = open_text(&f, HEADER USER("a", null, "hi") LABEL("l", "a", "a", "x"));

	assert_int_equal(session_label_record(s, 0), 1);
	append(&f, USER("a", null, "hi"), strlen(USER("a", null, "hi")));
	assert_int_equal(session_grow(s), 1);
	assert_int_equal(session_label_record(s, 0), NO_ENTRY);
	assert_int_equal(session_label_record(s, 2), 1);
	fixture_release(&f);
}

static void last_name_wins(void **state)
{
	static const struct {
		const char *lines, *name;
	} cases[] = ITEMS(
	    {"", NULL},
	    {INFO("a", null, " \ufeffOne\u00a0\n"), "One"},
	    {INFO("a", null, "One") INFO("b", null, "Two"), "Two"},
	    {INFO("a", null, "One") INFO("b", null, " "), NULL},
	    {INFO("a", null, "One") INFO("b", null, 5), NULL},
	    {INFO("a", null, "One") LINE({"type":"session_info","id":"b"}), NULL});

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT, name = BUF_INIT;
		struct fixture f;
		buf_adds(&text, HEADER);
		buf_adds(&text, cases[i].lines);
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_int_equal(session_name(f.s, &name), cases[i].name != NULL);
		assert_text(&name, cases[i].name ? cases[i].name : "");
		fixture_release(&f);
	}
}

/* New labels are merged into those that are known: before, between and after them, in the place of one, and away. */
static void later_labels_are_merged(void **state)
{
	struct fixture f;
	struct session *s = open_text(&f,
	    HEADER USER("a", null, "hi") USER("b", "a", "hi") USER("c", "b", "hi") USER("d", "c", "hi")
	    LABEL("l4", "d", "b", "B"));

	assert_labels(s, "1:4 ");
	grow(&f, LABEL("l5", "l4", "d", "D") LABEL("l6", "l5", "a", "A"));
	assert_labels(s, "0:6 1:4 3:5 ");
	grow(&f,
	    LABEL("l7", "l6", "c", "C") LABEL("l8", "l7", "a", "") LABEL("l9", "l8", "d", "DD")
	    LABEL("l10", "l9", "d", "DDD"));
	assert_labels(s, "1:4 2:7 3:10 ");
	/* The same entry twice at once: the last record counts, also if it clears. */
	grow(&f,
	    LABEL("l11", "l10", "b", "x") LABEL("l12", "l11", "b", "") LABEL("l13", "l12", "c", "")
	    LABEL("l14", "l13", "c", "x"));
	assert_labels(s, "2:14 3:10 ");
	/* A label of an entry that comes later. */
	grow(&f, LABEL("l15", "l14", "z", "Z"));
	assert_labels(s, "2:14 3:10 ");
	grow(&f, USER("z", "l15", "hi"));
	assert_labels(s, "2:14 3:10 16:15 ");
	grow(&f, LABEL("l17", "z", "c", "") LABEL("l18", "l17", "d", "") LABEL("l19", "l18", "z", ""));
	assert_labels(s, "");
	fixture_release(&f);
}

/* The edits on the path of the leaf count, the last one of each entry; also after the leaf has moved. */
static void edits_on_the_path_count(void **state)
{
	struct fixture f;
	struct session *s = open_text(&f, HEADER USER("a", null, "hi") USER("b", "a", "hi") USER("c", "b", "hi"));

	assert_int_equal(session_edit_record(s, 0), NO_ENTRY);
	grow(&f, EDIT("e", "c", "a", null) EDIT("f", "e", "b", null));
	assert_int_equal(session_edit_record(s, 0), 3);
	assert_int_equal(session_edit_record(s, 1), 4);
	assert_int_equal(session_edit_record(s, 2), NO_ENTRY);
	/* The branch grows: a further edit replaces the first, and one has a target that comes later. */
	grow(&f, EDIT("g", "f", "a", null) EDIT("h", "g", "later", null));
	assert_int_equal(session_edit_record(s, 0), 5);
	assert_int_equal(session_edit_record(s, 1), 4);
	grow(&f, USER("later", "h", "hi"));
	assert_int_equal(session_edit_record(s, 7), 6);
	assert_int_equal(session_edit_record(s, 0), 5);
	/* Another branch has no edits, and its own ones only. */
	grow(&f, USER("x", "c", "hi"));
	assert_int_equal(session_edit_record(s, 0), NO_ENTRY);
	grow(&f, EDIT("y", "x", "c", null));
	assert_int_equal(session_edit_record(s, 2), 9);
	assert_int_equal(session_edit_record(s, 1), NO_ENTRY);
	/* Edits are no labels. */
	assert_int_equal(session_label_count(s), 0);
	fixture_release(&f);
}

CASES(cmocka_unit_test(last_label_record_wins), cmocka_unit_test(label_follows_reassigned_id),
      cmocka_unit_test(last_name_wins), cmocka_unit_test(later_labels_are_merged),
      cmocka_unit_test(edits_on_the_path_count))
