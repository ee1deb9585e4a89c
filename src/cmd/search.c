/* SPDX-License-Identifier: MIT */
/* --search: hits.txt of a query without a mount, and a line for people or for programs. */
#include "sessionfs/cmd/cli.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/terminal.h"
#include "sessionfs/json/json.h"
#include "sessionfs/session/part.h"

#include <errno.h>

#define CHUNK ((size_t)1 << 20)

struct printing {
	FILE *out;
	enum cli_search_style style;
	const struct query *query;
	const struct session *session; /* of the line before */
	size_t lines, sessions;
	struct buf text;
	struct line line;
	uint32_t entry; /* whose role and type are in `said` */
	struct buf said;
};

/* ---- as it is ---- */

static int print_plain(struct searches *s, const struct answer *h, FILE *out)
{
	struct buf chunk CLEANUP_BUF = BUF_INIT;
	int rc = 0;
	for (uint64_t off = 0; rc == 0 && off < answer_size(h); off += chunk.n) {
		buf_reset(&chunk);
		rc = answer_read(s, h, off, CHUNK, &chunk);
		if (rc == 0 && chunk.n == 0)
			rc = -EIO;
		if (rc == 0)
			rc = cli_put(out, buf_span(&chunk));
	}
	return rc;
}

/* ---- for a terminal ---- */

static void add_harmless(struct span text, struct buf *out)
{
	size_t start = out->n;
	buf_addspan(out, text);
	terminal_make_harmless(out, start);
}

/* The colours are grep's. */
static void search_add_part(struct printing *p, const char *colour, struct span text)
{
	bool coloured = p->style == CLI_SEARCH_COLOURED;
	if (coloured)
		buf_adds(&p->text, colour);
	add_harmless(text, &p->text);
	if (coloured)
		buf_adds(&p->text, COLOUR_END);
}

static void add_marked(struct printing *p, struct span text)
{
	struct span mark;
	size_t at = 0;
	while (p->style == CLI_SEARCH_COLOURED && query_mark(p->query, text, at, &mark)) {
		size_t begin = (size_t)(mark.p - text.p);
		add_harmless((struct span){text.p + at, begin - at}, &p->text);
		search_add_part(p, COLOUR_BOLD_RED, mark);
		at = begin + mark.n;
	}
	add_harmless((struct span){text.p + at, text.n - at}, &p->text);
}

static void count(struct printing *p, const struct answer_line *l)
{
	p->sessions += p->session != l->session;
	p->session = l->session;
	p->lines++;
}

static int print_shown(void *arg, const struct answer_line *l)
{
	struct printing *p = arg;
	struct buf path CLEANUP_BUF = BUF_INIT;
	char number[24];
	int n = snprintf(number, sizeof number, "%ju", (uintmax_t)l->hit->line);
	count(p, l);
	buf_reset(&p->text);
	buf_addf(&path, "projects/%s/%s/", l->project, l->stem);
	buf_addspan(&path, l->hit->path);
	search_add_part(p, COLOUR_MAGENTA, buf_span(&path));
	search_add_part(p, COLOUR_CYAN, SPAN_LIT(":"));
	search_add_part(p, COLOUR_GREEN, (struct span){number, (size_t)n});
	search_add_part(p, COLOUR_CYAN, SPAN_LIT(":"));
	add_marked(p, l->hit->text);
	buf_addc(&p->text, '\n');
	int rc = buf_err(&path) ? buf_err(&path) : buf_err(&p->text);
	return rc < 0 ? rc : cli_put(p->out, buf_span(&p->text));
}

/* ---- as JSON ---- */

static void add_field(const char *name, struct span value, struct buf *out)
{
	buf_addf(out, ",\"%s\":", name);
	json_quote(value, out);
}

/* The entry's type and role, as fields. */
static int say_entry(struct printing *p, const struct answer_line *l)
{
	struct buf word CLEANUP_BUF = BUF_INIT;
	struct record r;
	int rc = session_load(l->session, l->entry, &p->line, &r);
	if (rc < 0)
		return rc;
	buf_reset(&p->said);
	part_type(&r, &word);
	if (word.n > 0)
		add_field("type", (struct span){word.p, word.n - 1}, &p->said);
	buf_reset(&word);
	part_role(&r, &word);
	if (word.n > 0)
		add_field("role", (struct span){word.p, word.n - 1}, &p->said);
	p->entry = l->entry;
	return buf_err(&word);
}

static int print_json(void *arg, const struct answer_line *l)
{
	struct printing *p = arg;
	struct buf text CLEANUP_BUF = BUF_INIT, *out = &p->text;
	char date[NUMBER_TIME];
	int64_t time = session_entry(l->session, l->entry)->time;
	int rc = p->session == l->session && p->entry == l->entry ? 0 : say_entry(p, l);
	count(p, l);
	buf_reset(out);
	buf_addf(&text, "projects/%s/%s/", l->project, l->stem);
	buf_addspan(&text, l->hit->path);
	buf_adds(out, "{\"path\":");
	json_quote(buf_span(&text), out);
	buf_addf(out, ",\"line\":%ju", (uintmax_t)l->hit->line);
	add_field("text", l->hit->text, out);
	add_field("project", span_of(l->project), out);
	add_field("session", session_id(l->session), out);
	buf_reset(&text);
	session_entry_name(l->session, l->entry, &text);
	add_field("entry", buf_span(&text), out);
	buf_addspan(out, buf_span(&p->said));
	if (time != NO_TIME && number_time((double)time, date))
		add_field("time", span_of(date), out);
	buf_adds(out, "}\n");
	if (rc == 0)
		rc = buf_err(out) ? buf_err(out) : buf_err(&text);
	return rc < 0 ? rc : cli_put(p->out, buf_span(out));
}

/* ---- all ---- */

static int print_lines(struct searches *s, const struct answer *h, struct span text, enum cli_search_style style,
                       FILE *out, FILE *messages)
{
	bool json = style == CLI_SEARCH_JSON;
	struct printing p = {
	    .out = out, .style = style, .text = BUF_INIT, .said = BUF_INIT, .line = LINE_INIT, .entry = NO_ENTRY};
	struct query *q;
	int rc = query_parse(text, clock_ms(CLOCK_REALTIME), &q);
	if (rc < 0)
		return rc;
	p.query = q;
	rc = answer_each(s, h, json ? print_json : print_shown, &p);
	fflush(out);
	if (rc == 0 && messages)
		fprintf(messages, "%zu %s in %zu %s%s\n", p.lines, p.lines == 1 ? "line" : "lines", p.sessions,
		        p.sessions == 1 ? "session" : "sessions", p.lines == SEARCH_MOST ? "; there may be more" : "");
	query_put(q);
	buf_release(&p.text);
	buf_release(&p.said);
	line_release(&p.line);
	return rc;
}

int cli_search(struct tree *t, const char *text, enum cli_search_style style, FILE *out, FILE *messages,
               struct buf *why)
{
	struct searches *s = tree_searches(t);
	const struct answer *h;
	uint64_t number;
	int rc = searches_number(s, span_of(text), &number, why);
	if (rc == 0)
		rc = searches_get(s, number, &h);
	if (rc < 0)
		return rc;
	bool any = answer_size(h) > 0;
	rc =
	    style == CLI_SEARCH_PLAIN ? print_plain(s, h, out) : print_lines(s, h, span_of(text), style, out, messages);
	if (rc == 0)
		rc = answer_missed(h);
	answer_put(h);
	return rc < 0 ? rc : any;
}
