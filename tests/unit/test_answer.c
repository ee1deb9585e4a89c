/* SPDX-License-Identifier: MIT */
/* Answers: their order, their limits, and the texts of their entries. */
#include "cases.h"
#include "search_fixture.h"

static void look_at_order(struct source_fixture *p, size_t cache)
{
	struct finder f CLEANUP_FINDER;
	three_sessions_within(&f, p, cache);
	expect(&f, "red",
	       "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/c/entries/1/text.md:2:red three\n"
	       "projects/p/c/entries/1/text.md:3:red four\nprojects/p/a/entries/1/text.md:1:red one\n");
	expect(&f, "red session:a", "projects/p/a/entries/1/text.md:1:red one\n");
	expect(&f, "yellow", "");
	const struct answer *a CLEANUP_ANSWER = ask(&f, "red");
	struct buf rows CLEANUP_BUF = BUF_INIT;
	assert_int_equal(answer_text(a, FOUND_ROWS, &rows), 0);
	assert_int_equal(rows.n, answer_size(a, FOUND_ROWS));
	assert_string_equal(buf_cstr(&rows),
	                    "time\tproject\tstem\tentry\twhat\tpath\tline\ttext\n"
	                    "2026-01-02T03:04:05.678Z\tp\tb\t1\tuser\tprojects/p/b/entries/1/text.md\t1\tRed two\n"
	                    "2026-01-02T03:04:05.678Z\tp\tc\t1\tuser\tprojects/p/c/entries/1/text.md\t2\tred three\n"
	                    "2026-01-02T03:04:05.678Z\tp\ta\t1\tuser\tprojects/p/a/entries/1/text.md\t1\tred one\n");
	assert_true(span_begins(answer_entry_text(a, FOUND_ROWS, 2), SPAN_LIT("2026-01-02T03:04:05.678Z\tp\ta\t")));
	assert_int_equal(answer_count(a), 3);
	assert_int_equal(answer_at(a, 0).entry, 0);
	assert_true(span_is(answer_at(a, 0).title, "Red two"));
}

FIXTURE_CASE(answers_are_ordered)
{
	look_at_order(p, 64 << 20);
}

/* Answers that are not cached are computed again. */
FIXTURE_CASE(uncached_answers_are_ordered)
{
	look_at_order(p, 64);
}

FIXTURE_CASE(readers_keep_the_old_answer)
{
	struct finder f CLEANUP_FINDER;
	struct buf text CLEANUP_BUF = BUF_INIT;
	three_sessions(&f, p);
	const struct answer *a CLEANUP_ANSWER = ask(&f, "red"), *same CLEANUP_ANSWER = ask(&f, "red");
	assert_ptr_equal(a, same);
	append(f.p, "p/a.jsonl", USER_MS("3", null, 10000, "red again"));
	wait_stale();
	const struct answer *next CLEANUP_ANSWER = ask(&f, "red");
	assert_true(answer_version(next) != answer_version(a));
	assert_string_equal(lines_of(next, &text),
	                    "projects/p/a/entries/1/text.md:1:red one\nprojects/p/a/entries/3/text.md:1:red again\n"
	                    "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/c/entries/1/text.md:2:red three\n"
	                    "projects/p/c/entries/1/text.md:3:red four\n");
	/* Readers of the old answer keep it. */
	assert_string_equal(lines_of(a, &text),
	                    "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/c/entries/1/text.md:2:red three\n"
	                    "projects/p/c/entries/1/text.md:3:red four\nprojects/p/a/entries/1/text.md:1:red one\n");
}

/* The lines are full before an entry of one session, the entries in another session; results that were left out return
 * when earlier ones are removed. */
FIXTURE_CASE(full_answer_is_refilled)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	struct buf text CLEANUP_BUF = BUF_INIT;
	put_many(&f, "p/a.jsonl", "a", "9000", 333, 3);
	put_many(&f, "p/b.jsonl", "b", "8000", 900, 11);
	put_many(&f, "p/c.jsonl", "c", "7000", 8000, 2);
	put_many(&f, "p/d.jsonl", "d", "6000", 8000, 1);
	put_many(&f, "p/e.jsonl", "e", "5000", 5, 1);
	finder_open(&f, 64 << 20);
	const struct answer *a = ask(&f, "red");
	assert_int_equal(count_lines(a), SEARCH_ENTRIES_MAX - 1);
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	lines_of(a, &text);
	/* 333 * 3 + 900 * 3 + 3150 * 2; the next line would belong to an entry of two */
	const char last[] = "projects/p/c/entries/e3149/text.md:2:red 1\n";
	assert_memory_equal(text.p + text.n - strlen(last), last, strlen(last));
	assert_int_equal(answer_at(a, SEARCH_ENTRIES_MAX - 1).entry, SEARCH_ENTRIES_MAX - 1 - 333 - 900 - 8000);
	answer_put(a);
	assert_int_equal(unlink(at(f.p, "p/c.jsonl")), 0);
	assert_int_equal(unlink(at(f.p, "p/b.jsonl")), 0);
	wait_stale();
	a = ask(&f, "red");
	assert_int_equal(count_lines(a), 333 * 3 + 8000 + 5);
	assert_int_equal(answer_count(a), 333 + 8000 + 5);
	answer_put(a);
}

/* Entry numbers count through all sessions: the first and the last of each, with its texts. */
FIXTURE_CASE(entries_are_numbered_through_sessions)
{
	static const struct {
		uint32_t entry;
		const char *title, *row_end, *name;
	} expected[] = {
	    {0, "Red two", "\tp/b/entries/1/text.md\t1\tRed two\n", "user Red two"},
	    {0, "green red three red four", "\tp/c/entries/1/text.md\t2\tred three\n", "user red three"},
	    {0, "red one", "\tp/a/entries/1/text.md\t1\tred one\n", "user red one"},
	    {2, "red one", "\tp/a/entries/3/text.md\t1\tinfrared\n", "user infrared"},
	};
	enum { N = COUNT(expected) };
	struct finder f CLEANUP_FINDER;
	three_sessions(&f, p);
	append(f.p, "p/a.jsonl", USER_MS("3", null, 2000, "infrared"));
	wait_stale();
	const struct answer *a CLEANUP_ANSWER = ask(&f, "red");
	assert_int_equal(answer_count(a), N);
	assert_int_equal(answer_hits_count(a), N);
	for (size_t i = 0; i < N; i++) {
		struct answer_entry e = answer_at(a, i);
		struct span cells[ROW_CELLS], row = answer_entry_text(a, FOUND_ROWS, i);
		assert_int_equal(e.entry, expected[i].entry);
		assert_true(span_is(e.title, expected[i].title));
		answer_split_row(row, cells);
		assert_true(span_is(cells[ROW_PATH - 1], "user"));
		const char *path = expected[i].row_end + 1;
		assert_true(span_begins(cells[ROW_PATH], SPAN_LIT("projects/")));
		assert_memory_equal(cells[ROW_PATH].p + strlen("projects/"), path, strcspn(path, "\t"));
		assert_ptr_equal(cells[ROW_TEXT].p + cells[ROW_TEXT].n + 1, row.p + row.n); /* without the newline */
		assert_true(span_begins(answer_entry_text(a, FOUND_NAMES, i), span_of(expected[i].name)));
	}
}

/* A row that has too few cells, as a damaged one would, has empty ones; the last cell takes all that is left. */
FIXTURE_CASE(rows_are_split_into_cells)
{
	struct span cells[ROW_CELLS];
	answer_split_row(SPAN_LIT("1\t2\t3\t4\t5\t6\t7\t8\t9\n"), cells);
	assert_true(span_is(cells[0], "1"));
	assert_true(span_is(cells[ROW_LINE], "7"));
	assert_true(span_is(cells[ROW_TEXT], "8\t9"));
	answer_split_row(SPAN_LIT("1\t\t3"), cells);
	assert_true(span_is(cells[0], "1"));
	assert_int_equal(cells[1].n, 0);
	assert_true(span_is(cells[2], "3"));
	for (int i = 3; i < ROW_CELLS; i++)
		assert_int_equal(cells[i].n, 0);
}

/* An answer without a change in its hits stays the same one, so that its readers see the same version. */
FIXTURE_CASE(equal_answer_is_kept)
{
	struct finder f CLEANUP_FINDER;
	three_sessions(&f, p);
	const struct answer *a CLEANUP_ANSWER = ask(&f, "red"), *none CLEANUP_ANSWER = ask(&f, "yellow");
	append(f.p, "p/b.jsonl", USER_MS("7", null, 1, "white"));
	put(f.p, "p/d.jsonl", HEADER_OF("d", "/") USER_MS("1", null, 99000, "white"));
	wait_stale();
	const struct answer *b CLEANUP_ANSWER = ask(&f, "yellow");
	assert_ptr_equal(b, none);
	assert_int_equal(answer_size(b, FOUND_HITS), 0);
	assert_int_equal(answer_size(b, FOUND_ROWS), 0); /* not even the heading */
	assert_int_equal(answer_count(b), 0);
	assert_int_equal(answer_hits_count(b), 0);
	answer_put(b);
	b = ask(&f, "red -session:b");
	const struct answer *c CLEANUP_ANSWER = ask(&f, "red -session:b");
	assert_ptr_equal(b, c);
	assert_int_equal(answer_count(c), 2);
	assert_true(span_is(answer_query_text(c), "red -session:b"));
	assert_true(answer_version(a) != answer_version(c));
}

struct collected {
	struct buf text;
	int stop_after;
};

static int collect_line(void *arg, const struct found_list *of, const struct hit *hit)
{
	struct collected *got = arg;
	buf_addf(&got->text, "%s/%s:%ju:", of->project, of->stem, (uintmax_t)hit->line);
	buf_addspan(&got->text, hit->text);
	buf_addc(&got->text, ' ');
	return --got->stop_after == 0 ? -EPIPE : 0;
}

static void assert_best_lines(struct finder *f, size_t lines, size_t entries, int stop_after, const char *expected)
{
	const struct answer *a CLEANUP_ANSWER = ask(f, "red");
	struct collected got = {BUF_INIT, stop_after};
	assert_int_equal(answer_each_best_line(f->s, a, lines, entries, collect_line, &got), stop_after ? -EPIPE : 0);
	assert_string_equal(buf_cstr(&got.text), expected);
	buf_release(&got.text);
}

FIXTURE_CASE(best_lines_are_limited)
{
	struct finder f CLEANUP_FINDER;
	three_sessions(&f, p);
	assert_best_lines(&f, HIT_LINES, 10, 0, "p/b:1:Red two p/c:2:red three p/c:3:red four p/a:1:red one ");
	assert_best_lines(&f, 1, 10, 0, "p/b:1:Red two p/c:2:red three p/a:1:red one ");
	assert_best_lines(&f, 1, 2, 0, "p/b:1:Red two p/c:2:red three ");
	assert_best_lines(&f, HIT_LINES, 1, 0, "p/b:1:Red two ");
	assert_best_lines(&f, HIT_LINES, 0, 0, "");
	assert_best_lines(&f, HIT_LINES, 10, 2, "p/b:1:Red two p/c:2:red three ");
}

RUN_CASES(NULL, NULL)
