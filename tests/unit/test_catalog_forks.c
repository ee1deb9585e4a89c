/* SPDX-License-Identifier: MIT */
/* Parents and forks of sessions. */
#include "cases.h"
#include "catalog_fixture.h"
#include "linux_only.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"

/* ---- forks ---- */

static void assert_parent(struct source_fixture *p, const char *project, const char *stem, const char *parent)
{
	struct slot_info slot;
	uint32_t found = catalog_parent(p->c, slot_of(p, project, stem));
	if (!parent) {
		assert_int_equal(found, NO_SLOT);
		return;
	}
	assert_int_equal(catalog_slot(p->c, found, &slot), 0);
	assert_string_equal(slot.file, parent);
}

/* The sessions that it started, or its forks. */
static void assert_kin(struct source_fixture *p, const char *project, const char *stem, bool below,
                       const char *expected)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	struct slot_info slot;
	for (uint64_t cookie = 0; catalog_fork_next(p->c, slot_of(p, project, stem), below, &cookie, &slot);)
		buf_addf(&got, "%s ", slot.file);
	assert_words(&got, expected);
}

FIXTURE_CASE(fork_parent_is_found_by_path)
{
	char text[256];
	put_all(p, "a/root.jsonl b/root.jsonl b/only.jsonl");
	snprintf(text, sizeof text, FORK("path", "%s/a/root.jsonl"), p->root);
	put(p, "a/path.jsonl", text);
	snprintf(text, sizeof text, FORK("beside", "%s+a/root.jsonl"), p->root);
	put(p, "a/beside.jsonl", text);
	make_dir(p, "elsewhere");
	assert_int_equal(symlink("../b/root.jsonl", at(p, "elsewhere/linked")), 0);
	snprintf(text, sizeof text, FORK("link", "%s/elsewhere/linked"), p->root);
	put(p, "a/link.jsonl", text);
	put(p, "a/name.jsonl", FORK("name", "/elsewhere/only.jsonl"));
	put(p, "a/windows.jsonl", FORK("windows", "C:\\pi\\b\\root.jsonl"));
	put(p, "a/doubt.jsonl", FORK("doubt", "/elsewhere/root.jsonl"));
	put(p, "a/self.jsonl", FORK("self", "/elsewhere/self.jsonl"));
	put(p, "a/old.jsonl", LINE({"type":"session","id":"old","branchedFrom":"only.jsonl"}));
	put(p, "a/odd.jsonl", FORK("odd", "/"));
	open_place(p);
	assert_parent(p, "a", "path", "a/root.jsonl");
	assert_parent(p, "a", "beside", NULL);
	assert_parent(p, "a", "link", NULL);
	assert_parent(p, "a", "name", "b/only.jsonl");
	assert_parent(p, "a", "windows", "b/root.jsonl");
	assert_parent(p, "a", "doubt", NULL);
	assert_parent(p, "a", "self", NULL);
	assert_parent(p, "a", "old", "b/only.jsonl");
	assert_parent(p, "a", "odd", NULL);
	assert_parent(p, "b", "only", NULL);
	assert_kin(p, "b", "only", false, "a/name.jsonl a/old.jsonl");
	assert_int_equal(unlink(at(p, "a/old.jsonl")), 0);
	assert_int_equal(unlink(at(p, "b/root.jsonl")), 0);
	wait_stale();
	assert_kin(p, "b", "only", false, "a/name.jsonl");
	assert_parent(p, "a", "doubt", "a/root.jsonl");
}

/* Requires the files whose changes are reported, as words, once each. */
static void assert_reported(struct source_fixture *p, const char *expected)
{
	struct catalog_change *changes = NULL;
	struct buf got CLEANUP_BUF = BUF_INIT;
	struct slot_info info;
	ssize_t n = catalog_wait(p->c, 0, -1, false, &changes);
	for (ssize_t i = 0; i < n; i++) {
		catalog_session_at_place(p->c, changes[i].place, &info);
		if (got.n == 0 || !strstr(buf_cstr(&got), info.file))
			buf_addf(&got, "%s ", info.file);
	}
	free(changes);
	assert_words(&got, expected);
}

/* A session shows its parent and its forks: a new parent changes it, and both parents. */
WATCHED(a_new_parent_is_reported)
{
	NEEDS_WATCHES();
	struct slot_info info = {0};
	assert_false(catalog_fork_next(p->c, slot_of(p, "w", "a"), false, &(uint64_t){0}, &info));
	put(p, "--w--/fork.jsonl", FORK("fork", "/elsewhere/a.jsonl"));
	assert_parent(p, "w", "fork", "--w--/a.jsonl");
	assert_reported(p, "--w--/a.jsonl --w--/fork.jsonl");
	replace(p, "--w--/fork.jsonl", FORK("fork", "/elsewhere/b.jsonl"));
	assert_reported(p, "--w--/fork.jsonl");
	catalog_report_forks(p->c);
	assert_reported(p, "--w--/a.jsonl --w--/b.jsonl --w--/fork.jsonl");
	catalog_report_forks(p->c);
	assert_reported(p, "");
	put(p, "--w--/c.jsonl", HEADER_OF("c", "/w"));
	assert_reported(p, "--w--/c.jsonl");
	catalog_report_forks(p->c);
	assert_reported(p, "");
	assert_int_equal(unlink(at(p, "--w--/fork.jsonl")), 0);
	assert_reported(p, "--w--/fork.jsonl");
	catalog_report_forks(p->c);
	assert_reported(p, "--w--/b.jsonl");
}

/* The parent paths that pi writes in a mount: of a session there, or of a branch. */
FIXTURE_CASE(fork_parent_is_found_by_mount_path)
{
	static const struct {
		const char *said, *parent;
	} cases[] = {
	    {"/mnt/projects/b/one/session.jsonl", "b/one.jsonl"},
	    {"/mnt/projects/b/one/branches/0a/session.jsonl", "b/one.jsonl"},
	    {"/mnt/sessions/SID%2F1/session.jsonl", "b/one.jsonl"},
	    {"/mnt/sessions/SID%2F1/branches/a\\\\b/session.jsonl", "b/one.jsonl"},
	    {"projects/b/back\\\\slash/session.jsonl", "b/back\\slash.jsonl"},
	    {"/mnt/projects/branches/one/session.jsonl", "branches/one.jsonl"},
	    {"/mnt/projects/b/gone/session.jsonl", NULL},
	    {"/mnt/projects/gone/one/session.jsonl", NULL},
	    {"/mnt/projects/b/one/entries/0a/session.jsonl", NULL},
	    {"/mnt/projects/b/one/branches/0a/branches/0a/session.jsonl", NULL},
	    {"/mnt/b/one/session.jsonl", NULL},
	    {"session.jsonl", NULL},
	};
	char file[32], text[256];
	put_all(p, "b/one.jsonl=SID/1 b/back\\slash.jsonl=back");
	put(p, "b/session.jsonl", HEADER_OF("no name to be found by", "/"));
	put(p, "branches/one.jsonl", HEADER_OF("three", "/"));
	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(file, sizeof file, "a/%zu.jsonl", i);
		snprintf(text, sizeof text, FORK("fork", "%s"), cases[i].said);
		put(p, file, text);
	}
	open_place(p);
	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(file, sizeof file, "%zu", i);
		assert_parent(p, "a", file, cases[i].parent);
	}
}

/* A session that starts another has it below its own name, and its forks anywhere, also next to it. */
FIXTURE_CASE(nested_sessions_have_their_parent)
{
	put_all(p, "a/one.jsonl a/one/x/session.jsonl=x a/one/x/y/session.jsonl=y a/one/x.jsonl=x2");
	put(p, "a/one/fork.jsonl", FORK("fork", "/elsewhere/one-2.jsonl"));
	put(p, "a/one-2.jsonl", FORK("one-2", "/elsewhere/one.jsonl"));
	put(p, "a/one-2/session.jsonl", FORK("three", "/elsewhere/session.jsonl"));
	open_place(p);
	assert_parent(p, "a", "one+x~2", "a/one/x.jsonl");
	assert_parent(p, "a", "one+x", "a/one.jsonl");
	assert_parent(p, "a", "one+x+y", "a/one/x.jsonl");
	assert_parent(p, "a", "one+fork", "a/one-2.jsonl");
	assert_parent(p, "a", "one-2~2", "a/one-2.jsonl");
	assert_kin(p, "a", "one", true, "a/one/x.jsonl");
	assert_kin(p, "a", "one", false, "a/one-2.jsonl");
	assert_kin(p, "a", "one+x", true, "a/one/x/session.jsonl a/one/x/y/session.jsonl");
	assert_kin(p, "a", "one-2", true, "a/one-2/session.jsonl");
	assert_kin(p, "a", "one-2", false, "a/one/fork.jsonl");
	assert_int_equal(unlink(at(p, "a/one/x.jsonl")), 0);
	wait_stale();
	assert_kin(p, "a", "one", true, "a/one/x/session.jsonl a/one/x/y/session.jsonl");
}

/* Forks in several projects can have one stem. */
FIXTURE_CASE(forks_with_equal_stems_are_listed)
{
	put(p, "a/same.jsonl", FORK("same", "/x/one.jsonl"));
	put(p, "b/same.jsonl", FORK("same", "two.jsonl"));
	put(p, "c/same.jsonl", FORK("same", "/x/one.jsonl"));
	put(p, "d/same.jsonl", FORK("same", "/x/one.jsonl"));
	put_all(p, "a/one.jsonl a/two.jsonl");
	put(p, "a/other.jsonl", FORK("other", "/y/one.jsonl"));
	open_place(p);
	assert_kin(p, "a", "one", false, "a/other.jsonl a/same.jsonl c/same.jsonl d/same.jsonl");
	assert_kin(p, "a", "two", false, "b/same.jsonl");
}

/* The session listed last is not a fork any more: the list continues after it, without repeats. */
FIXTURE_CASE(fork_listing_continues_after_removal)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	struct slot_info slot;
	uint64_t cookie = 0;
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	put_numbered(p, "a", 4, FORK("fork", "/x/one.jsonl"));
	open_place(p);
	uint32_t one = slot_of(p, "a", "one");
	for (int i = 0; i < 2; i++) {
		assert_true(catalog_fork_next(p->c, one, false, &cookie, &slot));
		buf_addf(&got, "%s ", slot.stem);
	}
	replace(p, "a/1.jsonl", HEADER_OF("other", "/"));
	assert_int_equal(unlink(at(p, "a/2.jsonl")), 0);
	wait_stale();
	while (catalog_fork_next(p->c, one, false, &cookie, &slot))
		buf_addf(&got, "%s ", slot.stem);
	assert_words(&got, "0 1 3");
	assert_false(catalog_fork_next(p->c, UINT32_MAX - 1, false, &(uint64_t){0}, &slot));
}

static bool count_down(void *arg)
{
	return (*(int *)arg)-- == 0;
}

/* A search for parents that was cancelled is made again by the next call. */
FIXTURE_CASE(a_cancelled_search_for_parents_is_made_again)
{
	int left, cancelled = 0;
	const struct cancel cancel = {.is_cancelled = count_down, .arg = &left};
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	put(p, "a/f.jsonl", FORK("f", "/x/one.jsonl"));
	put(p, "a/g.jsonl", FORK("g", "/x/one.jsonl"));
	for (int nth = 0;; nth++) {
		open_place(p);
		uint32_t slot = slot_of(p, "a", "g");
		left = nth;
		cancel_set(&cancel);
		int before = deferred_begin();
		uint32_t parent = catalog_parent(p->c, slot);
		int rc = deferred_end(before, 0);
		cancel_set(NULL);
		assert_int_equal(rc, left < 0 ? -EINTR : 0);
		assert_true(left < 0 || parent != NO_SLOT);
		assert_parent(p, "a", "f", "a/one.jsonl");
		assert_parent(p, "a", "g", "a/one.jsonl");
		if (left >= 0)
			break;
		cancelled++;
		close_place(p);
	}
	assert_true(cancelled >= 2);
}

RUN_CASES(NULL, NULL)
