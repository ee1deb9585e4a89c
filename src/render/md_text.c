/* Text as Markdown in which every line stands as it was said. */
#include "md.h"

void md_end_line(struct buf *out)
{
	if (out->n > 0 && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
}

static size_t run_of(char c, const char *p, const char *end)
{
	const char *q = p;
	while (q < end && *q == c)
		q++;
	return (size_t)(q - p);
}

/* The longest run of a character. */
static size_t longest_run(char c, struct span text)
{
	const char *end = text.p + text.n;
	size_t longest = 0;

	for (const char *p = text.p; p < end && (p = memchr(p, c, (size_t)(end - p)));) {
		size_t run = run_of(c, p, end);
		if (run > longest)
			longest = run;
		p += run;
	}
	return longest;
}

/* The length of the fence that the text opens and, by Markdown's rules, does not close; 0: none. */
static size_t open_fence(struct span text, char *ret_c)
{
	const char *end = text.p + text.n;
	size_t open = 0;
	char c = '`';

	if (longest_run('`', text) < 3 && longest_run('~', text) < 3)
		return 0;
	for (const char *p = text.p, *eol; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		p += run_of(' ', p, eol);
		if (p == eol || (open ? *p != c : *p != '`' && *p != '~'))
			continue;
		size_t run = run_of(*p, p, eol);
		const char *rest = p + run;
		if (open) {
			rest += run_of(' ', rest, eol);
			if (run >= open && (rest == eol || *rest == '\r'))
				open = 0;
		} else if (run >= 3 && (*p == '~' || !memchr(rest, '`', (size_t)(eol - rest)))) {
			open = run;
			c = *p;
		}
	}
	*ret_c = c;
	return open;
}

static void add_many(char c, size_t n, struct buf *out)
{
	char *to = buf_reserve(out, n);
	if (!to)
		return;
	memset(to, c, n);
	out->n += n;
}

void md_text(struct json_value v, struct buf *out)
{
	char c = 0;

	buf_addc(out, '\n');
	size_t start = out->n;
	json_decode(v.text, JSON_CLEAN, out);
	md_end_line(out);
	if (buf_err(out))
		return;
	size_t open = open_fence((struct span){out->p + start, out->n - start}, &c);
	if (open == 0)
		return;
	add_many(c, open, out);
	buf_addc(out, '\n');
}

size_t md_begin_fence(const char *info, struct buf *out)
{
	buf_adds(out, "\n```");
	size_t mark = out->n;
	buf_adds(out, info);
	buf_addc(out, '\n');
	return mark;
}

/* It began as the usual one: lengthens it if need be. */
void md_end_fence(size_t mark, struct buf *out)
{
	md_end_line(out);
	if (buf_err(out))
		return;
	size_t run = longest_run('`', (struct span){out->p + mark, out->n - mark});
	size_t more = run >= 3 ? run - 2 : 0;
	if (!buf_reserve(out, more))
		return;
	if (more > 0) {
		memmove(out->p + mark + more, out->p + mark, out->n - mark);
		memset(out->p + mark, '`', more);
		out->n += more;
	}
	add_many('`', 3 + more, out);
	buf_addc(out, '\n');
}

void md_fenced(const char *info, struct json_value v, struct buf *out)
{
	size_t mark = md_begin_fence(info, out);

	json_decode(v.text, JSON_CLEAN, out);
	md_end_fence(mark, out);
}

void md_code_span(struct span clean, struct buf *out)
{
	size_t ticks = longest_run('`', clean) + 1;
	bool padded = clean.n > 0 && (clean.p[0] == '`' || clean.p[clean.n - 1] == '`');

	add_many('`', ticks, out);
	buf_adds(out, padded ? " " : "");
	buf_addspan(out, clean);
	buf_adds(out, padded ? " " : "");
	add_many('`', ticks, out);
}
