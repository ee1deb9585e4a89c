/* SPDX-License-Identifier: MIT */
/* The names above all sessions: the root, projects/ and sessions/. */
#include "sessionfs/find/pages.h"
#include "sessionfs/find/tables.h"
#include "sessionfs/json/json.h"
#include "rows.h"

#include <errno.h>

int append_session_path(struct ctx *c, const char *up, const struct slot_info *s, struct buf *out)
{
	struct project_info p;
	if (!catalog_project(c->tree->catalog, s->project, &p))
		return -ESTALE;
	buf_addf(out, "%s%s/%s", up, p.name, s->stem);
	return 0;
}

/* --- projects and sessions -------------------------------------------------------- */

static int project_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct project_info p;
	int rc = 0;
	while (rc == 0 && catalog_project_next(dir->tree->catalog, &cookie, &p)) {
		dir->project = p;
		rc =
		    list_emit_child(dir, l, (struct node){.slot = p.project}, span_of(p.name), COOKIE_DYNAMIC + cookie);
	}
	return 0;
}

static int project_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct project_info p;
	if (!catalog_project_by_name(dir->tree->catalog, name, &p))
		return -ENOENT;
	ret->slot = p.project;
	return 0;
}

static int session_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc = 0;
	while (rc == 0 && catalog_slot_next(dir->tree->catalog, dir->node.slot, &cookie, &dir->slot))
		rc = list_emit_child(dir, l, (struct node){.slot = dir->slot.slot}, span_of(dir->slot.stem),
		                     COOKIE_DYNAMIC + cookie);
	return 0;
}

static int session_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct slot_info s;
	if (!catalog_slot_by_stem(dir->tree->catalog, dir->node.slot, name, &s))
		return -ENOENT;
	ret->slot = s.slot;
	return 0;
}

static int session_link_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc = 0;
	while (rc == 0 && catalog_slot_next(dir->tree->catalog, NO_SLOT, &cookie, &dir->slot))
		rc = list_emit_child(dir, l, (struct node){.slot = dir->slot.slot}, span_of(dir->slot.sid),
		                     COOKIE_DYNAMIC + cookie);
	return 0;
}

static int session_link_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct slot_info s;
	if (!catalog_slot_by_sid(dir->tree->catalog, name, &s))
		return -ENOENT;
	ret->slot = s.slot;
	return 0;
}

static bool session_name_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	*slot = s->project;
	buf_adds(name, s->stem ? s->stem : "");
	return s->project != NO_SLOT && s->stem;
}

static bool session_link_name_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	(void)slot;
	buf_adds(name, s->sid ? s->sid : "");
	return s->sid != NULL;
}

/* A project appears with its first session, and disappears with its last one. */
bool project_name_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	struct project_info p;
	struct slot_info first, second;
	uint64_t cookie = 0;
	(void)slot;
	if (s->project == NO_SLOT)
		return false;
	bool found = catalog_project(t->catalog, s->project, &p);
	buf_adds(name, p.name ? p.name : "");
	return p.name && (!found || !catalog_slot_next(t->catalog, s->project, &cookie, &first) ||
	                  !catalog_slot_next(t->catalog, s->project, &cookie, &second));
}

static bool latest_link_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	(void)s;
	(void)slot;
	(void)name;
	return true;
}

static bool project_latest_link_changes(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name)
{
	(void)t;
	(void)name;
	*slot = s->project;
	return s->project != NO_SLOT;
}

/* --- the root --- */

static bool latest_exists(struct ctx *c)
{
	bool of_project = c->kind->from->scope == SCOPE_PROJECT;
	return catalog_latest(c->tree->catalog, of_project ? c->node.slot : NO_SLOT, &c->slot);
}

static int latest_show(struct ctx *c, struct buf *out)
{
	return append_session_path(c, "projects/", &c->slot, out);
}

static int project_latest_show(struct ctx *c, struct buf *out)
{
	buf_adds(out, c->slot.stem);
	return 0;
}

static int session_link_show(struct ctx *c, struct buf *out)
{
	return append_session_path(c, "../projects/", &c->slot, out);
}

static int agents_show(struct ctx *c, struct buf *out)
{
	(void)c;
	buf_adds(out, "README.md");
	return 0;
}

static int usage_svg_render(const struct fact_list *all, struct buf *out)
{
	return plot_usage(all, true, out);
}

/* Appends the names in the root or in a session that searches skip: files, or all others. */
static void ignore_add_names(const struct kind_rows *rows, const char *place, bool files, struct buf *out)
{
	for (const struct kind *k = rows->v; k < rows->v + rows->n; k++)
		if (k->name && k->name[0] != '.' && !(k->flags & IGNORE_EXEMPT) && (k->make.type == S_IFREG) == files)
			buf_addf(out, "%s%s\n", place, k->name);
}

/* The last matching pattern decides. For a directory given on the command line, ripgrep 13 matches patterns of parent
 * directories at the wrong level. So a session's names come without their path, which is right at any level; a project
 * or session can have such a name, too. */
static int ignore_show(struct ctx *c, struct buf *out)
{
	(void)c;
	buf_adds(out, "# Limits rg and fd to all.txt, name and title of each session. Everything: rg -uu, fd -I\n");
	ignore_add_names(&rows_root, "/", true, out);
	ignore_add_names(&rows_session, "", true, out);
	buf_adds(out, "![!.]*/\n");
	ignore_add_names(&rows_root, "/", false, out);
	ignore_add_names(&rows_session, "", false, out);
	buf_adds(out, "!/projects/*/\n!/projects/*/[!.]*/\n");
	return buf_err(out);
}

/* The length is constant: a kernel that opens files without asking would truncate it to its previous size. */
#define STATUS_REST 256

static int status_show(struct ctx *c, struct buf *out)
{
	struct catalog_status s;
	catalog_status(c->tree->catalog, &s);
	buf_adds(out, "{\"program\":\"sessionfs " SESSIONFS_VERSION "\",\"contract\":3,\"source\":");
	json_quote(span_of(catalog_source(c->tree->catalog)), out);
	size_t most = out->n + STATUS_REST;
	buf_addf(out, ",\"follows\":\"%s\",\"watches\":%zu,\"sessions\":%zu,\"scanning\":%s,\"memory\":%zu}",
	         s.watched ? "inotify" : "poll", s.watches, s.sessions, s.scanning ? "true" : "false",
	         budget_used(cache_budget(c->tree->cache)));
	if (most > out->n)
		buf_addf(out, "%*s", (int)(most - out->n), "\n");
	return buf_err(out);
}

static const struct kind in_root[] = {
    {"README.md", .doc = "this file", .from = &from_mount, .make = SHOW(readme_show), .flags = UNCACHED_TEXT},
    {"AGENTS.md", .doc = "a link to it, for agents", .from = &from_mount, .make = LINK(agents_show)},
    {".ignore", .doc = "for rg and fd: `rg WORD` here searches all.txt, name and title of each session",
     .from = &from_mount, .make = SHOW(ignore_show), .flags = UNCACHED_TEXT},
    {"projects", .doc = "sessions by the directory in which they started; .latest: the newest", .from = &from_mount,
     .make = DIR(projects), .flags = IGNORE_EXEMPT},
    {"sessions", .doc = "sessions by id (links)", .from = &from_mount, .make = DIR(sessions),
     .flags = NOTIFY_CREATE | LISTS_ALL_PROJECTS},
    {"latest", .doc = "the newest session of all (a link)", .from = &from_mount, .make = LINK(latest_show),
     .has = latest_exists, .moves = latest_link_changes, .time = MTIME_SESSION},
    {"by-date", .doc = "sessions by the day and time of their start, without subagents (links)", .from = &from_all,
     .make = GROUP(by_date, BY_DATE)},
    {"by-project", .doc = "sessions by project, without subagents (links)", .from = &from_all,
     .make = GROUP(by_project, BY_PROJECT)},
    {"sessions.tsv", .doc = "all sessions as a table, newest first", .from = &from_all, .make = TABLE(table_sessions)},
    {"usage.tsv", .doc = "day, project, model, messages, input, output, cacheRead, cacheWrite, tokens, cost",
     .from = &from_all, .make = TABLE(table_usage)},
    {"usage.svg", .doc = "a chart of cost by day and model", .from = &from_all, .make = TABLE(usage_svg_render)},
    {"files.tsv", .doc = "files read, written, edited: project, stem, time, entry, call, action, outcome, path",
     .from = &from_all, .make = TABLE(table_files)},
    {"problems.tsv", .doc = "lines and files that could not be read, and entries that a provider refuses",
     .from = &from_all, .make = TABLE(table_problems)},
    {"labels", .doc = "entries with that label, in any session (links)", .from = &from_all,
     .make = GROUP(all_labels, BY_LABEL)},
    {"labels.tsv", .doc = "all labels of all sessions, as a table", .from = &from_all, .make = TABLE(table_labels)},
    {"search", .doc = "matches in all sessions: hits.txt as from grep, and links to entries", .from = &from_mount,
     .make = DIR(search), .flags = OWNER_ONLY},
    {"html", .doc = "sessions as web pages; html/index.html lists all", .from = &from_mount, .make = DIR(html),
     .flags = OWNER_ONLY},
    {".status", .doc = "the state of the mount as JSON; not listed", .from = &from_mount, .make = SHOW(status_show),
     .flags = LIVE_STATUS | UNCACHED_TEXT, .changes = TREE_UNTIMED},
};
const struct kind_rows rows_root = ROWS(in_root);

static const struct kind in_sessions[] = {
    {NULL, .doc = "a session (a link)", .from = &from_file, .make = LINK(session_link_show),
     .names = {"SID", session_link_list, session_link_match, NULL}, .moves = session_link_name_changes},
};
const struct kind_rows rows_sessions = ROWS(in_sessions);

static const struct kind in_projects[] = {
    {NULL, .doc = "sessions that started in one directory", .from = &from_project, .make = DIR(project),
     .flags = NOTIFY_CREATE, .names = {"PROJECT", project_list, project_match, NULL}, .moves = project_name_changes},
};
const struct kind_rows rows_projects = ROWS(in_projects);

static const struct kind in_project[] = {
    {".latest", .doc = "the newest session of the project (a link)", .from = &from_project,
     .make = LINK(project_latest_show), .has = latest_exists, .moves = project_latest_link_changes,
     .time = MTIME_SESSION},
    {NULL, .doc = "a session", .from = &from_file, .make = DIR(session), .flags = ALLOWS_CREATE,
     .names = {"STEM", session_list, session_match, NULL}, .moves = session_name_changes},
};
const struct kind_rows rows_project = ROWS(in_project);

const struct kind tree_root = {"/", .doc = "the mount", .from = &from_mount, .make = DIR(root), .flags = NOTIFY_CREATE};
