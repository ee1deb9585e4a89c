/* SPDX-License-Identifier: MIT */
/* walk: reads everything in a tree, in every way there is, and asserts that the ways agree. */
#ifndef FUZZ_WALK_H
#define FUZZ_WALK_H

#include "fuzz.h"

#include "sessionfs/tree/tree.h"

/* Visits every node from the root on (in a directory with very many names, some in the middle are only listed). The
 * tree must not change meanwhile. */
void walk_tree(struct tree *t);
/* The same, and passes each name, link and text to `see`. */
void walk_tree_seeing(struct tree *t, void (*see)(struct span text));

#endif
