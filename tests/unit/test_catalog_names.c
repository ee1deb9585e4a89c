/* SPDX-License-Identifier: MIT */
/* The names of projects and sessions: which text they show, who gets the plain name, and when a name is free again. */
#include "cases.h"
#include "catalog_fixture.h"

/* The sessions as FILE=STEM=SID. */
static void assert_sessions(struct source_fixture *p, const char *words)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	struct slot_info slot;
	for (uint64_t cookie = 0; catalog_slot_next(p->c, NO_SLOT, &cookie, &slot);)
		buf_addf(&got, "%s=%s=%s ", slot.file, slot.stem, slot.sid);
	assert_words(&got, words);
}

/* Only dashes on both sides are left out, if there is something between them. */
FIXTURE_CASE(a_project_shows_the_text_between_dashes)
{
	static const char *const dirs[] = {"--a--", "b--",  "--c",  "---",  "----d----", "-e-",
	                                   "--f-",  "-g--", "x--y", "----", "~odd%"};
	for (size_t i = 0; i < COUNT(dirs); i++) {
		char file[32];
		snprintf(file, sizeof file, "%s/s.jsonl", dirs[i]);
		put_all(p, file);
	}
	put(p, "empty/not.json", HEADER_OF("6", "/"));
	open_place(p);
	assert_projects(p, "% %7Eodd%25 --- --c --d-- --f- -e- -g-- a b-- x--y");
}

/* Another project can have the text as its directory: it gets the plain name, if it has sessions. */
FIXTURE_CASE(a_directory_without_dashes_has_the_plain_name)
{
	put_all(p, "--a--/s.jsonl=1 a/s.jsonl=2 --b--/s.jsonl=3 --c--/s.jsonl=4");
	make_dir(p, "b");
	open_place(p);
	assert_projects(p, "--a-- a b c");
	assert_int_not_equal(slot_of(p, "a", "s"), slot_of(p, "--a--", "s"));
	/* A name that was shown stays. The directory that comes later gets a number. */
	put_all(p, "c/late.jsonl=5 b/late.jsonl=6");
	wait_stale();
	assert_projects(p, "--a-- a b b~2 c c~2");
	assert_int_not_equal(slot_of(p, "c~2", "late"), NO_SLOT);
	assert_int_not_equal(slot_of(p, "c", "s"), NO_SLOT);
	/* So does the name of a project whose sessions are gone for a while. */
	assert_int_equal(unlink(at(p, "a/s.jsonl")), 0);
	wait_stale();
	assert_projects(p, "--a-- b b~2 c c~2");
	put_all(p, "a/again.jsonl=7");
	wait_stale();
	assert_projects(p, "--a-- a b b~2 c c~2");
}

/* The same for a text that has dashes itself. */
FIXTURE_CASE(directories_within_dashes_have_their_own_names)
{
	put_all(p, "q/1.jsonl=1 --q--/2.jsonl=2 ----q----/3.jsonl=3");
	open_place(p);
	assert_projects(p, "----q---- --q-- q");
	assert_int_not_equal(slot_of(p, "q", "1"), NO_SLOT);
	assert_int_not_equal(slot_of(p, "--q--", "2"), NO_SLOT);
	assert_int_not_equal(slot_of(p, "----q----", "3"), NO_SLOT);
}

/* A directory that has the plain name keeps it, even without sessions. */
FIXTURE_CASE(a_plain_name_is_kept_without_sessions)
{
	put_all(p, "r/1.jsonl");
	make_dir(p, "--r--");
	open_place(p);
	assert_projects(p, "r");
	assert_int_equal(unlink(at(p, "r/1.jsonl")), 0);
	put_all(p, "--r--/2.jsonl=2");
	wait_stale();
	assert_projects(p, "--r--");
	assert_int_not_equal(slot_of(p, "--r--", "2"), NO_SLOT);
}

/* The smallest path gets the plain name; `latest` is the name of a link. */
FIXTURE_CASE(equal_stems_are_numbered_by_path)
{
	put_all(
	    p,
	    "a/x+y.jsonl=1 a/x/y.jsonl=2 a/x/session.jsonl=3 a/x.jsonl=4 a/latest.jsonl=5 a/x/session.jsonl.reset.1=6");
	open_place(p);
	assert_sessions(
	    p,
	    "a/latest.jsonl=latest~2=5 a/x+y.jsonl=x+y=1 a/x.jsonl=x=4 a/x/session.jsonl.reset.1=x+session.reset.1=6 "
	    "a/x/session.jsonl=x~2=3 a/x/y.jsonl=x+y~2=2");
	assert_int_equal(slot_of(p, "a", "latest"), NO_SLOT);
}

/* A stem is free when its file is gone, and taken while the file exists. The file that comes back has it again. */
FIXTURE_CASE(a_stem_is_free_when_its_file_is_gone)
{
	put_all(p, "a/x/y.jsonl=1");
	open_place(p);
	assert_sessions(p, "a/x/y.jsonl=x+y=1");
	assert_int_equal(rename(at(p, "a/x/y.jsonl"), at(p, "a/x+y.jsonl")), 0);
	wait_stale();
	assert_sessions(p, "a/x+y.jsonl=x+y=1");
	put_all(p, "a/x/y.jsonl=2");
	wait_stale();
	assert_sessions(p, "a/x+y.jsonl=x+y=1 a/x/y.jsonl=x+y~2=2");
	replace(p, "a/x+y.jsonl", HEADER_OF("3", "/"));
	wait_stale();
	assert_sessions(p, "a/x+y.jsonl=x+y=3 a/x/y.jsonl=x+y~2=2");
}

/* Equal SIDs are numbered by path, then as they come. A number is not used again while a later one exists. */
FIXTURE_CASE(equal_sids_are_numbered)
{
	struct slot_info slot;
	put_all(p, "a/1.jsonl=s a/2.jsonl=s a/3.jsonl=s");
	open_place(p);
	assert_sessions(p, "a/1.jsonl=1=s a/2.jsonl=2=s~2 a/3.jsonl=3=s~3");
	assert_int_equal(unlink(at(p, "a/2.jsonl")), 0);
	put_all(p, "a/0.jsonl=s");
	wait_stale();
	assert_sessions(p, "a/0.jsonl=0=s~4 a/1.jsonl=1=s a/3.jsonl=3=s~3");
	assert_true(catalog_slot_by_sid(p->c, span_of("s~4"), &slot));
	assert_string_equal(slot.file, "a/0.jsonl");
	assert_false(catalog_slot_by_sid(p->c, span_of("s~2"), &slot));
	assert_int_equal(unlink(at(p, "a/1.jsonl")), 0);
	put_all(p, "a/9.jsonl=s");
	wait_stale();
	assert_sessions(p, "a/0.jsonl=0=s~4 a/3.jsonl=3=s~3 a/9.jsonl=9=s");
	/* The plain name follows a renamed file, and an id can be the name of another one. */
	assert_int_equal(rename(at(p, "a/9.jsonl"), at(p, "a/moved.jsonl")), 0);
	put_all(p, "b/1.jsonl=s~3 b/2.jsonl=../x");
	put(p, "b/3.jsonl", HEADER_OF("", "/"));
	wait_stale();
	assert_sessions(p, "a/0.jsonl=0=s~4 a/3.jsonl=3=s~3 a/moved.jsonl=moved=s b/1.jsonl=1=s~3~2 "
	                   "b/2.jsonl=2=%2E.%2Fx b/3.jsonl=3=%");
}

RUN_CASES(NULL, NULL)
