/* SPDX-License-Identifier: MIT */
/* Text of a value before its commit: written at any offset, in any pieces, and refused as soon as it is known to be
 * invalid. */
#include "cases.h"

#include "sessionfs/json/json.h"
#include "sessionfs/write/stage.h"

static struct stage stage_of(const struct value_form *kind, const char *shown, bool truncated)
{
	struct stage st;
	assert_int_equal(stage_init(&st, kind, span_of(shown), truncated), 0);
	return st;
}

static int put_bytes(struct stage *st, struct span bytes, uint64_t off, bool *ret_whole)
{
	const char *why = NULL;
	*ret_whole = true;
	return stage_write(st, bytes, off, ret_whole, &why);
}

/* Writes text that is accepted, but is not a whole value of one line. */
static void put(struct stage *st, const char *text, uint64_t off)
{
	bool whole;
	assert_int_equal(put_bytes(st, span_of(text), off, &whole), 0);
	assert_false(whole);
}

static void assert_refused(struct stage *st, const char *text, uint64_t off, int rc)
{
	const char *why = NULL;
	bool whole;
	assert_int_equal(stage_write(st, span_of(text), off, &whole, &why), rc);
	assert_non_null(why);
	assert_false(whole);
	assert_int_equal(st->error, rc);
	assert_false(st->dirty || st->was_written);
	assert_int_equal(st->bytes.n, 0);
}

static void assert_bytes(const struct stage *st, struct span bytes)
{
	assert_int_equal(st->bytes.n, bytes.n);
	assert_memory_equal(st->bytes.p, bytes.p, bytes.n);
	CLEANUP_BUF struct buf quoted = BUF_INIT;
	json_quote(buf_span(&st->bytes), &quoted);
	assert_int_equal(st->json_size, quoted.n - 2);
}

static int resize(struct stage *st, uint64_t size)
{
	const char *why = NULL;
	int before = st->error, rc = stage_resize(st, size, &why);
	/* The refusal has a reason, and what follows it repeats the error alone. */
	assert_int_equal(why != NULL, rc == -EFBIG && before == 0);
	return rc;
}

CASE(only_truncated_stage_begins_empty)
{
	CLEANUP(stage_release) struct stage kept = stage_of(&form_label, "old\n", false);
	CLEANUP(stage_release) struct stage cut = stage_of(&form_label, "old\n", true);
	assert_bytes(&kept, SPAN_LIT("old\n"));
	assert_false(kept.dirty || kept.was_written);
	assert_int_equal(cut.bytes.n, 0);
	assert_true(cut.dirty);
	assert_false(cut.was_written);
}

CASE(whole_line_is_recognized)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "", true);
	bool whole;
	assert_int_equal(put_bytes(&st, SPAN_LIT("new\n"), 0, &whole), 0);
	assert_true(whole && st.dirty && st.was_written);
	/* Written again from the beginning, it is not known to be whole. */
	assert_int_equal(put_bytes(&st, SPAN_LIT("new\n"), 0, &whole), 0);
	assert_false(whole);
	stage_finish(&st, 0);
	assert_false(st.dirty || st.was_written);
	assert_bytes(&st, SPAN_LIT("new\n"));
}

CASE(pieces_are_joined)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "", true);
	put(&st, "", 0);
	assert_false(st.was_written);
	put(&st, "\xe2\x82", 0);
	put(&st, "\xac", 2);
	put(&st, "5\n", 3);
	assert_bytes(&st, SPAN_LIT("\xe2\x82\xac"
	                           "5\n"));
}

/* The end comes first; the gap is NUL until the beginning comes. */
CASE(gap_is_filled_with_nul)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "", true);
	put(&st, "d\n", 3);
	assert_bytes(&st, SPAN_LIT("\0\0\0d\n"));
	put(&st, "a", 0);
	put(&st, "bc", 1);
	assert_bytes(&st, SPAN_LIT("abcd\n"));
}

/* Over the old text, then truncated, as some editors do. */
CASE(overwritten_text_can_be_truncated)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "a long label\n", false);
	put(&st, "short", 0);
	assert_bytes(&st, SPAN_LIT("shortg label\n"));
	assert_int_equal(resize(&st, 5), 0);
	assert_bytes(&st, SPAN_LIT("short"));
}

/* Remains of the old text are not a second line, nor half a character, until they can be truncated. */
CASE(remains_of_old_text_are_not_judged)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "l\xc3\xa9long\n", false);
	put(&st, "x\n", 0);
	put(&st, "yz\n", 0);
	assert_int_equal(resize(&st, 3), 0);
	assert_bytes(&st, SPAN_LIT("yz\n"));
	stage_finish(&st, 0);
	assert_refused(&st, "two\n", 3, -EINVAL);
}

/* The size as JSON is known after each step. */
CASE(size_as_json_is_known)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_summary, "a \"shown\"\n\\", false);
	const char *why = NULL;
	assert_bytes(&st, span_of("a \"shown\"\n\\"));
	put(&st, "\t\x01\n\x7f", 2);
	assert_bytes(&st, span_of("a \t\x01\n\x7fwn\"\n\\"));
	assert_int_equal(stage_resize(&st, 5, &why), 0);
	assert_bytes(&st, span_of("a \t\x01\n"));
	assert_int_equal(stage_resize(&st, 7, &why), 0);
	assert_bytes(&st, SPAN_LIT("a \t\x01\n\0\0"));
	put(&st, "\"\"\"", 5);
	assert_bytes(&st, span_of("a \t\x01\n\"\"\""));
}

CASE(resize_cuts_or_extends)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "abc\n", false);
	assert_int_equal(resize(&st, 4), 0);
	assert_false(st.dirty);
	CLEANUP(stage_release) struct stage created = stage_of(&form_label, "", false);
	assert_int_equal(resize(&created, 0), 0);
	assert_true(created.dirty);
	assert_int_equal(resize(&st, 2), 0);
	assert_true(st.dirty);
	assert_false(st.was_written);
	assert_int_equal(resize(&st, 4), 0);
	assert_bytes(&st, SPAN_LIT("ab\0\0"));
	assert_int_equal(resize(&st, 1 << 20), -EFBIG);
	assert_int_equal(resize(&st, 0), -EFBIG);
	assert_int_equal(st.bytes.n, 0);
}

CASE(invalid_text_is_refused)
{
	static const struct {
		const struct value_form *kind;
		const char *text;
		uint64_t off;
		int rc;
	} rows[] = {
	    {&form_label, "one\ntwo", 0, -EINVAL},
	    {&form_label, "\xff", 0, -EINVAL},
	    {&form_name, "\xc3(", 0, -EINVAL},
	    {&form_label, "a", 4200, -EFBIG},
	    {&form_label, "a", UINT64_MAX, -EFBIG},
	    {&form_summary, "a", 1 << 21, -EFBIG},
	    {&form_table, "a", (uint64_t)1 << 40, -EFBIG},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CLEANUP(stage_release) struct stage st = stage_of(rows[i].kind, "", true);
		bool whole;

		assert_refused(&st, rows[i].text, rows[i].off, rows[i].rc);
		/* The refusal is permanent. */
		assert_int_equal(put_bytes(&st, SPAN_LIT("fine\n"), 0, &whole), rows[i].rc);
		assert_false(whole);
		assert_int_equal(resize(&st, 0), rows[i].rc);
	}
}

CASE(second_line_is_refused)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "", true);
	bool whole;
	assert_int_equal(put_bytes(&st, SPAN_LIT("one\n"), 0, &whole), 0);
	assert_true(whole);
	assert_refused(&st, "two\n", 4, -EINVAL);
}

CASE(overlong_pieces_are_refused)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_label, "", true);
	char a[1024];
	memset(a, 'a', sizeof a);
	bool whole;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(put_bytes(&st, (struct span){a, sizeof a}, i * sizeof a, &whole), 0);
	assert_refused(&st, "123456", 4096, -EFBIG);
}

CASE(failed_commit_discards_text)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_name, "", true);
	bool whole;
	put(&st, "a", 0);
	stage_finish(&st, -ENOSPC);
	assert_int_equal(st.error, -ENOSPC);
	assert_int_equal(st.bytes.n, 0);
	assert_int_equal(put_bytes(&st, SPAN_LIT("a"), 0, &whole), -ENOSPC);
}

/* A table is checked as a whole. */
CASE(table_is_judged_as_a_whole)
{
	CLEANUP(stage_release) struct stage st = stage_of(&form_table, "", true);
	put(&st, "a\tb\n\xff", 0);
	put(&st, "\n", 5);
	assert_int_equal(st.bytes.n, 6);
}

RUN_CASES(NULL, NULL)
