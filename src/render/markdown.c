/* SPDX-License-Identifier: MIT */
/* Markdown as elements, by md4c. It only parses: md_html() would let javascript: links and pictures of other servers
 * through. So every tag is one of those in this file. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/space.h"
#include "sessionfs/render/html.h"

#include <ctype.h>
#include <errno.h>
#include <md4c.h>
#include <strings.h>

/* A longer text is shown as it stands. */
#define MARKDOWN_SIZE_MAX ((size_t)256 << 10)
/* What a text may come to: md4c adds the cells that a row of a table lacks. */
#define GROWTH_MAX 8
#define GROWTH_FREE ((size_t)16 << 10)
/* After so many callbacks it is asked whether the work is to end. */
#define MARKDOWN_STEPS 256
/* So many lists and quotes in each other at most: browsers cut deep trees. */
#define DEPTH_MAX 100
/* And so many kinds of emphasis, links and pictures. */
#define SPANS_MAX 100
/* As long as a name of a language may be. */
#define LANGUAGE_SIZE_MAX 32
/* The heading under which a text stands. */
#define HEADING_ABOVE 2

/* These bytes, which no text has, stand for others while md4c reads it, so that it leaves nothing out: for a bracket
 * that could begin the definition of a link, and for what would end the last cell of a row that has more. */
#define BRACKET '\xff'
#define PIPE '\xfe'

enum { MARKDOWN_TOO_BIG = -2, MARKDOWN_CANCELLED = -3 }; /* in some places md4c overlooks what is positive */

struct markdown_page {
	struct buf *out;
	size_t size_max; /* bytes in out */
	unsigned steps;
	unsigned depth; /* of blocks */
	MD_BLOCKTYPE blocks[DEPTH_MAX];
	unsigned spans; /* that are open; md4c may end them in another order than it began them, or not at all */
	struct open_span {
		MD_SPANTYPE type;
		const char *end; /* its tag, or NULL */
		size_t begin;    /* of its contents, */
		size_t target;   /* and of its target in `targets` */
	} open[SPANS_MAX];
	struct buf targets; /* those of the open spans that would be links, as text */
	bool in_link;
	unsigned levels;  /* a bit for the level of each heading under which we are */
	unsigned heading; /* the one that is open */
	size_t cell;      /* where the contents of a cell begin, */
	size_t title;     /* and of a heading */
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

/* What is more than a language stands before the code. */
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

/* Ends the spans that are open, but for so many. Behind what is no link stands where it leads, unless it says so. */
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
			/* A link without text cannot be seen. */
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
		/* Headings follow each other without gaps, whatever levels the text has. */
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
		/* A wide one is scrolled, also by the keyboard. */
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
	if (blank) { /* takes back the tag: a reader is told of each heading */
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

/* By what the URL begins with as it stands, and not as an entity: what is hidden is no link. */
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

/* Links do not stand in each other. */
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

/* Where a URL ends that stands in a sentence: before what ends the sentence, or a bracket around the URL. */
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

/* The next URL in a text; false if there is none. */
static bool find_url(struct span markdown_on_text, struct span *ret)
{
	const char *p = markdown_on_text.p, *end = p + markdown_on_text.n;

	for (; (p = memmem(p, (size_t)(end - p), "://", 3)); p += 3) {
		size_t n = p - markdown_on_text.p >= 5 && memcmp(p - 5, "https", 5) == 0  ? 5
		           : p - markdown_on_text.p >= 4 && memcmp(p - 4, "http", 4) == 0 ? 4
		                                                                          : 0;
		const char *begin = p - n;
		if (n == 0 || (begin > markdown_on_text.p && isascii(begin[-1]) && isalnum(begin[-1])))
			continue;
		const char *stop = url_end(p + 3, end);
		if (stop == p + 3)
			continue;
		*ret = (struct span){begin, (size_t)(stop - begin)};
		return true;
	}
	return false;
}

/* md4c's own links of this kind can end in the wrong place, even behind the text. */
static void markdown_add_text(struct markdown_page *p, struct span markdown_on_text)
{
	struct span url;

	while (!p->in_link && find_url(markdown_on_text, &url)) {
		size_t before = (size_t)(url.p - markdown_on_text.p), n = before + url.n;
		html_add_text((struct span){markdown_on_text.p, before}, p->out);
		buf_adds(p->out, LINK_BEGIN);
		html_add_text(url, p->out);
		buf_adds(p->out, "\">");
		html_add_text(url, p->out);
		buf_adds(p->out, link_end);
		markdown_on_text = (struct span){markdown_on_text.p + n, markdown_on_text.n - n};
	}
	html_add_text(markdown_on_text, p->out);
}

static int markdown_on_text(MD_TEXTTYPE type, const MD_CHAR *s, MD_SIZE n, void *arg)
{
	struct markdown_page *p = arg;

	if (type == MD_TEXT_ENTITY) /* &name; or &#number; by md4c's own rules */
		buf_add(p->out, s, n);
	else if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR) /* who writes a new line in a message means one */
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

/* The text ends in a newline. A definition, `[label]:`, stands at the beginning of a paragraph: behind white space and
 * marks of quotes, lists and tasks. Without its bracket one before that could begin it, and so on. */
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

/* The last of so many columns has the rest of the row. Pipes in code do not count, unless it is uncertain what is code.
 */
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

/* How many columns a line gives a table, if it is the one below the heading; else 0. */
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

/* A table ends at a blank line. What only looks like one is shown as it is. */
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

	/* md4c may look behind a last line that does not end. */
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
	/* It may also end too early. */
	if ((rc == 0 && p.depth == 0) || rc == MARKDOWN_CANCELLED || buf_err(out))
		return rc == MARKDOWN_CANCELLED ? -EINTR : buf_err(out);
	out->n = start;
	buf_adds(out, "<pre>");
	html_add_text(clean, out);
	buf_adds(out, "</pre>\n");
	return buf_err(out);
}
