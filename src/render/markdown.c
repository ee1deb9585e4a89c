/* SPDX-License-Identifier: MIT */
/* Markdown as elements, parsed by md4c. md_html() is not used: it lets javascript: links and remote pictures through.
 * So this file writes all tags. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/space.h"
#include "sessionfs/render/html.h"

#include <ctype.h>
#include <errno.h>
#include <md4c.h>
#include <strings.h>

/* A longer text is shown unchanged. */
#define MARKDOWN_SIZE_MAX ((size_t)256 << 10)
/* The max growth of a text: md4c adds missing cells to the rows of a table. */
#define GROWTH_MAX 8
#define GROWTH_FREE ((size_t)16 << 10)
/* The number of callbacks between two calls of cancel_check. */
#define MARKDOWN_STEPS 256
/* The max depth of lists and quotes: browsers cut deep trees. */
#define DEPTH_MAX 100
/* The max depth of emphasis, links and pictures. */
#define SPANS_MAX 100
/* The max length of the name of a language. */
#define LANGUAGE_SIZE_MAX 32
/* The level of the heading above a text. */
#define HEADING_ABOVE 2

/* These bytes do not occur in valid UTF-8. They replace characters while md4c reads the text, so that it drops nothing:
 * a bracket that could begin the definition of a link, and a bar that would end the last cell of an overlong row. */
#define BRACKET '\xff'
#define PIPE '\xfe'

enum { MARKDOWN_TOO_BIG = -2, MARKDOWN_CANCELLED = -3 }; /* md4c ignores positive results in some places */

struct markdown_page {
	struct buf *out;
	size_t size_max; /* bytes in out */
	unsigned steps;
	unsigned depth; /* of blocks */
	MD_BLOCKTYPE blocks[DEPTH_MAX];
	unsigned spans; /* open spans; md4c can end them in another order than it began them, or not at all */
	struct open_span {
		MD_SPANTYPE type;
		const char *end; /* its end tag, or NULL */
		size_t begin;    /* the beginning of its contents, */
		size_t target;   /* and of its target in `targets` */
	} open[SPANS_MAX];
	struct buf targets; /* the targets of open spans that are not links, as text */
	bool in_link;
	unsigned levels;  /* a bit for the level of each heading above */
	unsigned heading; /* the open heading */
	size_t cell;      /* the beginning of a cell's contents, */
	size_t title;     /* and of a heading's */
};

static int markdown_step(struct markdown_page *p)
{
	if (p->out->n > p->size_max || buf_err(p->out))
		return MARKDOWN_TOO_BIG;
	return ++p->steps % MARKDOWN_STEPS == 0 && cancel_check() < 0 ? MARKDOWN_CANCELLED : 0;
}

static void markdown_add_attribute(const MD_ATTRIBUTE *a, struct buf *out)
{
	if (a->size == 0)
		return;
	for (size_t i = 0; a->substr_offsets[i] < a->size; i++) {
		struct span part = {a->text + a->substr_offsets[i], a->substr_offsets[i + 1] - a->substr_offsets[i]};
		if (a->substr_types[i] == MD_TEXT_ENTITY)
			buf_addspan(out, part);
		else
			html_add_text(part, out);
	}
}

/* More than a language is shown before the code. */
static void markdown_add_code(const MD_BLOCK_CODE_DETAIL *d, struct buf *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_.#";
	const MD_ATTRIBUTE *lang = &d->lang;

	size_t n = 0;
	while (n < lang->size && strchr(plain, lang->text[n]))
		n++;
	bool known = n == lang->size && n <= LANGUAGE_SIZE_MAX;
	if (!known || d->info.size > lang->size) {
		buf_adds(out, "<p><code>");
		markdown_add_attribute(&d->info, out);
		buf_adds(out, "</code></p>\n");
	}
	buf_adds(out, "<pre><code");
	if (known && n > 0) {
		buf_adds(out, " class=\"language-");
		buf_add(out, lang->text, n);
		buf_addc(out, '"');
	}
	buf_addc(out, '>');
}

static void markdown_begin_cell(struct markdown_page *p, const char *tag, const MD_BLOCK_TD_DETAIL *d)
{
	buf_adds(p->out, tag);
	if (d->align == MD_ALIGN_CENTER)
		buf_adds(p->out, " class=\"center\"");
	else if (d->align == MD_ALIGN_RIGHT)
		buf_adds(p->out, " class=\"right\"");
	buf_addc(p->out, '>');
	p->cell = p->out->n;
}

static bool markdown_is_blank_since(const struct markdown_page *p, size_t start)
{
	return space_trim((struct span){p->out->p + start, p->out->n - start}).n == 0;
}

#define LINK_BEGIN "<a rel=\"noopener noreferrer\" href=\""
static const char link_end[] = "</a>";

/* Ends the open spans except the outermost `but`. The target follows a span that is not a link, unless its text shows
 * it. */
static void markdown_end_spans(struct markdown_page *p, unsigned but)
{
	while (p->spans > but && !buf_err(p->out)) {
		const struct open_span *o = &p->open[--p->spans];
		struct span said = {p->out->p + o->begin, p->out->n - o->begin};
		struct span target = {p->targets.p + o->target, p->targets.n - o->target};
		if (target.n > 0 && !span_eq(said, target))
			buf_addf(p->out, " (%.*s)", (int)target.n, target.p);
		p->targets.n = o->target;
		if (o->end == link_end) {
			/* A link without text would be invisible. */
			buf_adds(p->out, markdown_is_blank_since(p, o->begin) ? "link" : "");
			p->in_link = false;
		}
		buf_adds(p->out, o->end ? o->end : "");
	}
}

static int markdown_on_enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct markdown_page *p = arg;
	struct buf *out = p->out;
	unsigned level;

	if (p->depth == DEPTH_MAX || buf_err(out))
		return MARKDOWN_TOO_BIG;
	markdown_end_spans(p, 0);
	p->blocks[p->depth++] = type;
	switch (type) {
	case MD_BLOCK_QUOTE:
		buf_adds(out, "<blockquote>\n");
		break;
	case MD_BLOCK_UL:
		buf_adds(out, "<ul>\n");
		break;
	case MD_BLOCK_OL:
		buf_addf(out, "<ol start=\"%u\">\n", ((MD_BLOCK_OL_DETAIL *)detail)->start);
		break;
	case MD_BLOCK_LI:
		buf_adds(out, "<li>");
		if (((MD_BLOCK_LI_DETAIL *)detail)->is_task)
			buf_adds(out, ((MD_BLOCK_LI_DETAIL *)detail)->task_mark == ' ' ? "\u2610 " : "\u2611 ");
		break;
	case MD_BLOCK_HR:
		buf_adds(out, "<hr>\n");
		break;
	case MD_BLOCK_H:
		/* Headings have no gaps, whatever levels the text has. */
		level = ((MD_BLOCK_H_DETAIL *)detail)->level;
		p->levels &= (1U << level) - 1;
		p->heading = HEADING_ABOVE + 1 + (unsigned)__builtin_popcount(p->levels);
		p->heading = p->heading < 6 ? p->heading : 6;
		p->levels |= 1U << level;
		buf_addf(out, "<h%u>", p->heading);
		p->title = out->n;
		break;
	case MD_BLOCK_CODE:
		markdown_add_code(detail, out);
		break;
	case MD_BLOCK_P:
		buf_adds(out, "<p>");
		break;
	case MD_BLOCK_TABLE:
		/* A wide table can be scrolled, also by keyboard. */
		buf_adds(out, "<div class=\"wide\" tabindex=\"0\"><table>\n");
		break;
	case MD_BLOCK_THEAD:
		buf_adds(out, "<thead>\n");
		break;
	case MD_BLOCK_TBODY:
		buf_adds(out, "<tbody>\n");
		break;
	case MD_BLOCK_TR:
		buf_adds(out, "<tr>");
		break;
	case MD_BLOCK_TH:
		markdown_begin_cell(p, "<th", detail);
		break;
	case MD_BLOCK_TD:
		markdown_begin_cell(p, "<td", detail);
		break;
	case MD_BLOCK_DOC:
	case MD_BLOCK_HTML:
		break;
	}
	return markdown_step(p);
}

static int markdown_on_leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	static const char *const ends[] = {
	    [MD_BLOCK_QUOTE] = "</blockquote>\n",
	    [MD_BLOCK_UL] = "</ul>\n",
	    [MD_BLOCK_OL] = "</ol>\n",
	    [MD_BLOCK_LI] = "</li>\n",
	    [MD_BLOCK_CODE] = "</code></pre>\n",
	    [MD_BLOCK_P] = "</p>\n",
	    [MD_BLOCK_TABLE] = "</table></div>\n",
	    [MD_BLOCK_THEAD] = "</thead>\n",
	    [MD_BLOCK_TBODY] = "</tbody>\n",
	    [MD_BLOCK_TR] = "</tr>\n",
	    [MD_BLOCK_TD] = "</td>",
	};
	struct markdown_page *p = arg;

	(void)detail;
	if (buf_err(p->out) || p->depth == 0 || p->blocks[--p->depth] != type)
		return MARKDOWN_TOO_BIG;
	markdown_end_spans(p, 0);
	bool blank = (type == MD_BLOCK_H && markdown_is_blank_since(p, p->title)) ||
	             (type == MD_BLOCK_TH && markdown_is_blank_since(p, p->cell));
	if (blank) { /* removes the tag: screen readers announce each heading */
		p->out->n = type == MD_BLOCK_H ? p->title : p->cell;
		while (p->out->p[--p->out->n] != '<')
			;
	}
	if (type == MD_BLOCK_H && !blank)
		buf_addf(p->out, "</h%u>\n", p->heading);
	else if (type == MD_BLOCK_TH)
		buf_adds(p->out, blank ? "<td></td>" : "</th>");
	else if ((size_t)type < sizeof ends / sizeof *ends && ends[type])
		buf_adds(p->out, ends[type]);
	return markdown_step(p);
}

/* Checks the raw beginning of the URL. A URL hidden by an entity is not a link. */
static bool link_is_allowed(const MD_ATTRIBUTE *url)
{
	static const char *const schemes[] = {"http://", "https://", "mailto:"};

	if (url->size == 0 || url->substr_types[0] != MD_TEXT_NORMAL)
		return false;
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		size_t n = strlen(schemes[i]);
		if (url->substr_offsets[1] > n && strncasecmp(url->text, schemes[i], n) == 0)
			return true;
	}
	return false;
}

/* Links cannot be nested. */
static const char *markdown_begin_link(struct markdown_page *p, const MD_ATTRIBUTE *url, const MD_ATTRIBUTE *title)
{
	if (p->in_link || !link_is_allowed(url)) {
		markdown_add_attribute(url, &p->targets);
		buf_adds(&p->targets, title->size > 0 ? " " : "");
		markdown_add_attribute(title, &p->targets);
		return NULL;
	}
	p->in_link = true;
	buf_adds(p->out, LINK_BEGIN);
	markdown_add_attribute(url, p->out);
	if (title->size > 0) {
		buf_adds(p->out, "\" title=\"");
		markdown_add_attribute(title, p->out);
	}
	buf_adds(p->out, "\">");
	return link_end;
}

static int markdown_on_enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct markdown_page *p = arg;
	const MD_SPAN_A_DETAIL *a = detail;
	const MD_SPAN_IMG_DETAIL *image = detail;
	size_t target = p->targets.n;
	const char *end = NULL;

	if (p->spans == SPANS_MAX || buf_err(&p->targets))
		return MARKDOWN_TOO_BIG;
	if (type == MD_SPAN_A)
		end = markdown_begin_link(p, &a->href, &a->title);
	else if (type == MD_SPAN_IMG)
		end = markdown_begin_link(p, &image->src, &image->title);
	else
		end = type == MD_SPAN_EM       ? "</em>"
		      : type == MD_SPAN_STRONG ? "</strong>"
		      : type == MD_SPAN_DEL    ? "</del>"
		                               : "</code>";
	if (end && end != link_end)
		buf_addf(p->out, "<%s", end + 2);
	p->open[p->spans++] = (struct open_span){type, end, p->out->n, target};
	return markdown_step(p);
}

static int markdown_on_leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct markdown_page *p = arg;
	unsigned but = p->spans;

	(void)detail;
	if (buf_err(p->out))
		return MARKDOWN_TOO_BIG;
	while (but > 0 && p->open[but - 1].type != type)
		but--;
	if (but > 0)
		markdown_end_spans(p, but - 1);
	return markdown_step(p);
}

/* Returns the end of a URL in a sentence: before the punctuation that ends the sentence, and before a bracket around
 * the URL. */
static const char *url_end(const char *p, const char *end)
{
	const char *q = p;
	size_t open = 0;

	while (q < end && (unsigned char)*q > ' ' && !strchr("<>\"`|\xfe", *q)) {
		open += *q == '(';
		if (*q == ')' && open-- == 0)
			break;
		q++;
	}
	while (q > p && strchr(".,:;!?'*_~])", q[-1]) && !(q[-1] == ')' && memchr(p, '(', (size_t)(q - p))))
		q--;
	return q;
}

/* Finds the next URL in a text. Returns false without one. */
static bool find_url(struct span text, struct span *ret)
{
	const char *p = text.p, *end = p + text.n;

	for (; (p = memmem(p, (size_t)(end - p), "://", 3)); p += 3) {
		size_t n = p - text.p >= 5 && memcmp(p - 5, "https", 5) == 0  ? 5
		           : p - text.p >= 4 && memcmp(p - 4, "http", 4) == 0 ? 4
		                                                              : 0;
		const char *begin = p - n;
		if (n == 0 || (begin > text.p && isascii(begin[-1]) && isalnum(begin[-1])))
			continue;
		const char *stop = url_end(p + 3, end);
		if (stop == p + 3)
			continue;
		*ret = (struct span){begin, (size_t)(stop - begin)};
		return true;
	}
	return false;
}

/* md4c's autolinks can end in the wrong place, even after the text. */
static void markdown_add_text(struct markdown_page *p, struct span text)
{
	struct span url;

	while (!p->in_link && find_url(text, &url)) {
		size_t before = (size_t)(url.p - text.p), n = before + url.n;
		html_add_text((struct span){text.p, before}, p->out);
		buf_adds(p->out, LINK_BEGIN);
		html_add_text(url, p->out);
		buf_adds(p->out, "\">");
		html_add_text(url, p->out);
		buf_adds(p->out, link_end);
		text = (struct span){text.p + n, text.n - n};
	}
	html_add_text(text, p->out);
}

static int markdown_on_text(MD_TEXTTYPE type, const MD_CHAR *s, MD_SIZE n, void *arg)
{
	struct markdown_page *p = arg;

	if (type == MD_TEXT_ENTITY) /* &name; or &#number; by md4c's own rules */
		buf_add(p->out, s, n);
	else if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR) /* a newline in a message is intended */
		buf_adds(p->out, "<br>\n");
	else if (type == MD_TEXT_NORMAL)
		markdown_add_text(p, (struct span){s, n});
	else
		html_add_text((struct span){s, n}, p->out);
	return markdown_step(p);
}

/* --- what md4c would leave out ---------------------------------------------- */

static char *line_end(char *p, const char *end)
{
	while (p < end && *p != '\n' && *p != '\r')
		p++;
	return p;
}

/* The text ends in a newline. A definition, `[label]:`, begins a paragraph, after white space and marks of quotes,
 * lists and tasks. If its bracket is replaced, the bracket before it could begin the definition, and so on. */
static void protect_definitions(char *p, char *end)
{
	for (char *first = p, *next = NULL; p < end; p = line_end(p, end) + 1)
		for (; strchr(" \t>-+*0123456789.)[]xX", *p); p++) {
			if (*p != '[')
				continue;
			first = p == next ? first : p;
			for (next = p + 1; next < end && *next != '[' && *next != ']'; next++)
				next += *next == '\\';
			next = next < end ? next : end;
			for (; next < end && memcmp(next, "]:", 2) == 0 && first <= p; first++)
				if (*first == '[')
					*first = BRACKET;
				else
					first += *first == '\\';
		}
}

/* The last of `columns` columns gets the rest of the row. Pipes in code do not count, unless it is uncertain where code
 * is. */
static void protect_row_pipes(char *p, char *end, unsigned columns)
{
	char *cell = p += strspn(p, " \t>"), *tick;
	bool has_code = !memchr(p, '<', (size_t)(end - p));

	while (end > p && strchr(" \t|", end[-1]))
		end--;
	for (unsigned n = 0; p < end; p++) {
		if (*p == '\\') {
			p++;
		} else if (*p == '`' && has_code) {
			tick = memchr(p + 1, '`', (size_t)(end - p - 1));
			has_code = tick && tick > p + 1 && tick[1] != '`';
			p = has_code ? tick : p;
		} else if (*p == '|') {
			n += p > cell;
			cell = p + 1;
			*p = n < columns ? '|' : PIPE;
		}
	}
}

/* Returns the number of columns if the line is the one below a table's heading, else 0. */
static unsigned table_delimiter_columns(const char *p, const char *end)
{
	bool has_pipe = memchr(p, '|', (size_t)(end - p));
	unsigned n = 0;

	for (p += strspn(p, " \t>"); p < end; p++) {
		if (!has_pipe || !strchr(" \t\v\f|-:", *p))
			return 0;
		n += strchr("-:", *p) && !strchr("-:", p[-1]);
	}
	return n;
}

/* A table ends at a blank line. Text that only resembles a table is shown unchanged. */
static void protect_tables(char *p, char *end)
{
	unsigned columns = 0;

	for (char *eol, *next; p < end; p = next) {
		eol = line_end(p, end);
		next = eol + (end - eol > 1 && memcmp(eol, "\r\n", 2) == 0 ? 2 : 1);
		unsigned below = next < end ? table_delimiter_columns(next, line_end(next, end)) : 0;
		if (p + strspn(p, " \t>") >= eol)
			columns = 0;
		if (below > 0 && (columns == 0 || below < columns))
			columns = below;
		if (columns > 0)
			protect_row_pipes(p, eol, columns);
	}
}

int html_add_markdown(struct span clean, struct buf *out)
{
	static const MD_PARSER parser = {
	    .flags = MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS,
	    .enter_block = markdown_on_enter_block,
	    .leave_block = markdown_on_leave_block,
	    .enter_span = markdown_on_enter_span,
	    .leave_span = markdown_on_leave_span,
	    .text = markdown_on_text,
	};
	struct buf line CLEANUP_BUF = BUF_INIT;
	size_t start = out->n;
	struct markdown_page p = {
	    .out = out, .targets = BUF_INIT, .size_max = start + GROWTH_MAX * clean.n + GROWTH_FREE};
	int rc = MARKDOWN_TOO_BIG;

	/* md4c can read past a last line without a newline. */
	buf_addspan(&line, clean);
	buf_addc(&line, '\n');
	if (clean.n <= MARKDOWN_SIZE_MAX && !buf_err(&line)) {
		bool defines = memmem(line.p, line.n, "]:", 2), has_pipe = memchr(line.p, '|', line.n);
		if (defines)
			protect_definitions(line.p, line.p + line.n);
		if (has_pipe)
			protect_tables(line.p, line.p + line.n);
		rc = md_parse(line.p, (MD_SIZE)line.n, &parser, &p);
		for (size_t i = start; (defines || has_pipe) && i < out->n; i++)
			out->p[i] = out->p[i] == BRACKET ? '[' : out->p[i] == PIPE ? '|' : out->p[i];
	}
	buf_release(&p.targets);
	/* md4c can also end too early. */
	if ((rc == 0 && p.depth == 0) || rc == MARKDOWN_CANCELLED || buf_err(out))
		return rc == MARKDOWN_CANCELLED ? -EINTR : buf_err(out);
	out->n = start;
	buf_adds(out, "<pre>");
	html_add_text(clean, out);
	buf_adds(out, "</pre>\n");
	return buf_err(out);
}
