/* SPDX-License-Identifier: MIT */
/* cached_facts: the facts of one session, what its usage excludes, and readings that fail. */
#include "cases.h"
#include "../../src/find/find_impl.h"
#include "catalog_fixture.h"
#include "failing_alloc.h"
#include "failing_calls.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/sys.h"
#include "texts.h"

#include <math.h>

#define START(id) HEADER_AT(id, "2026-01-01T10:00:00.250Z")

#define USED(id, time, input) USED_AS("assistant", id, time, input, "m")
#define USED_AS(role, id, time, input, model)                                                                          \
	MESSAGE_AT(id, null, time, "role":role,"provider":"p","model":model,"content":[],"usage":{"input":input})

/* A table of marks, and where the facts are. */
struct shared {
	struct lock lock;
	struct duplicate_table d;
	struct pool *pool;
};

static void share_end(struct shared *s)
{
	pool_put(s->pool);
	duplicates_release(&s->d);
	lock_destroy(&s->lock);
}
#define SHARED(s)                                                                                                      \
	struct shared s CLEANUP(share_end) = {.pool = pool_new(true)};                                                 \
	lock_init(&s.lock, LOCK_FACTS);                                                                                \
	s.d.lock = &s.lock

static int read_again(struct source_fixture *p, struct shared *s, const char *stem, const struct cached_facts *before,
                      struct cached_facts **ret)
{
	uint32_t slot = slot_of(p, "a", stem);
	assert_int_not_equal(slot, NO_SLOT);
	*ret = NULL;
	return cached_facts_read(p->c, slot, before, &s->d, false, s->pool, ret);
}

static struct cached_facts *get(struct source_fixture *p, struct shared *s, const char *stem)
{
	struct cached_facts *k;
	assert_int_equal(read_again(p, s, stem, NULL, &k), 0);
	return k;
}

/* The rows of usage, in the order of the index. */
static void add_usage(const struct cached_facts *k, struct buf *out)
{
	for (size_t i = 0; i < k->facts.n_usage; i++) {
		const struct fact_usage *use = &k->facts.usage_rows[i];
		char day[DATE_NAME] = "none";
		if (use->date != NO_DATE)
			date_name(use->date, day);
		buf_addf(out, "%s %.*s%s %u %g\n", day, (int)use->model.n, use->model.p,
		         use->of_results ? " results" : "", use->entries, use->sum.total);
	}
}

static void assert_usage(const struct cached_facts *k, const char *rows)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	add_usage(k, &out);
	assert_text(&out, rows);
}

/* ---- what the facts are ---- */

#define ALL_KINDS                                                                                                      \
	AS_IS( \
    START("sid") LINE({"type":"session_info","id":"i","parentId":null,"name":"A name"}) \
    UNTIMED("1", null, "role":"user","content":"hi") USED("2", "2026-01-01T12:00:00Z", 3) \
    USED("3", "2026-01-01T12:00:00Z", 4) USED_AS("toolResult", "4", "2026-01-01T12:00:00Z", 50, "m") \
    USED("5", "2026-01-02T12:00:00Z", 6) USED_AS("assistant", "6", null, 7, "other") \
    UNTIMED("7", null, "role":"assistant","content":[CALL("c", "read", "path":"/x")]) LABEL("l", null, "1", "one") \
    LABEL("m", null, "3", "two") LABEL("n", null, "3", null) LABEL("o", "5", "5", "a\tb"))

static void assert_all_kinds(const struct cached_facts *k)
{
	const struct session_facts *f = &k->facts;
	assert_true(f->created == 1767261600250.0);
	assert_true(f->modified == 1767355200000.0);
	assert_int_equal(f->date, date_at(f->created));
	assert_int_equal(f->entries, 12);
	assert_int_equal(f->messages, 7);
	assert_int_equal(f->bytes, strlen(ALL_KINDS));
	assert_false(f->has_problems);
	assert_true(f->has_usage && f->usage.total == 70);
	assert_span(f->id, "sid");
	assert_span(f->title, "A name");
	assert_span(f->model, "p/other");
	assert_usage(k,
	             "2026-01-01 p/m 2 7\n2026-01-01 p/m results 1 50\n2026-01-02 p/m 1 6\n2026-01-05 p/other 1 7\n");
	assert_int_equal(f->n_labels, 2);
	assert_ptr_equal(f->labels, k->labels);
	assert_int_equal(f->labels[0].entry, 1);
	assert_span(f->labels[0].text, "one");
	assert_span(f->labels[0].name, "user hi");
	assert_span(f->labels[0].row, "1\t\tuser\thi");
	assert_int_equal(f->labels[1].entry, 5);
	assert_span(f->labels[1].text, "a\tb");
	assert_span(f->labels[1].name, "assistant");
	assert_span(f->labels[1].row, "5\t2026-01-02T12:00:00.000Z\tassistant\t");
	assert_span(f->files, "\t7\t1-read\tread\topen\t/x\n");
	assert_string_equal(f->state, "done");
	assert_int_equal(k->n_marks, 5);
	for (size_t i = 0; i < k->n_marks; i++)
		assert_true(k->marks[i] && !(k->marks[i] & MARK_FLAGS));
}

static void put_all_kinds(struct source_fixture *p)
{
	put(p, "--a--/s.jsonl", ALL_KINDS);
	set_mtime(p, "--a--/s.jsonl", 1767609000); /* 2026-01-05 */
	open_place(p);
}

/* An entry without a time has the day of the file. */
FIXTURE_CASE(all_facts_of_a_session_are_read)
{
	SHARED(s);
	put_all_kinds(p);
	struct cached_facts *k = get(p, &s, "s");
	assert_all_kinds(k);
	assert_int_equal(k->slot, slot_of(p, "a", "s"));
	assert_int_equal(k->size, strlen(ALL_KINDS));
	assert_int_equal(k->mtime.tv_sec, 1767609000);
	assert_true(k->memory > sizeof *k + 5 * sizeof(uint64_t) + 4 * sizeof(struct fact_usage));
	assert_true(k->memory < 2048);
}

/* One entry with usage, and one label. A record without its message is not counted as one. */
FIXTURE_CASE(a_single_entry_has_facts)
{
	SHARED(s);
	put(p, "--a--/s.jsonl",
	    START("s") USED("1", "2026-01-01T12:00:00Z", 3) LINE({"type":"message","id":"2","parentId":null})
	    LABEL("l", null, "1", "one"));
	open_place(p);
	struct cached_facts *k = get(p, &s, "s");
	assert_int_equal(k->facts.entries, 3);
	assert_int_equal(k->facts.messages, 1);
	assert_true(k->facts.has_usage);
	assert_usage(k, "2026-01-01 p/m 1 3\n");
	assert_int_equal(k->facts.n_labels, 1);
	assert_span(k->facts.labels[0].text, "one");
	assert_span(k->facts.labels[0].name, "assistant");
}

FIXTURE_CASE(a_session_without_entries_has_facts)
{
	SHARED(s);
	put(p, "--a--/s.jsonl", LINE({"type":"session","version":3,"id":"x"}) "nothing\n");
	open_place(p);
	struct cached_facts *k = get(p, &s, "s");
	const struct session_facts *f = &k->facts;
	assert_int_equal(f->entries + f->messages + f->n_usage + f->n_labels + k->n_marks, 0);
	assert_true(isnan(f->created) && f->date == NO_DATE);
	assert_true(f->has_problems);
	assert_false(f->has_usage || f->files.n);
	assert_span(f->id, "x");
	assert_span(f->title, "(no messages)");
	assert_span(f->model, "");
	assert_span(f->files, "");
}

/* The last model counts, also one that was only chosen. */
FIXTURE_CASE(the_last_model_is_read)
{
	static const struct {
		const char *text, *model;
	} cases[] = ITEMS(
	    {START("x") USED("1", "2026-01-01T12:00:00Z", 1) USED_AS("assistant", "2", null, 1, "late")
	     UNTIMED("3", null, "role":"user","content":"hi"), "p/late"},
	    {START("x") USED("1", "2026-01-01T12:00:00Z", 1)
	     LINE({"type":"model_change","id":"2","parentId":null,"provider":"q","modelId":"chosen"}), "q/chosen"},
	    {START("x") UNTIMED("1", null, "role":"user","content":"hi"), ""},
	    {START("x") USED("1", "2026-01-01T12:00:00Z", 1) USED_AS("toolResult", "2", null, 1, "tool"), "p/m"});
	make_dir(p, "--a--");
	open_place(p);
	for (size_t i = 0; i < COUNT(cases); i++) {
		SHARED(s);
		char file[32], stem[8];
		snprintf(stem, sizeof stem, "s%zu", i);
		snprintf(file, sizeof file, "--a--/%s.jsonl", stem);
		put(p, file, cases[i].text);
		wait_stale();
		struct cached_facts *k = get(p, &s, stem);
		assert_span(k->facts.model, cases[i].model);
	}
}

CASE(times_that_no_date_has_are_unknown)
{
	assert_true(info_time_ms(0) == 0);
	assert_true(info_time_ms(1767261600250.75) == 1767261600250.0);
	assert_true(info_time_ms(8.64e15) == 8.64e15);
	assert_true(isnan(info_time_ms(8.64e15 + 1)));
	assert_true(isnan(info_time_ms(-8.64e15 - 1)));
	assert_true(isnan(info_time_ms(NAN)));
}

/* ---- usage that counts elsewhere ---- */

static void put_fork(struct source_fixture *p)
{
	put(p, "--a--/s.jsonl", START("s") USED("1", "2026-01-01T12:00:00Z", 1) USED("2", "2026-01-02T12:00:00Z", 20));
	put(p, "--a--/fork.jsonl",
	    START("fork") USED("1", "2026-01-01T12:00:00Z", 1) USED("3", "2026-01-01T12:00:00Z", 300)
	    USED("2", "2026-01-02T12:00:00Z", 20) USED("4", "2026-01-03T12:00:00Z", 4000));
	open_place(p);
}

/* The first reading of a session excludes the entries of those that were read before. */
FIXTURE_CASE(entries_of_other_sessions_are_excluded)
{
	SHARED(s);
	put_fork(p);
	struct cached_facts *first = get(p, &s, "s"), *fork = get(p, &s, "fork"), *again = get(p, &s, "s");
	assert_usage(first, "2026-01-01 p/m 1 1\n2026-01-02 p/m 1 20\n");
	assert_usage(again, "2026-01-01 p/m 1 1\n2026-01-02 p/m 1 20\n");
	assert_usage(fork, "2026-01-03 p/m 1 4000\n2026-01-01 p/m 1 300\n");
	assert_true(fork->facts.usage.total == 4321);
	assert_int_equal(fork->n_marks, 4);
	assert_int_equal(fork->marks[0], first->marks[0] | MARK_EXCLUDED);
	assert_int_equal(fork->marks[2], first->marks[1] | MARK_EXCLUDED);
	assert_false((fork->marks[1] | fork->marks[3]) & MARK_FLAGS);
}

/* A later reading excludes what duplicates_find has marked, and nothing else. Entries appended since have no mark yet.
 */
FIXTURE_CASE(marked_entries_are_excluded)
{
	SHARED(s);
	put_fork(p);
	struct cached_facts *first = get(p, &s, "s"), *fork = get(p, &s, "fork"), *other, *longer;
	first->marks[1] |= MARK_DUPLICATE;
	fork->marks[1] |= MARK_DUPLICATE;
	assert_int_equal(read_again(p, &s, "s", first, &other), 0);
	assert_usage(other, "2026-01-01 p/m 1 1\n");
	assert_false(other->marks[0] & MARK_FLAGS);
	assert_int_equal(other->marks[1] & MARK_FLAGS, MARK_EXCLUDED);
	assert_int_equal(read_again(p, &s, "fork", fork, &other), 0);
	assert_usage(other, "2026-01-02 p/m 1 20\n2026-01-03 p/m 1 4000\n2026-01-01 p/m 1 1\n");
	/* `before` has fewer marks than the file, then more. */
	append(p, "--a--/s.jsonl", USED("3", "2026-01-04T12:00:00Z", 7));
	wait_stale();
	assert_int_equal(read_again(p, &s, "s", first, &longer), 0);
	assert_usage(longer, "2026-01-01 p/m 1 1\n2026-01-04 p/m 1 7\n");
	replace(p, "--a--/s.jsonl", START("s") USED("1", "2026-01-01T12:00:00Z", 1));
	wait_stale();
	assert_int_equal(read_again(p, &s, "s", first, &other), 0);
	assert_usage(other, "2026-01-01 p/m 1 1\n");
	assert_int_equal(other->n_marks, 1);
}

/* An id that two entries have makes the session one that is compared. */
FIXTURE_CASE(repeated_ids_are_noted)
{
	SHARED(s);
	put(p, "--a--/s.jsonl",
	    START("s") USED("1", "2026-01-01T12:00:00Z", 1) USED("1", "2026-01-01T12:00:00Z", 1)
	    USED("2", "2026-01-01T12:00:00Z", 2));
	put(p, "--a--/t.jsonl",
	    START("t") UNTIMED("1", null, "role":"user","content":"hi") UNTIMED("1", null, "role":"user","content":"hi")
	    USED("2", "2026-01-01T12:00:00Z", 3));
	open_place(p);
	struct cached_facts *k = get(p, &s, "s"), *t = get(p, &s, "t");
	assert_true(s.d.is_shared.v[k->slot]);
	assert_false(s.d.is_shared.v[t->slot]);
}

/* ---- versions ---- */

CASE(facts_match_only_their_version)
{
	const struct cached_facts k = {.slot = 3, .size = 10, .mtime = {5, 6}, .ctime = {7, 8}};
	const struct slot_state now = {.slot = 3, .size = 10, .mtime = {5, 6}, .ctime = {7, 8}};
	struct slot_state other[] = {now, now, now, now, now, now};
	assert_true(cached_facts_match(&k, &now));
	other[0].slot++;
	other[1].size++;
	other[2].mtime.tv_sec++;
	other[3].mtime.tv_nsec++;
	other[4].ctime.tv_sec++;
	other[5].ctime.tv_nsec++;
	for (size_t i = 0; i < COUNT(other); i++)
		assert_false(cached_facts_match(&k, &other[i]));
}

/* ---- readings that fail ---- */

FIXTURE_CASE(a_removed_session_has_no_facts)
{
	SHARED(s);
	struct cached_facts *k = NULL;
	put_all_kinds(p);
	uint32_t slot = slot_of(p, "a", "s");
	assert_int_equal(unlink(at(p, "--a--/s.jsonl")), 0);
	wait_stale();
	assert_int_equal(cached_facts_read(p->c, slot, NULL, &s.d, false, s.pool, &k), -ESTALE);
	assert_null(k);
	assert_int_equal(s.d.n + s.d.is_shared.n, 0);
}

/* Reads the facts while the nth allocation, or the nth read of the file, fails; returns false once none is left to
 * fail. */
static bool fails_without(struct source_fixture *p, bool reads, unsigned nth, unsigned *failures)
{
	struct cached_facts *k = NULL;
	SHARED(s);
	if (!reads) {
		get(p, &s, "s"); /* the index is open from now on */
		duplicates_release(&s.d);
	}
	uint32_t slot = slot_of(p, "a", "s");
	plan = (struct plan){0};
	if (reads)
		let_fail(PREAD, nth, 1, EIO);
	else
		let_alloc_fail(nth);
	int rc = cached_facts_read(p->c, slot, NULL, &s.d, false, s.pool, &k);
	bool failed = reads ? plan.calls[PREAD].seen >= nth : alloc_has_failed();
	plan.on = false;
	assert_true(rc == 0 || (failed && rc == (reads ? -EIO : -ENOMEM)));
	*failures += rc != 0;
	if (rc == 0)
		assert_all_kinds(k);
	return failed;
}

/* Each failure is reported; the next reading has all facts. */
FIXTURE_CASE(a_reading_that_fails_has_no_facts)
{
	put_all_kinds(p);
	for (int reads = 1; reads >= 0; reads--) {
		unsigned failures = 0;
		for (unsigned nth = 1; fails_without(p, reads, nth, &failures); nth++)
			;
		assert_true(failures > (reads ? 0 : 20)); /* a short file is read once */
	}
}

RUN_CASES(in_utc, NULL)
