/* SPDX-License-Identifier: MIT */
/* walk: looks at everything that a tree shows, in every way there is, and asserts that the ways agree. */
#ifndef FUZZ_WALK_H
#define FUZZ_WALK_H

#include "fuzz.h"

#include "sessionfs/tree/tree.h"

/* Every node from the root on (of a directory with very many names some in the middle are only listed). Nothing may
 * change meanwhile. */
void walk_tree(struct tree *t);
/* The same; each name, link and text is shown to `see`. */
void walk_tree_seeing(struct tree *t, void (*see)(struct span text));

#endif
