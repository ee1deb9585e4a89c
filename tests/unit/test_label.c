/* SPDX-License-Identifier: MIT */
/* label: changes of labels, failures, and the names in labels/. test_label_grow.c has which record counts. */
#include "cases.h"
#include "failing_alloc.h"
#include "failing_calls.h"
#include "write_fixture.h"

#define TWO HEADER USER("a", null, "hi") USER("b", "a", "hi")

/* --- the index ------------------------------------------------------------------------- */

/* Opens a session; the caller releases f. */
static const struct session *session_of(struct fixture *f, const char *text)
{
	assert_int_equal(open_bytes(f, text, strlen(text)), 0);
	session_rdlock(f->s);
	return f->s;
}

static void grow(struct fixture *f, const char *text)
{
	session_unlock(f->s);
	append(f, text, strlen(text));
	session_wrlock(f->s);
	assert_int_equal(session_grow(f->s), 1);
	session_unlock(f->s);
	session_rdlock(f->s);
}

static void close_session(struct fixture *f)
{
	session_unlock(f->s);
	fixture_release(f);
}
#define CLEANUP_SESSION CLEANUP(close_session)

CASE(serial_rises_with_labels_and_names)
{
	/* The second one has no effect, but all labels are found again. */
	static const char *const more[] =
	    ITEMS(
	    LABEL("d", "c", "a", "x"), LABEL("e", "d", "gone", "x"), LABEL("f", "e", "b", "x"), LABEL("g", "f", "a", null),
	    INFO("h", "g", "name"), INFO("i", "h", ""), LABEL("j", "i", "b", "y"));
	struct fixture f CLEANUP_SESSION;
	const struct session *s = session_of(&f, TWO EDIT("c", "b", "a", null));
	uint64_t last = session_label_serial(s);
	assert_int_equal(last, 0);
	for (size_t i = 0; i < COUNT(more); i++) {
		grow(&f, more[i]);
		assert_int_equal(session_label_serial(s) > last, i != 1);
		last = session_label_serial(s);
	}
}

/* "ENTRY<RECORD+ " or, for a clearing record, "ENTRY<RECORD- ". */
static void assert_changes(const struct session *s, uint32_t after, uint32_t upto, const char *want)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	CLEANUP_FREE struct label_change *v = NULL;
	size_t n = 0;
	assert_int_equal(session_label_changes(s, after, upto, &v, &n), 0);
	for (size_t i = 0; i < n; i++) {
		buf_addf(&b, "%" PRIu32 "<%" PRIu32 "%c ", v[i].entry, v[i].record, v[i].is_set ? '+' : '-');
		assert_ptr_equal(session_label_change_find(v, n, v[i].entry), &v[i]);
	}
	assert_text(&b, want);
	assert_null(session_label_change_find(v, n, 77));
	assert_null(session_label_change_find(v, 0, 0));
}

CASE(changes_are_those_of_the_lines)
{
	struct fixture f CLEANUP_SESSION;
	/* lines 4 to 8; line 6 is a context edit, line 7 labels no entry */
	const struct session *s =
	    session_of(&f,
	    TWO LABEL("c", "b", "b", "one") LABEL("d", "c", "a", "two") EDIT("e", "d", "c", null)
	    LABEL("f", "e", "none", "x") LABEL("g", "f", "b", null));
	assert_int_equal(session_line_count(s), 8);
	assert_changes(s, 0, 8, "0<3+ 1<6- ");
	assert_changes(s, 0, 7, "0<3+ 1<2+ ");
	assert_changes(s, 3, 4, "1<2+ ");
	assert_changes(s, 4, 5, "0<3+ ");
	assert_changes(s, 4, 4, "");
	assert_changes(s, 5, 7, "");
	assert_changes(s, 8, UINT32_MAX, "");
}

CASE(no_label_is_no_change)
{
	struct fixture f CLEANUP_SESSION;
	assert_changes(session_of(&f, TWO), 0, UINT32_MAX, "");
}

/* --- failing calls ----------------------------------------------------------------------- */

CASE(failed_read_is_returned)
{
	struct fixture f CLEANUP_SESSION;
	CLEANUP_BUF struct buf b = BUF_INIT;
	const struct session *s = session_of(&f, TWO LABEL("c", "b", "a", "x") INFO("d", "c", "name"));
	let_fail(PREAD, 1, 100, EIO);
	assert_int_equal(session_label_text(s, 2, &b), -EIO);
	assert_false(session_label(s, 0, &b));
	assert_false(session_name(s, &b));
	assert_text(&b, "");
	plan = (struct plan){0};
	assert_true(session_label(s, 0, &b));
	assert_text(&b, "x");
}

/* Without memory there are no labels and edits; the next call has them. */
CASE(lists_are_made_again_after_a_failure)
{
	unsigned failed = 0;
	for (unsigned nth = 1; nth < 20; nth++) {
		struct fixture f CLEANUP_SESSION;
		const struct session *s = session_of(&f, TWO LABEL("c", "b", "a", "x") EDIT("d", "c", "b", null));
		let_alloc_fail(nth);
		uint32_t label = session_label_record(s, 0), edit = session_edit_record(s, 1);
		if (alloc_has_failed()) {
			failed++;
			assert_true(label == NO_ENTRY || edit == NO_ENTRY);
		}
		assert_true(label == 2 || label == NO_ENTRY);
		assert_true(edit == 3 || edit == NO_ENTRY);
		assert_int_equal(session_label_record(s, 0), 2);
		assert_int_equal(session_edit_record(s, 1), 3);
		assert_int_equal(session_label_count(s), 1);
	}
	assert_true(failed >= 4 && failed < 19);
}

CASE(changes_without_memory_are_refused)
{
	struct fixture f CLEANUP_SESSION;
	struct label_change *v = NULL;
	size_t n = 0;
	const struct session *s = session_of(&f, TWO LABEL("c", "b", "a", "x"));
	let_alloc_fail(1);
	assert_int_equal(session_label_changes(s, 0, 9, &v, &n), -ENOMEM);
	assert_true(alloc_has_failed());
	assert_null(v);
	assert_changes(s, 0, 9, "0<2+ ");
}

/* --- labels/ ----------------------------------------------------------------------------- */

/* A text that is another label's name with its id keeps its name. */
CASE_WITH(plain_label_keeps_its_name, set_up, tear_down)
{
	struct source_fixture *p = *state;
	begin(p, ABC LABEL("d", "c", "a", "x") LABEL("e", "d", "b", "x") LABEL("f", "e", "c", "x~b"));
	assert_lists(p, S "/labels", "x~a x~b~3 x~b ");
	assert_reads(p, S "/labels/x~a", "../entries/a");
	assert_reads(p, S "/labels/x~b~3", "../entries/b");
	assert_reads(p, S "/labels/x~b", "../entries/c");
	assert_missing(p, S "/labels/x");
	assert_missing(p, S "/labels/x~c");
	assert_missing(p, S "/labels/zzz");
	assert_missing(p, S "/labels/aaa");
	assert_int_equal(make_link(p, S "/labels", "x~b~3", "../entries/d"), -EEXIST);
	assert_int_equal(put(p, S "/entries/d", "label", "x~b~3"), 0);
	assert_lists(p, S "/labels", "x~a %~3~x~b~3 x~b x~b~3 ");
	assert_reads(p, S "/labels/x~b~3", "../entries/d");
	assert_reads(p, S "/labels/%~3~x~b~3", "../entries/b");
}

static int add_until(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                     const struct tree_attr *attr)
{
	uint64_t *last = arg;
	if (last[1]-- == 0)
		return 1;
	last[0] = cookie;
	return 0;
}

CASE_WITH(listing_continues_after_a_name, set_up, tear_down)
{
	static const char *const rest[] = {"one two three ", "two three ", "three ", ""};
	struct source_fixture *p = *state;
	begin(p, ABC LABEL("d", "c", "a", "one") LABEL("e", "d", "b", "two") LABEL("f", "e", "e", "three"));
	for (uint64_t n = 0; n < 4; n++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		uint64_t last[2] = {0, n};
		assert_int_equal(tree_list(p->tree, node_at(p, S "/labels"), 0, 0, add_until, last), 0);
		assert_int_equal(tree_list(p->tree, node_at(p, S "/labels"), last[0], 0, add_name, &b), 0);
		assert_text(&b, rest[n]);
	}
}

CASE_WITH(names_without_memory_are_an_error, set_up, tear_down)
{
	struct source_fixture *p = *state;
	unsigned failed = 0;
	begin(p, ABC LABEL("d", "c", "a", "x") LABEL("e", "d", "b", "x"));
	node_t dir = node_at(p, S "/labels");
	for (unsigned nth = 1; nth < 40; nth++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		assert_non_null(buf_reserve(&b, 64));
		cache_close(p->cache);
		tree_close(p->tree);
		struct tree_options t = {.catalog = p->catalog};
		assert_int_equal(cache_open(&p->budget, &p->cache), 0);
		t.cache = p->cache;
		assert_int_equal(tree_open(&t, &p->tree), 0);
		let_alloc_fail(nth);
		int rc = tree_list(p->tree, dir, 0, 0, add_name, &b);
		if (alloc_has_failed()) {
			failed++;
			assert_true(rc == -ENOMEM || (rc == 0 && span_is(buf_span(&b), "x~a x~b ")));
		} else {
			assert_int_equal(rc, 0);
			assert_text(&b, "x~a x~b ");
		}
	}
	assert_true(failed >= 4 && failed < 39);
	assert_lists(p, S "/labels", "x~a x~b ");
}

RUN_CASES(NULL, NULL)
