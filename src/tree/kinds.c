/* SPDX-License-Identifier: MIT */
/* The table of all names: the rows of each directory, which stand beside their functions, and what follows from a
 * row. */
#include "rows.h"

/* What each shows is what its time says, and the kernel may keep it as long as every change of that is told. */

/* Above all sessions. A session that comes, goes or changes is told at the root. */
const struct from from_mount = {SCOPE_MOUNT, STAMP_ALL, TREE_WATCHED, false};
/* Made of all sessions. Each of them can change it, and nothing is told. */
const struct from from_all = {SCOPE_MOUNT, STAMP_ALL, TREE_ASKED, true};
const struct from from_query = {SCOPE_QUERY, STAMP_ALL, TREE_ASKED, true};
/* A project's sessions; told as those of the root are. */
const struct from from_project = {SCOPE_PROJECT, STAMP_PROJECT, TREE_WATCHED, false};
/* A session's file, unread, and what is in it. A change of it is told for each of these names. */
const struct from from_file = {SCOPE_SLOT, STAMP_SESSION, TREE_WATCHED, false};
const struct from from_session = {SCOPE_INDEX, STAMP_SESSION, TREE_WATCHED, false};
/* What a session says at one of many entries, or of one. Which of these the kernel has is noted, and those are told. */
const struct from from_branch = {SCOPE_ENTRY, STAMP_SESSION, TREE_LEASE, false};
const struct from from_entry = {SCOPE_ENTRY, STAMP_ENTRY, TREE_LEASE, false};
/* An entry's line, which never changes. */
const struct from from_record = {SCOPE_RECORD, STAMP_ENTRY, TREE_FIXED, false};

static const struct rows top = {.v = &tree_root, .n = 1};

/* A kind's number is its place in these, one after the other, counted from 1. */
static const struct rows *const table[] = {
    &top,           &rows_root,     &rows_projects,   &rows_project,    &rows_sessions,
    &rows_by_date,  &rows_day,      &rows_by_project, &rows_titles,     &rows_all_labels,
    &rows_labelled, &rows_search,   &rows_query,      &rows_html,       &rows_html_project,
    &rows_session,  &rows_entries,  &rows_entry,      &rows_tool_calls, &rows_call,
    &rows_images,   &rows_branches, &rows_branch,     &rows_labels,
};
#define DIRS (sizeof table / sizeof *table)

static bool rows_have(const struct rows *rows, const struct kind *k)
{
	return (uintptr_t)k >= (uintptr_t)rows->v && (uintptr_t)k < (uintptr_t)(rows->v + rows->n);
}

unsigned kind_id(const struct kind *k)
{
	unsigned first = 1;
	size_t i = 0;
	while (!rows_have(table[i], k))
		first += (unsigned)table[i++]->n;
	return first + (unsigned)(k - table[i]->v);
}

/* 0 is no kind. */
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
			if (dir->make.rows && rows_have(dir->make.rows, k))
				return dir;
	return NULL;
}

const struct rows *rows_of(struct node dir)
{
	static const struct rows none = {.v = &tree_root, .n = 0};
	const struct kind *k = kind_of(dir);
	return k && k->make.rows ? k->make.rows : &none;
}

bool kind_is_in(const struct kind *k, struct node dir)
{
	return rows_have(rows_of(dir), k);
}

bool kind_has_name(struct span name)
{
	const struct kind *k = kind_next(NULL);
	while (k && !(k->name && span_is(name, k->name)))
		k = kind_next(k);
	return k;
}

enum stamp kind_stamp(const struct kind *k)
{
	return k->time != STAMP_AS_FROM ? k->time : k->from->stamp;
}

enum tree_class kind_class(const struct kind *k)
{
	if (kind_is_of_all(k))
		return TREE_ASKED;
	return k->keeps != KEEPS_AS_FROM ? (enum tree_class)(k->keeps - 1) : k->from->class;
}

bool kind_is_of_all(const struct kind *k)
{
	return (k->flags & OF_ALL) || k->from->of_all;
}

bool kind_is_own(const struct kind *k)
{
	return (k->flags & OWN) || kind_is_of_all(k);
}

bool kind_is_rewritten(const struct kind *k)
{
	return k->make.type == S_IFREG && ((k->flags & REWRITTEN) || kind_is_of_all(k) || k->make.producer || k->write);
}

bool kind_is_untimed(const struct kind *k)
{
	return k->make.type == S_IFREG && ((k->flags & UNTIMED) || kind_is_of_all(k));
}

bool kind_is_cheap(const struct kind *k)
{
	return k->make.type != S_IFREG || k->make.size || k->make.record || (k->flags & SMALL);
}

bool kind_is_table(const struct kind *k)
{
	return k->from->scope == SCOPE_MOUNT && kind_is_of_all(k) && !kind_is_cheap(k);
}

bool kind_is_removable(const struct kind *k)
{
	return k->write && k->write->unlink;
}

const struct writable *writable_of(struct node n)
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
