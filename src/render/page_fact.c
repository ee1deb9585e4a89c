/* Small facts in a page: times, sums, labels, links. */
#include "page.h"

#include "text.h"
#include "sessionfs/base/number.h"

/* A longer directory is not looked for. */
#define CWD_MOST 1024

void page_time(int64_t ms, struct buf *out)
{
	char iso[NUMBER_TIME];

	if (ms == NO_TIME || !number_time((double)ms, iso))
		return;
	/* A year has four digits, or a sign and six. */
	int date = (iso[0] == '+' || iso[0] == '-' ? 7 : 4) + 6;
	buf_addf(out, "<time datetime=\"%s\">%.*s %.5s</time>", iso, date, iso, iso + date + 1);
}

void page_count(double n, struct buf *out)
{
	if (n < 1000)
		buf_addf(out, "%.0f", n);
	else if (n < 999950)
		buf_addf(out, "%.1fk", n / 1000);
	else
		buf_addf(out, "%.1fM", n / 1e6);
}

void page_cost(double dollars, struct buf *out)
{
	buf_addf(out, "$%.*f", dollars < 1 ? 4 : 2, dollars);
}

void page_label(const struct session *s, uint32_t entry, struct buf *text, struct buf *out)
{
	buf_reset(text);
	if (!session_label(s, entry, text))
		return;
	buf_adds(out, "<b class=\"label\">");
	size_t start = out->n;
	text_inline_exact(buf_span(text), out);
	html_escape(out, start);
	buf_adds(out, "</b>\n");
}

void page_link(const struct session *s, uint32_t entry, unsigned n, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;

	session_entry_name(s, entry, &name);
	buf_adds(out, "href=\"#");
	html_path(buf_span(&name), out);
	if (n) {
		buf_addc(out, '/');
		number_add_unsigned(n, out);
	}
	buf_addc(out, '"');
	if (buf_err(&name))
		out->err = buf_err(&name);
}

bool page_inline(struct json_value v, size_t units, struct buf *out)
{
	size_t start = out->n;

	if (v.kind == JSON_STRING)
		text_begin(v, units, out);
	else
		text_inline(v, out);
	bool cut = text_cut(out, start, units);
	text_one_line(out, start);
	html_escape(out, start);
	return cut;
}

static bool is_in_path(char c)
{
	return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       strchr("/._-~", c);
}

/* Where a path begins with `dir`, from `from` on; NULL if none does. */
static char *find_path(const char *text, char *from, char *end, struct span dir)
{
	for (char *p = from; p < end && (p = memmem(p, (size_t)(end - p), dir.p, dir.n)); p++)
		if (p == text || !is_in_path(p[-1]))
			return p;
	return NULL;
}

void page_take_cwd(const struct session *s, size_t start, struct buf *out)
{
	struct json_value cwd = session_header(s)->cwd;
	struct buf dir CLEANUP_BUF = BUF_INIT;

	if (cwd.kind != JSON_STRING || cwd.text.n < 2 || cwd.text.n > CWD_MOST)
		return;
	json_decode(cwd.text, JSON_CLEAN, &dir);
	if (dir.n == 0 || dir.p[dir.n - 1] != '/')
		buf_addc(&dir, '/');
	if (buf_err(&dir) || buf_err(out) || out->n == start)
		return;
	char *to = out->p + start, *end = out->p + out->n;
	for (char *from = to, *at; from < end; from = at) {
		at = find_path(out->p + start, from, end, buf_span(&dir));
		size_t n = (size_t)((at ? at : end) - from);
		memmove(to, from, n);
		to += n;
		at = at ? at + dir.n : end;
	}
	out->n = (size_t)(to - out->p);
}
