/* SPDX-License-Identifier: MIT */
/* Reading one file or its ACL fails, or memory runs out: once, without effect, or repeatedly, which is an error. */
#include "unit.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/sys.h"

#include "catalog_fixture.h"
#include "failing_alloc.h"

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
} closed;

static bool is_closed(const char *path)
{
	errno = closed.err;
	return closed.name && strncmp(path, closed.name, strlen(closed.name)) == 0;
}

int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	return is_closed(path) ? -1 : (int)syscall(SYS_openat2, dir, path, how, size);
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

static void put_old_and_new(struct source_fixture *p)
{
	make_dir(p, "a");
	make_dir(p, "b");
	put(p, "a/old.jsonl", HEADER_OF("old", "/"));
	put(p, "b/new.jsonl", HEADER_OF("new", "/"));
	set_mtime(p, "a/old.jsonl", 1000);
	set_mtime(p, "b/new.jsonl", 2000);
}

static void failed_stat_does_not_change_newest(void **state)
{
	struct source_fixture *p = *state;
	put_old_and_new(p);
	open_place(p);
	let_fail(p, "b/new.jsonl", false, 1);
	assert_latest(p, "b/new.jsonl", 0);
}

static void unreadable_newest_is_an_error(void **state)
{
	struct source_fixture *p = *state;
	put_old_and_new(p);
	open_place(p);
	let_fail(p, "b/new.jsonl", false, EVER);
	assert_latest(p, NULL, -EIO);
	assert_latest(p, NULL, -EIO);
	let_be();
	wait_stale();
	assert_latest(p, "b/new.jsonl", 0);
}

static void unreadable_older_file_is_ignored(void **state)
{
	struct source_fixture *p = *state;
	put_old_and_new(p);
	open_place(p);
	let_fail(p, "a/old.jsonl", false, EVER);
	assert_latest(p, "b/new.jsonl", 0);
	for (uint64_t cookie = 0; catalog_slot_next(p->c, NO_SLOT, &cookie, &(struct slot_info){0});)
		;
	assert_latest(p, "b/new.jsonl", 0);
}

/* ---- listings ---- */

/* Lists all sessions; returns their number. */
static size_t list(struct source_fixture *p, char *text, int *ret_deferred)
{
	struct slot_info slot;
	size_t n = 0;
	int before = deferred_begin();
	*text = '\0';
	for (uint64_t cookie = 0; catalog_slot_next(p->c, NO_SLOT, &cookie, &slot); n++) {
		strcat(text, slot.sid ? slot.sid : "?");
		strcat(text, "=");
		strcat(text, slot.file);
		strcat(text, " ");
	}
	*ret_deferred = deferred_end(before, 0);
	return n;
}

static void failed_stat_does_not_change_listing(void **state)
{
	struct source_fixture *p = *state;
	char text[256];
	int deferred;
	make_dir(p, "a");
	put(p, "a/1.jsonl", HEADER_OF("same", "/"));
	put(p, "a/2.jsonl", HEADER_OF("same", "/"));
	open_place(p);
	let_fail(p, "a/1.jsonl", false, 1);
	assert_int_equal(list(p, text, &deferred), 2);
	assert_int_equal(deferred, 0);
	assert_string_equal(text, "same=a/1.jsonl same~2=a/2.jsonl ");
}

/* Also if it is back before the end. */
static void incomplete_listing_returns_error(void **state)
{
	struct source_fixture *p = *state;
	char text[256];
	int deferred;
	make_dir(p, "a");
	put(p, "a/1.jsonl", HEADER_OF("one", "/"));
	put(p, "a/2.jsonl", HEADER_OF("two", "/"));
	open_place(p);
	let_fail(p, "a/1.jsonl", false, EVER);
	assert_int_equal(list(p, text, &deferred), 1);
	assert_int_equal(deferred, -EIO);
	let_fail(p, "a/1.jsonl", false, 2);
	list(p, text, &deferred);
	assert_int_equal(deferred, -EIO);
	wait_stale();
	assert_int_equal(list(p, text, &deferred), 2);
	assert_int_equal(deferred, 0);
}

/* One bad file is scanned at each end of a listing, not for each name. */
static void a_lasting_failure_is_looked_at_seldom(void **state)
{
	struct source_fixture *p = *state;
	struct slot_info slot;
	struct project_info project;
	make_dir(p, "a");
	for (int i = 0; i < 200; i++) {
		char name[32], header[128];
		snprintf(name, sizeof name, "a/%d.jsonl", i);
		snprintf(header, sizeof header, LINE({"type":"session","id":"%d"}), i);
		put(p, name, header);
	}
	open_place(p);
	let_fail(p, "a/100.jsonl", false, EVER);
	int before = deferred_begin();
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("a"), &project));
	for (int round = 0; round < 2; round++) {
		unsigned looks = failures;
		uint64_t cookie = 0;
		size_t n = 0;
		while (catalog_slot_next(p->c, project.project, &cookie, &slot))
			n++;
		assert_int_equal(n, 199);
		assert_in_range(failures - looks, 1, 10);
	}
	assert_int_equal(deferred_end(before, 0), -EIO);
	let_be();
	wait_stale();
	assert_int_not_equal(slot_of(p, "a", "100"), NO_SLOT);
}

/* A project has only its own errors, even directly after another one. */
static void a_failure_is_of_its_project(void **state)
{
	struct source_fixture *p = *state;
	struct slot_info slot;
	struct project_info project;
	make_dir(p, "a");
	make_dir(p, "b");
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	put(p, "b/two.jsonl", HEADER_OF("two", "/"));
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
static void a_newer_failure_elsewhere_is_ignored(void **state)
{
	struct source_fixture *p = *state;
	struct project_info project;
	struct slot_info slot;
	put_old_and_new(p);
	put(p, "a/good.jsonl", HEADER_OF("good", "/"));
	set_mtime(p, "a/good.jsonl", 1500);
	open_place(p);
	let_fail(p, "a/old.jsonl", false, EVER);
	closed.name = "b/new.jsonl";
	closed.err = EIO;
	int before = deferred_begin();
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("a"), &project));
	for (uint64_t cookie = 0; catalog_slot_next(p->c, NO_SLOT, &cookie, &slot);)
		;
	assert_int_equal(deferred_take(0), -EIO);
	assert_true(catalog_latest(p->c, project.project, &slot));
	assert_string_equal(slot.file, "a/good.jsonl");
	assert_int_equal(deferred_end(before, 0), 0);
	closed.name = NULL;
	let_be();
}

static bool is_whole(const char *text)
{
	return strstr(text, "same=a/1.jsonl ") && strstr(text, "same~2=a/2.jsonl ");
}

/* Returns true once fewer allocations are made. */
static bool lists_without(struct source_fixture *p, unsigned nth)
{
	char text[256];
	struct project_info project;
	uint64_t cookie = 0;
	int deferred;
	open_place(p);
	let_alloc_fail(nth);
	list(p, text, &deferred);
	bool failed = alloc_has_failed();
	assert_true(deferred == 0 ? is_whole(text) : failed);
	assert_int_equal(list(p, text, &deferred), 2);
	assert_true(is_whole(text));
	if (failed)
		let_alloc_fail(nth);
	catalog_project_next(p->c, &cookie, &project);
	alloc_has_failed();
	cookie = 0;
	assert_true(catalog_project_next(p->c, &cookie, &project));
	assert_string_equal(project.name, "a");
	catalog_close(p->c);
	p->c = NULL;
	return !failed;
}

static void enomem_never_hides_a_name(void **state)
{
	struct source_fixture *p = *state;
	make_dir(p, "a");
	put(p, "a/1.jsonl", HEADER_OF("same", "/"));
	put(p, "a/2.jsonl", HEADER_OF("same", "/"));
	for (unsigned n = 1; !lists_without(p, n); n++)
		assert_true(n < 1000);
}

/* A file that could not be scanned is not shown as it was before. */
static void enomem_shows_nothing_old(void **state)
{
	static const char line[] = USER("e", null, "hi");
	struct source_fixture *p = *state;
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

/* Returns the projects that are listed; *ret_deferred is the error of the listing. */
static unsigned list_projects(struct source_fixture *p, int *ret_deferred)
{
	struct project_info project;
	unsigned listed = 0;
	int before = deferred_begin();
	for (uint64_t cookie = 0; catalog_project_next(p->c, &cookie, &project);)
		listed |= strcmp(project.name, "a") == 0 ? A : strcmp(project.name, "b") == 0 ? B : OTHER;
	*ret_deferred = deferred_end(before, 0);
	return listed;
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

static void unreadable_directory_keeps_its_project(void **state)
{
	static const int errors[] = {ENOTCONN, ESTALE,    EHOSTDOWN,   EIO,    ETIMEDOUT,    ENODEV, ENXIO,
	                             ENOSYS,   EREMOTEIO, EKEYEXPIRED, ENOKEY, ECONNREFUSED, EINVAL, EOPNOTSUPP};
	struct source_fixture *p = *state;
	int deferred;
	make_dir(p, "a");
	make_dir(p, "b");
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	put(p, "b/two.jsonl", HEADER_OF("two", "/"));
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		int error = errors[i] == ESTALE ? -EREMOTEIO : -errors[i];
		open_place(p);
		assert_int_equal(list_projects(p, &deferred), A | B);
		assert_int_equal(deferred, 0);
		assert_int_equal(find_in_b(p), 0);
		closed.name = "b";
		closed.err = errors[i];
		wait_stale();
		/* It was known: only what is in it is unknown. */
		assert_int_equal(list_projects(p, &deferred), A | B);
		assert_int_equal(deferred, 0);
		/* While a server does not answer, attributes are as they were known. */
		assert_int_equal(find_in_b(p), error == -ETIMEDOUT ? 0 : error);
		closed.name = NULL;
		wait_stale();
		assert_int_equal(find_in_b(p), 0);
		catalog_close(p->c);
		/* It was not known. */
		closed.name = "b";
		open_place(p);
		assert_int_equal(list_projects(p, &deferred), A);
		assert_int_equal(deferred, error);
		assert_int_equal(find_in_b(p), error);
		closed.name = NULL;
		catalog_close(p->c);
	}
	open_place(p);
}

static void absent_or_refused_directory_has_no_project(void **state)
{
	static const int errors[] = {ENOENT, ENOTDIR, EACCES};
	struct source_fixture *p = *state;
	int deferred;
	make_dir(p, "a");
	make_dir(p, "b");
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	put(p, "b/two.jsonl", HEADER_OF("two", "/"));
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		open_place(p);
		assert_int_equal(list_projects(p, &deferred), A | B);
		closed.name = "b";
		closed.err = errors[i];
		wait_stale();
		assert_int_equal(list_projects(p, &deferred), A);
		assert_int_equal(deferred, 0);
		assert_int_equal(find_in_b(p), -ENOENT);
		catalog_close(p->c);
		/* A command must not present a part as the whole. */
		assert_int_equal(open_strict(p), 0);
		assert_int_equal(list_projects(p, &deferred), A);
		assert_int_equal(deferred, errors[i] == EACCES ? -EACCES : 0);
		closed.name = NULL;
		catalog_close(p->c);
	}
	open_place(p);
}

/* Without its dashes, a project can have the name of a directory that cannot be read. */
static void name_of_an_unread_directory_is_not_given_away(void **state)
{
	struct source_fixture *p = *state;
	int deferred;
	make_dir(p, "--b--");
	make_dir(p, "b");
	put(p, "--b--/one.jsonl", HEADER_OF("one", "/"));
	put(p, "b/two.jsonl", HEADER_OF("two", "/"));
	closed.name = "b";
	closed.err = ENOTCONN;
	open_place(p);
	assert_int_equal(list_projects(p, &deferred), OTHER);
	assert_int_equal(deferred, -ENOTCONN);
	closed.name = NULL;
}

/* ---- parents ---- */

static void unreadable_parent_is_reported(void **state)
{
	struct source_fixture *p = *state;
	struct slot_info slot;
	uint64_t cookie = 0;
	make_dir(p, "a");
	make_dir(p, "b");
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

/* ---- messages ---- */

#define LOGGED(path) "sessionfs: " path ": Input/output error\n"

/* Requires what a listing logs a moment later. */
static void assert_logged(struct source_fixture *p, const char *expected)
{
	char names[256], got[512] = "";
	int deferred, before = dup(STDERR_FILENO), log = memfd_create("log", MFD_CLOEXEC);
	wait_stale();
	assert_int_equal(dup2(log, STDERR_FILENO), STDERR_FILENO);
	list(p, names, &deferred);
	assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
	assert_true(pread(log, got, sizeof got - 1, 0) >= 0);
	close(before);
	close(log);
	assert_string_equal(got, expected);
}

/* Until it has ended; and while a directory fails, not what is in it. */
static void a_failure_is_logged_once(void **state)
{
	struct source_fixture *p = *state;
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

/* An unreadable ACL leaves only the owner's rights, until it can be read. */
static void unreadable_acl_limits_access_to_owner(void **state)
{
	static const char *const names[] = {"a/one.jsonl", "a", "."};
	struct source_fixture *p = *state;
	struct slot_info slot;
	make_dir(p, "a");
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	assert_int_equal(chmod(at(p, "a/one.jsonl"), 0644), 0);
	for (size_t i = 0; i < 3; i++) {
		for (unsigned times = 1; times; times = times == 1 ? EVER : 0) {
			open_place(p);
			let_fail(p, names[i], true, times);
			int before = deferred_begin();
			uint32_t one = slot_of(p, "a", "one");
			int deferred = deferred_end(before, 0);
			assert_int_equal(deferred, 0);
			assert_int_equal(catalog_slot(p->c, one, &slot), 0);
			assert_int_equal(slot.mode, times == 1 ? 0644 : 0600);
			let_be();
			wait_stale();
			assert_int_equal(catalog_slot(p->c, slot_of(p, "a", "one"), &slot), 0);
			assert_int_equal(slot.mode, 0644);
			catalog_close(p->c);
			p->c = NULL;
		}
	}
}

/* ---- growth ---- */

/* Any read of a growing file fails: the next call has the same session, and all of it. */
static void failed_growth_keeps_its_session(void **state)
{
	struct source_fixture *p = *state;
	struct session *s;
	make_dir(p, "a");
	put(p, "a/one.jsonl", HEADER_OF("one", "/") USER("e0", null, "hi"));
	open_place(p);
	uint32_t slot = slot_of(p, "a", "one"), entries = 1;
	assert_int_equal(catalog_session_get(p->c, slot, &s), 0);
	catalog_session_put(p->c, s);
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
		assert_int_equal(catalog_session_get(p->c, slot, &s), 0);
		assert_int_equal(session_count(s), entries);
		catalog_session_put(p->c, s);
	}
	failing.times = failing.after = 0;
	assert_true(entries > 4);
}


CASES(TEST(failed_stat_does_not_change_newest), TEST(unreadable_newest_is_an_error), TEST(unreadable_older_file_is_ignored), TEST(failed_stat_does_not_change_listing), TEST(incomplete_listing_returns_error), TEST(a_lasting_failure_is_looked_at_seldom), TEST(a_failure_is_of_its_project), TEST(unreadable_directory_keeps_its_project), TEST(absent_or_refused_directory_has_no_project), TEST(name_of_an_unread_directory_is_not_given_away), TEST(unreadable_parent_is_reported), TEST(unreadable_acl_limits_access_to_owner), TEST(enomem_never_hides_a_name), TEST(failed_growth_keeps_its_session), TEST(a_newer_failure_elsewhere_is_ignored), TEST(a_failure_is_logged_once), TEST(enomem_shows_nothing_old))
