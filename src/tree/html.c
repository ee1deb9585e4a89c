/* SPDX-License-Identifier: MIT */
/* html/: the sessions as pages. */
#include "sessionfs/base/name.h"
#include "sessionfs/find/pages.h"
#include "sessionfs/render/producer.h"
#include "rows.h"

#include <errno.h>
#include <stdio.h>

#define INDEX_PAGE "index.html"
#define PAGE_SUFFIX ".html"

/* --- projects ---------------------------------------------------------------------- */

/* Names as in projects/, but INDEX_PAGE is a page here: a project of that name gets the next free name. */
static void html_project_name(struct tree *t, const char *project, struct buf *out)
{
	struct project_info other;
	if (strcmp(project, INDEX_PAGE) != 0) {
		buf_adds(out, project);
		return;
	}
	char name[sizeof INDEX_PAGE + 16];
	unsigned n = 2;
	do
		snprintf(name, sizeof name, INDEX_PAGE "~%u", n++);
	while (catalog_project_by_name(t->catalog, span_of(name), &other));
	buf_adds(out, name);
}

static int html_project_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct project_info p;
	int rc = 0;
	while (rc == 0 && catalog_project_next(dir->tree->catalog, &cookie, &p)) {
		dir->project = p;
		buf_reset(&name);
		html_project_name(dir->tree, p.name, &name);
		if (buf_err(&name))
			return buf_err(&name);
		rc =
		    list_emit_child(dir, l, (struct node){.slot = p.project}, buf_span(&name), COOKIE_DYNAMIC + cookie);
	}
	return 0;
}

static int html_project_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	struct catalog *catalog = dir->tree->catalog;
	struct project_info p;
	if (!catalog_project_by_name(catalog, name, &p) && !catalog_project_by_name(catalog, SPAN_LIT(INDEX_PAGE), &p))
		return -ENOENT;
	html_project_name(dir->tree, p.name, &made);
	if (!span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : -ENOENT;
	ret->slot = p.project;
	return 0;
}

static bool html_project_name_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	struct buf project CLEANUP_BUF = BUF_INIT;
	bool moves = project_name_changes(t, s, slot, &project);
	if (moves && buf_cstr(&project))
		html_project_name(t, project.p, name);
	return moves;
}

/* --- pages ------------------------------------------------------------------------- */

/* If a STEM is too long with the suffix, it is truncated again, as any name. */
static void html_page_name(const struct slot_info *s, struct buf *out)
{
	struct buf plain CLEANUP_BUF = BUF_INIT, text CLEANUP_BUF = BUF_INIT;
	char suffix[NAME_BYTES + sizeof PAGE_SUFFIX];
	size_t n = strlen(s->stem);
	if (n + strlen(PAGE_SUFFIX) <= NAME_BYTES) {
		buf_addf(out, "%s" PAGE_SUFFIX, s->stem);
		return;
	}
	/* A STEM ends in ~2 or the like, or in a hash of its text. */
	const char *tail = strrchr(s->stem, '~');
	catalog_stem_text(s->file, s->stem_at, &text);
	name_encode("", buf_span(&text), "", &plain);
	bool is_plain = span_eq(buf_span(&plain), span_of(s->stem));
	snprintf(suffix, sizeof suffix, "%s" PAGE_SUFFIX, is_plain || !tail ? "" : tail);
	name_encode("", buf_span(&text), suffix, out);
	out->err = buf_err(&text) ? buf_err(&text) : out->err;
}

static int html_page_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	int rc = 0;
	while (rc == 0 && catalog_slot_next(dir->tree->catalog, dir->node.slot, &cookie, &dir->slot)) {
		buf_reset(&name);
		html_page_name(&dir->slot, &name);
		if (buf_err(&name))
			return buf_err(&name);
		rc = list_emit_child(dir, l, (struct node){.slot = dir->slot.slot}, buf_span(&name),
		                     COOKIE_DYNAMIC + cookie);
	}
	return 0;
}

/* A truncated name does not contain its STEM, so compare all pages. */
static bool page_find_truncated(struct ctx *dir, struct span name, struct slot_info *ret)
{
	uint64_t cookie = 0;
	while (catalog_slot_next(dir->tree->catalog, dir->node.slot, &cookie, ret)) {
		struct buf made CLEANUP_BUF = BUF_INIT;
		html_page_name(ret, &made);
		if (span_eq(buf_span(&made), name))
			return true;
	}
	return false;
}

/* A truncated name is shorter than the limit by less than one %XX or character. */
static int html_page_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct slot_info s;
	size_t end = strlen(PAGE_SUFFIX);
	bool whole = name.n > end && memcmp(name.p + name.n - end, PAGE_SUFFIX, end) == 0 &&
	             catalog_slot_by_stem(dir->tree->catalog, dir->node.slot, (struct span){name.p, name.n - end}, &s);
	if (!whole && (name.n < NAME_BYTES - 3 || !page_find_truncated(dir, name, &s)))
		return -ENOENT;
	ret->slot = s.slot;
	return 0;
}

static bool page_name_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	if (s->project == NO_SLOT || !s->stem)
		return false;
	*slot = s->project;
	html_page_name(s, name);
	return true;
}

static int page_append_session_path(struct ctx *c, struct buf *out)
{
	int rc = append_session_path(c, "../../projects/", &c->slot, out);
	buf_addc(out, '/');
	return rc;
}

int html_append_page_path(struct tree *t, const struct slot_info *s, struct buf *out)
{
	struct project_info p;
	if (!catalog_project(t->catalog, s->project, &p) || !s->stem)
		return -ESTALE;
	html_project_name(t, p.name, out);
	buf_addc(out, '/');
	html_page_name(s, out);
	return 0;
}

static int page_add_other_path(struct tree *t, const struct slot_info *s, struct buf *out)
{
	size_t start = out->n;
	buf_adds(out, "../");
	int rc = html_append_page_path(t, s, out);
	out->n = rc < 0 ? start : out->n;
	return rc;
}

/* Skips a session that disappeared just now: then the page is rendered again. Leaves out those that cannot be read. */
static int page_append_related(struct ctx *c, struct buf *out)
{
	struct catalog *catalog = c->tree->catalog;
	struct buf pages CLEANUP_BUF = BUF_INIT;
	struct slot_info s;
	int before = deferred_begin();
	uint32_t parent = catalog_parent(catalog, c->node.slot);
	uint64_t cookie = 0;
	size_t n = 0;
	int rc = page_add_other_path(c->tree, &c->slot, out);
	if (rc < 0)
		return deferred_end(before, rc);
	buf_addc(out, '\n');
	if (parent != NO_SLOT && catalog_slot(catalog, parent, &s) == 0)
		page_add_other_path(c->tree, &s, out);
	buf_addc(out, '\n');
	while (catalog_fork_next(catalog, c->node.slot, true, &cookie, &s)) {
		if (page_add_other_path(c->tree, &s, &pages) < 0)
			continue;
		buf_addc(&pages, '\n');
		n++;
	}
	int missed = deferred_end(before, buf_err(&pages));
	return missed < 0 && !error_is_of_source(missed) ? missed : append_sorted_lines(buf_span(&pages), n, out);
}

/* --- index.html -------------------------------------------------------------------- */

static int html_index_add_link(void *arg, const struct fact *f, struct buf *out)
{
	struct slot_info s = {.stem = f->stem, .file = f->file, .stem_at = f->stem_at};
	html_project_name(arg, f->project, out);
	buf_addc(out, '/');
	html_page_name(&s, out);
	return buf_err(out);
}

static int html_index_show(struct ctx *c, struct buf *out)
{
	int rc = ctx_load_facts(c);
	return rc < 0 ? rc : index_page(c->facts, html_index_add_link, c->tree, out);
}

static const struct kind in_html[] = {
    {"index.html", .doc = "all sessions as a table", .from = &from_all, .make = SHOW(html_index_show)},
    {NULL, .doc = "pages of the sessions of a project", .from = &from_project, .make = DIR(html_project),
     .flags = NOTIFY_CREATE | OWNER_ONLY, .names = {"PROJECT", html_project_list, html_project_match, NULL},
     .moves = html_project_name_changes},
};
const struct kind_rows rows_html = ROWS(in_html);

static const struct kind in_html_project[] = {
    {NULL, .doc = "a session as a page", .from = &from_session,
     .make = SEGMENTED_PAGE(page_html, page_append_session_path, page_append_related),
     .flags = OWNER_ONLY | LISTS_ALL_PROJECTS | SUMS_SUBAGENTS,
     .names = {"STEM.html", html_page_list, html_page_match, NULL}, .moves = page_name_changes},
};
const struct kind_rows rows_html_project = ROWS(in_html_project);
