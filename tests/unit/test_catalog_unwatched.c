/* SPDX-License-Identifier: MIT */
/* One call fails, by its number: a watch is not set, or a directory or file is not opened. Then a file may have changed
 * without an event, and nothing is hidden. */
#include "cases.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/sys.h"

#include "../../src/catalog/catalog_impl.h"
#include "catalog_fixture.h"
#include "failing_alloc.h"
#include "linux_only.h"

#include <sys/syscall.h>

/* ---- the failures ---- */

/* The nth call from now on fails, and so do `more` after it. */
static struct nth {
	unsigned nth, more;
	int err;
} no_watch = {.err = EMFILE}, no_open = {.err = EMFILE}, no_name = {.err = ENOENT}, no_disk = {.err = EIO};

static bool is_refused(struct nth *n)
{
	errno = n->err;
	if (!n->nth || --n->nth > 0)
		return false;
	n->nth = n->more > 0;
	n->more -= n->more > 0;
	return true;
}

static int failing_add_watch(int fd, const char *path, uint32_t mask)
{
	return is_refused(&no_watch) ? -1 : inotify_add_watch(fd, path, mask);
}

int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	return is_refused(&no_open) || is_refused(&no_name) ? -1 : (int)syscall(SYS_openat2, dir, path, how, size);
}

static int failing_openat(int dir, const char *path, int flags, ...)
{
	return is_refused(&no_disk) ? -1 : openat(dir, path, flags);
}

__typeof__(openat) *const sys_openat = failing_openat;
__typeof__(inotify_add_watch) *const sys_inotify_add_watch = failing_add_watch;

/* ---- the tests ---- */

static void open_with_files(struct source_fixture *p)
{
	p->budget = (struct budget)BUDGET_INIT(64 << 20);
	put(p, "flat.jsonl", HEADER_OF("flat", "/flat"));
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	open_watched(p, false);
}

static off_t size_of(struct source_fixture *p, uint32_t slot)
{
	struct slot_info info;
	assert_int_equal(catalog_slot(p->c, slot, &info), 0);
	return info.st.st_size;
}

/* A directory gets its watch late: scans from before it can be outdated, since no event came. */
FIXTURE_CASE(unwatched_directory_is_rescanned_when_watched)
{
	NEEDS_WATCHES();
	struct slot_info latest;
	for (unsigned nth = 1; nth <= 2; nth++) {
		const char *name = nth == 1 ? "flat.jsonl" : "a/one.jsonl";
		no_watch.nth = nth;
		if (nth == 1)
			open_with_files(p);
		else
			open_watched(p, false);
		uint64_t serial = catalog_serial(p->c);
		assert_int_equal(no_watch.nth, 0);
		assert_false(catalog_is_watched(p->c));
		assert_true(catalog_latest(p->c, NO_SLOT, &latest));
		uint32_t slot = slot_of(p, nth == 1 ? "flat" : "a", nth == 1 ? "flat" : "one");
		off_t size = size_of(p, slot);
		append(p, name, USER("e1", null, "hi"));
		set_mtime(p, name, 2000000000);
		wait_stale();
		catalog_epoch(p->c);
		assert_true(catalog_is_watched(p->c));
		assert_true(size_of(p, slot) > size);
		assert_int_not_equal(catalog_serial(p->c), serial);
		assert_true(catalog_latest(p->c, NO_SLOT, &latest));
		assert_string_equal(latest.file, name);
		set_mtime(p, name, 1000);
		close_place(p);
	}
}

/* A process keeps a removed directory open, and so its watch alive. The new directory of that name gets another, even
 * if no event of its parent told so. */
FIXTURE_CASE(recreated_directory_gets_its_own_watch)
{
	NEEDS_WATCHES();
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	no_watch.nth = 1;
	open_watched(p, false);
	assert_int_not_equal(slot_of(p, "a", "one"), NO_SLOT);
	assert_int_equal(no_watch.nth, 0);
	int held CLEANUP_CLOSE = open(at(p, "a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(held >= 0);
	assert_int_equal(unlink(at(p, "a/one.jsonl")), 0);
	assert_int_equal(rmdir(at(p, "a")), 0);
	put(p, "a/two.jsonl", HEADER_OF("two", "/"));
	wait_stale();
	assert_int_equal(slot_of(p, "a", "one"), NO_SLOT);
	assert_int_not_equal(slot_of(p, "a", "two"), NO_SLOT);
	assert_true(catalog_is_watched(p->c));
	put(p, "a/three.jsonl", HEADER_OF("three", "/"));
	assert_int_not_equal(slot_of(p, "a", "three"), NO_SLOT);
}

FIXTURE_CASE(a_directory_that_came_and_went_takes_no_memory)
{
	char name[32];
	open_with_files(p);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%s%u", i % 2 ? "a/" : "", i);
		make_dir(p, name);
		wait_stale();
		catalog_epoch(p->c);
		assert_int_equal(rmdir(at(p, name)), 0);
		wait_stale();
		catalog_epoch(p->c);
	}
	assert_in_range(p->c->dir_count, 3, 10);
	assert_int_not_equal(slot_of(p, "a", "one"), NO_SLOT);
}

FIXTURE_CASE(a_flat_file_is_the_newest_once_its_project_is_known)
{
	struct project_info info;
	open_with_files(p);
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("flat"), &info));
	put(p, "new.jsonl", HEADER_OF("new", "/flat"));
	set_mtime(p, "new.jsonl", 2000000000);
	wait_stale();
	catalog_epoch(p->c);
	/* As a call leaves it whose time is up. */
	p->c->projects[info.project].newest[NEWEST_OF_ALL].epoch = p->c->epoch;
	assert_true(catalog_project(p->c, info.project, &info));
	assert_int_equal(info.mtime.tv_sec, 2000000000);
}

/* An event of a file counts even if the names next to it must be read again anyway. */
FIXTURE_CASE(file_event_beside_new_directory_is_applied)
{
	NEEDS_WATCHES();
	open_with_files(p);
	catalog_serial(p->c);
	uint32_t slot = slot_of(p, "flat", "flat");
	off_t size = size_of(p, slot);
	count_changes(p, NULL);
	make_dir(p, "b");
	append(p, "flat.jsonl", USER("e1", null, "hi"));
	assert_true(size_of(p, slot) > size);
	assert_int_equal(count_changes(p, NULL), 1);
}

/* The same if its scan fails at that moment. */
FIXTURE_CASE(failed_scan_is_retried)
{
	NEEDS_WATCHES();
	open_with_files(p);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t serial = catalog_serial(p->c);
		assert_true(catalog_is_watched(p->c));
		count_changes(p, NULL);
		append(p, "a/one.jsonl", USER("e1", null, "hi"));
		no_open.nth = i == 0;
		if (i == 1)
			let_alloc_fail(1);
		catalog_is_watched(p->c);
		assert_int_equal(alloc_has_failed(), i == 1);
		assert_int_not_equal(catalog_serial(p->c), serial);
		assert_int_equal(no_open.nth, 0);
		assert_true(count_changes(p, NULL) > 0);
	}
}

/* A file is absent at one moment while its index grows, since its directory is moved away and back. */
FIXTURE_CASE(briefly_absent_file_is_stale)
{
	struct session *s;
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("e0", null, "hi"));
	open_place(p);
	uint32_t entries = 1;
	for (unsigned nth = 1;; nth++) {
		uint32_t slot = slot_of(p, "a", "one");
		assert_entries(p, slot, entries++);
		append(p, "a/one.jsonl", USER("e1", null, "hi"));
		wait_stale();
		no_name.nth = nth;
		int rc = catalog_session_get_as(p->c, slot, GET_NOW, &s);
		assert_true(rc == 0 || rc == -ESTALE);
		if (rc == 0)
			catalog_session_put(p->c, s);
		if (no_name.nth > 0)
			break;
		wait_stale();
		assert_entries(p, slot_of(p, "a", "one"), entries);
	}
	no_name.nth = 0;
	assert_true(entries > 3);
}

/* The scan of the source fails, also when it is repeated, and then succeeds in the same call: a new file there was not
 * read, so an older one is not the newest without an error. */
FIXTURE_CASE(failure_that_ends_hides_no_file)
{
	struct slot_info slot;
	put(p, "--w--/old.jsonl", HEADER_OF("old", "/w"));
	set_mtime(p, "--w--/old.jsonl", 1000);
	open_place(p);
	struct project_info project;
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("w"), &project));
	for (unsigned i = 0; i < 64; i++) {
		char name[32];
		assert_true(catalog_latest(p->c, project.project, &slot));
		snprintf(name, sizeof name, "new%u.jsonl", i);
		put(p, name, HEADER_OF("new", "/w"));
		set_mtime(p, name, 1001 + i);
		wait_stale();
		no_disk.nth = 1 + i / 8;
		no_disk.more = i % 8;
		int before = deferred_begin();
		bool found = catalog_latest(p->c, project.project, &slot);
		int err = deferred_end(before, 0);
		no_disk.nth = 0;
		assert_true(err || found);
		if (!err)
			assert_string_equal(slot.file, name);
		wait_stale();
	}
}

RUN_CASES(NULL, NULL)
