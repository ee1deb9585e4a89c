/* Markdown as elements, by md4c. It only parses: md_html() would let javascript: links and pictures of other servers
 * through. So every tag is one of those in this file. */
#include "sessionfs/base/space.h"
#include "sessionfs/base/stop.h"
#include "sessionfs/render/html.h"

#include <errno.h>
#include <md4c.h>
#include <strings.h>

/* A longer text is shown as it stands. */
#define TEXT_MOST ((size_t)256 << 10)
/* What a text may come to: md4c repeats the link of a reference, and adds the cells that a row of a table lacks. */
#define GROWTH_MOST 8
#define GROWTH_FREE ((size_t)16 << 10)
/* After so many callbacks it is asked whether the work is to end. */
#define STEPS 256
/* So many lists and quotes in each other at most: browsers cut deep trees. */
#define DEPTH_MOST 100
/* And so many kinds of emphasis, links and pictures. */
#define SPANS_MOST 100
/* As long as a name of a language may be. */
#define LANGUAGE_MOST 32
/* The heading under which a text stands. */
#define HEADING_ABOVE 2

enum { TOO_MUCH = 1, STOPPED };

struct page {
	struct buf *out;
	size_t most; /* bytes in out */
	unsigned steps;
	unsigned depth; /* of blocks */
	MD_BLOCKTYPE blocks[DEPTH_MOST];
	unsigned spans; /* that are open; md4c may end them in another order than it began them, or not at all */
	struct open_span {
		MD_SPANTYPE type;
		const char *end; /* its tag, or NULL */
	} open[SPANS_MOST];
	bool in_link;
	unsigned levels;  /* a bit for the level of each heading under which we are */
	unsigned heading; /* the one that is open */
	size_t cell;      /* where the contents of a cell begin, */
	size_t title;     /* of a heading, */
	size_t anchor;    /* and of a link */
};

static int step(struct page *p)
{
	if (p->out->n > p->most || buf_err(p->out))
		return TOO_MUCH;
	return ++p->steps % STEPS == 0 && stop_check() < 0 ? STOPPED : 0;
}

/* Headings follow each other without gaps, whatever levels the text has. */
static unsigned heading_of(struct page *p, unsigned level)
{
	p->levels &= (1U << level) - 1;
	unsigned h = HEADING_ABOVE + 1 + (unsigned)__builtin_popcount(p->levels);
	p->levels |= 1U << level;
	return h < 6 ? h : 6;
}

static void add_code(const MD_BLOCK_CODE_DETAIL *d, struct buf *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_.#";
	const MD_ATTRIBUTE *lang = &d->lang;

	buf_adds(out, "<pre><code");
	size_t n = 0;
	while (n < lang->size && strchr(plain, lang->text[n]))
		n++;
	if (n > 0 && n == lang->size && n <= LANGUAGE_MOST) {
		buf_adds(out, " class=\"language-");
		buf_add(out, lang->text, n);
		buf_addc(out, '"');
	}
	buf_addc(out, '>');
}

static void add_item(const MD_BLOCK_LI_DETAIL *d, struct buf *out)
{
	buf_adds(out, "<li>");
	if (d->is_task)
		buf_adds(out, d->task_mark == ' ' ? "\u2610 " : "\u2611 ");
}

static void begin_cell(struct page *p, const char *tag, const MD_BLOCK_TD_DETAIL *d)
{
	buf_adds(p->out, tag);
	if (d->align == MD_ALIGN_CENTER)
		buf_adds(p->out, " class=\"center\"");
	else if (d->align == MD_ALIGN_RIGHT)
		buf_adds(p->out, " class=\"right\"");
	buf_addc(p->out, '>');
	p->cell = p->out->n;
}

static bool is_blank(const struct page *p, size_t start)
{
	return space_trim((struct span){p->out->p + start, p->out->n - start}).n == 0;
}

/* Takes back a tag behind which nothing came, for a reader that is told of each heading. */
static void take_back(struct page *p, size_t after)
{
	p->out->n = after - 1;
	while (p->out->p[p->out->n] != '<')
		p->out->n--;
}

static void end_head_cell(struct page *p)
{
	bool blank = is_blank(p, p->cell);
	if (blank)
		take_back(p, p->cell);
	buf_adds(p->out, blank ? "<td></td>" : "</th>");
}

static void end_heading(struct page *p)
{
	if (is_blank(p, p->title))
		take_back(p, p->title);
	else
		buf_addf(p->out, "</h%u>\n", p->heading);
}

#define LINK_BEGIN "<a rel=\"noopener noreferrer\" href=\""
static const char link_end[] = "</a>";

/* Ends the spans that are open, but for so many. */
static void end_spans(struct page *p, unsigned but)
{
	while (p->spans > but) {
		const char *end = p->open[--p->spans].end;
		if (end == link_end) {
			/* A link without text cannot be seen. */
			buf_adds(p->out, is_blank(p, p->anchor) ? "link" : "");
			p->in_link = false;
		}
		buf_adds(p->out, end ? end : "");
	}
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct page *p = arg;
	struct buf *out = p->out;

	if (p->depth == DEPTH_MOST || buf_err(out))
		return TOO_MUCH;
	end_spans(p, 0);
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
		add_item(detail, out);
		break;
	case MD_BLOCK_HR:
		buf_adds(out, "<hr>\n");
		break;
	case MD_BLOCK_H:
		p->heading = heading_of(p, ((MD_BLOCK_H_DETAIL *)detail)->level);
		buf_addf(out, "<h%u>", p->heading);
		p->title = out->n;
		break;
	case MD_BLOCK_CODE:
		add_code(detail, out);
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
		begin_cell(p, "<th", detail);
		break;
	case MD_BLOCK_TD:
		begin_cell(p, "<td", detail);
		break;
	case MD_BLOCK_DOC:
	case MD_BLOCK_HTML:
		break;
	}
	return step(p);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
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
	struct page *p = arg;

	(void)detail;
	if (buf_err(p->out) || p->depth == 0 || p->blocks[--p->depth] != type)
		return TOO_MUCH;
	end_spans(p, 0);
	if (type == MD_BLOCK_H)
		end_heading(p);
	else if (type == MD_BLOCK_TH)
		end_head_cell(p);
	else if ((size_t)type < sizeof ends / sizeof *ends && ends[type])
		buf_adds(p->out, ends[type]);
	return step(p);
}

static void add_attribute(const MD_ATTRIBUTE *a, struct buf *out)
{
	if (a->size == 0)
		return;
	for (size_t i = 0; a->substr_offsets[i] < a->size; i++) {
		struct span part = {a->text + a->substr_offsets[i], a->substr_offsets[i + 1] - a->substr_offsets[i]};
		if (a->substr_types[i] == MD_TEXT_ENTITY)
			buf_addspan(out, part);
		else
			html_text(part, out);
	}
}

/* By what the URL begins with as it stands, and not as an entity: what is hidden is no link. */
static bool is_allowed(const MD_ATTRIBUTE *url)
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
static bool begin_link(struct page *p, const MD_ATTRIBUTE *url, const MD_ATTRIBUTE *title)
{
	if (p->in_link || !is_allowed(url))
		return false;
	p->in_link = true;
	buf_adds(p->out, LINK_BEGIN);
	add_attribute(url, p->out);
	if (title->size > 0) {
		buf_adds(p->out, "\" title=\"");
		add_attribute(title, p->out);
	}
	buf_adds(p->out, "\">");
	p->anchor = p->out->n;
	return true;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct page *p = arg;
	const MD_SPAN_A_DETAIL *a = detail;
	const MD_SPAN_IMG_DETAIL *image = detail;
	const char *end = NULL;

	if (p->spans == SPANS_MOST)
		return TOO_MUCH;
	if (type == MD_SPAN_A)
		end = begin_link(p, &a->href, &a->title) ? link_end : NULL;
	else if (type == MD_SPAN_IMG)
		end = begin_link(p, &image->src, &image->title) ? link_end : NULL;
	else
		end = type == MD_SPAN_EM       ? "</em>"
		      : type == MD_SPAN_STRONG ? "</strong>"
		      : type == MD_SPAN_DEL    ? "</del>"
		                               : "</code>";
	if (end && end != link_end)
		buf_addf(p->out, "<%s", end + 2);
	p->open[p->spans++] = (struct open_span){type, end};
	return step(p);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct page *p = arg;
	unsigned but = p->spans;

	(void)detail;
	if (buf_err(p->out))
		return TOO_MUCH;
	while (but > 0 && p->open[but - 1].type != type)
		but--;
	if (but > 0)
		end_spans(p, but - 1);
	return step(p);
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where a URL ends that stands in a sentence: before what ends the sentence, or a bracket around the URL. */
static const char *url_end(const char *p, const char *end)
{
	const char *q = p;
	size_t open = 0;

	while (q < end && (unsigned char)*q > ' ' && !strchr("<>\"`|", *q)) {
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
static bool find_url(struct span text, struct span *ret)
{
	const char *p = text.p, *end = p + text.n;

	for (; (p = memmem(p, (size_t)(end - p), "://", 3)); p += 3) {
		size_t n = p - text.p >= 5 && memcmp(p - 5, "https", 5) == 0  ? 5
		           : p - text.p >= 4 && memcmp(p - 4, "http", 4) == 0 ? 4
		                                                              : 0;
		const char *begin = p - n;
		if (n == 0 || (begin > text.p && is_word(begin[-1])))
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
static void add_text(struct page *p, struct span text)
{
	struct span url;

	while (!p->in_link && find_url(text, &url)) {
		size_t before = (size_t)(url.p - text.p), n = before + url.n;
		html_text((struct span){text.p, before}, p->out);
		buf_adds(p->out, LINK_BEGIN);
		html_text(url, p->out);
		buf_adds(p->out, "\">");
		html_text(url, p->out);
		buf_adds(p->out, link_end);
		text = (struct span){text.p + n, text.n - n};
	}
	html_text(text, p->out);
}

static int text(MD_TEXTTYPE type, const MD_CHAR *s, MD_SIZE n, void *arg)
{
	struct page *p = arg;

	if (type == MD_TEXT_ENTITY) /* &name; or &#number; by md4c's own rules */
		buf_add(p->out, s, n);
	else if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR) /* who writes a new line in a message means one */
		buf_adds(p->out, "<br>\n");
	else if (type == MD_TEXT_NORMAL)
		add_text(p, (struct span){s, n});
	else
		html_text((struct span){s, n}, p->out);
	return step(p);
}

int html_markdown(struct span clean, struct buf *out)
{
	static const MD_PARSER parser = {
	    .flags = MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS,
	    .enter_block = enter_block,
	    .leave_block = leave_block,
	    .enter_span = enter_span,
	    .leave_span = leave_span,
	    .text = text,
	};
	struct buf line CLEANUP_BUF = BUF_INIT;
	size_t start = out->n;
	struct page p = {.out = out, .most = start + GROWTH_MOST * clean.n + GROWTH_FREE};
	int rc = TOO_MUCH;

	if (clean.n <= TEXT_MOST) {
		/* md4c may look behind a last line that does not end. */
		buf_addspan(&line, clean);
		buf_addc(&line, '\n');
		rc = buf_err(&line) ? TOO_MUCH : md_parse(line.p, (MD_SIZE)line.n, &parser, &p);
	}
	/* It may also end too early. */
	if ((rc == 0 && p.depth == 0) || rc == STOPPED || buf_err(out))
		return rc == STOPPED ? -EINTR : buf_err(out);
	out->n = start;
	buf_adds(out, "<pre>");
	html_text(clean, out);
	buf_adds(out, "</pre>\n");
	return buf_err(out);
}
