/* SPDX-License-Identifier: MIT */
/* groups: links to sessions and entries by day, project and label, and their names. */
#include "cases.h"
#include "facts_fixture.h"
#include "heap.h"
#include "sessionfs/find/tables.h"

#define EQUAL 1000

/* Two names under a day are never equal, and each leads to its session. */
FIXTURE_CASE(duplicate_link_names_are_numbered)
{
	for (int i = 0; i < EQUAL; i++) {
		char name[32];
		snprintf(name, sizeof name, "--a--/%04d.jsonl", i);
		put(p, name,
		    i == 1 ? HEADER_AT("x", "2026-01-01T10:00:00.000Z") LINE({"type":"session_info","name":"hi~2"}) :
		    HEADER_AT("x", "2026-01-01T10:00:00.000Z") UNTIMED("1", null, "role":"user","content":"hi"));
	}
	put(p, "undated.jsonl", HEADER_OF("u", ""));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f);
	const struct groups *dates = facts_groups(list, GROUP_BY_DATE);
	assert_ptr_equal(facts_groups(list, GROUP_BY_DATE), dates);
	assert_int_equal(list->n, EQUAL + 1);
	assert_int_equal(dates->n, 1);
	const struct group *day = groups_find_name(dates, SPAN_LIT("2026-01-01"));
	assert_non_null(day);
	assert_ptr_equal(groups_find(dates, day->number), day);
	assert_int_equal(day->n, EQUAL);
	assert_null(groups_find(dates, day->number + 1));
	assert_null(groups_find_name(dates, SPAN_LIT("2026-1-01")));
	for (size_t i = 0; i < EQUAL; i++) {
		const struct fact *fact = &list->v[dates->v[i].fact];
		assert_ptr_equal(groups_find_link(dates, day, dates->v[i].name), &dates->v[i]);
		assert_true(i == 0 || list->v[dates->v[i - 1].fact].slot < fact->slot);
		if (strcmp(fact->file, "--a--/0000.jsonl") == 0)
			assert_true(span_is(dates->v[i].name, "10.00 hi"));
		if (strcmp(fact->file, "--a--/0001.jsonl") == 0)
			assert_true(span_is(dates->v[i].name, "10.00 hi~2"));
		if (strcmp(fact->file, "--a--/0002.jsonl") == 0)
			assert_true(span_is(dates->v[i].name, "10.00 hi~3"));
	}
	assert_null(groups_find_link(dates, day, SPAN_LIT("10.00 hi~1001")));
}

/* Labelled entries are numbered in the order of the table. A label keeps its number while no entry has it. */
FIXTURE_CASE(labels_are_grouped_across_sessions)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	put(p, "a/old.jsonl",
	    HEADER_AT("old", "2026-01-01T10:00:00.000Z") UNTIMED("1", null, "role":"user","content":"hi")
	    UNTIMED("2", null, "role":"user","content":"hi") LABEL("l", null, "2", "to/do")
	    LABEL("m", null, "1", "to/do"));
	put(p, "a/new.jsonl",
	    HEADER_AT("new", "2026-01-02T10:00:00.000Z") UNTIMED("1", null, "role":"user","content":"hi")
	    LABEL("l", null, "1", "to/do"));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f);
	const struct groups *labels = facts_groups(list, GROUP_BY_LABEL);
	const struct group *todo = groups_find_name(labels, SPAN_LIT("to%2Fdo"));
	assert_int_equal(labels->n, 1);
	assert_non_null(todo);
	assert_int_equal(todo->n, 3);
	uint64_t number = todo->number;
	static const char *const files[] = {"a/new.jsonl", "a/old.jsonl", "a/old.jsonl"};
	for (uint32_t i = 0; i < 3; i++) {
		char name[24];
		snprintf(name, sizeof name, "%04u user hi", i + 1);
		const struct group_link *link = groups_find_link(labels, todo, span_of(name));
		assert_non_null(link);
		assert_string_equal(list->v[link->fact].file, files[i]);
		assert_int_equal(link->entry, i == 2);
	}
	assert_int_equal(table_labels(list, &out), 0);
	assert_string_equal(buf_cstr(&out), "label\tproject\tstem\tentry\ttime\trole\ttext\n"
	                                    "to/do\ta\tnew\t1\t\tuser\thi\n"
	                                    "to/do\ta\told\t1\t\tuser\thi\n"
	                                    "to/do\ta\told\t2\t\tuser\thi\n");
	facts_release(list);
	append(p, "a/old.jsonl", LABEL("n", null, "1", "a\tz\\") LABEL("o", null, "2", null));
	append(p, "a/new.jsonl", LABEL("n", null, "1", ""));
	wait_stale();
	list = all(f);
	labels = facts_groups(list, GROUP_BY_LABEL);
	assert_int_equal(labels->n, 1);
	assert_null(groups_find(labels, number));
	buf_reset(&out);
	assert_int_equal(table_labels(list, &out), 0);
	assert_non_null(strstr(buf_cstr(&out), "\na\\tz\\\\\ta\told\t1\t\tuser\thi\n"));
	facts_release(list);
	append(p, "a/new.jsonl", LABEL("q", null, "1", "to/do"));
	wait_stale();
	list = all(f);
	todo = groups_find_name(facts_groups(list, GROUP_BY_LABEL), SPAN_LIT("to%2Fdo"));
	assert_non_null(todo);
	assert_int_equal(todo->number, number);
	/* The table comes from cached facts: no session is read for it. */
	put(p, "a/new.jsonl", "");
	put(p, "a/old.jsonl", "");
	wait_stale();
	buf_reset(&out);
	assert_int_equal(table_labels(list, &out), 0);
	assert_string_equal(buf_cstr(&out), "label\tproject\tstem\tentry\ttime\trole\ttext\n"
	                                    "a\\tz\\\\\ta\told\t1\t\tuser\thi\n"
	                                    "to/do\ta\tnew\t1\t\tuser\thi\n");
}

/* The memory of groups, with their links and names, is counted by key until the list is released. */
FIXTURE_CASE(groups_are_counted)
{
	enum { LABELS = 1000 };
	struct buf text CLEANUP_BUF = BUF_INIT;
	buf_adds(&text, HEADER_AT("s", "2026-01-01T10:00:00.000Z") UNTIMED("1", null, "role":"user","content":"hi"));
	for (unsigned i = 0; i < LABELS; i++)
		buf_addf(&text, UNTIMED("e%u", null, "role":"user","content":"hi") LABEL("l%u", null, "e%u", "%0100u"),
		                                                                         i, i, i, i);
	put(p, "a/s.jsonl", buf_cstr(&text));
	open_place(p);
	struct budget budget = BUDGET_INIT(SIZE_MAX);
	struct facts *f CLEANUP_FACTS = NULL;
	assert_int_equal(facts_open(p->c, &budget, &f), 0);
	const struct fact_list *list = all(f);
	size_t before = budget_used(&budget), heap = heap_used();
	assert_int_equal(facts_groups(list, GROUP_BY_LABEL)->n, LABELS);
	size_t grown = budget_used(&budget) - before, real = heap_used() - heap;
	assert_in_range(grown, LABELS * (100 + sizeof(struct group) + sizeof(struct group_link)),
	                LIMIT(LABELS * 500, SIZE_MAX));
	/* Unused memory does not count; a file counts as a MiB at least. */
	assert_true(LIMIT(heap, 0) == 0 || (grown >= real / 2 && grown <= real + real / 8));
	facts_groups(list, GROUP_BY_LABEL);
	assert_int_equal(budget_used(&budget), before + grown);
	facts_groups(list, GROUP_BY_DATE);
	assert_true(budget_used(&budget) > before + grown);
	facts_release(list);
	append(p, "a/s.jsonl", UNTIMED("2", null, "role":"user","content":"hi"));
	wait_stale();
	facts_release(all(f));
	/* The facts before the change stay. */
	assert_in_range(budget_used(&budget), before, LIMIT(2 * before, SIZE_MAX));
}

RUN_CASES(in_utc, NULL)
