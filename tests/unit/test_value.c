/* SPDX-License-Identifier: MIT */
/* Valid values, checked early (value_check_prefix) and whole (value_parse). */
#include "cases.h"

#include "sessionfs/write/value.h"

#include "failing_alloc.h"

#define BOM "\xef\xbb\xbf"
#define CUT "an incomplete \xe2\x82"

static void assert_value(const struct value_form *kind, struct span text, const char *value)
{
	CLEANUP_BUF struct buf out = BUF_INIT;
	const char *why = NULL;
	assert_int_equal(value_parse(kind, text, &out, &why), 0);
	assert_null(why);
	if (!span_is(buf_span(&out), value))
		fail_msg("\"%.*s\" is not \"%s\"", (int)out.n, out.p ? out.p : "", value);
}

static void assert_refused(const struct value_form *kind, struct span text, int rc)
{
	CLEANUP_BUF struct buf out = BUF_INIT;
	const char *why = NULL;
	assert_int_equal(value_parse(kind, text, &out, &why), rc);
	assert_non_null(why);
}

static int prefix(const struct value_form *kind, struct span text)
{
	const char *why = NULL;
	int rc = value_check_prefix(kind, text, &why);
	assert_true((rc < 0) == (why != NULL));
	return rc;
}

/* Appends the letter a n times, then `after`. */
static void fill(struct buf *b, size_t n, const char *after)
{
	char *p = buf_reserve(b, n);
	assert_non_null(p);
	memset(p, 'a', n);
	b->n += n;
	buf_adds(b, after);
}

CASE(label_is_one_line)
{
	assert_value(&form_label, span_of("done\n"), "done");
	assert_value(&form_label, span_of("done"), "done");
	assert_value(&form_label, span_of("done\r\n"), "done");
	assert_value(&form_label, span_of(BOM "done\r\n"), "done");
	assert_value(&form_label, span_of("  not trimmed \n"), "  not trimmed ");
	assert_value(&form_label, span_of("a\rb"), "a\rb");
	/* Read back as "done\n", which is this label. */
	assert_value(&form_label, span_of("done\r\r\n"), "done");
	assert_value(&form_label, span_of("done\r"), "done");
	assert_value(&form_label, span_of(""), "");
	assert_refused(&form_label, span_of("one\ntwo"), -EINVAL);
	assert_refused(&form_label, span_of("one\n\n"), -EINVAL);
	assert_refused(&form_label, SPAN_LIT("a\0b"), -EINVAL);
	assert_refused(&form_label, span_of("\xff"), -EINVAL);
	assert_refused(&form_label, span_of("\xed\xa0\x80"), -EINVAL);
	assert_refused(&form_label, span_of(CUT), -EINVAL);
}

CASE(white_space_clears)
{
	static const char *const blank[] = {"\n", " ", " \t \n", BOM "\n", "\xc2\xa0\xe3\x80\x80\r\n", "\xe2\x80\x89"};
	for (size_t i = 0; i < sizeof blank / sizeof *blank; i++) {
		assert_value(&form_label, span_of(blank[i]), "");
		assert_value(&form_name, span_of(blank[i]), "");
	}
	/* U+200B is not white space. */
	assert_value(&form_label, span_of("\xe2\x80\x8b\n"), "\xe2\x80\x8b");
}

CASE(name_is_folded_to_one_line)
{
	assert_value(&form_name, span_of(" Refactor auth \n"), "Refactor auth");
	assert_value(&form_name, span_of("a\r\n\r\nb\nc\rd"), "a b c d");
	assert_value(&form_name, span_of("\n\na\n\n"), "a");
	assert_value(&form_name, span_of("a\tb  c"), "a\tb  c");
	assert_value(&form_name,
	             span_of("\xe2\x80\xa8"
	                     "a\xe2\x80\xa9"),
	             "a");
	assert_refused(&form_name, SPAN_LIT("a\0"), -EINVAL);
	assert_refused(&form_name, span_of("\xc0\x80"), -EINVAL);
}

CASE(summary_keeps_lines)
{
	assert_value(&form_summary, span_of("one\ntwo\n"), "one\ntwo");
	assert_value(&form_summary, span_of(BOM "one\r\ntwo\r\n\r\n"), "one\ntwo\n");
	assert_value(&form_summary, span_of("a\rb\r"), "a\rb");
	assert_value(&form_summary, span_of("\r\n\r\r\na"), "\n\na");
	assert_value(&form_summary, span_of("one\r\r\ntwo\r\r\n"), "one\ntwo");
	assert_value(&form_summary, span_of("  a "), "  a ");
}

CASE(table_keeps_rows)
{
	/* The byte before a text is not part of it. */
	assert_value(&form_label, (struct span){"\r\r\n" + 1, 2}, "");
	assert_value(&form_summary, (struct span){"a\r\r\nb" + 2, 3}, "\nb");
	assert_value(&form_table, span_of(BOM "a\tb\tc\r\nd\te\n"), "a\tb\tc\nd\te\n");
	assert_refused(&form_table, SPAN_LIT("a\tb\0\n"), -EINVAL);
}

/* An empty value clears a label and a name. */
CASE(empty_values_clear)
{
	assert_value(&form_label, span_of(""), "");
	assert_value(&form_name, span_of("\n"), "");
	assert_refused(&form_summary, span_of(""), -EINVAL);
	assert_refused(&form_summary, span_of("\n"), -EINVAL);
	assert_refused(&form_table, span_of(""), -EINVAL);
}

/* The limit applies to the value without its line end and BOM. */
CASE(limits_apply_to_the_value)
{
	const struct value_form *const forms[] = {&form_label, &form_name, &form_summary, &form_table};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const struct value_form *kind = forms[i];
		CLEANUP_BUF struct buf b = BUF_INIT, out = BUF_INIT;
		const char *why = NULL;
		size_t most = kind->limit - (kind == &form_table);

		buf_adds(&b, kind == &form_table ? "" : BOM);
		fill(&b, most, kind == &form_table ? "\n" : "\r\n");
		assert_int_equal(prefix(kind, buf_span(&b)), 0);
		assert_int_equal(value_parse(kind, buf_span(&b), &out, &why), 0);
		assert_int_equal(out.n, kind->limit);
		buf_reset(&b);
		fill(&b, kind->limit + 1, "");
		assert_refused(kind, buf_span(&b), -EFBIG);
		/* As soon as no more bytes can make it valid: shells check only write(2). */
		if (kind == &form_label || kind == &form_summary)
			assert_int_equal(prefix(kind, buf_span(&b)), -EFBIG);
		fill(&b, 16, "");
		assert_int_equal(prefix(kind, buf_span(&b)), -EFBIG);
	}
	assert_int_equal(form_label.limit, 4096);
	assert_int_equal(form_summary.limit, 1 << 20);
}

/* A prefix that more bytes can make valid is accepted. */
CASE(prefixes_are_judged)
{
	assert_int_equal(prefix(&form_label, span_of("")), 0);
	assert_int_equal(prefix(&form_label, span_of("a\n")), 0);
	assert_int_equal(prefix(&form_label, span_of("a\r")), 0);
	assert_int_equal(prefix(&form_label, span_of("a\nb")), -EINVAL);
	assert_int_equal(prefix(&form_name, span_of("a\nb")), 0);
	assert_int_equal(prefix(&form_name, SPAN_LIT("\0")), -EINVAL);
	static const char *const open[] = {"\xc3", "\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x98"};
	for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
		assert_int_equal(prefix(&form_label, span_of(open[i])), 0);
		assert_refused(&form_label, span_of(open[i]), -EINVAL);
	}
	static const char *const bad[] = {"\x80",         "\xff",     "\xc3(",           "\xe2\x82(",
	                                  "\xed\xa0\x80", "\xc0\xaf", "\xf5\x80\x80\x80"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(prefix(&form_label, span_of(bad[i])), -EINVAL);
}

CASE(lines_are_recognized)
{
	assert_true(value_is_line(&form_label, span_of("a\n")));
	assert_true(value_is_line(&form_name, span_of("\n")));
	assert_true(value_is_line(&form_summary, span_of("a\n")));
	assert_false(value_is_line(&form_label, span_of("a")));
	assert_false(value_is_line(&form_label, span_of("")));
	assert_false(value_is_line(&form_summary, span_of("a\nb\n")));
	assert_false(value_is_line(&form_table, span_of("a\tb\n")));
}

/* Each allocation fails once: that is the error, and no other one. */
CASE(failed_allocations_are_reported)
{
	const struct value_form *const forms[] = {&form_label, &form_name, &form_summary, &form_context, &form_table};
	CLEANUP_BUF struct buf text = BUF_INIT;
	unsigned failures = 0;
	fill(&text, 3000, "");
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		for (unsigned nth = 1;; nth++) {
			CLEANUP_BUF struct buf out = BUF_INIT;
			const char *why = NULL;
			let_alloc_fail(nth);
			int rc = value_parse(forms[i], buf_span(&text), &out, &why);
			if (!alloc_has_failed())
				break;
			assert_int_equal(rc, -ENOMEM);
			assert_null(why);
			failures++;
		}
	}
	assert_true(failures > sizeof forms / sizeof *forms); /* a name is copied twice */
}

RUN_CASES(NULL, NULL)
