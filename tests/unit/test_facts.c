/* SPDX-License-Identifier: MIT */
/* facts: immutable lists of all sessions, which read only changed ones again; and their days. */
#include "cases.h"

#include "../../src/find/facts.c"

#include "closed_path.h"
#include "facts_fixture.h"
#include "sessionfs/base/date.h"
#include "sessionfs/find/tables.h"

#include <math.h>

#define USED(id, time)                                                                                                 \
	MESSAGE_AT(id, null, time, "role":"assistant","provider":"p","model":"m","content":[], \
	    "usage":{"input":1,"output":2,"cost":{"total":0.1}})

#define HI(id) UNTIMED(id, null, "role":"user","content":"hi")
#define OLD HEADER_AT("old", "2026-01-01T10:00:00.000Z") HI("1")

static _Atomic size_t bytes;
static _Atomic unsigned reads, fail_from; /* fail_from: the first call that fails; 0: none */

static ssize_t counted_pread(int fd, void *p, size_t n, off_t off)
{
	unsigned count = atomic_fetch_add(&reads, 1) + 1, from = atomic_load(&fail_from);
	if (from && count >= from) {
		errno = EIO;
		return -1;
	}
	ssize_t got = pread(fd, p, n, off);
	atomic_fetch_add(&bytes, got > 0 ? (size_t)got : 0);
	return got;
}

__typeof__(pread) *const sys_pread = counted_pread;

static uint64_t later_ns;

__typeof__(budget_clock) __real_budget_clock, __wrap_budget_clock;

uint64_t __wrap_budget_clock(void)
{
	return __real_budget_clock() + later_ns;
}

__typeof__(cached_facts_read) __real_cached_facts_read, __wrap_cached_facts_read;

static _Atomic unsigned makes, fail_make; /* fail_make: the call that fails */

/* One session is replaced whenever its facts are read. */
static struct source_fixture *storm;

int __wrap_cached_facts_read(struct catalog *c, uint32_t slot, const struct cached_facts *before,
                             struct duplicate_table *d, bool usage_only, struct pool *pool, struct cached_facts **ret)
{
	struct slot_info info;
	if (atomic_fetch_add(&makes, 1) + 1 == atomic_load(&fail_make))
		return -EIO;
	if (storm && catalog_slot(c, slot, &info) == 0 && strcmp(info.file, "--a--/old.jsonl") == 0)
		replace(storm, info.file, OLD);
	return __real_cached_facts_read(c, slot, before, d, usage_only, pool, ret);
}

static const struct fact *find(const struct fact_list *list, const char *file)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i].file, file) == 0)
			return &list->v[i];
	return NULL;
}

static void put_three(struct source_fixture *p)
{
	put(p, "--a--/old.jsonl", OLD);
	put(p, "--a--/equal.jsonl", HEADER_AT("equal", "2026-01-02T10:00:00.000Z"));
	put(p, "--a--/used.jsonl", HEADER_AT("used", "2026-01-02T10:00:00.000Z") USED("1", "2026-01-02T09:00:00Z"));
}

FIXTURE_CASE(sessions_are_sorted_newest_first)
{
	put_three(p);
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f);
	assert_list(list, 3, 0);
	assert_string_equal(list->v[0].file, "--a--/equal.jsonl");
	assert_string_equal(list->v[1].file, "--a--/used.jsonl");
	assert_string_equal(list->v[2].file, "--a--/old.jsonl");
	assert_true(list->v[1].facts->usage.total == 3);
	assert_string_equal(list->v[1].project, "a");
}

/* The list stays the same while nothing changes, and so do the facts of an unchanged session. */
FIXTURE_CASE(only_changed_sessions_are_read)
{
	put_three(p);
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f);
	uint64_t serial = catalog_serial(p->c);
	assert_int_equal(serial, list->serial);
	wait_stale();
	unsigned before = reads;
	const struct fact_list *same CLEANUP_LIST = all(f);
	assert_ptr_equal(same, list);
	assert_int_equal(reads, before);

	append(p, "--a--/old.jsonl", HI("2"));
	put(p, "--a--/new.jsonl", HEADER_AT("new", "2026-01-03T10:00:00.000Z"));
	assert_int_equal(unlink(at(p, "--a--/equal.jsonl")), 0);
	wait_stale();
	assert_int_not_equal(catalog_serial(p->c), serial);
	const struct fact_list *next CLEANUP_LIST = all(f);
	assert_int_equal(next->n, 3);
	assert_ptr_equal(find(next, "--a--/used.jsonl")->facts, find(list, "--a--/used.jsonl")->facts);
	assert_int_equal(find(next, "--a--/old.jsonl")->facts->entries, 2);
	assert_int_equal(find(list, "--a--/old.jsonl")->facts->entries, 1);
	assert_null(find(next, "--a--/equal.jsonl"));
	assert_non_null(find(next, "--a--/new.jsonl"));
}

FIXTURE_CASE(unreadable_session_is_counted_as_missed)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	uint64_t last = 0;
	put_three(p);
	struct facts *f CLEANUP_FACTS = open_facts(p);
	for (unsigned from = 1; from < 8; from++) {
		wait_stale();
		atomic_store(&reads, 0);
		atomic_store(&fail_from, from);
		const struct fact_list *list CLEANUP_LIST = all(f);
		atomic_store(&fail_from, 0);
		if (list->error == 0) {
			assert_int_equal(list->n, 3);
		} else {
			assert_int_equal(list->error, -EIO);
			assert_true(list->n < 3);
			buf_reset(&out);
			assert_int_equal(table_sessions(list, &out), list->n ? 0 : -EIO);
			assert_int_equal(table_usage(list, &out), list->n ? 0 : -EIO);
			for (size_t i = 0; i < list->n; i++)
				assert_non_null(memmem(out.p, out.n, list->v[i].stem, strlen(list->v[i].stem)));
			assert_int_not_equal(list->serial, last);
			last = list->serial;
		}
	}
	wait_stale();
	const struct fact_list *list CLEANUP_LIST = all(f);
	assert_list(list, 3, 0);
}

/* Each name in by-date/ needs the list: it is not made again while the same directory cannot be read. */
FIXTURE_CASE(list_that_lacks_a_directory_is_reused)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	put_three(p);
	put(p, "--b--/other.jsonl", HEADER_AT("other", "2026-01-03T10:00:00.000Z"));
	put(p, "--a--/fork.jsonl", FORK("fork", "/x/other.jsonl"));
	closed_path = "--b--";
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list = all(f);
	assert_list(list, 4, -EHOSTDOWN);
	assert_int_equal(table_sessions(list, &out), 0);
	for (int i = 0; i < 2; i++) {
		const struct fact_list *same CLEANUP_LIST = all(f);
		assert_ptr_equal(same, list);
		assert_int_equal(catalog_serial(p->c), list->serial);
		wait_stale();
	}
	closed_path = NULL;
	wait_stale();
	const struct fact_list *next CLEANUP_LIST = all(f);
	assert_list(next, 5, 0);
	facts_release(list);
	closed_path = "--b--";
	wait_stale();
	list = all(f); /* it was known, and the file itself can be read */
	assert_list(list, 5, -EHOSTDOWN);
	closed_path = NULL;
	facts_release(list);
}

/* The others are in the list, and the next list has all. */
FIXTURE_CASE(constantly_replaced_session_is_skipped)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	put_three(p);
	struct facts *f CLEANUP_FACTS = open_facts(p);
	uint64_t last = 0;
	for (int i = 0; i < 3; i++) {
		storm = p;
		const struct fact_list *list CLEANUP_LIST = all(f);
		storm = NULL;
		assert_list(list, 2, 0);
		assert_int_not_equal(list->serial, last);
		last = list->serial;
		assert_int_equal(table_sessions(list, &out), 0);
		assert_int_equal(table_usage(list, &out), 0);
	}
	const struct fact_list *list CLEANUP_LIST = all(f);
	assert_int_equal(list->n, 3);
	assert_int_equal(list->serial, catalog_serial(p->c));
}

#define ENTRIES 3000

/* Entry i of a session, which uses one model after another on successive days; some have no time. */
static void add_used(int i, int models, struct buf *out)
{
	buf_addf(out, "{\"type\":\"message\",\"id\":\"%08x\",\"parentId\":null,", (unsigned)i);
	if (i % 5)
		buf_addf(out, JSON("timestamp":"2026-01-%02dT12:00:00Z",), 1 + i / 1000);
	buf_addf(out, "\"message\":{\"role\":\"assistant\",\"content\":\"%0300d\",", i);
	buf_addf(out, JSON("provider":"p","model":"m\u00%02x",), (unsigned)(0x41 + i % models));
	buf_adds(out, "\"usage\":{\"input\":1,\"output\":2,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":3,");
	buf_adds(out, i % 2 ? JSON("cost":{"total":0.25})
	                    : JSON("cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}));
	buf_adds(out, "}}}\n");
}

/* Returns the size of the file. */
static size_t put_used(struct source_fixture *p, int models)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	buf_adds(&text, HEADER_AT("used", "2026-01-01T10:00:00.000Z"));
	for (int i = 0; i < ENTRIES; i++)
		add_used(i, models, &text);
	put(p, "used.jsonl", buf_cstr(&text));
	return text.n;
}

static void sum_with_models(struct source_fixture *p, int models, bool is_usual)
{
	struct buf info CLEANUP_BUF = BUF_INIT;
	size_t size = put_used(p, models);
	struct facts *f CLEANUP_FACTS = open_facts(p);
	atomic_store(&bytes, 0);
	const struct fact_list *list CLEANUP_LIST = all(f);
	if (is_usual)
		assert_in_range(atomic_load(&bytes), size, size + size / 4);
	const struct session_facts *of = list->v[0].facts;
	assert_int_equal(of->n_usage, 4 * models);
	assert_true(of->usage.total == 3 * ENTRIES && of->usage.cost == ENTRIES / 4);
	unsigned entries = 0;
	double cost = 0;
	for (size_t i = 0; i < of->n_usage; i++) {
		entries += of->usage_rows[i].entries;
		cost += of->usage_rows[i].sum.cost;
		assert_true(of->usage_rows[i].sum.output == 2 * of->usage_rows[i].entries);
	}
	assert_int_equal(entries, ENTRIES);
	assert_true(cost == of->usage.cost);
	assert_int_equal(of->messages, ENTRIES);
	assert_true(of->model.n == 4 && of->model.p[3] == 'A' + (ENTRIES - 1) % models);

	struct session *s;
	assert_int_equal(catalog_session_get(p->c, list->v[0].slot, &s), 0);
	atomic_store(&bytes, 0);
	assert_int_equal(render_info_json(s, "used.jsonl", NULL, &info), 0);
	assert_true(!is_usual || atomic_load(&bytes) < size / 4);
	buf_addc(&info, '\0');
	assert_non_null(strstr(info.p, JSON("totalTokens": 9000,)));
	assert_non_null(strstr(info.p, JSON("assistant": 3000)));
	catalog_session_put(p->c, s);
}

/* Each line is read once, for the index; the sums read only a few lines again. */
FIXTURE_CASE(usage_is_summed_while_indexing)
{
	sum_with_models(p, 3, true);
}

/* For any number of sums per day and model. */
FIXTURE_CASE(many_models_are_summed)
{
	sum_with_models(p, 12, false);
}

/* The usage of all sessions, and how many were read for that. */
static unsigned counted(struct facts *f, unsigned *ret_makes)
{
	unsigned entries = 0;
	wait_stale();
	atomic_store(&makes, 0);
	const struct fact_list *list CLEANUP_LIST = all(f);
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->v[i].facts->n_usage; k++)
			entries += list->v[i].facts->usage_rows[k].entries;
	*ret_makes = atomic_load(&makes);
	return entries;
}

/* A session's facts are computed once if file names show which is older, twice if they mislead; after a change, only
 * the changed session's are. */
FIXTURE_CASE(shared_entry_counts_once)
{
#define AT "2026-01-01T10:00:00.000Z"
	unsigned n;
	char name[32];
	put(p, "--a--/1.jsonl", HEADER_AT("1", AT) USED("1", AT) USED("2", AT));
	put(p, "--a--/2.jsonl", HEADER_AT("2", "2026-01-02T10:00:00.000Z") USED("1", AT) USED("2", AT) USED("3", AT));
	put(p, "--a--/own.jsonl", HEADER_AT("3", AT) USED("4", AT));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	assert_int_equal(counted(f, &n), 4);
	assert_in_range(n, 3, 5); /* on several cores the younger can be first, and both are computed again */
	append(p, "--a--/own.jsonl", USED("5", AT));
	assert_int_equal(counted(f, &n), 5);
	assert_int_equal(n, 1);
	append(p, "--a--/2.jsonl", USED("6", AT));
	assert_int_equal(counted(f, &n), 6);
	assert_in_range(n, 1, 2);
	put(p, "--a--/3.jsonl", HEADER_AT("4", "2025-01-02T10:00:00.000Z") USED("1", AT) USED("7", AT));
	assert_int_equal(counted(f, &n), 7);
	assert_int_equal(unlink(at(p, "--a--/1.jsonl")), 0);
	assert_int_equal(counted(f, &n), 7);
	assert_int_equal(unlink(at(p, "--a--/2.jsonl")), 0);
	assert_int_equal(counted(f, &n), 4);
	/* More sessions appear and disappear than the table keeps. */
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "--a--/many%d.jsonl", i);
		char entry[1024];
		snprintf(entry, sizeof entry, HEADER_AT("m", AT) USED("1", AT) USED("m%d", AT), i);
		put(p, name, entry);
		assert_int_equal(counted(f, &n), 5);
		assert_int_equal(unlink(at(p, name)), 0);
	}
	assert_int_equal(counted(f, &n), 4);
}

/* The usage in tool results counts once: for the subagents' own sessions, as long as they exist. */
FIXTURE_CASE(results_count_for_subagents)
{
#define RESULT_USED(id)                                                                                                \
	MESSAGE_AT(id, null, AT, "role":"toolResult","content":[],"usage":{"input":40,"cost":{"total":7}})
	struct buf out CLEANUP_BUF = BUF_INIT;
	put(p, "--a--/s.jsonl", HEADER_AT("s", AT) RESULT_USED("r") USED("1", AT) RESULT_USED("r2"));
	put(p, "--a--/fork.jsonl", FORK("fork", "s.jsonl") RESULT_USED("r") USED("1", AT) RESULT_USED("own"));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	for (int with = 0; with < 3; with++) {
		bool has = with == 1;
		if (has)
			put(p, "--a--/s/sub.jsonl", FORK("sub", "s.jsonl") USED("2", AT));
		else if (with)
			assert_int_equal(unlink(at(p, "--a--/s/sub.jsonl")), 0);
		wait_stale();
		const struct fact_list *list CLEANUP_LIST = all(f);
		const struct fact *s = find(list, "--a--/s.jsonl"), *fork = find(list, "--a--/fork.jsonl");
		assert_int_equal(s->has_subagents, has);
		assert_true(s->facts->usage.total == 83);
		assert_true(s->counted.total == (has ? 3 : 83) && s->counted.cost == (has ? 0.1 : 14.1));
		/* It has no subagents itself, but its first two entries are the older session's. */
		assert_true(!fork->has_subagents && fork->counted.total == 40 && fork->facts->usage.total == 83);
		buf_reset(&out);
		assert_int_equal(table_usage(list, &out), 0);
		const char *rows = strchr(buf_cstr(&out), '\n') + 1;
		assert_string_equal(rows, has ? "2026-01-01\ta\tp/m\t2\t2\t4\t0\t0\t6\t0.2\n"
		                                "2026-01-01\ta\tunknown\t1\t40\t0\t0\t0\t40\t7\n"
		                              : "2026-01-01\ta\tp/m\t1\t1\t2\t0\t0\t3\t0.1\n"
		                                "2026-01-01\ta\tunknown\t3\t120\t0\t0\t0\t120\t21\n");
	}
}

/* Asserts the sum of a session with its subagents, and how many sessions were read for it. Returns the serial. */
static uint64_t assert_sum(struct facts *f, uint32_t slot, double total, unsigned most)
{
	struct usage sum = {0};
	uint64_t serial;
	wait_stale();
	atomic_store(&makes, 0);
	assert_int_equal(facts_sum_subagents(f, NULL, slot, &sum, &serial), 0);
	assert_true(sum.total == total);
	assert_int_equal(makes > 0, most > 0);
	assert_in_range(makes, 0, most);
	return serial;
}

/* Reads only these sessions, and only after a change of one of them, or if one could not be read. */
FIXTURE_CASE(subagents_are_summed)
{
	put(p, "--a--/s.jsonl", HEADER_AT("s", "2026-01-02T10:00:00.000Z") USED("1", AT) RESULT_USED("r"));
	put(p, "--a--/s/x.jsonl",
	    HEADER_AT("x", "2026-01-03T10:00:00.000Z") USED("1", AT) USED("2", AT) RESULT_USED("r"));
	put(p, "--a--/s/x/y.jsonl", HEADER_AT("y", "2026-01-04T10:00:00.000Z") USED("2", AT) RESULT_USED("r2"));
	/* In usage.tsv the first entry counts for this one. */
	put(p, "--a--/older.jsonl", HEADER_AT("older", AT) USED("1", AT));
	put(p, "--a--/other.jsonl", HEADER_AT("other", AT) USED("3", AT));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	uint32_t s = slot_of(p, "a", "s"), x = slot_of(p, "a", "s+x");
	atomic_store(&fail_from, 1);
	uint64_t incomplete = assert_sum(f, s, 0, 6);
	atomic_store(&fail_from, 0);
	uint64_t first = assert_sum(f, s, 46, 6);
	assert_true(first && first != incomplete && assert_sum(f, s, 46, 0) == first);
	assert_sum(f, x, 46, 4);
	assert_int_equal(assert_sum(f, slot_of(p, "a", "s+x+y"), 0, 0), 0);
	assert_int_equal(assert_sum(f, slot_of(p, "a", "older"), 0, 0), 0);
	append(p, "--a--/other.jsonl", USED("4", AT));
	assert_true(assert_sum(f, s, 46, 0) == first);
	append(p, "--a--/s/x/y.jsonl", USED("5", AT));
	assert_true(assert_sum(f, s, 49, 6) != first);

	static const struct {
		const char *file;
		double cost, with;
	} want[] = {{"--a--/s.jsonl", 7.1, 7.3},
	            {"--a--/s/x.jsonl", 7.2, 7.3},
	            {"--a--/s/x/y.jsonl", 7.2, 7.2},
	            {"--a--/older.jsonl", 0.1, 0.1}};
	wait_stale();
	/* Whichever reading fails, also for a sum, the list has these costs or the error. */
	for (unsigned nth = 0, done = 0; !done; nth++) {
		struct facts *g CLEANUP_FACTS = open_facts(p);
		atomic_store(&makes, 0);
		atomic_store(&fail_make, nth);
		const struct fact_list *list CLEANUP_LIST = all(g);
		atomic_store(&fail_make, 0);
		done = nth > atomic_load(&makes);
		for (size_t i = 0; i < COUNT(want) && !list->error; i++) {
			const struct fact *fact = find(list, want[i].file);
			assert_true(fabs(fact->facts->usage.cost - want[i].cost) < 1e-9);
			assert_true(fabs(fact->cost_with_subagents - want[i].with) < 1e-9);
			assert_int_equal(fact->has_subagents, i < 2);
			assert_true(i > 0 || fact->counted.total == 0);
		}
		assert_true(!done || !list->error);
	}
}

static bool count_down(void *arg)
{
	return atomic_fetch_sub((_Atomic int *)arg, 1) <= 0;
}

/* However early it is cancelled, later calls finish: earlier reads count. */
FIXTURE_CASE(interrupted_refresh_keeps_progress)
{
	_Atomic int left;
	const struct cancel cancel = {.is_cancelled = count_down, .arg = &left};
	const struct fact_list *list = NULL;
	put_numbered(p, "--a--", 50, HEADER_AT("x", "2026-01-01T10:00:00.000Z") HI("1") HI("2"));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	int rc = -EINTR;
	unsigned rounds = 0;
	cancel_set(&cancel);
	while (rc == -EINTR && rounds++ < 1000) {
		atomic_store(&left, 40);
		rc = facts_get(f, &list);
	}
	cancel_set(NULL);
	assert_int_equal(rc, 0);
	assert_true(rounds > 1);
	assert_list(list, 50, 0);
	facts_release(list);
}

/* But not while they are in use: each request would read all sessions again. The table of shared entries counts, and
 * goes with them. */
FIXTURE_CASE(unused_facts_are_evicted)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	put_three(p);
	put_used(p, 3);
	open_within(p, 1024);
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f), *same CLEANUP_LIST = all(f);
	assert_ptr_equal(list, same);
	assert_true(f->client.used >= ENTRIES * (sizeof *f->duplicates.cells + sizeof *f->newest->cached[0]->marks));
	/* Indexes are evicted: the table of problems reads no session without one again. */
	unsigned before = reads;
	assert_int_equal(table_problems(list, &out), 0);
	assert_int_equal(reads, before);
	later_ns = UINT64_C(3600) * 1000000000;
	budget_enforce(&p->budget);
	assert_int_equal(f->client.used + duplicates_memory(&f->duplicates), 0);
	const struct fact_list *again CLEANUP_LIST = all(f);
	later_ns = 0;
	assert_ptr_not_equal(list, again);
	assert_int_equal(again->n, 4);
}

/* --- days ---------------------------------------------------------------------------- */

CASE(days_have_names)
{
	static const struct {
		const char *name;
		date_t day;
	} cases[] = {{"1970-01-01", 0}, {"2000-02-29", 11016}, {"1969-12-31", -1}, {"2026-11-23", 20780}};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char name[DATE_NAME];
		date_name(cases[i].day, name);
		assert_string_equal(name, cases[i].name);
	}
	assert_int_equal(date_at(NAN), NO_DATE);
}

/* A call gets its result later. */
FIXTURE_CASE(files_table_covers_all_sessions)
{
	put(p, "a/s.jsonl",
	    HEADER_AT("s", "2026-01-01T10:00:00.000Z")
	    UNTIMED("1", null, "role":"assistant","content":[CALL("c", "read", "path":"/x")])
	    UNTIMED("2", null, "role":"assistant","content":[CALL("c", "read", "path":"/x")]));
	put(p, "a/t.jsonl",
	    HEADER_AT("t", "2026-01-02T10:00:00.000Z")
	    UNTIMED("1", null, "role":"assistant","content":[CALL("c", "read", "path":"/x")]));
	put(p, "a/u.jsonl", HEADER_AT("u", "2026-01-03T10:00:00.000Z") HI("1"));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f);
	struct buf out CLEANUP_BUF = BUF_INIT;
	assert_int_equal(table_files(list, &out), 0);
	assert_string_equal(buf_cstr(&out), "project\tstem\ttime\tentry\tcall\taction\toutcome\tpath\n"
	                                    "a\tt\t\t1\t1-read\tread\topen\t/x\n"
	                                    "a\ts\t\t1\t1-read\tread\topen\t/x\n"
	                                    "a\ts\t\t2\t1-read\tread\topen\t/x\n");
	buf_reset(&out);
	append(p, "a/s.jsonl", UNTIMED("3", "1", "role":"toolResult","toolCallId":"c","content":[]));
	wait_stale();
	const struct fact_list *next CLEANUP_LIST = all(f);
	assert_ptr_equal(find(next, "a/t.jsonl")->facts, find(list, "a/t.jsonl")->facts);
	assert_int_equal(table_files(next, &out), 0);
	assert_non_null(strstr(buf_cstr(&out), "a\ts\t\t1\t1-read\tread\tdone\t/x\n"
	                                       "a\ts\t\t2\t1-read\tread\topen\t/x\n"));
}

/* Facts of earlier versions stay in memory until they are too many: then all sessions are read again. */
FIXTURE_CASE(unused_facts_are_limited)
{
	enum { CHANGES = 100 };
	put(p, "a/s.jsonl", HEADER_AT("s", "2026-01-01T10:00:00.000Z") HI("1"));
	put(p, "a/t.jsonl", HEADER_AT("t", "2026-01-02T10:00:00.000Z") HI("1"));
	struct facts *f CLEANUP_FACTS = open_facts(p);
	facts_release(all(f));
	unsigned before = makes;
	for (unsigned i = 0; i < CHANGES; i++) {
		append(p, "a/s.jsonl", HI("2"));
		wait_stale();
		const struct fact_list *list CLEANUP_LIST = all(f);
		assert_int_equal(find(list, "a/s.jsonl")->facts->entries, i + 2);
		assert_int_equal(find(list, "a/t.jsonl")->facts->entries, 1);
	}
	/* With SMALL, each seventh or so. */
	assert_in_range(makes - before, CHANGES + LIMIT(0, 5), CHANGES + LIMIT(0, CHANGES / 3));
}

/* A control character other than TAB, newline and backslash is a space, in any text. Names are escaped. */
FIXTURE_CASE(control_characters_in_cells_become_spaces)
{
#define ODD "\\t\\n\\\\\\r\\u0000\\u001b\\u0007\\u007f\\u0085\\u2028."
	struct buf out CLEANUP_BUF = BUF_INIT;
	put(p, "a\\b/t\\.jsonl", FORK("t", "s.jsonl") "torn\n");
	put(p, "a\\b/s.jsonl",
	    "{\"type\":\"session\",\"version\":3,\"id\":\"i" ODD "\",\"timestamp\":\"2026-01-01T10:00:00.000Z\"}\n"
	    "{\"type\":\"message\",\"id\":\"1\",\"parentId\":null,\"timestamp\":\"2026-01-01T10:00:00.000Z\",\"message\":{\"role\":\"assistant\",\"provider\":\"p" ODD "\",\"model\":\"m" ODD "\",\"content\":\"t\\u0085t\\\\\",\"usage\":{\"input\":1}}}\n");
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f);
	assert_int_equal(table_sessions(list, &out), 0);
#define SHOWN "\\t\\n\\\\ \u2400     ."
	const char *row = strstr(buf_cstr(&out), "\ni" SHOWN "\ta\\\\b\ts\t");
	assert_non_null(row);
	assert_non_null(strstr(buf_cstr(&out), "\nt\ta\\\\b\tt\\\\\t"));
	assert_non_null(strstr(buf_cstr(&out), "\tprojects/a\\\\b/s\t"));
	assert_non_null(strstr(row, "\tp" SHOWN "/m" SHOWN "\tdone\t\t398\tt t\\\\\t0\t0\n"));
	buf_reset(&out);
	assert_int_equal(table_usage(list, &out), 0);
	assert_non_null(strstr(buf_cstr(&out), "\ta\\\\b\tp" SHOWN "/m" SHOWN "\t1\t"));
	buf_reset(&out);
	assert_int_equal(table_problems(list, &out), 0);
	assert_non_null(strstr(buf_cstr(&out), "\na\\\\b/t\\\\.jsonl\ta\\\\b\tt\\\\\t2\t"));
}

RUN_CASES(in_utc, NULL)
