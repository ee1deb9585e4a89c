/* SPDX-License-Identifier: MIT */
/* The names of session files, and what their beginnings say. test_catalog.c has more reasons. */
#include "cases.h"
#include "sessionfs/catalog/header.h"

#include "files.h"
#include "session_lines.h"
#include "texts.h"

CASE(names_have_kinds)
{
	static const struct {
		const char *path;
		enum header_name kind;
		size_t at;
	} cases[] = {
	    {"x.jsonl", NAME_SESSION, 1},
	    {"a.jsonl/.jsonl", NAME_SESSION, 8},
	    {"a/x.jsonl.reset.1", NAME_ARCHIVE, 3},
	    {".jsonl.deleted.1", NAME_ARCHIVE, 0},
	    {"x.jsonl.deleted.1.jsonl.reset.2", NAME_ARCHIVE, 17},
	    {"x.jsonl.reset.jsonl", NAME_SESSION, 13},
	    {"x.jsonl.gz", NAME_COMPRESSED, 1},
	    {"x.jsonl.zst", NAME_COMPRESSED, 1},
	    {"x.jsonl.deleted.1.xz", NAME_COMPRESSED, 1},
	    {"x.jsonl.gz.jsonl", NAME_SESSION, 10},
	    {"x.gz", NAME_OTHER, 0},
	    {"x.jsonl.reset", NAME_OTHER, 0},
	    {"x.jsonl/y", NAME_OTHER, 0},
	    {"jsonl", NAME_OTHER, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t at;
		enum header_name kind = header_name(cases[i].path, &at);
		if (kind != cases[i].kind || (kind != NAME_OTHER && at != cases[i].at))
			fail_msg("%s: kind %d, at %zu", cases[i].path, kind, at);
		assert_int_equal(header_name(cases[i].path, NULL), kind);
	}
}

#define FIRST "no session header: "
#define MALFORMED FIRST "this line is malformed; try sessionfs --repair"
#define OTHER_FIRST FIRST "the first entry is something else; try sessionfs --repair"
#define LANES LINE({"kind":"header","version":4,"id":"l"})

/* The line that decides, and its reason. In a deeper directory a log begins with a header, too. */
CASE(a_line_decides)
{
	static const struct {
		bool is_deep;
		const char *text, *reason;
		unsigned line, mode;
	} cases[] = {
	    {false, HEADER, NULL, 1, 0664},
	    {false, "\n\n" HEADER, NULL, 3, 0664},
	    {false, LINE({"type":"session","id":"a"}), NULL, 1, 0444}, {false, "", "empty file", 1, 0664},
	     {false, "\n \t\r\n", FIRST "nothing but blank lines", 1, 0664},
	     {false, "\nnull\n{\n[\n \n", MALFORMED, 3, 0664},
	     {false, "\n{\n[\n" USER("a", null, "hi"), MALFORMED, 2, 0664},
	      {false, "\nnull\n" USER("a", null, "hi"), OTHER_FIRST, 3, 0664},
	       {false, "{\n" LANES, "a pi session of version 4 (lanes), which is not supported", 2, 0664},
	       {false, HEADER LINE({"type":"agent_start"}), NULL, 1, 0664},
	        {true, HEADER "\n" LINE({"type":"agent_start"}),
	                                "not a session: the id of its first entry is not a string", 3, 0664},
	         {true, HEADER "\n[]\n", "not a session: the id of its first entry is not a string", 3, 0664},
	         {true, HEADER "\n{\n" USER("a", null, "hi"), NULL, 1, 0664}, {true, HEADER "{\n", NULL, 1, 0664},
	        };
	char root[] = "/tmp/test_header.XXXXXX", path[64];
	struct resolver *r;
	make_temporary(root);
	assert_int_equal(resolver_open(root, &r), 0);
	snprintf(path, sizeof path, "%s/a", root);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/a/b", root);
	assert_int_equal(mkdir(path, 0755), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct header h CLEANUP_HEADER = HEADER_INIT;
		const struct source_path at = {r, cases[i].is_deep ? "a/b/x.jsonl" : "a/x.jsonl"};
		snprintf(path, sizeof path, "%s/%s", root, at.path);
		put_file(path, cases[i].text);
		assert_int_equal(chmod(path, 0664), 0);
		bool is_session = header_read(&at, RESOLVER_WAIT, &h);
		const char *reason = cases[i].reason ? cases[i].reason : "none";
		if (is_session == (cases[i].reason != NULL) || strcmp(h.reason ? h.reason : "none", reason) != 0 ||
		    h.line != cases[i].line || h.mode != cases[i].mode || h.err)
			fail_msg("case %zu: line %u, mode %03o, error %d: %s", i, h.line, h.mode, h.err,
			         h.reason ? h.reason : "none");
	}
	resolver_close(r);
	remove_all(root);
}

/* No byte after the first 1 MiB is read: nor is the first entry of a deeper session, which decides nothing then. */
CASE(the_first_mebibyte_decides)
{
	char path[] = "/tmp/test_header.XXXXXX/x.jsonl";
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct header h CLEANUP_HEADER = HEADER_INIT;
	const struct source_path at = {NULL, path};
	*strrchr(path, '/') = '\0';
	make_temporary(path);
	path[strlen(path)] = '/';
	buf_adds(&text, HEADER);
	while (text.n <= HEADER_SCAN)
		buf_adds(&text, "\n");
	buf_adds(&text, LINE({"type":"agent_start"}));
	put_file(path, buf_cstr(&text));
	assert_true(header_read(&at, RESOLVER_WAIT, &h));
	memset(text.p, '\n', strlen(HEADER));
	put_file(path, text.p);
	assert_false(header_read(&at, RESOLVER_WAIT, &h));
	assert_string_equal(h.reason, "no session header in the first 1 MiB; try sessionfs --repair");
	assert_int_equal(h.line, HEADER_SCAN + 2);
	*strrchr(path, '/') = '\0';
	remove_all(path);
}

/* Ids are compared and shown as they are, and old files have another name for their parent. */
CASE(ids_have_exact_bytes)
{
	/* clang-format off */
	static const struct {
		const char *fields, *id, *cwd, *parent;
	} cases[] = {
	    {JSON("id":"a\ud800.","cwd":"/\u00e9"), "a\xed\xa0\x80.", "/\xc3\xa9", ""},
	    {"\"id\":\"\xff\"", "\xff", "", ""},
	    {JSON("id":"a","cwd":7,"parentSession":"p","branchedFrom":"q"), "a", "", "p"},
	    {JSON("id":"","parentSession":"","branchedFrom":"q"), "", "", "q"},
	};
	/* clang-format on */
	char path[] = "/tmp/test_header.XXXXXX/x.jsonl";
	*strrchr(path, '/') = '\0';
	make_temporary(path);
	struct header h CLEANUP_HEADER = HEADER_INIT;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[128];
		snprintf(text, sizeof text, "{\"type\":\"session\",%s}\n", cases[i].fields);
		path[strlen(path)] = '/';
		put_file(path, text);
		assert_true(header_read(&(struct source_path){NULL, path}, RESOLVER_WAIT, &h));
		assert_text(&h.id, cases[i].id);
		assert_text(&h.cwd, cases[i].cwd);
		assert_text(&h.parent, cases[i].parent);
		*strrchr(path, '/') = '\0';
	}
	remove_all(path);
}

RUN_CASES(NULL, NULL)
