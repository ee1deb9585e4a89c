/* SPDX-License-Identifier: MIT */
/* The catalog on real directories: names, which files are sessions, changes. */
#include "cases.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/catalog/header.h"
#include "catalog_fixture.h"
#include "heap.h"
#include "texts.h"

#include <sys/resource.h>

#include <sys/inotify.h>

/* ---- the catalog as one text ---- */

static void assert_sessions(struct source_fixture *p, const char *project, const char *expected)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	struct project_info info;
	struct slot_info slot;
	assert_true(catalog_project_by_name(p->c, span_of(project), &info));
	for (uint64_t cookie = 0; catalog_slot_next(p->c, info.project, &cookie, &slot);) {
		assert_int_equal(slot.project, info.project);
		buf_addf(&got, "%s=%s ", slot.stem, slot.file);
	}
	assert_words(&got, expected);
}

static void assert_sids(struct source_fixture *p, const char *expected)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	struct slot_info slot;
	for (uint64_t cookie = 0; catalog_slot_next(p->c, NO_SLOT, &cookie, &slot);)
		buf_addf(&got, "%s=%s ", slot.sid, slot.file);
	assert_words(&got, expected);
}

/* ---- names ---- */

FIXTURE_CASE(flat_file_project_comes_from_header)
{
	put(p, "--home-a--/1.jsonl", HEADER_OF("1", "/home/a"));
	put(p, "1.jsonl", HEADER_OF("f1", "/home/a"));
	put(p, "2.jsonl", HEADER_OF("f2", "C:\\work\\b"));
	put(p, "3.jsonl", LINE({"type":"session","id":"f3"}));
	put(p, "4.jsonl", HEADER_OF("f4", "/"));
	put(p, "5.jsonl", LINE({"type":"session","id":"f5","cwd":7}));
	put(p, "6.jsonl", HEADER_OF("f6", "//net/x"));
	put(p, "7.jsonl", HEADER_OF("f7", "\\\\srv\\x"));
	open_place(p);
	assert_projects(p, "% -net-x -srv-x C--work-b home-a unknown");
	assert_sessions(p, "home-a", "1=--home-a--/1.jsonl 1~2=1.jsonl");
	assert_sessions(p, "C--work-b", "2=2.jsonl");
	assert_sessions(p, "unknown", "3=3.jsonl 5=5.jsonl");
	assert_sessions(p, "%", "4=4.jsonl");
}

FIXTURE_CASE(unusual_file_names_are_accepted)
{
	put_all(p, "a/.jsonl=1 a/.hidden.jsonl=2 a/\xff.jsonl=4");
	put(p, "a/new\nline.jsonl", HEADER_OF("3", "/"));
	put(p, "a/x.jsonl.deleted", HEADER_OF("5", "/"));
	open_place(p);
	assert_sessions(p, "a", "%2Ehidden=a/.hidden.jsonl %=a/.jsonl %FF=a/\xff.jsonl new%0Aline=a/new\nline.jsonl");
}

FIXTURE_CASE(nested_directories_are_scanned)
{
	put(p, "--w--/one.jsonl", HEADER_OF("1", "/w"));
	put(p, "--w--/one/run-0/session.jsonl", HEADER_OF("2", "/elsewhere") USER("a", null, "hi"));
	put(p, "--w--/one/.git/session.jsonl", HEADER_OF("3", "/w"));
	put(p, ".hidden/4.jsonl", HEADER_OF("4", "/w"));
	put(p, "--w--/session/session.jsonl", HEADER_OF("5", "/w"));
	put(p, "--w--/session.jsonl", HEADER_OF("6", "/w"));
	put(p, "deep/2/3/4/5/6/7/8/7.jsonl", HEADER_OF("7", "/w"));
	put(p, "deep/2/3/4/5/6/7/8/9/8.jsonl", HEADER_OF("8", "/w"));
	put(p, "log/a/9.jsonl", HEADER_OF("9", "/w") LINE({"type":"agent_start"}));
	put(p, "log/10.jsonl", HEADER_OF("10", "/w") LINE({"type":"agent_start"}));
	put(p, "log/a/11.jsonl", HEADER_OF("11", "/w") "null\nno json\n" LINE({"id":7}) USER("a", null, "hi"));
	put(p, "log/a/12.jsonl", HEADER_OF("12", "/w") "\n{\"type\":\"message\",\"id\":\"a\"");
	assert_int_equal(symlink("../--w--", at(p, "log/link")), 0);
	open_place(p);
	assert_projects(p, "deep log w");
	assert_sessions(p, "w",
	                "one+run-0=--w--/one/run-0/session.jsonl one=--w--/one.jsonl session=--w--/session.jsonl "
	                "session~2=--w--/session/session.jsonl");
	assert_sessions(p, "deep", "2+3+4+5+6+7+8+7=deep/2/3/4/5/6/7/8/7.jsonl");
	assert_sessions(p, "log", "10=log/10.jsonl a+12=log/a/12.jsonl");

	/* A project's mtime covers all below it, but `latest` is pi's. */
	struct project_info info;
	set_mtime(p, "--w--/one.jsonl", 1000);
	set_mtime(p, "--w--/session.jsonl", 900);
	set_mtime(p, "--w--/session/session.jsonl", 2000);
	set_mtime(p, "--w--/one/run-0/session.jsonl", 3000);
	wait_stale();
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("w"), &info));
	assert_int_equal(info.mtime.tv_sec, 3000);
	assert_newest_is(p, info.project, "--w--/one.jsonl");
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("deep"), &info));
	assert_newest_is(p, info.project, NULL);
}

FIXTURE_CASE(directory_beside_flat_file_shares_project)
{
	put(p, "known.jsonl", HEADER_OF("8", "/home/me"));
	put(p, "x.jsonl", HEADER_OF("1", "/home/me"));
	put(p, "x/run-0/session.jsonl", HEADER_OF("2", "/elsewhere"));
	put(p, "x/y.jsonl", HEADER_OF("3", "/elsewhere"));
	put(p, "no.jsonl", "text\n");
	put(p, "no/run-0/session.jsonl", HEADER_OF("4", "/elsewhere"));
	put(p, "early/run-0/session.jsonl", HEADER_OF("5", "/elsewhere"));
	open_place(p);
	assert_projects(p, "early home-me no");
	assert_sessions(p, "home-me", "known=known.jsonl x+run-0=x/run-0/session.jsonl x+y=x/y.jsonl x=x.jsonl");
	assert_sessions(p, "no", "run-0=no/run-0/session.jsonl");
	assert_newest_is(p, NO_SLOT, "x.jsonl"); /* pi lists none below */
	/* A name that was shown stays; a later session has the right one. */
	put(p, "early.jsonl", HEADER_OF("6", "/home/me"));
	put(p, "early/7.jsonl", HEADER_OF("7", "/elsewhere"));
	put(p, "known/9.jsonl", HEADER_OF("9", "/elsewhere"));
	wait_stale();
	assert_sessions(p, "early", "run-0=early/run-0/session.jsonl");
	assert_sessions(p, "home-me",
	                "early+7=early/7.jsonl early=early.jsonl known+9=known/9.jsonl known=known.jsonl "
	                "x+run-0=x/run-0/session.jsonl x+y=x/y.jsonl x=x.jsonl");
	assert_int_equal(catalog_parent(p->c, slot_of(p, "home-me", "known+9")), slot_of(p, "home-me", "known"));
}

/* ---- which files are sessions ---- */

static int note_file(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	reason = err ? resolver_error_text(err) : reason;
	assert_int_equal(slot == NO_SLOT, reason != NULL);
	buf_addf(arg, "%s: %s\n", file, reason ? reason : "ok");
	return 0;
}

static int stop_at_second(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	return ++*(int *)arg == 2 ? 42 : 0;
}

FIXTURE_CASE(non_sessions_are_hidden)
{
	make_dir(p, "a");
	make_dir(p, "a/dir.jsonl");
	make_dir(p, "real");
	assert_int_equal(mkfifo(at(p, "a/fifo.jsonl"), 0644), 0);
	assert_int_equal(symlink("nowhere", at(p, "a/dangling.jsonl")), 0);
	assert_int_equal(symlink("loop.jsonl", at(p, "a/loop.jsonl")), 0);
	assert_int_equal(symlink("fifo.jsonl", at(p, "a/link-to-fifo.jsonl")), 0);
	assert_int_equal(symlink("good.jsonl", at(p, "a/link.jsonl")), 0);
	assert_int_equal(symlink("real", at(p, "linked")), 0);
	assert_int_equal(symlink("circle", at(p, "circle")), 0);
	put_all(p, "a/good.jsonl real/r.jsonl");
	put(p, "a/late.jsonl", "\n  \nnull\nnot json\n0\n" HEADER_OF("late", "/") USER("x", null, "hi"));
	put(p, "a/torn.jsonl", JSON({"type":"session","id":"torn"}));
	put(p, "a/empty.jsonl", "");
	put(p, "a/blank.jsonl", "\n \r\n");
	put(p, "a/bom.jsonl",
	    "\xef\xbb\xbf{\"type\":\"session\",\"version\":3,\"id\":\"bom\",\"cwd\":\"/\"}\n"
	    USER("x", null, "hi"));
	put(p, "a/entry.jsonl", USER("x", null, "hi") HEADER_OF("entry", "/"));
	put(p, "a/number.jsonl", LINE({"type":"session","id":7}));
	put(p, "a/list.jsonl", "[1]\n" HEADER_OF("list", "/"));
	put(p, "a/lanes.jsonl", LINE({"kind":"header","version":4,"id":"l"}) USER("x", null, "hi"));
	put(p, "a/other.jsonl", LINE({"kind":"header","version":"4"}));
	put(p, "a/half.jsonl", "{\"type\":\"session\",\"id\":\"ha");
	open_place(p);
	assert_projects(p, "a linked real");
	assert_sessions(p, "a", "good=a/good.jsonl late=a/late.jsonl link=a/link.jsonl torn=a/torn.jsonl");
	assert_sessions(p, "linked", "r=linked/r.jsonl");

	struct buf got CLEANUP_BUF = BUF_INIT;
	assert_int_equal(catalog_each_file(p->c, note_file, &got), 0);
	assert_non_null(buf_cstr(&got));
	assert_string_equal(
	    got.p, "a/blank.jsonl: no session header: nothing but blank lines\n"
		   "a/bom.jsonl: no session header: this line is malformed; try sessionfs --repair\n"
		   "a/dangling.jsonl: No such file or directory\n"
		   "a/dir.jsonl: is a directory\n"
		   "a/empty.jsonl: empty file\n"
		   "a/entry.jsonl: no session header: the first entry is something else; try sessionfs --repair\n"
		   "a/fifo.jsonl: not a regular file\n"
		   "a/good.jsonl: ok\n"
		   "a/half.jsonl: no session header: this line is malformed; try sessionfs --repair\n"
		   "a/lanes.jsonl: a pi session of version 4 (lanes), which is not supported\n"
		   "a/late.jsonl: ok\n"
		   "a/link-to-fifo.jsonl: not a regular file\n"
		   "a/link.jsonl: ok\n"
		   "a/list.jsonl: no session header: the first entry is something else; try sessionfs --repair\n"
		   "a/loop.jsonl: Too many levels of symbolic links\n"
		   "a/number.jsonl: the session header has no id that is a string\n"
		   "a/other.jsonl: no session header: the first entry is something else; try sessionfs --repair\n"
		   "a/torn.jsonl: ok\n"
		   "linked/r.jsonl: ok\n"
		   "real/r.jsonl: ok\n");
	int count = 0;
	assert_int_equal(catalog_each_file(p->c, stop_at_second, &count), 42);
}

FIXTURE_CASE(long_header_after_blank_lines_is_read)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	make_dir(p, "a");
	buf_adds(&text, "{\"pad\":\"");
	for (int i = 0; i < 100000; i++)
		buf_adds(&text, "pad");
	buf_adds(&text, "\",\"type\":\"session\",\"id\":\"long\"}\n");
	assert_non_null(buf_cstr(&text));
	put(p, "a/long.jsonl", text.p);
	buf_reset(&text);
	for (int i = 0; i < 1 << 19; i++)
		buf_adds(&text, "x\n");
	buf_adds(&text, HEADER_OF("beyond", "/"));
	assert_non_null(buf_cstr(&text));
	put(p, "a/beyond.jsonl", text.p);
	put(p, "a/within.jsonl", text.p + 2 * strlen(HEADER_OF("beyond", "/")));
	open_place(p);
	assert_sessions(p, "a", "long=a/long.jsonl within=a/within.jsonl");
	buf_reset(&text);
	assert_int_equal(catalog_each_file(p->c, note_file, &text), 0);
	assert_non_null(buf_cstr(&text));
	assert_non_null(
	    strstr(text.p, "a/beyond.jsonl: no session header in the first 1 MiB; try sessionfs --repair\n"));
}

/* ---- files and bytes read ---- */

/* Returns how many files of a directory were opened since the last call. */
static int opened(int watch)
{
	char events[65536] __attribute__((aligned(8)));
	int n = 0;
	for (;;) {
		ssize_t got = read(watch, events, sizeof events);
		if (got <= 0)
			return n;
		for (ssize_t i = 0; i < got;) {
			const struct inotify_event *e = (const void *)(events + i);
			if (e->len && strstr(e->name, ".jsonl"))
				n++;
			i += (ssize_t)(sizeof *e + e->len);
		}
	}
}

/* A mebibyte of blank lines can be read before a header: many looks at once must not keep that much each. */
FIXTURE_CASE(header_read_frees_its_buffer)
{
	struct header h CLEANUP_HEADER = HEADER_INIT;
	struct buf text CLEANUP_BUF = BUF_INIT;
	for (int i = 0; i < 100000; i++)
		buf_adds(&text, "  \n");
	buf_adds(&text, HEADER_OF("late", "/"));
	put(p, "late.jsonl", buf_cstr(&text));
	const struct source_path late = {NULL, at(p, "late.jsonl")};
	size_t before = heap_used();
	assert_true(header_read(&late, RESOLVER_WAIT, &h));
	assert_buf(&h.id, SPAN_LIT("late"));
	assert_true(heap_used() < before + 65536);
}

FIXTURE_CASE(files_are_opened_lazily)
{
	make_dir(p, "a");
	make_dir(p, "b");
	for (int i = 0; i < 50; i++) {
		char name[32];
		snprintf(name, sizeof name, "%c/%d.jsonl", i % 2 ? 'a' : 'b', i);
		put(p, name, HEADER_OF("s", "/"));
		set_mtime(p, name, 1000 + i);
	}
	int a = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), b = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(inotify_add_watch(a, at(p, "a"), IN_OPEN) >= 0);
	assert_true(inotify_add_watch(b, at(p, "b"), IN_OPEN) >= 0);
	open_place(p);
	assert_projects(p, "a b");
	struct project_info info;
	for (uint64_t cookie = 0; catalog_project_next(p->c, &cookie, &info);)
		assert_int_equal(info.mtime.tv_sec, strcmp(info.name, "a") == 0 ? 1049 : 1048);
	assert_int_equal(catalog_mtime(p->c).tv_sec, 1049);
	/* The newest file of each project is read to check that it is a session. */
	assert_int_equal(opened(a) + opened(b), 2);

	struct slot_info slot;
	assert_true(catalog_project_by_name(p->c, span_of("a"), &info));
	assert_int_equal(opened(a), 0);
	for (int round = 0; round < 2; round++)
		count_sessions(p->c, info.project);
	assert_int_equal(opened(a), 24);
	assert_int_equal(opened(b), 0);
	append(p, "a/1.jsonl", USER("x", null, "hi"));
	opened(a);
	wait_stale();
	assert_int_equal(catalog_slot(p->c, slot_of(p, "a", "1"), &slot), 0);
	assert_int_equal(slot.st.st_size, strlen(HEADER_OF("s", "/") USER("x", null, "hi")));
	assert_true(opened(a) <= 1);
	close(a);
	close(b);
}

/* ---- changes: test_catalog_oracle.c checks all other ones ---- */

FIXTURE_CASE(source_can_be_removed_and_restored)
{
	char away[80];
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	open_place(p);
	assert_sids(p, "one=a/one.jsonl");
	snprintf(away, sizeof away, "%s.away", p->root);
	assert_int_equal(rename(p->root, away), 0);
	wait_stale();
	assert_projects(p, "");
	assert_sids(p, "");
	assert_int_equal(catalog_mtime(p->c).tv_sec, 0);
	assert_int_equal(rename(away, p->root), 0);
	wait_stale();
	assert_projects(p, "a");
	assert_sids(p, "one=a/one.jsonl");
}

/* Whether no more files can be opened. */
static void let_open(bool yes)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = yes ? limit.rlim_max : 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A transient error is returned, and never cached. */
FIXTURE_CASE(transient_errors_are_reported_not_cached)
{
	struct slot_info slot;
	uint64_t cookie = 0;
	put_all(p, "a/one.jsonl a/two.jsonl");
	open_place(p);
	for (int i = 0; i < 2; i++) {
		let_open(false);
		int before = deferred_begin();
		uint32_t found = slot_of(p, "a", "one");
		assert_int_equal(deferred_end(before, 0), -EMFILE);
		assert_int_equal(found, NO_SLOT);
		let_open(true);
		before = deferred_begin();
		found = slot_of(p, "a", "one");
		assert_int_equal(deferred_end(before, 0), 0);
		assert_int_not_equal(found, NO_SLOT);
		wait_stale();
	}
	uint32_t one = slot_of(p, "a", "one");
	assert_int_equal(catalog_slot(p->c, one, &slot), 0);
	wait_stale();
	let_open(false);
	int before = deferred_begin();
	assert_int_equal(catalog_slot(p->c, one, &slot), -EMFILE);
	assert_false(catalog_slot_next(p->c, slot.project, &cookie, &slot));
	assert_int_equal(deferred_end(before, 0), -EMFILE);
	let_open(true);
	assert_int_equal(catalog_slot(p->c, one, &slot), 0);
	assert_int_equal(catalog_slot(p->c, 4711, &slot), -ESTALE);
	assert_int_equal(catalog_slot(p->c, NO_SLOT, &slot), -ESTALE);
	assert_sids(p, "one=a/one.jsonl two=a/two.jsonl");
}

FIXTURE_CASE(a_name_says_what_a_file_can_be)
{
	static const struct {
		const char *path;
		enum header_name is;
		size_t at;
	} names[] = {
	    {"a/b.jsonl", NAME_SESSION, 3},
	    {".jsonl", NAME_SESSION, 0},
	    {"b.jsonl.reset.T", NAME_ARCHIVE, 1},
	    {"b.jsonl.deleted.", NAME_ARCHIVE, 1},
	    {"x.jsonl.reset.1/b.jsonl.deleted.T.x", NAME_ARCHIVE, 17},
	    {"b.jsonl.reset.1.jsonl.reset.2", NAME_ARCHIVE, 15},
	    {"b.jsonl.reset.T.jsonl", NAME_SESSION, 15},
	    {"b.jsonl.gz", NAME_COMPRESSED, 1},
	    {"b.jsonl.zst", NAME_COMPRESSED, 1},
	    {"b.jsonl.reset.T.xz", NAME_COMPRESSED, 1},
	    {"b.jsonl.gz.xz", NAME_OTHER, 0},
	    {"b.jsonl.bak", NAME_OTHER, 0},
	    {"b.jsonl.reset", NAME_OTHER, 0},
	    {"b.gz", NAME_OTHER, 0},
	    {"x.jsonl.reset.1/b", NAME_OTHER, 0},
	    {"", NAME_OTHER, 0},
	};
	for (size_t i = 0; i < COUNT(names); i++) {
		size_t at;
		assert_int_equal(header_name(names[i].path, &at), names[i].is);
		if (names[i].is != NAME_OTHER)
			assert_int_equal(at, names[i].at);
	}
}

/* Files that are not sessions make no project, and have no effect on its mtime. */
FIXTURE_CASE(non_sessions_do_not_affect_projects)
{
	struct project_info info;
	put(p, "a/one.jsonl", HEADER_OF("one", "/"));
	put(p, "a/no.jsonl", "{}\n");
	put_numbered(p, "a", 100, "no session\n");
	put_numbered(p, "ghost", 20, "no session\n");
	set_mtime(p, "a/one.jsonl", 1000);
	set_mtime(p, "a/no.jsonl", 2000);
	open_place(p);
	assert_newest_is(p, NO_SLOT, "a/one.jsonl");
	assert_int_equal(catalog_mtime(p->c).tv_sec, 1000);
	assert_projects(p, "a");
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("a"), &info));
	assert_int_equal(info.mtime.tv_sec, 1000);
	assert_int_equal(unlink(at(p, "a/one.jsonl")), 0);
	set_mtime(p, "", 500);
	wait_stale();
	assert_projects(p, "");
	assert_int_equal(catalog_mtime(p->c).tv_sec, 500);
}

FIXTURE_CASE(open_fails_on_non_directory)
{
	struct catalog_options o = {0};
	put(p, "file", "");
	assert_int_equal(catalog_open(at(p, "file"), &o, &p->c), -ENOTDIR);
	assert_int_equal(catalog_open(at(p, "nothing"), &o, &p->c), -ENOENT);
	open_place(p);
	assert_projects(p, "");
	assert_sids(p, "");
}

RUN_CASES(NULL, NULL)
