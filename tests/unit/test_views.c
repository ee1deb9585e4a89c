/* SPDX-License-Identifier: MIT */
/* views: views that are extended as a session grows. After each step they must equal the same views of a new tree. */
#include "cases.h"
#include "failing_alloc.h"
#include "tree_fixture.h"

static const char *const views[] = {S "/transcript.md", S "/chat.md",      S "/all.txt",
                                    S "/context.md",    S "/context.json", S "/context.tsv"};
enum { VIEWS = sizeof views / sizeof *views };

static void read_view(struct source_fixture *p, const char *path, struct buf *out)
{
	struct tree_attr a;
	buf_reset(out);
	if (find(p, path, &a) == 0)
		assert_int_equal(tree_read(p->tree, a.node, 0, 1 << 24, out), 0);
	else
		buf_adds(out, "(missing)");
	assert_non_null(buf_cstr(out));
}

static void assert_views_are_new(struct source_fixture *p)
{
	/* The same source once more: this tree has rendered nothing yet. */
	struct source_fixture fresh = *p;
	assert_int_equal(begin_budget(&fresh, 64 << 20), 0);
	for (size_t i = 0; i < VIEWS; i++) {
		CLEANUP_BUF struct buf got = BUF_INIT, want = BUF_INIT;
		read_view(p, views[i], &got);
		read_view(&fresh, views[i], &want);
		if (!span_eq(buf_span(&got), buf_span(&want)))
			fail_msg("%s: \"%s\" is not \"%s\"", views[i], got.p, want.p);
	}
	end(&fresh);
}

static void add(struct source_fixture *p, const char *lines)
{
	add_file(p->file, lines);
	wait_seen(p);
}

/* Each of these steps changes segments that were rendered before, so that more than the new lines must be rendered. */
FIXTURE_CASE(old_segments_change_with_new_lines)
{
	static const struct {
		const char *before, *after;
		const char *has[VIEWS]; /* a text that each view has afterwards, or NULL */
	} cases[] =
	    ITEMS(
	    /* The last message has the same parent as before, but the path has a new beginning. */
	    {HEADER USER("a", "z", "one") USER("b", "a", "two"), USER("z", null, "first") USER("c", "b", "three"),
	     {"first", "first", "first", "first", "first"}},
	    /* Another parent for a message that was a root. */
	    {HEADER USER("a", null, "one") USER("b", "y", "two"), USER("y", "a", "between") USER("c", "b", "three"),
	     {"between", "between", "between", "between", "between"}},
	    /* The same with an edit, above an edit that counts already. */
	    {HEADER USER("a", null, "one") USER("b", "z", "two") EDIT("e", "b", "b", {"content":"new"}),
	     EDIT("z", "a", "a", {"content":"other"}) USER("c", "e", "three"),
	     {"replaces a", "three", "three", "other", "other"}},
	    /* A label of an old message. */
	    {HEADER USER("a", null, "one") USER("b", "a", "two"), LABEL("l", "b", "a", "mark"),
	     {"mark", "mark", "mark"}},
	    {HEADER USER("a", null, "one") LABEL("l", "a", "a", "mark"), UNLABEL("m", "l", "a"), {NULL}},
	    /* An edit of an old message, and another branch without it. */
	    {HEADER USER("a", null, "one") USER("b", "a", "two"), EDIT("e", "b", "a", {"content":"other"}),
	     {"replaces a", "two", "two", "other", "other"}},
	    {HEADER USER("a", null, "one") USER("b", "a", "two") EDIT("e", "b", "a", {"content":"other"}),
	     USER("c", "b", "three"), {"three", "three", "three", "three", "three"}},
	    /* Another branch. */
	    {HEADER USER("a", null, "one") USER("b", "a", "two"), USER("c", "a", "three"),
	     {"three", "three", "three", "three", "three"}},
	    /* Only lines that no view shows. */
	    {HEADER USER("a", null, "one"), CUSTOM("m", "a"), {"one", "one", "one", "one", "one"}},
	    /* An id that occurs again. */
	    {HEADER USER("a", null, "one") USER("b", "a", "two"), USER("a", "b", "three"), {"three"}});

	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		p->fresh_ms = 1;
		begin(p, cases[k].before);
		assert_views_are_new(p);
		add(p, cases[k].after);
		assert_views_are_new(p);
		for (size_t i = 0; i < VIEWS; i++)
			if (cases[k].has[i])
				assert_has(p, views[i], cases[k].has[i]);
		add(p, USER("last", "b", "end"));
		assert_views_are_new(p);
		end(p);
	}
}

/* Links to pictures lead from the view's directory to the session's. */
FIXTURE_CASE(links_lead_to_the_session)
{
	begin(p,
	    HEADER
	    LINE({"type":"message","id":"a","parentId":null,"message":{"role":"user",
	        "content":[{"type":"image","mimeType":"image/png","data":"aGk="}]}}) USER("b", "a", "two"));
	assert_has(p, S "/transcript.md", "](entries/a/");
	assert_has(p, S "/context.md", "](entries/a/");
	assert_has(p, S "/branches/b/transcript.md", "](../../entries/a/");
	assert_has(p, S "/branches/b/context.md", "](../../entries/a/");
	end(p);
}

/* A file that is replaced by a shorter one is rendered whole. */
FIXTURE_CASE(shorter_session_is_rendered_whole)
{
	p->fresh_ms = 1;
	begin(p, HEADER USER("a", null, "one") USER("b", "a", "two"));
	assert_views_are_new(p);
	put_file(p->file, HEADER USER("a", null, "uno"));
	wait_seen(p);
	assert_views_are_new(p);
	put_file(p->file, HEADER);
	wait_seen(p);
	assert_views_are_new(p);
	end(p);
}

/* A long text equals the same text, extended message by message. */
FIXTURE_CASE(long_views_are_extended)
{
	enum { LONG = 700 };
	CLEANUP_BUF struct buf text = BUF_INIT;
	buf_adds(&text, HEADER USER("m0", null, "zero"));
	for (unsigned i = 1; i < LONG; i++)
		buf_addf(&text, USER("m%u", "m%u", "said %u"), i, i - 1, i);
	p->fresh_ms = 1;
	begin(p, buf_cstr(&text));
	assert_views_are_new(p);
	add(p, USER("next", "m699", "later"));
	assert_views_are_new(p);
	assert_has(p, views[0], "later");
	end(p);
}

/* After a failed allocation the same view is rendered again, and is whole. */
FIXTURE_CASE(view_without_memory_is_rendered_again)
{
	unsigned failed = 0;
	p->fresh_ms = 1;
	begin(p, HEADER USER("a", null, "one") USER("b", "a", "two"));
	node_t node = node_at(p, S "/transcript.md"); /* looking it up again would render it */
	for (unsigned nth = 1; nth < 40; nth++) {
		CLEANUP_BUF struct buf line = BUF_INIT, out = BUF_INIT;
		assert_non_null(buf_reserve(&out, 1 << 16));
		buf_addf(&line, USER("c%u", "%s%.0u", "said %u"), nth, nth > 1 ? "c" : "b", nth > 1 ? nth - 1 : 0, nth);
		add(p, buf_cstr(&line));
		let_alloc_fail(nth);
		int rc = tree_read(p->tree, node, 0, 1 << 16, &out);
		bool has_failed = alloc_has_failed();
		failed += has_failed;
		assert_true(rc == 0 || (has_failed && rc == -ENOMEM));
		assert_views_are_new(p);
	}
	assert_true(failed >= 5);
	end(p);
}

/* --- for one reader ---------------------------------------------------------------------- */

FIXTURE_CASE(pinned_text_of_a_removed_session_stays)
{
	CLEANUP_BUF struct buf want = BUF_INIT, got = BUF_INIT;
	struct tree_pinned *pinned;
	struct tree_attr a;
	p->fresh_ms = 1;
	begin(p, HEADER USER("a", null, "one"));
	read_view(p, views[0], &want);
	node_t node = node_at(p, views[0]);
	assert_int_equal(tree_pin(p->tree, node, &pinned), 0);
	assert_int_equal(unlink(p->file), 0);
	while (find(p, S, &a) == 0)
		usleep(1000);
	assert_int_equal(tree_pinned_size(pinned), want.n);
	for (int i = 0; i < 3; i++) { /* the second time it would get the current text */
		buf_reset(&got);
		assert_int_equal(tree_pinned_read(pinned, 0, 1 << 20, &got), 0);
		assert_int_equal(tree_pinned_read(pinned, got.n, 1 << 20, &got), 0);
		assert_text(&got, buf_cstr(&want));
	}
	tree_unpin(pinned);
	assert_int_equal(tree_pin(p->tree, node, &pinned), -ESTALE);
	end(p);
}

FIXTURE_CASE(pin_without_memory_fails)
{
	unsigned failed = 0;
	p->fresh_ms = 1;
	begin(p, HEADER USER("a", null, "one"));
	node_t node = node_at(p, views[0]);
	for (unsigned nth = 1; nth < 30; nth++) {
		struct tree_pinned *pinned = NULL;
		let_alloc_fail(nth);
		int rc = tree_pin(p->tree, node, &pinned);
		bool has_failed = alloc_has_failed();
		failed += has_failed;
		assert_true(rc == 0 || (has_failed && rc == -ENOMEM));
		assert_int_equal(pinned != NULL, rc == 0);
		tree_unpin(pinned);
	}
	assert_true(failed >= 1);
	assert_views_are_new(p);
	end(p);
}

/* Reads in pieces get the same text as one read, across the end of the old text. */
FIXTURE_CASE(pieces_make_the_whole_text)
{
	CLEANUP_BUF struct buf whole = BUF_INIT;
	struct tree_pinned *pinned;
	p->fresh_ms = 1;
	begin(p, HEADER USER("a", null, "one"));
	assert_int_equal(tree_pin(p->tree, node_at(p, S "/all.txt"), &pinned), 0);
	add(p, USER("b", "a", "two"));
	assert_int_equal(tree_pinned_read(pinned, tree_pinned_size(pinned), 1, &whole), 0);
	buf_reset(&whole);
	uint64_t size = tree_pinned_size(pinned);
	assert_int_equal(tree_pinned_read(pinned, 0, size - 1, &whole), 0);
	assert_int_equal(tree_pinned_read(pinned, size - 1, 9, &whole), 0);
	assert_text(&whole, "a user: one\nb user: two\n");
	for (size_t n = 1; n < 9; n++) {
		CLEANUP_BUF struct buf pieces = BUF_INIT;
		for (uint64_t off = 0; off < size; off = pieces.n)
			assert_int_equal(tree_pinned_read(pinned, off, off + n > size ? size - off : n, &pieces), 0);
		assert_text(&pieces, "a user: one\nb user: two\n");
	}
	tree_unpin(pinned);
	tree_unpin(NULL);
	end(p);
}

RUN_CASES(NULL, NULL)
