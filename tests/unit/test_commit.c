/* SPDX-License-Identifier: MIT */
/* commit: values whose append fails, and files that are replaced while they are written to. */
#include "cases.h"
#include "write_fixture.h"
#include "failing_calls.h"

/* A label that was saved from a table can be cleared by saving it again. One whose append failed was not saved: if
 * others set the same label, it is theirs. */
CASE_WITH(a_failed_append_saves_no_rows, set_up, tear_down)
{
	CLEANUP_BUF struct buf table = BUF_INIT;
	struct source_fixture *p = *state;
	for (int fails = 0; fails < 2; fails++) {
		begin(p, ABC);
		buf_reset(&table);
		assert_int_equal(tree_read(p->tree, node_at(p, S "/labels.tsv"), 0, 1 << 20, &table), 0);
		if (fails)
			let_fail(WRITE, 1, 100, ENOSPC);
		assert_int_equal(put(p, S, "labels.tsv", "# ID\tas of line 4\na\tx\n"), fails ? -ENOSPC : 0);
		plan = (struct plan){0};
		if (fails) {
			assert_added(p, "");
			assert_has(p, S "/errors", "labels.tsv: No space left on device (ENOSPC)\n");
			assert_int_equal(put(p, A, "label", "x\n"), 0);
		}
		assert_added(p, LABEL("@0", "c", "a", "x"));
		assert_int_equal(put_bytes(p, S, "labels.tsv", buf_span(&table)), 0);
		assert_added(p, fails ? "" : UNLABEL("@1", "@0", "a"));
		end(p);
	}
}

static struct source_fixture *replaced;

/* The new file has no entry `a`. */
static void replace_without_a(enum call c, unsigned nth)
{
	if (c != FLOCK)
		return;
	replace_file(replaced, HEADER USER("b", null, "hi") USER("c", "b", "hi") LABEL("l", "c", "b", "old"));
	plan.before = NULL;
}

/* The file is replaced after the entry was found in it: the value goes to the new file, or nowhere. */
CASE_WITH(an_entry_is_found_again_after_a_replacement, set_up, tear_down)
{
	struct source_fixture *p = *state;
	static const struct {
		const char *dir, *name, *added;
		int rc;
	} cases[] = ITEMS(
	    {A, "label", "", -ENOENT},
	    {B, "label", LABEL("@0", "l", "b", "x"), 0},
	    {B, "branch", SUMMARY("@0", "b", "l", "x"), 0},
	    {A, "branch", "", -ENOENT});
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tree_handle *h;
		begin(p, ABC);
		replaced = p;
		assert_int_equal(open_in(p, node_at(p, cases[i].dir), cases[i].name, false, &h), 0);
		assert_int_equal(tree_write(p->tree, h, span_of("x\n"), 0, &who), 0);
		plan.on = true;
		plan.before = replace_without_a;
		assert_int_equal(tree_flush(p->tree, h, &who), cases[i].rc);
		assert_null(plan.before);
		plan = (struct plan){0};
		tree_release(p->tree, h);
		assert_added(p, cases[i].added);
		if (cases[i].rc)
			assert_has(p, S "/errors", "no such entry (ENOENT)\n");
		end(p);
	}
	/* Each of the two that a link changes. */
	begin(p, ABC LABEL("l", "c", "b", "old"));
	plan.on = true;
	plan.before = replace_without_a;
	assert_int_equal(force_link(p, S "/labels", "old", "../entries/c"), 0);
	plan = (struct plan){0};
	assert_added(p, UNLABEL("@0", "l", "b") LABEL("@1", "@0", "c", "old"));
}

static void append_before_write(enum call c, unsigned nth)
{
	static const char *const lines[] = {USER("d", "c", "hi"), USER("e", "d", "hi")};
	if (c == WRITE && nth <= COUNT(lines))
		add_file(replaced->file, lines[nth - 1]);
}

/* Each time another program's line came first, the value is written again after that line. */
CASE_WITH(each_attempt_follows_the_lines_of_others, set_up, tear_down)
{
	struct source_fixture *p = *state;
	begin(p, ABC);
	replaced = p;
	plan.on = true;
	plan.before = append_before_write;
	assert_int_equal(put(p, A, "label", "x\n"), 0);
	plan = (struct plan){0};
	assert_added(p, USER("d", "c", "hi") LABEL("@0", "c", "a", "x") USER("e", "d", "hi")
	    LABEL("@1", "d", "a", "x") LABEL("@2", "e", "a", "x"));
}

/* Each call of an append that fails refuses the value, with the reason; later the same value is written. */
CASE_WITH(a_failing_append_is_refused, set_up, tear_down)
{
	struct source_fixture *p = *state;
	static const enum call calls[] = {WRITE, FLOCK};
	for (size_t i = 0; i < COUNT(calls); i++) {
		struct tree_handle *h;
		begin(p, ABC);
		assert_int_equal(open_in(p, node_at(p, A), "label", false, &h), 0);
		assert_int_equal(tree_write(p->tree, h, span_of("x\n"), 0, &who), 0);
		let_fail(calls[i], 1, 100, EIO);
		assert_int_equal(tree_flush(p->tree, h, &who), -EIO);
		plan = (struct plan){0};
		tree_release(p->tree, h);
		assert_added(p, "");
		assert_has(p, S "/errors", "entries/a/label: Input/output error (EIO)\n");
		assert_missing(p, A "/label");
		assert_int_equal(put(p, A, "label", "x\n"), 0);
		assert_added(p, LABEL("@0", "c", "a", "x"));
		end(p);
	}
}

/* Each read of the session file fails once: the name is not taken for empty or missing. */
CASE_WITH(a_failing_read_is_an_error, set_up, tear_down)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct source_fixture *p = *state;
	struct tree_handle *h = NULL;
	buf_addf(&text, HEADER USER("a", null, "hi") INFO("i", "a", "%070000d"), 1);
	begin(p, buf_cstr(&text));
	node_t dir = node_at(p, S), name = node_at(p, S "/name");
	int rc = -EIO;
	for (unsigned nth = 1; rc < 0; nth++) {
		let_fail(PREAD, nth, 1, EIO);
		rc = tree_open_write(p->tree, name, false, &who, &h);
		assert_int_equal(rc, plan.calls[PREAD].seen >= nth ? -EIO : 0);
		plan = (struct plan){0};
	}
	tree_release_uncommitted(p->tree, h);
	rc = -EIO;
	for (unsigned nth = 1; rc < 0; nth++) {
		let_fail(PREAD, nth, 1, EIO);
		rc = tree_unlink(p->tree, dir, SPAN_LIT("name"), &who);
		assert_true(nth > 1 || rc == -EIO);
		plan = (struct plan){0};
		assert_added(p, rc < 0 ? "" : INFO("@0", "i", ""));
	}
}

RUN_CASES(NULL, NULL)
