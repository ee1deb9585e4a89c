/* SPDX-License-Identifier: MIT */
/* The catalog's open indexes. test_catalog_cancel.c has threads that wait for one, test_catalog_writers.c many that use
 * them. */
#include "cases.h"
#include "catalog_fixture.h"

#include <signal.h>

/* Unlocks the session, as if another thread held it: a thread has one index at a time. */
static struct session *hold(struct source_fixture *p, uint32_t slot)
{
	struct session *s = NULL;
	assert_int_equal(catalog_session_get(p->c, slot, &s), 0);
	session_unlock(s);
	return s;
}

static void let_go(struct source_fixture *p, struct session *s)
{
	session_rdlock(s);
	catalog_session_put(p->c, s);
}

static int count_fds(void)
{
	int n = 0;
	DIR *d CLEANUP_CLOSEDIR = opendir("/proc/self/fd");
	assert_non_null(d);
	while (readdir(d))
		n++;
	return n;
}

FIXTURE_CASE(index_grows_with_file)
{
	struct session *s, *again;
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("x", null, "hi"));
	open_place(p);
	int before = count_fds();
	uint32_t slot = slot_of(p, "a", "one");
	s = hold(p, slot);
	assert_int_equal(session_count(s), 1);
	assert_true(span_is(session_id(s), "one"));
	assert_int_equal(catalog_session_get(p->c, slot, &again), 0);
	assert_ptr_equal(s, again);
	catalog_session_put(p->c, again);
	let_go(p, s);
	append(p, "a/one.jsonl", USER("y", null, "hi"));
	wait_stale();
	s = hold(p, slot);
	assert_int_equal(session_count(s), 2);
	/* An index in use while its file is replaced does not change. */
	replace(p, "a/one.jsonl", HEADER_OF("one", "/"));
	wait_stale();
	assert_int_equal(catalog_session_get(p->c, slot, &again), -ESTALE);
	assert_int_equal(session_count(s), 2);
	let_go(p, s);
	slot = slot_of(p, "a", "one");
	assert_entries(p, slot, 0);
	assert_int_equal(unlink(at(p, "a/one.jsonl")), 0);
	wait_stale();
	assert_int_equal(catalog_session_get(p->c, slot, &s), -ESTALE);
	assert_int_equal(catalog_session_get(p->c, 4711, &s), -ESTALE);
	assert_int_equal(count_fds(), before); /* nor is it kept open */
}

/* After eviction; and with the size and time that it had, while its index is open. */
FIXTURE_CASE(rewrite_is_seen)
{
	struct session *s;
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("x", null, "hi"));
	put(p, "a/grown.jsonl", HEADER_OF("grown", "/") USER("x", null, "hi"));
	put(p, "a/two.jsonl", HEADER_OF("two", "/"));
	open_within(p, 0);
	uint32_t one = slot_of(p, "a", "one"), grown = slot_of(p, "a", "grown"), two = slot_of(p, "a", "two");
	assert_entries(p, one, 1);
	assert_entries(p, grown, 1);
	assert_entries(p, two, 0);
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("other", null, "hi") USER("more", null, "hi"));
	set_mtime(p, "a/one.jsonl", 1000);
	append(p, "a/grown.jsonl", USER("y", null, "hi"));
	wait_stale();
	assert_entries(p, grown, 2);
	assert_int_equal(catalog_session_get(p->c, one, &s), -ESTALE);
	assert_int_not_equal(slot_of(p, "a", "one"), one);
	one = slot_of(p, "a", "one");
	assert_entries(p, one, 2);
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("other", null, "hi") USER("less", null, "hi"));
	set_mtime(p, "a/one.jsonl", 1000);
	wait_stale();
	assert_int_equal(catalog_session_get(p->c, one, &s), -ESTALE);
}

FIXTURE_CASE(open_indexes_are_limited)
{
	struct slot_info slot;
	put_numbered(p, "a", 700, HEADER_OF("s", "/") USER("x", null, "hi"));
	open_place(p);
	int before = count_fds();
	struct session *held = hold(p, slot_of(p, "a", "0"));
	for (uint64_t cookie = 0; catalog_slot_next(p->c, NO_SLOT, &cookie, &slot);)
		assert_entries(p, slot.slot, 1);
	assert_true(count_fds() - before <= 512);
	assert_int_equal(session_count(held), 1);
	let_go(p, held);
}

/* Another client of the budget, which never evicts anything. */
static uint64_t has_nothing(void *arg)
{
	return BUDGET_NOTHING;
}

/* Node ids contain entry numbers. */
FIXTURE_CASE(reopened_index_keeps_entry_numbers)
{
	struct budget_client other = {.oldest = has_nothing};
	struct session *s, *held;
	uint32_t slots[40];
	put_numbered(p, "a", 40, HEADER_OF("s", "/") USER("x", null, "hi") USER("y", null, "hi") USER("x", null, "hi"));
	open_within(p, 1 << 20);
	budget_register(&p->budget, &other);
	int before = count_fds();
	for (int i = 0; i < 40; i++) {
		char name[32];
		snprintf(name, sizeof name, "%d", i);
		slots[i] = slot_of(p, "a", name);
		assert_entries(p, slots[i], 3);
	}
	assert_int_equal(count_fds() - before, 40);
	size_t all = budget_used(&p->budget);
	assert_true(all > 40 * sizeof(struct entry) * 3);
	/* Now it uses half of their memory; indexes in use, and the one used last, stay. */
	held = hold(p, slots[0]);
	assert_entries(p, slots[39], 3);
	p->budget.limit = all;
	other.used = all / 2;
	budget_enforce(&p->budget);
	int left = count_fds() - before;
	assert_true(left >= 19 && left <= 20);
	assert_true(budget_used(&p->budget) <= all);
	p->budget.limit = 0;
	budget_enforce(&p->budget);
	assert_int_equal(count_fds() - before, 2);
	assert_int_equal(session_count(held), 3);
	let_go(p, held);
	for (int i = 0; i < 40; i++) {
		struct buf name CLEANUP_BUF = BUF_INIT;
		assert_int_equal(catalog_session_get(p->c, slots[i], &s), 0);
		session_entry_name(s, 1, &name);
		assert_true(span_is(buf_span(&name), "y"));
		assert_int_equal(session_entry_by_name(s, span_of("x")), 2);
		catalog_session_put(p->c, s);
	}
	assert_int_equal(count_fds() - before, 1);
	budget_unregister(&p->budget, &other);
}

/* Another client of the budget, whose only object was last used at this time. */
struct other {
	struct budget_client client;
	uint64_t at;
};

static uint64_t other_oldest(void *arg)
{
	const struct other *o = arg;
	return o->client.used ? o->at : BUDGET_NOTHING;
}

static void other_evict(void *arg)
{
	struct other *o = arg;
	o->client.used = 0;
}

/* All that an index has is counted, and what was used last stays, whoever has it. */
FIXTURE_CASE(the_least_recent_is_evicted)
{
	struct other other = {.client = {.oldest = other_oldest, .evict = other_evict, .arg = &other}};
	const char *const stems[] = {"one", "two"};
	struct session *s;
	make_dir(p, "a");
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("x", null, "hi") LABEL("y", "x", "x", "name"));
	put(p, "a/two.jsonl", HEADER_OF("two", "/") USER("x", null, "hi") LABEL("y", "x", "x", "name"));
	open_place(p);
	budget_register(&p->budget, &other.client);
	for (int is_last = 0; is_last < 2; is_last++) {
		size_t all = 0;
		for (int i = 0; i < 2; i++) {
			assert_int_equal(catalog_session_get(p->c, slot_of(p, "a", stems[i]), &s), 0);
			struct buf label CLEANUP_BUF = BUF_INIT;
			assert_true(session_label(s, 0, &label)); /* which makes a table */
			all += session_memory(s);
			catalog_session_put(p->c, s);
		}
		assert_int_equal(budget_used(&p->budget), all);
		other.client.used = all;
		other.at = is_last ? budget_clock() : 1;
		p->budget.limit = 2 * all - 1;
		budget_enforce(&p->budget);
		assert_int_equal(other.client.used, is_last ? all : 0);
		if (is_last)
			assert_in_range(budget_used(&p->budget), all + 1, 2 * all - 1);
		else
			assert_int_equal(budget_used(&p->budget), all);
	}
	budget_unregister(&p->budget, &other.client);
}

/* Another process has a lease on the file, and does not release it. */
FIXTURE_CASE(eagain_on_open_is_not_retried)
{
	struct session *s;
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("x", null, "hi"));
	open_place(p);
	uint32_t slot = slot_of(p, "a", "one");
	signal(SIGIO, SIG_IGN); /* which breaks the lease */
	int fd = open(at(p, "a/one.jsonl"), O_RDWR | O_CLOEXEC);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
		close(fd);
		skip();
	}
	assert_int_equal(catalog_session_get(p->c, slot, &s), -EAGAIN);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	close(fd);
	assert_entries(p, slot, 1);
}

/* Scanning a file on another file system may block, so another thread does it. Here a scan is recent: only opening the
 * file shows that it was replaced. */
FIXTURE_CASE(foreign_file_is_checked_before_use)
{
	struct session *s;
	struct stat here, there;
	char target[] = "/dev/shm/test_catalog.XXXXXX";
	int fd = mkstemp(target);
	if (fd < 0 || stat(p->root, &here) < 0 || fstat(fd, &there) < 0 || here.st_dev == there.st_dev) {
		unlink(target);
		skip();
	}
	close(fd);
	struct source_fixture other = {.root = "/dev/shm"};
	make_dir(p, "a");
	put(&other, target + sizeof "/dev/shm", HEADER_OF("one", "/") USER("x", null, "hi"));
	assert_int_equal(symlink(target, at(p, "a/one.jsonl")), 0);
	struct catalog_options o = {.budget = &p->budget, .fresh_ms = 60000};
	p->budget = (struct budget)BUDGET_INIT(64 << 20);
	assert_int_equal(catalog_open(p->root, &o, &p->c), 0);
	uint32_t slot = slot_of(p, "a", "one");
	assert_int_not_equal(slot, NO_SLOT);
	put(&other, target + sizeof "/dev/shm", HEADER_OF("two", "/") USER("x", null, "hi"));
	int rc = catalog_session_get(p->c, slot, &s);
	unlink(target);
	assert_int_equal(rc, -ESTALE);
}

RUN_CASES(NULL, NULL)
