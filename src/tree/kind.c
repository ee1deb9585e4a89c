/* The rows of the table (kinds.c), by their numbers. */
#include "write_impl.h"

#include <sys/stat.h>

/* What changes a session's file is noted, and the kernel is told what it must ask for again. */
const struct from from_mount = {SCOPE_MOUNT, STAMP_ALL, TREE_WATCHED, false};
/* Any session can change it, and nothing is told. */
const struct from from_all = {SCOPE_MOUNT, STAMP_ALL, TREE_ASKED, true};
const struct from from_query = {SCOPE_QUERY, STAMP_ALL, TREE_ASKED, true};
const struct from from_project = {SCOPE_PROJECT, STAMP_PROJECT, TREE_WATCHED, false};
const struct from from_file = {SCOPE_SLOT, STAMP_SESSION, TREE_WATCHED, false};
const struct from from_session = {SCOPE_INDEX, STAMP_SESSION, TREE_WATCHED, false};
/* There are many of these, so what the kernel was given of them is noted one by one. */
const struct from from_branch = {SCOPE_ENTRY, STAMP_SESSION, TREE_LEASE, false};
const struct from from_entry = {SCOPE_ENTRY, STAMP_ENTRY, TREE_LEASE, false};
/* An entry's line stays as it is. */
const struct from from_record = {SCOPE_RECORD, STAMP_ENTRY, TREE_FIXED, false};

unsigned kind_id(const struct kind *k)
{
	return (unsigned)(k - tree_kinds);
}

/* 0 is no kind. */
const struct kind *kind_at(unsigned id)
{
	return id > 0 && id < tree_kind_count ? &tree_kinds[id] : NULL;
}

const struct kind *kind_next(const struct kind *after)
{
	return kind_at(after ? kind_id(after) + 1 : 1);
}

bool kind_is_in(const struct kind *k, unsigned dir)
{
	return dir != 0 && (k->in[0] == dir || k->in[1] == dir || k->in[2] == dir);
}

const struct kind *kind_next_in(unsigned dir, const struct kind *after)
{
	while ((after = kind_next(after)) && !kind_is_in(after, dir))
		;
	return after;
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
	return id == NODE_ROOT ? (struct node){.kind = tree_root_kind} : node_unpack(id);
}

node_t tree_id(struct node n)
{
	return n.kind == tree_root_kind ? NODE_ROOT : node_pack(n);
}
