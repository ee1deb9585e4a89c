/* SPDX-License-Identifier: MIT */
#include "find_impl.h"
#include "query_impl.h"
#include "sessionfs/find/pages.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/date.h"
#include "sessionfs/render/html.h"
#include "sessionfs/render/render.h"
#include "sessionfs/session/record.h"

#include <math.h>

enum { ROW_TIME, ROW_PROJECT, ROW_ENTRY = 3, ROW_WHAT };

/* Returns the TEXT of PATH:LINE:TEXT. In the path, names from the session are whole components, and can have colons. */
static struct span hits_line_text(struct span line)
{
	const char *p = line.p, *end = line.p + line.n;
	int names = 3; /* projects, PROJECT, STEM */

	for (int at = 0; at < names; at++) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		if (!slash)
			return line;
		p = slash + 1;
		struct span rest = {p, (size_t)(end - p)};
		if (at == 2 && span_begins(rest, SPAN_LIT("entries/")))
			names = 5;
		if (at == 4 && span_begins(rest, SPAN_LIT("tool-calls/")))
			names = 7;
	}
	for (int colons = 0; colons < 2 && p < end; p++)
		colons += *p == ':';
	return (struct span){p, (size_t)(end - p)};
}

static void hits_add_text(struct span text, struct buf *out)
{
	size_t start = out->n;

	buf_addspan(out, text);
	text_drop_commands_from(out, start, false);
	text_flatten_from(out, start);
	html_escape_from(out, start);
}

/* Appends a line with its words in <mark>. */
static void hits_add_line(const struct query *q, struct span text, struct buf *out)
{
	struct span mark;
	size_t at = 0;

	while (query_next_match(q, text, at, &mark)) {
		size_t begin = (size_t)(mark.p - text.p);
		hits_add_text((struct span){text.p + at, begin - at}, out);
		buf_adds(out, "<mark>");
		hits_add_text(mark, out);
		buf_adds(out, "</mark>");
		at = begin + mark.n;
	}
	hits_add_text((struct span){text.p + at, text.n - at}, out);
}

/* Appends a cell of a row as text. The names in it have no control characters. */
static void hits_add_cell(struct span cell, struct buf *out)
{
	for (size_t i = 0; i < cell.n; i++) {
		i += cell.p[i] == '\\' && i + 1 < cell.n;
		buf_addc(out, cell.p[i]);
	}
}

/* Appends &find= and the words, phrases without quotes in quotes, as encodeURIComponent writes them: the script of the
 * page marks them. */
static void hits_add_words(const struct query *q, struct buf *out)
{
	struct buf words CLEANUP_BUF = BUF_INIT;

	for (size_t i = 0; i < q->terms.n; i++) {
		const struct term *t = &q->terms.v[i];
		if (!term_is_word(t) || t->negated)
			continue;
		bool is_phrase = memchr(t->text.p, ' ', t->text.n) && !memchr(t->text.p, '"', t->text.n);
		const char *quote = is_phrase ? "\"" : "";
		buf_addf(&words, "%s%s%.*s%s", words.n ? " " : "", quote, (int)t->text.n, t->text.p, quote);
	}
	buf_adds(out, words.n ? "&amp;find=" : "");
	for (size_t i = 0; i < words.n; i++) {
		if (words.p[i] == '/')
			buf_adds(out, "%2F");
		else if (words.p[i] && strchr("!*'()", words.p[i]))
			buf_addc(out, words.p[i]);
		else
			html_add_url((struct span){words.p + i, 1}, out);
	}
	out->err = buf_err(&words) ? buf_err(&words) : out->err;
}

/* Appends the project and day of the session of entry i, and how many of the entries before `end` are its own. */
static void hits_add_session(const struct answer *h, size_t i, size_t end, struct buf *out)
{
	struct answer_entry of = answer_at(h, i);
	struct span cells[ROW_CELLS];
	char day[DATE_NAME] = "";
	size_t n = 1;

	while (i + n < end && answer_at(h, i + n).slot == of.slot)
		n++;
	answer_split_row(answer_entry_text(h, FOUND_ROWS, i), cells);
	buf_adds(out, "<p>");
	size_t start = out->n;
	hits_add_cell(cells[ROW_PROJECT], out);
	html_escape_from(out, start);
	if (!isnan(of.created))
		date_name(date_at(of.created), day);
	buf_addf(out, "%s%s \302\267 %zu %s</p>", *day ? " \302\267 " : "", day, n, n == 1 ? "entry" : "entries");
}

static void hits_add_entry(const struct answer *h, size_t i, struct span page, struct buf *out)
{
	struct buf id CLEANUP_BUF = BUF_INIT;
	struct span cells[ROW_CELLS], lines = answer_entry_text(h, FOUND_HITS, i), line;

	answer_split_row(answer_entry_text(h, FOUND_ROWS, i), cells);
	hits_add_cell(cells[ROW_ENTRY], &id);
	buf_adds(out, "<li><a href=\"");
	html_add_url(page, out);
	buf_addc(out, '#');
	html_add_url(buf_span(&id), out);
	hits_add_words(answer_query(h), out);
	buf_adds(out, "\">");
	size_t start = out->n;
	hits_add_cell(cells[ROW_WHAT], out);
	html_escape_from(out, start);
	buf_adds(out, "</a> ");
	html_time(record_date((struct json_value){.kind = JSON_STRING, .text = cells[ROW_TIME]}), out);
	while (span_line(&lines, &line)) {
		buf_adds(out, "<p dir=\"auto\">");
		hits_add_line(answer_query(h), hits_line_text(line), out);
		buf_adds(out, "</p>");
	}
	buf_adds(out, "</li>\n");
	if (buf_err(&id))
		out->err = buf_err(&id);
}

/* Only a script knows where the page is, and encodes the query as the name of a directory. */
void hits_add_field(struct span query, struct buf *out)
{
	buf_adds(out, "<p id=\"search\"><label for=\"query\" hidden>Search all sessions</label> "
	              "<input id=\"query\" type=\"search\" placeholder=\"Words, &quot;a phrase&quot; or role:user\" "
	              "autocomplete=\"off\" value=\"");
	html_add_text(query, out);
	buf_adds(out, "\" hidden> <span>To search the sessions, in the mount: "
	              "<code>cat search/WORD/hits.txt</code></span></p>\n");
}

int hits_page(const struct answer *h, struct span hints, int (*link)(void *arg, uint32_t slot, struct buf *out),
              void *arg, struct buf *out)
{
	struct buf page CLEANUP_BUF = BUF_INIT;
	size_t n = answer_hits_count(h), sessions = 0;
	bool is_open = false;
	struct span hint;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		sessions += i == 0 || answer_at(h, i).slot != answer_at(h, i - 1).slot;
	html_begin(answer_query_text(h), &html_hits, out);
	buf_adds(out, "<header><h1>");
	html_add_text(answer_query_text(h), out);
	buf_addf(out, "</h1>\n<p><a href=\"../../html/index.html\">All sessions</a></p>\n<p>%zu %s", n,
	         n == 1 ? "entry" : "entries");
	if (n > 0) {
		buf_addf(out, " in %zu %s. Times: ", sessions, sessions == 1 ? "session" : "sessions");
		html_zone((double)clock_ms(CLOCK_REALTIME), out);
	}
	buf_adds(out, "</p>\n");
	while (span_line(&hints, &hint)) {
		buf_adds(out, "<p>");
		html_add_text(hint, out);
		buf_adds(out, "</p>\n");
	}
	hits_add_field(answer_query_text(h), out);
	buf_adds(out, "</header>\n<main>\n");
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct answer_entry e = answer_at(h, i);
		if (i == 0 || e.slot != answer_at(h, i - 1).slot) {
			buf_adds(out, is_open ? "</ul></section>\n" : "");
			buf_reset(&page);
			is_open = link(arg, e.slot, &page) == 0 && !buf_err(&page);
			if (is_open) {
				buf_adds(out, "<section><h2><a href=\"");
				html_add_url(buf_span(&page), out);
				buf_adds(out, "\">");
				html_add_text(html_title(e.title), out);
				buf_adds(out, "</a></h2>");
				hits_add_session(h, i, n, out);
				buf_adds(out, "<ul>\n");
			}
		}
		if (is_open)
			hits_add_entry(h, i, buf_span(&page), out);
		rc = cancel_check();
	}
	buf_adds(out, is_open ? "</ul></section>\n</main>\n" : "</main>\n");
	html_end(&html_hits, out);
	return rc < 0 ? rc : buf_err(out);
}
