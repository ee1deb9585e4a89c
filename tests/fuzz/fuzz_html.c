/* SPDX-License-Identifier: MIT */
/* fuzz_html: html.c, markdown.c. Any Markdown becomes elements from a short list, closed in order, with the attributes
 * that we write, and links only to http:, https: and mailto:. The result is not much longer. No capital letter is lost,
 * since tags have none (except X in marks of tasks). */
#include "fuzz.h"

#include "sessionfs/json/json.h"
#include "sessionfs/render/html.h"

#include <strings.h>

enum { DEPTH = 1024 };

struct reader {
	const char *p, *end;
	struct span open[DEPTH];
	size_t depth;
};

static bool is_one_of(struct span s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(s, list[i]))
			return true;
	return false;
}
#define IS_ONE_OF(s, ...)                                                                                              \
	is_one_of(s, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static struct span take_name(struct reader *r)
{
	const char *p = r->p;
	while (r->p < r->end && (*r->p == '-' || (*r->p >= 'a' && *r->p <= 'z') || (*r->p >= '0' && *r->p <= '9')))
		r->p++;
	assert_true(r->p > p);
	return (struct span){p, (size_t)(r->p - p)};
}

static void take(struct reader *r, const char *what)
{
	size_t n = strlen(what);
	assert_true((size_t)(r->end - r->p) >= n && memcmp(r->p, what, n) == 0);
	r->p += n;
}

static bool begins(struct span s, const char *what)
{
	size_t n = strlen(what);
	return s.n >= n && strncasecmp(s.p, what, n) == 0;
}

static void take_attribute(struct reader *r, struct span tag)
{
	take(r, " ");
	struct span name = take_name(r);
	take(r, "=\"");
	const char *p = r->p;
	r->p = memchr(p, '"', (size_t)(r->end - p));
	assert_non_null(r->p);
	struct span value = {p, (size_t)(r->p++ - p)};
	assert_null(memchr(value.p, '<', value.n));
	if (span_is(name, "href"))
		assert_true(span_is(tag, "a") &&
		            (begins(value, "http://") || begins(value, "https://") || begins(value, "mailto:")));
	else if (span_is(name, "class"))
		assert_true(begins(value, "language-") || IS_ONE_OF(value, "wide", "center", "right"));
	else
		assert_true(IS_ONE_OF(name, "rel", "title", "start", "tabindex"));
}

static bool is_open(const struct reader *r, const char *tag)
{
	for (size_t i = 0; i < r->depth; i++)
		if (span_is(r->open[i], tag))
			return true;
	return false;
}

static void take_tag(struct reader *r)
{
	take(r, "<");
	if (*r->p == '/') {
		r->p++;
		struct span name = take_name(r);
		assert_true(r->depth > 0 && span_eq(r->open[--r->depth], name));
		take(r, ">");
		return;
	}
	struct span name = take_name(r);
	bool is_void = IS_ONE_OF(name, "br", "hr");
	assert_true(is_void ||
	            IS_ONE_OF(name, "p", "pre", "code", "em", "strong", "del", "a", "ul", "ol", "li", "h3", "h4", "h5",
	                      "h6", "blockquote", "div", "table", "thead", "tbody", "tr", "th", "td"));
	if (span_is(name, "a"))
		assert_false(is_open(r, "a"));
	while (r->p < r->end && *r->p != '>')
		take_attribute(r, name);
	take(r, ">");
	if (is_void)
		return;
	assert_true(r->depth < DEPTH);
	r->open[r->depth++] = name;
}

static size_t count(struct span s, char c)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == c;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BUF struct buf quoted = BUF_INIT, clean = BUF_INIT, out = BUF_INIT;

	json_quote((struct span){(const char *)data, size}, &quoted);
	json_decode((struct span){quoted.p + 1, quoted.n - 2}, JSON_CLEAN, &clean);
	assert_int_equal(html_add_markdown(buf_span(&clean), &out), 0);
	assert_true(out.n <= 16 * clean.n + (32 << 10));
	/* md4c 0.4.8 loses the target of a link that contains another link. */
	const char *target = memmem(clean.p, clean.n, "](", 2);
	bool may_lose = target && memchr(target, '[', clean.n - (size_t)(target - clean.p));
	for (char c = 'A'; c <= 'Z' && !may_lose; c++)
		assert_true(c == 'X' || count(buf_span(&out), c) >= count(buf_span(&clean), c));
	struct reader r = {.p = out.p, .end = out.p + out.n};
	while (r.p < r.end) {
		assert_true(*r.p != '>' && *r.p != '"' && *r.p != '\'');
		if (*r.p == '<')
			take_tag(&r);
		else
			r.p++;
	}
	assert_int_equal(r.depth, 0);
	return 0;
}
