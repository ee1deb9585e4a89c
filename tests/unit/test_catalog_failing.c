/* SPDX-License-Identifier: MIT */
/* One file or directory cannot be read for a while: the catalog keeps its last state, and shows the others. */
#include "cases.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/sys.h"

#include "../../src/catalog/catalog_impl.h"
#include "catalog_fixture.h"
#include "linux_only.h"

#include <poll.h>

/* No attributes of the files with these inodes. */
static ino_t unreadable[2];

/* How often the attributes of the file with this inode were read. */
static ino_t looked_at;
static atomic_uint looks;

/* The file with this inode keeps these attributes, as it does within a tick of the clock. */
static struct stat frozen;

static bool is_unreadable(const struct stat *st)
{
	looks += st->st_ino == looked_at;
	errno = EIO;
	return st->st_ino == unreadable[0] || st->st_ino == unreadable[1];
}

static int failing_statx(int dir, const char *path, int flags, unsigned mask, struct statx *x)
{
	int rc = statx(dir, path, flags, mask, x);
	return rc == 0 && is_unreadable(&(struct stat){.st_ino = x->stx_ino}) ? -1 : rc;
}
__typeof__(statx) *const sys_statx = failing_statx;

/* How long the next call takes. */
static _Atomic int64_t slow_ms;

static int failing_fstat(int fd, struct stat *st)
{
	int rc = fstat(fd, st);
	let_pass(CATALOG_CLOCK, slow_ms);
	slow_ms = 0;
	if (rc == 0 && st->st_ino == frozen.st_ino)
		*st = frozen;
	return rc == 0 && is_unreadable(st) ? -1 : rc;
}
__typeof__(fstat) *const sys_fstat = failing_fstat;

static void let_fail(const struct source_fixture *p, int nth, const char *name)
{
	struct stat st;
	assert_int_equal(stat(at(p, name), &st), 0);
	unreadable[nth] = st.st_ino;
}

static void let_be(int nth)
{
	unreadable[nth] = 0;
	wait_stale();
}

static int tear_down_failing(void **state)
{
	unreadable[0] = unreadable[1] = 0;
	return tear_down(state);
}

#define FAILING(f) STATE_CASE(f, set_up, tear_down_failing)

/* One that cannot be read now is not gone. */
FAILING(an_unreadable_parent_is_still_the_parent)
{
	struct slot_info info;
	uint64_t cookie = 0;
	put(p, "b.jsonl", HEADER_OF("b", "/w"));
	open_place(p);
	char fork[256];
	snprintf(fork, sizeof fork, FORK("a", "%s/b.jsonl"), catalog_source(p->c));
	put(p, "a.jsonl", fork);
	uint32_t child = slot_of(p, "unknown", "a"), parent = slot_of(p, "w", "b");
	assert_int_not_equal(child, NO_SLOT);
	assert_int_equal(catalog_parent(p->c, child), parent);
	let_fail(p, 0, "b.jsonl");
	wait_stale();
	assert_int_equal(catalog_parent(p->c, child), parent);
	let_fail(p, 0, "a.jsonl");
	wait_stale();
	assert_true(catalog_fork_next(p->c, parent, false, &cookie, &info));
	assert_int_equal(info.slot, child);
}

static int note_file(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	buf_addf(arg, "%s:%s ", file, slot != NO_SLOT ? "session" : err == -EIO ? "EIO" : err ? "other" : "none");
	return 0;
}

/* What --check lists: directories, too, if they cannot be read. */
FAILING(an_unreadable_directory_is_listed)
{
	CLEANUP_BUF struct buf got = BUF_INIT;
	put_all(p, "a/1.jsonl b/2.jsonl");
	put(p, "b/3.jsonl", "no session\n");
	let_fail(p, 0, "a");
	open_place(p);
	assert_int_equal(catalog_each_file(p->c, note_file, &got), 0);
	assert_string_equal(buf_cstr(&got), "a:EIO b/2.jsonl:session b/3.jsonl:none ");
	let_be(0);
	buf_reset(&got);
	assert_int_equal(catalog_each_file(p->c, note_file, &got), 0);
	assert_string_equal(buf_cstr(&got), "a/1.jsonl:session b/2.jsonl:session b/3.jsonl:none ");
}

static int error_of_list(const struct source_fixture *p)
{
	uint64_t serial = 0;
	struct slot_state *v;
	size_t n;
	int rc = catalog_list_states(p->c, &serial, &v, &n);
	free(v);
	return rc;
}

/* Each failure lasts until its own end. */
FAILING(a_failure_ends_alone)
{
	static const char *const names[][2] = {{"a", "b"}, {"a/1.jsonl", "b/2.jsonl"}, {"a/1.jsonl", "b"}};
	put_all(p, "a/1.jsonl b/2.jsonl");
	open_place(p);
	assert_int_equal(error_of_list(p), 0);
	for (int i = 0; i < 6; i++) {
		let_fail(p, 0, names[i % 3][0]);
		let_fail(p, 1, names[i % 3][1]);
		wait_stale();
		assert_int_equal(error_of_list(p), -EIO);
		let_be(i < 3);
		assert_int_equal(error_of_list(p), -EIO);
		let_be(i >= 3);
		assert_int_equal(error_of_list(p), 0);
	}
}

/* Requires that a list is made, and what it required is current for so long. */
static void assert_lasts(const struct source_fixture *p, int rc, int64_t ms)
{
	const struct dir_tree *trees[] = {&p->c->dirs[0].tree, &p->c->flat, &p->c->dirs[1].tree};
	assert_int_equal(error_of_list(p), rc);
	for (size_t i = 0; i < 3; i++) {
		for (int depth = ATTRS; depth <= HEADERS; depth++) {
			const struct validity *v = &trees[i]->valid[depth];
			assert_true(v->asof >= trees[i]->marked);
			assert_int_equal(v->until - catalog_now(), ms);
		}
	}
}

/* A slow scan is valid longer, so that scans take a part of the time only. */
FAILING(what_is_current_lasts)
{
	make_dir(p, "a");
	put(p, "a/1.jsonl", HEADER_OF("1", "/"));
	put(p, "2.jsonl", HEADER_OF("2", "/"));
	open_place(p);
	assert_lasts(p, 0, FRESH_MS);
	wait_stale();
	slow_ms = 500;
	assert_lasts(p, 0, 8 * 500 - CATALOG_FRESH_MS);
	let_pass(CATALOG_CLOCK, 8 * 500 - CATALOG_FRESH_MS - 1);
	let_fail(p, 0, "a");
	let_fail(p, 1, "2.jsonl");
	assert_lasts(p, 0, 1);
	let_pass(CATALOG_CLOCK, 1);
	assert_lasts(p, -EIO, FRESH_MS);
	let_be(0);
	assert_lasts(p, -EIO, FRESH_MS);
}

STATE_CASE(what_is_watched_lasts, set_up_watched, tear_down_failing)
{
	NEEDS_WATCHES();
	struct stat st;
	assert_lasts(p, 0, 5000); /* a write through mmap(2) causes no event */
	assert_int_equal(stat(at(p, "--w--/a.jsonl"), &st), 0);
	looked_at = st.st_ino;
	put(p, "--w--/c.jsonl", HEADER_OF("c", "/w"));
	assert_int_equal(error_of_list(p), 0);
	assert_int_equal(looks, 0); /* another file has changed */
	append(p, "--w--/a.jsonl", USER("e2", null, "hi"));
	assert_int_equal(error_of_list(p), 0);
	assert_true(looks > 0);
}

/* One that is gone fails no more. */
FAILING(a_failure_ends_with_its_directory)
{
	CLEANUP_BUF struct buf got = BUF_INIT;
	put_all(p, "a/1.jsonl a/b/2.jsonl");
	open_place(p);
	assert_int_equal(error_of_list(p), 0);
	let_fail(p, 0, "a/b");
	wait_stale();
	assert_int_equal(error_of_list(p), -EIO);
	remove_all(at(p, "a/b"));
	wait_stale();
	assert_int_equal(error_of_list(p), 0);
	assert_int_equal(catalog_each_file(p->c, note_file, &got), 0);
	assert_string_equal(buf_cstr(&got), "a/1.jsonl:session ");
}

/* The newest of all can be one whose time is not known. */
FAILING(the_newest_is_unsure_without_the_time_of_one)
{
	struct slot_info info;
	static const char *const files[] = {"a/1.jsonl", "a/2.jsonl", "b/3.jsonl", "b/4.jsonl"};
	for (int i = 0; i < 4; i++) {
		put_all(p, files[i]);
		set_mtime(p, files[i], 1000 + i);
	}
	open_place(p);
	assert_newest_is(p, NO_SLOT, "b/4.jsonl");
	for (int i = 0; i < 2; i++) {
		let_fail(p, 0, i ? "a/1.jsonl" : "b/3.jsonl");
		wait_stale();
		int before = deferred_begin();
		catalog_latest(p->c, NO_SLOT, &info);
		assert_int_equal(deferred_end(before, 0), -EIO);
		let_be(0);
		before = deferred_begin();
		assert_newest_is(p, NO_SLOT, "b/4.jsonl");
		assert_int_equal(deferred_end(before, 0), 0);
	}
}

/* A write that leaves the attributes as they are is a change, by its event. */
STATE_CASE(a_write_within_a_tick_is_reported, set_up_watched, tear_down_failing)
{
	NEEDS_WATCHES();
	assert_int_not_equal(slot_of(p, "w", "a"), NO_SLOT);
	assert_int_equal(stat(at(p, "--w--/a.jsonl"), &frozen), 0);
	while (count_changes(p, NULL) > 0)
		;
	for (int i = 0; i < 2; i++) {
		struct pollfd wake = {.fd = p->c->watching.wake[0], .events = POLLIN};
		write_at(at(p, "--w--/a.jsonl"), 0, "{", 1);
		assert_int_equal(poll(&wake, 1, 0), 0);
		assert_true(catalog_is_watched(p->c)); /* which reads the event instead of the thread that waits */
		assert_int_equal(poll(&wake, 1, 0), 1);
		assert_int_equal(count_changes(p, NULL), 1);
		assert_int_equal(p->c->watching.pending.n, 0);
	}
	frozen.st_ino = 0;
}

/* Without a call that listed them before. */
FAILING(the_status_counts_the_sessions)
{
	struct catalog_status status;
	put(p, "a/1.jsonl", HEADER_OF("1", "/"));
	open_place(p);
	catalog_status(p->c, &status);
	assert_int_equal(status.sessions, 1);
	assert_false(status.scanning);
	assert_int_equal(status.watches, 0);
	put(p, "a/2.jsonl", HEADER_OF("2", "/"));
	wait_stale();
	catalog_status(p->c, &status);
	assert_int_equal(status.sessions, 2);
}

RUN_CASES(NULL, NULL)
