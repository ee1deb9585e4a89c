/* SPDX-License-Identifier: MIT */
/* html/PROJECT/STEM.html: a session as a self-contained page: the tree of its entries, the current branch, and the
 * other branches folded. Parts that grow with the session are in segments. */
#include "page.h"

#include "calls.h"
#include "pieces.h"
#include "text.h"
#include "sessionfs/base/counters.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/session/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* UTF-16 units in a row of the tree. */
#define ROW_UNITS 100
/* Subagents named in a page. */
#define RELATED_MAX 100
/* Parts of the bar of the context. If there are more, the last one has the rest. */
#define CONTEXT_PARTS_MAX 10
/* UTF-16 units of the name of a part. */
#define CONTEXT_NAME_UNITS 40
/* The max indentation of rows. */
#define ROW_LEVELS 64

/* --- items ------------------------------------------------------------------------ */

/* The rows of the tree, the entries of the current branch, and each other branch. An entry is shown in the first branch
 * that has it, in the order of the tree. So each entry is shown once, whatever the shape of the tree. */

/* A page embeds pictures until their entries total this many bytes of the session file. Shorter entries than the
 * minimum do not count. */
#define PICTURES_SIZE_MAX ((uint64_t)48 << 20)
#define PICTURE_SIZE_MIN 4096
/* The number of entries that a browser lays out together, only when they are visible: fewer cost more per part, more
 * cost more per layout. */
#define PAGE_PART_ENTRIES 16

struct items {
	const struct session *s;
	struct page_item *v;
	size_t n, cap;
	size_t opened;     /* the first item of the current branch */
	uint32_t *at;      /* by entry: the number of its item, from 1 */
	uint64_t pictures; /* bytes of entries that can have pictures */
};

/* A call is shown at the first of its results in its branch. */
static void items_move_call(struct items *a, uint32_t result)
{
	unsigned n = 0;
	uint32_t caller = session_call(a->s, result, &n);

	if (caller == NO_ENTRY || a->at[caller] <= a->opened)
		return;
	struct page_item *item = &a->v[a->at[caller] - 1];
	if (n > 64 || item->calls_at_results >> (n - 1) & 1 || (n > 1 && !call_is_in_page(a->s, caller, n)))
		return;
	item->calls_at_results |= (uint64_t)1 << (n - 1);
	a->v[a->n].flags |= ITEM_ANSWERS;
}

/* The array has room for all entries. */
static void items_add(struct items *a, uint32_t entry)
{
	uint32_t length = session_entry(a->s, entry)->length;
	struct page_item *item = &a->v[a->n];
	*item = (struct page_item){.entry = entry, .next = NO_ENTRY};
	if ((a->n - a->opened) % PAGE_PART_ENTRIES == 0) {
		item->flags |= ITEM_PART;
		if (a->n > a->opened)
			item[-1].flags |= ITEM_PART_ENDS;
	}
	a->pictures += length >= PICTURE_SIZE_MIN ? length : 0;
	item->flags |= a->pictures > PICTURES_SIZE_MAX ? ITEM_NO_PICTURES : 0u;
	if (session_entry(a->s, entry)->role == ROLE_TOOL_RESULT)
		items_move_call(a, entry);
	a->at[entry] = (uint32_t)++a->n;
}

static int items_add_rows(struct items *a)
{
	struct tree_row *rows CLEANUP_FREE = NULL;
	size_t n;
	int rc = tree_rows(a->s, &rows, &n);
	if (rc < 0)
		return rc;
	if (!vec_grow(&a->v, &a->cap, n + session_count(a->s), sizeof *a->v))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		a->v[a->n++] = (struct page_item){
		    .entry = rows[i].entry,
		    .number = rows[i].level,
		    .next = NO_ENTRY,
		    .flags = ITEM_ROW | (rows[i].is_active ? ITEM_ACTIVE : 0u) | (rows[i].is_leaf ? ITEM_LEAF : 0u),
		};
	return 0;
}

/* `more`: flags for its last item. */
static void items_close_branch(struct items *a, unsigned more)
{
	if (a->n == a->opened)
		return;
	a->v[a->opened].number = (uint32_t)(a->n - a->opened);
	a->v[a->n - 1].flags |= ITEM_PART_ENDS | more;
}

static int items_add_current_branch(struct items *a, uint32_t at)
{
	uint32_t *path CLEANUP_FREE = NULL;
	size_t n = 0;
	int rc = at == NO_ENTRY ? 0 : session_path(a->s, at, &path, &n);
	for (size_t i = 0; i < n && rc == 0; i++) {
		items_add(a, path[i]);
		a->v[a->n - 1].next = i + 1 < n ? path[i + 1] : NO_ENTRY;
	}
	items_close_branch(a, 0);
	a->opened = a->n;
	return rc;
}

/* An entry begins a branch if its parent is not the entry before. */
static int items_add_other_branches(struct items *a)
{
	uint32_t *order CLEANUP_FREE = NULL;
	uint32_t before = NO_ENTRY;
	int rc = order_entries(a->s, &order);
	if (rc < 0)
		return rc;
	for (uint32_t k = 0; k < session_count(a->s); k++) {
		uint32_t entry = order[k], parent = session_entry(a->s, entry)->parent;
		if (a->at[entry])
			continue;
		bool opens = before == NO_ENTRY || parent != before;
		if (opens) {
			items_close_branch(a, ITEM_CLOSES);
			a->opened = a->n;
		} else {
			a->v[a->n - 1].next = entry;
		}
		items_add(a, entry);
		a->v[a->n - 1].flags |= opens ? ITEM_OPENS : 0u;
		before = entry;
	}
	items_close_branch(a, ITEM_CLOSES);
	return 0;
}

static void items_release(struct items *a)
{
	free(a->v);
	free(a->at);
}

static int page_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n)
{
	struct items a CLEANUP(items_release) = {.s = p->session};
	a.at = calloc((size_t)session_count(p->session) + 1, sizeof *a.at);
	if (!a.at)
		return -ENOMEM;
	int rc = items_add_rows(&a);
	if (rc < 0)
		return rc;
	size_t first = a.opened = a.n;
	rc = items_add_current_branch(&a, p->leaf);
	if (rc == 0)
		rc = items_add_other_branches(&a);
	if (rc < 0)
		return rc;
	if (a.n > first)
		a.v[first].flags |= ITEM_FIRST;
	for (size_t i = first; i < a.n && !(a.v[i].flags & ITEM_OPENS); i++)
		context_settings(p->session, &a.v[i].entry, 1, &t->model, &t->thinking);
	*ret = a.v;
	*ret_n = a.n;
	a.v = NULL;
	return 0;
}

/* --- front --------------------------------------------------------------------- */

#define FIELD_END "</dd></div>\n"

static void page_begin_field(const char *what, struct buf *out)
{
	buf_addf(out, "<div><dt>%s</dt><dd>", what);
}

/* Appends the first and the last time of the entries, and how long it was worked on. */
static int page_add_times(const struct session *s, struct buf *out)
{
	int64_t first = INT64_MAX, last = NO_TIME;
	for (uint32_t i = 0; i < session_count(s); i++) {
		int64_t ms = session_entry(s, i)->time;
		first = ms != NO_TIME && ms < first ? ms : first;
		last = ms != NO_TIME && ms > last ? ms : last;
	}
	double active;
	int rc = session_active_seconds(s, &active);
	if (rc < 0 || last == NO_TIME)
		return rc;
	buf_adds(out, "<div><dt>Time (<span id=\"~zone\">");
	html_zone((double)last, out);
	buf_adds(out, "</span>)</dt><dd>");
	html_time((double)first, out);
	buf_adds(out, " \u2013 ");
	html_time((double)last, out);
	if (active > 0) {
		buf_adds(out, ", active ");
		text_add_duration(active * 1000, out);
	}
	buf_adds(out, FIELD_END);
	return 0;
}

static int add_state(const struct render_target *p, struct buf *out)
{
	struct timespec changed = session_stat(p->session)->st_mtim;
	const char *state;
	int rc = context_state(p->session, session_leaf(p->session), &state);

	if (rc < 0 || !state)
		return rc;
	page_begin_field("State", out);
	html_state(state, (int64_t)changed.tv_sec * 1000 + changed.tv_nsec / 1000000, p->now, out);
	buf_adds(out, FIELD_END);
	return 0;
}

static int page_add_model(const struct session *s, uint32_t entry, struct buf *out)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct json_value provider, model;

	int rc = context_model(s, entry, &line, &provider, &model);
	if (rc < 0 || entry == NO_ENTRY)
		return rc;
	page_begin_field("Model", out);
	if (provider.kind > JSON_NULL && model.kind > JSON_NULL) {
		page_add_inline(provider, ROW_UNITS, out);
		buf_addc(out, '/');
	}
	if (model.kind > JSON_NULL)
		page_add_inline(model, ROW_UNITS, out);
	else
		buf_adds(out, "unknown");
	buf_adds(out, FIELD_END);
	return 0;
}

/* `with`: the usage with subagents, or NULL. */
static void page_add_usage(const struct usage *u, const struct usage *with, struct buf *out)
{
	if (u->total > 0) {
		page_begin_field("Tokens", out);
		html_add_count(u->total, out);
		if (u->input > 0 || u->output > 0) {
			buf_adds(out, ": ");
			page_add_tokens(u, false, out);
		}
		buf_adds(out, FIELD_END);
	}
	if (u->cost >= PAGE_COST_MIN || (with && with->cost >= PAGE_COST_MIN)) {
		page_begin_field("Cost", out);
		html_dollars(u->cost, PAGE_COST_FINE, out);
		if (with) {
			buf_adds(out, ", with subagents ");
			html_dollars(with->cost, PAGE_COST_FINE, out);
		}
		buf_adds(out, FIELD_END);
	}
}

static void page_add_link(struct span to, struct span text, struct buf *out)
{
	buf_adds(out, "<a href=\"");
	html_add_url(to, out);
	buf_adds(out, "\">");
	html_add_text(text, out);
	buf_adds(out, "</a>");
}

static void page_add_problems(const struct render_target *p, struct buf *out)
{
	size_t n = session_problem_count(p->session);
	if (n == 0)
		return;
	page_begin_field("Problems", out);
	buf_adds(out, "<a href=\"");
	html_add_url(span_of(p->prefix), out);
	buf_adds(out, "problems.txt\">");
	buf_addf(out, "%zu", n);
	buf_adds(out, "</a>" FIELD_END);
}

/* Links the parent session and the subagents. A page's name without .html is its session's. */
static void page_add_related(const struct render_target *p, struct buf *out)
{
	const char *at = p->related_pages ? strchr(p->related_pages, '\n') + 1 : NULL, *first = at, *end;
	for (size_t n = 0; at && (end = strchr(at, '\n')) != NULL; n++, at = end + 1) {
		if (n > RELATED_MAX) {
			buf_adds(out, ", <a href=\"");
			html_add_url(span_of(p->prefix), out);
			buf_adds(out, "subagents\">\u2026</a>");
			break;
		}
		if (at == end)
			continue;
		if (n == 0)
			page_begin_field("Parent", out);
		else if (n == 1)
			page_begin_field("Subagents", out);
		else
			buf_adds(out, ", ");
		const char *name = (const char *)memrchr(at, '/', (size_t)(end - at)) + 1;
		page_add_link((struct span){at, (size_t)(end - at)},
		              (struct span){name, (size_t)(end - name) - strlen(".html")}, out);
		if (n == 0)
			buf_adds(out, FIELD_END);
	}
	if (at && strchr(first, '\n')[1])
		buf_adds(out, FIELD_END);
}

static size_t part_tokens(const struct counters *parts, size_t i)
{
	return *(const size_t *)counters_value(parts, i);
}

/* Appends a bar of the largest parts of the context at the leaf, and its legend. The sum is the last total of
 * context.tsv.
 */
static int page_add_context(const struct render_target *p, struct buf *out)
{
	struct counters parts CLEANUP(counters_release) = COUNTERS_INIT(size_t);
	struct buf legend CLEANUP_BUF = BUF_INIT;
	size_t total = 0;
	int rc = render_context_tsv(p->session, p->leaf, &parts, &legend);

	buf_reset(&legend);
	for (size_t i = 0; i < parts.n; i++)
		total += part_tokens(&parts, i);
	if (rc < 0 || total == 0)
		return rc;
	buf_addf(out, "<div class=\"plot context\"><dt>Context</dt><dd><span title=\"%zu tokens\">", total);
	html_add_count((double)total, out);
	buf_addf(
	    out,
	    " tokens, estimated</span><svg viewBox=\"0 0 %zu 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
	    total);
	for (size_t k = 0, left = total; left > 0; k++) {
		size_t largest = 0;
		for (size_t i = 1; i < parts.n; i++)
			largest = part_tokens(&parts, i) > part_tokens(&parts, largest) ? i : largest;
		struct span name = counters_name(&parts, largest);
		size_t *part = counters_get(&parts, name), tokens = *part;
		bool is_last = k + 1 == CONTEXT_PARTS_MAX, is_rest = is_last && left > tokens;
		*part = 0;
		tokens = is_rest ? left : tokens;
		size_t colour = is_last ? 7 : k + (k >= 7), start;
		buf_addf(out, "<rect class=\"c%zu\" x=\"%zu\" width=\"%zu\" height=\"1\"/>", colour, total - left,
		         tokens);
		buf_addf(&legend, "<span title=\"%zu tokens\"><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\">", tokens);
		buf_addf(&legend, "<rect class=\"c%zu\" width=\"1\" height=\"1\"/></svg> ", colour);
		start = legend.n;
		buf_addspan(&legend, is_rest ? SPAN_LIT("other") : (struct span){name.p + 1, name.n - 1});
		page_shorten_from(&legend, start, CONTEXT_NAME_UNITS);
		buf_addc(&legend, ' ');
		html_add_count((double)tokens, &legend);
		buf_adds(&legend, "</span>\n");
		left -= tokens;
	}
	buf_adds(out, "</svg>\n");
	buf_addspan(out, buf_span(&legend));
	buf_adds(out, "</dd></div>\n");
	return buf_err(&legend);
}

static int page_add_header(const struct render_target *p, const struct render_totals *t, struct span title,
                           struct buf *out)
{
	const struct session *s = p->session;
	struct json_value cwd = session_header(s)->cwd;
	struct span related = span_of(p->related_pages ? p->related_pages : ""), own;

	buf_adds(out, "<a class=\"skip\" href=\"#~main\">Skip to the conversation</a>\n<header class=\"top\"");
	/* The script compares it with the page's address: elsewhere, links to other files lead nowhere. */
	if (span_line(&related, &own)) {
		buf_adds(out, " data-page=\"");
		html_add_text(own, out);
		buf_addc(out, '"');
	}
	buf_adds(out, "><p><a href=\"../index.html\">All sessions</a></p>\n<h1 title=\"");
	html_add_text(title, out);
	buf_adds(out, "\">");
	html_add_text(title, out);
	buf_adds(out, "</h1>\n<dl>\n");
	if (cwd.kind == JSON_STRING && cwd.text.n > 0) {
		page_begin_field("Directory", out);
		html_add_value(cwd, out);
		buf_adds(out, FIELD_END);
	}
	int rc = page_add_times(s, out);
	rc = rc < 0 ? rc : add_state(p, out);
	rc = rc < 0 ? rc : page_add_model(s, t->model, out);
	page_begin_field("Entries", out);
	number_add_unsigned(session_count(s), out);
	buf_adds(out, FIELD_END);
	page_add_usage(&t->usage, p->with_subagents, out);
	page_add_problems(p, out);
	/* The path to the session ends in the names of the project and of the session. */
	const char *at = strstr(p->prefix, "projects/");
	page_begin_field("Files", out);
	page_add_link(span_of(p->prefix), span_of(at ? at : p->prefix), out);
	buf_adds(out, FIELD_END);
	page_add_related(p, out);
	rc = rc < 0 ? rc : page_add_context(p, out);
	buf_adds(out, "</dl>\n");
	rc = rc < 0 ? rc : page_add_files(p, out);
	buf_adds(out,
	         "</header>\n"
	         "<nav aria-label=\"Tree of entries\"><details><summary><h2>Tree</h2></summary>\n<ol id=\"~tree\">\n");
	return rc;
}

static void page_end(const bool *page)
{
	text_is_for_page = !*page;
}

static int page_front(const struct render_target *p, const struct render_totals *t, struct buf *out)
{
	struct buf title CLEANUP_BUF = BUF_INIT;
	const bool page CLEANUP(page_end) = text_is_for_page = true;

	int rc = render_title(p->session, &title);
	if (rc < 0 || buf_err(&title))
		return rc < 0 ? rc : buf_err(&title);
	title.n -= title.n > 0 && title.p[title.n - 1] == '\n';
	html_begin(html_title(buf_span(&title)), &html_session, out);
	rc = page_add_header(p, t, html_title(buf_span(&title)), out);
	return rc < 0 ? rc : buf_err(out);
}

/* --- rows ---------------------------------------------------------------------- */

static int page_add_row_text(const struct session *s, uint32_t entry, struct reader *reader, struct buf *out)
{
	size_t start = out->n;
	struct span summary = {NULL, 0};
	struct record r;
	unsigned n = 0;
	uint32_t caller = session_call(s, entry, &n);
	int rc = 0;

	if (caller != NO_ENTRY && call_is_in_page(s, caller, n)) {
		rc = call_texts_get(s, caller, n, call_add_summary, reader, &summary);
		buf_addspan(out, summary);
	} else {
		rc = session_read(s, entry, reader, &r);
		rc = rc == 0 ? call_texts_cache(s, entry, &r, call_add_summary, reader) : rc;
		if (rc == 0)
			text_add_row(&r, out);
	}
	if (rc < 0)
		return rc;
	page_shorten_from(out, start, ROW_UNITS);
	return 0;
}

static int page_add_row(const struct session *s, const struct page_item *item, struct reader *reader, struct buf *out)
{
	unsigned level = item->number < ROW_LEVELS ? item->number : ROW_LEVELS;
	const struct entry *e = session_entry(s, item->entry);
	const char *class = e->role == ROLE_USER ? "u" : e->role == ROLE_ASSISTANT ? "a" : "t";

	buf_addf(out, "<li class=\"%s d%u", e->type == RECORD_MESSAGE ? class : "k", level % 8);
	if (level >= 8)
		buf_addf(out, " e%u", level / 8);
	buf_adds(out, item->flags & ITEM_ACTIVE ? "\"><a " : " off\"><a ");
	page_add_entry_href(s, item->entry, 0, out);
	buf_adds(out, item->flags & ITEM_LEAF ? " aria-current=\"true\">" : ">");
	if (e->flags & ENTRY_FAILED)
		buf_adds(out, "<span class=\"failed\">failed</span> ");
	page_add_label(s, item->entry, &reader->scratch[0], out);
	int rc = page_add_row_text(s, item->entry, reader, out);
	buf_adds(out, "</a></li>\n");
	return rc;
}

/* --- segments -------------------------------------------------------------------- */

#define ROWS_END "</ol></details></nav>\n<main id=\"~main\" tabindex=\"-1\">\n"

/* A branch is named after the text of its first entry. */
static void page_open_branch(struct page *g)
{
	uint32_t parent = session_entry(g->s, g->entry)->parent;
	size_t start;

	buf_adds(g->out, "<details class=\"branch\"><summary><h2>");
	buf_addf(g->out, "Branch of %u %s: ", g->item->number, g->item->number == 1 ? "entry" : "entries");
	start = g->out->n;
	text_add_row(&g->r, g->out);
	page_shorten_from(g->out, start, ROW_UNITS);
	buf_adds(g->out, "</h2></summary>\n");
	if (parent == NO_ENTRY)
		return;
	buf_adds(g->out, "<p class=\"forks\">Continues from <a ");
	page_add_entry_href(g->s, parent, 0, g->out);
	buf_addc(g->out, '>');
	start = g->out->n;
	session_entry_name(g->s, parent, g->out);
	html_escape_from(g->out, start);
	buf_adds(g->out, "</a></p>\n");
}

static int page_add_entry(struct page *g)
{
	unsigned flags = g->item->flags;

	session_entry_name(g->s, g->entry, &g->name);
	if (flags & ITEM_FIRST)
		buf_adds(g->out, ROWS_END);
	if ((flags & ITEM_FIRST) && !(flags & ITEM_OPENS))
		buf_adds(g->out, "<h2>Current branch</h2>\n");
	if (flags & ITEM_OPENS)
		page_open_branch(g);
	if (flags & ITEM_PART)
		buf_adds(g->out, "<div class=\"part\">\n");
	int rc = page_add_article(g);
	if (flags & ITEM_PART_ENDS)
		buf_adds(g->out, "</div>\n");
	if (flags & ITEM_CLOSES)
		buf_adds(g->out, "</details>\n");
	return rc < 0 ? rc : buf_err(&g->name);
}

static void page_release(struct page *g)
{
	buf_release(&g->name);
}

static int page_segment(const struct render_target *p, const void *of, bool is_first, struct reader *reader,
                        struct usage *usage, struct buf *out)
{
	const struct page_item *item = of;
	const bool page CLEANUP(page_end) = text_is_for_page = true;
	struct page g CLEANUP(page_release) = {
	    .target = p,
	    .s = p->session,
	    .item = item,
	    .entry = item->entry,
	    .text = &reader->scratch[0],
	    .more = &reader->scratch[1],
	    .language = "",
	    .name = BUF_INIT,
	    .out = out,
	};

	(void)is_first;
	if (item->flags & ITEM_ROW) {
		int rc = page_add_row(g.s, item, reader, out);
		return rc < 0 ? rc : buf_err(out);
	}
	int rc = session_read(g.s, item->entry, reader, &g.r);
	if (rc < 0)
		return rc;
	if (usage)
		usage_add(usage, usage_from_json(part_usage(&g.r)));
	rc = page_add_entry(&g);
	return rc < 0 ? rc : buf_err(out);
}

static int page_back(const struct render_target *p, const struct render_totals *t, size_t n, struct buf *out)
{
	(void)p, (void)t;
	if (n == 0)
		buf_adds(out, ROWS_END "<p>No entries.</p>\n");
	buf_adds(out, "</main>\n");
	html_end(&html_session, out);
	return buf_err(out);
}

const struct producer producer_page_html = {
    .item_size = sizeof(struct page_item),
    .list = page_items,
    .has_labels = true,
    .front = page_front,
    .segment = page_segment,
    .back = page_back,
};
