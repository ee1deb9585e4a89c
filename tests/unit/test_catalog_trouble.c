/* SPDX-License-Identifier: MIT */
/* Reading one file or its ACL fails, or memory runs out: once, without effect, or repeatedly, which is an error. */
#include "cases.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/sys.h"

#include "../../src/catalog/catalog_impl.h"
#include "catalog_fixture.h"
#include "failing_alloc.h"
#include "linux_only.h"

#include <sys/mman.h>
#include <sys/syscall.h>

/* ---- the failures ---- */

#define EVER UINT_MAX

static struct {
	ino_t ino;
	unsigned after, times; /* `after` reads succeed first */
	bool acl;
} failing;
static unsigned failures; /* how often it has failed */

static bool fails(int fd, bool acl)
{
	struct stat st;
	if (!failing.times || failing.acl != acl || fstat(fd, &st) < 0 || st.st_ino != failing.ino)
		return false;
	if (failing.after > 0)
		return failing.after--, false;
	if (failing.times != EVER)
		failing.times--;
	failures++;
	errno = EIO;
	return true;
}

static ssize_t failing_pread(int fd, void *p, size_t n, off_t off)
{
	return fails(fd, false) ? -1 : pread(fd, p, n, off);
}

static ssize_t failing_fgetxattr(int fd, const char *name, void *p, size_t n)
{
	return fails(fd, true) ? -1 : fgetxattr(fd, name, p, n);
}

static void let_fail(struct source_fixture *p, const char *name, bool acl, unsigned times)
{
	struct stat st;
	assert_int_equal(stat(at(p, name), &st), 0);
	failing.ino = st.st_ino;
	failing.acl = acl;
	failing.times = times;
}

/* Opening this name fails. */
static struct {
	const char *name;
	int err;
	bool has_attrs; /* they can be read */
} closed;

static bool is_closed(const char *path)
{
	errno = closed.err;
	return closed.name && strncmp(path, closed.name, strlen(closed.name)) == 0;
}

int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	bool is_attrs = closed.has_attrs && how->flags & O_PATH;
	return !is_attrs && is_closed(path) ? -1 : (int)syscall(SYS_openat2, dir, path, how, size);
}

static int failing_openat(int dir, const char *path, int flags, ...)
{
	return is_closed(path) ? -1 : openat(dir, path, flags);
}

__typeof__(openat) *const sys_openat = failing_openat;

__typeof__(pread) *const sys_pread = failing_pread;
__typeof__(fgetxattr) *const sys_fgetxattr = failing_fgetxattr;

static void let_be(void)
{
	failing.times = 0;
}

/* ---- the newest ---- */

static void assert_latest(struct source_fixture *p, const char *file, int deferred)
{
	struct slot_info slot = {0};
	int before = deferred_begin();
	bool found = catalog_latest(p->c, NO_SLOT, &slot);
	assert_int_equal(deferred_end(before, 0), deferred);
	if (deferred == 0) {
		assert_true(found);
		assert_string_equal(slot.file, file);
	}
}

/* A failure of the newest is an error, if it is not over at once; one of another file has no effect. */
FIXTURE_CASE(only_a_lasting_failure_of_the_newest_counts)
{
	static const struct {
		const char *file;
		unsigned times;
		int deferred;
	} cases[] = {{"b/new.jsonl", 1, 0}, {"b/new.jsonl", EVER, -EIO}, {"a/old.jsonl", EVER, 0}};
	put_all(p, "a/old.jsonl b/new.jsonl");
	set_mtime(p, "a/old.jsonl", 1000);
	set_mtime(p, "b/new.jsonl", 2000);
	for (size_t i = 0; i < COUNT(cases); i++) {
		open_place(p);
		let_fail(p, cases[i].file, false, cases[i].times);
		assert_latest(p, "b/new.jsonl", cases[i].deferred);
		if (!cases[i].deferred)
			count_sessions(p->c, NO_SLOT);
		assert_latest(p, "b/new.jsonl", cases[i].deferred);
		let_be();
		wait_stale();
		assert_latest(p, "b/new.jsonl", 0);
		close_place(p);
	}
}

/* ---- listings ---- */

/* Appends SID=FILE of each session; returns the error of the listing. */
static int list(struct source_fixture *p, struct buf *text)
{
	struct slot_info slot;
	int before = deferred_begin();
	for (uint64_t cookie = 0; catalog_slot_next(p->c, NO_SLOT, &cookie, &slot);)
		buf_addf(text, "%s=%s ", slot.sid ? slot.sid : "?", slot.file);
	return deferred_end(before, 0);
}

/* NULL: any sessions. */
static void assert_list(struct source_fixture *p, const char *sessions, int err)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	assert_int_equal(list(p, &text), err);
	if (sessions)
		assert_words(&text, sessions);
}

/* A failure makes a listing incomplete, also if it ends before the listing does; not one that is over at once. */
FIXTURE_CASE(incomplete_listing_returns_error)
{
	put_all(p, "a/1.jsonl=same a/2.jsonl=same");
	open_place(p);
	let_fail(p, "a/1.jsonl", false, 1);
	assert_list(p, "same=a/1.jsonl same~2=a/2.jsonl", 0);
	close_place(p);
	put_all(p, "a/1.jsonl=one a/2.jsonl=two");
	open_place(p);
	let_fail(p, "a/1.jsonl", false, EVER);
	assert_list(p, "two=a/2.jsonl", -EIO);
	let_fail(p, "a/1.jsonl", false, 2);
	assert_list(p, NULL, -EIO);
	wait_stale();
	assert_list(p, "one=a/1.jsonl two=a/2.jsonl", 0);
}

/* One bad file is scanned at each end of a listing, not for each name. */
FIXTURE_CASE(a_lasting_failure_is_looked_at_seldom)
{
	struct project_info project;
	put_numbered(p, "a", 200, HEADER_OF("s", "/"));
	open_place(p);
	let_fail(p, "a/100.jsonl", false, EVER);
	int before = deferred_begin();
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("a"), &project));
	for (int round = 0; round < 2; round++) {
		unsigned looks = failures;
		assert_int_equal(count_sessions(p->c, project.project), 199);
		assert_in_range(failures - looks, 1, 10);
	}
	assert_int_equal(deferred_end(before, 0), -EIO);
	let_be();
	wait_stale();
	assert_int_not_equal(slot_of(p, "a", "100"), NO_SLOT);
}

/* A project has only its own errors, even directly after another one. */
FIXTURE_CASE(a_failure_is_of_its_project)
{
	struct slot_info slot;
	struct project_info project;
	put_all(p, "a/one.jsonl b/two.jsonl");
	open_place(p);
	let_fail(p, "a/one.jsonl", false, EVER);
	int before = deferred_begin();
	for (uint64_t cookie = 0; catalog_project_next(p->c, &cookie, &project);)
		assert_string_equal(project.name, "b");
	assert_int_equal(deferred_take(0), -EIO);
	uint64_t cookie = 0;
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("b"), &project));
	assert_true(catalog_slot_next(p->c, project.project, &cookie, &slot));
	assert_false(catalog_slot_next(p->c, project.project, &cookie, &slot));
	assert_int_equal(deferred_end(before, 0), 0);
	let_be();
}

/* Of a project, the newest is sure if what fails is older, or newer in another project. */
FIXTURE_CASE(a_newer_failure_elsewhere_is_ignored)
{
	struct project_info project;
	struct slot_info slot;
	put_all(p, "a/old.jsonl b/new.jsonl a/good.jsonl");
	set_mtime(p, "a/old.jsonl", 1000);
	set_mtime(p, "b/new.jsonl", 2000);
	set_mtime(p, "a/good.jsonl", 1500);
	open_place(p);
	let_fail(p, "a/old.jsonl", false, EVER);
	closed.name = "b/new.jsonl";
	closed.err = EIO;
	int before = deferred_begin();
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("a"), &project));
	count_sessions(p->c, NO_SLOT);
	assert_int_equal(deferred_take(0), -EIO);
	assert_true(catalog_latest(p->c, project.project, &slot));
	assert_string_equal(slot.file, "a/good.jsonl");
	assert_int_equal(deferred_end(before, 0), 0);
	closed.name = NULL;
	let_be();
}

/* Returns true once fewer allocations are made. */
static bool lists_without(struct source_fixture *p, unsigned nth)
{
	static const char whole[] = "same=a/1.jsonl same~2=a/2.jsonl";
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct project_info project;
	uint64_t cookie = 0;
	open_place(p);
	assert_non_null(buf_reserve(&text, 256));
	let_alloc_fail(nth);
	int err = list(p, &text);
	bool failed = alloc_has_failed();
	if (err == 0)
		assert_words(&text, whole);
	else
		assert_true(failed);
	assert_list(p, whole, 0);
	if (failed)
		let_alloc_fail(nth);
	catalog_project_next(p->c, &cookie, &project);
	alloc_has_failed();
	cookie = 0;
	assert_true(catalog_project_next(p->c, &cookie, &project));
	assert_string_equal(project.name, "a");
	close_place(p);
	return !failed;
}

FIXTURE_CASE(enomem_never_hides_a_name)
{
	put_all(p, "a/1.jsonl=same a/2.jsonl=same");
	set_mtime(p, "a", 1000); /* its names are not read again only because they were made just now */
	for (unsigned n = 1; !lists_without(p, n); n++)
		assert_true(n < 1000);
}

/* A file that could not be scanned is not shown as it was before. */
FIXTURE_CASE(enomem_shows_nothing_old)
{
	static const char line[] = USER("e", null, "hi");
	struct slot_info info;
	make_dir(p, "a");
	put(p, "a/1.jsonl", HEADER_OF("1", "/"));
	open_place(p);
	uint32_t slot = slot_of(p, "a", "1");
	assert_int_equal(catalog_slot(p->c, slot, &info), 0);
	off_t size = info.st.st_size;
	bool failed = true;
	for (unsigned nth = 1; failed; nth++) {
		append(p, "a/1.jsonl", line);
		size += (off_t)strlen(line);
		wait_stale();
		let_alloc_fail(nth);
		int rc = catalog_slot(p->c, slot, &info);
		failed = alloc_has_failed();
		assert_true(rc == 0 || (rc == -ENOMEM && failed));
		if (rc == 0)
			assert_int_equal(info.st.st_size, size);
	}
}

/* ---- directories ---- */

/* Projects in a listing. */
enum { A = 1, B = 2, OTHER = 4 };

/* Asserts the projects that are listed, and the error of the listing. */
static void assert_lists(struct source_fixture *p, unsigned projects, int err)
{
	struct project_info project;
	unsigned listed = 0;
	int before = deferred_begin();
	for (uint64_t cookie = 0; catalog_project_next(p->c, &cookie, &project);)
		listed |= strcmp(project.name, "a") == 0 ? A : strcmp(project.name, "b") == 0 ? B : OTHER;
	assert_int_equal(deferred_end(before, 0), err);
	assert_int_equal(listed, projects);
}

static int open_strict(struct source_fixture *p)
{
	const struct catalog_options o = {.budget = &p->budget, .fresh_ms = FRESH_MS, .strict = true};
	p->budget = (struct budget)BUDGET_INIT(64 << 20);
	return catalog_open(p->root, &o, &p->c);
}

/* Returns the error of a lookup below the project `b`; 0 if it exists, -ENOENT if not. */
static int find_in_b(struct source_fixture *p)
{
	struct project_info project;
	struct slot_info slot;
	int before = deferred_begin();
	bool found = catalog_project_by_name(p->c, SPAN_LIT("b"), &project) &&
	             catalog_slot_by_stem(p->c, project.project, SPAN_LIT("two"), &slot);
	return deferred_end(before, found ? 0 : -ENOENT);
}

FIXTURE_CASE(unreadable_directory_keeps_its_project)
{
	static const int errors[] = {ENOTCONN, ESTALE,    EHOSTDOWN,   EIO,    ETIMEDOUT,    ENODEV, ENXIO,
	                             ENOSYS,   EREMOTEIO, EKEYEXPIRED, ENOKEY, ECONNREFUSED, EINVAL, EOPNOTSUPP};
	put_all(p, "a/one.jsonl b/two.jsonl");
	for (size_t i = 0; i < COUNT(errors); i++) {
		int error = errors[i] == ESTALE ? -EREMOTEIO : -errors[i];
		open_place(p);
		assert_lists(p, A | B, 0);
		assert_int_equal(find_in_b(p), 0);
		closed.name = "b";
		closed.err = errors[i];
		wait_stale();
		/* It was known: only what is in it is unknown. */
		assert_lists(p, A | B, 0);
		/* While a server does not answer, attributes are as they were known. */
		assert_int_equal(find_in_b(p), error == -ETIMEDOUT ? 0 : error);
		closed.name = NULL;
		wait_stale();
		assert_int_equal(find_in_b(p), 0);
		close_place(p);
		/* It was not known. */
		closed.name = "b";
		open_place(p);
		assert_lists(p, A, error);
		assert_int_equal(find_in_b(p), error);
		closed.name = NULL;
		close_place(p);
	}
}

FIXTURE_CASE(absent_or_refused_directory_has_no_project)
{
	static const int errors[] = {ENOENT, ENOTDIR, EACCES};
	put_all(p, "a/one.jsonl b/two.jsonl");
	for (size_t i = 0; i < COUNT(errors); i++) {
		open_place(p);
		assert_lists(p, A | B, 0);
		closed.name = "b";
		closed.err = errors[i];
		wait_stale();
		assert_lists(p, A, 0);
		assert_int_equal(find_in_b(p), -ENOENT);
		close_place(p);
		/* A command must not present a part as the whole. */
		assert_int_equal(open_strict(p), 0);
		assert_lists(p, A, errors[i] == EACCES ? -EACCES : 0);
		closed.name = NULL;
		close_place(p);
	}
}

/* Without its dashes, a project can have the name of a directory that cannot be read. */
FIXTURE_CASE(name_of_an_unread_directory_is_not_given_away)
{
	put_all(p, "--b--/one.jsonl b/two.jsonl");
	closed.name = "b";
	closed.err = ENOTCONN;
	open_place(p);
	assert_lists(p, OTHER, -ENOTCONN);
	closed.name = NULL;
}

__typeof__(lock_release) __real_lock_release, __wrap_lock_release;
static struct source_fixture *removing;
static pthread_t finder;

static void *find_all(void *arg)
{
	catalog_epoch(arg);
	return NULL;
}

/* While the names of a directory are applied, it is removed, and another call finds that. */
void __wrap_lock_release(struct lock *l)
{
	struct source_fixture *p = removing;
	const struct disk_scan *scan = p && l == &p->c->lock ? p->c->dirs[1].scanned.scan : NULL;
	bool is_applied = scan && scan->phase == SCAN_APPLYING;
	__real_lock_release(l);
	if (!is_applied)
		return;
	removing = NULL;
	remove_all(at(p, "a"));
	assert_int_equal(pthread_create(&finder, NULL, find_all, p->c), 0);
	for (bool is_gone = false; !is_gone; __real_lock_release(l)) {
		sched_yield();
		lock_acquire(l);
		is_gone = p->c->dirs[1].gone;
	}
}

FIXTURE_CASE(a_directory_that_is_removed_fails_no_more)
{
	NEEDS_WATCHES();
	p->budget = (struct budget)BUDGET_INIT(64 << 20);
	put_numbered(p, "a", 600, HEADER_OF("s", "/"));
	open_watched(p, false);
	catalog_epoch(p->c);
	closed.name = "a";
	closed.err = EIO;
	make_dir(p, "a/d");
	catalog_epoch(p->c);
	assert_int_equal(p->c->dirs[1].scanned.err, -EIO);
	closed.name = NULL;
	wait_stale();
	removing = p;
	catalog_epoch(p->c);
	assert_null(removing);
	pthread_join(finder, NULL);
	assert_int_equal(p->c->failed.n, 0);
	assert_lists(p, 0, 0);
}

/* ---- parents ---- */

FIXTURE_CASE(unreadable_parent_is_reported)
{
	struct slot_info slot;
	uint64_t cookie = 0;
	put(p, "a/child.jsonl", FORK("child", "/x/parent.jsonl"));
	put(p, "b/parent.jsonl", HEADER_OF("parent", "/"));
	open_place(p);
	uint32_t child = slot_of(p, "a", "child");
	assert_int_not_equal(child, NO_SLOT);
	let_fail(p, "b/parent.jsonl", false, EVER);
	int before = deferred_begin();
	assert_int_equal(catalog_parent(p->c, child), NO_SLOT);
	assert_int_equal(deferred_end(before, 0), -EIO);
	let_be();
	wait_stale();
	before = deferred_begin();
	uint32_t parent = catalog_parent(p->c, child);
	assert_int_equal(catalog_slot(p->c, parent, &slot), 0);
	assert_string_equal(slot.file, "b/parent.jsonl");
	assert_true(catalog_fork_next(p->c, parent, false, &cookie, &slot));
	assert_int_equal(slot.slot, child);
	assert_int_equal(deferred_end(before, 0), 0);
}

/* ---- changes ---- */

/* Nothing changes while a file cannot be read. */
FIXTURE_CASE(a_lasting_failure_is_no_change)
{
	put_all(p, "a/one.jsonl a/two.jsonl");
	for (int i = 0; i < 2; i++) {
		open_place(p);
		closed = (__typeof__(closed)){i ? "a/one.jsonl" : NULL, EACCES, true};
		if (!i)
			let_fail(p, "a/one.jsonl", false, EVER);
		uint64_t serial = catalog_serial(p->c);
		assert_int_not_equal(serial, 0);
		wait_stale();
		assert_int_equal(catalog_serial(p->c), serial);
		closed = (__typeof__(closed)){0};
		let_be();
		wait_stale();
		assert_int_not_equal(catalog_serial(p->c), serial);
		assert_int_not_equal(slot_of(p, "a", "one"), NO_SLOT);
		close_place(p);
	}
}

/* A file is rewritten, its header cannot be read, and then its server does not answer. */
FIXTURE_CASE(an_unread_file_is_not_shown)
{
	struct slot_info info;
	put_all(p, "a/one.jsonl");
	open_place(p);
	uint32_t slot = slot_of(p, "a", "one");
	put(p, "a/one.jsonl", HEADER_OF("another", "/"));
	let_fail(p, "a/one.jsonl", false, EVER);
	wait_stale();
	assert_int_equal(catalog_slot(p->c, slot, &info), -EIO);
	closed = (__typeof__(closed)){"a/one.jsonl", ETIMEDOUT, false};
	wait_stale();
	assert_int_equal(catalog_slot(p->c, slot, &info), -ETIMEDOUT);
	closed.name = NULL;
	let_be();
	wait_stale();
	assert_int_equal(catalog_slot(p->c, slot, &info), -ESTALE);
}

/* ---- messages ---- */

#define LOGGED(path) "sessionfs: " path ": Input/output error\n"

/* Requires what a listing logs a moment later. */
static void assert_logged(struct source_fixture *p, const char *expected)
{
	char got[512] = "";
	struct buf text CLEANUP_BUF = BUF_INIT;
	int before = dup(STDERR_FILENO), log = memfd_create("log", MFD_CLOEXEC);
	wait_stale();
	assert_int_equal(dup2(log, STDERR_FILENO), STDERR_FILENO);
	list(p, &text);
	assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
	assert_true(pread(log, got, sizeof got - 1, 0) >= 0);
	close(before);
	close(log);
	assert_string_equal(got, expected);
}

/* Until it has ended; and while a directory fails, not what is in it. */
FIXTURE_CASE(a_failure_is_logged_once)
{
	char of_source[128];
	make_dir(p, "b");
	put(p, "one.jsonl", HEADER_OF("one", "/"));
	put(p, "b/two.jsonl", HEADER_OF("two", "/"));
	open_place(p);
	snprintf(of_source, sizeof of_source, LOGGED("%s"), catalog_source(p->c));
	let_fail(p, "one.jsonl", false, EVER);
	closed.err = EIO;
	closed.name = "b";
	assert_logged(p, LOGGED("one.jsonl") LOGGED("b"));
	assert_logged(p, "");
	closed.name = NULL;
	assert_logged(p, "");
	closed.name = "b";
	assert_logged(p, LOGGED("b"));
	for (int i = 0; i < 2; i++) {
		closed.name = ".";
		assert_logged(p, of_source);
		assert_logged(p, "");
		closed.name = NULL;
		assert_logged(p, "");
	}
	let_be();
}

/* ---- ACLs ---- */

/* An unreadable ACL leaves only the owner's rights, until it can be read. Its end is reported as a change of names,
 * although the mode stays as it is. */
FIXTURE_CASE(unreadable_acl_limits_access_to_owner)
{
	static const char *const names[] = {"a/one.jsonl", "a", "."};
	struct slot_info slot;
	bool names_change = false;
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	assert_int_equal(chmod(at(p, "a/one.jsonl"), 0644), 0);
	for (size_t i = 0; i < 3; i++) {
		set_mtime(p, names[i], 1000); /* names are not read again only because they were made just now */
		for (unsigned times = 1; times; times = times == 1 ? EVER : 0) {
			open_watched(p, true);
			let_fail(p, names[i], true, times);
			int before = deferred_begin();
			uint32_t one = slot_of(p, "a", "one");
			assert_int_equal(deferred_end(before, 0), 0);
			assert_int_equal(catalog_slot(p->c, one, &slot), 0);
			assert_int_equal(slot.mode, times == 1 ? 0644 : 0600);
			let_be();
			count_changes(p, NULL);
			wait_stale();
			assert_int_equal(catalog_slot(p->c, slot_of(p, "a", "one"), &slot), 0);
			assert_int_equal(slot.mode, 0644);
			assert_int_equal(count_changes(p, &names_change) > 0 && names_change, times == EVER);
			close_place(p);
		}
	}
}

/* ---- growth ---- */

/* Any read of a growing file fails: the next call has the same session, and all of it. No index stays in use. */
FIXTURE_CASE(failed_growth_keeps_its_session)
{
	struct session *s;
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("e0", null, "hi"));
	put_all(p, "a/two.jsonl");
	open_place(p);
	uint32_t slot = slot_of(p, "a", "one"), entries = 1;
	assert_entries(p, slot, entries);
	for (unsigned nth = 0;; nth++) {
		append(p, "a/one.jsonl", USER("e1", null, "hi"));
		entries++;
		wait_stale();
		let_fail(p, "a/one.jsonl", false, 1);
		failing.after = nth;
		int rc = catalog_session_get(p->c, slot, &s);
		assert_true(rc == 0 || rc == -EIO);
		if (rc == 0)
			catalog_session_put(p->c, s);
		if (failing.times > 0)
			break;
		assert_entries(p, slot, entries);
	}
	failing.times = failing.after = 0;
	assert_true(entries > 4);
	p->budget.limit = 0;
	assert_entries(p, slot_of(p, "a", "two"), 0);
	assert_int_equal(p->c->open.count, 1);
}

RUN_CASES(NULL, NULL)
