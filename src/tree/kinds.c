/* SPDX-License-Identifier: MIT */
/* The table of all names: the rows of each directory, which are next to their functions, and what follows from a
 * row. */
#include "sessionfs/base/name.h"
#include "rows.h"

#include <stdio.h>

/* Their mtime covers their contents, and the kernel may cache them while every change invalidates them. */

/* Above all sessions. A session that appears, disappears or changes invalidates the root. */
const struct kind_source from_mount = {SCOPE_MOUNT, MTIME_ALL, TREE_WATCHED, false};
/* Made of all sessions. Any session can change it without invalidation. */
const struct kind_source from_all = {SCOPE_MOUNT, MTIME_ALL, TREE_UNCACHED, true};
const struct kind_source from_query = {SCOPE_QUERY, MTIME_ALL, TREE_UNCACHED, true};
/* A project's sessions; invalidated like the names of the root. */
const struct kind_source from_project = {SCOPE_PROJECT, MTIME_PROJECT, TREE_WATCHED, false};
/* A session's file, unread, and what is in it. A change of the file invalidates each of these names. */
const struct kind_source from_file = {SCOPE_SLOT, MTIME_SESSION, TREE_WATCHED, false};
const struct kind_source from_session = {SCOPE_INDEX, MTIME_SESSION, TREE_WATCHED, false};
/* The session as seen from one entry, or one entry. There can be many: the kernel's leases are recorded, and only
 * leased names are invalidated. */
const struct kind_source from_branch = {SCOPE_ENTRY, MTIME_SESSION, TREE_LEASE, false};
const struct kind_source from_entry = {SCOPE_ENTRY, MTIME_ENTRY, TREE_LEASE, false};
/* An entry's line, which never changes. */
const struct kind_source from_record = {SCOPE_RECORD, MTIME_ENTRY, TREE_FIXED, false};

static const struct kind_rows top = {.v = &tree_root, .n = 1};

/* The number of a kind is its position in these, counted from 1. */
static const struct kind_rows *const table[] = {
    &top,           &rows_root,     &rows_projects,   &rows_project,    &rows_sessions,
    &rows_by_date,  &rows_day,      &rows_by_project, &rows_titles,     &rows_all_labels,
    &rows_labelled, &rows_search,   &rows_query,      &rows_html,       &rows_html_project,
    &rows_session,  &rows_entries,  &rows_entry,      &rows_tool_calls, &rows_call,
    &rows_images,   &rows_branches, &rows_branch,     &rows_labels,
};
#define DIRS (sizeof table / sizeof *table)

static bool kind_rows_contain(const struct kind_rows *rows, const struct kind *k)
{
	return (uintptr_t)k >= (uintptr_t)rows->v && (uintptr_t)k < (uintptr_t)(rows->v + rows->n);
}

unsigned kind_id(const struct kind *k)
{
	unsigned first = 1;
	size_t i = 0;
	while (!kind_rows_contain(table[i], k))
		first += (unsigned)table[i++]->n;
	return first + (unsigned)(k - table[i]->v);
}

/* The number 0 is invalid. */
const struct kind *kind_at(unsigned id)
{
	size_t i = 0;
	while (i < DIRS && id > table[i]->n)
		id -= (unsigned)table[i++]->n;
	return i < DIRS && id > 0 ? &table[i]->v[id - 1] : NULL;
}

const struct kind *kind_next(const struct kind *after)
{
	return kind_at(after ? kind_id(after) + 1 : 1);
}

const struct kind *kind_above(const struct kind *k)
{
	for (size_t i = 0; i < DIRS; i++)
		for (const struct kind *dir = table[i]->v; dir < table[i]->v + table[i]->n; dir++)
			if (dir->make.rows && kind_rows_contain(dir->make.rows, k))
				return dir;
	return NULL;
}

const struct kind_rows *kind_rows_of_dir(struct node dir)
{
	static const struct kind_rows none = {.v = &tree_root, .n = 0};
	const struct kind *k = kind_of(dir);
	return k && k->make.rows ? k->make.rows : &none;
}

bool kind_is_in(const struct kind *k, struct node dir)
{
	return kind_rows_contain(kind_rows_of_dir(dir), k);
}

enum mtime_source kind_mtime_source(const struct kind *k)
{
	return k->time != MTIME_AS_SOURCE ? k->time : k->from->mtime;
}

enum tree_class kind_class(const struct kind *k)
{
	if (kind_shows_all_sessions(k))
		return TREE_UNCACHED;
	return k->keeps != CACHE_AS_SOURCE ? (enum tree_class)(k->keeps - 1) : k->from->class;
}

bool kind_shows_all_sessions(const struct kind *k)
{
	return (k->flags & FROM_ALL_SESSIONS) || k->from->covers_all_sessions;
}

bool kind_is_owner_only(const struct kind *k)
{
	return (k->flags & OWNER_ONLY) || kind_shows_all_sessions(k);
}

enum tree_change kind_text_stability(const struct kind *k)
{
	enum mtime_source time = kind_mtime_source(k);
	if (k->make.type != S_IFREG)
		return TREE_APPENDED;
	if (kind_shows_all_sessions(k))
		return TREE_UNTIMED;
	if (kind_class(k) == TREE_FIXED)
		return TREE_NEVER;
	if (time == MTIME_ENTRY || time == MTIME_LABEL || time == MTIME_BRANCH || time == MTIME_EDIT)
		return TREE_RESTAMPED;
	enum tree_change least = k->make.producer || k->write ? TREE_REWRITTEN : TREE_APPENDED;
	return k->changes > least ? k->changes : least;
}

bool kind_size_is_cheap(const struct kind *k)
{
	return k->make.type != S_IFREG || k->make.size || k->make.record || (k->flags & UNCACHED_TEXT);
}

bool kind_is_table(const struct kind *k)
{
	return k->from->scope == SCOPE_MOUNT && kind_shows_all_sessions(k) && !kind_size_is_cheap(k);
}

uint64_t kind_key(const struct kind *k)
{
	char names[256];
	size_t n = 0;
	for (; k && n < sizeof names; k = kind_above(k))
		n += (size_t)snprintf(names + n, sizeof names - n, "%s/", k->name ? k->name : k->names.doc_name);
	return name_hash64(span_of(names));
}

bool kind_is_removable(const struct kind *k)
{
	return k->write && k->write->unlink;
}

const char *kind_instead(const struct kind *k)
{
	if (k->instead)
		return k->instead;
	if (k->from->scope < SCOPE_SLOT)
		return "to change a session, write in projects/PROJECT/STEM";
	/* The conversation and views of it. */
	if (k->from->scope >= SCOPE_ENTRY || k->make.producer)
		return "to send the model something else, write entries/ID/context.json";
	return "to change a session, write name, labels.tsv, or label, branch or context.json of an entry";
}

const struct writable *kind_writable(struct node n)
{
	const struct kind *k = kind_of(n);
	return k ? k->write : NULL;
}

struct node tree_node(node_t id)
{
	return id == NODE_ROOT ? (struct node){.kind = KIND_ROOT} : node_unpack(id);
}

node_t tree_id(struct node n)
{
	return n.kind == KIND_ROOT ? NODE_ROOT : node_pack(n);
}
