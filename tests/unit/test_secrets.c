/* SPDX-License-Identifier: MIT */
/* The table of --secrets: keys in entries, headers, damaged and long lines, read in pieces. */
#include "cases.h"
#include "closed_path.h"
#include "facts_fixture.h"
#include "sessionfs/file/secret.h"
#include "sessionfs/find/tables.h"

/* No scanner takes this file for a leak. */
#define KEY                                                                                                            \
	"hf_"                                                                                                          \
	"example0example0example0example0"
#define HEADING "project\tstem\tentry\tkind\tstart\tlength\n"
#define HOLDS(id, text) "{\"type\":\"custom\",\"id\":\"" id "\",\"data\":\"" text "\"}\n"

/* Asserts the table of all sessions of the source, of which this one cannot be read now; NULL: all can. */
static void assert_secrets_without(struct source_fixture *p, const char *closed, const char *expected)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct facts *f CLEANUP_FACTS = open_facts(p);
	const struct fact_list *list CLEANUP_LIST = all(f);
	closed_path = closed;
	assert_int_equal(table_secrets(list, &out), closed ? -EHOSTDOWN : 0);
	closed_path = NULL;
	assert_string_equal(buf_cstr(&out), expected);
}

static void assert_secrets(struct source_fixture *p, const char *expected)
{
	assert_secrets_without(p, NULL, expected);
}

#define ROW(project, stem, entry) project "\t" stem "\t" entry "\thuggingface\thf_e\t35\n"

FIXTURE_CASE(keys_are_listed_by_entry)
{
	put(p, "--a--/s.jsonl",
	    HEADER_OF("s", "/w") HOLDS("x", "no key") HOLDS("y", "a " KEY " b " KEY) HOLDS("z", KEY));
	put(p, "--a--/none.jsonl", HEADER_OF("n", "/w") HOLDS("x", "no key"));
	/* In the header, in a line that is torn, and in the last line without a newline. */
	put(p, "--b--/odd.jsonl",
	    "{\"type\":\"session\",\"version\":3,\"id\":\"o\",\"cwd\":\"" KEY "\"}\n" HOLDS("a", "x")
	    "{\"torn " KEY "\n" HOLDS("b", KEY) "{\"type\":\"" KEY);
	set_mtime(p, "--a--/s.jsonl", 2000);
	set_mtime(p, "--b--/odd.jsonl", 1000);
	assert_secrets(p, HEADING ROW("a", "s", "y") ROW("a", "s", "y") ROW("a", "s", "z") ROW("b", "odd", "")
	                      ROW("b", "odd", "") ROW("b", "odd", "b") ROW("b", "odd", ""));
	assert_secrets_without(p, "--b--/odd.jsonl", HEADING ROW("a", "s", "y") ROW("a", "s", "y") ROW("a", "s", "z"));
}

FIXTURE_CASE(without_keys_the_table_is_empty)
{
	put(p, "--a--/none.jsonl", HEADER_OF("n", "/w") HOLDS("x", "no key"));
	assert_secrets(p, HEADING);
}

/* The file is read in pieces of 256 KiB (with small limits, 100 bytes): a key is found wherever one begins or ends. */
FIXTURE_CASE(keys_between_pieces_are_found)
{
	for (unsigned i = 0; i < 4; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		const size_t ends[] = {0, 1, 17, 35};
		buf_adds(&text, HEADER_OF("s", "/w") "{\"type\":\"custom\",\"id\":\"l\",\"data\":\"");
		while (text.n < 256 * 1024 - 36 + ends[i])
			buf_addc(&text, 'x');
		buf_adds(&text, " " KEY "\"}\n" HOLDS("m", KEY));
		while (text.n < 256 * 1024 * 3)
			buf_adds(&text, HOLDS("n", "a line"));
		buf_adds(&text, HOLDS("o", KEY));
		put(p, "--a--/s.jsonl", buf_cstr(&text));
		assert_secrets(p, HEADING ROW("a", "s", "l") ROW("a", "s", "m") ROW("a", "s", "o"));
		catalog_close(p->c);
		p->c = NULL;
	}
	open_place(p);
}

/* A line over the limit is skipped, and the lines around it are not. It is a hole, but for a key at each end. */
FIXTURE_CASE(long_lines_are_skipped)
{
	put(p, "--a--/s.jsonl", HEADER_OF("s", "/w") HOLDS("a", KEY) KEY);
	struct stat st;
	assert_int_equal(stat(at(p, "--a--/s.jsonl"), &st), 0);
	assert_int_equal(truncate(at(p, "--a--/s.jsonl"), st.st_size + (off_t)SECRET_LINE), 0);
	append(p, "--a--/s.jsonl", " " KEY "\n" HOLDS("b", KEY));
	assert_secrets(p, HEADING ROW("a", "s", "a") ROW("a", "s", "b"));
}

RUN_CASES(NULL, NULL)
