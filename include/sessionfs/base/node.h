/* SPDX-License-Identifier: MIT */
/* node: the 64-bit id of a node in the tree: kind, session slot, entry, part.
 *
 * An id is a value to unpack and check, not a pointer. Without an inode table, only queries (search.h) are ever
 * forgotten. A stale or hostile id fails a bounds check. Ids stay the same while mounted, even after indexes are
 * evicted; inode numbers are others (tree_ino). Links that appear in several directories (a path entry of many
 * branches) have the same target everywhere and share one id. */
#ifndef SESSIONFS_NODE_H
#define SESSIONFS_NODE_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t node_t;

#define NODE_ROOT ((node_t)1)
#define NODE_KIND_BITS 7
#define NODE_SLOT_BITS 21
#define NODE_ENTRY_BITS 24
#define NODE_PART_BITS 12
#define NODE_SLOTS (UINT32_C(1) << NODE_SLOT_BITS)

/* An entry number uses one bit less than its field has. If that bit is set, the part has more bits and the entry fewer:
 * a message with thousands of parts is rare, and rarer still after a quarter of a million entries. */
#define NODE_ENTRIES (UINT32_C(1) << (NODE_ENTRY_BITS - 1))
#define NODE_PARTS (UINT32_C(1) << NODE_PART_BITS)
#define NODE_WIDE (UINT64_C(1) << (NODE_ENTRY_BITS - 1 + NODE_PART_BITS))
#define NODE_WIDE_PART_BITS 17
#define NODE_WIDE_PARTS (UINT32_C(1) << NODE_WIDE_PART_BITS)
#define NODE_WIDE_ENTRIES (UINT32_C(1) << (NODE_ENTRY_BITS - 1 + NODE_PART_BITS - NODE_WIDE_PART_BITS))

/* kind 0 is unused, so that no id is 0; NODE_ROOT is part 1 of kind 0. */
struct node {
	unsigned kind;
	uint32_t slot; /* session slot, or project number */
	uint32_t entry;
	uint32_t part;
};

/* Returns the limit of an entry's part numbers. */
static inline uint32_t node_parts(uint32_t entry)
{
	return entry < NODE_WIDE_ENTRIES ? NODE_WIDE_PARTS : NODE_PARTS;
}

/* The kernel finds the node of an id by a hash that depends mostly on the lower bits, so kind and slot are mixed into
 * them. Its own inverse. */
static inline node_t node_mix(node_t id)
{
	node_t above = id >> (NODE_ENTRY_BITS + NODE_PART_BITS);
	return id ^ (above * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - NODE_ENTRY_BITS - NODE_PART_BITS);
}

static inline node_t node_pack(struct node n)
{
	node_t above = (node_t)n.kind << (64 - NODE_KIND_BITS) | (node_t)n.slot << (NODE_ENTRY_BITS + NODE_PART_BITS);
	if (n.part < NODE_PARTS)
		return node_mix(above | (node_t)n.entry << NODE_PART_BITS | n.part);
	return node_mix(above | NODE_WIDE | (node_t)n.entry << NODE_WIDE_PART_BITS | n.part);
}

static inline struct node node_unpack(node_t mixed)
{
	node_t id = node_mix(mixed);
	bool wide = id & NODE_WIDE;
	unsigned part_bits = wide ? NODE_WIDE_PART_BITS : NODE_PART_BITS;
	uint32_t entries = wide ? NODE_WIDE_ENTRIES : NODE_ENTRIES;
	return (struct node){
	    .kind = (unsigned)(id >> (64 - NODE_KIND_BITS)),
	    .slot = (uint32_t)(id >> (NODE_ENTRY_BITS + NODE_PART_BITS)) & (NODE_SLOTS - 1),
	    .entry = (uint32_t)(id >> part_bits) & (entries - 1),
	    .part = (uint32_t)id & ((UINT32_C(1) << part_bits) - 1),
	};
}

#endif
