/* SPDX-License-Identifier: MIT */
/* html/: the names of projects and pages, and the links between pages. */
#include "cases.h"
#include "write_fixture.h"

/* Creates a session NAME.jsonl in a directory of the source. */
static void add_session(struct source_fixture *p, const char *dir, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", p->root, dir);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	snprintf(path, sizeof path, "%s/%s/%s.jsonl", p->root, dir, name);
	put_file(path, text);
}

FIXTURE_CASE(the_index_keeps_its_name)
{
	add_session(p, "--index.html--", "one", ABC);
	add_session(p, "--index.html~2--", "two", ABC);
	begin(p, ABC);
	assert_lists(p, "html", "index.html index.html~2 index.html~3 p ");
	struct tree_attr a;
	assert_int_equal(find(p, "html/index.html", &a), 0);
	assert_true(S_ISREG(a.mode));
	assert_lists(p, "html/index.html~3", "one.html ");
	assert_lists(p, "html/index.html~2", "two.html ");
	assert_lists(p, "html/p", "s.html ");
	assert_missing(p, "html/index.html~4");
	assert_missing(p, "html/q");
	assert_has(p, "html/index.html", "href=\"index.html~3/one.html\"");
	assert_has(p, "html/index.html", "href=\"index.html~2/two.html\"");
}

struct names {
	char name[8][300];
	node_t node[8];
	size_t n;
};

static int note_name(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                     const struct tree_attr *attr)
{
	struct names *names = arg;
	assert_true(names->n < 8 && name.n < sizeof *names->name);
	memcpy(names->name[names->n], name.p, name.n);
	names->name[names->n][name.n] = '\0';
	names->node[names->n++] = node;
	return 0;
}

/* Each % is three bytes in a name. */
FIXTURE_CASE(long_names_are_truncated_with_their_suffix)
{
	char file[256], path[320];
	static struct names pages;
	pages.n = 0;
	/* 255 bytes and more, the same but for their ends, and one whose page has 255 bytes. */
	for (unsigned i = 0; i < 4; i++) {
		memset(file, '%', 100);
		memset(file + 100, 'x', 100);
		snprintf(file + (i < 3 ? 84 : 77), 60, "%.*s%s", 20, "xxxxxxxxxxxxxxxxxxxx",
		         i == 0   ? "a"
		         : i == 1 ? "b"
		         : i == 2 ? ""
		                  : "c");
		add_session(p, "--p--", file, ABC);
	}
	memset(file, 'y', 250);
	file[249] = '\0';
	add_session(p, "--p--", file, ABC);
	begin(p, ABC);
	assert_int_equal(tree_list(p->tree, node_at(p, "html/p"), 0, TREE_ATTRS, note_name, &pages), 0);
	assert_int_equal(pages.n, 6);
	unsigned truncated = 0;
	for (size_t i = 0; i < pages.n; i++) {
		size_t n = strlen(pages.name[i]);
		assert_true(n <= 255);
		/* A name that was truncated ends in a hash. */
		bool is_cut = strcmp(pages.name[i] + n - 5, ".html") != 0;
		assert_true(!is_cut || (n > 250 && pages.name[i][n - 9] == '~'));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(pages.name[i], pages.name[k]);
		snprintf(path, sizeof path, "html/p/%s", pages.name[i]);
		assert_true(node_at(p, path) == pages.node[i]);
		assert_has(p, path, "<!DOCTYPE html>");
		truncated += is_cut;
		/* A name that differs in one byte is of no page. */
		path[strlen(path) - 8] ^= 1;
		assert_missing(p, path);
	}
	assert_int_equal(truncated, 4);
}

/* A page leads to the page of its parent, and to those that it started, in the order of their paths. */
FIXTURE_CASE(pages_lead_to_relatives)
{
	CLEANUP_BUF struct buf fork = BUF_INIT;
	buf_addf(&fork, FORK("f", "%s"), p->file);
	buf_adds(&fork, USER("a", null, "hi") USER("d", "a", "hi"));
	add_session(p, "--p--", "fork", buf_cstr(&fork));
	add_session(p, "--p--/s", "z", buf_cstr(&fork));
	add_session(p, "--p--/s", "b", buf_cstr(&fork));
	add_session(p, "--p--/s", "m", buf_cstr(&fork));
	begin(p, ABC);
	assert_has(p, "html/p/fork.html", "href=\"../p/s.html\"");
	CLEANUP_BUF struct buf page = BUF_INIT;
	assert_int_equal(tree_read(p->tree, node_at(p, "html/p/s.html"), 0, 1 << 20, &page), 0);
	const char *b = strstr(buf_cstr(&page), "href=\"../p/s%2Bb.html\""),
		   *m = strstr(page.p, "href=\"../p/s%2Bm.html\""), *z = strstr(page.p, "href=\"../p/s%2Bz.html\"");
	assert_true(b && m && z);
	assert_true(b < m && m < z);
	assert_null(strstr(page.p, "fork.html"));
}

RUN_CASES(NULL, NULL)
