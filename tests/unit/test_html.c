/* SPDX-License-Identifier: MIT */
/* Text in pages is never markup. */
#include "cases.h"
#include "sessionfs/render/html.h"
#include "page_words.h"
#include "session_lines.h"

static const char *markdown(const char *text, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(html_add_markdown(span_of(text), out), 0);
	assert_non_null(buf_cstr(out));
	return buf_cstr(out);
}

static void shows(const char *text, const char *html)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	assert_string_equal(markdown(text, &out), html);
}

CASE(text_is_escaped)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	html_add_text(span_of("a<b>&\"'c"), &out);
	assert_string_equal(buf_cstr(&out), "a&lt;b&gt;&amp;&quot;&#39;c");
	html_escape_from(&out, 8);
	assert_string_equal(buf_cstr(&out), "a&lt;b&gt;&amp;amp;&amp;quot;&amp;#39;c");
	struct json j;
	struct json_value v;
	json_init(&j, span_of("\"\\u003cx\\\"\\ud800\\u0000\""), NULL);
	assert_true(json_value(&j, &v));
	buf_reset(&out);
	html_add_value(v, &out);
	assert_string_equal(buf_cstr(&out), "&lt;x&quot;\xef\xbf\xbd\u2400");
}

CASE(path_has_no_scheme)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	html_add_url(span_of("../a b/javascript:x?y#z\"%\xc3\xa9"), &out);
	assert_string_equal(buf_cstr(&out), "../a%20b/javascript%3Ax%3Fy%23z%22%25%C3%A9");
}

CASE(markdown_is_rendered)
{
	shows("a *b* **c** ~~d~~ `e`\nf",
	      "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code><br>\nf</p>\n");
	shows("- [x] a\n- [ ] b", "<ul>\n<li>\u2611 a</li>\n<li>\u2610 b</li>\n</ul>\n");
	shows("3. a", "<ol start=\"3\">\n<li>a</li>\n</ol>\n");
	shows("```c++\na<b\n```", "<pre><code class=\"language-c++\">a&lt;b\n</code></pre>\n");
	/* Other text there is shown. */
	shows("~~~c++ x&y\nz\n~~~",
	      "<p><code>c++ x&amp;y</code></p>\n<pre><code class=\"language-c++\">z\n</code></pre>\n");
	shows("```a\"b\nx\n```", "<p><code>a&quot;b</code></p>\n<pre><code>x\n</code></pre>\n");
	shows("| a |  | c |\n|:---:|---|---:|\n| 1 | 2 | 3 |",
	      "<div class=\"wide\" tabindex=\"0\"><table>\n<thead>\n<tr><th class=\"center\">a</th><td></td><th "
	      "class=\"right\">c</th></tr>\n</thead>\n<tbody>\n<tr><td class=\"center\">1</td><td>2</td><td "
	      "class=\"right\">3</td></tr>\n</tbody>\n</table></div>\n");
}

/* Heading levels have no gaps, start under the entry's, and exist only with text. */
CASE(headings_are_renumbered_without_gaps)
{
	shows("### a\n# b\n### c\n## d\n#\n", "<h3>a</h3>\n<h3>b</h3>\n<h4>c</h4>\n<h4>d</h4>\n");
	shows("# 1\n## 2\n### 3\n#### 4\n##### 5\n", "<h3>1</h3>\n<h4>2</h4>\n<h5>3</h5>\n<h6>4</h6>\n<h6>5</h6>\n");
}

#define A "<a rel=\"noopener noreferrer\" href=\""

CASE(links_are_harmless)
{
	shows("[a](http://b \"t'\")", "<p>" A "http://b\" title=\"t&#39;\">a</a></p>\n");
	shows("[a](MAILTO:b@c) <HTTPS://d>", "<p>" A "MAILTO:b@c\">a</a> " A "HTTPS://d\">HTTPS://d</a></p>\n");
	shows("https://a.example/x?y=1&z",
	      "<p>" A "https://a.example/x?y=1&amp;z\">https://a.example/x?y=1&amp;z</a></p>\n");
	shows("![p](http://b/c.png) ![](http://d)", "<p>" A "http://b/c.png\">p</a> " A "http://d\">link</a></p>\n");
	shows("[a ![b](http://c) d](http://e)", "<p>" A "http://e\">a b (http://c) d</a></p>\n");
	static const char *const none[] =
	    ITEMS(
	    "[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](java&#115;cript:alert(1))",
	    "[a](<java script:x>)", "[a](data:text/html,x)", "[a](vbscript:x)", "[a](&#104;ttp://b)",
	    "[a](file:///etc/passwd)", "[a](//b)", "[a](#b)", "[a](b/c)", "![a](javascript:x)",
	    "[a]( javascript:alert(1))", "[a](\\javascript:alert(1))", "[a][b]\n\n[b]: javascript:x", "[a](http:x)",
	    "[a](x:http://b)", "[a](blob:http://b)");
	struct buf out CLEANUP_BUF = BUF_INIT;
	for (size_t i = 0; i < COUNT(none); i++)
		assert_null(strstr(markdown(none[i], &out), "<a"));
}

/* Text that must not be a link shows its target. */
CASE(rejected_link_targets_are_shown)
{
	shows("[the *code*](src/fs.c#L10)", "<p>the <em>code</em> (src/fs.c#L10)</p>\n");
	shows("![shot](a%20b.png 'a \"t') x", "<p>shot (a%20b.png a &quot;t) x</p>\n");
	shows("![](a.png)[](b)", "<p> (a.png) (b)</p>\n");
	shows("[src/a&b.c](src/a&b.c)", "<p>src/a&amp;b.c</p>\n");
	shows("[a [b](c) d](e)", "<p>[a b (c) d](e)</p>\n");
	shows("[![a](b)](c)", "<p>a (b) (c)</p>\n");
	shows("*[a*](<b c>)", "<p>*a* (b c)</p>\n");
	shows("[a](javascript:alert(1)) <xy:z>", "<p>a (javascript:alert(1)) xy:z</p>\n");
	shows("[a]()", "<p>a</p>\n");
}

/* Lines that would define links or footnotes. */
CASE(link_definitions_are_shown_as_text)
{
	shows("[FAIL]: test_three_days", "<p>[FAIL]: test_three_days</p>\n");
	shows("[^1]: note\n[^2]: other", "<p>[^1]: note<br>\n[^2]: other</p>\n");
	shows("see [a][b] and [b]\n\n[b]: /x\n'title'",
	      "<p>see [a][b] and [b]</p>\n<p>[b]: /x<br>\n&#39;title&#39;</p>\n");
	shows("[two\nlines]: x", "<p>[two<br>\nlines]: x</p>\n");
	shows("[a\\]b]:\nx", "<p>[a]b]:<br>\nx</p>\n");
	shows("[a`]: x\n[b]: y`", "<p>[a<code>]: x [b]: y</code></p>\n");
	shows("[a]: x\n===", "<h3>[a]: x</h3>\n");
	shows("> > [a]: x", "<blockquote>\n<blockquote>\n<p>[a]: x</p>\n</blockquote>\n</blockquote>\n");
	shows("- [a]: x\n- [ ] [b]: y\n", "<ul>\n<li>[a]: x</li>\n<li>\u2610 [b]: y</li>\n</ul>\n");
	shows("12) [a]: x\n\n    [b]: y", "<ol start=\"12\">\n<li><p>[a]: x</p>\n<p>[b]: y</p>\n</li>\n</ol>\n");
	shows("a\r\r[b]: y", "<p>a</p>\n<p>[b]: y</p>\n");
	shows("[[a]: x", "<p>[[a]: x</p>\n");
	shows("[[a]\r\n[b]: x", "<p>[[a]<br>\n[b]: x</p>\n");
	shows("[a\\[\n> [\n> [b]: x", "<p>[a[</p>\n<blockquote>\n<p>[<br>\n[b]: x</p>\n</blockquote>\n");
	shows("[a\\[\n[\n[b]: x", "<p>[a[<br>\n[<br>\n[b]: x</p>\n");
	/* Code, and lines that define nothing, do not change. */
	shows("    [a]: x", "<pre><code>[a]: x\n</code></pre>\n");
	shows("```\n[a]: \\[x\n```", "<pre><code>[a]: \\[x\n</code></pre>\n");
	shows("`a\n[b]: c`", "<p><code>a [b]: c</code></p>\n");
	shows("[a](http://b): c", "<p>" A "http://b\">a</a>: c</p>\n");
}

#define TABLE(head, body)                                                                                              \
	"<div class=\"wide\" tabindex=\"0\"><table>\n<thead>\n" head "</thead>\n" body "</table></div>\n"

/* Surplus cells join the last column. */
CASE(surplus_cells_are_merged)
{
	shows("|a|b|\n|---|---|\n|1|2|3|*4*|\n|5|6|\n",
	      TABLE("<tr><th>a</th><th>b</th></tr>\n",
	            "<tbody>\n<tr><td>1</td><td>2|3|<em>4</em></td></tr>\n<tr><td>5</td><td>6</td></tr>\n</tbody>\n"));
	shows("> a|b|c\n> ---|---\n",
	      "<blockquote>\n" TABLE("<tr><th>a</th><th>b|c</th></tr>\n", "") "</blockquote>\n");
	shows("|a|b|\n|---|---|\n|`1|2`|3\\|4|\n|||\n| | |x|\n",
	      TABLE("<tr><th>a</th><th>b</th></tr>\n",
	            "<tbody>\n<tr><td><code>1|2</code></td><td>3|4</td></tr>\n<tr><td></td><td></td></tr>\n"
	            "<tr><td></td><td>|x</td></tr>\n</tbody>\n"));
	/* The URL ends with the cell. */
	shows("a|b\n---|---\n1|http://x|y",
	      TABLE("<tr><th>a</th><th>b</th></tr>\n",
	            "<tbody>\n<tr><td>1</td><td>" A "http://x\">http://x</a>|y</td></tr>\n</tbody>\n"));
	/* The next table has its own columns. */
	shows("a|b\n---|---\n\na|b|c\n---|---|---\n1|2|3",
	      TABLE("<tr><th>a</th><th>b</th></tr>\n", "")
	          TABLE("<tr><th>a</th><th>b</th><th>c</th></tr>\n",
	                "<tbody>\n<tr><td>1</td><td>2</td><td>3</td></tr>\n</tbody>\n"));
	shows("    a|b\n    ---|---\n    1|2|3", "<pre><code>a|b\n---|---\n1|2|3\n</code></pre>\n");
}

static void assert_words(struct span text)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	assert_int_equal(html_add_markdown(text, &out), 0);
	struct span missing = missing_word(text, buf_span(&out));
	if (missing.n > 0)
		fail_msg("no \"%.*s\" of \"%.*s\" in \"%.*s\"", (int)missing.n, missing.p, (int)text.n, text.p,
		         (int)out.n, out.p);
	assert_null(out.n ? memchr(out.p, 0xff, out.n) : NULL);
	assert_null(out.n ? memchr(out.p, 0xfe, out.n) : NULL);
}

/* Texts of pieces of syntax, and of unique words. */
CASE(no_word_is_lost)
{
	static const char *const pieces[] =
	    ITEMS(
	    "[", "]", "]:", "](", ") ", "(", "[a]: ", "[^1]: ", "\n", "\n", "\n\n", "\r", "> ", "- ", "1. ", "    ",
	    "\t", "`", "``", "```", "~~~", "|", "|", " | ", "|---|---|\n", "---|---\n", "|---|\n", "a|b\n---|---\n",
	    "<http://x`y>", "<x@y>", "<", ">", "\\", "*", "_", "**", "~~", "# ", "\n===\n", "\n---\n", "![", "'", "\"",
	    "- [x] ", "&amp;", " ", " ", "http://", ":", "\u00e9", "<b>");
	uint64_t dice = 1;
	for (int round = 0; round < 20000; round++) {
		struct buf text CLEANUP_BUF = BUF_INIT;
		for (int i = 0; i < 24; i++) {
			dice = dice * 6364136223846793005 + 1442695040888963407;
			size_t k = (size_t)(dice >> 33) % (COUNT(pieces) * 3 / 2);
			if (k < COUNT(pieces))
				buf_adds(&text, pieces[k]);
			else
				buf_addf(&text, "w%d ", i);
		}
		assert_words(buf_span(&text));
	}
}

CASE(raw_html_is_text)
{
	shows("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>\n");
	shows("a <b onclick=\"x\">c", "<p>a &lt;b onclick=&quot;x&quot;&gt;c</p>\n");
	shows("<!-- x -->", "<p>&lt;!-- x --&gt;</p>\n");
	shows("`</code><img src=x>`", "<p><code>&lt;/code&gt;&lt;img src=x&gt;</code></p>\n");
}

static void fill(struct buf *b, const char *what, size_t n)
{
	buf_reset(b);
	while (b->n < n)
		buf_adds(b, what);
}

/* Input that would grow beyond a small multiple, nests without end or is very long stays unrendered. */
CASE(output_size_is_bounded)
{
	struct buf in CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
	static const char *const deep[] = {"> ", "- a\n",          "1. ", "[", "[a]: x\n", "[\\",
	                                   "|`", "a|b\n---|---\n", "<`|@"};
	/* Rows with missing cells. */
	for (int i = 0; i < 1000; i++)
		buf_adds(&in, "|a");
	buf_addc(&in, '\n');
	for (int i = 0; i < 1000; i++)
		buf_adds(&in, "|---");
	for (int i = 0; i < 10000; i++)
		buf_adds(&in, "\n|b");
	assert_int_equal(html_add_markdown(buf_span(&in), &out), 0);
	assert_true(out.n < 10 * in.n);
	/* Newer versions of md4c (0.5) see no table there. */
	assert_true(memcmp(out.p, "<pre>", 5) == 0 || memcmp(out.p, "<p>|a", 5) == 0);
	for (size_t i = 0; i < COUNT(deep); i++) {
		fill(&in, deep[i], 100000);
		buf_adds(&in, "a");
		buf_reset(&out);
		assert_int_equal(html_add_markdown(buf_span(&in), &out), 0);
		assert_true(out.n < 10 * in.n);
	}
	/* The deepest paragraph is not lost. */
	for (unsigned depth = 90; depth < 110; depth++) {
		buf_reset(&in);
		for (unsigned i = 0; i < depth; i++)
			buf_addc(&in, '>');
		buf_adds(&in, "word");
		assert_words(buf_span(&in));
	}
	fill(&in, "a *b*\n\n", 300000);
	buf_reset(&out);
	assert_int_equal(html_add_markdown(buf_span(&in), &out), 0);
	assert_memory_equal(out.p, "<pre>a *b*", 10);
}

CASE(page_has_no_external_resources)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	static const struct html_assets assets = {{"/* c */\na { b: c, d; e: \"f g\"; }\n", "  b {}\n"},
	                                          {"// c\n\t1 + { 2 }\n"}};
	html_begin(span_of("</title><script>"), &assets, &out);
	const char *page = buf_cstr(&out);
	/* Of what is between the tags: openssl dgst -sha256 -binary | base64 */
	assert_non_null(strstr(
	    page, "style-src 'sha256-phLcz5CT0quX5f4lGAX2K+Lm8V+JeUhD36ShbvdkfKE='; script-src "
		  "'sha256-3iInDJViPYWMRNhQf6DVxq9mVyfdV+nCgRyk2FlVHC4='; base-uri 'none'; form-action 'none'\""));
	assert_non_null(strstr(page, "default-src 'none'; img-src data:;"));
	assert_non_null(strstr(page, "<title>&lt;/title&gt;&lt;script&gt;</title>"));
	assert_non_null(strstr(page, "<style>a{b:c,d;e:\"f g\";}b{}</style>"));
	html_end(&assets, &out);
	assert_non_null(strstr(buf_cstr(&out), "<body>\n<script>1 + { 2 }\n</script>\n</body>\n</html>\n"));
}

CASE(title_has_no_mark_of_a_heading)
{
	static const char *const cases[][2] = {
	    {"# A plan", "A plan"},
	    {"######  A plan #", "A plan #"},
	    {"#1 is open", "#1 is open"},
	    {"#", "#"},
	    {"", ""},
	    {"####### A plan", "####### A plan"},
	    {"A # plan", "A # plan"},
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_true(span_eq(html_title(span_of(cases[i][0])), span_of(cases[i][1])));
}

RUN_CASES(NULL, NULL)
