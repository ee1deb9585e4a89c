/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "sessionfs/cmd/check.h"
#include "session_lines.h"
#include "files.h"

#define HI(id, parent) USER_AT(id, parent, "2026-01-01T00:00:00.000Z", "hi")

static int set_up(void **state)
{
	char *root = strdup("/tmp/test_check.XXXXXX");
	make_temporary(root);
	*state = root;
	return 0;
}

static int tear_down(void **state)
{
	remove_all(*state);
	free(*state);
	return 0;
}

static const char *at(const char *root, const char *name)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", root, name);
	return path;
}

static void put(const char *root, const char *name, const char *text)
{
	put_file(at(root, name), text);
}

static void make_dir(const char *root, const char *name)
{
	assert_int_equal(mkdir(at(root, name), 0755), 0);
}

/* Returns check's output for the source; the caller frees it. */
static char *check(const char *root, const struct check_options *o, FILE *progress, size_t *found)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	assert_non_null(out);
	assert_int_equal(check_source(root, o, out, progress, found), 0);
	fclose(out);
	return text;
}

CASE_WITH(valid_sessions_print_nothing, set_up, tear_down)
{
	size_t found = 99;
	make_dir(*state, "--a--");
	put(*state, "--a--/1.jsonl",
	    HEADER HI("a", null) HI("b", "a"));
	put(*state, "flat.jsonl", HEADER);
	put(*state, "other.txt", "not looked at");
	char *text CLEANUP_FREE = check(*state, NULL, NULL, &found);
	assert_string_equal(text, "");
	assert_int_equal(found, 0);
}

CASE_WITH(each_problem_prints_one_line, set_up, tear_down)
{
	size_t found = 0;
	make_dir(*state, "b");
	make_dir(*state, "b/dir.jsonl");
	put(*state, "a.jsonl", "garbage\n" HI("a", null));
	put(*state, "b/empty.jsonl", "");
	put(*state, "b/new\nline\\\xff\x7f\xc2\x85\u2028\xc3\xa9.jsonl", "\n\n{}\n");
	put(*state, "b/torn.jsonl",
	    HEADER "not json\n" HI("a", null) HI("b", "nobody") "{\"type\":\"mess");
	assert_int_equal(mkfifo(at(*state, "b/fifo.jsonl"), 0644), 0);
	char *text CLEANUP_FREE = check(*state, NULL, NULL, &found);

	const char *begins[] = {
	    "a.jsonl:1: no session header: this line is malformed; try sessionfs --repair",
	    "b/dir.jsonl:1: is a directory",
	    "b/empty.jsonl:1: empty file",
	    "b/fifo.jsonl:1: not a regular file",
	    "b/new\\x0Aline\\x5C\\xFF\\x7F\\xC2\\x85\\xE2\\x80\\xA8\xc3\xa9.jsonl:3: no session header: the first "
	    "entry is something else; try sessionfs --repair",
	    "b/torn.jsonl:2: ",
	    "b/torn.jsonl:4: ",
	    "b/torn.jsonl:5: ",
	};
	size_t n = 0;
	for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), n++) {
		assert_true(n < COUNT(begins));
		assert_memory_equal(line, begins[n], strlen(begins[n]));
	}
	assert_int_equal(n, COUNT(begins));
	assert_int_equal(found, n);
}

/* The current branch has less than a tenth of the longest one. */
CASE_WITH(short_current_branch_is_reported, set_up, tear_down)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	size_t found = 0;
	buf_adds(&text, HEADER HI("m0", null));
	for (int i = 1; i < 30; i++)
		buf_addf(&text, HI("m%d", "m%d"), i, i - 1);
	buf_adds(&text, LINE({"type":"label","id":"l","parentId":"m29","targetId":"m0"}));
	buf_adds(&text, HI("a", "m0") HI("b", "a"));
	put(*state, "tenth.jsonl", buf_cstr(&text));
	text.n -= strlen(HI("b", "a"));
	put(*state, "less.jsonl", buf_cstr(&text));
	char *said = check(*state, NULL, NULL, &found);
	assert_string_equal(said, "less.jsonl:31: messages to this entry: 30, to the leaf: 2; to continue from here, "
	                          "`ln -sfn entries/m29 leaf` in the directory of the session in a mount\n");
	assert_int_equal(found, 1);
	free(said);
}

CASE_WITH(progress_line_is_erased, set_up, tear_down)
{
	static const struct check_options always = {.progress_ms = 1, .progress_always = true};
	char *drawn = NULL;
	size_t n = 0, found = 0;
	make_dir(*state, "a");
	for (int i = 0; i < 500; i++) {
		char file[32];
		snprintf(file, sizeof file, "a/%03d.jsonl", i);
		put(*state, file, HEADER HI("a", null));
	}
	put(*state, "a/999.jsonl", "");
	FILE *progress = open_memstream(&drawn, &n);
	char *text CLEANUP_FREE = check(*state, &always, progress, &found);
	fclose(progress);
	assert_string_equal(text, "a/999.jsonl:1: empty file\n");
	assert_non_null(strstr(drawn, " of 501 files, 0 problems"));
	assert_int_equal(drawn[n - 1], '\r');
	free(drawn);

	progress = open_memstream(&drawn, &n);
	free(check(*state, NULL, progress, &found));
	fclose(progress);
	assert_int_equal(n, 0);
	free(drawn);
}

CASE_WITH(failure_reason_is_printed, set_up, tear_down)
{
	size_t found = 7;
	assert_int_equal(check_source("/nonexistent/sessions", NULL, stdout, NULL, &found), -ENOENT);
	put(*state, "empty.jsonl", "");
	FILE *full = fopen("/dev/full", "we");
	assert_non_null(full);
	assert_int_equal(check_source(*state, NULL, full, NULL, &found), -EIO);
	fclose(full);
	assert_int_equal(found, 7);
}

RUN_CASES(NULL, NULL)
