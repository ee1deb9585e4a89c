/* SPDX-License-Identifier: MIT */
/* Rows quote the beginning of texts that can be megabytes long. So a text is cut before it is decoded. pi counts in
 * UTF-16 units, and a unit is at most six bytes of JSON. Cutting between two escapes requires counting from the start.
 */
#include "text.h"

#include "sessionfs/base/number.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/session/part.h"

#define BLOCK_UNITS ((size_t)128 * 1024 / 6)

void text_add_clean(struct span exact, struct buf *out)
{
	struct buf quoted CLEANUP_BUF = BUF_INIT;

	json_quote(exact, &quoted);
	if (buf_err(&quoted)) {
		out->err = buf_err(&quoted);
		return;
	}
	json_decode((struct span){quoted.p + 1, quoted.n - 2}, JSON_CLEAN, out);
}

void text_clean_from(struct buf *out, size_t start)
{
	struct buf copy CLEANUP_BUF = BUF_INIT;

	if (buf_err(out) || out->n == start)
		return;
	struct span s = {out->p + start, out->n - start};
	if (utf8_prefix(s) == s.n)
		return;
	buf_addspan(&copy, s);
	out->n = start;
	out->err = buf_err(&copy);
	text_add_clean(buf_span(&copy), out);
}

/* Returns the length of the sequence that commands a terminal (ECMA-48: CSI, OSC) at the start of s, or 0. An OSC ends
 * with its line, too. */
static size_t sequence_size(struct span s)
{
	bool is_c1 = control_size(s) == 2;
	char kind = is_c1 ? (char)(s.p[1] - '@') : *s.p == '\x1b' && s.n > 1 ? s.p[1] : '\0';
	size_t i = 2;
	if (kind == '[') {
		while (i < s.n && s.p[i] >= ' ' && s.p[i] < '@')
			i++;
		return i + (i < s.n && s.p[i] >= '@' && s.p[i] <= '~');
	}
	if (kind != ']')
		return 0;
	while (i < s.n && control_size((struct span){s.p + i, s.n - i}) == 0)
		i++;
	struct span end = {s.p + i, s.n - i};
	if (span_begins(end, SPAN_LIT("\x1b\\")) || span_begins(end, SPAN_LIT("\xc2\x9c")))
		return i + 2;
	return i + span_begins(end, SPAN_LIT("\a"));
}

void text_drop_commands_from(struct buf *out, size_t start, bool controls)
{
	size_t to = start, line = start;
	for (size_t i = start, n; i < out->n; i += n ? n : 1) {
		struct span rest = {out->p + i, out->n - i};
		bool plain = *rest.p == '\n' || *rest.p == '\t' || (*rest.p >= ' ' && *rest.p <= '~');
		n = plain ? 0 : sequence_size(rest);
		if (!plain && n == 0 && controls && control_size(rest) < 3)
			n = control_size(rest);
		if (*rest.p == '\r' && rest.n > 1 && rest.p[1] != '\r' && rest.p[1] != '\n')
			to = line;
		if (n == 0)
			out->p[to++] = *rest.p;
		if (*rest.p == '\n')
			line = to;
	}
	out->n = to;
}

_Thread_local bool text_is_for_page;

void text_flatten_from(struct buf *out, size_t start)
{
	if (text_is_for_page)
		text_drop_commands_from(out, start, false);
	if (out->n > start)
		out->n = start + space_flatten(out->p + start, out->n - start, ' ', NULL);
}

void text_add_cell(struct span text, struct buf *out)
{
	static const char odd[] = {'\t', '\n', '\0', '\\'}, shown[] = {'t', 'n', '0', '\\'};
	size_t done = 0;

	for (size_t i = 0; i < text.n; i++) {
		const char *at = memchr(odd, text.p[i], sizeof odd);
		if (!at)
			continue;
		buf_add(out, text.p + done, i - done);
		buf_addc(out, '\\');
		buf_addc(out, shown[at - odd]);
		done = i + 1;
	}
	buf_add(out, text.p + done, text.n - done);
}

void text_trim_from(struct buf *out, size_t start)
{
	if (out->n == start)
		return;
	struct span s = space_trim((struct span){out->p + start, out->n - start});
	memmove(out->p + start, s.p, s.n);
	out->n = start + s.n;
}

void text_make_line_from(struct buf *out, size_t start)
{
	text_flatten_from(out, start);
	text_trim_from(out, start);
}

/* Returns the end of the first `units` units after `start`. */
static size_t units_end(const struct buf *b, size_t start, size_t units)
{
	size_t i = start;
	while (i < b->n) {
		int step = utf8_next(b->p + i, b->n - i);
		size_t width = step == 4 ? 2 : 1;
		if (width > units)
			break;
		units -= width;
		i += (size_t)(step < 0 ? -step : step);
	}
	return i;
}

bool text_truncate_from(struct buf *out, size_t start, size_t units)
{
	size_t end = units_end(out, start, units);
	bool truncated = end < out->n;
	out->n = end;
	return truncated;
}

void text_shorten_from(struct buf *out, size_t start, size_t characters)
{
	text_make_line_from(out, start);
	struct span text = {out->p + start, out->n - start};
	if (out->n == start || utf8_first(text, characters).n == text.n)
		return;
	out->n = start + utf8_first(text, characters - 1).n;
	buf_adds(out, "\u2026");
}

void text_add_inline(struct json_value v, struct buf *out)
{
	size_t start = out->n;

	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_CLEAN, out);
	else if (v.kind > JSON_NULL)
		text_add_clean(json_raw(v), out);
	text_flatten_from(out, start);
}

void text_add_inline_exact(struct span exact, struct buf *out)
{
	size_t start = out->n;

	text_add_clean(exact, out);
	text_flatten_from(out, start);
}

/* Returns a beginning of the inside of a JSON string that has at least `units` units, if the string has as many, and
 * does not end in an escape. */
static struct span json_escaped_prefix(struct span text, size_t units)
{
	size_t want = 6 * units + 12;
	size_t i = 0;

	if (text.n <= want)
		return text;
	while (i < want)
		i += text.p[i] != '\\' ? 1 : text.p[i + 1] == 'u' ? 6 : 2;
	return (struct span){text.p, i < text.n ? i : text.n};
}

void text_add_prefix(struct json_value v, size_t units, struct buf *out)
{
	if (v.kind == JSON_STRING)
		json_decode(json_escaped_prefix(v.text, units), JSON_CLEAN, out);
	else
		text_add_inline(v, out);
}

struct json_value text_of_system(struct json_value message, struct buf *own)
{
	const struct record r = {.type = RECORD_MESSAGE, .role = ROLE_SYSTEM, .message = message};
	struct buf text CLEANUP_BUF = BUF_INIT;

	part_text(&r, &text);
	if (text.n > 0)
		json_quote(buf_span(&text), own);
	own->err = buf_err(&text) ? buf_err(&text) : own->err;
	bool has_text = text.n > 0 && !buf_err(own);
	return has_text ? (struct json_value){JSON_STRING, true, {own->p + 1, own->n - 2}} : (struct json_value){0};
}

void text_add_blocks(const struct record *r, const char *between, enum json_decode how, struct buf *out)
{
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, r, r->msg.content);
	while (block_next(&it, &b)) {
		if (b.type != BLOCK_TEXT)
			continue;
		buf_adds(out, b.n > 1 ? between : "");
		if (b.text.kind == JSON_STRING)
			json_decode(json_escaped_prefix(b.text.text, BLOCK_UNITS), how, out);
	}
}

void text_add_content(const struct record *r, struct json_value content, const char *between, size_t units,
                      struct buf *out)
{
	size_t start = out->n;
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, r, content);
	while (out->n - start < 4 * units && block_next(&it, &b)) {
		if (b.type != BLOCK_TEXT)
			continue;
		buf_adds(out, b.n > 1 ? between : "");
		if (b.text.kind == JSON_STRING)
			text_add_prefix(b.text, units, out);
	}
	text_truncate_from(out, start, units);
	text_make_line_from(out, start);
}

void text_add_duration(double ms, struct buf *out)
{
	static const struct time_unit {
		const char *name;
		double ms;
	} units[] = {{"h", 3600e3}, {"min", 60e3}, {"s", 1e3}, {"ms", 1}};
	const struct time_unit *u = units;

	while (ms < u->ms && u->ms > 1)
		u++;
	double x = ms / u->ms;
	number_add(number_round(x, x < 10 ? 1 : 0), out);
	buf_addf(out, " %s", u->name);
}
