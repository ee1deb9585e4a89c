/* SPDX-License-Identifier: MIT */
/* labels.tsv read back: its changes, and every kind of error. */
#include "cases.h"
#include "sessionfs/write/edit.h"
#include "sessionfs/render/render.h"

#include "session_fixture.h"

#define THREE HEADER USER("a", null, "hi") USER("b", "a", "hi") USER("c", "b", "hi")
#define LABELLED THREE LABEL("l1", "c", "a", "one") LABEL("l2", "l1", "b", "two")

/* Labels with this prefix were saved from the table. */
static bool is_own(void *arg, uint32_t line, uint32_t entry, struct span label)
{
	return label.n > 4 && memcmp(label.p, "own ", 4) == 0;
}

/* The changes as "ENTRY=text;", or the error and its reason. */
static void table_text(const struct session *s, struct span table, struct buf *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT, why = BUF_INIT;
	CLEANUP_FREE struct edit_label *labels = NULL;
	size_t n = 0;
	struct edits_from_table saved = {.text = table, .is_saved_here = is_own};
	int rc = edits_from_table(s, &saved, &text, &labels, &n, &why);
	if (rc < 0) {
		assert_int_equal(rc, -EINVAL);
		assert_null(labels);
		buf_adds(out, "! ");
		buf_addspan(out, buf_span(&why));
		return;
	}
	assert_int_equal(why.n, 0);
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "%" PRIu32 "=", labels[i].entry);
		buf_addspan(out, labels[i].text);
		buf_addc(out, ';');
	}
}

static void assert_table(const char *file, const char *table, const char *expected)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	table_text(open_text(&f, file), span_of(table), &out);
	assert_text(&out, expected);
}

static void assert_bad(const char *file, const char *table, unsigned line)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	char expected[32];
	table_text(open_text(&f, file), span_of(table), &out);
	snprintf(expected, sizeof expected, "! line %u: ", line);
	assert_true(out.n > strlen(expected));
	assert_memory_equal(out.p, expected, strlen(expected));
}

CASE(changed_cells_set_labels)
{
	assert_table(LABELLED, "a\tone\tuser: hi\nb\ttwo\tuser: hi\nc\t\tuser: hi\n", "");
	assert_table(LABELLED, "a\tnew\tuser: hi\nb\ttwo\tuser: hi\nc\tthree\tuser: hi\n", "0=new;2=three;");
	/* In the order of the rows; the last line needs no newline. */
	assert_table(LABELLED, "c\tx\nb\ty\na\tz", "2=x;1=y;0=z;");
	assert_table(LABELLED, "a\t\nb\t \t x\n", "0=;1=;");
	/* Labels can be labelled, too. */
	assert_table(LABELLED, "a\tone\nb\ttwo\nl1\tx\n", "3=x;");
	/* A missing row clears. */
	assert_table(LABELLED, "", "0=;1=;");
	assert_table(LABELLED, "# nothing\n", "0=;1=;");
	assert_table(LABELLED, "b\tnew\n", "1=new;0=;");
	assert_table(THREE, "", "");
	/* The third column has no effect. */
	assert_table(LABELLED, "a\tone\t\\x bad \\\tmore\tand more\nb\ttwo", "");
}

CASE(comments_are_ignored)
{
	assert_table(LABELLED, "# a comment\n\n  \n \t \n#\n#a\tx\na\tone\n\nb\ttwo\n\n", "");
	/* An id that begins with # is not a comment. */
	assert_table(HEADER USER("#1", null, "hi"), "#1\tx\n#2\ty\n# 1\tz\n", "0=x;");
	assert_table(HEADER USER("#", null, "hi"), "#\tx\n", "0=x;");
	assert_bad(HEADER USER("#1", null, "hi"), "#1\n", 1);
}

CASE(bad_rows_are_refused)
{
	assert_bad(LABELLED, "a\tone\nnone\tx\n", 2);
	assert_bad(LABELLED, "\tx\n", 1);
	assert_bad(LABELLED, " a\tx\n", 1);
	assert_bad(LABELLED, "\n\n# x\na one\n", 4);
	assert_bad(LABELLED, "a\tone\nb\ttwo\na\tone\n", 3);
	assert_bad(LABELLED, "~2\tx\n", 1);
	assert_bad(HEADER USER("a", null, "hi") USER("a", null, "hi"), "~2\tx\n", 1);
}

/* The first error ends it, even after good rows. */
CASE(names_the_line)
{
	assert_table(LABELLED, "a\tnew\nb\\tx\nnone\tx\n", "! line 2: no TAB after the id");
	assert_table(LABELLED, "a\tnew\nnone\tx\n", "! line 2: no entry has this id");
	assert_table(LABELLED, "a\tnew\na\tx\n", "! line 2: this id already has a row");
}

CASE(escapes_are_decoded)
{
	assert_table(THREE, "a\tt\\tb\\\\\\\\n\n", "0=t\tb\\\\n;");
	assert_bad(THREE, "a\t\\x\n", 1);
	assert_bad(THREE, "a\tx\\\n", 1);
	assert_bad(THREE, "a\t\\\tuser: hi\n", 1);
	assert_bad(THREE, "b\t\na\t\\e\n", 2);
	assert_table(THREE, "a\tdry\\rwet\n", "0=dry\rwet;");
	assert_table(HEADER USER("a", null, "hi") LABEL("l", "a", "a", "dry\rwet\u0000\r"), "a\tdry\\rwet\\0\\r\n", "");
}

/* A cell refuses the texts that a label's file refuses, and the same texts clear the label. */
CASE(cells_are_checked_like_labels)
{
	static const char *const bad[] = {"a\\nb", "a\\n", "\\0", "\xff", "\xed\xa0\x80", "a\xc3", "\xef\xbb\xbfx"};
	for (size_t i = 0; i < COUNT(bad); i++) {
		CLEANUP_BUF struct buf row = BUF_INIT;
		buf_addf(&row, "b\ty\na\t%s\n", bad[i]);
		assert_bad(THREE, buf_cstr(&row), 2);
	}
	assert_table(LABELLED, "a\t\xc2\xa0\nb\t\\t \n", "0=;1=;");
}

/* ids as the table shows them: components. */
CASE(ids_are_components)
{
	assert_table(HEADER USER("a/b", null, "hi") USER(12, null, "hi") USER("12", null, "hi"),
	    "a%2Fb\tx\n12\ty\n12~2\tz\n", "0=x;1=y;2=z;");
	/* An id that looks like the component of another one has a component of its own. */
	assert_table(HEADER USER("a%2Fb", null, "hi") USER("a/b", null, "hi"), "a%2Fb\tx\na%252Fb\ty\n", "1=x;0=y;");
}

/* Without a caller that knows what this table has saved, others made all changes. */
CASE(without_a_caller_changes_are_of_others)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf text = BUF_INIT, why = BUF_INIT;
	CLEANUP_FREE struct edit_label *labels = NULL;
	struct session *s = open_text(&f, LABELLED LABEL("l3", "l2", "a", "own one"));
	struct edits_from_table saved = {.text = SPAN_LIT("# ID\tLABEL\tTEXT\tas of line 6\na\tone\nb\ttwo\n")};
	size_t n = 7;
	assert_int_equal(edits_from_table(s, &saved, &text, &labels, &n, &why), 0);
	assert_int_equal(n, 0);
	assert_int_equal(saved.line, 6);
}

CASE(long_labels_are_refused)
{
	CLEANUP_BUF struct buf b = BUF_INIT, expected = BUF_INIT;
	buf_addf(&b, "a\t%04095d\\t\n", 0);
	buf_addf(&expected, "0=%04095d\t;", 0);
	assert_table(THREE, buf_cstr(&b), buf_cstr(&expected));
	b.n--;
	buf_adds(&b, "y\n");
	assert_bad(THREE, buf_cstr(&b), 1);
}

/* Saving the table unchanged changes nothing, even labels that it cannot show exactly. */
CASE(unchanged_table_changes_nothing)
{
	static const char *const odd[] = ITEMS(
	    JSON("\ud800"), JSON("a\u0000b"), "\"\xff\xfe\"", JSON("a\tb\nc\\d"), JSON(" "), JSON("\\t"), "12",
	    JSON("#x"), JSON("\r"), JSON("a\r\nb"), "\"\xed\xa0\x80\"", JSON("\u2028\ufeff"), JSON("\u0001"));
	for (size_t i = 0; i < COUNT(odd); i++) {
		CLEANUP(fixture_release) struct fixture f;
		CLEANUP_BUF struct buf file = BUF_INIT, table = BUF_INIT, changed = BUF_INIT;
		buf_addf(&file, THREE LINE({"type":"label","id":"l","parentId":"c","targetId":"b","label":%s}), odd[i]);
		assert_int_equal(open_bytes(&f, file.p, file.n), 0);
		assert_int_equal(render_labels_tsv(f.s, &table), 0);
		table_text(f.s, buf_span(&table), &changed);
		if (changed.n > 0)
			fail_msg("%s: %.*s", odd[i], (int)changed.n, changed.p);
	}
}

#define AS_OF(line) "# ID\tLABEL\tTEXT\tas of line " #line "\n"
/* Line 5 sets a, line 6 sets b; then another writer changes a, clears b, and labels c. */
#define CHANGED                                                                                                        \
	AS_IS( \
    LABELLED LABEL("l3", "l2", "a", "one, really") LABEL("l4", "l3", "b", null) LABEL("l5", "l4", "c", "three"))

#define CLEARED LABELLED LABEL("l3", "l2", "a", null)

/* Rows unchanged since the table was read keep later changes by others. */
CASE(unchanged_rows_keep_later_changes)
{
	assert_table(CHANGED, AS_OF(6) "a\tone\nb\ttwo\nc\t\n", "");
	assert_table(CHANGED, AS_OF(6) "a\tmine\nb\ttwo\nc\t\n", "0=mine;");
	assert_table(CHANGED, AS_OF(6) "a\tone\nb\tmine\nc\tmine\n", "1=mine;2=mine;");
	assert_table(CHANGED, AS_OF(6) "a\t\nb\t\nc\t\n", "0=;");
	/* A missing row clears a label from that time, not a later one. */
	assert_table(CHANGED, AS_OF(6) "b\ttwo\n", "0=;");
	assert_table(CHANGED, AS_OF(6), "0=;");
	/* The same if the label was cleared before that time. */
	assert_table(CLEARED LABEL("l4", "l3", "a", "theirs"), AS_OF(7) "b\ttwo\n", "");
	assert_table(CLEARED LABEL("l4", "l3", "a", "own label"), AS_OF(7) "b\ttwo\n", "0=;");
	/* The heading has another line number. */
	assert_table(CHANGED, AS_OF(9) "a\tone\nb\ttwo\nc\t\n", "0=one;1=two;2=;");
	assert_table(CHANGED, AS_OF(7) "a\tone\nb\ttwo\nc\t\n", "0=one;");
	assert_table(CHANGED, AS_OF(4) "a\t\nb\t\nc\t\n", "");
	assert_table(CHANGED, AS_OF(0), "");
	/* Without a heading, the current labels count. */
	assert_table(CHANGED, "a\tone\nb\ttwo\nc\t\n", "0=one;1=two;2=;");
	assert_table(CHANGED, "# ID\tLABEL\tTEXT\na\tone\nc\t\n", "0=one;2=;");
	assert_table(CHANGED, "# ID 6 6\na\tone\nc\t\n", "0=one;2=;");
	assert_table(CHANGED, "# ID 6th\na\tone\nb\ttwo\nc\t\n", "");
	/* The heading can be edited or moved as long as it has that number. */
	assert_table(CHANGED, "a\tone\n# ID  6\nc\t\nb\tx\n", "1=x;");
	assert_bad(CHANGED, AS_OF(10) "a\tone\n", 1);
	assert_bad(CHANGED, "a\tone\n" AS_OF(99999999999999999999999), 2);
	/* It is not a row of an entry with that name, either. */
	assert_table(HEADER USER("# ID", null, "hi"), AS_OF(2) "# ID\tx\n", "0=x;");
}

/* Labels saved earlier from the same table can be undone. */
CASE(saved_labels_can_be_undone)
{
	static const char file[] = AS_IS(LABELLED LABEL("l3", "l2", "a", "own one") LABEL("l4", "l3", "b", "others")
	    LABEL("l5", "l4", "c", "own three"));
	assert_table(file, AS_OF(6) "a\town one\nb\ttwo\nc\town three\n", "");
	assert_table(file, AS_OF(6) "a\tone\nb\ttwo\nc\t\n", "0=one;2=;");
	assert_table(file, AS_OF(6) "a\tone\n", "0=one;1=;2=;");
}

/* The time is linear in the number of rows. */
CASE(time_is_linear_in_rows)
{
	enum { N = 100000 };
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf file = BUF_INIT, table = BUF_INIT, text = BUF_INIT, why = BUF_INIT, out = BUF_INIT;
	CLEANUP_FREE struct edit_label *labels = NULL;
	struct timespec from, to;
	size_t n;
	buf_adds(&file, HEADER);
	for (unsigned i = 0; i < N; i++) {
		buf_addf(&file, USER("%08x", null, "hi"), i);
		buf_addf(&table, "%08x\tlabel %u\tuser: hi\n", i, i);
	}
	assert_int_equal(open_bytes(&f, file.p, file.n), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	struct edits_from_table all = {.text = buf_span(&table)}, none = {.text = SPAN_LIT("#\n")};
	assert_int_equal(edits_from_table(f.s, &all, &text, &labels, &n, &why), 0);
	assert_int_equal(n, N);
	const struct edit e = {.records = edit_labels, .labels = labels, .n = n};
	assert_int_equal(edit_make(f.s, &e, false, 0, &out), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_true(to.tv_sec - from.tv_sec < 10);
	append(&f, out.p, out.n);
	assert_int_equal(session_grow(f.s), 1);
	assert_int_equal(session_label_count(f.s), N);
	cleanup_free(&labels);
	assert_int_equal(edits_from_table(f.s, &all, &text, &labels, &n, &why), 0);
	assert_int_equal(n, 0);
	cleanup_free(&labels);
	assert_int_equal(edits_from_table(f.s, &none, &text, &labels, &n, &why), 0);
	assert_int_equal(n, N);
}

RUN_CASES(NULL, NULL)
