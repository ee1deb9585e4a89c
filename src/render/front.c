/* SPDX-License-Identifier: MIT */
/* The YAML at the beginning of transcript.md and context.md. Names and paths can have any character, and YAML readers
 * differ in those they accept. So each text is double-quoted, and characters that YAML 1.1 or 1.2 does not allow are
 * escaped. */
#include "pieces.h"

#include "text.h"
#include "sessionfs/base/number.h"
#include "sessionfs/session/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the code point at p if YAML does not allow it unescaped, else 0. */
static unsigned yaml_needs_escape(const char *p, size_t n)
{
	if (n >= 1 && *p == 0x7f)
		return 0x7f;
	if (n >= 2 && *p == '\xc2' && (unsigned char)p[1] < 0xa0)
		return (unsigned char)p[1];
	if (n >= 3 && memcmp(p, "\u2028", 3) == 0)
		return 0x2028;
	if (n >= 3 && memcmp(p, "\u2029", 3) == 0)
		return 0x2029;
	if (n >= 3 && memcmp(p, "\ufeff", 3) == 0)
		return 0xfeff;
	if (n >= 3 && p[0] == '\xef' && p[1] == '\xbf' && (unsigned char)p[2] >= 0xbe)
		return 0xff40 + (unsigned char)p[2];
	return 0;
}

/* Appends a YAML double-quoted scalar: a JSON string that also escapes characters that YAML 1.1 calls unprintable. */
static void add_yaml(const char *key, struct span clean, struct buf *out)
{
	struct buf quoted CLEANUP_BUF = BUF_INIT;

	json_quote(clean, &quoted);
	if (buf_err(&quoted)) {
		out->err = buf_err(&quoted);
		return;
	}
	buf_addf(out, "%s: ", key);
	for (size_t i = 0; i < quoted.n; i++) {
		unsigned c = yaml_needs_escape(quoted.p + i, quoted.n - i);
		if (c)
			buf_addf(out, "\\u%04x", c);
		else
			buf_addc(out, quoted.p[i]);
		i += c > 0x7ff ? 2 : c > 0x7f ? 1 : 0;
	}
	buf_addc(out, '\n');
}

static void add_yaml_exact(const char *key, struct span exact, struct buf *out)
{
	struct buf clean CLEANUP_BUF = BUF_INIT;

	text_add_clean(exact, &clean);
	if (buf_err(&clean))
		out->err = buf_err(&clean);
	else
		add_yaml(key, buf_span(&clean), out);
}

/* Numbers have a fixed width, so that the text after them does not move as they grow. */
#define NUMBER_COLUMN 32

static void add_yaml_number(const char *key, double x, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;

	number_add(x, &text);
	const char *number = buf_cstr(&text);
	if (!number) {
		out->err = -ENOMEM;
		return;
	}
	/* YAML 1.1 requires a point in a number with an exponent. */
	const char *e = strchr(number, 'e');
	int whole = (int)(e ? e - number : 0);
	const char *point = e && !memchr(number, '.', (size_t)whole) ? ".0" : "";
	char line[96];
	snprintf(line, sizeof line, "%.*s%s%s", whole, number, point, number + whole);
	buf_addf(out, "%s:%*s\n", key, NUMBER_COLUMN - (int)strlen(key) - 1, line);
}

static void add_yaml_usage(const struct usage *u, struct buf *out)
{
	buf_adds(out, "tokens:\n");
	add_yaml_number("  input", u->input, out);
	add_yaml_number("  output", u->output, out);
	add_yaml_number("  cacheRead", u->cache_read, out);
	add_yaml_number("  cacheWrite", u->cache_write, out);
	add_yaml_number("  total", u->total, out);
	add_yaml_number("cost", number_round(u->cost, RENDER_FRONT_DECIMALS), out);
}

static int add_model_line(const struct session *s, uint32_t entry, struct line *l, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct json_value provider, model;

	int rc = context_model(s, entry, l, &provider, &model);
	if (rc < 0 || (provider.kind <= JSON_NULL && model.kind <= JSON_NULL))
		return rc;
	text_add_inline(provider, &text);
	buf_addc(&text, '/');
	text_add_inline(model, &text);
	if (!buf_err(&text))
		add_yaml("model", buf_span(&text), out);
	return buf_err(&text);
}

static int add_thinking_line(const struct session *s, uint32_t entry, struct line *l, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct record r;

	if (entry == NO_ENTRY) {
		buf_adds(&text, "off");
	} else {
		int rc = session_load(s, entry, l, &r);
		if (rc < 0)
			return rc;
		text_add_inline(r.thinking_level, &text);
	}
	if (!buf_err(&text))
		add_yaml("thinkingLevel", buf_span(&text), out);
	return buf_err(&text);
}

int front_matter_add(const struct render_target *p, const struct render_totals *t, struct buf *out)
{
	const struct session *s = p->session;
	struct line line CLEANUP_LINE = LINE_INIT;
	struct buf text CLEANUP_BUF = BUF_INIT;

	buf_adds(out, "---\n");
	int rc = render_title(s, &text);
	if (rc == 0)
		add_yaml("title", (struct span){text.p, text.n - 1}, out);
	buf_reset(&text);
	add_yaml_exact("session", session_id(s), out);
	if (session_name(s, &text))
		add_yaml_exact("name", buf_span(&text), out);
	buf_reset(&text);
	struct json_value cwd = session_header(s)->cwd;
	if (cwd.kind == JSON_STRING && cwd.text.n > 0) {
		json_decode(cwd.text, JSON_CLEAN, &text);
		add_yaml("cwd", buf_span(&text), out);
	}
	buf_reset(&text);
	if (p->leaf != NO_ENTRY) {
		session_entry_name(s, p->leaf, &text);
		add_yaml("leaf", buf_span(&text), out);
	}
	if (rc == 0)
		rc = add_model_line(s, t->model, &line, out);
	if (rc == 0)
		rc = add_thinking_line(s, t->thinking, &line, out);
	if (rc < 0)
		return rc;
	add_yaml_usage(&t->usage, out);
	buf_adds(out, "---\n");
	return buf_err(&text) ? buf_err(&text) : buf_err(out);
}

int front_matter_add_path(const struct render_target *p, const struct render_totals *t, struct buf *out)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	uint32_t *path CLEANUP_FREE = NULL;
	struct render_totals all = {.model = t->model, .thinking = t->thinking};
	struct record r;
	size_t n = 0;

	int rc = p->leaf == NO_ENTRY ? 0 : session_path(p->session, p->leaf, &path, &n);
	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = session_read(p->session, path[i], &reader, &r);
		if (rc == 0)
			usage_add(&all.usage, usage_from_json(part_usage(&r)));
	}
	return rc < 0 ? rc : front_matter_add(p, &all, out);
}

/* --- items: the segments of a view --- */

int path_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n)
{
	uint32_t *path = NULL;
	size_t n = 0;
	int rc = p->leaf == NO_ENTRY ? 0 : session_path(p->session, p->leaf, &path, &n);
	if (rc < 0)
		return rc;
	context_settings(p->session, path, n, &t->model, &t->thinking);
	*ret = path;
	*ret_n = n;
	return 0;
}

/* Returns no items if the path goes back in the file. */
int path_items_newer(const struct render_target *p, uint32_t first, uint32_t last, struct render_totals *t, void **ret,
                     size_t *ret_n)
{
	const struct session *s = p->session;
	uint32_t below = session_count(s), i = p->leaf;
	size_t n = 0, room = below - first;
	uint32_t *path = malloc((room + 1) * sizeof *path);
	if (!path)
		return -ENOMEM;
	while (i != NO_ENTRY && i >= first && i < below) {
		path[room - ++n] = below = i;
		i = session_entry(s, i)->flags & ENTRY_WALK_ENDS ? NO_ENTRY : session_entry(s, i)->parent;
	}
	if (last != NO_ENTRY && i != last)
		n = 0;
	memmove(path, path + room - n, n * sizeof *path);
	context_settings(s, path, n, &t->model, &t->thinking);
	*ret = path;
	*ret_n = n;
	return 0;
}

int context_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n)
{
	struct context c;
	int rc = context_build(p->session, p->leaf, &c);
	if (rc < 0)
		return rc;
	t->model = c.model;
	t->thinking = c.thinking;
	*ret = c.items;
	*ret_n = c.n;
	return 0;
}
