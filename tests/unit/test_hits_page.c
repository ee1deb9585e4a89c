/* SPDX-License-Identifier: MIT */
/* search/QUERY/hits.html: its sections, its lines, and the marks in them. */
#include "cases.h"
#include "write_fixture.h"

#define OF(entries) "<p>p \u00b7 2026-01-02 \u00b7 " entries "</p>"
#define WHEN "<time datetime=\"2026-01-02T03:04:05.678Z\">2026-01-02 03:04</time>"
#define ITEM(text, id, what, when, line)                                                                               \
	"<li><a href=\"" text "#" id "&amp;find=word\">" what "</a> " when "<p dir=\"auto\">" line "</p></li>\n"
#define PAGE(text, id, what, line) ITEM(text, id, what, WHEN, line)

/* Reads the part of the page between <main> and </main>. */
static void read_main(struct source_fixture *p, const char *path, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(tree_read(p->tree, node_at(p, path), 0, 1 << 20, out), 0);
	char *begin = strstr(buf_cstr(out), "<main>\n"), *end = strstr(out->p, "</main>");
	assert_true(begin && end);
	begin += strlen("<main>\n");
	memmove(out->p, begin, (size_t)(end - begin));
	out->n = (size_t)(end - begin);
}

static void assert_main(struct source_fixture *p, const char *path, const char *expected)
{
	CLEANUP_BUF struct buf page = BUF_INIT;
	read_main(p, path, &page);
	assert_text(&page, expected);
}

/* Asserts the one line that a query finds in one message. */
static void assert_line(struct source_fixture *p, const char *query, const char *line)
{
	CLEANUP_BUF struct buf path = BUF_INIT, page = BUF_INIT, expected = BUF_INIT;
	buf_addf(&path, "search/%s/hits.html", query);
	read_main(p, buf_cstr(&path), &page);
	buf_addf(&expected, "<p dir=\"auto\">%s</p>", line);
	const char *begin = strstr(buf_cstr(&page), "<p ");
	assert_non_null(begin);
	page.n = (size_t)(strstr(begin, "</li>") - begin);
	memmove(page.p, begin, page.n);
	assert_text(&page, buf_cstr(&expected));
}

FIXTURE_CASE(words_are_marked)
{
	begin(p, HEADER USER("a", null, "Keystone <b>KEYSTONES</b> at 10:30:00, stone."));
	assert_line(p, "keystone",
	            "<mark>Keystone</mark> &lt;b&gt;<mark>KEYSTONE</mark>S&lt;/b&gt; at 10:30:00, stone.");
	assert_line(p, "word:keystone", "<mark>Keystone</mark> &lt;b&gt;KEYSTONES&lt;/b&gt; at 10:30:00, stone.");
	assert_line(p, "stone",
	            "Key<mark>stone</mark> &lt;b&gt;KEY<mark>STONE</mark>S&lt;/b&gt; at 10:30:00, <mark>stone</mark>.");
	/* Of words that begin at one place, the longest; of others, the first. */
	assert_line(p, "key keystone",
	            "<mark>Keystone</mark> &lt;b&gt;<mark>KEYSTONE</mark>S&lt;/b&gt; at 10:30:00, stone.");
	assert_line(p, "keystone key",
	            "<mark>Keystone</mark> &lt;b&gt;<mark>KEYSTONE</mark>S&lt;/b&gt; at 10:30:00, stone.");
	assert_line(p, "key word:stone",
	            "<mark>Key</mark>stone &lt;b&gt;<mark>KEY</mark>STONES&lt;/b&gt; at 10:30:00, <mark>stone</mark>.");
	assert_line(p, "stone at",
	            "Key<mark>stone</mark> &lt;b&gt;KEY<mark>STONE</mark>S&lt;/b&gt; <mark>at</mark> 10:30:00, "
	            "<mark>stone</mark>.");
	/* A word that must not be there, and a filter, have no mark. */
	assert_line(p, "stone -missing role:user",
	            "Key<mark>stone</mark> &lt;b&gt;KEY<mark>STONE</mark>S&lt;/b&gt; at 10:30:00, <mark>stone</mark>.");
	assert_line(p, "00, .", "Keystone &lt;b&gt;KEYSTONES&lt;/b&gt; at 10:30:<mark>00,</mark> stone<mark>.</mark>");
}

/* Marks are found in folded text, where one character can be several, and several one. */
FIXTURE_CASE(marks_cover_whole_characters)
{
	begin(p, HEADER USER("a", null, "xx Straße, STRASSE, KY, ÉTÉ end"));
	assert_line(p, "strasse", "xx Stra\u00dfe, <mark>STRASSE</mark>, \u212aY, E\u0301T\u00c9 end");
	assert_line(p, "\u00e9t\u00e9", "xx Stra\u00dfe, STRASSE, \u212aY, <mark>E\u0301T\u00c9</mark> end");
	assert_line(p, "ky", "xx Stra\u00dfe, STRASSE, <mark>\u212aY</mark>, E\u0301T\u00c9 end");
	assert_line(p, "end", "xx Stra\u00dfe, STRASSE, \u212aY, E\u0301T\u00c9 <mark>end</mark>");
	assert_line(p, "xx", "<mark>xx</mark> Stra\u00dfe, STRASSE, \u212aY, E\u0301T\u00c9 end");
}

/* Names in the path of a line can have colons, and the text can begin like a path. */
FIXTURE_CASE(the_path_of_a_line_is_left_out)
{
	begin(p, HEADER USER("a:1:b", null, "word: one:two") USER("c", "a:1:b", "x/entries/d:1:word"));
	assert_main(p, "search/word/hits.html",
	    "<section><h2><a href=\"../../html/p/s.html\">word: one:two</a></h2>" OF("2 entries") "<ul>\n"
	    PAGE("../../html/p/s.html", "a%3A1%3Ab", "user", "<mark>word</mark>: one:two")
	    PAGE("../../html/p/s.html", "c", "user", "x/entries/d:1:<mark>word</mark>") "</ul></section>\n");
	CLEANUP_BUF struct buf page = BUF_INIT;
	assert_int_equal(tree_read(p->tree, node_at(p, "search/word/hits.html"), 0, 1 << 20, &page), 0);
	assert_non_null(strstr(buf_cstr(&page), "</a></p>\n<p>2 entries in 1 session. Times: UTC</p>"));
}

FIXTURE_CASE(tool_calls_are_shown)
{
	begin(p,
	    HEADER USER("a", null, "title")
	    LINE({"type":"message","id":"b","parentId":"a","message":{"role":"assistant",
	        "content":[CALL("t:1:x", "a:1:sh", "command":"say: word")]}}));
	assert_main(p, "search/word/hits.html",
	    "<section><h2><a href=\"../../html/p/s.html\">title</a></h2>" OF("1 entry") "<ul>\n"
	    ITEM("../../html/p/s.html", "b", "call a:1:sh", "", "command: say: <mark>word</mark>") "</ul></section>\n");
	assert_reads(p, "search/word/hits.txt",
	             "projects/p/s/entries/b/tool-calls/1-a:1:sh/arguments.txt:1:command: say: word\n");
}

/* Each session has a section, the newest first. */
FIXTURE_CASE(sessions_have_sections)
{
	char path[256];
	snprintf(path, sizeof path, "%s/--p--/t.jsonl", p->root);
	put_file(path, HEADER USER("b", null, "other <word>") USER("c", "b", "word\nno\nlast word"));
	const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	begin(p, HEADER USER("a", null, "a word"));
	assert_main(p, "search/word/hits.html",
	    "<section><h2><a href=\"../../html/p/s.html\">a word</a></h2>" OF("1 entry") "<ul>\n"
	    PAGE("../../html/p/s.html", "a", "user", "a <mark>word</mark>") "</ul></section>\n"
	    "<section><h2><a href=\"../../html/p/t.html\">other &lt;word&gt;</a></h2>" OF("2 entries") "<ul>\n"
	    PAGE("../../html/p/t.html", "b", "user", "other &lt;<mark>word</mark>&gt;")
	    PAGE("../../html/p/t.html", "c", "user", "<mark>word</mark></p><p dir=\"auto\">last "
	    "<mark>word</mark>") "</ul></section>\n");
}

/* The link to an entry has the words, not the filters, as encodeURIComponent writes them. */
FIXTURE_CASE(links_have_the_words)
{
	static const char *const rows[][2] = {
	    {"what role:user -absent", "#a&amp;find=what\""},
	    {"\"isn't (it)\" a%2Fb!", "#a&amp;find=a%2Fb!%20%22isn't%20(it)%22\""},
	    {"\"caf\u00e9 \u201cb\u201d\"", "#a&amp;find=caf%C3%A9%20%22b%22\""},
	    {"word:caf\u00e9 &", "#a&amp;find=%26%20caf%C3%A9\""},
	    {"what nowhere in:session", NULL},
	    {"what isn in:session", "#a&amp;find=isn%20what\""},
	    {"role:user", "#a\""},
	};
	begin(p, HEADER USER("a", null, "What isn't (it) a/b! & café “b”"));
	for (size_t i = 0; i < COUNT(rows); i++) {
		CLEANUP_BUF struct buf path = BUF_INIT, page = BUF_INIT;
		buf_addf(&path, "search/%s/hits.html", rows[i][0]);
		read_main(p, buf_cstr(&path), &page);
		if (rows[i][1] ? !strstr(buf_cstr(&page), rows[i][1]) : page.n > 0)
			fail_msg("%s: %s", rows[i][0], buf_cstr(&page));
	}
}

/* Each query has a page, with a field to change it. Without a match it says what may have been meant. */
FIXTURE_CASE(every_query_has_a_page)
{
	static const struct {
		const char *query, *value, *hint;
	} rows[] = {
	    {"absent", "absent", ""},
	    {"roel:user \"<b\"", "roel:user &quot;&lt;b&quot;",
	     "<p>roel:user: not a filter, so this is a word; did you mean role:</p>\n"},
	    {"after:banana", "after:banana",
	     "<p>banana: not a day; use YYYY-MM-DD, YYYY-MM, today, yesterday, 7d or 2w</p>\n"},
	    {"%", "", "<p>empty query; write words</p>\n"},
	};
	begin(p, HEADER USER("a", null, "a word"));
	for (size_t i = 0; i < COUNT(rows); i++) {
		CLEANUP_BUF struct buf path = BUF_INIT, page = BUF_INIT, want = BUF_INIT;
		buf_addf(&path, "search/%s/hits.html", rows[i].query);
		assert_int_equal(tree_read(p->tree, node_at(p, buf_cstr(&path)), 0, 1 << 20, &page), 0);
		buf_addf(&want, "<p>0 entries</p>\n%s<p id=\"search\">", rows[i].hint);
		assert_non_null(strstr(buf_cstr(&page), buf_cstr(&want)));
		buf_reset(&want);
		buf_addf(&want, "value=\"%s\"", rows[i].value);
		assert_non_null(strstr(buf_cstr(&page), buf_cstr(&want)));
	}
	/* An invalid query has nothing else but its error. */
	assert_reads(p, "search/-/error", "-: no value; add one without a space\n");
	assert_reads(p, "search/a OR b/error", "OR: OR is not an operator; search for each word, or use rg 'a|b'\n");
	assert_missing(p, "search/-/hits.txt");
	assert_missing(p, "search/-/entries.tsv");
	assert_missing(p, "search/absent/error");
	assert_missing(p, "search/word/error");
	assert_missing(p, "search/100%");
}

RUN_CASES(in_utc, NULL)
