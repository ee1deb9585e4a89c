/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "sessionfs/base/node.h"

CASE(node_ids_round_trip)
{
	static const struct node cases[] = {
	    {.kind = 1},
	    {.kind = 127, .slot = NODE_SLOTS - 1, .entry = NODE_ENTRIES - 1, .part = NODE_PARTS - 1},
	    {.kind = 5, .slot = 7, .entry = NODE_WIDE_ENTRIES - 1, .part = NODE_WIDE_PARTS - 1},
	    {.kind = 5, .slot = NODE_SLOTS - 1, .entry = 0, .part = NODE_PARTS},
	    {.kind = 5, .slot = 7, .entry = NODE_WIDE_ENTRIES, .part = NODE_PARTS - 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct node n = node_unpack(node_pack(cases[i]));
		assert_memory_equal(&n, &cases[i], sizeof n);
	}
	assert_int_equal(node_parts(NODE_WIDE_ENTRIES - 1), NODE_WIDE_PARTS);
	assert_int_equal(node_parts(NODE_WIDE_ENTRIES), NODE_PARTS);
}

/* The kernel's hash of inodes uses mostly the low bits. */
CASE(node_ids_differ_in_low_bits)
{
	enum { IDS = 1 << 12 };
	static bool seen[2][IDS];
	unsigned used[2] = {0};

	for (uint32_t i = 0; i < IDS; i++) {
		const struct node n[] = {{.kind = 5, .slot = i}, {.kind = 1 + i % 100, .slot = i / 100}};
		for (unsigned k = 0; k < 2; k++) {
			bool *cell = &seen[k][node_pack(n[k]) % IDS];
			used[k] += !*cell;
			*cell = true;
		}
	}
	/* Random numbers would be in 63 of 100 cells. */
	assert_true(used[0] > IDS / 2 && used[1] > IDS / 2);
}

RUN_CASES(NULL, NULL)
