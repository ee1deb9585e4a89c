/* SPDX-License-Identifier: MIT */
/* Texts, pictures, small facts: times, sums, labels, links. A long text is cut before it is decoded, and links to the
 * whole text. */
#include "page.h"

#include "text.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/space.h"

#include <stdio.h>

/* A picture with more base64 becomes a link. */
#define PICTURE_INLINE_MAX ((size_t)8 << 20)
#define PICTURE_TYPE_UNITS 64

/* Appends href="..." for a file in the entry's directory. */
static void page_add_file_href(struct page *g, const char *file)
{
	buf_adds(g->out, "href=\"");
	html_add_url(span_of(g->target->prefix), g->out);
	buf_adds(g->out, "entries/");
	html_add_url(buf_span(&g->name), g->out);
	buf_addc(g->out, '/');
	html_add_url(span_of(file), g->out);
	buf_addc(g->out, '"');
}

void page_add_cut_note(struct page *g, const char *file)
{
	buf_adds(g->out, "<p class=\"cut\">Cut here. <a ");
	page_add_file_href(g, file);
	buf_adds(g->out, ">All of it</a></p>\n");
}

/* --- texts ------------------------------------------------------------------ */

/* Returns the beginning of the inside of a JSON string, at least `want` bytes. It does not end in an escape, in a
 * character, or between the two escapes of a surrogate pair. */
static struct span json_string_prefix(struct span text, size_t want)
{
	size_t i = 0, high = 0;

	while (i < want) {
		const char *p = memchr(text.p + i, '\\', want - i);
		if (!p) {
			i = want;
			break;
		}
		size_t at = (size_t)(p - text.p);
		bool is_unicode = p[1] == 'u';
		i = at + (is_unicode ? 6 : 2);
		high = is_unicode && (p[2] | 0x20) == 'd' && strchr("89abAB", p[3]) ? i : high;
	}
	if (high == i && i + 6 <= text.n && text.p[i] == '\\' && text.p[i + 1] == 'u')
		i += 6;
	for (int k = 0; k < 3 && i < text.n && ((unsigned char)text.p[i] & 0xc0) == 0x80; k++)
		i++;
	return (struct span){text.p, i < text.n ? i : text.n};
}

/* Sets g->text to the clean beginning of a string, decoding at most `most` bytes of its JSON. Returns true if the
 * string is longer. */
static bool page_decode_text(struct page *g, struct json_value v, size_t most)
{
	buf_reset(g->text);
	if (v.kind != JSON_STRING)
		return false;
	struct span shown = v.text.n > most ? json_string_prefix(v.text, most) : v.text;
	json_decode(shown, JSON_CLEAN, g->text);
	return shown.n < v.text.n;
}

/* Appends a part of the text, folded if it is around the user's words: metadata, or the text of a skill. */
static int page_add_part(struct page *g, struct span part, bool is_folded, struct span skill)
{
	if (space_trim(part).n == 0 && (is_folded || part.n == 0))
		return 0;
	if (skill.n > 0) {
		buf_adds(g->out, "<details><summary>skill ");
		html_add_text(skill, g->out);
		buf_adds(g->out, "</summary>\n");
	} else if (is_folded) {
		text_add_metadata("<details><summary>", part, "</summary>\n", g->out);
	}
	buf_adds(g->out, "<div class=\"md\">\n");
	int rc = html_add_markdown(part, g->out);
	buf_adds(g->out, is_folded ? "</div>\n</details>\n" : "</div>\n");
	return rc;
}

int page_add_markdown(struct page *g, enum record_role role, struct json_value v, const char *file)
{
	const struct span none = {NULL, 0};
	bool truncated = page_decode_text(g, v, PAGE_TEXT_BYTES);
	struct user_text t;

	text_drop_commands_from(g->text, 0, true);
	if (buf_err(g->text))
		return buf_err(g->text);
	text_split(role, buf_span(g->text), &t);
	int rc = page_add_part(g, t.before, true, none);
	rc = rc < 0 ? rc : page_add_part(g, t.skill_text, true, t.skill);
	rc = rc < 0 ? rc : page_add_part(g, t.words, false, none);
	rc = rc < 0 ? rc : page_add_part(g, t.after, true, none);
	if (truncated)
		page_add_cut_note(g, file);
	return rc;
}

/* Returns the size of the lines that are shown. */
static size_t shown_lines_size(struct span text, size_t lines)
{
	struct span rest = text, line;

	while (lines > 0 && span_line(&rest, &line))
		lines--;
	return text.n - rest.n;
}

/* HTML ignores a newline right after <pre>. */
void page_add_pre_text(struct page *g, const char *language, bool truncated, const char *file)
{
	text_drop_commands_from(g->text, 0, true);
	struct span text = buf_span(g->text);
	size_t most = text.n < 2 * PAGE_OUTPUT_BYTES ? text.n : PAGE_OUTPUT_BYTES;
	size_t end = text.n ? shown_lines_size((struct span){text.p, most}, PAGE_OUTPUT_LINES) : 0;

	if (buf_err(g->text)) {
		g->out->err = buf_err(g->text);
		return;
	}
	while (end < text.n && ((unsigned char)text.p[end] & 0xc0) == 0x80)
		end++;
	buf_adds(g->out, "<pre");
	if (*language)
		buf_addf(g->out, " class=\"language-%s\"", language);
	buf_adds(g->out, ">\n");
	html_add_text((struct span){text.p, end}, g->out);
	buf_adds(g->out, "</pre>\n");
	if (truncated || end < text.n)
		page_add_cut_note(g, file);
}

void page_add_pre(struct page *g, const char *language, struct json_value v, const char *file)
{
	bool truncated = page_decode_text(g, v, PAGE_OUTPUT_BYTES);
	page_add_pre_text(g, language, truncated, file);
}

static const char *diff_line_tag(char sign)
{
	return sign == '-' ? "del" : sign == '+' ? "ins" : sign == '@' ? "b" : NULL;
}

void page_add_diff(struct page *g, const char *file)
{
	/* A line keeps what is before a CR: its sign. */
	for (size_t i = 0; i + 1 < g->text->n; i++)
		if (g->text->p[i] == '\r' && g->text->p[i + 1] != '\n')
			g->text->p[i] = ' ';
	text_drop_commands_from(g->text, 0, true);
	struct span text = buf_span(g->text);
	size_t most = text.n < PAGE_OUTPUT_BYTES ? text.n : PAGE_OUTPUT_BYTES;
	size_t end = text.n ? shown_lines_size((struct span){text.p, most}, 2 * PAGE_OUTPUT_LINES) : 0;

	while (end < text.n && text.p[end - 1] != '\n')
		end++;
	buf_adds(g->out, "<pre class=\"diff\">\n");
	for (size_t at = 0; at < end;) {
		const char *tag = diff_line_tag(text.p[at]);
		size_t to = at;
		do
			to += shown_lines_size((struct span){text.p + to, end - to}, 1);
		while (to < end && diff_line_tag(text.p[to]) == tag);
		if (tag)
			buf_addf(g->out, "<%s>", tag);
		html_add_text((struct span){text.p + at, to - at}, g->out);
		if (tag)
			buf_addf(g->out, "</%s>", tag);
		at = to;
	}
	buf_adds(g->out, "</pre>\n");
	if (end < text.n)
		page_add_cut_note(g, file);
}

/* --- pictures ---------------------------------------------------------------- */

/* Returns whether base64 that decodes to `decoded` bytes is valid for a browser: Node.js also accepts the URL alphabet,
 * and skips characters of neither alphabet. */
static bool is_plain_base64(struct span s, size_t decoded)
{
	size_t padding = s.n > 0 && s.p[s.n - 1] == '=' ? s.n > 1 && s.p[s.n - 2] == '=' ? 2 : 1 : 0;

	return s.n > 0 && s.n % 4 == 0 && decoded == s.n / 4 * 3 - padding && !memchr(s.p, '-', s.n) &&
	       !memchr(s.p, '_', s.n);
}

static void page_link_picture(struct page *g, const struct block *b, const struct part_image *linked)
{
	char file[sizeof "images/" + 32];

	buf_addf(g->out, "<p class=\"cut\">Picture %u", b->n);
	if (b->mime_type.kind == JSON_STRING) {
		buf_adds(g->out, ", ");
		page_add_inline(b->mime_type, PICTURE_TYPE_UNITS, g->out);
	}
	if (linked->type && linked->size > 0) {
		snprintf(file, sizeof file, "images/%u.%s", linked->n, linked->ext);
		buf_adds(g->out, ": <a ");
		page_add_file_href(g, file);
		buf_adds(g->out, ">the file</a>");
	}
	buf_adds(g->out, "</p>\n");
}

void page_add_picture(struct page *g, const struct block *b)
{
	struct buf bytes CLEANUP_BUF = BUF_INIT;
	const char *type = part_image_type(b->mime_type);
	struct part_image image = {0};
	bool fits = type && !(g->item->flags & ITEM_NO_PICTURES) && b->data.kind == JSON_STRING &&
	            b->data.text.n <= PICTURE_INLINE_MAX;

	part_image_of(b, &image);
	bool plain = fits && is_plain_base64(b->data.text, image.size);
	if (!fits || image.size == 0) {
		page_link_picture(g, b, &image);
		return;
	}
	buf_addf(g->out, "<p><img loading=\"lazy\" alt=\"Picture %u\" src=\"data:%s;base64,", b->n, type);
	if (plain) {
		buf_addspan(g->out, b->data.text);
	} else { /* only Node.js accepts it: encode it again */
		part_image(&image, &bytes);
		html_add_base64(buf_span(&bytes), g->out);
	}
	if (buf_err(&bytes))
		g->out->err = buf_err(&bytes);
	buf_adds(g->out, "\"></p>\n");
}

/* --- small facts -------------------------------------------------------------- */

void page_add_label(const struct session *s, uint32_t entry, struct buf *text, struct buf *out)
{
	buf_reset(text);
	if (!session_label(s, entry, text))
		return;
	buf_adds(out, "<b class=\"label\">");
	size_t start = out->n;
	text_add_inline_exact(buf_span(text), out);
	html_escape_from(out, start);
	buf_adds(out, "</b>\n");
}

void page_add_entry_href(const struct session *s, uint32_t entry, unsigned n, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;

	session_entry_name(s, entry, &name);
	buf_adds(out, "href=\"#");
	html_add_url(buf_span(&name), out);
	if (n) {
		buf_addc(out, '/');
		number_add_unsigned(n, out);
	}
	buf_addc(out, '"');
	if (buf_err(&name))
		out->err = buf_err(&name);
}

void page_add_tokens(const struct usage *u, bool is_short, struct buf *out)
{
	const struct {
		double n;
		const char *kind;
	} parts[] = {
	    {u->input, " in"},
	    {u->output, " out"},
	    {is_short ? u->cache_read + u->cache_write : u->cache_read, is_short ? " cache" : " cache read"},
	    {is_short ? 0 : u->cache_write, " cache written"},
	};
	size_t start = out->n;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!(parts[i].n > 0))
			continue;
		buf_adds(out, out->n > start ? ", " : "");
		html_add_count(parts[i].n, out);
		buf_adds(out, parts[i].kind);
	}
	if (out->n > start)
		return;
	html_add_count(u->total, out);
	buf_adds(out, " tokens");
}

void page_shorten_from(struct buf *out, size_t start, size_t units)
{
	text_flatten_from(out, start);
	if (text_truncate_from(out, start, units))
		buf_adds(out, "\u2026");
	html_escape_from(out, start);
}

bool page_add_inline(struct json_value v, size_t units, struct buf *out)
{
	size_t start = out->n;

	text_add_prefix(v, units, out);
	bool truncated = text_truncate_from(out, start, units);
	text_flatten_from(out, start);
	html_escape_from(out, start);
	return truncated;
}
