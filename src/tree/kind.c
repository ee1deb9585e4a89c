/* The rows of the table (kinds.c), by their numbers. */
#include "write_impl.h"

#include <sys/stat.h>

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

bool kind_is_cheap(const struct kind *k)
{
	return k->type != S_IFREG || k->size || k->is_small;
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
