/* SPDX-License-Identifier: MIT */
/* How long a listing of names is valid: until the epoch rises. And names that depend on the order in which files are
 * seen. */
#include "cases.h"
#include "catalog_fixture.h"
#include "linux_only.h"

#include <sys/inotify.h>
#include <unistd.h>

static void assert_rises(struct source_fixture *p, uint64_t *epoch)
{
	uint64_t now = catalog_epoch(p->c);
	assert_true(now > *epoch);
	assert_int_equal(catalog_epoch(p->c), now);
	*epoch = now;
}

/* Whether its header was read or not: without it, a file can be a session. test_catalog_oracle.c has the changes of
 * sessions. */
FIXTURE_CASE(epoch_rises_with_each_possible_session)
{
	put(p, "a/1.jsonl", HEADER_OF("1", "/"));
	open_place(p);
	uint64_t epoch = catalog_epoch(p->c);
	put(p, "a/2.jsonl", "no session\n");
	wait_stale();
	assert_rises(p, &epoch);
	count_sessions(p->c, NO_SLOT); /* it turns out to be none */
	assert_rises(p, &epoch);
	append(p, "a/1.jsonl", USER("e1", null, "hi"));
	wait_stale();
	count_sessions(p->c, NO_SLOT);
	assert_int_equal(catalog_epoch(p->c), epoch);
	assert_int_equal(unlink(at(p, "a/2.jsonl")), 0);
	wait_stale();
	assert_rises(p, &epoch);
}

/* A file without the end of its header becomes a session as soon as it has that. */
FIXTURE_CASE(epoch_rises_when_a_file_becomes_a_session)
{
	put(p, "a/1.jsonl", "{\"type\":\"session\",");
	open_place(p);
	count_sessions(p->c, NO_SLOT);
	uint64_t epoch = catalog_epoch(p->c);
	assert_int_equal(slot_of(p, "a", "1"), NO_SLOT);
	append(p, "a/1.jsonl", "\"version\":3,\"id\":\"1\"}\n");
	wait_stale();
	assert_int_not_equal(slot_of(p, "a", "1"), NO_SLOT);
	assert_rises(p, &epoch);
}

/* The path of the source is walked slowly: scans of other threads are made meanwhile. */
static int slow_openat(int dir, const char *name, int flags, ...)
{
	if (dir == AT_FDCWD && strcmp(name, "/") == 0)
		usleep(20000);
	return openat(dir, name, flags);
}

__typeof__(openat) *const sys_openat = slow_openat;

/* Another directory gets the path of the source: all is read again, with inotify at once, and no directory of the one
 * before. */
WATCHED(a_source_that_is_replaced_is_read_again)
{
	char away[80];
	NEEDS_WATCHES();
	assert_int_not_equal(slot_of(p, "w", "a"), NO_SLOT);
	snprintf(away, sizeof away, "%s.away", p->root);
	assert_int_equal(rename(p->root, away), 0);
	assert_int_equal(mkdir(p->root, 0755), 0);
	put(p, "--w--/c.jsonl", HEADER_OF("sid-c", "/w"));
	assert_int_not_equal(slot_of(p, "w", "c"), NO_SLOT);
	assert_int_equal(slot_of(p, "w", "a"), NO_SLOT);
	put(p, "--w--/d.jsonl", HEADER_OF("sid-d", "/w"));
	assert_int_not_equal(slot_of(p, "w", "d"), NO_SLOT);
	remove_all(away);
}

/* The first session that another one starts makes its directory. No other call looks for it. */
FIXTURE_CASE(the_first_started_session_is_found)
{
	struct slot_info info;
	uint64_t cookie = 0;
	put(p, "a/1.jsonl", HEADER_OF("1", "/"));
	open_place(p);
	uint32_t slot = slot_of(p, "a", "1");
	assert_false(catalog_fork_next(p->c, slot, true, &cookie, &info));
	put(p, "a/1/2.jsonl", HEADER_OF("2", "/"));
	wait_stale();
	cookie = 0;
	assert_true(catalog_fork_next(p->c, slot, true, &cookie, &info));
	assert_string_equal(info.file, "a/1/2.jsonl");
	assert_false(catalog_fork_next(p->c, slot, true, &cookie, &info));
}

/* Names under sessions/ depend on all headers: until a call has read those, a session has none. */
FIXTURE_CASE(a_session_has_no_sid_before_all_are_known)
{
	struct slot_info info, late;
	put_all(p, "a/1.jsonl=same b/2.jsonl=same");
	open_place(p);
	uint32_t slot = slot_of(p, "b", "2");
	assert_int_equal(catalog_slot(p->c, slot, &info), 0);
	assert_null(info.sid);
	assert_true(catalog_session_at_place(p->c, info.place, &late));
	assert_null(late.sid);
	assert_true(catalog_slot_by_sid(p->c, SPAN_LIT("same"), &info));
	assert_string_equal(info.file, "a/1.jsonl");
	assert_true(catalog_slot_by_sid(p->c, SPAN_LIT("same~2"), &info));
	assert_string_equal(info.file, "b/2.jsonl");
}

/* Whether the names of the directory were read since the last call. */
static bool is_read(int fd)
{
	struct inotify_event events[64];
	bool found = false;
	for (ssize_t got; (got = read(fd, events, sizeof events)) > 0;)
		found = true;
	return found;
}

FIXTURE_CASE(names_of_an_unchanged_directory_are_not_read_again)
{
	NEEDS_WATCHES();
	put(p, "a/1.jsonl", HEADER_OF("1", "/"));
	set_mtime(p, "a", 1000);
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(inotify_add_watch(fd, at(p, "a"), IN_ACCESS | IN_ONLYDIR) >= 0);
	open_place(p);
	count_sessions(p->c, NO_SLOT);
	assert_true(is_read(fd));
	append(p, "a/1.jsonl", USER("e1", null, "hi"));
	for (int i = 0; i < 3; i++) {
		is_read(fd);
		wait_stale();
		catalog_epoch(p->c);
		assert_false(is_read(fd));
	}
	/* A name that comes within two seconds after this time can leave it as it is. */
	let_stand(CLOCK_REALTIME);
	for (int i = 0; i < 4; i++) {
		if (i % 2 == 0)
			set_mtime(p, "a", clock_ago(2 + i / 2));
		wait_stale();
		catalog_epoch(p->c);
		assert_int_equal(is_read(fd), i < 3);
	}
	close(fd);
}

RUN_CASES(NULL, NULL)
