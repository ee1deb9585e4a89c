/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "page_fixture.h"

#include "sessionfs/base/vec.h"

/* Each entry is one article, and each link within the page has a target. */
static void assert_whole(const char *lines)
{
	CLEANUP_OPENED struct fixture f;
	struct buf out CLEANUP_BUF = BUF_INIT;

	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(produce(&producer_page_html, f.s, session_leaf(f.s), PREFIX, &out), 0);
	assert_non_null(buf_cstr(&out));
	assert_int_equal(count(out.p, "<article id=\""), session_count(f.s));
	for (uint32_t i = 0; i < session_count(f.s); i++) {
		struct buf article CLEANUP_BUF = BUF_INIT;
		buf_adds(&article, "<article id=\"");
		session_entry_name(f.s, i, &article);
		buf_adds(&article, JSON(" class="));
		assert_int_equal(count(out.p, buf_cstr(&article)), 1);
	}
	for (const char *p = out.p; (p = strstr(p, "href=\"#")); p++) {
		struct buf id CLEANUP_BUF = BUF_INIT;
		const char *name = p + strlen("href=\"#");
		buf_addf(&id, " id=\"%.*s\"", (int)(strchr(name, '"') - name), name);
		assert_int_equal(count(out.p, buf_cstr(&id)), 1);
	}
	assert_int_equal(count(out.p, "<details"), count(out.p, "</details>"));
	assert_int_equal(count(out.p, "<div"), count(out.p, "</div>"));
	assert_int_equal(count(out.p, "<main"), 1);
}

CASE(many_entries_are_split_into_parts)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	buf_adds(&lines, HEADER USER("e0", null, "0"));
	for (int i = 1; i < 100; i++)
		buf_addf(&lines, USER("e%d", "e%d", "e%d"), i, i - 1, i);
	for (int i = 100; i < 120; i++)
		buf_addf(&lines, USER("e%d", "e%d", "e%d"), i, i == 100 ? 50 : i - 1, i);
	assert_whole(buf_cstr(&lines));
	page_of(lines.p, &out);
	/* 71 on the path to the leaf, 49 on the other branch. */
	assert_int_equal(count(out.p, "<div class=\"part\">"), 5 + 4);
}

CASE(the_bar_has_at_most_ten_parts)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	buf_adds(&lines, HEADER USER("e0", null, "1"));
	for (int i = 1; i <= 8; i++)
		buf_addf(&lines, MESSAGE("e%d", "e%d", "role":"toolResult","toolName":"t%d","content":"%0*d"), i, i - 1,
		                         i, 4 * i, 0);
	/* A tool can have the name of a role. */
	buf_adds(&lines, MESSAGE("e9", "e8", "role":"toolResult","toolName":"user","content":"123"));
	page_of(buf_cstr(&lines), &out);
	assert_int_equal(count(out.p, "</svg> user 1</span>"), 2);
	assert_int_equal(count(out.p, "height=\"1\"/><rect"), 9);
	assert_has(&out, "<rect class=\"c7\" x=\"37\" width=\"1\" height=\"1\"/></svg>");
	buf_adds(&lines, MESSAGE("f0", "e9", "role":"custom","content":"123"));
	page_of(buf_cstr(&lines), &out);
	assert_has(&out, "<span title=\"39 tokens\">");
	assert_int_equal(count(out.p, "height=\"1\"/><rect"), 9);
	assert_has(&out, "<rect class=\"c7\" x=\"37\" width=\"2\" height=\"1\"/></svg>");
	assert_has(&out, "</svg> other 2</span>");
}

/* Rendered again one by one, from the last to the first, segments are equal. */
CASE(segments_can_be_rendered_separately)
{
	CLEANUP_OPENED struct fixture f;
	struct render_totals totals = TOTALS_INIT;
	struct buf whole CLEANUP_BUF = BUF_INIT, again CLEANUP_BUF = BUF_INIT;
	void *items CLEANUP_FREE = NULL;
	size_t n = 0, ends[64] = {0};
	static const char lines[] = AS_IS(HEADER USER("a", null, "root")
	    ASSISTANT("b", "a", THINKING("hm"), SAY("t"), CALL("c", "bash", "command":"ls"))
	    MESSAGE("c", "b", "role":"toolResult","toolCallId":"c","content":"x","isError":true) USER("d", "b", "d")
	    USER("e", "a", "e"));

	fixture_open(&f, lines, strlen(lines));
	const struct render_target p = {.session = f.s, .leaf = session_leaf(f.s), .prefix = PREFIX};
	struct reader reader CLEANUP_READER = READER_INIT;
	assert_int_equal(producer_page_html.list(&p, &totals, &items, &n), 0);
	assert_in_range(n, 1, 63);
	for (size_t i = 0; i < n; i++) {
		const void *item = (const char *)items + i * producer_page_html.item_size;
		assert_int_equal(producer_page_html.segment(&p, item, i == 0, &reader, &totals.usage, &whole), 0);
		ends[i + 1] = whole.n;
	}
	for (size_t i = n; i-- > 0;) {
		struct reader other CLEANUP_READER = READER_INIT;
		const void *item = (const char *)items + i * producer_page_html.item_size;
		buf_reset(&again);
		assert_int_equal(producer_page_html.segment(&p, item, i == 0, &other, NULL, &again), 0);
		assert_int_equal(again.n, ends[i + 1] - ends[i]);
		assert_memory_equal(again.p, whole.p + ends[i], again.n);
	}
}

/* Later nested calls are cut, so the list of files links to their entry. It is cut after FILES. */
CASE(changed_files_lead_to_their_calls)
{
	enum { FILES = LIMIT(500, 5) };
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;

	for (int files = FILES; files <= FILES + 1; files++) {
		buf_reset(&lines);
		buf_adds(
		    &lines,
		    HEADER ASSISTANT("a", null, CALL("c1", "codemode", )) "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{"
						  "\"role\":\"toolResult\",\"toolCallId\":\"c1\",\"content\":\"ok\","
						  "\"nestedCalls\":{\"complete\":true,\"calls\":[");
		for (int i = 1; i <= 1001; i++)
			buf_addf(&lines,
			         JSON(%s{"name":"write","status":"ok","arguments":{"path":"/w/%d","content":"x"}}),
			                 i > 1 ? "," : "", i > 1000 ? i : i % (files - 1));
		buf_adds(&lines, "]}}}\n");
		assert_whole(buf_cstr(&lines));
		page_of(lines.p, &out);
		assert_has(&out, "<a href=\"#b/1\">1</a>");
		assert_int_equal(count(out.p, "<a href=\"#b\">1001</a>"), files == FILES);
		assert_int_equal(count(out.p, "Cut here. <a href=\"../../projects/p/s%20s/files.tsv\">All of them"),
		                 files > FILES);
	}
	page_of(HEADER_OF("s", "/") ASSISTANT("a", null, CALL("c", "write", "path":"x","content":"y")) RESULT("r", "a", "c", ),
	    &out);
	assert_has(&out, "<a href=\"#a/1\">/x</a> +1</li>");
}

/* Renders a message of `role` that is `unit` repeated `times` times. */
static void page_of_long(const char *role, const char *unit, size_t times, struct buf *out)
{
	struct buf lines CLEANUP_BUF = BUF_INIT;

	buf_addf(&lines, HEADER "{\"id\":\"a b\",\"type\":\"message\",\"message\":{\"role\":\"%s\",\"content\":\"x",
	         role);
	for (size_t i = 0; i < times; i++)
		buf_adds(&lines, unit);
	buf_adds(&lines, "\"}}\n");
	page_of_bytes(lines.p, lines.n, out);
}

#define CUT "<p class=\"cut\">Cut here. <a href=\"../../projects/p/s%20s/entries/a%20b/text.md\">All of it</a></p>"

CASE(long_texts_are_cut)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	page_of_long("toolResult", "line\\n", 199, &out);
	assert_has_not(&out, "Cut here");
	assert_int_equal(count(out.p, "line\n"), 199);
	page_of_long("toolResult", "line\\n", 300, &out);
	assert_has(&out, CUT);
	assert_int_equal(count(out.p, "line\n"), 200);
	/* Long lines, and sequences that must not be cut in two. */
	static const char *const units[] = {"abcdefg", "\\ud83d\\ude00", "\u20ac", "\\u00e9",
	                                    "\\\\",    "\U0001f600",     "\\\""};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		page_of_long("toolResult", units[i], 20000, &out);
		assert_has(&out, CUT);
		assert_has_not(&out, "\uFFFD");
		assert_in_range(out.n, 3000, 120000);
	}
	/* Commands too. */
	struct buf line CLEANUP_BUF = BUF_INIT;
	buf_adds(&line,
	         HEADER "{\"id\":\"a b\",\"type\":\"message\",\"message\":{\"role\":\"bashExecution\",\"command\":\"");
	for (int i = 0; i < 5000; i++)
		buf_adds(&line, "a command ");
	buf_adds(&line, "\",\"output\":\"x\"}}\n");
	page_of_bytes(line.p, line.n, &out);
	assert_has(&out, CUT);
	/* In the row of the tree, in the line of the command, and below it. */
	assert_int_equal(count(out.p, "a command "), 9 + 12 + 1638);
	/* A message is cut at a far greater length. */
	page_of_long("user", "some words ", 20000, &out);
	assert_has_not(&out, "Cut here");
	page_of_long("user", "some words ", 30000, &out);
	assert_has(&out, CUT);
	/* The title and the row of the tree repeat part of the text. */
	assert_in_range(count(out.p, "some words "), 23829, 23900);
	page_of_long("user", "\u00e9", 140000, &out);
	assert_has(&out, "<p>x\u00e9");
}

CASE(only_real_pictures_are_embedded)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	static const char *const images[] = ITEMS(
	    JSON(IMAGE("image/png", "QUJD")), JSON(IMAGE("image/svg+xml", "QUI=")), JSON(IMAGE("text/html", "QUJD")),
	    JSON(IMAGE("image/html", "QUJD")), JSON(IMAGE("image/tiff", "QUJD")), JSON(IMAGE("image/png", "")),
	    JSON(IMAGE("image/jpg", "QUJD")), JSON(IMAGE("IMAGE/PNG", "QUJD")), JSON(IMAGE("image/png;x=\"", "QUJD")));
	struct buf lines CLEANUP_BUF = BUF_INIT;

	buf_adds(&lines, HEADER
	         "{\"id\":\"a\",\"parentId\":null,\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":[");
	for (size_t i = 0; i < sizeof images / sizeof *images; i++)
		buf_addf(&lines, "%s%s", i ? "," : "", images[i]);
	buf_adds(&lines, "]}}\n");
	page_of(buf_cstr(&lines), &out);
	assert_has(&out, "<img loading=\"lazy\" alt=\"Picture 1\" src=\"data:image/png;base64,QUJD\">");
	assert_has(&out, "Picture 2, image/svg+xml</p>");
	assert_has(&out, "Picture 3, text/html</p>");
	assert_has(&out, "Picture 4, image/html</p>");
	assert_has(&out, "Picture 5, image/tiff</p>");
	assert_has(&out, "Picture 6, image/png</p>");
	assert_has(&out, "<img loading=\"lazy\" alt=\"Picture 7\" src=\"data:image/jpeg;base64,QUJD\">");
	assert_has(&out, "Picture 8, IMAGE/PNG</p>");
	assert_has(&out, "Picture 9, image/png;x=&quot;</p>");
	assert_int_equal(count(out.p, "<img"), 2);
	assert_has_not(&out, "/images/");
}

/* Base64 that a browser would decode differently from Node.js is encoded again. */
CASE(picture_base64_matches_image_files)
{
	static const struct {
		const char *data, *shown;
	} pictures[] = {
	    {"QUJD", "QUJD"},
	    {"QUI=", "QUI="},
	    {"QQ==", "QQ=="},
	    {"QUI", "QUI="},
	    {"QQ", "QQ=="},
	    {"QUJDQ", "QUJD"},
	    {"Q-_D", "Q+/D"},
	    {"Q+\\/D", "Q+/D"},
	    {"QUI=QUJD", "QUI="},
	    {"QQ=", "QQ=="},
	    {"QU\\\"><b>J\\nD", "QUbJ"},
	    {"QUJD==", "QUJD"},
	    {"\u00e9QUJD", "QUJD"},
	    {"Q", NULL},
	    {"=QUJD", NULL},
	};

	for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
		struct buf lines CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
		buf_addf(&lines, HEADER MESSAGE("a", null, "role":"user","content":[IMAGE("image/gif", "R0lG"),IMAGE("image/png", "%s")]),
		                                           pictures[i].data);
		page_of(buf_cstr(&lines), &out);
		assert_has(&out, "src=\"data:image/gif;base64,R0lG\"");
		if (pictures[i].shown)
			buf_addf(&want, "alt=\"Picture 2\" src=\"data:image/png;base64,%s\"></p>", pictures[i].shown);
		else
			buf_adds(&want, "Picture 2, image/png</p>");
		if (!strstr(out.p, buf_cstr(&want)))
			fail_msg("%s: no %s", pictures[i].data, want.p);
	}
}

/* Once the bytes of pictures reach 48 MB, the next picture is a link. */
CASE(embedded_pictures_are_limited)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
	enum { BYTES = 5 << 20, PICTURES = 12 };

	buf_adds(&lines, HEADER);
	for (int i = 0; i < PICTURES; i++) {
		buf_addf(
		    &lines,
		    "{\"id\":\"p%d\",\"parentId\":%s,\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":["
		    "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"",
		    i, i ? JSON("p0") : "null");
		size_t n = i == 1 ? (8 << 20) + 4 : BYTES; /* too long by itself */
		char *to = buf_reserve(&lines, n);
		assert_non_null(to);
		memset(to, 'A', n);
		lines.n += n;
		buf_adds(&lines, "\"}]}}\n");
	}
	page_of_bytes(lines.p, lines.n, &out);
	assert_int_equal(count(out.p, "<img "), 7);
	assert_int_equal(count(out.p, "/images/1.png\">the file</a>"), PICTURES - 7);
}

#define EVIL "</title><script>alert(1)</script>\"'&amp;"

CASE(session_text_is_escaped)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	page_of(HEADER_OF(EVIL, EVIL) MESSAGE(EVIL, null, "role":EVIL,"content":EVIL)
	    MESSAGE("b", null, "role":"assistant","provider":EVIL,"model":EVIL,"stopReason":EVIL,"errorMessage":EVIL,
	        "content":[{"type":EVIL},THINKING(EVIL),SAY(EVIL),CALL(EVIL, EVIL, EVIL:EVIL),CALL("2", "bash",
	        "command":EVIL),CALL("3", "write", "path":EVIL,"content":EVIL)])
	    MESSAGE("c", "b", "role":"toolResult","toolName":"t","toolCallId":EVIL,"toolName":EVIL,"content":EVIL)
	    MESSAGE("d", "c", "role":"bashExecution","command":EVIL,"output":EVIL,"exitCode":1)
	    ENTRY("custom_message", "e", "d", "customType":EVIL,"content":EVIL)
	    ENTRY("compaction", "f", "e", "tokensBefore":EVIL,"summary":EVIL) LABEL("g", "f", "b", EVIL)
	    INFO("h", "g", EVIL) ENTRY("model_change", "i", "h", "provider":EVIL,"modelId":EVIL) BARE(EVIL, "j", "i")
	    SUMMARY("k", "j", EVIL, EVIL),
	    &out);
	assert_int_equal(count(out.p, "<script"), 1); /* ours */
	assert_int_equal(count(out.p, "</title>"), 1);
	assert_has_not(&out, "alert(1)</script");
	assert_has_not(&out, JSON("'&amp;"));
	assert_int_equal(count(out.p, "<article"), 11);
}

/* The row and the article are made of the same entry, which has a cost. */
CASE(usage_counts_once)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	page_of(HEADER
	    MESSAGE("a", null, "role":"assistant","content":"hi","provider":"p","model":"m","usage":{"totalTokens":1500,
	        "cost":{"total":0.25}}),
	    &out);
	assert_has(&out, "<dt>Tokens</dt><dd>1.5k</dd>");
	assert_has(&out, "<dt>Cost</dt><dd>$0.2500</dd>");
	assert_has(&out, "<dt>Model</dt><dd>p/m</dd>");
	assert_has(&out, "<span>m</span>\n<span class=\"by\">p</span>");
	assert_has(&out, "<span>1.5k tokens, $0.2500</span>");
	assert_has(&out, "<time datetime=\"2026-01-02T03:04:05.678Z\">2026-01-02 03:04</time>");
	assert_has(&out, "<a href=\"../../projects/p/s%20s/\">projects/p/s s/</a>");
	/* An entry that cost nothing shows no cost. */
	page_of(HEADER
	    MESSAGE("a", null, "role":"assistant","content":"hi","usage":{"totalTokens":1500,"cost":{"total":0.00001}}),
	    &out);
	assert_has(&out, "<span>1.5k tokens</span>");
	assert_has(&out, "<dt>Model</dt><dd>unknown</dd>");
	assert_has(&out, "<h3>Assistant</h3>\n<span>unknown model</span>");
	assert_has_not(&out, "$0");
	assert_has_not(&out, "<dt>Cost");
}

CASE(tokens_are_shown_by_kind)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	page_of(HEADER
	    MESSAGE("a", null, "role":"assistant","content":"hi","usage":{"input":900,"output":120,"cacheRead":3400,
	        "cacheWrite":5,"totalTokens":4425})
	    MESSAGE("b", "a", "role":"assistant","content":"ho","usage":{"input":100,"totalTokens":100}),
	    &out);
	assert_has(&out, "<span>900 in, 120 out, 3.4k cache</span>");
	assert_has(&out, "<span>100 in</span>");
	assert_has(&out, "<dt>Tokens</dt><dd>4.5k: 1.0k in, 120 out, 3.4k cache read, 5 cache written</dd>");
	/* A user has no model; an empty directory is not shown. */
	page_of(HEADER_OF("s", "") USER("u", null, "hi"), &out);
	assert_has_not(&out, "unknown");
	assert_has_not(&out, "Directory");
}

RUN_CASES(NULL, NULL)
