/* SPDX-License-Identifier: MIT */
/* Answers of the catalog about many sessions: listings, the newest session, the states of all. */
#include "cases.h"
#include "catalog_fixture.h"

/* A writer that creates a file and later writes its header: the project needs a name before the session is listed. */
FIXTURE_CASE(late_header_gives_its_project_a_name)
{
	struct slot_state *v;
	uint64_t serial = 0;
	size_t n;
	put(p, "flat.jsonl", "");
	open_place(p);
	assert_int_equal(catalog_list_states(p->c, &serial, &v, &n), 0);
	assert_int_equal(n, 0);
	free(v);
	put(p, "flat.jsonl", HEADER_OF("a", "/late"));
	let_pass(CATALOG_CLOCK, FRESH_MS);
	assert_int_equal(catalog_list_states(p->c, &serial, &v, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(v[0].project_name, "late");
	free(v);
}

FIXTURE_CASE(listing_continues_across_changes)
{
	struct project_info info;
	struct slot_info slot;
	uint64_t cookie = 0;
	int seen = 0, b = 0;
	put_numbered(p, "a", 10, HEADER_OF("s", "/"));
	open_place(p);
	assert_true(catalog_project_by_name(p->c, span_of("a"), &info));
	for (; seen < 5 && catalog_slot_next(p->c, info.project, &cookie, &slot); seen++)
		assert_int_equal(slot.stem[0], '0' + seen);
	assert_int_equal(unlink(at(p, "a/3.jsonl")), 0);
	assert_int_equal(unlink(at(p, "a/7.jsonl")), 0);
	put(p, "a/00.jsonl", HEADER_OF("s", "/"));
	wait_stale();
	for (; catalog_slot_next(p->c, info.project, &cookie, &slot); seen++)
		b |= strcmp(slot.stem, "00") == 0;
	assert_int_equal(seen, 10);
	assert_true(b);
	assert_false(catalog_slot_next(p->c, info.project, &cookie, &slot));
	assert_false(catalog_slot_next(p->c, 999, &(uint64_t){0}, &slot));
}

/* test_catalog_oracle.c has the newest of any sessions. */
FIXTURE_CASE(a_project_is_gone_with_its_last_session)
{
	struct project_info a;
	put_all(p, "a/x.jsonl a/x-y.jsonl");
	put(p, "b/none.jsonl", "no session\n");
	open_place(p);
	assert_false(catalog_project_by_name(p->c, span_of("b"), &a));
	assert_true(catalog_project_by_name(p->c, span_of("a"), &a));
	set_mtime(p, "a/x.jsonl", 5000);
	set_mtime(p, "a/x-y.jsonl", 5000);
	wait_stale();
	assert_newest_is(p, a.project, "a/x-y.jsonl"); /* of the stems, it is the last */
	set_mtime(p, "a/x.jsonl", 6000);
	wait_stale();
	assert_newest_is(p, a.project, "a/x.jsonl");
	assert_true(catalog_project(p->c, a.project, &a));
	assert_int_equal(a.mtime.tv_sec, 6000);
	assert_int_equal(unlink(at(p, "a/x.jsonl")), 0);
	assert_int_equal(unlink(at(p, "a/x-y.jsonl")), 0);
	wait_stale();
	assert_newest_is(p, a.project, NULL);
	assert_newest_is(p, NO_SLOT, NULL);
	assert_false(catalog_project(p->c, a.project, &a));
	assert_false(catalog_project(p->c, 999, &a));
}

/* Of files of one age, the last name is the newest; of equal names, the last path. */
FIXTURE_CASE(newest_of_one_age_has_the_last_name)
{
	static const char *const files[] = {"b/y.jsonl", "a/y.jsonl", "b/x.jsonl", "a/x.jsonl"};
	put_all(p, "a/x.jsonl a/y.jsonl b/x.jsonl b/y.jsonl");
	for (size_t i = 0; i < COUNT(files); i++)
		set_mtime(p, files[i], 5000);
	open_place(p);
	for (size_t i = 0; i < COUNT(files); i++) {
		assert_newest_is(p, NO_SLOT, files[i]);
		assert_int_equal(unlink(at(p, files[i])), 0);
		wait_stale();
	}
}

/* The classes that can list every directory, also if nothing has changed since the last call, or the user has. */
FIXTURE_CASE(all_directories_limit_a_list_of_all)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	make_dir(p, "b");
	put(p, "a/x.jsonl", HEADER_OF("x", "/"));
	assert_int_equal(symlink("nowhere", at(p, "c")), 0);
	open_place(p);
	for (int i = 0; i < 2; i++)
		assert_int_equal(catalog_list_all_mode(p->c, uid, gid), 0777);
	assert_int_equal(chmod(at(p, "a"), 0750), 0);
	wait_stale();
	for (int i = 0; i < 2; i++)
		assert_int_equal(catalog_list_all_mode(p->c, uid, gid), 0770);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(catalog_list_all_mode(p->c, uid, gid + 1), 0700);
		assert_int_equal(catalog_list_all_mode(p->c, uid + 1, gid), 0070);
		assert_int_equal(catalog_list_all_mode(p->c, uid, gid), 0770);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(chmod(at(p, "b"), i ? 0715 : 0745), 0);
		wait_stale();
		assert_int_equal(catalog_list_all_mode(p->c, uid, gid), 0700);
	}
	assert_int_equal(rmdir(at(p, "b")), 0);
	wait_stale();
	assert_int_equal(catalog_list_all_mode(p->c, uid, gid), 0770);
}

/* The classes that the directories above let through: to names, and to files. */
FIXTURE_CASE(directories_limit_the_classes_below)
{
	enum { OTHER_USER = 4711, OTHER_GROUP };
	/* The modes of three directories; of the source, for its group and another one; and of a project and the names
	 * in it, for a file in the source, and for two files in the other directories, with their modes. */
	static const struct {
		mode_t source, project, deeper;
		bool is_other; /* the project's directory has another owner and group */
		const char *expected;
	} cases[] = {
	    {0755, 0755, 0755, false, "555 555 f 555 777 w 555 777 a 644 b 644"},
	    {0711, 0755, 0755, false, "511 511 f 511 700 w 555 777 a 644 b 644"},
	    {0750, 0755, 0755, false, "550 500 f 550 770 w 550 777 a 640 b 640"},
	    {0744, 0755, 0755, false, "544 544 f 500 700 w 500 777 a 600 b 600"},
	    {0755, 0710, 0755, false, "555 555 f 555 777 w 510 700 a 640 b 640"},
	    {0755, 0740, 0755, false, "555 555 f 555 777 w 540 700 a 600 b 600"},
	    {0755, 0755, 0750, false, "555 555 f 555 777 w 555 770 a 644 b 640"},
	    {0755, 0755, 0711, false, "555 555 f 555 777 w 555 700 a 644 b 644"},
	    {0750, 0750, 0750, true, "550 500 f 550 770 w 500 700 a 600 b 600"},
	    {0755, 0751, 0755, true, "555 555 f 555 777 w 551 770 a 644 b 644"},
	};
	struct project_info w, f;
	struct slot_info a, b;
	const gid_t gid = getegid(), other = OTHER_GROUP;
	gid_t of_source, of_other;
	make_dir(p, "w");
	make_dir(p, "w/d");
	make_dir(p, "w/d/e");
	make_dir(p, "f");
	put(p, "w/a.jsonl", HEADER_OF("a", "/w"));
	put(p, "w/d/e/b.jsonl", HEADER_OF("b", "/w"));
	put(p, "f.jsonl", HEADER_OF("f", "/f"));
	put(p, "f/c.jsonl", HEADER_OF("c", "/f"));
	open_place(p);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char got[64];
		if (chown(at(p, "w"), cases[i].is_other ? OTHER_USER : geteuid(), cases[i].is_other ? other : gid) < 0)
			continue; /* only root may */
		assert_int_equal(chmod(p->root, cases[i].source), 0);
		assert_int_equal(chmod(at(p, "w"), cases[i].project), 0);
		assert_int_equal(chmod(at(p, "w/d"), cases[i].deeper), 0);
		wait_stale();
		mode_t mode = catalog_root_mode(p->c, NULL, &of_source);
		mode_t mode_of_other = catalog_root_mode(p->c, &other, &of_other);
		assert_true(catalog_project_by_name(p->c, SPAN_LIT("f"), &f));
		assert_true(catalog_project_by_name(p->c, SPAN_LIT("w"), &w));
		assert_int_equal(catalog_slot(p->c, slot_of(p, "w", "a"), &a), 0);
		assert_int_equal(catalog_slot(p->c, slot_of(p, "w", "d+e+b"), &b), 0);
		snprintf(got, sizeof got, "%03o %03o f %03o %03o w %03o %03o a %03o b %03o", mode, mode_of_other,
		         f.mode, f.names_mode, w.mode, w.names_mode, a.mode, b.mode);
		assert_string_equal(got, cases[i].expected);
		assert_int_equal(of_source, gid);
		assert_int_equal(of_other, other);
		assert_int_equal(w.gid, cases[i].is_other ? other : gid);
	}
}

/* Calls in quick succession must not keep an old answer alive. */
FIXTURE_CASE(newest_is_current_under_load)
{
	struct project_info a;
	put(p, "a/x.jsonl", HEADER_OF("x", "/"));
	set_mtime(p, "a/x.jsonl", 5000);
	put(p, "a/y.jsonl", HEADER_OF("y", "/"));
	set_mtime(p, "a/y.jsonl", 6000);
	open_place(p);
	assert_true(catalog_project_by_name(p->c, span_of("a"), &a));
	assert_int_equal(a.mtime.tv_sec, 6000);
	set_mtime(p, "a/x.jsonl", 7000);
	for (int i = 0; i < 8; i++) {
		let_pass(CATALOG_CLOCK, FRESH_MS / 2);
		assert_true(catalog_project(p->c, a.project, &a));
	}
	assert_int_equal(a.mtime.tv_sec, 7000);
}

/* However fresh the last scan is, also of a name that was absent; but not a session that moved to another project. */
FIXTURE_CASE(slot_now_finds_a_file_that_came_back)
{
	struct slot_info info;
	put(p, "--w--/a.jsonl", HEADER_OF("sid-a", "/w"));
	put(p, "f.jsonl", HEADER_OF("sid-f", "/w"));
	open_place(p);
	uint32_t slot = slot_of(p, "w", "a"), flat = slot_of(p, "w", "f");
	assert_int_equal(catalog_slot(p->c, slot, &info), 0);
	uint64_t key = info.key;
	assert_int_equal(unlink(at(p, "--w--/a.jsonl")), 0);
	assert_int_equal(catalog_slot_now(p->c, slot, &info), -ESTALE);
	put(p, "--w--/a.jsonl", HEADER_OF("sid-b", "/w"));
	assert_int_equal(catalog_slot_now(p->c, slot, &info), 0);
	assert_int_not_equal(info.slot, slot);
	assert_true(info.key != key); /* or `tail -F` would go on in the old one */
	put(p, "f.jsonl", HEADER_OF("sid-f", "/elsewhere"));
	assert_int_equal(catalog_slot_now(p->c, flat, &info), -ESTALE);
}

RUN_CASES(NULL, NULL)
